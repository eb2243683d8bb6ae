// Package block multiplies matrices by five loops around a micro-kernel, after Goto and van de
// Geijn (Anatomy of High-Performance Matrix Multiplication, ACM TOMS 34(3), 2008) and Van Zee and
// van de Geijn (BLIS, ACM TOMS 41(3), 2015):
//
//	for ic over m by MC                    rows of A and C
//	  for pc over k by KC                  pack A[ic, pc] into slivers of MR rows: in L3
//	    for jc over n by NC                pack B[pc, jc] into slivers of NR columns: in L2
//	      for ir over MC by MR             one sliver of A: in L1
//	        for jr over NC by NR           micro-kernel: a tile of C in registers
//
// Compared with these papers A and B are exchanged, which suits contiguous rows. The micro-kernel moves along a row of
// tiles, and reads B by vectors and A by single elements. So the block that stays in L2 is a block of B.
//
// Packing copies a block into the order in which the micro-kernel reads it. The loads of the kernel
// are then contiguous for every stride, a block does not compete with itself for the sets of a
// cache, and transposes are only strides. Packing costs O(mk + kn·m/MC) copies for 2mnk operations.
// An operand is not packed if it can be read in place as fast. Mostly that holds for the rows of A;
// then the loop over jc is the outermost, and the workers share nothing until the end.
package block

import (
	"context"
	"unsafe"

	"gemm/internal/cpu"
	"gemm/internal/kernel"
)

// View is a matrix in memory, transposed or not: element (i, l) is Data[i*Row+l*Col].
type View[T kernel.Float] struct {
	Data     []T
	Row, Col int
}

// from returns the part of v that begins at element (i, l).
func (v View[T]) from(i, l int) View[T] {
	return View[T]{v.Data[min(i*v.Row+l*v.Col, len(v.Data)):], v.Row, v.Col}
}

// Loop is a parallel loop, such as a *Pool. Run calls body(worker, lo, hi) for chunks lo ≤ i < hi, and returns when
// all calls have returned. Together the chunks hold every i in [0, n) once. Run uses at most the
// given number of workers, and at most Workers. Workers are numbered from 0. Calls for the same
// worker follow each other. Calls for different workers may run at the same time.
//
// In Run, free workers take the chunks in order, except for the first chunk of each. In RunOwn, a
// worker gets the same chunks in every loop, unless another worker is slow. Ready reports whether a
// short loop should have several workers, although they may have to be wakeFactor.
type Loop interface {
	Workers() int
	Run(workers, n int, body func(worker, lo, hi int))
	RunOwn(workers, n int, body func(worker, lo, hi int))
	Ready() bool
}

// Serial is the Loop of one worker.
var Serial Loop = serial{}

type serial struct{}

func (serial) Workers() int { return 1 }
func (serial) Ready() bool  { return false }

// Run calls body once.
func (serial) Run(_, n int, body func(worker, lo, hi int)) {
	if n > 0 {
		body(0, 0, n)
	}
}

// RunOwn is Run.
func (s serial) RunOwn(workers, n int, body func(worker, lo, hi int)) { s.Run(workers, n, body) }

// Engine computes any number of products at the same time. It keeps the buffers of the last one for the next.
type Engine[T kernel.Float] struct {
	kernel   kernel.Kernel[T]
	blocking Blocking
	loop     Loop
	idle     Idle[task[T]]
}

// task is the state of one product: its buffers, and the job that its workers execute.
type task[T kernel.Float] struct {
	*Engine[T]
	a       []T // packed panel of A
	workers []workspace[T]
	packA   func(worker, lo, hi int) // calls packChunks; made once, since a closure is an allocation
	update  func(worker, lo, hi int) // calls updateTasks
	job     job[T]
	sum     sum[T] // the sums of matrices of the job, if it is a job of Sum
	product []T    // product of the sums, if no target is fresh
}

// take returns a task for a product; give makes it idle.
func (e *Engine[T]) take() *task[T] {
	t := e.idle.Take()
	if t == nil {
		t = &task[T]{Engine: e, workers: make([]workspace[T], e.loop.Workers())}
		t.packA = func(worker, lo, hi int) { t.packChunks(&t.job, worker, lo, hi) }
		t.update = func(worker, lo, hi int) { t.updateTasks(&t.job, worker, lo, hi) }
	}
	return t
}

func (e *Engine[T]) give(t *task[T]) { e.idle.Give(t) }

// workspace is the workspace of one worker.
type workspace[T kernel.Float] struct {
	b     []T // packed block of B
	x     []T // columns of B that are computed one by one
	tiles kernel.Tiles[T]
	_     [64]byte // keeps the workspaces of two workers out of one cache line
}

