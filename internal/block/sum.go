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

// sums is what a task keeps for Sum.
type sums[T kernel.Float] struct {
	product      []T                      // M, where no target is fresh
	pack, update func(worker, lo, hi int) // packSums and updateSums of the job, made once
	job          sumJob[T]
}

// sumJob is what the workers are busy with: the product of a panel of A's sum and the
// rows of B's that it meets.
type sumJob[T kernel.Float] struct {
	ctx    context.Context
	n      int
	a, b   []Term[T]
	home   Term[T]   // where M is summed over k
	others []Term[T] // what it is added to then
	plan   Plan

	row, column int  // of A, where the panel begins
	m, k        int  // of the panel
	chunks      int  // of its rows
	shares      int  // tasks for a block of columns
	last        bool // M is complete with this panel
}

// Sum computes the product M of two sums of matrices, and adds it to others or
// subtracts it from them:
//
//	M = (±A₁ ± A₂ …)·(±B₁ ± B₂ …)    C₁ ← C₁ ± M    C₂ ← C₂ ± M …
//
// with A m×k, B k×n and C m×n; no dimension is 0, and a sum begins with a sign of 1.
// Where fresh is true C₁ ← ±M, and C₁ is not read. No C overlaps another matrix.
//
// This is the ABC variant of Huang, Smith, Henry and van de Geijn (Strassen's
// Algorithm Reloaded, SC16): the sums are formed as they are packed, and M is added to
// the targets while a cache has it, so that nothing goes through memory for the sake of
// an addition. It differs in that A is packed for long rows of C alone: otherwise a sum is
// formed by rows, and a single matrix read where it lies. And M is first summed over the
// whole of k, in C₁ where that is fresh and else in a workspace of m×n: the targets are
// gone through once, not once for every KC, and the error is that of a product that is
// formed and then added.
//
// The error is ctx's, as Gemm's is; the targets are then undefined. Once the buffers
// have grown to the shape it allocates nothing.
func (e *Engine[T]) Sum(ctx context.Context, m, n, k int, a, b, c []Term[T], fresh bool) error {
	t := e.take()
	err := t.sumUp(ctx, m, n, k, a, b, c, fresh)
	e.give(t)
	return err
}

// sumUp is Sum.
func (e *task[T]) sumUp(ctx context.Context, m, n, k int, a, b, c []Term[T], fresh bool) error {
	p := e.sumPlan(m, n, k)
	e.a = grown(e.a, up(p.MC, e.kernel.MR)*p.KC)
	for w := range p.Workers {
		e.workers[w].b = grown(e.workers[w].b, up(p.NC, e.kernel.NR)*p.KC)
	}
	home, others := c[0], c[1:]
	if !fresh {
		e.sums.product = grown(e.sums.product, m*n)
		home, others = Term[T]{e.sums.product, n, 1}, c
	}
	g := &e.sums.job
	defer func() { *g = sumJob[T]{} }() // lets go of the operands
	*g = sumJob[T]{ctx: ctx, n: n, a: a, b: b, home: home, others: others, plan: p}
	for g.row = 0; g.row < m; g.row += p.MC {
		g.m = min(p.MC, m-g.row)
		g.chunks = (g.m + p.Rows - 1) / p.Rows
		g.shares = (g.chunks + p.Share - 1) / p.Share
		for g.column = 0; g.column < k; g.column += p.KC {
			g.k = min(p.KC, k-g.column)
			g.last = g.column+g.k == k
			if err := ctx.Err(); err != nil {
				return err
			}
			if p.PackA || len(a) > 1 {
				e.loop.Run(p.Workers, g.chunks, e.sums.pack)
			}
			e.loop.Run(p.Workers, (n+p.NC-1)/p.NC*g.shares, e.sums.update)
		}
	}
	return ctx.Err()
}

// sumPlan returns how Sum computes an m×n×k product.
func (e *Engine[T]) sumPlan(m, n, k int) Plan {
	p := Plan{PackA: e.packsRows(n), PackB: true, MC: pieces(m, e.blocking.MC, e.kernel.MR), KC: pieces(k, e.blocking.KC, 4)}
	e.share(&p, m, n, k, e.blocking.NC)
	return p
}

// SumWorkspace returns the number of elements that Sum holds for an m×n×k product,
// with targets of which none is fresh.
func (e *Engine[T]) SumWorkspace(m, n, k int) int {
	p := e.sumPlan(m, n, k)
	return up(p.MC, e.kernel.MR)*p.KC + up(p.NC, e.kernel.NR)*p.KC*p.Workers + m*n
}

// packSums packs chunks of the panel of A's sum.
func (e *task[T]) packSums(g *sumJob[T], worker, lo, hi int) {
	for chunk := lo; chunk < hi; chunk++ {
		e.packSum(g, worker, chunk)
	}
}

