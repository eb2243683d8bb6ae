package block

import (
	"sync"
	"unsafe"

	"gemm/internal/cpu"
	"gemm/internal/kernel"
)

// Blocking is the size of the blocks that the loops cut a product into, in
// elements: A into blocks of MC×KC, B into blocks of KC×NC.
type Blocking struct{ MC, KC, NC int }

// Caches are the data caches of one core, in bytes. A shared one counts with the
// share that a core may take.
type Caches struct{ L1, L2, L3 int }

// DefaultCaches are no larger than those of the server and desktop processors of
// the last ten years; they serve where a cache is not known.
var DefaultCaches = Caches{L1: 32 << 10, L2: 256 << 10, L3: 2 << 20}

// HostCaches returns the caches of this host, read once.
var HostCaches = sync.OnceValue(func() Caches { return cachesOf(cpu.Host().Caches) })

// cachesOf returns the levels of a host's caches, those not known at their
// default.
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

// Host returns the engine of this host: its best kernel, blocked for its caches.
func Host[T kernel.Float](loop Loop) *Engine[T] {
	k := kernel.Best[T]()
	var zero T
	return New(k, Fit(HostCaches(), int(unsafe.Sizeof(zero)), k.MR, k.NR), loop)
}

// Fit returns the blocking for tiles of mr×nr of elements of the given size in
// bytes, after Goto and van de Geijn (Anatomy of High-Performance Matrix
// Multiplication, ACM TOMS 34(3), 2008, section 6.3) and Low, Igual, Smith and
// Quintana-Ortí (Analytical Modeling Is Enough for High-Performance BLIS, ACM
// TOMS 43(2), 2016):
//
//   - the sliver of B, KC×nr, stays in half of L1, while slivers of A pass;
//   - the block of A, MC×KC, stays in half of L2, while slivers of B pass;
//   - the block of B, KC×NC, stays in half of L3.
//
// KC is limited to 512, beyond which the update of C is no longer noticeable,
// and NC to 4096, which keeps the packed block of B small without an L3.
func Fit(c Caches, size, mr, nr int) Blocking {
	kc := clamp(c.L1/2/size/nr, 4, 64, 512)
	return Blocking{
		MC: clamp(c.L2/2/size/kc, mr, 4*mr, 1024),
		KC: kc,
		NC: clamp(c.L3/2/size/kc, nr, 16*nr, 4096),
	}
}

// clamp returns x rounded down to a multiple of step, but neither less than the
// multiple at or above lo nor more than that at or below hi.
func clamp(x, step, lo, hi int) int {
	lo = (lo + step - 1) / step * step
	return max(lo, min(x, hi)/step*step)
}

// pieces returns the size of the pieces that n is cut into so that none is
// larger than most, a multiple of step, and all but the last are as large as one
// another.
func pieces(n, most, step int) int {
	count := (n + most - 1) / most
	if count <= 1 {
		return n
	}
	size := (n + count - 1) / count
	return (size + step - 1) / step * step
}
