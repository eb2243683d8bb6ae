//go:build cuda

package device_test

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cuda"
	"gemm/gemmtest"
)

// TestTails compares products whose last tiles are cut along k with the exact result, twice: the counts of arrivals
// must be 0 again after a product.
func TestTails(t *testing.T) {
	cut := map[string]bool{}
	for _, v := range onGPU(t) {
		if v.F32 != nil && slices.ContainsFunc(cuda.Ladder("f32"), splitter(v.Name)) {
			t.Run("f32/"+v.Name, func(t *testing.T) { cut["f32"] = tails[float32](t, v) || cut["f32"] })
		}
		if v.F64 != nil && slices.ContainsFunc(cuda.Ladder("f64"), splitter(v.Name)) {
			t.Run("f64/"+v.Name, func(t *testing.T) { cut["f64"] = tails[float64](t, v) || cut["f64"] })
		}
	}
	if !cut["f32"] || !cut["f64"] {
		t.Errorf("uneven tails are in %v: the shapes show nothing", cut)
	}
}

// splitter reports for a rung whether it is the variant and can cut tiles.
func splitter(variant string) func(cuda.Rung) bool {
	return func(r cuda.Rung) bool { return r.Splits && cuda.Family+"/"+r.Name == variant }
}

// tails multiplies matrices of small integers whose product is known: A is a column times a row, and so is B. It
// reports whether the tiles at the end of one product were cut in uneven parts.
func tails[T gemm.Float](t *testing.T, v gemm.Variant) (cut bool) {
	m := stageable[T](t, v, gemm.Params{})
	const alpha, beta = 2, 3
	for _, s := range []gemm.Shape{{M: 130, N: 200, K: 3000}, {M: 65, N: 129, K: 20000}, {M: 700, N: 900, K: 1100},
		{M: 1500, N: 1501, K: 1500}} {
		for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			a, x := padded[T](s.M, s.K, 0), padded[T](s.K, s.N, 4)
			if tA == blas.Trans {
				a = padded[T](s.K, s.M, 1)
			}
			sum := 0
			for l := range s.K {
				sum += (l%7 - 3) * (l%5 - 1)
				for i := range s.M {
					if e := T((i%3 - 1) * (l%7 - 3)); tA == blas.Trans {
						a.Set(l, i, e)
					} else {
						a.Set(i, l, e)
					}
				}
				for j := range s.N {
					x.Set(l, j, T((j%4-1)*(l%5-1)))
				}
			}
			for range 2 {
				c := padded[T](s.M, s.N, 3)
				for i := range s.M {
					for j := range s.N {
						c.Set(i, j, T(j%5))
					}
				}
				gemmtest.Must(t, m.(gemm.Gemmer[T]).Gemm(t.Context(), tA, blas.NoTrans, alpha, a, x, beta, c))
				for i := range s.M {
					for j := range s.N {
						want := T(alpha*(i%3-1)*(j%4-1)*sum + beta*(j%5))
						if got := c.At(i, j); !(got == want) {
							t.Fatalf("%v %c: element (%d, %d) is %v, want %v", s, tA, i, j, got, want)
						}
					}
				}
			}
			how := m.(gemm.Explainer).Resolved()
			t.Log(s, string(tA), how)
			_, uneven := how["cut"]
			cut = cut || uneven
		}
	}
	return cut
}
