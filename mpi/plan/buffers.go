package plan

import "gemm"

// Buffers says where elements lie in the buffers of rank 0 if all operands are scattered in one call and C is gathered
// in one: by scatter-rows, whose grid is P×1, and by scatter-blocks. A rank's part of the buffer of operands is a block
// of rows of A and, after it, a block of columns of B; its part of the other one is its block of C. All blocks are
// contiguous, and padded to the same size on all ranks.
//
//	2×2, M = N = 4     operands   A₀ B₀  A₀ B₁  A₁ B₀  A₁ B₁
//	                   rank         0      1      2      3
//	                   C          C₀₀    C₀₁    C₁₀    C₁₁      C[2][2] is element 0 of rank 3
type Buffers struct {
	Layout
	gemm.Shape
}

// Block returns the size of the padded blocks: M rows of A, N columns of B, M×N elements of C.
func (b Buffers) Block() gemm.Shape { return gemm.Shape{M: ceil(b.M, b.P), N: ceil(b.N, b.Q), K: b.K} }

// Of returns the rows and columns of C of a rank, without padding.
func (b Buffers) Of(rank int) (rows, cols Span) {
	i, j, _ := b.At(rank)
	cut := func(n, size, i int) Span { return Span{min(n, i*size), min(n, (i+1)*size)} }
	block := b.Block()
	return cut(b.M, block.M, i), cut(b.N, block.N, j)
}

// InB returns the row and the column in B of element e of a rank's block of B. With the N of Block, and j the column of
// the rank in the grid, that is B[e / N][j·N + e mod N]. A column that B does not have is padding.
func (b Buffers) InB(rank, e int) (row, col int) {
	_, j, _ := b.At(rank)
	n := b.Block().N
	return e / n, j*n + e%n
}

// InC returns where C[i][j] lies in the buffer of C: in the part of which rank, and which element of it. With the M and
// N of Block, that is the rank at (i / M, j / N) of the grid, and the element (i mod M)·N + j mod N.
func (b Buffers) InC(i, j int) (rank, e int) {
	block := b.Block()
	return b.Rank(i/block.M, j/block.N, 0), i%block.M*block.N + j%block.N
}
