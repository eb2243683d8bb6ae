package compare

import (
	"runtime"
	"slices"
	"testing"

	"gemm/internal/cpu"
)

// TestOnAllProcessors checks that work that is not timed may use all processors, and that timed work
// afterwards uses the same ones as before.
func TestOnAllProcessors(t *testing.T) {
	all := cpu.Allowed()
	if len(all) < 2 {
		t.Skip("there is one processor")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := all[:1]
	if err := cpu.Pin(one); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := cpu.Pin(all); err != nil {
			t.Error(err)
		}
	}()
	called := false
	onAllProcessors(func() {
		called = true
		if here := cpu.Allowed(); !slices.Equal(here, all) || runtime.GOMAXPROCS(0) != running {
			t.Errorf("it runs on %v, and Go uses %d, want %v and %d", here, runtime.GOMAXPROCS(0), all, running)
		}
	})
	if here := cpu.Allowed(); !called || !slices.Equal(here, one) || runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("then the process runs on %v, and Go uses %d, want %v and 1", here, runtime.GOMAXPROCS(0), one)
	}
}
