package block

import (
	"context"

	"gemm/half"
	"gemm/internal/kernel"
)

// Half multiplies matrices in half precision with the micro-kernels and the sizes of blocks of float32. Blocks of A
// and B are converted while they are packed. A task is a block of C, whose sums stay in float32, in a buffer of the
// worker, until the last term; so an element is rounded once. Workers share only the operands.
//
// A is packed n/NC times and B m/halfRows times, for 2mnk operations. Nothing of the size of an operand is allocated.
type Half[T half.Float] struct {
	engine *Engine[float32]
	idle   Idle[halfTask[T]]
}

// HalfView is a matrix in half precision, by rows, or transposed: by columns. Rows or columns begin Stride elements
// apart.
type HalfView[T half.Float] struct {
	Data       []T
	Stride     int
	Transposed bool
}

// halfRows is the most rows of a block of C.
const halfRows = 512

// halfTask is the state of one product.
type halfTask[T half.Float] struct {
	*Half[T]
	workers []halfWorkspace
	update  func(worker, lo, hi int) // made once, since a closure is an allocation
	job     halfJob[T]
}

// halfWorkspace is the workspace of one worker.
type halfWorkspace struct {
	a, b  []float32 // blocks of the operands: A by rows or columns, B in slivers
	c     []float32 // the block of C
	row   []float32 // a row of C, or a sliver of B before it is transposed
	tiles kernel.Tiles[float32]
	_     [64]byte // keeps the workspaces of two workers out of one cache line
}

// halfJob is a product and its division into blocks.
type halfJob[T half.Float] struct {
	ctx               context.Context
	m, n, k           int
	alpha, beta       float32
	a, b              HalfView[T]
	c                 []T
	ldc               int
	rows, cols, depth int // of a block
	down              int // blocks of rows
}

// HostHalf returns the engine of this host in half precision.
func HostHalf[T half.Float](loop Loop) *Half[T] { return &Half[T]{engine: Host[float32](loop)} }

// Workers returns the number of workers.
func (e *Half[T]) Workers() int { return e.engine.loop.Workers() }

// Kernel returns the engine's micro-kernel.
func (e *Half[T]) Kernel() kernel.Kernel[float32] { return e.engine.kernel }

// Blocking returns the sizes of the largest blocks.
func (e *Half[T]) Blocking() Blocking {
	b := e.engine.blocking
	b.MC = halfRows
	return b
}

// Gemm computes C ← α·A·B + β·C with A m×k, B k×n and C m×n, whose rows begin ldc elements apart. If β = 0, C is not
// read. If α = 0 or k = 0, neither A nor B is read. If ctx is cancelled, Gemm returns its error, and C is undefined.
func (e *Half[T]) Gemm(ctx context.Context, m, n, k int, alpha T, a, b HalfView[T], beta T, c []T, ldc int) error {
	if err := ctx.Err(); err != nil || m == 0 || n == 0 {
		return err
	}
	t := e.idle.Take()
	if t == nil {
		t = &halfTask[T]{Half: e, workers: make([]halfWorkspace, e.Workers())}
		t.update = func(worker, lo, hi int) {
			for ; lo < hi && t.job.ctx.Err() == nil; lo++ {
				t.block(&t.workers[worker], lo%t.job.down*t.job.rows, lo/t.job.down*t.job.cols)
			}
		}
	}
	t.job = halfJob[T]{ctx: ctx, m: m, n: n, k: k, alpha: alpha.Float32(), beta: beta.Float32(), a: a, b: b, c: c,
		ldc: ldc}
	if k == 0 || t.job.alpha == 0 {
		t.job.k, t.job.alpha = 0, 0
	}
	workers := e.divide(&t.job)
	e.engine.loop.Run(workers, t.job.down*((n+t.job.cols-1)/t.job.cols), t.update)
	t.job = halfJob[T]{} // leaves the operands to the garbage collector
	e.idle.Give(t)
	return ctx.Err()
}

// divide divides a job into blocks, and returns how many workers it is for. With several workers there are at least
// three blocks for each, if the blocks stay high enough.
func (e *Half[T]) divide(g *halfJob[T]) (workers int) {
	mr, nr := e.engine.kernel.MR, e.engine.kernel.NR
	blocking := e.Blocking()
	g.rows, g.cols, g.depth, workers = pieces(g.m, halfRows, mr), pieces(g.n, blocking.NC, nr), 0, 1
	if g.k > 0 {
		// As many roundings as in a product of float32, or fewer.
		p := e.engine.Plan(g.m, g.n, g.k, View[float32]{nil, g.k, 1}, View[float32]{nil, g.n, 1})
		workers = p.Workers
		g.cols, g.depth = min(g.cols, up(p.NC, nr)), min(p.KC, blocking.KC)
	}
	across := (g.n + g.cols - 1) / g.cols
	for workers > 1 && g.rows > 8*mr && (g.m+g.rows-1)/g.rows*across < 3*workers {
		g.rows = pieces(g.m, g.rows/2, mr)
	}
	g.down = (g.m + g.rows - 1) / g.rows
	return workers
}

