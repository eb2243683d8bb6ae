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

// fieldPlan is how one product is computed.
type fieldPlan struct {
	MC, KP  int  // rows and columns of the panel of A
	KC, NC  int  // rows and columns of the block of B
	Lead    int  // columns of the first block beyond NC
	Back    bool // every other product takes the blocks in descending order
	PackB   bool // blocks of B are copied
	Stream  bool // C is written by non-temporal stores, if its rows begin on cache lines
	Share   int  // slivers of A in a task
	Workers int
}

// NewField returns an engine for the kernel.
func NewField(k kernel.Field, caches Caches, loop Loop) *Field {
	return &Field{kernel: k, caches: caches, loop: loop}
}

// HostField returns the engine of this host in GF(2⁸).
func HostField(loop Loop) *Field { return NewField(kernel.BestField(), HostCaches(), loop) }

// Kernel returns the engine's micro-kernel.
func (e *Field) Kernel() kernel.Field { return e.kernel }

const (
	fieldPanel  = 1 << 20 // most bytes of a packed panel of A
	fieldWidth  = 1 << 15 // most columns of a block of B that several slivers use
	fieldWide   = 1 << 17 // most columns of a block that one sliver uses, if C is used again soon
	fieldCall   = 1 << 23 // multiplications in one call of the kernel for such a block, 200 µs
	fieldCopy   = 1 << 12 // most columns of a copied block
	fieldBehind = 32      // rows allocated after a copied block, for the hardware's prefetch
	fieldBack   = 1 << 10 // columns at the end of a row that are computed in descending order
	fieldPass   = 2       // rows of B in a long pass, as a multiple of the ways of L1
	fieldTall   = 8       // a sliver of A with more rows is tall
	fieldRows   = 12      // least rows of B in a short pass with AVX-512, if slivers of A have
	fieldHigh   = 4       // at least fieldHigh rows
	fieldApart  = 8       // long passes over a B whose rows share no sets, before it is copied
	fieldAlone  = 1 << 20 // multiplications that pay for another worker, some 10 µs
	fieldLead   = 20      // tiles (one step of k each) by which the first worker is ahead of the second

	fieldWoken = 1 << 23 // least multiplications of a product that pay for waking a parked worker

	fieldPacked = 1 << 13 // words of a panel of A that pay for another worker to pack
)

