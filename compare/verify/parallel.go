package verify

import (
	"cmp"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// largest returns the largest of f(0) … f(n−1), which are not negative, or the first NaN, and its
// first index. For n = 0 it returns 0 and 0. cost is the number of operations of a call of f.
func largest(n, cost int, f func(int) float64) (float64, int) {
	var lock sync.Mutex
	worst, at := 0.0, 0
	parallelFor(n, cost, func(from, to int) {
		most, where := 0.0, from
		for i := from; i < to; i++ {
			if x := f(i); !(x <= most) {
				most, where = x, i
				if math.IsNaN(x) {
					break
				}
			}
		}
		lock.Lock()
		defer lock.Unlock()
		nan := map[bool]int{true: 1} // the largest
		if cmp.Or(nan[math.IsNaN(most)]-nan[math.IsNaN(worst)], cmp.Compare(most, worst), at-where) > 0 {
			worst, at = most, where
		}
	})
	return worst, at
}

// parallelFor calls f for consecutive parts from ≤ i < to of 0 … n−1, on all processors, and returns when all calls
// have returned. cost is the number of operations of an index. The caller does little work alone.
func parallelFor(n, cost int, f func(from, to int)) {
	const least = 1 << 16 // operations of a part, compared with which its start costs nothing
	workers := runtime.GOMAXPROCS(0)
	part := max(1, least/max(1, cost))
	// A part of many rows reads the other operand less often; several parts a worker are
	// done together although some processors are slower.
	part = max(part, min(32, n/(4*workers)))
	var taken atomic.Int64
	work := func() {
		for {
			to := int(taken.Add(int64(part)))
			if to-part >= n {
				return
			}
			f(to-part, min(to, n))
		}
	}
	var wait sync.WaitGroup
	for range min(workers, (n+part-1)/part) - 1 {
		wait.Go(work)
	}
	work()
	wait.Wait()
}
