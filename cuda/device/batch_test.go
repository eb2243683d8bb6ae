//go:build cuda

package device_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/device"
	"gemm/gemmtest"
)

// TestBatches runs the conformance suite on the variants with batches, and computes batches of ragged products of
// several tiles with every tile of the rungs among them.
func TestBatches(t *testing.T) {
	for _, v := range onGPU(t) {
		if !v.Can.Has(gemm.BatchStages) {
			continue
		}
		if v.Role != gemm.Library { // in f32 alone
			v.F64, v.F16, v.BF16, v.GF256 = nil, nil, nil, nil
		}
		t.Run("suite/"+v.Name, func(t *testing.T) { gemmtest.Suite{OneCall: true}.Run(t, v) })
		for _, p := range settings(v, "f32") {
			t.Run(fmt.Sprint("f32/", v.Name, "/", p), func(t *testing.T) { batches[float32](t, v, p) })
		}
		if v.F64 != nil {
			t.Run("f64/"+v.Name, func(t *testing.T) { batches[float64](t, v, gemm.Params{}) })
		}
	}
}

// batches computes batches of integers, whose products are exact.
func batches[T gemm.Float](t *testing.T, v gemm.Variant, p gemm.Params) {
	m, ok := stageable[T](t, v, p).(gemm.BatchStager[T])
	if !ok {
		t.Fatal("it computes no batches")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for i, s := range []gemm.Shape{{M: 131, N: 259, K: 70}, {M: 64, N: 64, K: 64}, {M: 300, N: 33, K: 17}} {
		for _, count := range []int{1, 7, 300} {
			for op := range 4 {
				tA, tB := blas.NoTrans, blas.NoTrans
				rowsA, colsA, rowsB, colsB := s.M, s.K, s.K, s.N
				if op&1 != 0 {
					tA, rowsA, colsA = blas.Trans, colsA, rowsA
				}
				if op&2 != 0 {
					tB, rowsB, colsB = blas.Trans, colsB, rowsB
				}
				a := integers[T](rng, count, rowsA, colsA, i)
				b := integers[T](rng, count, rowsB, colsB, 2*i)
				c := integers[T](rng, count, s.M, s.N, i)
				was := c
				was.Data = slices.Clone(c.Data)
				run, err := m.StageBatch(t.Context(), tA, tB, 2, a, b, 3, c)
				if errors.Is(err, gemm.ErrUnavailable) && p["split"] != nil {
					t.Skip(err)
				}
				gemmtest.Must(t, err)
				device.Once(t, run)
				gemmtest.Must(t, run.Close())
				for x := range count {
					if x > 2 && x < count-2 && x%50 != 0 {
						continue
					}
					device.Exact(t, cuda.Operation{TransA: op&1 != 0, TransB: op&2 != 0, Alpha: 2, Beta: 3}, a.Nth(x),
						b.Nth(x), was.Nth(x), c.Nth(x))
				}
			}
		}
	}
}

// integers returns a batch of matrices of small integers, with gaps between rows.
func integers[T gemm.Float](rng *rand.Rand, count, rows, cols, gap int) gemm.Batch[T] {
	ld := cols + gap
	x := gemm.Batch[T]{Count: count, Step: rows * ld, Rows: rows, Cols: cols, Stride: ld,
		Data: make([]T, count*rows*ld)}
	for i := range x.Data {
		x.Data[i] = T(rng.IntN(9) - 4)
	}
	return x
}