// choose plans an m×n×k product whose rows of B are ldb elements apart. No dimension is 0. A sliver
// of A takes half of L1, a block of B half of L2, and the panel of A at most half of L3.
//
// Passes (KC). B in place is read in passes of some of its rows:
//
//	rows of B share sets, slivers are not tall   short: as many rows as L1 has ways; with AVX-512
//	                                             and fieldHigh rows or more, at least fieldRows
//	otherwise                                    long: twice as many rows as L1 has ways
//
// For tall slivers a pass is long although rows of B share sets. Each pass reads C again, and for a
// tall sliver that costs more than the lost lines of B.
//
// Copies (PackB). B is copied if slivers are tall or more than two, and B has more than one long pass. If the rows of B
// share no sets, B must have more than fieldApart long passes. With two slivers, reading in place is faster.
//
// Width (NC). Hardware prefetch starts anew in each call of the kernel, so blocks are wide:
//
//	several slivers use the block    fieldWidth
//	one sliver, several passes       L2 holds the block of C twice
//	one sliver, one pass             as wide as the time of a call allows; but if C is not
//	                                 streamed, the end of this product stays in L2 for the next,
//	                                 which begins there
//
// Non-temporal stores (Stream). C bypasses the caches if all of the following hold: it is written
// once, slivers are not tall, and L3 cannot hold B and C.
//
// Workers. If there are two workers, the second begins later, and the first sees its end later still. So the first has
// more columns (Lead). With more workers Lead is 0, since the caller begins last. Each worker has up to four blocks, so
// that all finish together. There are fewer if the blocks would be too small, for two reasons. To look for further
// blocks costs time. And a worker that takes a block of another worker misses its cache: the columns of the last
// product are in the other worker's cache.
func (e *Field) choose(m, n, k, ldb int) fieldPlan {
	height, _, slivers := e.kernel.Slivers(m)
	column, panel := 8*e.kernel.Words(height), min(e.caches.L3/2, fieldPanel)
	ways := max(4, e.caches.L1>>12)
	tall, shared := height > fieldTall, ldb%4096 == 0
	pass, long := ways, fieldPass*ways
	switch {
	case tall || !shared:
		pass = long
	case height >= fieldHigh && e.kernel.MR > fieldTall: // as only AVX-512 has
		pass = max(pass, fieldRows)
	}
	uncopied := long // rows of B
	if !shared {
		uncopied *= fieldApart
	}
	p := fieldPlan{KP: pieces(k, max(8, panel/column), 8)}
	p.MC = pieces(m, max(1, panel/column/p.KP)*height, height)
	p.KC = max(8, e.caches.L1/2/column)
	p.PackB = (tall || slivers > 2) && p.KP > uncopied && p.KC > long
	if !p.PackB {
		p.KC = min(p.KC, pass)
	}
	p.KC = pieces(p.KP, p.KC, 1)
	products := float64(m) * float64(n) * float64(k)
	p.Workers = max(1, int(min(float64(e.loop.Workers()), products/fieldAlone)))
	p.Stream = p.KC == k && !tall && float64(m+k)*float64(n) > float64(p.Workers)*float64(e.caches.L3)
	width := fieldWidth
	switch {
	case slivers > 1:
	case p.KC < k:
		width = clamp(e.caches.L2/2/height, e.kernel.NR, fieldWidth, fieldWide)
	case p.Stream:
		width = max(width, fieldCall/(k*height))
	default:
		width = max(width, min(fieldCall/(k*height), fieldWide))
	}
	p.NC = width
	if p.PackB {
		p.NC = min(fieldCopy, e.caches.L2/2/p.KC)
	}
	if p.Workers == 2 && !p.PackB {
		p.Lead = fieldLead * e.kernel.MR * e.kernel.NR / (m * k) / e.kernel.NR * e.kernel.NR
	}
	if p.Workers > 1 {
		blocks := p.Workers * max(1, int(min(4, products/(4*fieldAlone)/float64(p.Workers))))
		p.NC = min(p.NC, up((n-p.Lead+blocks-1)/blocks, e.kernel.NR))
	}
	p.NC = clamp(p.NC, e.kernel.NR, 2048, width)
	p.Back = p.Workers == 1 && (k+m)*p.NC < e.caches.L2
	if p.Share = slivers; p.blocks(n) < 4*p.Workers {
		p.Share = 1 // too few blocks for all workers
	}
	return p
}

// blocks returns the number of blocks of n columns.
func (p *fieldPlan) blocks(n int) int { return max(1, (n-p.Lead+p.NC-1)/p.NC) }

// block returns the range of columns of block b.
func (p *fieldPlan) block(b, n int) (lo, hi int) {
	if b > 0 {
		lo = b*p.NC + p.Lead
	}
	return lo, min(n, (b+1)*p.NC+p.Lead)
}

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

// panel returns the size of a packed panel of A, in words.
func (e *Field) panel(p fieldPlan) int {
	height, taller, slivers := e.kernel.Slivers(p.MC)
	return p.KP * (taller*e.kernel.Words(height) + (slivers-taller)*e.kernel.Words(height-1))
}

// columns returns the number of columns in the workspace of a worker.
func (e *Field) columns(p fieldPlan) int {
	if p.PackB {
		return stride(p.NC)
	}
	return e.kernel.NR
}

// stride returns the distance between copied rows of n columns of B, in elements. It is an odd number of
// cache lines, so that rows do not share sets.
func stride(n int) int { return up(n, 128) + 64 }

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
	if workers > 1 && int64(m)*int64(n)*int64(k) < fieldWoken && !e.loop.Ready() {
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
			if !e.holds(m, k, a, lda) {
				e.last = e.last[:0]
				e.loop.Run(max(1, min(workers, len(e.a)/fieldPacked)), g.slivers, e.packA)
				e.hold(m, k, a, lda)
			}
			e.loop.RunOwn(workers, e.blocks*g.shares, e.update)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// holds reports whether the panel already holds A. The stripes of a file are encoded with the same
// matrix, and cache lines that nobody writes stay valid for all workers.
func (e *fieldTask) holds(m, k int, a []gf256.Elem, lda int) bool {
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

// hold notes the elements of A, which has been packed, if A is one panel.
func (e *fieldTask) hold(m, k int, a []gf256.Elem, lda int) {
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
