package gemm

import (
	"fmt"
	"math/bits"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"gemm/gf256"
	"gemm/half"
)

// Float is the element types of floating-point matrices that Go computes with.
type Float interface{ float32 | float64 }

// Number is all element types of floating-point matrices, half precision included.
type Number interface{ Float | half.F16 | half.BF16 }

// Element is all element types: the floating-point ones and the field of bytes.
type Element interface{ Number | gf256.Elem }

// Scalar is all element types of a Matrix: the types of variants, and the complex numbers that package blas multiplies.
type Scalar interface {
	Element | complex64 | complex128
}

// Matrix is a dense row-major matrix: element (i, j) is Data[i*Stride+j]. Its rows are Stride ≥ Cols
// elements apart, so a block of a larger matrix is a Matrix too. The elements between the rows belong
// to the larger matrix and are never written. The zero value is the 0×0 matrix.
type Matrix[T Scalar] struct {
	Rows, Cols, Stride int
	Data               []T
}

// NewMatrix returns a rows×cols matrix of zeros with Stride = cols. It panics
// where a dimension is negative, and where the number of elements overflows.
func NewMatrix[T Scalar](rows, cols int) Matrix[T] {
	if rows < 0 || cols < 0 {
		panic(fmt.Sprintf("gemm: negative dimension: %d×%d", rows, cols))
	}
	if hi, lo := bits.Mul(uint(rows), uint(cols)); hi != 0 || int(lo) < 0 {
		panic(fmt.Sprintf("gemm: a matrix of %d×%d has more elements than an int counts", rows, cols))
	}
	return Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: make([]T, rows*cols)}
}

// At returns element (i, j).
func (m Matrix[T]) At(i, j int) T { return m.Data[i*m.Stride+j] }

// Set writes element (i, j).
func (m Matrix[T]) Set(i, j int, v T) { m.Data[i*m.Stride+j] = v }

// Row returns row i as a slice of length and capacity Cols.
func (m Matrix[T]) Row(i int) []T {
	if m.Cols == 0 {
		return nil
	}
	lo := i * m.Stride
	return m.Data[lo : lo+m.Cols : lo+m.Cols]
}

// Slice returns the rows×cols block of m whose first element is (i, j). It shares m's data and stride.
func (m Matrix[T]) Slice(i, j, rows, cols int) Matrix[T] {
	if i < 0 || j < 0 || rows < 0 || cols < 0 || rows > m.Rows-i || cols > m.Cols-j {
		panic(fmt.Sprintf("gemm: block %d×%d at (%d, %d) lies outside %v", rows, cols, i, j, m))
	}
	if rows == 0 || cols == 0 {
		return Matrix[T]{Rows: rows, Cols: cols, Stride: m.Stride}
	}
	lo := i*m.Stride + j
	hi := lo + (rows-1)*m.Stride + cols
	return Matrix[T]{Rows: rows, Cols: cols, Stride: m.Stride, Data: m.Data[lo:hi]}
}

// String returns the shape, "rows×cols".
func (m Matrix[T]) String() string { return fmt.Sprintf("%d×%d", m.Rows, m.Cols) }

// Check returns an ErrShape unless m is well-formed: no dimension negative,
// Stride ≥ Cols, and Data long enough for the last row.
func (m Matrix[T]) Check() error {
	switch {
	case m.Rows < 0 || m.Cols < 0:
		return fmt.Errorf("%w: negative dimension in %v", ErrShape, m)
	case m.Stride < m.Cols:
		return fmt.Errorf("%w: stride %d is below the %d columns of a row", ErrShape, m.Stride, m.Cols)
	case !wellFormed(m.Rows, m.Cols, m.Stride, len(m.Data)):
		return fmt.Errorf("%w: %v with stride %d needs (%d-1)·%d+%d elements, has %d",
			ErrShape, m, m.Stride, m.Rows, m.Stride, m.Cols, len(m.Data))
	}
	return nil
}

