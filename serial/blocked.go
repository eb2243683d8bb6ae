package serial

import (
	"context"

	"gemm"
	"gemm/gf256"
)

// blocked is hinted on blocks of B of block × block elements: all rows of C use one block before the next block begins.
//
//	for jj, for ll: C[:, jj] += A[:, ll]·B[ll, jj]
//
// The block stays in cache while m rows use it, so B is read once in place of m times. The price: C
// is read and written k/block times, and A is read n/block times. The traffic is
// kn + mnk/block·(1 + 2) elements in place of m·kn, less by a factor of block/3 (Lam, Rothberg and Wolf, The Cache
// Performance and Optimizations of Blocked Algorithms, ASPLOS 1991). It needs block² + 2·block ≤ Z.
// With a larger block the traffic is that of hinted again; with a small one the loops are short.
type blocked[T gemm.Float] struct{ block int }

func (x blocked[T]) accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return eachBlock(ctx, x.block, c, a, b, addRows)
}

// blockedField is blocked in GF(2⁸), with the rows added as in ikjField.
type blockedField struct{ block int }

func (x blockedField) accumulate(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	return eachBlock(ctx, x.block, c, a, b, func(c, x []gf256.Elem, b gemm.Matrix[gf256.Elem]) {
		for l, x := range x {
			gf256.AddScaled(c, x, b.Row(l))
		}
	})
}

// eachBlock calls add(c, x, b) for every block b of B and every row: x is a piece of a row of A, c
// is a piece of a row of C, and add adds x·b to c.
func eachBlock[T gemm.Element](ctx context.Context, block int, c, a, b gemm.Matrix[T],
	add func(c, x []T, b gemm.Matrix[T])) error {
	for jj := 0; jj < b.Cols; jj += block {
		cols := min(block, b.Cols-jj)
		// A block with more elements than patience has terms is cut: no cache holds it.
		deepest := min(block, fours(unheard(cols)))
		rows := unheard(cols * deepest)
		for ll := 0; ll < b.Rows; ll += deepest {
			depth := min(deepest, b.Rows-ll)
			part := b.Slice(ll, jj, depth, cols)
			for i := range c.Rows {
				if i%rows == 0 {
					if err := ctx.Err(); err != nil {
						return err
					}
				}
				add(c.Row(i)[jj:jj+cols], a.Row(i)[ll:ll+depth], part)
			}
		}
	}
	return nil
}

// defaultBlock is the default of block: 288 KB of f64. It leaves room in an L2 of 512 KB, and its
// rows are long enough for the loop.
const defaultBlock = 192

func blockedVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "serial/blocked",
		Parent: "serial/hinted",
		Parts:  []gemm.Part{gemm.Course},
		Advice: []gemm.Advice{{Item: "S6", Over: "serial/hinted"}},
		Doc:    "hinted on square blocks of B that stay in cache",
		Params: []gemm.Param{{Name: "block", Default: defaultBlock, Min: 1, Doc: "rows and columns of a block of B"}},
		Model: func(shape gemm.Shape, p gemm.Params) gemm.Model {
			s, block := sizeOf(shape), p.Int("block")
			across, down := ceil(s.n, block), ceil(s.k, block)
			width, depth := min(float64(block), s.n), min(float64(block), s.k)
			passes := float64(shape.K/block)*rounds(block) + rounds(shape.K%block)
			return s.model(s.terms+2*s.c*passes+s.a*across, func(cache, line float64) float64 {
				fits := width*depth+width+depth+line <= cache
				return pick(fits, s.b, s.m*s.b) +
					s.a*pick(s.a+s.k*width+s.m*width <= cache, 1, across)*pick(fits, 1, min(line, depth)) +
					2*s.c*pick(width*s.m+depth*s.m+width*depth <= cache, 1, down)*pick(fits, 1, max(1, depth/4))
			})
		},
		Loop:      gemm.Loop{Instructions: 4, Walk: gemm.Blocks},
		FieldLoop: gemm.Loop{Instructions: 8, Walk: gemm.Blocks},
		Bound:     gemm.Classical,
		F32: func(p gemm.Params) (gemm.Multiplier[float32], error) {
			return product[float32]{blocked[float32]{p.Int("block")}}, nil
		},
		F64: func(p gemm.Params) (gemm.Multiplier[float64], error) {
			return product[float64]{blocked[float64]{p.Int("block")}}, nil
		},
		GF256: func(p gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
			return product[gf256.Elem]{blockedField{p.Int("block")}}, nil
		},
	}
}
