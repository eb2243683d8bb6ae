package blas

import (
	"context"
	"sync"

	"gemm"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
	"gemm/internal/kernel/vector"
	"gemm/pool"
)

// precision holds the idle workspaces for the routines of one element type.
type precision[T gemm.Float] struct {
	kernel  kernel.Kernel[T] // of small products
	idle    [2]sync.Pool     // of one worker, and of several
	vectors [2]sync.Pool     // of *sharedVectors[T], of one worker, and of several
}

var (
	double = precision[float64]{kernel: kernel.Best[float64]()}
	single = precision[float32]{kernel: kernel.Best[float32]()}
)

// precisionOf returns the precision of an element type.
func precisionOf[T gemm.Float]() *precision[T] {
	if p, ok := any(&double).(*precision[T]); ok {
		return p
	}
	return any(&single).(*precision[T])
}

const (
	// corner is the largest order of a block on the diagonal. The recursion ends there.
	corner = 32
	// strip is the number of columns of B that are computed together with a diagonal block of a
	// triangle. They stay in L2.
	strip = 512
	// multiplyNarrow pays if C has at most narrow columns and A has at least tall columns.
	narrow, tall = 64, 256
	// fewDots is the largest n²·k at which gonum computes A·Bᵀ + B·Aᵀ faster, and fewSquareDots the largest for
	// A·Aᵀ, or its n is at most fewLong. In these cases gonum multiplies rows by rows, and skips no zeros.
	fewDots, fewSquareDots, fewLong = 5 * 5 * 5, 8 * 8 * 8, 5
)

// workspace is the engine and the buffers of one call of a routine.
type workspace[T gemm.Float] struct {
	precision *precision[T]
	workers   int // number of workers of the engine
	engine    *block.Engine[T]
	square    [corner * corner]T // a block on the diagonal
	across    []T                // buffer of multiplyNarrow, allocated when it is first called
	complexes *complexBuffers[T] // of complex products, allocated when there is one
}

// acquire returns a workspace for a number of workers; below 1 it is GOMAXPROCS. The caller returns it by release.
func (p *precision[T]) acquire(workers int) *workspace[T] {
	if workers < 1 {
		workers = cpu.Workers()
	}
	if w, ok := p.idle[min(workers, 2)-1].Get().(*workspace[T]); ok && w.workers == workers {
		return w
	}
	return &workspace[T]{precision: p, workers: workers, engine: block.Host[T](pool.New(workers))}
}

func (w *workspace[T]) release() { w.precision.idle[min(w.workers, 2)-1].Put(w) }

// multiply computes C ← α·A·B + β·C with A m×k, B k×n and C m×n.
func (w *workspace[T]) multiply(m, n, k int, alpha T, a, b view[T], beta T, c view[T]) {
	if block.Small(&w.precision.kernel, m, n, k, alpha, a, b, beta, c) {
		return
	}
	_ = w.product(context.Background(), m, n, k, alpha, a, b, beta, c) // the only error would be the context's
}

// product is multiply by the engine, which needs a C with contiguous rows. If the columns of C are
// contiguous, the engine computes Cᵀ = α·Bᵀ·Aᵀ + β·Cᵀ. The error is the context's.
func (w *workspace[T]) product(ctx context.Context, m, n, k int, alpha T, a, b view[T], beta T, c view[T]) error {
	if c.Col != 1 {
		m, n, a, b, c = n, m, transposed(b), transposed(a), transposed(c)
	}
	if m == 1 && a.Col == 1 && b.Col != 1 {
		// Cᵀ = α·Bᵀ·Aᵀ + β·Cᵀ has one column: the rows of Bᵀ are multiplied by the row of A.
		return w.engine.Gemm(ctx, n, 1, k, alpha, transposed(b), view[T]{Data: a.Data, Row: 1, Col: 1}, beta,
			view[T]{Data: c.Data, Row: 1, Col: 1})
	}
	if w.sparse(ctx, m, n, k, alpha, a, b, beta, c) {
		return ctx.Err()
	}
	if a.Col != 1 && b.Col == 1 && n <= narrow && k >= tall {
		return w.multiplyNarrow(ctx, m, n, k, alpha, a, b, beta, c)
	}
	return w.engine.Gemm(ctx, m, n, k, alpha, a, b, beta, c)
}

// sparse is product for an A with few elements that are not zero, and reports whether it computed. Zeros are skipped
// only if no element of B is NaN or infinite, or may be: then a product with a zero is zero.
func (w *workspace[T]) sparse(ctx context.Context, m, n, k int, alpha T, a, b view[T], beta T, c view[T]) bool {
	const wide, samples, share = 256, 64, 32 // at most one element of share is not zero
	if alpha != 1 || m < samples || n < wide || m*k < wide*samples || b.Col != 1 || c.Col != 1 || !vector.Fast {
		return false
	}
	lines, each, ld := m, k, a.Row
	if a.Col != 1 {
		lines, each, ld = k, m, a.Col
	}
	rest := 2 * samples / share
	for s := range samples {
		if a.Data[s*lines/samples*ld+s*41%each] != 0 {
			rest--
		}
		if rest < 0 {
			return false
		}
	}
	rest = m * k / share / w.workers
	for p := range lines {
		for _, x := range a.Data[p*ld:][:each] {
			if x != 0 {
				rest--
			}
		}
		if rest < 0 {
			return false
		}
	}
	for l := range k {
		if sum := vector.Asum(b.Data[l*b.Row:][:n]); sum-sum != 0 {
			return false
		}
	}
	for i := range m {
		scale(beta, c.Data[i*c.Row:][:n])
	}
	for p := 0; p < lines && ctx.Err() == nil; p++ {
		for q, x := range a.Data[p*ld:][:each] {
			if i, l := p, q; x != 0 {
				if a.Col != 1 {
					i, l = q, p
				}
				vector.Axpy(x, b.Data[l*b.Row:][:n], c.Data[i*c.Row:][:n])
			}
		}
	}
	return true
}

// multiplyNarrow is product for a C of few columns and an A of many, contiguous columns. The engine would
// read each row of A, once for each tile, with every element on another page. multiplyNarrow reads A along
// its columns: the engine computes X = α·Bᵀ·Aᵀ, piece by piece, and Xᵀ is added to β·C. LAPACK's dlarfb,
// which applies blocks of Householder reflections, needs such products: W ← W + CᵀV.
func (w *workspace[T]) multiplyNarrow(ctx context.Context, m, n, k int, alpha T, a, b view[T], beta T,
	c view[T]) error {
	const piece = 1024 // rows of C
	if w.across == nil {
		w.across = make([]T, narrow*piece)
	}
	for i := 0; i < m; i += piece {
		rows := min(piece, m-i)
		if err := w.engine.Gemm(ctx, n, rows, k, alpha, transposed(b), transposed(from(a, i, 0)), 0,
			view[T]{Data: w.across, Row: rows, Col: 1}); err != nil {
			return err
		}
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
	return nil
}

func terms(m, n, k int) int64 { return int64(m) * int64(n) * int64(k) }
