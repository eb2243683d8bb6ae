package gemm

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
)

// Batch is Count matrices of one form in one slice: element (i, j) of matrix x is Data[x*Step+i*Stride+j]. Steps are at
// least as long as a matrix, so matrices do not overlap. Elements between rows and between matrices are never written.
type Batch[T Element] struct {
	Count, Step        int
	Rows, Cols, Stride int
	Data               []T
}

// NewBatch returns count matrices of zeros, rows×cols each, one behind the other.
func NewBatch[T Element](count, rows, cols int) Batch[T] {
	all := NewMatrix[T](count*rows, cols)
	return Batch[T]{Count: count, Step: max(1, rows*cols), Rows: rows, Cols: cols, Stride: cols, Data: all.Data}
}

// Nth returns matrix x, which shares the data.
func (b Batch[T]) Nth(x int) Matrix[T] {
	m := Matrix[T]{Rows: b.Rows, Cols: b.Cols, Stride: b.Stride}
	if b.Rows > 0 && b.Cols > 0 {
		lo := x * b.Step
		m.Data = b.Data[lo : lo+(b.Rows-1)*b.Stride+b.Cols]
	}
	return m
}

// Stacked returns the matrices as one, each below the one before. It returns false if they do not lie like that.
func (b Batch[T]) Stacked() (Matrix[T], bool) {
	m := Matrix[T]{Rows: b.Count * b.Rows, Cols: b.Cols, Stride: b.Stride, Data: b.Data}
	return m, b.Step == b.Rows*b.Stride || m.Rows == 0 || m.Cols == 0
}

// Check returns an ErrShape unless b is well-formed: Count ≥ 1, a well-formed first matrix, Step at least as long as
// it, and Data long enough for the last one.
func (b Batch[T]) Check() error {
	if b.Count < 1 {
		return fmt.Errorf("%w: a batch of %d matrices, must be at least 1", ErrShape, b.Count)
	}
	if err := (Matrix[T]{Rows: b.Rows, Cols: b.Cols, Stride: b.Stride, Data: b.Data}).Check(); err != nil {
		return err
	}
	need := 0
	if b.Rows > 0 && b.Cols > 0 {
		need = (b.Rows-1)*b.Stride + b.Cols
	}
	switch {
	case b.Step < max(1, need):
		return fmt.Errorf("%w: the step of a batch is %d, must be at least the %d elements of a matrix", ErrShape,
			b.Step, max(1, need))
	case need > 0 && (len(b.Data)-need)/b.Step < b.Count-1:
		return fmt.Errorf("%w: %d matrices with a step of %d need more than the %d elements of the batch", ErrShape,
			b.Count, b.Step, len(b.Data))
	}
	return nil
}

// CheckBatch returns the shape of each product of a BatchGemmer, as CheckGemm does. The error is also an ErrShape if
// a batch is malformed, or if the batches have different counts; it is an ErrOverlap if a matrix of c overlaps
// one of a or b. A BatchGemmer calls CheckBatch before it writes anything.
func CheckBatch[T Number](tA, tB blas.Transpose, a, b, c Batch[T]) (m, n, k int, err error) {
	for _, x := range []Batch[T]{a, b, c} {
		if err := x.Check(); err != nil {
			return 0, 0, 0, err
		}
	}
	if a.Count != c.Count || b.Count != c.Count {
		return 0, 0, 0, fmt.Errorf("%w: batches of %d matrices A, %d B and %d C", ErrShape, a.Count, b.Count, c.Count)
	}
	if m, n, k, err = CheckGemm(tA, tB, a.Nth(0), b.Nth(0), c.Nth(0)); err == nil {
		err = CheckBatchOverlap(c, a, b)
	}
	return m, n, k, err
}
