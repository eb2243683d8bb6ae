package peer

import "testing"

// fakeProcess is a process whose end a test sets.
type fakeProcess struct{ out bool }

func (c *fakeProcess) Ended() bool { return c.out }

// TestPool takes processes: each once, of its own key, and none that has ended.
func TestPool(t *testing.T) {
	var x Pool[string, *fakeProcess]
	if _, ok := x.Get("a"); ok {
		t.Error("there is a process in an empty Pool")
	}
	first, second, other := new(fakeProcess), new(fakeProcess), new(fakeProcess)
	x.Put("a", first)
	x.Put("a", second)
	x.Put("b", other)
	count := 0
	x.Each(func(*fakeProcess) { count++ })
	if count != 3 {
		t.Errorf("%d processes are idle, want 3", count)
	}
	second.out = true
	if got, ok := x.Get("a"); !ok || got != first {
		t.Errorf("took %p %v, want the one of a that has not ended", got, ok)
	}
	if _, ok := x.Get("a"); ok {
		t.Error("a process was taken twice")
	}
}
