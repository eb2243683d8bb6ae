package parallel

import (
	"context"

	"gemm"
	"gemm/gf256"
)

// tiles divides C into tiles, in row-major order. Each tile is a product, which a serial variant
// computes, ikj by default:
//
//	C[i:i+t, j:j+t] = A[i:i+t, :]·B[:, j:j+t]
//
// There are more tiles than rows of tiles, and their size can be chosen. For t rows of C a worker
// reads t columns of B, not all of it: k·t elements, which can stay in its own cache.
type tiles[T gemm.Element] struct {
	*team[T]
	locals     []gemm.Multiplier[T]
	tile, load int // load: see times
}

func (x tiles[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	tile := max(1, min(x.tile, max(c.Rows, c.Cols)))
	columns := (c.Cols + tile - 1) / tile
	n := columns * ((c.Rows + tile - 1) / tile)
	return x.multiply(ctx, c, a, b, func() error {
		return x.loop(ctx, n, func(worker, lo, hi int) {
			for t := lo; t < hi; t++ {
				i, j := t/columns*tile, t%columns*tile
				rows, cols := min(tile, c.Rows-i), min(tile, c.Cols-j)
				part, left, right := c.Slice(i, j, rows, cols), a.Slice(i, 0, rows, a.Cols), b.Slice(0, j, b.Rows, cols)
				for range times(t, n, x.load) {
					compute(ctx, x.locals[worker], part, left, right)
				}
			}
		})
	})
}

// Loaded implements record.Loadable.
func (x tiles[T]) Loaded(load int) gemm.Multiplier[T] {
	x.load = load
	return x
}

func newTiles[T gemm.Element](t *team[T], p gemm.Params) (gemm.Multiplier[T], error) {
	locals, err := newLocals[T](p)
	if err != nil {
		return nil, err
	}
	return tiles[T]{t, locals, p.Int("tile"), 0}, nil
}

func tilesVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/tiles",
		Parent: "parallel/rows",
		Leaf:   "serial/ikj",
		Doc:    "C is divided into tiles: each worker computes tiles by a serial variant",
		Can:    teamCan | gemm.Loads,
		Params: append(localParams("tiles"),
			gemm.Param{Name: "tile", Default: 128, Min: 1, Doc: "edge of the tiles of C"}),
		Model: func(s gemm.Shape, p gemm.Params) gemm.Model {
			tile := p.Int("tile")
			return localModel(p, [3]int{s.M, s.N, s.K}, [3]int{min(s.M, tile), min(s.N, tile), s.K})
		},
		Bound: gemm.Classical,
		F32:   onTeam("parallel/tiles", newTiles[float32]),
		F64:   onTeam("parallel/tiles", newTiles[float64]),
		GF256: onTeam("parallel/tiles", newTiles[gf256.Elem]),
	}
}
