package cuda

import (
	"fmt"
	"testing"

	"gemm"
)

// TestTails walks over the blocks of every tail as kernels do. Each slice of each tile must be computed once, sums over
// parts must have places of their own, and as many blocks must come to a tile as it has parts.
func TestTails(t *testing.T) {
	whole, cut := 0, 0
	for _, name := range [][2]string{
		{"f32", "tuned"}, {"f64", "tuned"}, {"f32", "tuned-tf32"}, {"f32", F16x3},
	} {
		r := rung(t, name[0], name[1])
		for _, s := range []gemm.Shape{gemm.Cube(3072), gemm.Cube(2049), {M: 64, N: 64, K: 1 << 16},
			{M: 8192, N: 64, K: 8192}, {M: 300, N: 500, K: 3000}, gemm.Cube(512), gemm.Cube(64), gemm.Cube(0)} {
			for _, tile := range r.Tiles {
				p := Plan{Rung: r, Tile: tile, Split: 1, Shape: s}
				for _, q := range append(p.cuts(h200, 0), p.inParts(3), p.inParts(64)) {
					if q.Tail.Blocks == 0 {
						whole++
						continue
					}
					cut++
					if err := q.covers(); err != nil {
						t.Errorf("%s %v with %v: %+v: %v", r.Name, s, tile, q.Tail, err)
					}
				}
			}
		}
	}
	if whole == 0 || cut == 0 {
		t.Errorf("%d plans are whole and %d cut: the shapes show nothing", whole, cut)
	}
}

// covers returns an error if the blocks of the tail do not compute its tiles as they should.
func (p Plan) covers() error {
	t := p.Tail
	tiles, slices := p.tiles(), ceil(p.K, p.Tile.BK)
	if t.Whole+t.Tiles != tiles || t.Span < slices || p.Blocks() != t.Whole+t.Blocks {
		return fmt.Errorf("%d tiles of %d slices, %d blocks", tiles, slices, p.Blocks())
	}
	done, came, used := make([]int, t.Tiles*t.Span), make([]int, t.Tiles), map[int]bool{}
	for block := range t.Blocks {
		at := block * t.Each
		left := min(t.Each, t.Tiles*t.Span-at)
		for tile, first := at/t.Span, at%t.Span; left > 0; tile, first = tile+1, 0 {
			n := min(left, t.Span-first)
			left -= n
			for i := range n {
				done[tile*t.Span+first+i]++
			}
			if first >= slices {
				return fmt.Errorf("block %d has an empty part of tile %d", block, tile)
			}
			if n == t.Span {
				came[tile] = -1 // whole: no other block has a part of it
				continue
			}
			came[tile]++
			if used[tile+block] || tile+block >= t.places() {
				return fmt.Errorf("block %d has place %d of %d for tile %d", block, tile+block, t.places(), tile)
			}
			used[tile+block] = true
		}
	}
	for i, n := range done {
		if n != 1 {
			return fmt.Errorf("slice %d of tile %d is computed %d times", i%t.Span, i/t.Span, n)
		}
	}
	for tile, n := range came {
		if want := ((tile+1)*t.Span-1)/t.Each - tile*t.Span/t.Each + 1; n >= 0 && n != want || n > t.parts() {
			return fmt.Errorf("%d blocks come to tile %d, want %d, at most %d", n, tile, want, t.parts())
		}
	}
	return nil
}
