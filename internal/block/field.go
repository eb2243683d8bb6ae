package block

import (
	"bytes"
	"context"

	"gemm/gf256"
	"gemm/internal/kernel"
)

// Field computes products in GF(2⁸) by loops round a micro-kernel:
//
//	for ic over m by MC, for pc over k by KP   pack A[ic, pc] into slivers of MR rows
//	  for jc over n by NC
//	    for lc over KP by KC                   pack B[lc, jc], or not: in L2
//	      for ir over MC by MR                 micro-kernel: a sliver of A, in L1, by the block of B
//
// The shape that it is made for is that of Reed–Solomon codes: A is small, B has a row
// for each of k shards, as long as they are. Where m ≤ MR every element of B is loaded
// once. Rows that are whole pages apart, as shards of a power of two are, share the sets of
// a cache, which has room for a few of them: B is read where it lies, some of its rows at a
// time, or, where both it and C have many, copied to where they share none.
//
// It computes any number of products at the same time. The buffers of the last one are kept for
// the next.
type Field struct {
	kernel kernel.Field
	caches Caches
	loop   Loop
	idle   Idle[fieldTask]
}

// fieldTask is what one product at a time needs: its buffers, and what the workers are busy
// with.
type fieldTask struct {
	*Field
	a       []uint64 // packed panel of A
	last    []byte   // the elements that it holds, row by row, where these are the whole of A
	workers []fieldSpace
	packA   func(worker, lo, hi int) // packSlivers and updateTasks of the job, made once:
	update  func(worker, lo, hi int) // a function that is made is an allocation
	shape   [4]int                   // of the last product, m, n, k and ldb, for which are
	plan    fieldPlan                // and the buffers
	blocks  int                      // of columns
	job     fieldJob
}

// take returns a task for a product.
func (e *Field) take() *fieldTask {
	t := e.idle.Take()
	if t == nil {
		t = &fieldTask{Field: e, workers: make([]fieldSpace, e.loop.Workers)}
		t.packA = func(_, lo, hi int) { t.packSlivers(&t.job, lo, hi) }
		t.update = func(worker, lo, hi int) { t.updateTasks(&t.job, worker, lo, hi) }
	}
	return t
}

// fieldSpace is what one worker has for itself.
type fieldSpace struct {
	b []gf256.Elem // packed block of B, or its last columns
	c []gf256.Elem // last columns of a sliver of C
	_ [64]byte     // no two workers write to one line of a cache
}

// fieldJob is what the workers are busy with: the rows of a panel of A.
type fieldJob struct {
	ctx           context.Context
	n, k          int
	a, b, c       []gf256.Elem // from the job's first elements on
	lda, ldb, ldc int
	into          kernel.Into
	back          bool // through the blocks of columns from the last one on

	height, taller, slivers int
	shares                  int // tasks for a block of columns
}

// fieldPlan is how one product is computed.
type fieldPlan struct {
	MC, KP  int  // of the panel of A
	KC, NC  int  // of the block of B
	Lead    int  // columns that the first block has beyond NC
	Back    bool // whether every other product goes through the blocks from the last one on
	PackB   bool // whether blocks of B are copied
	Stream  bool // whether C is written past the caches, where its rows begin on their lines
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
	fieldPanel  = 1 << 20 // bytes of a packed panel of A, at most
	fieldWidth  = 1 << 15 // columns of a block of B that is used again, at most
	fieldWide   = 1 << 17 // of one that is not, where the next product or pass uses C again
	fieldCall   = 1 << 23 // products of elements in a call for a block that is not: 200 µs
	fieldCopy   = 1 << 12 // columns of a block that is copied, at most
	fieldBehind = 32      // rows behind it, for hardware that fetches what follows a column
	fieldBack   = 1 << 10 // columns behind the one where a row turns round
	fieldPass   = 2       // rows of B in a long pass, in ways of L1
	fieldTall   = 8       // rows of a sliver of A above which it is tall
	fieldRows   = 12      // rows of B in a short pass, where L1 has fewer ways, over
	fieldHigh   = 4       // rows of a sliver, or more
	fieldApart  = 8       // long passes over rows of B that share no sets, before it is copied
	fieldAlone  = 1 << 20 // products of elements that are worth another worker: some 10 µs
	fieldLead   = 20      // full tiles, of one step of k, that a worker is ahead of another

	fieldWoken = 1 << 23 // products that gain by workers who have to be woken for them

	fieldPacked = 1 << 13 // words of a panel that are worth another worker's packing
)

