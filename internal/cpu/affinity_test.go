package cpu

import (
	"slices"
	"testing"
)

func TestPin(t *testing.T) {
	all := Allowed()
	if len(all) < 2 {
		t.Skip("one processor, or affinity is not known")
	}
	t.Cleanup(func() {
		if err := Pin(all); err != nil {
			t.Error(err)
		}
	})
	for _, want := range [][]int{all[1:2], all[:1], all} {
		if err := Pin(want); err != nil {
			t.Fatal(err)
		}
		if got := Allowed(); !slices.Equal(got, want) {
			t.Errorf("pinned to %v, allowed %v", want, got)
		}
	}
	if err := Pin(nil); err == nil {
		t.Error("pinned to no processor")
	}
}
