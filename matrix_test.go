package gemm_test

import (
	"errors"
	"math"
	"math/bits"
	"strings"
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

func TestBlocksShareDataAndStride(t *testing.T) {
	m := gemm.Matrix[float64]{Rows: 3, Cols: 4, Stride: 6, Data: make([]float64, 2*6+4)}
	block := m.Slice(1, 2, 2, 2)
	block.Set(1, 1, 7)
	if got := m.At(2, 3); got != 7 || block.Stride != 6 || len(block.Data) != 6+2 {
		t.Errorf("element (2, 3) is %g, stride %d, %d elements; want 7, 6, 8", got, block.Stride, len(block.Data))
	}
	if row := m.Row(2); len(row) != 4 || cap(row) != 4 || row[3] != 7 {
		t.Errorf("row 2 is %v with capacity %d, want four elements and no more", row, cap(row))
	}
	for _, empty := range []gemm.Matrix[float64]{m.Slice(3, 0, 0, 4), m.Slice(0, 4, 3, 0)} {
		if err := empty.Check(); err != nil {
			t.Errorf("an empty block: %v", err)
		}
		for i := range empty.Rows {
			if len(empty.Row(i)) != 0 {
				t.Errorf("row %d of an empty block is %v", i, empty.Row(i))
			}
		}
	}
	for _, outside := range [][4]int{{-1, 0, 1, 1}, {0, 0, 4, 1}, {2, 3, 1, 2}, {0, 0, -1, 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a block %v outside of 3×4 is given out", outside)
				}
			}()
			m.Slice(outside[0], outside[1], outside[2], outside[3])
		}()
	}
}

// TestHugeStrides checks matrices for which the product of rows and stride, or the sum of an
// offset and a size, overflows.
func TestHugeStrides(t *testing.T) {
	data := make([]float64, 100)
	for _, m := range []gemm.Matrix[float64]{
		{Rows: 2, Cols: 3, Stride: math.MaxInt, Data: data},
		{Rows: 3, Cols: 3, Stride: math.MaxInt, Data: data},
		{Rows: 17, Cols: 3, Stride: 1 << (bits.UintSize - 4), Data: data},
		{Rows: 1 << (bits.UintSize - 4), Cols: 16, Stride: 16, Data: data},
		{Rows: math.MaxInt, Cols: 2, Stride: 2, Data: data},
	} {
		if err := m.Check(); !errors.Is(err, gemm.ErrShape) {
			t.Errorf("%v with stride %d and %d elements: got %v, want ErrShape", m, m.Stride, len(data), err)
		}
		row := gemm.Matrix[float64]{Rows: m.Rows, Cols: 0, Stride: 0}
		column := gemm.Matrix[float64]{Rows: 0, Cols: m.Cols, Stride: m.Cols}
		if err := gemm.CheckShapes(m, row, column); !errors.Is(err, gemm.ErrShape) {
			t.Errorf("C %v with stride %d and %d elements: got %v, want ErrShape", m, m.Stride, len(data), err)
		}
	}
	for name, f := range map[string]func(){
		"a matrix of 2³² × 2³² elements":  func() { gemm.NewMatrix[float64](1<<(bits.UintSize/2), 1<<(bits.UintSize/2)) },
		"a matrix of 2⁶³ elements":        func() { gemm.NewMatrix[float64](1<<(bits.UintSize/2), 1<<(bits.UintSize/2-1)) },
		"rows from an index that is huge": func() { gemm.NewMatrix[float64](4, 4).Slice(math.MaxInt, 0, 1, 1) },
		"rows up to an index that is":     func() { gemm.NewMatrix[float64](4, 4).Slice(1, 0, math.MaxInt, 1) },
		"columns from an index that is":   func() { gemm.NewMatrix[float64](4, 4).Slice(0, math.MaxInt, 1, 1) },
	} {
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "gemm: ") {
					t.Errorf("%s: got %v, want a panic of this package", name, text)
				}
			}()
			f()
		}()
	}
}

func TestConversionsShareData(t *testing.T) {
	m := gemm.NewMatrix[float64](2, 3)
	back := gemm.FromDense(gemm.Dense(m))
	back.Set(1, 2, 5)
	general := gemm.FromGeneral64(gemm.General64(m))
	general.Set(0, 1, 4)
	if m.At(1, 2) != 5 || m.At(0, 1) != 4 {
		t.Errorf("writes through gonum's types are lost: %v", m.Data)
	}
	s := gemm.NewMatrix[float32](2, 3)
	single := gemm.FromGeneral32(gemm.General32(s))
	single.Set(1, 1, 3)
	if s.At(1, 1) != 3 {
		t.Errorf("writes through blas32.General are lost: %v", s.Data)
	}
}
