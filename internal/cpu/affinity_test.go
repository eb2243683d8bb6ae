package cpu

import (
	"runtime"
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

// TestPinThread pins one of two threads and expects the other, and the places of the process, to be as before.
func TestPinThread(t *testing.T) {
	all := Allowed()
	if len(all) < 2 {
		t.Skip("one processor, or affinity is not known")
	}
	// Neither goroutine unlocks its thread, so that both threads end with it.
	masks := make(chan []int)
	pinned := make(chan error)
	go func() {
		runtime.LockOSThread()
		<-pinned
		masks <- Allowed()
	}()
	go func() {
		runtime.LockOSThread()
		pinned <- PinThread(all[1:2])
		masks <- Allowed()
	}()
	if got := [][]int{<-masks, <-masks}; len(got[0])+len(got[1]) != len(all)+1 {
		t.Errorf("one of two threads is pinned to %v of %v; their masks are %v", all[1:2], all, got)
	}
	places := Places()
	slices.Sort(places)
	if !slices.Equal(places, all) {
		t.Errorf("places are %v, want those of the process, %v", places, all)
	}
	if err := PinThread(nil); err == nil {
		t.Error("pinned to no processor")
	}
}
