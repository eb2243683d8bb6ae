package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

type everyLevel1 interface {
	blas.Float64Level1
	blas.Float32Level1
	blas.Complex128Level1
	blas.Complex64Level1
}

// level1 calls the overridden routines of level 1 with n elements of x and y, which increments select, and returns
// their results.
func level1(by everyLevel1, n, incX, incY int, x, y []float64, x32, y32 []float32, z, w []complex128, z32,
	w32 []complex64) (results []any) {
	for _, call := range []func() any{
		func() any { return by.Ddot(n, x, incX, y, incY) },
		func() any { return by.Sdot(n, x32, incX, y32, incY) },
		func() any { return by.Zdotu(n, z, incX, w, incY) },
		func() any { return by.Cdotu(n, z32, incX, w32, incY) },
		func() any { return by.Zdotc(n, z, incX, w, incY) },
		func() any { return by.Cdotc(n, z32, incX, w32, incY) },
		func() any { return math.Round(1e4 * by.Dnrm2(n, x, incX)) },
		func() any {
			if n > 70 { // gonum adds up more rounding errors
				return nil
			}
			return math.Round(100 * float64(by.Snrm2(n, x32, incX)))
		},
		func() any { return by.Dasum(n, x, incX) },
		func() any { return by.Sasum(n, x32, incX) },
		func() any { return by.Idamax(n, x, incX) },
		func() any { return by.Isamax(n, x32, incX) },
		func() any { by.Daxpy(n, 3, x, incX, y, incY); return nil },
		func() any { by.Saxpy(n, 3, x32, incX, y32, incY); return nil },
		func() any { by.Zaxpy(n, 3-2i, z, incX, w, incY); return nil },
		func() any { by.Caxpy(n, 3-2i, z32, incX, w32, incY); return nil },
		func() any { return math.Round(1e4 * by.Dznrm2(n, z, incX)) },
		func() any { return by.Dzasum(n, z, incX) },
		func() any { return by.Scasum(n, z32, incX) },
		func() any { by.Zdscal(n, -2, z, incX); return nil },
		func() any { by.Csscal(n, 3, z32, incX); return nil },
		func() any { by.Zscal(n, 3-2i, z, incX); return nil },
		func() any { by.Cscal(n, 1-2i, z32, incX); return nil },
		func() any { by.Daxpy(n, 0, x, incX, y, incY); return nil },
		func() any { by.Dscal(n, -2, x, incX); return nil },
		func() any { by.Sscal(n, -2, x32, incX); return nil },
		func() any { by.Dswap(n, x, incX, y, incY); return nil },
		func() any { by.Sswap(n, x32, incX, y32, incY); return nil },
		func() any { by.Drot(n, x, incX, y, incY, 2, 3); return nil },
		func() any { by.Srot(n, x32, incX, y32, incY, 2, 3); return nil },
		func() any { by.Dscal(n, 0, x, incX); return nil },
	} {
		func() {
			defer func() {
				if said := recover(); said != nil {
					results = append(results, fmt.Sprint("panic: ", said))
				}
			}()
			results = append(results, call())
		}()
	}
	return results
}

// TestLevel1 compares results, all memory and panics with gonum's. Elements are small integers, so that all but norms
// is exact.
func TestLevel1(t *testing.T) {
	run := func(by everyLevel1, n, incX, incY, lenX, lenY int) []any {
		rng := rand.New(rand.NewPCG(1, uint64(lenX)))
		const more = 20
		x, y := make([]float64, lenX+more), make([]float64, lenY+more)
		x32, y32 := make([]float32, lenX+more), make([]float32, lenY+more)
		z, w := make([]complex128, lenX+more), make([]complex128, lenY+more)
		z32, w32 := make([]complex64, lenX+more), make([]complex64, lenY+more)
		fill := func(v []float64, v32 []float32, u []complex128, u32 []complex64) {
			for i := range v {
				v[i] = float64(rng.IntN(9) - 4)
				v32[i], u[i], u32[i] = float32(v[i]), complex(v[i], 1-v[i]), complex(float32(v[i]), 2)
			}
		}
		fill(x, x32, z, z32)
		fill(y, y32, w, w32)
		return append(level1(by, n, incX, incY, x[:lenX], y[:lenY], x32[:lenX], y32[:lenY], z[:lenX], w[:lenY],
			z32[:lenX], w32[:lenY]), x, y, x32, y32, z, w, z32, w32)
	}
	const chunk = 1 << 16 // of a call of assembly
	for n := -1; n <= 142; n++ {
		n := n
		if n > 140 {
			n = []int{chunk - 1, 2*chunk + 70}[n-141]
		}
		for i, inc := range [][2]int{{1, 1}, {1, 2}, {-1, 1}, {2, 1}, {1, 0}, {0, 1}, {1, -1}, {3, -2}} {
			if n > 70 && i > 0 {
				break
			}
			for _, short := range [][2]int{{0, 0}, {-1, 0}, {0, -1}, {3, 2}} {
				lenX := max(0, (n-1)*magnitude(inc[0])+1+short[0])
				lenY := max(0, (n-1)*magnitude(inc[1])+1+short[1])
				got, want := run(Implementation{}, n, inc[0], inc[1], lenX, lenY),
					run(gonum.Implementation{}, n, inc[0], inc[1], lenX, lenY)
				for i, v := range got {
					if !reflect.DeepEqual(v, want[i]) {
						t.Fatalf("n = %d, increments %v, lengths %d and %d: result %d is %v, want %v", n, inc, lenX,
							lenY, i, v, want[i])
					}
				}
			}
		}
	}
}