// job is one panel of A times B, which the workers divide: C ← α·A·B + β·C for the rows of the panel.
type job[T kernel.Float] struct {
	ctx     context.Context
	m, n, k int
	alpha   T
	a, b    View[T] // from the first element of the job
	beta    T
	c       View[T]
	sum     *sum[T] // the terms of A and B, if these are sums; nil: A and B are a and b

	plan   Plan
	chunks int // chunks of rows of A
	shares int // tasks of one block of columns
}

// New returns an engine for the kernel. MC and NC need not be multiples of the tile's size.
func New[T kernel.Float](k kernel.Kernel[T], blocking Blocking, loop Loop) *Engine[T] {
	return &Engine[T]{kernel: k, blocking: blocking, loop: loop}
}

// Kernel returns the engine's micro-kernel.
func (e *Engine[T]) Kernel() kernel.Kernel[T] { return e.kernel }

// Blocking returns the sizes of the largest blocks.
func (e *Engine[T]) Blocking() Blocking { return e.blocking }

// up returns n rounded up to a multiple of step.
func up(n, step int) int { return (n + step - 1) / step * step }

// Gemm computes C ← α·A·B + β·C with A m×k, B k×n and C m×n. Rows of C are contiguous: c.Col is 1.
// If β = 0, C is not read. If α = 0 or k = 0, neither A nor B is read.
//
// α multiplies sums of products. If it is very large or very small, it may multiply a copy of an operand instead; see
// Rescale. For every element of C of k terms, the result has a small error in comparison with Σ|α·aᵢₗ·bₗⱼ| + |β·cᵢⱼ| if
// this sum is at most 2⁻²⁵ of the largest number. To that error underflow adds at most 2²⁴·(k+1) of the least number.
//
// Gemm checks ctx before each call of the micro-kernel, which is some 100 µs of work. If ctx is cancelled, Gemm returns
// its error, and C is undefined. Gemm allocates only buffers that are smaller than the shape needs, and the copy for α.
func (e *Engine[T]) Gemm(ctx context.Context, m, n, k int, alpha T, a, b View[T], beta T, c View[T]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m == 0 || n == 0 || e.direct(m, n, k) && Small(&e.kernel, m, n, k, alpha, a, b, beta, c) {
		return nil
	}
	if k == 0 || alpha == 0 {
		scale(m, n, beta, c)
		return nil
	}
	if !IsModerate(alpha) {
		rest, x, y, fits, err := rescale(ctx, m, n, k, alpha, a, b)
		switch {
		case err != nil:
			return err
		case !fits:
			return e.each(ctx, m, n, k, alpha, a, b, beta, c)
		}
		alpha, a, b = rest, x, y
	}
	if e.small(m, n, k, b.Row, b.Col) {
		columns := e.columns(n, k, a.Col)
		var t kernel.Tiles[T] // no composite literal: the compiler would build and copy it
		t.N, t.K, t.A, t.ARow, t.ACol = n-columns, k, a.Data, a.Row, a.Col
		t.B, t.BRow, t.BNext, t.C, t.LDC, t.Alpha, t.Beta = b.Data, b.Row, e.kernel.NR, c.Data, c.Row, alpha, beta
		e.kernel.Run(m, &t)
		if columns > 0 {
			e.last(m, &t, b.from(0, n-columns), columns)
		}
		return nil
	}
	t := e.take()
	err := t.large(ctx, m, n, k, alpha, a, b, beta, c)
	e.give(t)
	return err
}

// last computes m rows of the columns that are left after the tiles; b begins with the first of them.
func (e *Engine[T]) last(m int, t *kernel.Tiles[T], b View[T], columns int) {
	var few [40]T // for small products: to take buffers would be a large part of their time
	if x := few[:]; t.K*columns <= len(x) {
		copyColumns(x, b, t.K, columns)
		e.updateColumns(t, x, m, columns)
		return
	}
	s := e.take()
	w := &s.workers[0]
	w.packColumns(b, t.K, columns)
	e.updateColumns(t, w.x, m, columns)
	e.give(s)
}

