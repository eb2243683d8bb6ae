package plan_test

import (
	"math/bits"
	"slices"

	"gemm"
	"gemm/mpi/plan"
)

// The traffic of the variants on one host, in closed form: what the schedules, which count call by call, have
// to come to.

// count is what a rank sends and receives.
type count plan.Counts

func wantP2P(s gemm.Shape, ranks int, works bool) []count {
	return p2pRows(s, ranks, works, 1, s.M)
}

func wantP2POverlap(s gemm.Shape, ranks int, works bool, width int) []count {
	panels, left := int64(0), s.K
	for w := ((width + 4 - 1) / 4); w < width && w < left; w *= 2 {
		panels, left = panels+1, left-w
	}
	return p2pRows(s, ranks, works, panels+pieces(left, width), width)
}

func p2pRows(s gemm.Shape, ranks int, works bool, panels int64, width int) []count {
	out := make([]count, ranks)
	if empty(s) {
		return out
	}
	workers := ranks
	if !works && ranks > 1 {
		workers--
	}
	for r := 1; r < ranks; r++ {
		rows := part(s.M, workers, r-(ranks-workers))
		if rows == 0 {
			continue
		}
		there, back := rows*int64(s.K)+area(s.K, s.N), rows*int64(s.N)
		messages := 2*panels + pieces(int(rows), width)
		out[0].add(there, back, messages)
		out[r].add(back, there, messages)
	}
	return out
}

func wantScatterRows(s gemm.Shape, ranks int) []count {
	return wantScatterBlocks(s, ranks, plan.Grid{P: ranks, Q: 1, C: 1})
}

func wantScatterBlocks(s gemm.Shape, ranks int, g plan.Grid) []count {
	out := make([]count, ranks)
	if empty(s) {
		return out
	}
	rows, cols := pieces(s.M, g.P), pieces(s.N, g.Q)
	there, back, others := (rows+cols)*int64(s.K), rows*cols, int64(g.Ranks()-1)
	out[0].add(others*there, others*back, 2*levels(g.Ranks()))
	for r := 1; r < g.Ranks(); r++ {
		out[r].add(back, there, 2*levels(g.Ranks()))
	}
	return out
}

// wantHostBlocks counts the blocks that each of copies needs, with a rank of the grid at its place. A block of
// c columns is cut into min(c, bands) messages.
func wantHostBlocks(s gemm.Shape, g plan.Grid, copies []int, bands int) []count {
	out := make([]count, g.Ranks())
	if empty(s) {
		return out
	}
	at, down := map[[2]int]bool{}, map[[2]int]bool{}
	for r, h := range copies {
		i, j, _ := g.At(r)
		rows, cols := part(s.M, g.P, i), part(s.N, g.Q, j)
		messages := min(cols, int64(bands))
		head := slices.Index(copies, h)
		if !at[[2]int{h, i}] && head > 0 && rows > 0 {
			out[0].add(rows*int64(s.K), 0, 1)
			out[head].add(0, rows*int64(s.K), 1)
		}
		if !down[[2]int{h, j}] && head > 0 {
			out[0].add(cols*int64(s.K), 0, messages)
			out[head].add(0, cols*int64(s.K), messages)
		}
		at[[2]int{h, i}], down[[2]int{h, j}] = true, true
		if r > 0 && rows > 0 {
			out[0].add(0, rows*cols, messages)
			out[r].add(rows*cols, 0, messages)
		}
	}
	return out
}

func wantGridBlocks(s gemm.Shape, ranks int, g plan.Grid) []count {
	out := make([]count, ranks)
	if empty(s) {
		return out
	}
	m, n, k := int64(s.M), int64(s.N), int64(s.K)
	calls := widths(s.N, g.Q) * levels(g.Q)
	for r := range g.Ranks() {
		i, j, _ := g.At(r)
		rows, cols := part(s.M, g.P, i), part(s.N, g.Q, j)
		t := &out[r]
		switch { // ScatterRows and GatherRows
		case r == 0:
			t.add((m-rows)*k, (m-rows)*n, 2*levels(g.P))
		case j == 0:
			t.add(rows*n, rows*k, 2*levels(g.P))
		}
		switch { // ScatterCols
		case r == 0:
			t.add(k*(n-cols), 0, calls)
		case i == 0:
			t.add(0, k*cols, calls)
		}
		t.bcast(rows*k, 1, g.Q, j == 0)
		t.bcast(k*cols, 1, g.P, i == 0)
		switch { // GatherCols
		case rows == 0:
		case j == 0:
			t.add(0, rows*(n-cols), calls)
		default:
			t.add(rows*cols, 0, calls)
		}
	}
	return out
}