// block computes the block of C that begins at element (i, j).
func (e *halfTask[T]) block(w *halfWorkspace, i, j int) {
	g, t := &e.job, &w.tiles
	mr, nr := e.engine.kernel.MR, e.engine.kernel.NR
	rows, cols := min(g.rows, g.m-i), min(g.cols, g.n-j)
	wide := up(cols, nr)
	w.a, w.b, w.c = grown(w.a, rows*g.depth), grown(w.b, g.depth*wide), grown(w.c, rows*wide)
	w.row = grown(w.row, max(wide, nr*g.depth))
	if g.k == 0 {
		clear(w.c)
	}
	t.N, t.LDC, t.Alpha, t.Beta = cols, wide, 1, 0
	for pc := 0; pc < g.k; pc += g.depth {
		t.K = min(g.depth, g.k-pc)
		e.widenA(w, i, pc, rows)
		e.widenB(w, pc, j)
		step := max(mr, min(taskRows, mostTerms/(cols*t.K))/mr*mr)
		for row := 0; row < rows; row += step {
			if g.ctx.Err() != nil {
				return
			}
			t.A, t.C = w.a[row*t.ARow:], w.c[row*wide:]
			e.engine.kernel.Run(min(step, rows-row), t)
		}
		t.Beta = 1
	}
	for row := range rows {
		g.store(g.c[(i+row)*g.ldc+j:][:cols], w.c[row*wide:][:cols], w.row)
	}
	t.A, t.B, t.C = nil, nil, nil
}

// widenA converts rows of A, from element (i, l) on and as deep as the tiles are, by rows or by columns as A is stored.
func (e *halfTask[T]) widenA(w *halfWorkspace, i, l, rows int) {
	a, t := e.job.a, &w.tiles
	if a.Transposed {
		t.ARow, t.ACol, t.ANext = 1, rows, 0
		for x := range t.K {
			kernel.Widen(w.a[x*rows:], a.Data[(l+x)*a.Stride+i:][:rows])
		}
		return
	}
	t.ARow, t.ACol, t.ANext = t.K, 1, 0
	for x := range rows {
		kernel.Widen(w.a[x*t.K:], a.Data[(i+x)*a.Stride+l:][:t.K])
	}
}

// widenB converts columns of B, from element (l, j) on and as many as the tiles have, into slivers, or by rows if few
// rows of A use them.
func (e *halfTask[T]) widenB(w *halfWorkspace, l, j int) {
	b, t, nr := e.job.b, &w.tiles, e.engine.kernel.NR
	t.B, t.BRow, t.BNext = w.b, nr, nr*t.K
	switch {
	case !b.Transposed && e.engine.kernel.Strided && e.job.m <= fewRows*e.engine.kernel.MR:
		t.BRow, t.BNext = t.LDC, nr
		for x := range t.K {
			kernel.Widen(w.b[x*t.BRow:], b.Data[(l+x)*b.Stride+j:][:t.N])
		}
		return
	case !b.Transposed:
		for x := range t.K {
			row := b.Data[(l+x)*b.Stride+j:][:t.N]
			for jr := 0; jr < t.N; jr += nr {
				kernel.Widen(w.b[jr*t.K+x*nr:], row[jr:min(jr+nr, t.N)])
			}
		}
		return
	}
	for jr := 0; jr < t.N; jr += nr {
		have := min(nr, t.N-jr)
		for x := range have {
			kernel.Widen(w.row[x*t.K:], b.Data[(j+jr+x)*b.Stride+l:][:t.K])
		}
		e.engine.kernel.Transpose(have, t.K, w.b[jr*t.K:], nr, w.row, t.K)
	}
}

// store writes α·sum + β·c to a row of C. It overwrites the sums; old is as long as they are.
func (g *halfJob[T]) store(c []T, sum, old []float32) {
	if g.alpha != 1 {
		for j := range sum {
			sum[j] *= g.alpha
		}
	}
	if g.beta != 0 {
		old = old[:len(sum)]
		kernel.Widen(old, c)
		for j, x := range old {
			sum[j] += g.beta * x
		}
	}
	kernel.Narrow(c, sum)
}
