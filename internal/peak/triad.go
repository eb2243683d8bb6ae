package peak

import (
	"math"
	"time"
	"unsafe"

	"gemm/internal/cpu"
)

// block is the number of elements that a worker streams between two looks at the
// clock, about 100 µs of work.
const block = 1 << 16

// Triad returns the memory bandwidth in GB/s (10⁹ bytes) of the loop
// a[i] = b[i] + s·c[i] over three arrays of float64 of the given number of bytes
// each, which must be far larger than the last cache.
//
// As in STREAM (McCalpin, Memory Bandwidth and Machine Balance in Current High
// Performance Computers, 1995) it counts 24 bytes an element: two loads and a
// store. The line that a processor reads before it writes a part of it is not
// counted, so that the traffic of the bus is up to a third more. Every thread
// streams a part of its own, which it touched first. It measures for about d, as
// FMA does, and returns NaN where there is no memory for the arrays.
func Triad(threads, bytes int, d time.Duration) (gbps float64) {
	if have := cpu.Available(); have > 0 && 3*int64(bytes) > have {
		return math.NaN()
	}
	memory, free, err := allocate(3 * bytes)
	if err != nil {
		return math.NaN()
	}
	defer free()
	cpu.HugePages(unsafe.Pointer(unsafe.SliceData(memory)), uintptr(len(memory)*8))
	n := len(memory) / 3
	a, b, c := memory[:n], memory[n:2*n], memory[2*n:3*n]
	rate := together(threads, d, func(worker int) func() float64 {
		lo, hi := worker*n/threads, (worker+1)*n/threads
		for i := lo; i < hi; i++ {
			a[i], b[i], c[i] = 0, 1, 2
		}
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

// triad sets a[i] = b[i] + s·c[i]. b and c are as long as a.
func triad(a, b, c []float64, s float64) {
	b, c = b[:len(a)], c[:len(a)]
	for i := range a {
		a[i] = b[i] + s*c[i]
	}
}
