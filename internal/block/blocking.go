package block

import (
	"math"
	"sync"
	"unsafe"

	"gemm/internal/cpu"
	"gemm/internal/kernel"
	"gemm/internal/tuned"
)

// Blocking is the size of the blocks of a product, in elements: panels of A of MC×KC, and blocks of B of KC×NC.
type Blocking struct {
	MC, KC, NC int
	// Direct is the largest m·n·k of a product that is not divided into blocks: one worker computes it
	// from operands in place.
	Direct int
	// Parallel is the least m·n·k of a product for two workers. The least for w workers is w/2·Parallel.
	Parallel int
}

// Caches are the sizes of the data caches of one core, in bytes. The size of a shared cache is divided
// by the number of processors that share it.
type Caches struct{ L1, L2, L3 int }

// DefaultCaches are used if a cache is not known. They are no larger than the caches of server and
// desktop processors of the last ten years.
var DefaultCaches = Caches{L1: 32 << 10, L2: 256 << 10, L3: 2 << 20}

// HostCaches returns the caches of this host, read once.
var HostCaches = sync.OnceValue(func() Caches { return cachesOf(cpu.Caches()) })

// cachesOf returns the sizes of a host's caches, with the default for an unknown level.
func cachesOf(levels []cpu.Cache) Caches {
	c := DefaultCaches
	for _, level := range levels {
		share := int(level.Bytes) / max(1, level.Shared)
		switch level.Level {
		case 1:
			c.L1 = share
		case 2:
			c.L2 = share
		case 3:
			c.L3 = share
		}
	}
	return c
}

// Host returns the engine of this host, with the best kernel. The blocking is the result of gemm tune
// if there is one, and otherwise the result of Fit.
func Host[T kernel.Float](loop Loop) *Engine[T] {
	k := kernel.Best[T]()
	var zero T
	blocking := Fit(HostCaches(), int(unsafe.Sizeof(zero)), k.MR, k.NR)
	typ := "f64"
	if unsafe.Sizeof(zero) == 4 {
		typ = "f32"
	}
	if v, ok := tuned.For(typ, k.Name); ok {
		if v.MC > 0 {
			blocking.MC, blocking.KC, blocking.NC = v.MC, v.KC, v.NC
		}
		if v.Direct > 0 {
			blocking.Direct = v.Direct
		}
		if v.Parallel > 0 {
			blocking.Parallel = v.Parallel
		}
	}
	return New(k, blocking, loop)
}

// Fit returns the blocking for tiles of mr×nr elements of size bytes. It follows Goto and van de Geijn (Anatomy of
// High-Performance Matrix Multiplication, ACM TOMS 34(3), 2008, section 6.3) and Low, Igual, Smith and Quintana-Ortí
// (Analytical Modeling Is Enough for High-Performance BLIS, ACM TOMS 43(2), 2016), with A and B exchanged:
//
//   - the sliver of A, mr×KC, stays in half of L1 while slivers of B stream through;
//   - the block of B, KC×NC, at least four slivers, stays in half of L2 while slivers of A stream
//     through;
//   - the panel of A, MC×KC, stays in half of L3.
//
// KC is at most 512: beyond that the update of C is no longer noticeable. MC×KC is at most 6 MiB.
func Fit(c Caches, size, mr, nr int) Blocking {
	kc := clamp(min(c.L1/2/size/mr, c.L2/2/size/(4*nr)), 4, 64, 512)
	return Blocking{
		MC:     clamp(min(c.L3/2, 6<<20)/size/kc, mr, 4*mr, 1<<20),
		KC:     kc,
		NC:     clamp(c.L2/2/size/kc, nr, 4*nr, 1024),
		Direct: 80 * 80 * 80, Parallel: 128 * 128 * 128,
	}
}

// clamp returns x rounded down to a multiple of step. The result is at least lo, rounded up, and at
// most hi, rounded down.
func clamp(x, step, lo, hi int) int {
	lo = (lo + step - 1) / step * step
	return max(lo, min(x, hi)/step*step)
}

// pieces returns the size of the pieces of n, a multiple of step. No piece is larger than most, and
// all but the last have the same size.
func pieces(n, most, step int) int {
	count := (n + most - 1) / most
	if count <= 1 {
		return n
	}
	size := (n + count - 1) / count
	return (size + step - 1) / step * step
}

// Plan is how one product is computed.
type Plan struct {
	MC, KC, NC   int  // sizes of the blocks, not larger than the product
	PackA, PackB bool // the operand is copied, not read in place
	Columns      int  // number of last columns that are computed one by one
	Rows         int  // rows of A in one call of the micro-kernel: a chunk
	Share        int  // chunks of a task, for one block of columns
	Workers      int
}

// small reports whether the product is not divided into blocks: one worker computes it from operands in place.
func (e *Engine[T]) small(m, n, k, bRow, bCol int) bool {
	return e.direct(m, n, k) && e.kernel.Strided && bCol == 1 && !e.conflicts(bRow, k) &&
		(e.loop.Workers() == 1 || int64(m)*int64(n)*int64(k) < int64(e.blocking.Parallel))
}

