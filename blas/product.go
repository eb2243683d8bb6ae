package blas

import (
	"context"
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"

	"gemm"
	fp16 "gemm/half"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/pool"
)

// The transposes that Gemm and Problem take. The constants are gonum's.
const (
	NoTrans   = blas.NoTrans   // the matrix
	Trans     = blas.Trans     // its transpose
	ConjTrans = blas.ConjTrans // the same, for real numbers
)

// Number is the element types that Multiply and Gemm take. Sums of half.F16 and half.BF16 are in float32, and each
// element of C is rounded once. Complex numbers are multiplied as Zgemm does.
type Number interface {
	gemm.Number | complex64 | complex128
}

// Multiply computes C = A·B. The error is a gemm.ErrShape if the matrices are malformed or do not conform, or a
// gemm.ErrOverlap if C overlaps A or B; then nothing is written. Once its workspace is large enough, Multiply
// allocates nothing.
func Multiply[T Number](c, a, b gemm.Matrix[T]) error {
	return MultiplyContext(context.Background(), c, a, b)
}

// MultiplyContext is Multiply until ctx is cancelled. Then it returns the context's error, and C is undefined.
func MultiplyContext[T Number](ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	return compute(ctx, &operation[T]{tA: NoTrans, tB: NoTrans, m: c.Rows, n: c.Cols, k: a.Cols, a: &a, b: &b, c: &c})
}

// Gemm computes C ← α·op(A)·op(B) + β·C, where op(X) is X (NoTrans), its transpose (Trans) or its conjugate transpose
// (ConjTrans). If β = 0, C is not read. If α = 0, A and B are not read. The errors are Multiply's, or a gemm.ErrParam
// if tA or tB is none of the constants.
func Gemm[T Number](tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T, c gemm.Matrix[T]) error {
	return GemmContext(context.Background(), tA, tB, alpha, a, b, beta, c)
}

// GemmContext is Gemm until ctx is cancelled. Then it returns the context's error, and C is undefined.
func GemmContext[T Number](ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	m, n, k, err := gemm.CheckGemm(tA, tB, a, b, c)
	if err != nil {
		return err
	}
	return compute(ctx, &operation[T]{tA, tB, m, n, k, &alpha, &a, &b, beta, &c})
}

// MultiplyDense is MultiplyContext for gonum's matrices: dst = A·B. As in dst.Mul(a, b), an empty dst gets its size
// here, and A or B may be the transpose of a matrix. Unlike Mul, it needs no blas64.Use, can be cancelled, and does not
// panic: the errors are Multiply's. A and B that are not dense are copied.
func MultiplyDense(ctx context.Context, dst *mat.Dense, a, b mat.Matrix) error {
	m, k := a.Dims()
	rowsB, n := b.Dims()
	if dst.IsEmpty() && k == rowsB && m > 0 && n > 0 {
		dst.ReuseAs(m, n)
	}
	tA, x := opOf(a)
	tB, y := opOf(b)
	return GemmContext(ctx, tA, tB, 1, x, y, 0, gemm.FromDense(dst))
}

// opOf returns m as op(X).
func opOf(m mat.Matrix) (blas.Transpose, gemm.Matrix[float64]) {
	t := NoTrans
	if of, ok := m.(mat.Transpose); ok {
		t, m = Trans, of.Matrix
	}
	d, ok := m.(*mat.Dense)
	if !ok {
		d = mat.DenseCopyOf(m)
	}
	return t, gemm.FromDense(d)
}

// operation is C ← α·op(A)·op(B) + β·C with op(A) m×k, op(B) k×n and C m×n, which conform.
type operation[T Number] struct {
	tA, tB  blas.Transpose
	m, n, k int
	alpha   *T // nil: 1
	a, b    *gemm.Matrix[T]
	beta    T
	c       *gemm.Matrix[T]
}

// compute computes an operation. The error is the context's.
func compute[T Number](ctx context.Context, o *operation[T]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch o := any(o).(type) {
	case *operation[float64]:
		return multiplyReal(ctx, &double, o)
	case *operation[float32]:
		return multiplyReal(ctx, &single, o)
	case *operation[fp16.F16]:
		return multiplyHalf(ctx, &idleF16, o)
	case *operation[fp16.BF16]:
		return multiplyHalf(ctx, &idleBF16, o)
	case *operation[complex128]:
		return multiplyComplex(ctx, &double, o)
	case *operation[complex64]:
		return multiplyComplex(ctx, &single, o)
	}
	panic("unreachable")
}

// scale returns α. It gets the number 1 of the type.
func (o *operation[T]) scale(one T) T {
	if o.alpha == nil {
		return one
	}
	return *o.alpha
}

func multiplyReal[T gemm.Float](ctx context.Context, p *precision[T], o *operation[T]) error {
	alpha, a, b, c := o.scale(1), o.a, o.b, o.c
	if p.isFew(o.tB, o.m, o.n, o.k, alpha) {
		p.small(o.tA, o.tB, o.m, o.n, o.k, alpha, unsafe.SliceData(a.Data), a.Stride, unsafe.SliceData(b.Data),
			b.Stride, o.beta, unsafe.SliceData(c.Data), c.Stride)
		return nil
	}
	return p.product(ctx, 0, o.m, o.n, o.k, alpha, stored(o.tA, a.Data, a.Stride), stored(o.tB, b.Data, b.Stride),
		o.beta, stored(NoTrans, c.Data, c.Stride))
}

// idleF16 and idleBF16 have the engines of half precision that compute nothing, a *block.Half each.
var idleF16, idleBF16 sync.Pool

func multiplyHalf[T fp16.Float](ctx context.Context, idle *sync.Pool, o *operation[T]) error {
	e, ok := idle.Get().(*block.Half[T])
	if workers := cpu.Workers(); !ok || e.Workers() != workers {
		e = block.HostHalf[T](pool.New(workers))
	}
	defer idle.Put(e)
	a := block.HalfView[T]{Data: o.a.Data, Stride: o.a.Stride, Transposed: o.tA != NoTrans}
	b := block.HalfView[T]{Data: o.b.Data, Stride: o.b.Stride, Transposed: o.tB != NoTrans}
	return e.Gemm(ctx, o.m, o.n, o.k, o.scale(fp16.From[T](1)), a, b, o.beta, o.c.Data, o.c.Stride)
}

func multiplyComplex[T gemm.Float, C anyComplex](ctx context.Context, p *precision[T], o *operation[C]) error {
	j := &complexJob[T]{ctx, o.tA, o.tB, pair[T](o.scale(1)), pair[T](o.beta), pairs[T](o.a.Data),
		pairs[T](o.b.Data), pairs[T](o.c.Data), o.a.Stride, o.b.Stride, o.c.Stride}
	return j.compute(p, 0, o.m, o.n, o.k)
}