// large is Gemm for a product that is divided into blocks.
func (e *task[T]) large(ctx context.Context, m, n, k int, alpha T, a, b View[T], beta T, c View[T]) error {
	p := e.Plan(m, n, k, a, b)
	if p.PackB {
		for w := range p.Workers {
			e.workers[w].b = grown(e.workers[w].b, up(p.NC, e.kernel.NR)*p.KC)
		}
	}
	g := &e.job
	defer func() { *g = job[T]{} }() // leaves the operands to the garbage collector
	*g = job[T]{ctx: ctx, m: m, n: n, k: k, alpha: alpha, a: a, b: b, beta: beta, c: c, plan: p}
	if !p.PackA {
		return e.run(g)
	}
	e.a = grown(e.a, up(p.MC, e.kernel.MR)*p.KC)
	for ic := 0; ic < m; ic += p.MC {
		for pc := 0; pc < k; pc += p.KC {
			g.m, g.k = min(p.MC, m-ic), min(p.KC, k-pc)
			g.a, g.b, g.c = a.from(ic, pc), b.from(pc, 0), c.from(ic, 0)
			if g.beta = beta; pc > 0 {
				g.beta = 1
			}
			if err := e.run(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// run computes the task's job.
func (e *task[T]) run(g *job[T]) error {
	g.chunks = (g.m + g.plan.Rows - 1) / g.plan.Rows
	g.shares = (g.chunks + g.plan.Share - 1) / g.plan.Share
	workers := g.plan.Workers
	if workers > 1 && g.sum == nil && int64(g.m)*int64(g.n)*int64(g.k) < wakeFactor*int64(e.blocking.Parallel) &&
		!e.loop.Ready() {
		workers = 1
	}
	if g.plan.PackA || g.sum != nil && len(g.sum.a) > 1 {
		e.loop.Run(workers, g.chunks, e.packA)
	}
	e.loop.Run(workers, (g.n+g.plan.NC-1)/g.plan.NC*g.shares, e.update)
	return g.ctx.Err()
}

// grown returns a slice of n elements: buf if it is large enough, otherwise a new one, on huge pages if possible.
func grown[T any](buf []T, n int) []T {
	if cap(buf) < n {
		buf = make([]T, n)
		cpu.HugePages(unsafe.Pointer(unsafe.SliceData(buf)), uintptr(n)*unsafe.Sizeof(buf[0]))
	}
	return buf[:n]
}

// scale computes C ← β·C.
func scale[T kernel.Float](m, n int, beta T, c View[T]) {
	for i := range m {
		row := c.Data[i*c.Row:][:n]
		switch beta {
		case 0:
			clear(row)
		case 1:
		default:
			for j := range row {
				row[j] *= beta
			}
		}
	}
}

// updateTasks computes the tasks lo ≤ t < hi. The tasks of one block of columns have consecutive
// numbers, and a worker with several of them packs the block once.
func (e *task[T]) updateTasks(g *job[T], worker, lo, hi int) {
	p := &g.plan
	for lo < hi && g.ctx.Err() == nil {
		share := lo % g.shares
		count := min(hi-lo, g.shares-share)
		e.updateBlock(g, worker, lo/g.shares*p.NC, share*p.Share, min((share+count)*p.Share, g.chunks))
		lo += count
	}
}

// updateBlock multiplies the chunks first ≤ chunk < end of A by one block of B, over all of the job's
// k. The block begins at column j.
func (e *task[T]) updateBlock(g *job[T], worker, j, first, end int) {
	p, w := &g.plan, &e.workers[worker]
	mr, nr := e.kernel.MR, e.kernel.NR
	t := &w.tiles
	t.N, t.LDC, t.Alpha, t.Beta = min(p.NC, g.n-j), g.c.Row, g.alpha, g.beta
	columns := 0
	if j+t.N == g.n {
		columns = p.Columns
		t.N -= columns
	}
	for pc := 0; pc < g.k; pc += p.KC {
		if g.ctx.Err() != nil {
			break
		}
		t.K = min(p.KC, g.k-pc)
		b := g.b.from(pc, j)
		t.B, t.BRow, t.BNext = b.Data, b.Row, nr
		if p.PackB {
			if g.sum == nil {
				e.packBlock(w.b, b, t.K, t.N)
			} else {
				e.packBlockOfSum(g, w.b, t.N, j)
			}
			t.B, t.BRow, t.BNext = w.b, nr, nr*t.K
		}
		if columns > 0 {
			w.packColumns(g.b.from(pc, g.n-columns), t.K, columns)
		}
		for chunk := first; chunk < end && g.ctx.Err() == nil; chunk++ {
			row := chunk * p.Rows
			t.C = g.c.Data[row*g.c.Row+j:]
			if p.PackA {
				t.A, t.ARow, t.ACol, t.ANext = e.a[row*g.k:], 1, mr, mr*g.k
			} else {
				a := g.a.from(row, pc)
				t.A, t.ARow, t.ACol, t.ANext = a.Data, a.Row, a.Col, 0
			}
			e.kernel.Run(min(p.Rows, g.m-row), t)
			e.updateColumns(t, w.x, min(p.Rows, g.m-row), columns)
			if g.sum != nil {
				e.addTo(g, t, row, j)
			}
		}
		t.Beta = 1
	}
	t.A, t.B, t.C = nil, nil, nil
}

// updateColumns computes m rows of the columns in x, which are left after the tiles.
func (e *Engine[T]) updateColumns(t *kernel.Tiles[T], x []T, m, columns int) {
	for j := range columns {
		e.kernel.Column(m, t.K, t.Alpha, t.A, t.ARow, x[j*t.K:], t.Beta, t.C[t.N+j:], t.LDC)
	}
}
