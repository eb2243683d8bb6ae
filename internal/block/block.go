// Package block multiplies matrices by the five loops of Goto and van de Geijn
// round a micro-kernel (Anatomy of High-Performance Matrix Multiplication, ACM
// TOMS 34(3), 2008, in the form of Van Zee and van de Geijn, BLIS, ACM TOMS
// 41(3), 2015):
//
//	for jc over n by NC                    columns of B and C
//	  for pc over k by KC                  pack B[pc, jc] into slivers of NR columns: in L3
//	    for ic over m by MC                pack A[ic, pc] into slivers of MR rows: in L2
//	      for jr over NC by NR             one sliver of B: in L1
//	        for ir over MC by MR           micro-kernel: a tile of C in registers
//
// Packing copies a block into the order in which the micro-kernel reads it, so
// that the kernel's loads are contiguous whatever the operand's stride, and a
// block does not compete with itself for the sets of a cache. It also absorbs
// the transposes, which are only strides, and α. It costs O(mk·n/NC + kn) copies
// for 2mnk operations.
package block

import (
	"context"
	"unsafe"

	"gemm/internal/cpu"
	"gemm/internal/kernel"
)

// View is a matrix in memory, transposed or not: element (i, l) is
// Data[i*Row+l*Col].
type View[T kernel.Float] struct {
	Data     []T
	Row, Col int
}

// Loop runs body(worker, i) once for every i in [0, n) and returns when all
// calls have. Calls with the same worker follow each other; calls with different
// ones, from 0 to Workers−1, may run at the same time.
type Loop struct {
	Workers int
	Run     func(n int, body func(worker, i int))
}

// Serial is the Loop of one worker.
var Serial = Loop{Workers: 1, Run: func(n int, body func(worker, i int)) {
	for i := range n {
		body(0, i)
	}
}}

// Engine computes products. It keeps its packing buffers from one product to the
// next and serves one product at a time.
type Engine[T kernel.Float] struct {
	kernel   kernel.Kernel[T]
	blocking Blocking
	loop     Loop
	b        []T // packed block of B
	workers  []workspace[T]
	packB    func(worker, i int) // e.packSliver and e.updateRows, made once:
	update   func(worker, i int) // a method value is an allocation
	job      job[T]
}

// workspace is what one worker has for itself.
type workspace[T kernel.Float] struct {
	a    []T // packed block of A
	tile []T // of C, where the tile sticks out over an edge
}

// job is the block that the workers are busy with: C[:, jc] += A[:, pc]·B[pc, jc].
type job[T kernel.Float] struct {
	ctx       context.Context
	m, nc, kc int // of the block
	mc        int // rows of a piece of it
	alpha     T
	a, b      View[T] // their first elements are the block's
	beta      T
	c         []T // its first element is the block's
	ldc       int
}

// New returns an engine for the kernel. MC and NC need not be multiples of the
// tile.
func New[T kernel.Float](k kernel.Kernel[T], blocking Blocking, loop Loop) *Engine[T] {
	e := &Engine[T]{kernel: k, blocking: blocking, loop: loop, workers: make([]workspace[T], loop.Workers)}
	e.packB, e.update = e.packSliver, e.updateRows
	return e
}

// Workspace returns the number of elements that an m×n×k product packs into, with
// one worker.
func (e *Engine[T]) Workspace(m, n, k int) int {
	if m == 0 || n == 0 || k == 0 {
		return 0
	}
	cut := e.Cut(m, n, k)
	return (up(cut.MC, e.kernel.MR)+up(cut.NC, e.kernel.NR))*cut.KC + e.kernel.MR*e.kernel.NR
}

// Cut returns the blocking of an m×n×k product: blocks no larger than the
// engine's, of equal size, and of A at least one for each worker. No dimension is
// 0.
func (e *Engine[T]) Cut(m, n, k int) Blocking {
	share := up(m, len(e.workers)*e.kernel.MR) / len(e.workers)
	return Blocking{
		MC: pieces(m, min(e.blocking.MC, share), e.kernel.MR),
		KC: pieces(k, e.blocking.KC, 1),
		NC: pieces(n, e.blocking.NC, e.kernel.NR),
	}
}

// Kernel returns the engine's micro-kernel.
func (e *Engine[T]) Kernel() kernel.Kernel[T] { return e.kernel }

// Blocking returns the largest blocks that the engine makes.
func (e *Engine[T]) Blocking() Blocking { return e.blocking }

// up returns n rounded up to a multiple of step.
func up(n, step int) int { return (n + step - 1) / step * step }

