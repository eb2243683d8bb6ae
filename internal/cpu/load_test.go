package cpu

import (
	"errors"
	"testing"
)

// TestLoad reads the load average and the stolen time, and what is no such file.
func TestLoad(t *testing.T) {
	for content, want := range map[string]float64{"1.25 0.50 0.10 2/345 678\n": 1.25, "": 0, "x": 0, "-1 2": 0, "NaN": 0} {
		if got := load(func(string) ([]byte, error) { return []byte(content), nil }); got != want {
			t.Errorf("load %q is %v, want %v", content, got, want)
		}
	}
	stat := func(content string) Ticks { return ticks(func(string) ([]byte, error) { return []byte(content), nil }) }
	before := stat("cpu  100 0 50 800 0 0 0 50 9 9\ncpu0 1 2 3\n")
	after := stat("cpu  180 0 60 900 0 0 0 60 9 9\n")
	if want := (Ticks{50, 1000}); before != want {
		t.Errorf("ticks %+v, want %+v", before, want)
	}
	if got := after.StolenSince(before); got != 0.05 {
		t.Errorf("stolen %v, want 0.05", got)
	}
	for _, content := range []string{"", "cpu 1 2 3", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8 9"} {
		if got := stat(content); got != (Ticks{}) || got.StolenSince(before) != 0 || before.StolenSince(got) < 0 {
			t.Errorf("%q: %+v", content, got)
		}
	}
	if got := ticks(func(string) ([]byte, error) { return nil, errors.New("no file") }); got != (Ticks{}) {
		t.Errorf("no file: %+v", got)
	}
}
