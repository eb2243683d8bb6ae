package kernel

import (
	"fmt"
	"math"
	"testing"
)

func TestRun(t *testing.T) {
	t.Run("f32", testRun[float32])
	t.Run("f64", testRun[float64])
}

// testRun compares the best kernel with the loop that it equals, on small integers,
// for which both are exact, with every height of tile, edges of every width, packed
// and strided operands, and NaN wherever nothing may be read.
func testRun[T Float](t *testing.T) {
	k := Best[T]()
	nan := T(math.NaN())
	for r := 1; r <= k.MR; r++ {
		for n := range 2*k.NR + 2 {
			for _, depth := range []int{0, 1, 3, 4, 9} {
				for _, layout := range []struct{ aRow, aCol, bRow, bNext int }{
					{1, k.MR, k.NR, k.NR * max(1, depth)}, // packed
					{depth + 3, 1, n + 5, k.NR},           // as they lie
					{1, r + 2, n + 5, k.NR},               // A transposed
				} {
					for _, s := range [][2]T{{1, 0}, {1, 1}, {-2, 3}, {1, T(math.Copysign(0, -1))}} {
						alpha, beta := s[0], s[1]
						slivers := (n + k.NR - 1) / k.NR
						a := filled((r-1)*layout.aRow+depth*layout.aCol+1, nan)
						b := filled(slivers*layout.bNext+depth*layout.bRow+1, nan)
						ldc := n + 3
						c := filled(r*ldc, nan)
						at := func(l, j int) *T { return &b[j/k.NR*layout.bNext+l*layout.bRow+j%k.NR] }
						for l := range depth {
							for i := range r {
								a[i*layout.aRow+l*layout.aCol] = T((3*i+l)%7 - 3)
							}
							for j := range n {
								*at(l, j) = T((j+5*l)%5 - 2)
							}
						}
						for i := range r {
							for j := range n {
								if beta != 0 {
									c[i*ldc+j] = T(i - j)
								}
							}
						}
						k.Run(r, n, depth, alpha, a, layout.aRow, layout.aCol, b, layout.bRow, layout.bNext, beta, c, ldc, 0)
						for i := range r {
							for j := range ldc {
								got := c[i*ldc+j]
								if j >= n {
									if !math.IsNaN(float64(got)) {
										t.Fatalf("%s r=%d n=%d k=%d %v: wrote beside row %d", k.Name, r, n, depth, layout, i)
									}
									continue
								}
								var want T
								for l := range depth {
									want += a[i*layout.aRow+l*layout.aCol] * *at(l, j)
								}
								want = alpha*want + beta*T(i-j)
								if !(got == want) {
									t.Fatalf("%s r=%d n=%d k=%d %v α=%v β=%v: element (%d, %d) is %v, want %v", k.Name, r, n, depth, layout, alpha, beta, i, j, got, want)
								}
							}
						}
					}
				}
			}
		}
	}
}

// filled returns a slice of n elements x.
func filled[T Float](n int, x T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = x
	}
	return s
}

// TestRunScalars wants NaN for α and β that are NaN.
func TestRunScalars(t *testing.T) {
	k := Best[float64]()
	nan := math.NaN()
	for _, s := range [][2]float64{{nan, 0}, {1, nan}} {
		c := filled(k.NR, 1.0)
		k.Run(1, k.NR, 1, s[0], filled(1, 1.0), 1, 1, filled(k.NR, 1.0), k.NR, k.NR, s[1], c, k.NR, 0)
		for j, x := range c {
			if !math.IsNaN(x) {
				t.Errorf("%s α=%v β=%v: element %d is %v, want NaN", k.Name, s[0], s[1], j, x)
			}
		}
	}
}

// TestPreconditions wants a panic, and C as it was, for slices that are too short.
func TestPreconditions(t *testing.T) {
	k := Best[float64]()
	const depth = 5
	n := 2*k.NR - 1
	full := [3]int{depth * k.MR, k.NR*depth + (depth-1)*k.NR + k.NR - 1, (k.MR-1)*n + n}
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
			a, b := filled(lens[0], 1.0), filled(lens[1], 1.0)
			k.Run(k.MR, n, depth, 1, a, 1, k.MR, b, k.NR, k.NR*depth, 0, c, n, 0)
		}()
		for i, x := range c {
			if x != 0 {
				t.Errorf("slice %d one element short: element %d of C was written", which, i)
			}
		}
	}
}

func TestCopies(t *testing.T) {
	t.Run("f32", testCopies[float32])
	t.Run("f64", testCopies[float64])
}

func testCopies[T Float](t *testing.T) {
	k := Best[T]()
	for rows := range 12 {
		for cols := range 60 {
			src := make([]T, rows*(cols+3))
			for i := range src {
				src[i] = T(i + 1)
			}
			dst := filled(rows*(cols+2), T(-1))
			k.Copy(rows, cols, dst, cols+2, src, cols+3)
			for i := range rows {
				for j := range cols + 2 {
					want := T(-1)
					if j < cols {
						want = src[i*(cols+3)+j]
					}
					if got := dst[i*(cols+2)+j]; got != want {
						t.Fatalf("%s: copy %d×%d: (%d, %d) is %v, want %v", k.Name, rows, cols, i, j, got, want)
					}
				}
			}
			ldd := (rows+3)/4*4 + 1
			dst = filled(cols*ldd, T(-1))
			k.Transpose(rows, cols, dst, ldd, src, cols+3)
			for l := range cols {
				for i := range rows {
					if got, want := dst[l*ldd+i], src[i*(cols+3)+l]; got != want {
						t.Fatalf("%s: transpose %d×%d: (%d, %d) is %v, want %v", k.Name, rows, cols, i, l, got, want)
					}
				}
				if got := dst[l*ldd+ldd-1]; got != -1 {
					t.Fatalf("%s: transpose %d×%d wrote beside column %d", k.Name, rows, cols, l)
				}
			}
		}
	}
}

// BenchmarkKernel measures the rate with which a kernel runs from the first level of
// cache, the ceiling of the packed product, and with B in the second.
func BenchmarkKernel(b *testing.B) {
	b.Run("f64", benchKernel[float64])
	b.Run("f32", benchKernel[float32])
}

func benchKernel[T Float](b *testing.B) {
	k := Best[T]()
	bench := func(call func(), flops float64) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				call()
			}
			b.ReportMetric(float64(b.N)*flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		}
	}
	b.Run("L1/"+k.Name, bench(k.Cached()))
	for _, depth := range []int{128, 256, 384} {
		b.Run(fmt.Sprintf("L2/%s/k=%d", k.Name, depth), bench(k.Resident(depth, 8*k.NR)))
	}
}
