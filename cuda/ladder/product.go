package ladder

import "gemm"

// Product is the demand of a product of one shape on memory and multiprocessors, counted from the
// tiles. It assumes that no cache holds anything, that beta is 0, and that k is not split.
type Product struct {
	gemm.Shape
	Blocks int     `json:"blocks"`          // of the launch
	Waves  int     `json:"waves,omitempty"` // how often they fill the multiprocessors; 0: not known
	Fill   float64 `json:"fill,omitempty"`  // the share of all places in these waves that they use
	// Elements of A, B and C that move between global memory and the multiprocessors (equation 11 of the 2024 report;
	// 12 is the case in which tiles divide the shape), and between shared memory and the threads (equations 14 and 15;
	// per warp if its lanes share loads). A block copies whole slices to shared memory: elements outside of the matrix
	// are 0 there, and are multiplied.
	GlobalReads  float64 `json:"global_reads"`
	GlobalWrites float64 `json:"global_writes"`
	SharedReads  float64 `json:"shared_reads"`
	SharedWrites float64 `json:"shared_writes"`
	// Barriers is the number of barriers of a block. Saved is the number that a single slice in shared memory would
	// need in addition: ceil(K/BK) - 1, one after each slice but the last, before the next may be copied.
	Barriers  int     `json:"barriers"`
	Saved     int     `json:"barriers_saved"`
	Flops     float64 `json:"-"`
	Intensity float64 `json:"flops_per_byte"` // floating-point operations a byte of the global accesses
}

// Product returns what a product of the shape takes with the setting.
func (r Rung) Product(t Tile, s gemm.Shape) Product {
	t = r.Fit(t, s)
	p := Product{Shape: s}
	rows, cols, slices := ceil(s.M, t.BM), ceil(s.N, t.BN), 0
	p.Blocks = rows * cols
	mf, nf, kf := float64(s.M), float64(s.N), float64(s.K)
	p.GlobalWrites, p.Flops = mf*nf, 2*mf*nf*kf
	global, block := r.Reads(t)
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
	p.Barriers = r.Barriers.Slice*slices + r.Barriers.Besides
	if r.Barriers != (Barriers{}) && r.Barriers.Slice < 2 {
		p.Saved = max(0, slices-1)
	}
	p.Intensity = p.Flops / ((p.GlobalReads + p.GlobalWrites) * float64(r.Size()))
	return p
}

// Fills sets Waves and Fill for multiprocessors each of which holds the given number of blocks.
func (p *Product) Fills(multiprocessors, blocks int) {
	places := multiprocessors * blocks
	p.Waves = ceil(p.Blocks, places)
	p.Fill = float64(p.Blocks) / float64(p.Waves*places)
}
