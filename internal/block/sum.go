package block

import (
	"context"

	"gemm/internal/kernel"
)

// Term is a matrix of a sum, in row-major order: element (i, j) is Data[i*Stride+j].
type Term[T kernel.Float] struct {
	Data   []T
	Stride int
	Sign   T // 1 or −1
}

// from returns the part of t that begins at element (i, j).
func (t Term[T]) from(i, j int) Term[T] {
	return Term[T]{t.Data[i*t.Stride+j:], t.Stride, t.Sign}
}

// view returns the matrix of the term, without the sign.
func (t Term[T]) view() View[T] { return View[T]{t.Data, t.Stride, 1} }

// sum is the additional part of a job of Sum. The panel of A in the job is a panel of the sum a;
// the rows of B belong to the sum b.
type sum[T kernel.Float] struct {
	a, b, c     []Term[T] // copies, so that the arguments of Sum may be on the stack
	row, column int       // first row and column of the panel in A
	others      []Term[T] // of c, the targets that the job's part of M is added to; none before M is complete
}

// Sum computes the product M of two sums of matrices, and adds it to other matrices or subtracts it from them:
//
//	M = (±A₁ ± A₂ …)·(±B₁ ± B₂ …)    C₁ ← C₁ ± M    C₂ ← C₂ ± M …
//
// A is m×k, B is k×n and C is m×n. No dimension is 0, and a sum begins with a sign of 1. If fresh
// is true, C₁ ← ±M, and C₁ is not read. No C overlaps another matrix.
//
// This is the ABC variant of Huang, Smith, Henry and van de Geijn (Strassen's Algorithm Reloaded,
// SC16). The sums are formed during packing, and M is added to the targets while it is in a cache.
// So an addition causes no memory traffic. There are two differences:
//
//   - A is packed only for long rows of C. Otherwise its sum is formed by rows, and a single matrix
//     is read in place.
//   - M is first summed over all of k, in C₁ if that is fresh, otherwise in a workspace of m×n. So
//     the targets are read and written once, not once for every KC. The rounding error is the same
//     as if the product were formed and then added.
//
// If ctx is cancelled, Sum returns the error of ctx, and the targets are undefined. Sum allocates
// nothing if the last product had the shape.
func (e *Engine[T]) Sum(ctx context.Context, m, n, k int, a, b, c []Term[T], fresh bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := e.take()
	err := t.sumUp(ctx, m, n, k, a, b, c, fresh)
	e.give(t)
	return err
}

// sumUp is Sum on the buffers of the task.
func (e *task[T]) sumUp(ctx context.Context, m, n, k int, a, b, c []Term[T], fresh bool) error {
	p := e.sumPlan(m, n, k)
	e.a = grown(e.a, up(p.MC, e.kernel.MR)*p.KC)
	for w := range p.Workers {
		e.workers[w].b = grown(e.workers[w].b, max(up(p.NC, e.kernel.NR), e.kernel.MR)*p.KC)
	}
	g, s := &e.job, &e.sum
	s.a, s.b, s.c = append(s.a[:0], a...), append(s.b[:0], b...), append(s.c[:0], c...)
	defer func() { // releases the operands
		*g, s.others = job[T]{}, nil
		clear(s.a)
		clear(s.b)
		clear(s.c)
	}()
	home, others := s.c[0], s.c[1:]
	if !fresh {
		e.product = grown(e.product, m*n)
		home, others = Term[T]{e.product, n, 1}, s.c
	}
	*g = job[T]{ctx: ctx, n: n, alpha: home.Sign, sum: s, plan: p}
	for s.row = 0; s.row < m; s.row += p.MC {
		for s.column = 0; s.column < k; s.column += p.KC {
			g.m, g.k = min(p.MC, m-s.row), min(p.KC, k-s.column)
			g.a, g.c = a[0].from(s.row, s.column).view(), home.from(s.row, 0).view()
			if len(a) > 1 { // if A is packed, the view is not used
				g.a = View[T]{e.a, g.k, 1}
			}
			if g.beta = 1; s.column == 0 {
				g.beta = 0
			}
			if s.column+g.k == k {
				s.others = others
			}
			if err := e.run(g); err != nil {
				return err
			}
		}
		s.others = nil
	}
	return nil
}

