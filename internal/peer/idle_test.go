package peer

import "testing"

// fakeProcess is a process whose end a test sets.
type fakeProcess struct{ out bool }

func (c *fakeProcess) Ended() bool { return c.out }

// TestIdle takes processes: each once, of its own key, and none that has ended.
func TestIdle(t *testing.T) {
	var x Idle[string, *fakeProcess]
	if _, ok := x.Take("a"); ok {
		t.Error("there is a process in an empty Idle")
	}
	first, second, other := new(fakeProcess), new(fakeProcess), new(fakeProcess)
	x.Give("a", first)
	x.Give("a", second)
	x.Give("b", other)
	count := 0
	x.Each(func(*fakeProcess) { count++ })
	if count != 3 {
		t.Errorf("%d processes are idle, want 3", count)
	}
	second.out = true
	if got, ok := x.Take("a"); !ok || got != first {
		t.Errorf("took %p %v, want the one of a that has not ended", got, ok)
	}
	if _, ok := x.Take("a"); ok {
		t.Error("a process was taken twice")
	}
}
