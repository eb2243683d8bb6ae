package block

import (
	"bytes"
	"context"

	"gemm/gf256"
	"gemm/internal/kernel"
)

// Field computes products in GF(2⁸) by five loops around a micro-kernel:
//
//	for ic over m by MC                  panel of A: MC×KP, packed into slivers of MR rows, in L3
//	  for pc over k by KP
//	    for jc over n by NC              block of B: KC×NC, in L2; packed only if that pays
//	      for lc over KP by KC
//	        for ir over MC by MR         micro-kernel: a sliver of A (in L1) times the block of B
//
// It is built for the shapes of Reed–Solomon codes. A is small. Each of the k rows of B is a shard,
// which may be megabytes long. If m ≤ MR, every element of B is loaded once.
//
// Shards often have a length of a power of two. Then the rows of B are whole pages apart and map to the same sets of a
// cache, which holds only a few of them. There are two remedies. The kernel reads B in place, a few rows in one pass.
// Or, if A and B have many rows, it copies the block, so that rows do not share sets.
//
// A Field computes any number of products at the same time. It keeps the buffers of the last one for the next.
type Field struct {
	kernel kernel.Field
	caches Caches
	loop   Loop
	idle   Idle[fieldTask]
}

// fieldTask is the state of one product: its buffers, and the job that its workers execute.
type fieldTask struct {
	*Field
	a       []uint64 // packed panel of A
	last    []byte   // the elements that are packed in a, row by row, if that is all of A; else empty
	workers []fieldSpace
	packA   func(worker, lo, hi int) // calls packSlivers; made once, since a closure is an allocation
	update  func(worker, lo, hi int) // calls updateTasks
	shape   [4]int                   // m, n, k and ldb of the last product
	plan    fieldPlan                // for that shape, like the sizes of the buffers
	blocks  int                      // blocks of columns in that plan
	job     fieldJob
}

// take returns a task for a product.
func (e *Field) take() *fieldTask {
	t := e.idle.Take()
	if t == nil {
		t = &fieldTask{Field: e, workers: make([]fieldSpace, e.loop.Workers())}
		t.packA = func(_, lo, hi int) { t.packSlivers(&t.job, lo, hi) }
		t.update = func(worker, lo, hi int) { t.updateTasks(&t.job, worker, lo, hi) }
	}
	return t
}

// fieldSpace is the workspace of one worker.
type fieldSpace struct {
	b []gf256.Elem // packed block of B, or its last columns if it is not packed
	c []gf256.Elem // last columns of a sliver of C
	_ [64]byte     // keeps the workspaces of two workers out of one cache line
}

// fieldJob is one panel of A times the columns of B, which the workers divide.
type fieldJob struct {
	ctx           context.Context
	n, k          int
	a, b, c       []gf256.Elem // from the first element of the job
	lda, ldb, ldc int
	into          kernel.Into
	back          bool // blocks of columns in descending order

	height, taller, slivers int // the first taller slivers of A have height rows, the others one less
	shares                  int // tasks of one block of columns
}

// NewField returns an engine for the kernel.
func NewField(k kernel.Field, caches Caches, loop Loop) *Field {
	return &Field{kernel: k, caches: caches, loop: loop}
}

// HostField returns the engine of this host in GF(2⁸).
func HostField(loop Loop) *Field { return NewField(kernel.BestField(), HostCaches(), loop) }

// Kernel returns the engine's micro-kernel.
func (e *Field) Kernel() kernel.Field { return e.kernel }

// prepare makes the plan and the buffers for a shape, unless the last product had the same. For
// short shards they would take a third of the time.
func (e *fieldTask) prepare(m, n, k, ldb int) {
	shape := [4]int{m, n, k, ldb}
	if e.shape == shape {
		return
	}
	p := e.choose(m, n, k, ldb)
	e.a = grown(e.a, e.panel(p))
	for w := range p.Workers {
		x := &e.workers[w]
		x.b, x.c = grown(x.b, e.columns(p)*(p.KC+fieldBehind)), grown(x.c, e.kernel.MR*e.kernel.NR)
	}
	e.shape, e.plan, e.blocks, e.last = shape, p, p.blocks(n), e.last[:0]
}

