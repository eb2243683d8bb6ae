package block

import (
	"bytes"
	"context"
	"unsafe"

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
// which may be megabytes long, anywhere in memory. If m ≤ MR, every element of B is loaded once.
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
	shape   fieldShape               // of the last product
	plan    fieldPlan                // for that shape, like the sizes of the buffers
	blocks  int                      // blocks of columns in that plan
	job     fieldJob
	table   [][]byte // the rows of matrices
}

// fieldShape is the shape of a product. shared: the rows of B begin at the same place of a page.
type fieldShape struct {
	m, n, k int
	shared  bool
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
	b fieldBuffer // packed block of B, or its last columns if it is not packed
	c fieldBuffer // last columns of a sliver of C
	_ [64]byte    // keeps the workspaces of two workers out of one cache line
}

// fieldBuffer is memory for rows.
type fieldBuffer struct {
	data []byte
	rows [][]byte
	ld   int // bytes of a row
}

// grow makes room for n bytes.
func (f *fieldBuffer) grow(n int) { f.data, f.ld = grown(f.data, n), 0 }

// cut returns as many rows of ld bytes.
func (f *fieldBuffer) cut(rows, ld int) [][]byte {
	if f.ld != ld {
		f.rows, f.ld = appendRows(f.rows[:0], rows, ld, f.data, ld), ld
	}
	return f.rows
}

// appendRows appends the rows of a rows×n matrix to a table.
func appendRows(table [][]byte, rows, n int, data []byte, ld int) [][]byte {
	for i := range rows {
		table = append(table, data[i*ld:][:n])
	}
	return table
}

// fieldJob is one panel of A times the columns of B, which the workers divide.
type fieldJob struct {
	ctx  context.Context
	n, k int
	a    []gf256.Elem // from the first element of the job
	lda  int
	b, c [][]byte // rows of the job
	into kernel.Into
	back bool // blocks of columns in descending order

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
func (e *fieldTask) prepare(shape fieldShape) {
	if e.shape == shape {
		return
	}
	p := e.choose(shape)
	e.a = grown(e.a, e.panel(p))
	for w := range p.Workers {
		x := &e.workers[w]
		x.b.grow(e.columns(p) * (p.KC + fieldBehind))
		x.c.grow(e.kernel.MR * e.kernel.NR)
	}
	e.shape, e.plan, e.blocks, e.last = shape, p, p.blocks(shape.n), e.last[:0]
}

// Multiply computes C ← A·B with A m×k, B k×n and C m×n. Row i of A begins at a[i*lda], and the
// same holds for B and C. It checks ctx before each sliver of A; if that is cancelled, it returns
// the error of ctx, and C is undefined. It allocates nothing if the last product had the shape.
func (e *Field) Multiply(ctx context.Context, m, n, k int, a []gf256.Elem, lda int, b []gf256.Elem, ldb int,
	c []gf256.Elem, ldc int) error {
	if m == 0 || n == 0 {
		return ctx.Err()
	}
	t := e.take()
	t.table = appendRows(appendRows(t.table[:0], k, n, gf256.Bytes(b), ldb), m, n, gf256.Bytes(c), ldc)
	return t.multiply(ctx, n, a, lda, t.table[:k], t.table[k:], false)
}

// MultiplyRows is Multiply with rows of B and C, n bytes each, that are anywhere in memory. If add is true, it computes
// C ← C + A·B.
func (e *Field) MultiplyRows(ctx context.Context, n int, a []gf256.Elem, lda int, b, c [][]byte, add bool) error {
	return e.take().multiply(ctx, n, a, lda, b, c, add)
}

// shareSets reports whether rows begin at the same place of a page, so that they map to the same sets of a cache.
func shareSets(rows [][]byte) bool {
	const page = 4096
	place := func(row []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(row))) % page }
	for _, row := range rows {
		if place(row) != place(rows[0]) {
			return false
		}
	}
	return true
}