// direct reports whether a product may be computed without blocks.
func (e *Engine[T]) direct(m, n, k int) bool {
	return int64(m)*int64(n)*int64(k) <= int64(e.blocking.Direct)
}

// conflicts reports whether rows of B map to the same sets of L1: there are more of them
// than L1 has ways, and the distance between two rows is a multiple of a page.
func (e *Engine[T]) conflicts(bRow, rows int) bool {
	const page, ways = 4096, 8
	var zero T
	return rows > ways && bRow*int(unsafe.Sizeof(zero))%page == 0
}

// columns returns how many of the last of n columns are computed one by one. These columns fill only a
// part of a vector of B. If the rows of A are contiguous and long, products with single columns, by
// vectors along k, can cost less than this vector. Otherwise columns returns 0.
func (e *Engine[T]) columns(n, k, aCol int) int {
	const ends = 6 // cost of the sum of a vector's elements, in vectors
	lanes := e.kernel.Lanes
	rest := n & (lanes - 1) // a power of two
	if rest == 0 || aCol != 1 || !e.kernel.Strided || k > 4096 || 5*rest*(k+ends*lanes) >= 3*k*lanes {
		return 0
	}
	return rest
}

// Plan returns how an m×n×k product of a and b is computed; no dimension is 0.
func (e *Engine[T]) Plan(m, n, k int, a, b View[T]) Plan {
	mr, nr := e.kernel.MR, e.kernel.NR
	if e.small(m, n, k, b.Row, b.Col) {
		return Plan{MC: m, KC: k, NC: n, Columns: e.columns(n, k, a.Col), Rows: m, Share: 1, Workers: 1}
	}
	kc, nc := e.blocking.KC, e.blocking.NC
	p := Plan{PackA: true, PackB: true}
	if e.kernel.Strided {
		p.PackA = a.Col != 1 && n > 2*nr || e.packsRows(n)
		switch {
		case b.Col == 1 && m <= fewRows*mr && !(m > 2*mr && e.streams(k, n) && !e.hasLargeL2()):
			// There are too few rows to use a copy of B again. So read B once, by rows that are
			// long enough for the hardware's prefetch, and few enough for it to follow.
			p.PackB = false
			kc, nc = e.rowsAtATime(m, n, k, b.Row)
		case n <= fewColumns:
			// B is small, and A is read once: along its rows, as far as B stays in L2, and A in L1 if there
			// are several tiles.
			most := 2048
			if n > nr {
				most = 1024
			}
			kc = max(kc, min(most, kc*nc/up(n, nr)))
			p.PackB = b.Col != 1 || !e.isReadInPlace(b, min(k, kc), n)
		default:
			p.PackB = b.Col != 1 || !e.isReadInPlace(b, k, n)
		}
	}
	p.MC = m
	if p.PackA {
		p.MC = pieces(m, e.blocking.MC, mr)
	}
	p.KC = pieces(k, kc, 4)
	if !p.PackA {
		p.Columns = e.columns(n, p.KC, a.Col)
	}
	e.share(&p, m, n, k, nc)
	return p
}

// streams reports whether B, k×n, comes from memory: it is several times the panel of A that stays in L3.
func (e *Engine[T]) streams(k, n int) bool {
	return int64(k)*int64(n) > 4*int64(e.blocking.MC)*int64(e.blocking.KC)
}

// hasLargeL2 reports whether L2 has room for a block of B of about 1 MiB.
func (e *Engine[T]) hasLargeL2() bool {
	var zero T
	return e.blocking.KC*e.blocking.NC*int(unsafe.Sizeof(zero)) >= 3<<18
}

// rowsAtATime returns KC and NC for a B that is read in place, for few rows m of A. If B comes from memory and its rows
// compete for L2, there are fewer of them, and C is updated more often.
func (e *Engine[T]) rowsAtATime(m, n, k, bRow int) (kc, nc int) {
	mr := e.kernel.MR
	switch streams, roomy := e.streams(k, n), e.hasLargeL2(); {
	case streams && roomy && e.conflicts(bRow, k):
		return 8, 4096
	case streams && !roomy && m <= mr:
		return 4, 4096
	case streams && !roomy:
		return 8, 1024
	case m <= 2*mr:
		return 16, 1024
	}
	return 32, 1024
}

// packsRows reports whether contiguous rows of A are packed for a product of n columns. The kernel reads
// single elements of A. A copy pays only if the same elements are read many times, from many pages.
// Several workers do not pack: each has fewer columns, and would have to wait for copies by the others.
func (e *Engine[T]) packsRows(n int) bool {
	return !e.kernel.Strided || n > manyTiles*e.kernel.NR && e.loop.Workers() == 1
}