func wantBcastRows(s gemm.Shape, copies []int, width int) []count {
	ranks := len(copies)
	out := make([]count, ranks)
	if empty(s) {
		return out
	}
	panels, heads := pieces(s.N, width), plan.Count(copies)
	for r := range out {
		t := &out[r]
		rows := part(s.M, ranks, r)
		if r == 0 {
			rest := int64(s.M) - rows
			t.add(rest*int64(s.K), rest*int64(s.N), levels(ranks)+panels*int64(min(ranks, s.M)-1))
		} else {
			t.add(rows*int64(s.N), rows*int64(s.K), levels(ranks)+panels*sign(rows))
		}
		if slices.Index(copies, copies[r]) == r {
			t.bcast(area(s.K, s.N), panels, heads, r == 0)
		}
	}
	return out
}

func wantSumma(s gemm.Shape, ranks int, g plan.Grid, width int) []count {
	out := make([]count, ranks)
	summa(out, s, g, width)
	return out
}

// summa adds the traffic of one layer to the traffic of its ranks.
func summa(out []count, s gemm.Shape, g plan.Grid, width int) {
	if empty(s) {
		return
	}
	panels := calls(s, g, width, func(int, int) bool { return true })
	for r := range g.P * g.Q {
		i, j, _ := g.At(r)
		out[r].exchange(part(s.M, g.P, i), s.K, g.Q, j, panels)
		out[r].exchange(part(s.N, g.Q, j), s.K, g.P, i, panels)
	}
}

func wantSrumma(s gemm.Shape, ranks int, g plan.Grid, width int) []count {
	out := make([]count, ranks)
	if empty(s) {
		return out
	}
	for r := range g.Ranks() {
		i, j, _ := g.At(r)
		m, n, k := part(s.M, g.P, i), part(s.N, g.Q, j), int64(s.K)
		if m > 0 {
			out[r].add(0, m*(k-part(s.K, g.Q, j)), calls(s, g, width, func(_, col int) bool { return col != j }))
		}
		if n > 0 {
			out[r].add(0, n*(k-part(s.K, g.P, i)), calls(s, g, width, func(row, _ int) bool { return row != i }))
		}
	}
	return out
}

func wantSrummaSent(s gemm.Shape, ranks int, g plan.Grid, width int) []count {
	out := wantSrumma(s, ranks, g, width)
	if empty(s) {
		return out
	}
	for r := range g.Ranks() {
		i, j, _ := g.At(r)
		others, below := int64(g.Q-1), int64(g.P-1)
		if m := part(s.M, g.P, i); m > 0 {
			out[r].add(others*m*part(s.K, g.Q, j), 0,
				others*calls(s, g, width, func(_, col int) bool { return col == j }))
		}
		if n := part(s.N, g.Q, j); n > 0 {
			out[r].add(below*n*part(s.K, g.P, i), 0,
				below*calls(s, g, width, func(row, _ int) bool { return row == i }))
		}
	}
	return out
}

// calls returns the number of panels of k for whose owners at returns true. row is the row of the
// grid that holds the panel's rows of B, col the column that holds its columns of A.
func calls(s gemm.Shape, g plan.Grid, width int, at func(row, col int) bool) int64 {
	panels := int64(0)
	for i := range g.P {
		for j := range g.Q {
			if a, b := plan.Split(s.K, g.Q, j), plan.Split(s.K, g.P, i); at(i, j) {
				panels += pieces(max(0, min(a.Hi, b.Hi)-max(a.Lo, b.Lo)), width)
			}
		}
	}
	return panels
}

