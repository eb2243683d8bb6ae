package plan

// Shifts is the order in which Cannon's algorithm moves blocks on a grid of any P×Q ranks. The range of
// k is cut into L = lcm(P, Q) blocks. Block l of A lies in column l mod Q of the grid, and block l of B in
// row l mod P. In step t of L, rank (i, j) multiplies block (i + j + t) mod L. In the next step its
// left neighbour needs the same block of A, and the rank above it the same block of B: the rank passes
// them on. If L > Q, the last column gets each block from the column that owns it, since its right
// neighbour, across the edge of the grid, is at another block. A rank does not receive what it owns.
//
//	2×3, L = 6, k blocks of row 0      (0,0)   (0,1)   (0,2)
//	owns of A                          0, 3    1, 4    2, 5
//	step 0                             0       1       2
//	step 1                             1 ←     2 ←     3, from (0,0)
//	step 2                             2 ←     3 ←     4, from (0,1)
//
// On a square grid every rank owns one block of A and one of B, and L = Q: this is the algorithm of 1969.
// The least common multiple is the number of steps in Lee, Robertson and Fortes, Generalized Cannon's
// algorithm for parallel matrix multiplication, ICS 1997. There all blocks of a rank move in every step;
// here only the block that is multiplied moves.
type Shifts struct {
	Grid
	K int
}

// Steps returns the number of steps, which is the number of blocks of k.
func (s Shifts) Steps() int { return lcm(s.P, s.Q) }

// Block returns the number of the block of k that rank (i, j) multiplies in a step.
func (s Shifts) Block(i, j, step int) int { return (i + j + step) % s.Steps() }

// Depth returns the range of k of a block.
func (s Shifts) Depth(block int) Span { return Split(s.K, s.Steps(), block) }

// Panels returns the blocks of k with their owners.
func (s Shifts) Panels() []Panel {
	var out []Panel
	for l, k := range Spans(s.K, s.Steps()) {
		out = append(out, Panel{K: k, Col: l % s.Q, Row: l % s.P})
	}
	return out
}

// FromA returns the column of the grid from which rank (i, j) gets its block of A for a step; j if it owns it.
func (s Shifts) FromA(i, j, step int) int { return s.from(s.Block(i, j, step), j, s.Q, step) }

// FromB returns the row of the grid from which rank (i, j) gets its block of B for a step; i if it owns it.
func (s Shifts) FromB(i, j, step int) int { return s.from(s.Block(i, j, step), i, s.P, step) }

func (s Shifts) from(block, at, size, step int) int {
	owner := block % size
	if owner != at && step > 0 && (at+1 < size || s.Steps() == size) {
		return (at + 1) % size
	}
	return owner
}

// lcm returns the least common multiple.
func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
