package peak

import (
	"context"
	"math"
	"time"
	"unsafe"

	"gemm/internal/cpu"
)

// block is the number of elements that a worker streams between two readings of the clock, about 100 µs of work.
const block = 1 << 16

// TriadBytes returns a size in bytes for arrays that are far larger than a last cache of the given size.
func TriadBytes(cache int64) int64 { return max(64<<20, 4*cache) }

// Triad returns the memory bandwidth in GB/s (10⁹ bytes) of the loop a[i] = b[i] + s·c[i] over three arrays of float64.
// Each array has the given number of bytes; together they must be far larger than the last cache.
//
// As in STREAM (McCalpin, Memory Bandwidth and Machine Balance in Current High Performance Computers,
// 1995) it counts 24 bytes per element: two loads and a store. The line that a processor reads before it
// writes a part of it is not counted, so the bus may carry up to a third more. Every thread streams its
// own part, which it touched first. Triad measures for about d, like FMA. It returns NaN if there is no
// memory for the arrays, or if ctx ends.
func Triad(ctx context.Context, threads int, bytes int64, d time.Duration) (gbps float64) {
	if have := cpu.Available(); have > 0 && 3*bytes > have || bytes > math.MaxInt/3 {
		return math.NaN()
	}
	memory, free, err := allocate(3 * int(bytes))
	if err != nil {
		return math.NaN()
	}
	defer free()
	cpu.HugePages(unsafe.Pointer(unsafe.SliceData(memory)), uintptr(len(memory)*8))
	n := len(memory) / 3
	a, b, c := memory[:n], memory[n:2*n], memory[2*n:3*n]
	rate := together(ctx, threads, d, func(worker int) func() float64 {
		lo, hi := worker*n/threads, (worker+1)*n/threads
		touch(ctx, a[lo:hi], b[lo:hi], c[lo:hi])
		next := lo
		return func() float64 {
			from := next
			to := min(from+block, hi)
			triad(a[from:to], b[from:to], c[from:to], 3)
			if next = to; next == hi {
				next = lo
			}
			return 24 * float64(to-from)
		}
	})
	return rate / 1e9
}

// touch sets all a[i] to 0, b[i] to 1 and c[i] to 2, unless ctx ends before: for large arrays it takes
// seconds. b and c are as long as a.
func touch(ctx context.Context, a, b, c []float64) {
	for from := 0; from < len(a) && ctx.Err() == nil; from += block {
		for i := from; i < min(from+block, len(a)); i++ {
			a[i], b[i], c[i] = 0, 1, 2
		}
	}
}

// triad sets a[i] = b[i] + s·c[i]. b and c are as long as a.
func triad(a, b, c []float64, s float64) {
	b, c = b[:len(a)], c[:len(a)]
	for i := range a {
		a[i] = b[i] + s*c[i]
	}
}
