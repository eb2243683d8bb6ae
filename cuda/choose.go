package cuda

import (
	"cmp"
	"math"
	"slices"

	"gemm"
	"gemm/cuda/ladder"
)

// launchTime is the seconds that another kernel before the first takes.
const launchTime = 2.5e-6

// choose returns the tile and the number of parts of k for a product of the shape. Requested
// parameters come first, then tuned settings, then the setting with the least predicted time. wide
// is false if the operands do not permit the widest copies of the kernel. The tiles of a batch are not cut along k.
func (r Rung) choose(g GPU, s gemm.Shape, batch int, wide bool, p gemm.Params) (Plan, error) {
	var ignored string
	if batch == 0 && !r.Three { // settings are tuned for one product
		var found Plan
		if found, ignored = r.tuned(g, s, wide, p); found.Tile != (Tile{}) {
			return found, nil
		}
	}
	tiles := r.Tiles
	if batch > 0 {
		tiles = slices.Concat(r.Tiles, r.Small)
	}
	tiles, err := r.requestedTiles(p, tiles)
	if err != nil {
		return Plan{}, err
	}
	if r.Speeds == nil {
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
	if batch > 0 && parts > 1 {
		return Plan{}, gemm.Unavailablef("no product of a batch is cut along k, split is %d", parts).
			WithRemedy("set it to 0")
	}
	var plans []Plan
	for _, t := range tiles {
		if batch > 0 {
			all := Plan{Rung: r, Tile: r.Fit(t, s), Split: 1, Shape: s, Batch: batch}
			all.edges = s.M%all.Tile.BM != 0 || s.N%all.Tile.BN != 0
			plans = append(plans, all)
			continue
		}
		// Operands that are not wide are laid out anew, with zeros beyond their edges.
		whole := Plan{Rung: r, Tile: r.Fit(t, s), Split: 1, Shape: s}
		whole.edges = r.Pads && wide && (s.M%whole.Tile.BM != 0 || s.N%whole.Tile.BN != 0)
		plans = append(plans, whole.cuts(g, parts)...)
	}
	best := fastest(plans, g)
	best.Ignored = ignored
	return best, nil
}

// fastest returns the plan with the least predicted time, the first of several.
func fastest(plans []Plan, g GPU) Plan {
	return slices.MinFunc(plans, func(p, q Plan) int { return cmp.Compare(p.predict(g), q.predict(g)) })
}

// cuts returns the plan of whole tiles with k cut in each way that is permitted: into the requested number of parts, or
// in all ways if that is 0.
func (p Plan) cuts(g GPU, requested int) []Plan {
	var out []Plan
	for _, n := range p.Rung.splits(p.Tile, g, p.Shape, requested) {
		out = append(out, p.inParts(n))
	}
	if p.Rung.Splits && requested == 0 {
		out = append(out, p.tails(g)...)
	}
	return out
}

// splits returns the candidate numbers of parts of k: the requested one; or those that fill the multiprocessors if the
// tiles of C alone do not, as far as the partial sums fit in the memory of the GPU.
func (r Rung) splits(t Tile, g GPU, s gemm.Shape, requested int) []int {
	if !r.Splits {
		return []int{1}
	}
	if requested > 0 {
		return []int{requested}
	}
	out := []int{1}
	const most = 16
	for n := 2; n <= most && s.K >= n*shortest*t.BK && ceil(s.M, t.BM)*ceil(s.N, t.BN) < 4*g.Multiprocessors; n++ {
		if !g.holds((Plan{Rung: r, Tile: t, Shape: s}).inParts(n).PartialBytes()) {
			break
		}
		out = append(out, n)
	}
	return out
}

// speed returns the measured speed of the setting, or a guess.
func (r Rung) speed(t Tile) ladder.Speed {
	if speed, ok := r.Speeds[t.Name()]; ok {
		return speed
	}
	return ladder.Speed{Share: 0.5, Blocks: 1, Alone: 0.5, Ends: 5e-6}
}

// predict returns a predicted time in seconds, to compare settings with: the time of the
// multiprocessor with the most blocks, and what comes before.
func (p Plan) predict(g GPU) float64 {
	return p.prepares() + p.multiplies(g)
}

// prepares returns the time in seconds of the kernels that round or split operands for the copy engine.
func (p Plan) prepares() float64 {
	a, b := float64(p.M)*float64(p.K), float64(p.K)*float64(p.N)
	switch {
	case p.Rung.Operands == ladder.Split:
		return 2e-5 + (8*a+12*b)/2.5e12
	case p.byRows():
		a = b
		fallthrough
	case p.Rung.Operands == ladder.Rounded:
		return 5e-6 + 8*a/3e12
	}
	return 0
}

func (p Plan) multiplies(g GPU) float64 {
	if t := p.Tail; t.Blocks > 0 {
		slowest := t.Each
		if t.Whole > 0 {
			slowest = t.Span
		}
		cut := max(p.waves(g, t.Blocks, t.Each), p.streams(g))
		return p.waves(g, t.Whole, t.Span) + cut + p.edge(g, slowest) + p.joins(g)
	}
	slices := ceil(p.K, max(1, p.Tile.BK))
	return p.waves(g, p.tiles(), slices) + p.edge(g, slices)
}

// slice returns the time in seconds of a slice of a tile at the full peak of a multiprocessor.
func (p Plan) slice(g GPU) float64 {
	flops := 2 * float64(p.Tile.BM) * float64(p.Tile.BN) * float64(max(1, p.Tile.BK))
	return flops * float64(max(1, g.Multiprocessors)) / p.Rung.peak(g)
}

// waves returns the time in seconds of blocks with the same number of slices.
func (p Plan) waves(g GPU, blocks, slices int) float64 {
	speed, work := p.Rung.speed(p.Tile), float64(slices)*p.slice(g)
	each := ceil(blocks, max(1, g.Multiprocessors)) // blocks of a multiprocessor
	full, rest := each/speed.Blocks, each%speed.Blocks
	took := float64(full) * (float64(speed.Blocks)*work/speed.Share + speed.Ends)
	if rest > 0 {
		// Between one block alone and a full multiprocessor, by straight line.
		share := speed.Alone
		if speed.Blocks > 1 {
			share += (speed.Share - speed.Alone) * float64(rest-1) / float64(speed.Blocks-1)
		}
		took += float64(rest)*work/share + speed.Ends
	}
	return took
}

// streams returns the time in seconds in which the tail reads A and B from memory. Blocks of whole tiles are at about
// the same k index at a time, so those in a row or a column read the same from the L2 cache. Blocks of a tail share
// only if tiles have equal parts.
func (p Plan) streams(g GPU) float64 {
	const bandwidth = 3.2e12 // bytes a second
	if p.Rung.Persistent {
		return 0 // joins has it
	}
	t, shared := p.Tail, 1.0
	if t.Span%t.Each == 0 {
		places := p.Rung.speed(p.Tile).Blocks * max(1, g.Multiprocessors)
		shared = max(1, math.Sqrt(float64(min(t.Blocks, places)/t.parts())))
	}
	read := float64(p.Rung.Size()) * float64(t.Blocks*t.Each) * float64(p.Tile.BK*(p.Tile.BM+p.Tile.BN))
	return read / shared / bandwidth
}

// edge returns by how many seconds a block at an edge takes longer, whose copies are not spread over its products.
func (p Plan) edge(g GPU, slices int) float64 {
	const longer = 0.6
	if !p.edges {
		return 0
	}
	return longer * float64(slices) * p.slice(g) / p.Rung.speed(p.Tile).Alone
}

// joins returns the time in seconds that adding the parts of the tail takes, and beginning further tiles.
func (p Plan) joins(g GPU) float64 {
	const (
		bandwidth = 10e12  // bytes a second that all blocks write and read, through the L2 cache
		alone     = 70e9   // and that the block reads which adds the parts of a tile
		meet      = 1.5e-6 // seconds until it knows that it is the last
		another   = 8e-6   // seconds that a block takes to begin another tile
		// Of persistent blocks, all of which write and read at the same time.
		together = 5e12
		wait     = 4e-6
	)
	if p.Rung.Persistent {
		return 2*float64(p.PartialBytes())/together + wait
	}
	tile := float64(p.Rung.Size() * p.Tile.BM * p.Tile.BN)
	took := 2*float64(p.PartialBytes())/bandwidth + float64(p.Tail.parts())*tile/alone + meet
	if p.Tail.Span%p.Tail.Each != 0 {
		took += another
	}
	return took
}

// Offers returns how the variants for use can compute a product of the shape in type t on the GPU, which holds operands
// of their type. Time is the seconds of the products at the speed of the first setting, and of the kernels before and
// after them, as on an H100: there, double precision from 14 residues is faster from about n = 2500 on.
func Offers(g GPU, t, operands gemm.Type, s gemm.Shape, plain bool) ([]gemm.Offer, error) {
	arch, err := g.Arch()
	if err != nil {
		return nil, err
	}
	const others, each = 30e-6, 0.57e-12 // seconds of other kernels: of all, and of an element for a product
	var out []gemm.Offer
	variants := Variants(nil)
	for _, r := range Ladder(t.Name) {
		if r.Role != gemm.Production || r.Runs(arch) != nil {
			continue
		}
		v, err := gemm.Lookup(variants, Family+"/"+r.Name)
		if err != nil {
			return nil, err
		}
		offers, err := gemm.Offers(v, t, operands, s, nil, plain)
		if err != nil {
			return nil, err
		}
		for _, o := range offers {
			products, share := o.Time, r.speed(r.Tiles[0]).Share/o.Time
			if r.Operands == ladder.ByResidue { // its speed is with this number of moduli
				share *= ladder.DefaultModuli
			}
			if arch < 90 && r.Compute != "" { // on 9.0, where speeds are from, mma has half of the rate of wgmma
				share *= 2
			}
			o.Time = 2 * s.Terms() / r.peak(g) / share
			if r.Prepares() {
				o.Time += others + each*products*s.Elements()
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// peak returns the peak of the rung's pipe in flop/s at the GPU's clock, from the figures per
// multiprocessor and cycle of 9.0.
func (r Rung) peak(g GPU) float64 {
	each := map[string]float64{"f32": 256, "f64": 128, "f64-tensor": 256, "tf32": 2048, "f16": 4096,
		"bf16": 4096, "int8": 8192}[r.Pipe]
	return each * 1e6 * float64(max(1, g.Clock)) * float64(max(1, g.Multiprocessors))
}
