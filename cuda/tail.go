package cuda

import (
	"fmt"
	"slices"

	"gemm"
)

// Tail is how the last tiles of C are cut along k (stream-K), if whole tiles would leave multiprocessors idle. The
// slices of its tiles stand in a row, Span for each tile; those beyond k are empty. Each of its blocks computes Each of
// them, and so has parts of one tile or of several. The block that comes to a tile last adds its parts, in the order of
// k: results are the same in every run. The zero Tail cuts nothing.
type Tail struct {
	Whole      int // tiles before it, which a block each computes; blocks of the tail come after them
	Tiles      int
	Span, Each int // slices
	Blocks     int
}

// places returns the places in the work memory for sums over parts: tile t and block b of the tail have place t + b.
func (t Tail) places() int {
	if t.Blocks == 0 {
		return 0
	}
	return t.Tiles + t.Blocks
}

// parts returns the most parts that a tile has.
func (t Tail) parts() int {
	if t.Span%t.Each == 0 {
		return t.Span / t.Each
	}
	return min(t.Blocks, ceil(t.Span-1, t.Each)+1)
}

// String says what is cut, such as 48 of 576 tiles over 132 blocks.
func (t Tail) String() string {
	return fmt.Sprintf("%d of %d tiles over %d blocks", t.Tiles, t.Whole+t.Tiles, t.Blocks)
}

// shortest is the least number of slices that a part of k has.
const shortest = 8

// mostSlices is how many slices of a tail a kernel counts.
const mostSlices = 1 << 30

// inParts returns the plan with every tile cut into at most the given number of parts, the same for each. A part is
// a whole number of slices, and none is empty.
func (p Plan) inParts(parts int) Plan {
	tiles, slices := p.tiles(), ceil(p.K, max(1, p.Tile.BK))
	each := max(1, ceil(slices, max(1, parts)))
	p.Split = max(1, ceil(slices, each))
	if p.Split > 1 && tiles > 0 {
		p.Tail = Tail{Tiles: tiles, Span: p.Split * each, Each: each, Blocks: tiles * p.Split}
	}
	return p
}

// tails returns the plan with the tiles cut that do not fill the multiprocessors, and the plan with one more wave of
// tiles cut. The blocks of the tail fill the multiprocessors in part or wholly.
func (p Plan) tails(g GPU) []Plan {
	if p.Rung.Persistent {
		return p.equalTails(g)
	}
	tiles, slices := p.tiles(), ceil(p.K, p.Tile.BK)
	most := p.Rung.speed(p.Tile).Blocks
	var out []Plan
	for each := 1; each <= most; each++ {
		blocks := each * max(1, g.Multiprocessors)
		for _, wave := range []int{blocks, most * max(1, g.Multiprocessors)} {
			for _, cut := range []int{tiles % wave, tiles%wave + wave} {
				if cut%wave == 0 || cut > tiles || slices > mostSlices/cut {
					continue
				}
				t := Tail{Whole: tiles - cut, Tiles: cut, Span: slices, Each: max(shortest, ceil(cut*slices, blocks))}
				if t.Each >= 2*slices {
					continue
				}
				t.Blocks = ceil(cut*slices, t.Each)
				q := p
				if q.Tail = t; g.holds(q.PartialBytes()) {
					out = append(out, q)
				}
			}
		}
	}
	return out
}

// equalTails returns the plan with the tiles cut that do not fill the multiprocessors, all in the same way. So blocks
// that run at the same time read the same k of A and B, which then come from L2 once for several. No block has more
// than two parts: it writes the sums of each.
func (p Plan) equalTails(g GPU) []Plan {
	const mostParts, leastSlices, most = 32, 2, 2
	wave := max(1, g.Multiprocessors/max(1, p.Rung.Cluster)) * max(1, p.Rung.Cluster)
	tiles, slices := p.tiles(), ceil(p.K, p.Tile.BK)
	var out []Plan
	for n := 2; n <= mostParts && slices >= n*leastSlices && tiles%wave != 0; n++ {
		q, cut := p, tiles%wave
		each := ceil(slices, n)
		parts := ceil(slices, each)
		q.Tail = Tail{Whole: tiles - cut, Tiles: cut, Span: parts * each, Each: each, Blocks: cut * parts}
		if ceil(q.Tail.Blocks, wave) <= most && g.holds(q.PartialBytes()) {
			out = append(out, q)
		}
	}
	return out
}

// arrivals returns how many counts the kernel keeps of what has come to the tiles of the tail.
func (p Plan) arrivals() int {
	if p.Rung.Persistent { // of blocks that run, of warps that are done, and of the warps at each tile
		return 2 + 8*p.Tail.Tiles
	}
	return p.Tail.Tiles
}

// tailArguments returns the arguments of a kernel about its tail, after all others: how many tiles are whole, slices
// of a tile and of a block, memory for sums over parts, and for counts of arrivals, which are 0 before and
// after. It returns none if there is no tail.
func (q *Sequence) tailArguments() []Argument {
	t := q.Tail
	if t.Blocks == 0 {
		return nil
	}
	partial := place{BufferWork, q.take(q.PartialBytes()), 0}
	arrived := place{BufferWork, q.take(4 * int64(q.arrivals())), 0}
	q.Zeros = append(q.Zeros, Span{arrived.at, 4 * int64(q.arrivals())})
	return slices.Concat(numbers(t.Whole, t.Span, t.Each), partial.arguments()[:1], arrived.arguments()[:1])
}

// Choice is what the cost model says of a product with one tile.
type Choice struct {
	Whole float64 `json:"whole_s"`         // predicted seconds if no tile is cut
	Cut   float64 `json:"cut_s,omitempty"` // and if tiles are cut in the best way; 0: none is worth it, or permitted
	How   string  `json:"cut,omitempty"`   // tiles are cut then
	Taken bool    `json:"chosen"`          // the product is computed so if no parameter says otherwise
}

// Choice returns what the cost model says of a product with the tile on the GPU, for operands that permit the widest
// copies.
func (r Rung) Choice(t Tile, g GPU, s gemm.Shape) (Choice, error) {
	whole := Plan{Rung: r, Tile: r.Fit(t, s), Split: 1, Shape: s}
	whole.edges = r.Pads && (s.M%t.BM != 0 || s.N%t.BN != 0)
	c := Choice{Whole: whole.predict(g)}
	cut := slices.DeleteFunc(whole.cuts(g, 0), func(p Plan) bool { return p.Tail.Blocks == 0 })
	if len(cut) > 0 {
		best := fastest(cut, g)
		c.Cut, c.How = best.predict(g), best.Tail.String()
	}
	taken, err := r.choose(g, s, 0, true, nil)
	c.Taken = taken.Tile == whole.Tile
	return c, err
}
