package parallel

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"gemm"
	"gemm/gemmtest"
)

// longestStop returns the upper end of the longest pause that the world has been
// stopped for by the collector since before was read, in seconds.
func longestStop(before []uint64) (seconds float64, counts []uint64) {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	h := s[0].Value.Float64Histogram()
	for i, n := range h.Counts {
		if before != nil && n > before[i] {
			seconds = h.Buckets[i+1]
		}
	}
	return seconds, h.Counts
}

// BenchmarkStopTheWorld forces garbage collections while a product of 4096×4096 is computed. It
// reports the longest time for which a collection stopped every goroutine. Assembly is not
// preempted, so a collection waits until the running kernel calls have returned.
func BenchmarkStopTheWorld(b *testing.B) {
	const n = 4096
	x, y, c := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
	for i := range x.Data {
		x.Data[i], y.Data[i] = 1, 1
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			m, err := gemm.New[float64](packedVariant(), gemm.Params{"threads": threads})
			gemmtest.Must(b, err)
			stop, stopped := make(chan struct{}), make(chan int)
			go func() {
				collections := 0
				for {
					select {
					case <-stop:
						stopped <- collections
						return
					case <-time.After(time.Millisecond):
						runtime.GC()
						collections++
					}
				}
			}()
			_, before := longestStop(nil)
			for b.Loop() {
				gemmtest.Must(b, m.Multiply(b.Context(), c, x, y))
			}
			seconds, _ := longestStop(before)
			close(stop)
			b.ReportMetric(1e3*seconds, "ms/longest-stop")
			b.ReportMetric(float64(<-stopped), "collections")
		})
	}
}
