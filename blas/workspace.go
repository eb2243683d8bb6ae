package blas

import (
	"context"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"gemm"
	"gemm/internal/block"
)

// precision is what float64 and float32 do not share: gonum's routines for the
// blocks on the diagonal, and the workspaces that lie idle.
type precision[T gemm.Float] struct {
	idle sync.Pool // of *workspace[T]
	trsm func(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)
	trmm func(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)
}

var (
	double = precision[float64]{trsm: gonum.Implementation{}.Dtrsm, trmm: gonum.Implementation{}.Dtrmm}
	single = precision[float32]{trsm: gonum.Implementation{}.Strsm, trmm: gonum.Implementation{}.Strmm}
)

const (
	// order0 is the order of the blocks on the diagonal that the recursion ends
	// at. Their work, a share of order0/n of the whole, is what is not done at the
	// speed of large products.
	order0 = 32
	// width is the number of columns of a strip that a block on the diagonal meets
	// at a time. The strip stays in the first level of cache.
	width = 64
)

// workspace is what one call of a routine needs.
type workspace[T gemm.Float] struct {
	*precision[T]
	engine *block.Engine[T]
	square [order0 * order0]T // a block on the diagonal
	strip  [order0 * width]T  // what it is multiplied by
}

// borrow returns a workspace; the caller gives it back by giveBack.
func (p *precision[T]) borrow() *workspace[T] {
	if w, ok := p.idle.Get().(*workspace[T]); ok {
		return w
	}
	return &workspace[T]{precision: p, engine: block.Host[T](block.Serial)}
}

func (w *workspace[T]) giveBack() { w.idle.Put(w) }

// multiply computes C ← α·A·B + β·C with A m×k, B k×n and C m×n. The engine wants
// the rows of C contiguous; where its columns are, it computes Cᵀ = α·Bᵀ·Aᵀ + β·Cᵀ.
func (w *workspace[T]) multiply(m, n, k int, alpha T, a, b view[T], beta T, c view[T]) {
	if c.Col != 1 {
		m, n, a, b, c = n, m, transposed(b), transposed(a), transposed(c)
	}
	// The only error is the context's, which has none.
	_ = w.engine.Gemm(context.Background(), m, n, k, alpha, a, b, beta, c.Data, c.Row)
}
