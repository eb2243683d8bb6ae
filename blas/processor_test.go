package blas

import (
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"

	"gemm/gemmtest"
)

// TestOneProcessor checks that on one processor the routines with two workers are as fast as with
// one. The cases include a transposed A with small k, and QR, which calls the routines.
func TestOneProcessor(t *testing.T) {
	const m, n, k, order = 370, 800, 32, 200
	a, b, c := make([]float64, m*k), make([]float64, k*n), make([]float64, m*n)
	square, other := make([]float64, order*order), make([]float64, order*order)
	for i := range order {
		square[i*order+i] = 1
	}
	for name, run := range map[string]func(){
		"gemm": func() { impl.Dgemm(blas.Trans, blas.NoTrans, m, n, k, 1, a, m, b, n, 0, c, n) },
		"symm": func() {
			impl.Dsymm(blas.Left, blas.Upper, order, order, 1, square, order, square, order, 0, other, order)
		},
		"syrk": func() { impl.Dsyrk(blas.Upper, blas.NoTrans, order, order, 1, square, order, 0, other, order) },
		"syr2k": func() {
			impl.Dsyr2k(blas.Upper, blas.NoTrans, order, order, 1, square, order, square, order, 0, other, order)
		},
		"trmm": func() {
			impl.Dtrmm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, order, order, 1, square, order, other, order)
		},
		"trsm": func() {
			impl.Dtrsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, order, order, 1, square, order, other, order)
		},
		"QR": func() {
			var qr mat.QR
			qr.Factorize(mat.NewDense(order, order, square))
		},
	} {
		t.Run(name, func(t *testing.T) {
			blas64.Use(impl)
			defer blas64.Use(gonum.Implementation{})
			gemmtest.OneProcessor(t, func() func() { return run })
		})
	}
}
