package blas

import (
	"context"
	"runtime"
	"sync"

	"gemm"
	"gemm/internal/block"
	"gemm/parallel"
)

// precision is what the routines of one element type share: the workspaces that lie
// idle.
type precision[T gemm.Float] struct{ idle sync.Pool }

var (
	double precision[float64]
	single precision[float32]
)

const (
	// corner is the largest order of a block on the diagonal at which the recursion
	// ends.
	corner = 32
	// strip is the number of columns of B that a diagonal block of a triangle is applied to at a
	// time, so that they stay in L2.
	strip = 512
	// narrow and tall are the most columns of C and the least columns of A for which
	// multiplyNarrow pays.
	narrow, tall = 64, 256
	// tiny is the largest m·n·k of a product that is computed by three loops.
	tiny = 4 * 4 * 4
	// fewDots and fewSquareDots are the largest m·n·k up to which gonum computes A·Bᵀ and
	// A·Bᵀ + B·Aᵀ, and A·Aᵀ, faster than an engine. It multiplies rows by rows there, and
	// leaves out no product with a zero.
	fewDots, fewSquareDots = 8 * 8 * 8, 12 * 12 * 12
)

// workspace is what one call of a routine needs.
type workspace[T gemm.Float] struct {
	precision *precision[T]
	workers   int // of the engine
	engine    *block.Engine[T]
	square    [corner * corner]T // a block on the diagonal
	across    []T                // of multiplyNarrow, once it is called
}

// borrow returns a workspace for as many workers as goroutines can run at once; the
// caller gives it back by giveBack.
func (p *precision[T]) borrow() *workspace[T] {
	workers := runtime.GOMAXPROCS(0)
	if w, ok := p.idle.Get().(*workspace[T]); ok && w.workers == workers {
		return w
	}
	return &workspace[T]{precision: p, workers: workers, engine: block.Host[T](parallel.NewPool(workers).Loop())}
}

func (w *workspace[T]) giveBack() { w.precision.idle.Put(w) }

// multiply computes C ← α·A·B + β·C with A m×k, B k×n and C m×n. The engine wants
// the rows of C contiguous; where its columns are, it computes Cᵀ = α·Bᵀ·Aᵀ + β·Cᵀ.
func (w *workspace[T]) multiply(m, n, k int, alpha T, a, b view[T], beta T, c view[T]) {
	if isTiny(m, n, k, alpha) {
		multiplyTiny(m, n, k, alpha, a, b, beta, c)
		return
	}
	if c.Col != 1 {
		m, n, a, b, c = n, m, transposed(b), transposed(a), transposed(c)
	}
	if m == 1 && a.Col == 1 && b.Col != 1 {
		// Cᵀ = α·Bᵀ·Aᵀ + β·Cᵀ has one column: the rows of Bᵀ are multiplied by the row of A.
		w.run(n, 1, k, alpha, transposed(b), view[T]{Data: a.Data, Row: 1, Col: 1}, beta,
			view[T]{Data: c.Data, Row: 1, Col: 1})
		return
	}
	if a.Col != 1 && b.Col == 1 && n <= narrow && k >= tall {
		w.multiplyNarrow(m, n, k, alpha, a, b, beta, c)
		return
	}
	w.run(m, n, k, alpha, a, b, beta, c)
}

// run calls the engine. The only error is the context's, which has none.
func (w *workspace[T]) run(m, n, k int, alpha T, a, b view[T], beta T, c view[T]) {
	_ = w.engine.Gemm(context.Background(), m, n, k, alpha, a, b, beta, c)
}

// multiplyNarrow is multiply for a C of few columns and an A whose columns are
// contiguous, and long. A would be read across its memory's rows, from a page each,
// once a tile. Here it is read along them: the engine computes X = α·Bᵀ·Aᵀ, a piece
// at a time, and Xᵀ is added to C. Householder's reflections are applied so, a block
// at a time: W ← W + CᵀV in LAPACK's dlarfb.
func (w *workspace[T]) multiplyNarrow(m, n, k int, alpha T, a, b view[T], beta T, c view[T]) {
	const piece = 1024 // rows of C
	if w.across == nil {
		w.across = make([]T, narrow*piece)
	}
	for i := 0; i < m; i += piece {
		rows := min(piece, m-i)
		w.run(n, rows, k, alpha, transposed(b), transposed(from(a, i, 0)), 0, view[T]{Data: w.across, Row: rows, Col: 1})
		for p := range rows {
			row := c.Data[(i+p)*c.Row:][:n]
			for q := range row {
				x := w.across[q*rows+p]
				if beta != 0 {
					x += beta * row[q]
				}
				row[q] = x
			}
		}
	}
}

// terms returns m·n·k.
func terms(m, n, k int) int64 { return int64(m) * int64(n) * int64(k) }

// isTiny reports whether multiplyTiny is for the product: α = 0 and k = 0, which
// only scale C, are the engine's.
func isTiny[T gemm.Float](m, n, k int, alpha T) bool {
	return terms(m, n, k) <= tiny && k > 0 && alpha != 0
}

// multiplyTiny is multiply where calling an engine would take longer.
func multiplyTiny[T gemm.Float](m, n, k int, alpha T, a, b view[T], beta T, c view[T]) {
	for i := range m {
		for j := range n {
			var sum T
			ai, bj := i*a.Row, j*b.Col
			for range k {
				sum += a.Data[ai] * b.Data[bj]
				ai += a.Col
				bj += b.Row
			}
			sum *= alpha
			at := i*c.Row + j*c.Col
			if beta != 0 {
				sum += beta * c.Data[at]
			}
			c.Data[at] = sum
		}
	}
}