// share plans the workers of an m×n×k product, and its tasks. It needs MC, KC and PackB of p; blocks of B have at most
// nc columns. All workers have the same number of blocks of columns, and of rows of A to multiply them by. A task is
// some of these rows. Processors that also run other programs are not equally fast, so fast workers take over tasks of
// slow ones. Therefore a worker takes several tasks of a block at a time at first, and single tasks at the end.
func (e *Engine[T]) share(p *Plan, m, n, k, nc int) {
	mr, nr := e.kernel.MR, e.kernel.NR
	pays := 2 * int64(m) * int64(n) * int64(k) / int64(max(1, e.blocking.Parallel))
	p.Workers = int(max(1, min(int64(e.loop.Workers()), pays)))
	down := e.rowShares(p, n)
	if p.Workers == 1 {
		p.NC = pieces(n, nc, nr)
	} else {
		across := p.Workers / down
		blocks := (n + nc - 1) / nc
		blocks = (blocks + across - 1) / across * across
		if blocks == across && n >= 2*blocks*4*nr {
			blocks *= 2
		}
		p.NC = up((n+blocks-1)/blocks, nr) // tiles that are narrower take almost as long
	}
	rows := up((p.MC+down-1)/down, mr)
	if p.Workers > 1 {
		rows = pieces(rows, taskRows, mr)
	}
	p.Rows = pieces(rows, max(mr, mostTerms/(p.NC*p.KC)/mr*mr), mr)
	p.Share = (rows + p.Rows - 1) / p.Rows
}

// rowShares returns how many workers share the rows of a block of columns, a divisor of their number. Each of these
// workers packs the block of B for itself. So a worker packs k·n/workers elements for every share, and reads its share
// of A. rowShares minimizes the sum, in which a packed element counts copyCost times as much as one that is read. Each
// worker must have at least a tile.
func (e *Engine[T]) rowShares(p *Plan, n int) int {
	const copyCost = 2.5
	best, least := p.Workers, math.Inf(1)
	for shares := 1; shares <= p.Workers; shares++ {
		if p.Workers%shares != 0 || n*shares < e.kernel.NR*p.Workers || shares > 1 && p.MC < shares*e.kernel.MR {
			continue
		}
		cost := float64(p.MC) / float64(shares)
		if p.PackB {
			cost += copyCost * float64(n) * float64(shares) / float64(p.Workers)
		}
		if cost < least {
			best, least = shares, cost
		}
	}
	return best
}

// Limits between the ways to compute a product, measured on processors with AVX-512.
const (
	manyTiles  = 128 // if C has more tiles in a row, one worker packs A
	fewRows    = 4   // if A has at most 4 slivers, B is read in place
	fewColumns = 64  // if B has at most 64 columns, KC grows
)

// taskRows is the most rows of A in a task if there are several workers. To pack a block of B costs a
// fifth of its products with so few rows, if no other task uses the packed block.
const taskRows = 128

// mostTerms is the most multiply-adds in one call of the micro-kernel. That is about 100 µs of a core
// with AVX-512. It is limited because the garbage collector waits for the end of the call.
const mostTerms = 1 << 22

// wakeFactor·Parallel is the least m·n·k of a product that pays for waking parked workers.
const wakeFactor = 2

// isReadInPlace reports whether a block of B of the given shape can be read in place as fast as a copy. Its rows
// must not cause conflict misses, and it must stay in L2. If its vectors cross cache lines, it must be at most an
// eighth of the size of a packed block.
func (e *Engine[T]) isReadInPlace(b View[T], rows, columns int) bool {
	const line = 64
	var zero T
	aligned := b.Row*int(unsafe.Sizeof(zero))%line == 0 && uintptr(unsafe.Pointer(unsafe.SliceData(b.Data)))%line == 0
	limit := e.blocking.KC * e.blocking.NC
	if !aligned {
		limit /= 8
	}
	return rows*columns <= limit && !e.conflicts(b.Row, rows)
}

// Roundings returns the most roundings that affect one product of two elements in an m×n×k product, for any storage of
// the operands. They are the rounding of the product itself, the roundings of the additions in a block of KC terms, and
// the roundings of the additions of blocks. Without blocks there are k roundings.
func (e *Engine[T]) Roundings(m, n, k int) int {
	if m == 0 || n == 0 || k == 0 {
		return 0
	}
	if float64(m)*float64(n)*float64(k) <= float64(e.blocking.Direct) {
		return k // not divided into blocks, unless rows compete
	}
	most := 0
	for _, a := range []View[T]{{Row: k, Col: 1}, {Row: 1, Col: m}} {
		for _, b := range []View[T]{{Row: n, Col: 1}, {Row: 1, Col: k}} {
			kc := e.Plan(m, n, k, a, b).KC
			most = max(most, kc+(k+kc-1)/kc-1)
		}
	}
	return most
}

// Workspace returns the size of the buffers for packed operands of an m×n×k product, in elements.
func (e *Engine[T]) Workspace(m, n, k int) int {
	if m == 0 || n == 0 || k == 0 || e.direct(m, n, k) && e.kernel.IsFew(m, n, k, false) {
		return 0
	}
	p := e.Plan(m, n, k, View[T]{nil, k, 1}, View[T]{nil, n, 1})
	need := p.Columns * p.KC
	if p.PackA {
		need += up(p.MC, e.kernel.MR) * p.KC
	}
	if p.PackB {
		need += up(p.NC, e.kernel.NR) * p.KC * p.Workers
	}
	return need
}