func wantCannon(s gemm.Shape, ranks int, g plan.Grid) (steps, skew []count) {
	steps, skew = make([]count, ranks), make([]count, ranks)
	if empty(s) {
		return steps, skew
	}
	blocks := lcm(g.P, g.Q)
	for r := range g.Ranks() {
		i, j, _ := g.At(r)
		ring(&steps[r], &skew[r], part(s.M, g.P, i), s.K, blocks, i, j, g.Q)
		ring(&steps[r], &skew[r], part(s.N, g.Q, j), s.K, blocks, j, i, g.P)
	}
	return steps, skew
}

// ring adds the messages of a rank in one direction of the grid. The rank is at a place of size places,
// and multiplies block shift + at first. There are side elements for each index of k.
func ring(steps, skew *count, side int64, k, blocks, shift, at, size int) {
	if size == 1 || side == 0 {
		return
	}
	turn := func(block, at int) int { return (block + 2*blocks - shift - at) % blocks } // its step
	last, left := size-1, (at+size-1)%size
	for block := range blocks {
		elements, owner, step := side*part(k, blocks, block), block%size, turn(block, at)
		if elements == 0 {
			continue
		}
		switch {
		case owner == at:
		case step == 0:
			skew.add(0, elements, 1)
		default:
			steps.add(0, elements, 1)
		}
		// The left neighbour multiplies the block one step later. There is none if this step is the last.
		if left != owner && step < blocks-1 && (at > 0 || blocks == size) {
			steps.add(elements, 0, 1)
		}
		if owner != at {
			continue
		}
		if first := turn(block, 0); first < size && first != at {
			skew.add(elements, 0, 1)
		}
		if blocks > size && at != last && turn(block, last) > 0 {
			steps.add(elements, 0, 1)
		}
	}
}

func wantLayers(s gemm.Shape, ranks int, g plan.Grid, width int) []count {
	out := make([]count, ranks)
	if empty(s) {
		return out
	}
	flat := plan.Grid{P: g.P, Q: g.Q, C: 1}
	for l := range g.C {
		within := gemm.Shape{M: s.M, N: s.N, K: plan.Split(s.K, g.C, l).Len()}
		summa(out[l*flat.Ranks():], within, flat, width)
	}
	for r := range g.Ranks() {
		i, j, l := g.At(r)
		rows, cols := part(s.M, g.P, i), part(s.N, g.Q, j)
		if rows*cols == 0 {
			continue
		}
		own := part(int(rows), g.C, l)
		out[r].add((rows-own)*cols, int64(g.C-1)*own*cols, levels(g.C))
	}
	return out
}

func (t *count) add(sent, recv, messages int64) {
	t.Sent += sent
	t.Recv += recv
	t.Messages += messages
}

// bcast adds a Bcast of the given elements in the given number of calls.
func (t *count) bcast(elements, calls int64, ranks int, root bool) {
	switch {
	case ranks == 1 || elements == 0:
	case root:
		t.add(elements, 0, calls*levels(ranks))
	default:
		t.add(0, elements, calls*levels(ranks))
	}
}

// exchange adds the Bcasts for all of k, which the ranks hold in even parts. There are side elements
// for each index of k.
func (t *count) exchange(side int64, k, ranks, rank int, calls int64) {
	if ranks > 1 && side > 0 {
		own := part(k, ranks, rank)
		t.add(side*own, side*(int64(k)-own), calls*levels(ranks))
	}
}

// empty reports whether a product has no terms.
func empty(s gemm.Shape) bool { return s.M == 0 || s.N == 0 || s.K == 0 }

// part returns the length of the i-th part of plan.Split.
func part(n, parts, i int) int64 { return int64(plan.Split(n, parts, i).Len()) }

func area(a, b int) int64 { return int64(a) * int64(b) }

// pieces returns ⌈n/width⌉.
func pieces(n, width int) int64 { return int64(((n + width - 1) / width)) }

// levels returns ⌈log₂ ranks⌉.
func levels(ranks int) int64 { return int64(bits.Len(uint(ranks - 1))) }

// widths returns how many different lengths, except 0, the parts of plan.Split have.
func widths(n, parts int) int64 {
	if n > parts && n%parts != 0 {
		return 2
	}
	return sign(int64(n))
}

// sign returns 1 if n is positive, and 0 if it is 0.
func sign(n int64) int64 { return min(n, 1) }

// lcm returns the least common multiple.
func lcm(a, b int) int {
	x := a
	for x%b != 0 {
		x += a
	}
	return x
}
