package pool

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"gemm/gemmtest"
)

// benchWorkers are the numbers of workers that benchmarks have: one, as many as there
// are processors, and twice that.
func benchWorkers() []int {
	return slices.Compact([]int{1, runtime.GOMAXPROCS(0), 2 * runtime.GOMAXPROCS(0)})
}

// BenchmarkForkJoin measures the fork and join of an empty loop, and compares it with as many empty
// goroutines.
func BenchmarkForkJoin(b *testing.B) {
	for _, workers := range benchWorkers() {
		b.Run(fmt.Sprintf("pool/workers=%d", workers), func(b *testing.B) {
			pool, ctx := New(workers), b.Context()
			b.ReportAllocs()
			for b.Loop() {
				gemmtest.Must(b, pool.For(ctx, workers, Static(0), func(int, int, int) {}))
			}
		})
		b.Run(fmt.Sprintf("goroutines/workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var done sync.WaitGroup
				for range workers {
					done.Go(func() {})
				}
				done.Wait()
			}
		})
	}
}

// BenchmarkChunk runs loops with an empty body; ns/chunk is their time divided by the number of
// chunks. guided makes few chunks, so its figure contains a part of fork and join.
func BenchmarkChunk(b *testing.B) {
	const n = 1 << 14
	for _, s := range []struct {
		name string
		Schedule
	}{{static, Static(1)}, {dynamic, Dynamic(1)}, {guided, Guided(1)}} {
		for _, workers := range benchWorkers() {
			b.Run(fmt.Sprintf("%s/workers=%d", s.name, workers), func(b *testing.B) {
				pool, ctx := New(workers), b.Context()
				var chunks atomic.Int64
				gemmtest.Must(b, pool.For(ctx, n, s, func(int, int, int) { chunks.Add(1) }))
				b.ReportAllocs()
				for b.Loop() {
					gemmtest.Must(b, pool.For(ctx, n, s, func(int, int, int) {}))
				}
				perUnit(b, int(chunks.Load()), "ns/chunk")
			})
		}
	}
}

// perUnit reports the time of one of the units that an operation has.
func perUnit(b *testing.B, units int, name string) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(units), name)
}