// choose returns how an m×n×k product is computed, no dimension of which is 0, where rows
// of B are ldb apart. A sliver of A takes half of L1, a block of B half of L2, and A's panel
// half of L3 or less.
//
// Of a B that is not copied, rows that share sets are read in short passes, as many side by
// side as L1 has ways, pages of its size. Passes are long where they share none, and over a
// tall sliver: to read that much of C again costs more than the lines of B that are lost. B
// is copied where it has more than one long pass, or many if its rows share no sets, for
// tall slivers and for three or more: two are faster without.
//
// Streams begin anew at each call: blocks are as wide as calls may be long where one pass over
// one sliver is all, but not so wide that the next product, which begins where this one ends if
// L2 has room for that, would find nothing there. Where there are several passes L2 has room for
// the block of C twice.
//
// C is written past the caches where L3 has no room for the product, nor for C until it is read,
// if that is done once and to few rows.
//
// Of two workers the one that has the other begin, and sees later that it has ended, has more
// columns. With more of them that one begins last.
//
// Workers have up to four blocks of columns each, for an even finish, but fewer where these
// would not be worth four workers of their own: after its first block a worker looks at what
// others have taken, and who gets another's columns of the product before finds them in
// that one's cache.
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
	p.Workers = max(1, int(min(float64(e.loop.Workers), products/fieldAlone)))
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

// blocks returns how many blocks n columns are cut into.
func (p *fieldPlan) blocks(n int) int { return max(1, (n-p.Lead+p.NC-1)/p.NC) }

// block returns the columns of a block.
func (p *fieldPlan) block(b, n int) (lo, hi int) {
	if b > 0 {
		lo = b*p.NC + p.Lead
	}
	return lo, min(n, (b+1)*p.NC+p.Lead)
}

// prepare plans products of a shape and makes the buffers, unless they are there. Shards
// can be so short that this is a third of the time.
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

// panel returns the words of a packed panel of A.
func (e *Field) panel(p fieldPlan) int {
	height, taller, slivers := e.kernel.Slivers(p.MC)
	return p.KP * (taller*e.kernel.Words(height) + (slivers-taller)*e.kernel.Words(height-1))
}

// columns returns the columns of B that a worker has room for.
func (e *Field) columns(p fieldPlan) int {
	if p.PackB {
		return stride(p.NC)
	}
	return e.kernel.NR
}

// stride returns the elements between the copied rows of n columns of B: an odd number
// of lines of a cache, so that they do not share its sets.
func stride(n int) int { return up(n, 128) + 64 }

// Multiply computes C ← A·B with A m×k, B k×n and C m×n; row i of A begins at a[i*lda],
// and so on. The error is ctx's, which is looked at before each sliver of A; C is then
// undefined. Once the buffers have grown to the shape it allocates nothing.
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
	g.ctx, g.a, g.b, g.c = nil, nil, nil, nil // lets go of the operands
	e.idle.Give(t)
	return err
}

// multiply is Multiply where no dimension is 0.
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
		if g.slivers > p.Share { // small products feel a division
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

// holds reports whether the panel is A's already. Stripes are encoded one after the other
// with one matrix, and lines of a cache that are not written stay with all workers.
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

// hold keeps the elements of the A that has been packed, if that is one panel.
func (e *fieldTask) hold(m, k int, a []gf256.Elem, lda int) {
	if m > e.plan.MC || k > e.plan.KP {
		return
	}
	for i := range m {
		e.last = append(e.last, gf256.Bytes(a[i*lda:][:k])...)
	}
}

// sliver returns the first row and the height of a sliver of A, and where it is packed.
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

// packSlivers packs slivers of A's panel.
func (e *fieldTask) packSlivers(g *fieldJob, lo, hi int) {
	for s := lo; s < hi; s++ {
		row, height, packed := e.sliver(g, s)
		e.kernel.Pack(height, g.k, packed, g.a[row*g.lda:], g.lda)
	}
}

// updateTasks computes tasks, some slivers of A by a block of B each. Those of one block
// follow each other, and a worker that has several of them packs the block once.
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

// updateBlock multiplies some slivers of A by a block of columns of B. The last columns,
// fewer than a tile has, are computed in buffers.
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

// run is the micro-kernel's Run. Where there are several workers it turns round at the end of
// a row: hardware that follows columns goes on behind the last one, where C is another
// worker's, and that one's processor has to fetch it back. The last columns are computed from
// the last one back, some at a time and always as many as there are behind them, so that
// what lies behind is done.
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

// copyBlock is copyRows for a block of B, whose rows are pages apart and in memory: while a
// row is copied all of the next one comes. Hardware fetches the lines of a row only when it has
// seen some of them read, and no further than to the end of a page.
func copyBlock(rows, cols int, dst []gf256.Elem, ldd int, src []gf256.Elem, lds int) {
	for i := range rows {
		if i+1 < rows {
			kernel.Fetch(src[(i+1)*lds:][:cols])
		}
		copy(dst[i*ldd:][:cols], src[i*lds:])
	}
}

// copyRows copies a block of rows×cols.
func copyRows(rows, cols int, dst []gf256.Elem, ldd int, src []gf256.Elem, lds int) {
	for i := range rows {
		copy(dst[i*ldd:][:cols], src[i*lds:])
	}
}
