package serial

import (
	"context"

	"gemm"
)

// blocked is hinted on blocks of B of block × block elements: all rows of C use one block before the next block begins.
//
//	for jj, for ll: C[:, jj] += A[:, ll]·B[ll, jj]
//
// The block stays in cache while m rows use it, so B is read once in place of m times. The price: C
// is read and written k/block times, and A is read n/block times. The traffic is
// kn + mnk/block·(1 + 2) elements in place of m·kn, less by a factor of block/3 (Lam, Rothberg and Wolf, The Cache
// Performance and Optimizations of Blocked Algorithms, ASPLOS 1991). It needs block² + 2·block ≤ Z.
// With a larger block the traffic is as large as in hinted; with a small one the loops are short.
type blocked[T gemm.Element] struct {
	block int
	inner accumulator[T] // hinted, or ikj in GF(2⁸)
}

func (x blocked[T]) accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	for jj := 0; jj < b.Cols; jj += x.block {
		cols := min(x.block, b.Cols-jj)
		for ll := 0; ll < b.Rows; ll += x.block {
			depth := min(x.block, b.Rows-ll)
			err := x.inner.accumulate(ctx, c.Slice(0, jj, c.Rows, cols), a.Slice(0, ll, a.Rows, depth),
				b.Slice(ll, jj, depth, cols))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func newBlocked[T gemm.Element](inner loop[T]) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		return product[T]{blocked[T]{p.Int("block"), textbook[T]{"ikj", inner}}}, nil
	}
}

// defaultBlock is the default of block: 288 KB of f64. It leaves room in an L2 of 512 KB, and its
// rows are long enough for the loop.
const defaultBlock = 192

func blockedVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "serial/blocked",
		Parent: "serial/hinted",
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
		Bound: gemm.Classical,
		F32:   newBlocked(hinted[float32]),
		F64:   newBlocked(hinted[float64]),
		GF256: newBlocked(ikjField),
	}
}
