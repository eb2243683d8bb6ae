package gemm_test

import (
	"errors"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

func TestCheckGemm(t *testing.T) {
	matrix := gemm.NewMatrix[float64]
	short := matrix(3, 4)
	short.Data = short.Data[1:]
	for name, test := range map[string]struct {
		tA, tB  blas.Transpose
		a, b, c gemm.Matrix[float64]
		want    error
	}{
		"nn":              {blas.NoTrans, blas.NoTrans, matrix(3, 4), matrix(4, 5), matrix(3, 5), nil},
		"tn":              {blas.Trans, blas.NoTrans, matrix(4, 3), matrix(4, 5), matrix(3, 5), nil},
		"nt":              {blas.NoTrans, blas.ConjTrans, matrix(3, 4), matrix(5, 4), matrix(3, 5), nil},
		"tt":              {blas.ConjTrans, blas.Trans, matrix(4, 3), matrix(5, 4), matrix(3, 5), nil},
		"empty":           {blas.NoTrans, blas.NoTrans, matrix(3, 0), matrix(0, 5), matrix(3, 5), nil},
		"A not op(A)":     {blas.Trans, blas.NoTrans, matrix(3, 4), matrix(4, 5), matrix(3, 5), gemm.ErrShape},
		"B not op(B)":     {blas.NoTrans, blas.Trans, matrix(3, 4), matrix(4, 5), matrix(3, 5), gemm.ErrShape},
		"C transposed":    {blas.NoTrans, blas.NoTrans, matrix(3, 4), matrix(4, 5), matrix(5, 3), gemm.ErrShape},
		"A short":         {blas.NoTrans, blas.NoTrans, short, matrix(4, 5), matrix(3, 5), gemm.ErrShape},
		"no transpose":    {'X', blas.NoTrans, matrix(3, 4), matrix(4, 5), matrix(3, 5), gemm.ErrParam},
		"no transpose, B": {blas.NoTrans, 0, matrix(3, 4), matrix(4, 5), matrix(3, 5), gemm.ErrParam},
	} {
		m, n, k, err := gemm.CheckGemm(test.tA, test.tB, test.a, test.b, test.c)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
		if err == nil && (m != 3 || n != 5 || k != 4 && name != "empty" || k != 0 && name == "empty") {
			t.Errorf("%s: m, n, k are %d, %d, %d", name, m, n, k)
		}
	}
}
