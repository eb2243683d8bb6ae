package cuda

import (
	"slices"

	"gemm"
)

// Speed is the measured speed of a rung with a setting under ideal conditions. The choice between
// settings uses it. The figures are from an H200; on another GPU, gemm tune measures which setting
// is best.
type Speed struct {
	Share  float64 // of the pipe's peak that a multiprocessor full of blocks reaches
	Blocks int     // on a multiprocessor
	Alone  float64 // share of the peak that a block reaches that is alone on it
}

// What a product takes besides its multiply-adds, in seconds: each block until its first and
// after its last slice, and another kernel after the first.
const (
	blockTime  = 7e-6
	launchTime = 2.5e-6
)

// choose returns the tile and the number of parts of k for a product of the shape. Requested
// parameters come first, then tuned settings, then the setting with the least predicted time. wide
// is false if the operands do not permit the widest copies of the kernel.
func (r Rung) choose(g GPU, s gemm.Shape, wide bool, p gemm.Params) (Plan, error) {
	found, ignored := r.tuned(g, s, wide, p)
	if found.Tile != (Tile{}) {
		return found, nil
	}
	tiles, err := r.asked(p)
	if err != nil {
		return Plan{}, err
	}
	if r.speeds == nil {
		tiles = tiles[:1]
	}
	fitting := slices.DeleteFunc(slices.Clone(tiles), func(t Tile) bool { return r.fits(t, g) != nil })
	if len(fitting) > 0 { // or else Plan says what does not
		tiles = fitting
	}
	parts := 0
	if n, ok := p["split"].(int); ok {
		parts = n
	}
	var best Plan
	least := 0.0
	for _, t := range tiles {
		t = r.Fitted(t, s)
		for _, n := range r.splits(t, g, s, parts) {
			plan := Plan{Rung: r, Tile: t, Split: 1, Depth: s.K, Shape: s}
			// Operands that are not wide are laid out anew, with zeros beyond their edges.
			plan.edges = r.Pads && wide && (s.M%t.BM != 0 || s.N%t.BN != 0)
			if n > 1 {
				plan.split(n)
			}
			if took := plan.predict(g); best.Tile == (Tile{}) || took < least {
				best, least = plan, took
			}
		}
	}
	best.Ignored = ignored
	return best, nil
}

// splits returns the candidate numbers of parts of k: the requested one; or those that fill the
// multiprocessors if the tiles of C alone do not, as far as the partial sums fit in the memory of
// the GPU.
func (r Rung) splits(t Tile, g GPU, s gemm.Shape, asked int) []int {
	if !r.Splits {
		return []int{1}
	}
	if asked > 0 {
		return []int{asked}
	}
	out := []int{1}
	const most, slices = 16, 8 // slices of a part at least
	for n := 2; n <= most && s.K >= n*slices*t.BK && ceil(s.M, t.BM)*ceil(s.N, t.BN) < 4*g.Multiprocessors; n++ {
		if !g.holds((Plan{Rung: r, Shape: s, Split: n}).PartialBytes()) {
			break
		}
		out = append(out, n)
	}
	return out
}

// split divides k into at most the given number of parts. Each part except the last is a whole
// number of slices.
func (p *Plan) split(parts int) {
	p.Depth = max(1, ceil(ceil(p.K, p.Tile.BK), parts)) * p.Tile.BK
	p.Split = max(1, ceil(p.K, p.Depth))
}

// predict returns a predicted time in seconds, to compare settings with: the time of the
// multiprocessor with the most blocks.
func (p Plan) predict(g GPU) float64 {
	speed, ok := p.Rung.speeds[p.Tile.Name()]
	if !ok {
		speed = Speed{Share: 0.5, Blocks: 1, Alone: 0.5}
	}
	tiles, parts := p.Blocks()
	each := ceil(tiles*parts, max(1, g.Multiprocessors)) // blocks of a multiprocessor
	peak := p.Rung.peak(g) / float64(max(1, g.Multiprocessors))
	flops := 2 * float64(p.Tile.BM) * float64(p.Tile.BN) * float64(p.Depth)
	full, rest := each/speed.Blocks, each%speed.Blocks
	took := float64(full) * (float64(speed.Blocks)*flops/(speed.Share*peak) + blockTime)
	if rest > 0 {
		// Between one block alone and a full multiprocessor, by straight line.
		share := speed.Alone
		if speed.Blocks > 1 {
			share += (speed.Share - speed.Alone) * float64(rest-1) / float64(speed.Blocks-1)
		}
		took += float64(rest)*flops/(share*peak) + blockTime
	}
	if p.edges {
		const longer = 0.6 // a block at an edge takes, whose copies are not spread over its products
		took += longer * flops / (speed.Alone * peak)
	}
	if parts > 1 {
		const bandwidth = 5e12 // bytes a second of the partial sums, which are in the cache in part
		took += launchTime + float64(p.Rung.Size())*float64(p.M)*float64(p.N)*(2*float64(parts)+1)/bandwidth
	}
	return took
}

// peak returns the peak of the rung's pipe in flop/s at the GPU's clock, from the figures per
// multiprocessor and cycle of 9.0.
func (r Rung) peak(g GPU) float64 {
	each := map[string]float64{"f32": 256, "f64": 128, "f64-tensor": 256, "tf32": 2048}[r.Pipe()]
	return each * 1e6 * float64(max(1, g.Clock)) * float64(max(1, g.Multiprocessors))
}