// sumPlan returns how Sum computes an m×n×k product.
func (e *Engine[T]) sumPlan(m, n, k int) Plan {
	p := Plan{PackA: e.packsRows(n), PackB: true, MC: pieces(m, e.blocking.MC, e.kernel.MR),
		KC: pieces(k, e.blocking.KC, 4)}
	e.share(&p, m, n, k, e.blocking.NC)
	return p
}

// SumWorkspace returns the size of the buffers of Sum for an m×n×k product without a fresh target, in elements.
func (e *Engine[T]) SumWorkspace(m, n, k int) int {
	p := e.sumPlan(m, n, k)
	return up(p.MC, e.kernel.MR)*p.KC + max(up(p.NC, e.kernel.NR), e.kernel.MR)*p.KC*p.Workers + m*n
}

// packSum forms a chunk of the panel of A's sum, and packs it if A is packed.
func (e *task[T]) packSum(g *job[T], worker, chunk int) {
	s, mr := g.sum, e.kernel.MR
	row := chunk * g.plan.Rows
	rows := min(g.plan.Rows, g.m-row)
	to := e.a[row*g.k:]
	if !g.plan.PackA {
		e.sumOf(to, g.k, rows, g.k, s.a, s.row+row, s.column)
		return
	}
	height, taller, slivers := e.kernel.Slivers(rows)
	for sliver := range slivers {
		if sliver == taller {
			height--
		}
		x := s.a[0].from(s.row+row, s.column)
		if len(s.a) > 1 {
			// The buffer for B is not in use yet. It is large enough for a sliver of A.
			x = Term[T]{e.workers[worker].b, g.k, 1}
			e.sumOf(x.Data, g.k, height, g.k, s.a, s.row+row, s.column)
		}
		e.kernel.Transpose(height, g.k, to, mr, x.Data, x.Stride)
		row, to = row+height, to[mr*g.k:]
	}
}

// addTo adds the tiles that t has computed, at element (row, j) of the job's part of M, to the other targets.
func (e *task[T]) addTo(g *job[T], t *kernel.Tiles[T], row, j int) {
	for _, other := range g.sum.others {
		c := other.from(g.sum.row+row, j)
		e.kernel.Add(min(g.plan.Rows, g.m-row), t.N, c.Data, c.Stride, c.Data, c.Stride, c.Sign*t.Alpha, t.C, t.LDC)
	}
}

// strip is the number of rows of the sum of B that are formed at a time, over the whole width of a
// block. So each row is read over a length that is long enough for the hardware's prefetch.
const strip = 8

// packBlockOfSum packs the job's rows and nc columns of B's sum, from column j on.
func (e *task[T]) packBlockOfSum(g *job[T], to []T, nc, j int) {
	s, kc, nr := g.sum, g.k, e.kernel.NR
	if len(s.b) == 1 {
		e.packBlock(to, s.b[0].from(s.column, j).view(), kc, nc)
		return
	}
	for l := 0; l < kc; l += strip {
		for jr := 0; jr < nc; jr += nr {
			e.sumOf(to[jr*kc+l*nr:], nr, min(strip, kc-l), min(nr, nc-jr), s.b, s.column+l, j+jr)
		}
	}
}

// sumOf computes the sum of the rows×cols blocks at element (i, j) of two or more terms, and writes it to
// dst. It adds term by term.
func (e *task[T]) sumOf(dst []T, ldd, rows, cols int, terms []Term[T], i, j int) {
	x := terms[0].from(i, j)
	for _, term := range terms[1:] {
		y := term.from(i, j)
		e.kernel.Add(rows, cols, dst, ldd, x.Data, x.Stride, y.Sign, y.Data, y.Stride)
		x = Term[T]{dst, ldd, 1}
	}
}
