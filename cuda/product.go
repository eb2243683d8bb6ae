package cuda

import (
	"math"

	"gemm"
)

// Product is the demand of a product of one shape on memory and multiprocessors, counted from the
// tiles. It assumes that no cache holds anything, that beta is 0, and that k is not split.
type Product struct {
	gemm.Shape
	Blocks int // of the launch
	// Elements of A, B and C that move between global memory and the multiprocessors (equation 11
	// of the 2024 report; 12 is the case in which tiles divide the shape), and between shared
	// memory and the threads (equations 14 and 15; per warp if its lanes share loads). A block
	// copies whole slices to shared memory: elements outside of the matrix are 0 there, and are
	// multiplied.
	GlobalReads, GlobalWrites, SharedReads, SharedWrites float64
	// Barriers is the number of barriers of a block. Saved is the number that a single slice in
	// shared memory would need in addition: ceil(K/BK) - 1, one after each slice but the last,
	// before the next may be copied.
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
	"f32/vectorized": {2, 0, false}, "f32/transposed": {2, 0, false}, "f32/conflictfree": {2, 0, false},
	"f32/doublebuffer": {1, 0, true}, "f32/async": {1, 0, true}, "f32/multistage": {1, 0, true},
	"f32/blockorder": {1, 0, true}, "f32/prefetch": {1, 1, true}, "f32/serpentine": {1, 1, true},
	"f32/interleave": {1, 1, true}, "f32/rowstores": {1, 1, true}, "f32/warptile": {1, 1, true},
	"f32/tf32-wmma": {1, 2, true}, "f32/tf32-mma": {1, 1, true},
	"f32/tf32-wgmma": {1, 1, true}, "f32/tf32-wgmma-ws": {0, 1, true}, "f32/tf32-wgmma-persistent": {0, 2, true},
	"f32/" + F16x3:    {0, 1, true},
	"f64/packed-smem": {2, 0, false}, "f64/packed-conflictfree": {2, 0, false},
	"f64/smem": {2, 0, false}, "f64/conflictfree": {1, 1, true},
	"f64/dmma-wmma": {1, 1, true}, "f64/dmma": {1, 1, true},
	"f16/mma": {1, 1, true}, "f16/wgmma": {1, 1, true}, "f16/wgmma-ws": {0, 1, true},
	"f16/wgmma-persistent": {0, 1, true},
	"bf16/mma":             {1, 1, true}, "bf16/wgmma": {1, 1, true}, "bf16/wgmma-ws": {0, 1, true},
	"bf16/wgmma-persistent": {0, 1, true},
	"gf256/square-tiled":    {2, 0, false}, "gf256/tiled": {2, 0, false}, "gf256/word": {2, 0, false},
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
	depth := kf
	if r.Packs() { // what is laid out anew is read from its new place
		depth = float64(ceil(s.K, t.BK) * t.BK)
		p.GlobalReads = mf*kf + kf*nf
		p.GlobalWrites += depth * float64(rows*t.BM+cols*t.BN)
	}
	if block > 0 { // each row of tiles reads B once, each column of tiles A
		p.GlobalReads += mf*depth*float64(cols) + depth*nf*float64(rows)
	} else {
		p.GlobalReads += global * mf * nf * depth
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

// Waves returns how often the blocks fill the multiprocessors, each of which holds the given number
// of blocks, and the share of all places in these waves that they use.
func (p Product) Waves(multiprocessors, blocks int) (waves int, fill float64) {
	places := multiprocessors * blocks
	waves = ceil(p.Blocks, places)
	return waves, float64(p.Blocks) / float64(waves*places)
}

// Roofline returns an upper bound on the rate in GFLOP/s, if every global access goes to memory
// with the bandwidth in GB/s and the pipe computes peak GFLOP/s. memory is true if memory is the
// limit.
func (p Product) Roofline(peak, bandwidth float64) (rate float64, memory bool) {
	rate = p.Intensity * bandwidth
	return math.Min(rate, peak), rate < peak
}