// CheckShapes returns an ErrShape unless c, a and b are well-formed and conform to C = A·B, and an ErrOverlap if c
// overlaps a or b. A Multiplier calls it before it writes anything.
func CheckShapes[T Scalar](c, a, b Matrix[T]) error {
	// The check of small products is a good part of their time.
	if a.Cols == b.Rows && c.Rows == a.Rows && c.Cols == b.Cols &&
		wellFormed(c.Rows, c.Cols, c.Stride, len(c.Data)) &&
		wellFormed(a.Rows, a.Cols, a.Stride, len(a.Data)) &&
		wellFormed(b.Rows, b.Cols, b.Stride, len(b.Data)) {
		return CheckOverlap(c, a, b)
	}
	for _, m := range []Matrix[T]{c, a, b} {
		if err := m.Check(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: C %v, A %v, B %v", ErrShape, c, a, b)
}

// wellFormed reports whether Check finds nothing in a matrix of elements. The product
// (rows − 1)·stride cannot overflow.
func wellFormed(rows, cols, stride, elements int) bool {
	if rows <= 0 || cols <= 0 {
		return rows >= 0 && cols >= 0 && stride >= cols
	}
	hi, lo := bits.Mul(uint(rows-1), uint(stride))
	return stride >= cols && elements >= cols && hi == 0 && lo <= uint(elements-cols)
}

// CheckGemm returns the shape of the operation of a Gemmer: C is m×n, and k is the inner dimension.
// The error is an ErrShape if a, b or c is malformed, or if op(A), op(B) and C do not conform. It
// is an ErrParam if tA or tB is not blas.NoTrans, blas.Trans or blas.ConjTrans, and an ErrOverlap if c
// overlaps a or b. A Gemmer calls CheckGemm before it writes anything.
func CheckGemm[T Scalar](tA, tB blas.Transpose, a, b, c Matrix[T]) (m, n, k int, err error) {
	rowsA, colsA, okA := opShape(tA, a.Rows, a.Cols)
	rowsB, colsB, okB := opShape(tB, b.Rows, b.Cols)
	if okA && okB && colsA == rowsB && c.Rows == rowsA && c.Cols == colsB &&
		wellFormed(c.Rows, c.Cols, c.Stride, len(c.Data)) &&
		wellFormed(a.Rows, a.Cols, a.Stride, len(a.Data)) &&
		wellFormed(b.Rows, b.Cols, b.Stride, len(b.Data)) {
		return c.Rows, c.Cols, colsA, CheckOverlap(c, a, b)
	}
	return 0, 0, 0, refuse(tA, tB, a, b, c)
}

// opShape returns the shape of op(X) for X rows×cols, and whether t is valid.
func opShape(t blas.Transpose, rows, cols int) (int, int, bool) {
	if t == blas.NoTrans {
		return rows, cols, true
	}
	return cols, rows, t == blas.Trans || t == blas.ConjTrans
}

// refuse returns the error of CheckGemm.
func refuse[T Scalar](tA, tB blas.Transpose, a, b, c Matrix[T]) error {
	for _, x := range []Matrix[T]{a, b, c} {
		if err := x.Check(); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		t blas.Transpose
		m *Matrix[T]
	}{{tA, &a}, {tB, &b}} {
		var ok bool
		if x.m.Rows, x.m.Cols, ok = opShape(x.t, x.m.Rows, x.m.Cols); !ok {
			return fmt.Errorf("%w: transpose is %q, must be one of N, T, C", ErrParam, byte(x.t))
		}
	}
	return fmt.Errorf("%w: C %v, op(A) %v, op(B) %v", ErrShape, c, a, b)
}

// General64 returns m as gonum's blas64.General, sharing its data.
func General64(m Matrix[float64]) blas64.General {
	return blas64.General{Rows: m.Rows, Cols: m.Cols, Stride: m.Stride, Data: m.Data}
}

// General32 returns m as gonum's blas32.General, sharing its data.
func General32(m Matrix[float32]) blas32.General {
	return blas32.General{Rows: m.Rows, Cols: m.Cols, Stride: m.Stride, Data: m.Data}
}

// FromGeneral64 returns gonum's g as a Matrix, sharing its data.
func FromGeneral64(g blas64.General) Matrix[float64] {
	return Matrix[float64]{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Data: g.Data}
}

// FromGeneral32 returns gonum's g as a Matrix, sharing its data.
func FromGeneral32(g blas32.General) Matrix[float32] {
	return Matrix[float32]{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Data: g.Data}
}

// Dense returns m as gonum's mat.Dense, sharing its data.
func Dense(m Matrix[float64]) *mat.Dense {
	var d mat.Dense
	d.SetRawMatrix(General64(m))
	return &d
}

// FromDense returns gonum's d as a Matrix, sharing its data.
func FromDense(d *mat.Dense) Matrix[float64] { return FromGeneral64(d.RawMatrix()) }
