package cuda

import (
	"math"

	"gemm"
)

// Product is what a product of one shape asks of memory and of the multiprocessors, counted
// from the tiles: nothing is kept in a cache, beta is 0, and k is not cut.
type Product struct {
	gemm.Shape
	Blocks int // of the launch
	// Elements of A, B and C that go between global memory and the multiprocessors
	// (equation 11 of the report of 2024, of which 12 is the case that tiles divide), and
	// between shared memory and the threads (equations 14 and 15; a warp where its lanes
	// share what they load). A block copies whole slices to shared memory: what lies beyond
	// an edge is 0 there, and is multiplied.
	GlobalReads, GlobalWrites, SharedReads, SharedWrites float64
	// Barriers is how many a block meets, and Saved how many more it would meet if shared
	// memory held one slice: ceil(K/BK) - 1, that behind each slice but the last, before the
	// next may be copied.
	Barriers, Saved int
	Flops           float64
	Intensity       float64 // floating-point operations a byte of the global accesses
}

// barriers are those that a block meets for each slice of k and besides, and whether
// shared memory holds several slices. A rung that is missing has none.
var barriers = map[string]struct {
	slice, besides int
	several        bool
}{
	"f32/smem": {2, 0, false}, "f32/blocktile1d": {2, 0, false}, "f32/blocktile2d": {2, 0, false},
	"f32/vectorized": {2, 0, false}, "f32/conflictfree": {2, 0, false},
	"f32/doublebuffer": {1, 0, true}, "f32/async": {1, 0, true},
	"f32/warptile": {1, 1, true}, "f32/tf32-wmma": {1, 1, true},
	"f64/smem": {2, 0, false}, "f64/conflictfree": {1, 1, true},
	"f64/dmma-wmma": {1, 1, true}, "f64/dmma": {1, 1, true},
	"gf256/square-tiled": {2, 0, false}, "gf256/tiled": {2, 0, false}, "gf256/word": {2, 0, false},
	"gf256/tuned": {2, 0, false},
}

// Product returns what a product of the shape takes with the setting.
func (r Rung) Product(t Tile, s gemm.Shape) Product {
	t = r.Fitted(t, s)
	p := Product{Shape: s}
	rows, cols, slices := ceil(s.M, t.BM), ceil(s.N, t.BN), 0
	p.Blocks = rows * cols
	mf, nf, kf := float64(s.M), float64(s.N), float64(s.K)
	p.GlobalWrites, p.Flops = mf*nf, 2*mf*nf*kf
	global, block := r.reads(t)
	switch {
	case block > 0: // each row of tiles reads B once, each column of tiles A
		p.GlobalReads = mf*kf*float64(cols) + kf*nf*float64(rows)
	case t.BK > 0: // what is laid out anew is read from its new place
		padded := float64(ceil(s.K, t.BK) * t.BK)
		p.GlobalReads = global*mf*nf*padded + mf*kf + kf*nf
		p.GlobalWrites += padded * float64(rows*t.BM+cols*t.BN)
	default:
		p.GlobalReads = global * mf * nf * kf
	}
	if block > 0 {
		slices = ceil(s.K, t.BK)
		whole := float64(p.Blocks) * float64(slices*t.BK)
		p.SharedReads = whole * float64(t.BM*t.BN) * block
		p.SharedWrites = whole * float64(t.BM+t.BN)
	}
	if b, ok := barriers[r.Type+"/"+r.Name]; ok {
		p.Barriers = b.slice*slices + b.besides
		if b.several {
			p.Saved = max(0, slices-1)
		}
	}
	p.Intensity = p.Flops / ((p.GlobalReads + p.GlobalWrites) * float64(r.Size()))
	return p
}

// Waves returns how often the blocks fill the multiprocessors, of which each holds so many
// at a time, and which share of the places of all these waves they take.
func (p Product) Waves(multiprocessors, blocks int) (waves int, fill float64) {
	places := multiprocessors * blocks
	waves = ceil(p.Blocks, places)
	return waves, float64(p.Blocks) / float64(waves*places)
}

// Roofline returns the rate in GFLOP/s that the product cannot pass where each global access
// goes to memory of so many GB/s and the pipe computes peak GFLOP/s, and whether memory is
// what bounds it.
func (p Product) Roofline(peak, bandwidth float64) (rate float64, memory bool) {
	rate = p.Intensity * bandwidth
	return math.Min(rate, peak), rate < peak
}