// Gemm computes C ← α·A·B + β·C with A m×k, B k×n and C m×n; element (i, j) of C
// is c[i*ldc+j]. β = 0 does not read C; α = 0 or k = 0 reads neither A nor B. The
// error is ctx's, which is looked at once a block of A; C is then undefined.
// Once the buffers have grown to the shape it allocates nothing.
func (e *Engine[T]) Gemm(ctx context.Context, m, n, k int, alpha T, a, b View[T], beta T, c []T, ldc int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return nil
	}
	if k == 0 || alpha == 0 {
		scale(m, n, beta, c, ldc)
		return nil
	}
	cut := e.Cut(m, n, k)
	mc, kc, nc := cut.MC, cut.KC, cut.NC
	mr, nr := e.kernel.MR, e.kernel.NR
	e.b = grown(e.b, up(nc, nr)*kc)
	for w := range e.workers {
		e.workers[w].a = grown(e.workers[w].a, up(mc, mr)*kc)
		e.workers[w].tile = grown(e.workers[w].tile, mr*nr)
	}
	defer func() { e.job = job[T]{} }() // lets go of the operands
	for jc := 0; jc < n; jc += nc {
		for pc := 0; pc < k; pc += kc {
			e.job = job[T]{
				ctx: ctx, m: m, nc: min(nc, n-jc), kc: min(kc, k-pc), mc: mc,
				alpha: alpha, beta: 1, c: c[jc:], ldc: ldc,
				a: View[T]{a.Data[pc*a.Col:], a.Row, a.Col},
				b: View[T]{b.Data[pc*b.Row+jc*b.Col:], b.Row, b.Col},
			}
			if pc == 0 {
				e.job.beta = beta
			}
			e.loop.Run(up(e.job.nc, nr)/nr, e.packB)
			e.loop.Run((m+mc-1)/mc, e.update)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// grown returns a slice of n elements, buf's own where it is large enough, and
// otherwise a new one on huge pages where the system gives them.
func grown[T kernel.Float](buf []T, n int) []T {
	if cap(buf) < n {
		buf = make([]T, n)
		cpu.HugePages(unsafe.Pointer(unsafe.SliceData(buf)), uintptr(n)*unsafe.Sizeof(buf[0]))
	}
	return buf[:n]
}

// scale computes C ← β·C.
func scale[T kernel.Float](m, n int, beta T, c []T, ldc int) {
	for i := range m {
		row := c[i*ldc:][:n]
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

// packSliver packs sliver i of the block of B, scaled by α.
func (e *Engine[T]) packSliver(_, i int) {
	g, nr := &e.job, e.kernel.NR
	j := i * nr
	pack(e.b[j*g.kc:][:nr*g.kc], nr, min(nr, g.nc-j), g.alpha, g.b.Data[j*g.b.Col:], g.b.Col, g.b.Row)
}

// updateRows computes piece i of the rows of the block of C.
func (e *Engine[T]) updateRows(worker, i int) {
	g := &e.job
	if g.ctx.Err() != nil {
		return
	}
	mr, nr := e.kernel.MR, e.kernel.NR
	w := &e.workers[worker]
	top := i * g.mc
	mc := min(g.mc, g.m-top)
	for ir := 0; ir < mc; ir += mr {
		pack(w.a[ir*g.kc:][:mr*g.kc], mr, min(mr, mc-ir), 1, g.a.Data[(top+ir)*g.a.Row:], g.a.Row, g.a.Col)
	}
	c := g.c[top*g.ldc:]
	for jr := 0; jr < g.nc; jr += nr {
		b := e.b[jr*g.kc:][:nr*g.kc]
		for ir := 0; ir < mc; ir += mr {
			a := w.a[ir*g.kc:][:mr*g.kc]
			if ir+mr <= mc && jr+nr <= g.nc {
				e.kernel.Run(g.kc, a, b, g.beta, c[ir*g.ldc+jr:], g.ldc)
				continue
			}
			e.kernel.Run(g.kc, a, b, 0, w.tile, nr)
			add(min(mr, mc-ir), min(nr, g.nc-jr), w.tile, nr, g.beta, c[ir*g.ldc+jr:], g.ldc)
		}
	}
}

// add computes C ← tile + β·C for the part of a tile that lies in the matrix.
func add[T kernel.Float](m, n int, tile []T, ldt int, beta T, c []T, ldc int) {
	for i := range m {
		row := c[i*ldc:][:n]
		for j, sum := range tile[i*ldt:][:n] {
			if beta == 0 {
				row[j] = sum
			} else {
				row[j] = sum + beta*row[j]
			}
		}
	}
}

// pack copies a sliver of the given number of lanes into dst: lane p of step l,
// src[p*lane+l*step], to dst[l*lanes+p], scaled by α. Lanes from have on lie
// outside the matrix and become zero. It walks src the way in which it is
// contiguous.
func pack[T kernel.Float](dst []T, lanes, have int, alpha T, src []T, lane, step int) {
	if have < lanes {
		clear(dst)
	}
	if step == 1 {
		for p := range have {
			for _, x := range src[p*lane:][:len(dst)/lanes] {
				dst[p] = alpha * x
				p += lanes
			}
		}
		return
	}
	for at := 0; len(dst) >= lanes; at += step {
		to := dst[:have]
		if lane == 1 {
			for p, x := range src[at:][:have] {
				to[p] = alpha * x
			}
		} else {
			for p := range to {
				to[p] = alpha * src[at+p*lane]
			}
		}
		dst = dst[lanes:]
	}
}