// Multiply computes C ← A·B with A m×k, B k×n and C m×n. Row i of A begins at a[i*lda], and the
// same holds for B and C. It checks ctx before each sliver of A; if that is cancelled, it returns
// the error of ctx, and C is undefined. It allocates nothing if the last product had the shape.
func (e *Field) Multiply(ctx context.Context, m, n, k int, a []gf256.Elem, lda int, b []gf256.Elem, ldb int,
	c []gf256.Elem, ldc int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return nil
	}
	if k == 0 {
		for i := range m {
			clear(c[i*ldc:][:n])
		}
		return nil
	}
	t := e.take()
	err := t.multiply(ctx, m, n, k, a, lda, b, ldb, c, ldc)
	g := &t.job
	g.ctx, g.a, g.b, g.c = nil, nil, nil, nil // leaves the operands to the garbage collector
	e.idle.Give(t)
	return err
}

// multiply is Multiply for dimensions that are not 0.
func (e *fieldTask) multiply(ctx context.Context, m, n, k int, a []gf256.Elem, lda int, b []gf256.Elem, ldb int,
	c []gf256.Elem, ldc int) error {
	e.prepare(m, n, k, ldb)
	p, g := &e.plan, &e.job
	g.ctx, g.n, g.lda, g.ldb, g.ldc = ctx, n, lda, ldb, ldc
	g.back = p.Back && !g.back
	workers := p.Workers
	if workers > 1 && int64(m)*int64(n)*int64(k) < fieldWakes && !e.loop.Ready() {
		workers = 1
	}
	for ic := 0; ic < m; ic += p.MC {
		g.height, g.taller, g.slivers = e.kernel.Slivers(min(p.MC, m-ic))
		g.shares = 1
		if g.slivers > p.Share { // a division would show in small products
			g.shares = (g.slivers + p.Share - 1) / p.Share
		}
		for pc := 0; pc < k; pc += p.KP {
			g.k, g.into = min(p.KP, k-pc), kernel.IntoSet
			switch {
			case pc > 0:
				g.into = kernel.IntoAdd
			case p.Stream && kernel.Streams(c, ldc):
				g.into = kernel.IntoStream
			}
			g.a, g.b, g.c = a[ic*lda+pc:], b[pc*ldb:], c[ic*ldc:]
			if !e.isPacked(m, k, a, lda) {
				e.last = e.last[:0]
				e.loop.Run(max(1, min(workers, len(e.a)/fieldPacked)), g.slivers, e.packA)
				e.notePacked(m, k, a, lda)
			}
			e.loop.RunOwn(workers, e.blocks*g.shares, e.update)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// isPacked reports whether the panel already holds A. The stripes of a file are encoded with the same
// matrix, and cache lines that no worker writes stay valid for all.
func (e *fieldTask) isPacked(m, k int, a []gf256.Elem, lda int) bool {
	if len(e.last) != m*k {
		return false
	}
	if lda == k {
		m, k = 1, m*k // one comparison
	}
	for i := range m {
		if !bytes.Equal(gf256.Bytes(a[i*lda:][:k]), e.last[i*k:][:k]) {
			return false
		}
	}
	return true
}

// notePacked notes the elements of A, which has been packed, if A is one panel.
func (e *fieldTask) notePacked(m, k int, a []gf256.Elem, lda int) {
	if m > e.plan.MC || k > e.plan.KP {
		return
	}
	for i := range m {
		e.last = append(e.last, gf256.Bytes(a[i*lda:][:k])...)
	}
}

// sliver returns the first row and the height of sliver s of A, and its packed words.
func (e *fieldTask) sliver(g *fieldJob, s int) (row, height int, packed []uint64) {
	if s == 0 {
		return 0, g.height, e.a
	}
	tall := min(s, g.taller)
	row = tall*g.height + (s-tall)*(g.height-1)
	at := g.k * (tall*e.kernel.Words(g.height) + (s-tall)*e.kernel.Words(g.height-1))
	if height = g.height; s >= g.taller {
		height--
	}
	return row, height, e.a[at:]
}

// packSlivers packs the slivers lo ≤ s < hi of the panel of A.
func (e *fieldTask) packSlivers(g *fieldJob, lo, hi int) {
	for s := lo; s < hi; s++ {
		row, height, packed := e.sliver(g, s)
		e.kernel.Pack(height, g.k, packed, g.a[row*g.lda:], g.lda)
	}
}

// updateTasks executes the tasks lo ≤ t < hi. A task is some slivers of A times one block of B. The
// tasks of a block have consecutive numbers, and a worker with several of them packs the block once.
func (e *fieldTask) updateTasks(g *fieldJob, worker, lo, hi int) {
	share := e.plan.Share
	first, end := lo, hi
	if g.shares > 1 {
		first, end = lo/g.shares, (hi-1)/g.shares+1
	}
	for first < end {
		b := first
		if g.back {
			end--
			b = end
		} else {
			first++
		}
		from, to := max(lo-b*g.shares, 0), min(hi-b*g.shares, g.shares)
		e.updateBlock(g, worker, b, from*share, min(to*share, g.slivers))
	}
}

// updateBlock multiplies the slivers first ≤ s < end of A by block b of the columns of B. The last
// columns, fewer than a tile has, are computed in the worker's workspace.
func (e *fieldTask) updateBlock(g *fieldJob, worker, b, first, end int) {
	w, nr := &e.workers[worker], e.kernel.NR
	j, to := e.plan.block(b, g.n)
	n := to - j
	rest := n
	if n >= nr {
		rest = n % nr
	}
	whole := n - rest
	for lc := 0; lc < g.k && g.ctx.Err() == nil; lc += e.plan.KC {
		k, into := min(e.plan.KC, g.k-lc), g.into
		if lc > 0 {
			into = kernel.IntoAdd
		}
		b, ldb := g.b[lc*g.ldb+j:], g.ldb
		last, ldl := w.b, nr // the last columns of B
		switch {
		case e.plan.PackB:
			ldl = stride(n)
			copyBlock(k, n, w.b, ldl, b, ldb)
			b, ldb, last = w.b, ldl, w.b[whole:]
		case rest > 0:
			copyRows(k, rest, w.b, nr, b[whole:], ldb)
		}
		for s := first; s < end && (s == first || g.ctx.Err() == nil); s++ {
			row, height, a := e.sliver(g, s)
			if lc > 0 {
				a = a[lc*e.kernel.Words(height):]
			}
			c := g.c[row*g.ldc+j:]
			e.run(height, k, whole, a, b, ldb, c, g.ldc, into)
			if rest == 0 {
				continue
			}
			edge := kernel.IntoSet
			if into == kernel.IntoAdd {
				edge = into
				copyRows(height, rest, w.c, nr, c[whole:], g.ldc)
			}
			e.kernel.Run(height, k, nr, a, last, ldl, w.c, nr, edge)
			copyRows(height, rest, c[whole:], g.ldc, w.c, nr)
		}
	}
}

// run is the micro-kernel's Run over n columns. If there are several workers, it changes the order of the last columns.
// Hardware prefetch does not stop at the last column of a worker. It takes the next cache lines of C away from another
// worker, which writes them. So the last fieldBack columns are computed in descending order, in parts that double in
// width. The prefetch of a part then takes only lines that this worker has already written:
//
//	columns  0 … turn      ascending, one call
//	         turn … n      … │ third │ second │ first
func (e *fieldTask) run(rows, k, n int, a []uint64, b []gf256.Elem, ldb int, c []gf256.Elem, ldc int,
	into kernel.Into) {
	turn := n
	if e.plan.Workers > 1 {
		turn = max(0, n-fieldBack)
	}
	e.kernel.Run(rows, k, turn, a, b, ldb, c, ldc, into)
	for at, width := n, e.kernel.NR; at > turn; width = n - at {
		width = min(width, at-turn)
		at -= width
		e.kernel.Run(rows, k, width, a, b[at:], ldb, c[at:], ldc, into)
	}
}

// copyBlock is copyRows for a block of B that is in memory, with rows pages apart. While it copies
// one row it prefetches all of the next. The hardware's prefetch would begin only after some lines
// of a row, and end with the page.
func copyBlock(rows, cols int, dst []gf256.Elem, ldd int, src []gf256.Elem, lds int) {
	for i := range rows {
		if i+1 < rows {
			kernel.Fetch(src[(i+1)*lds:][:cols])
		}
		copy(dst[i*ldd:][:cols], src[i*lds:])
	}
}

// copyRows copies a rows×cols block.
func copyRows(rows, cols int, dst []gf256.Elem, ldd int, src []gf256.Elem, lds int) {
	for i := range rows {
		copy(dst[i*ldd:][:cols], src[i*lds:])
	}
}