// multiply is MultiplyRows. After it the task is idle.
func (e *fieldTask) multiply(ctx context.Context, n int, a []gf256.Elem, lda int, b, c [][]byte, add bool) error {
	m, k, g := len(c), len(b), &e.job
	defer func() {
		g.ctx, g.a, g.b, g.c = nil, nil, nil, nil // leaves the operands to the garbage collector
		clear(e.table)
		e.idle.Give(e)
	}()
	if err := ctx.Err(); err != nil || m == 0 || n == 0 {
		return err
	}
	if k == 0 {
		for i := 0; i < m && !add; i++ {
			clear(c[i][:n])
		}
		return nil
	}
	e.prepare(fieldShape{m, n, k, shareSets(b)})
	p := &e.plan
	g.ctx, g.n, g.lda = ctx, n, lda
	g.back = p.Back && !g.back
	workers := p.Workers
	if workers > 1 && int64(m)*int64(n)*int64(k) < fieldWakes && !e.loop.Ready() {
		workers = 1
	}
	for ic := 0; ic < m; ic += p.MC {
		g.c = c[ic:min(ic+p.MC, m)]
		g.height, g.taller, g.slivers = e.kernel.Slivers(len(g.c))
		g.shares = 1
		if g.slivers > p.Share { // a division would show in small products
			g.shares = (g.slivers + p.Share - 1) / p.Share
		}
		for pc := 0; pc < k; pc += p.KP {
			g.a, g.b, g.into = a[ic*lda+pc:], b[pc:min(pc+p.KP, k)], kernel.IntoSet
			g.k = len(g.b)
			switch {
			case add || pc > 0:
				g.into = kernel.IntoAdd
			case p.Stream && kernel.Streams(g.c, 0):
				g.into = kernel.IntoStream
			}
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
		b, into := g.b[lc:min(lc+e.plan.KC, g.k)], g.into
		if lc > 0 {
			into = kernel.IntoAdd
		}
		k, bAt, last, lastAt := len(b), j, b, 0 // last: the last columns of B
		switch {
		case e.plan.PackB:
			last, lastAt = w.b.cut(e.plan.KC, stride(n)), whole
			copyBlock(n, last, b, j)
			b, bAt = last, 0
		case rest > 0:
			last = w.b.cut(e.plan.KC, nr)
			copyRows(k, rest, last, 0, b, j+whole)
		}
		for s := first; s < end && (s == first || g.ctx.Err() == nil); s++ {
			row, height, a := e.sliver(g, s)
			if lc > 0 {
				a = a[lc*e.kernel.Words(height):]
			}
			c := g.c[row:]
			e.run(height, k, whole, a, b, bAt, c, j, into)
			if rest == 0 {
				continue
			}
			edge, tile := kernel.IntoSet, w.c.cut(e.kernel.MR, nr)
			if into == kernel.IntoAdd {
				edge = into
				copyRows(height, rest, tile, 0, c, j+whole)
			}
			e.kernel.Run(height, k, nr, a, last, lastAt, tile, 0, edge)
			copyRows(height, rest, c, j+whole, tile, 0)
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
func (e *fieldTask) run(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into kernel.Into) {
	turn := n
	if e.plan.Workers > 1 {
		turn = max(0, n-fieldBack)
	}
	e.kernel.Run(rows, k, turn, a, b, bAt, c, cAt, into)
	for at, width := n, e.kernel.NR; at > turn; width = n - at {
		width = min(width, at-turn)
		at -= width
		e.kernel.Run(rows, k, width, a, b, bAt+at, c, cAt+at, into)
	}
}

// copyBlock copies n columns of a block of B, from column at on, that is in memory, with rows pages apart. While it
// copies one row it prefetches all of the next. The hardware's prefetch would begin only after some lines of a row, and
// end with the page.
func copyBlock(n int, dst, src [][]byte, at int) {
	for i, row := range src {
		if i+1 < len(src) {
			kernel.Fetch(src[i+1][at:][:n])
		}
		copy(dst[i][:n], row[at:])
	}
}

// copyRows copies a rows×cols block, of columns from dstAt and srcAt on.
func copyRows(rows, cols int, dst [][]byte, dstAt int, src [][]byte, srcAt int) {
	for i := range rows {
		copy(dst[i][dstAt:][:cols], src[i][srcAt:])
	}
}
