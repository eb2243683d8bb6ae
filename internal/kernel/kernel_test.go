package kernel

import (
	"fmt"
	"math"
	"testing"
)

func TestKernels(t *testing.T) {
	t.Run("f32", testKernel[float32])
	t.Run("f64", testKernel[float64])
}

// testKernel compares the best kernel with the loop that it equals, on small
// integers, for which both are exact.
func testKernel[T Float](t *testing.T) {
	k := Best[T]()
	const sentinel = -12345
	for kc := range 20 {
		for _, beta := range []T{0, 1, -2} {
			a, b := make([]T, kc*k.MR), make([]T, kc*k.NR)
			for i := range a {
				a[i] = T(i%7 - 3)
			}
			for i := range b {
				b[i] = T(i%5 - 2)
			}
			ldc := k.NR + 3
			c := make([]T, k.MR*ldc)
			for i := range c {
				c[i] = sentinel
			}
			for i := range k.MR {
				for j := range k.NR {
					c[i*ldc+j] = T(i - j)
					if beta == 0 {
						c[i*ldc+j] = T(math.NaN())
					}
				}
			}
			k.Run(kc, a, b, beta, c, ldc)
			for i := range k.MR {
				for j := range ldc {
					want := T(sentinel)
					if j < k.NR {
						want = beta * T(i-j)
						for l := range kc {
							want += a[l*k.MR+i] * b[l*k.NR+j]
						}
					}
					if got := c[i*ldc+j]; !(got == want) {
						t.Fatalf("%s: kc=%d β=%v: element (%d, %d) is %v, want %v", k.Name, kc, beta, i, j, got, want)
					}
				}
			}
		}
	}
}

// TestKernelPreconditions wants a panic, and C as it was, for slices that are
// too short.
func TestKernelPreconditions(t *testing.T) {
	k := Best[float64]()
	const kc = 5
	full := [3]int{kc * k.MR, kc * k.NR, k.MR * k.NR}
	for which := range full {
		lens := full
		lens[which]--
		c := make([]float64, lens[2])
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("slice %d one element short: no panic", which)
				}
			}()
			a, b := make([]float64, lens[0]), make([]float64, lens[1])
			for i := range a {
				a[i] = 1
			}
			for i := range b {
				b[i] = 1
			}
			k.Run(kc, a[:len(a):len(a)], b[:len(b):len(b)], 0, c, k.NR)
		}()
		for i, x := range c {
			if x != 0 {
				t.Errorf("slice %d one element short: element %d of C was written", which, i)
			}
		}
	}
}

// BenchmarkKernel measures the rate with which a kernel runs from the first
// level of cache: the ceiling of the packed product.
func BenchmarkKernel(b *testing.B) {
	b.Run(fmt.Sprintf("%s/f64", Best[float64]().Name), benchKernel[float64])
	b.Run(fmt.Sprintf("%s/f32", Best[float32]().Name), benchKernel[float32])
}

func benchKernel[T Float](b *testing.B) {
	call, flops := Best[T]().Cached()
	for b.Loop() {
		call()
	}
	b.ReportMetric(float64(b.N)*flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
