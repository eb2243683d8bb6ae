package block

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
	fieldHigh   = 2       // at least fieldHigh rows
	fieldApart  = 8       // long passes over a B whose rows share no sets, before it is copied
	fieldAlone  = 1 << 20 // multiplications that pay for another worker, some 10 µs
	fieldLead   = 20      // tiles (one step of k each) by which the first worker is ahead of the second

	fieldWakes = 1 << 23 // least multiplications of a product that pay for waking a parked worker

	fieldPacked = 1 << 13 // words of a panel of A that pay for another worker to pack
)

// choose plans a product of a shape, in which no dimension is 0. A sliver of A takes half of L1, a block of B half of
// L2, and the panel of A at most half of L3.
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
func (e *Field) choose(shape fieldShape) fieldPlan {
	m, n, k, shared := shape.m, shape.n, shape.k, shape.shared
	height, _, slivers := e.kernel.Slivers(m)
	column, panel := 8*e.kernel.Words(height), min(e.caches.L3/2, fieldPanel)
	ways := max(4, e.caches.L1>>12)
	tall := height > fieldTall
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
