package parallel

import (
	"cmp"
	"context"

	"gemm"
	"gemm/gf256"
)

// tiles shares out tiles of C in two dimensions in place of rows, in row-major order.
// Each is a product of its own,
//
//	C[i:i+t, j:j+t] = A[i:i+t, :]·B[:, j:j+t]
//
// which a serial variant computes, ikj by default. There are more of them to share
// than rows of tiles, of a size that can be chosen, and a worker reads t columns of B
// for t rows of C, not all of it: k·t elements, which can stay in a cache of its own.
type tiles[T gemm.Element] struct {
	toucher[T]
	locals     []gemm.Multiplier[T]
	tile, load int
}

// Multiply implements gemm.Multiplier.
func (x tiles[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	columns := (c.Cols + x.tile - 1) / x.tile
	n := columns * ((c.Rows + x.tile - 1) / x.tile)
	return x.settle(func() error {
		var first firstError
		err := x.loop(ctx, n, func(worker, lo, hi int) {
			for t := lo; t < hi; t++ {
				i, j := t/columns*x.tile, t%columns*x.tile
				rows, cols := min(x.tile, c.Rows-i), min(x.tile, c.Cols-j)
				part, left, right := c.Slice(i, j, rows, cols), a.Slice(i, 0, rows, a.Cols), b.Slice(0, j, b.Rows, cols)
				for range times(t, n, x.load) {
					first.note(x.locals[worker].Multiply(ctx, part, left, right))
				}
			}
		})
		return cmp.Or(err, first.err)
	})
}

func newTiles[T gemm.Element](p gemm.Params) (gemm.Multiplier[T], error) {
	t, err := newTeam(p)
	if err != nil {
		return nil, err
	}
	locals, err := newLocals[T](p)
	if err != nil {
		return nil, err
	}
	return tiles[T]{toucher[T]{t}, locals, p.Int("tile"), p.Int("load")}, nil
}

func tilesVariant() gemm.Variant {
	return gemm.Variant{
		Name: "parallel/tiles",
		Doc:  "rows in two dimensions: each worker computes tiles of C by a serial variant",
		Params: append(localParams("tiles"),
			gemm.Param{Name: "tile", Default: 128, Min: 1, Doc: "edge of the tiles of C"}),
		Model: func(m, n, k int, p gemm.Params) gemm.Model {
			tile := p.Int("tile")
			return localModel(p, [3]int{m, n, k}, [3]int{min(m, tile), min(n, tile), k})
		},
		Bound: gemm.Classical,
		F32:   newTiles[float32],
		F64:   newTiles[float64],
		GF256: newTiles[gf256.Elem],
	}
}
