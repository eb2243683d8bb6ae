package blas

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"gemm"
	"gemm/gemmtest"
)

// TestFunctionsAllocate checks that the second product of a size allocates nothing.
func TestFunctionsAllocate(t *testing.T) {
	if gemmtest.Raced {
		t.Skip("the race detector makes sync.Pool forget")
	}
	for _, n := range []int{3, 12, 100, 300} {
		a, c := gemm.NewMatrix[float32](n, n), gemm.NewMatrix[float32](n, n)
		if got := testing.AllocsPerRun(20, func() {
			gemmtest.Must(t, errors.Join(Multiply(c, a, a), Gemm(NoTrans, Trans, 2, a, a, 1, c)))
		}); got != 0 {
			t.Errorf("n=%d: %v allocations", n, got)
		}
	}
}

// TestOneValue calls one Implementation from many goroutines, with several numbers of workers.
func TestOneValue(t *testing.T) {
	for _, workers := range []int{-1, 1, 3} {
		impl := Implementation{Workers: workers}
		var group sync.WaitGroup
		for g := range 16 {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(12, uint64(g)))
				name := names[g%len(names)]
				got, want := expected(rng, name, draw[float64](rng, 90, 110, 70))
				doubles(impl).run(name, got)
				if where := differ(got, want); where != "" {
					t.Errorf("%d workers: %s %v: %s", workers, name, got, where)
				}
			})
		}
		group.Wait()
	}
}

// TestWorkspaces checks that a call gets the workers that it asks for, whatever the calls before had.
func TestWorkspaces(t *testing.T) {
	for _, workers := range []int{1, 3, 2, 1, 3} {
		w := single.borrow(workers)
		if w.workers != workers {
			t.Errorf("a workspace for %d workers has %d", workers, w.workers)
		}
		w.giveBack()
	}
}
