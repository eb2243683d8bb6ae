package plan

import (
	"fmt"
	"testing"

	"gemm"
)

// ExampleBuffers has a C of 4×4 elements on a grid of 2×2 ranks.
func ExampleBuffers() {
	b := Buffers{InOrder(Grid{2, 2, 1}), gemm.Shape{M: 4, N: 4, K: 3}}
	rank, e := b.InC(2, 2)
	fmt.Printf("C[2][2] is element %d of rank %d\n", e, rank)
	row, col := b.InB(1, 3)
	fmt.Printf("element 3 of the block of B of rank 1 is B[%d][%d]\n", row, col)
	// Output:
	// C[2][2] is element 0 of rank 3
	// element 3 of the block of B of rank 1 is B[1][3]
}

// TestBuffers checks, for grids whose blocks are padded, that each element of B and C is in the blocks of its ranks
// once.
func TestBuffers(t *testing.T) {
	for _, g := range []Grid{{1, 1, 1}, {3, 1, 1}, {2, 3, 1}, {4, 4, 1}} {
		b := Buffers{InOrder(g), gemm.Shape{M: 5, N: 7, K: 2}}
		block, inC := b.Block(), map[[2]int]bool{}
		for i := range b.M {
			for j := range b.N {
				rank, e := b.InC(i, j)
				rows, cols := b.Of(rank)
				if i < rows.Lo || i >= rows.Hi || j < cols.Lo || j >= cols.Hi || e < 0 || e >= block.M*block.N {
					t.Errorf("%v: C[%d][%d] is element %d of rank %d, with rows %v and columns %v", g, i, j, e, rank,
						rows, cols)
				}
				inC[[2]int{rank, e}] = true
			}
		}
		if len(inC) != b.M*b.N {
			t.Errorf("%v: %d places for %d elements of C", g, len(inC), b.M*b.N)
		}
		for rank := range g.Ranks() {
			_, cols := b.Of(rank)
			own := 0
			for e := range b.K * block.N {
				if row, col := b.InB(rank, e); row*block.N+col%block.N == e && cols.Lo <= col && col < cols.Hi {
					own++
				}
			}
			if own != b.K*cols.Len() {
				t.Errorf("%v: rank %d has %d elements of B, want %d", g, rank, own, b.K*cols.Len())
			}
		}
	}
}