func (e *task[T]) packSum(g *sumJob[T], worker, chunk int) {
	mr := e.kernel.MR
	row := chunk * g.plan.Rows
	rows := min(g.plan.Rows, g.m-row)
	to := e.a[row*g.k:]
	if !g.plan.PackA {
		e.sum(to, g.k, rows, g.k, g.a, g.row+row, g.column)
		return
	}
	height, taller, slivers := e.kernel.Slivers(rows)
	for s := range slivers {
		if s == taller {
			height--
		}
		x := g.a[0].from(g.row+row, g.column)
		if len(g.a) > 1 {
			// The buffer for B is not in use yet; a sliver of it is larger than one of A.
			x = Term[T]{e.workers[worker].b, g.k, 1}
			e.sum(x.Data, g.k, height, g.k, g.a, g.row+row, g.column)
		}
		e.kernel.Transpose(height, g.k, to, mr, x.Data, x.Stride)
		row, to = row+height, to[mr*g.k:]
	}
}

// updateSums computes tasks, as updateTasks does.
func (e *task[T]) updateSums(g *sumJob[T], worker, lo, hi int) {
	p := &g.plan
	for lo < hi && g.ctx.Err() == nil {
		share := lo % g.shares
		count := min(hi-lo, g.shares-share)
		e.updateSum(g, worker, lo/g.shares*p.NC, share*p.Share, min((share+count)*p.Share, g.chunks))
		lo += count
	}
}

// updateSum multiplies some chunks of A's sum by the block of columns of B's from j on.
func (e *task[T]) updateSum(g *sumJob[T], worker, j, first, end int) {
	p, w := &g.plan, &e.workers[worker]
	mr, nr := e.kernel.MR, e.kernel.NR
	nc := min(p.NC, g.n-j)
	e.packBlockOfSum(g, w.b, nc, j)
	t := &w.tiles
	t.N, t.K, t.LDC, t.Alpha, t.Beta = nc, g.k, g.home.Stride, g.home.Sign, 1
	t.B, t.BRow, t.BNext = w.b, nr, nr*g.k
	if g.column == 0 {
		t.Beta = 0
	}
	for chunk := first; chunk < end && g.ctx.Err() == nil; chunk++ {
		row := chunk * p.Rows
		rows := min(p.Rows, g.m-row)
		home := g.home.from(g.row+row, j)
		t.C = home.Data
		switch {
		case p.PackA:
			t.A, t.ARow, t.ACol, t.ANext = e.a[row*g.k:], 1, mr, mr*g.k
		case len(g.a) > 1:
			t.A, t.ARow, t.ACol, t.ANext = e.a[row*g.k:], g.k, 1, 0
		default:
			a := g.a[0].from(g.row+row, g.column)
			t.A, t.ARow, t.ACol, t.ANext = a.Data, a.Stride, 1, 0
		}
		e.kernel.Run(rows, t)
		if !g.last {
			continue
		}
		for _, other := range g.others {
			c := other.from(g.row+row, j)
			e.kernel.Add(rows, nc, c.Data, c.Stride, c.Data, c.Stride, c.Sign*home.Sign, home.Data, home.Stride)
		}
	}
	t.A, t.B, t.C = nil, nil, nil // lets go of the operands
}

// strip is how many rows of B's sum are formed at a time, over the whole width of a
// block: what is read of a row is then long enough for the hardware to fetch ahead.
const strip = 8

// packBlockOfSum packs the job's rows and nc columns of B's sum, from column j on.
func (e *task[T]) packBlockOfSum(g *sumJob[T], to []T, nc, j int) {
	kc, nr := g.k, e.kernel.NR
	if len(g.b) == 1 {
		x := g.b[0].from(g.column, j)
		e.packBlock(to, View[T]{x.Data, x.Stride, 1}, kc, nc)
		return
	}
	for l := 0; l < kc; l += strip {
		for jr := 0; jr < nc; jr += nr {
			e.sum(to[jr*kc+l*nr:], nr, min(strip, kc-l), min(nr, nc-jr), g.b, g.column+l, j+jr)
		}
	}
}

// sum forms the sum of the rows×cols blocks of two terms or more at element (i, j) in
// dst, term by term.
func (e *task[T]) sum(dst []T, ldd, rows, cols int, terms []Term[T], i, j int) {
	x := terms[0].from(i, j)
	for _, term := range terms[1:] {
		y := term.from(i, j)
		e.kernel.Add(rows, cols, dst, ldd, x.Data, x.Stride, y.Sign, y.Data, y.Stride)
		x = Term[T]{dst, ldd, 1}
	}
}
