package plan

import (
	"math/bits"
	"slices"

	"gemm"
)

// Traffic is the number of elements that one rank sends and receives in a product. Multiply by
// their size for bytes. It is predicted from shapes and grids alone, by the rules of package comm.
// It shares no code with the algorithms except Split.
//
// Messages counts the latencies of a rank: 1 for a message at each of its ends, ⌈log₂ ranks⌉ for a
// collective on each of its ranks. A message without elements counts 0, and so does a collective of
// one rank.
//
// The functions return the Traffic of all ranks in their order. Ranks outside the grid have none.
// If M, N or K is 0, no rank has any. Rank 0 is the root.
type Traffic struct{ Sent, Recv, Messages int64 }

// P2PRows predicts p2p-rows: rank 0 sends B and some rows of A to each other worker, and receives
// rows of C. The workers are all ranks, or all except rank 0 if the master is idle.
//
//	M = 3, 3 ranks   rank     0              1                2
//	idle master      sends    A₁ B, A₂ B     C₁ (2 rows)      C₂ (1 row)
//	                 gets     C₁, C₂         A₁, B            A₂, B
//	working master   sends    A₁ B, A₂ B     C₁ (1 row)       C₂ (1 row)
func P2PRows(s gemm.Shape, ranks int, works bool) []Traffic {
	return p2pRows(s, ranks, works, 1, s.M)
}

// P2PRowsOverlap predicts p2p-rows-overlap, which sends the same bytes in more messages. K is cut
// into panels of at most width columns of A and rows of B; the first ones are shorter. The rows of C
// are cut into pieces of at most width.
//
//	M = 3, K = 5, width 2   rank 0 → 1: A₁[:,0:1], B[0:1,:], A₁[:,1:3], B[1:3,:], A₁[:,3:5], B[3:5,:]
//	2 ranks                 rank 1 → 0: C₁[0:2,:], C₁[2:3,:]
func P2PRowsOverlap(s gemm.Shape, ranks int, works bool, width int) []Traffic {
	panels, left := int64(0), s.K
	for w := ceil(width, 4); w < width && w < left; w *= 2 {
		panels, left = panels+1, left-w
	}
	return p2pRows(s, ranks, works, panels+pieces(left, width), width)
}

func p2pRows(s gemm.Shape, ranks int, works bool, panels int64, width int) []Traffic {
	out := make([]Traffic, ranks)
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

// ScatterRows predicts scatter-rows. One Scatter sends B and ⌈M/P⌉ rows of A, padded, to each rank.
// One Gather returns as many rows of C.
//
//	M = 3, 2 ranks   rank       0                     1
//	Scatter          before     A₀ B A₁ B             ·
//	                 after      A₀ (2 rows), B        A₁ (1 row, 1 of padding), B
//	Gather           before     C₀                    C₁
//	                 after      C₀ C₁ (4 rows)        ·
func ScatterRows(s gemm.Shape, ranks int) []Traffic {
	own := InOrder(Grid{ranks, 1, 1})
	return ScatterBlocks(s, own, own.Order)
}

// ScatterBlocks predicts scatter-blocks. One Scatter sends ⌈M/p⌉ rows of A and ⌈N/q⌉ columns of B,
// padded, to rank (i, j). One Gather returns its block of C. hosts are the hosts that share a copy, by rank of
// the layout: one Scatter sends the first rank of each host the blocks that its ranks need, each once, and
// padded to the same number on all hosts. If every rank has its own copy, each is a host of its own.
//
//	2×2              rank       0                           1         2         3
//	Scatter          before     A₀ B₀ A₀ B₁ A₁ B₀ A₁ B₁     ·         ·         ·
//	                 after      A₀, B₀                      A₀, B₁    A₁, B₀    A₁, B₁
//	Gather           before     C₀₀                         C₀₁       C₁₀       C₁₁
//	                 after      C₀₀ C₀₁ C₁₀ C₁₁             ·         ·         ·
func ScatterBlocks(s gemm.Shape, l Layout, hosts []int) []Traffic {
	ranks := l.Ranks()
	out := make([]Traffic, ranks)
	if empty(s) {
		return out
	}
	rows, cols, most := pieces(s.M, l.P), pieces(s.N, l.Q), [2]int64{}
	at, down := l.Needed(hosts)
	for h := range at {
		most[0], most[1] = max(most[0], int64(len(at[h]))), max(most[1], int64(len(down[h])))
	}
	there, back := (rows*most[0]+cols*most[1])*int64(s.K), rows*cols
	for r := range out {
		t := &out[r]
		switch {
		case r == 0:
			t.add(int64(Count(hosts)-1)*there, int64(ranks-1)*back, levels(Count(hosts))+levels(ranks))
		case slices.Index(hosts, hosts[r]) == r:
			t.add(back, there, levels(Count(hosts))+levels(ranks))
		default:
			t.add(back, 0, levels(ranks))
		}
	}
	return out
}

// GridBlocks predicts grid-blocks. Blocks of rows of A go down column 0 of the grid, then along the
// rows. Blocks of columns of B go along row 0, then down the columns. Blocks of C return along the
// rows, then up column 0. Columns with two different widths need two calls.
//
//	2×2               rank      0         1         2         3
//	ScatterRows       column 0  A → A₀              A₁
//	ScatterCols       row 0     B → B₀    B₁
//	Bcast of A        rows      A₀ →      A₀        A₁ →      A₁
//	Bcast of B        columns   B₀ ↓      B₁ ↓      B₀        B₁
//	GatherCols        rows      C₀ ←      C₀₁       C₁ ←      C₁₁
//	GatherRows        column 0  C ←                 C₁
func GridBlocks(s gemm.Shape, ranks int, g Grid) []Traffic {
	out := make([]Traffic, ranks)
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

// BcastRows predicts bcast-rows. Rows of A are scattered, B is broadcast in panels of at most width
// columns, and the columns of C that a panel gives return from each rank in a message. hosts are the
// hosts that share a copy of B, by rank: their first ranks get it, the others nothing. If every rank
// has its own copy, each is a host of its own.
//
//	N = 3, width 2, hosts 0 0 1     rank      0         1         2
//	ScatterRows                               A → A₀    A₁        A₂
//	Bcast                                     B⁰ →      ·         B⁰
//	messages                                  C ←       C₁⁰       C₂⁰
//	Bcast, messages                           B¹ → C ←  C₁¹       B¹ C₂¹
func BcastRows(s gemm.Shape, hosts []int, width int) []Traffic {
	ranks := len(hosts)
	out := make([]Traffic, ranks)
	if empty(s) {
		return out
	}
	panels, heads := pieces(s.N, width), Count(hosts)
	for r := range out {
		t := &out[r]
		rows := part(s.M, ranks, r)
		if r == 0 {
			rest := int64(s.M) - rows
			t.add(rest*int64(s.K), rest*int64(s.N), levels(ranks)+panels*int64(min(ranks, s.M)-1))
		} else {
			t.add(rows*int64(s.N), rows*int64(s.K), levels(ranks)+panels*sign(rows))
		}
		if slices.Index(hosts, hosts[r]) == r {
			t.bcast(area(s.K, s.N), panels, heads, r == 0)
		}
	}
	return out
}

// Summa predicts summa, for operands that are distributed over the grid already. A panel at a time,
// each rank sends its columns of A along its row of the grid and its rows of B down its column, and
// receives the panels of the others. C stays where it is computed.
//
//	2×2, K = 4, width 2     rank      0         1         2         3
//	panel [0,2)             rows      A₀₀ →     A₀₀       A₁₀ →     A₁₀
//	                        columns   B₀₀ ↓     B₀₁ ↓     B₀₀       B₀₁
//	panel [2,4)             rows      A₀₁       A₀₁ ←     A₁₁       A₁₁ ←
//	                        columns   B₁₀       B₁₁       B₁₀ ↑     B₁₁ ↑
func Summa(s gemm.Shape, ranks int, g Grid, width int) []Traffic {
	out := make([]Traffic, ranks)
	summa(out, s, g, width)
	return out
}

// summa adds the traffic of one layer to the traffic of its ranks.
func summa(out []Traffic, s gemm.Shape, g Grid, width int) {
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

// Srumma predicts srumma, for operands that are distributed as for summa. Each rank fetches what
// the broadcasts of summa would bring, and no rank sends.
func Srumma(s gemm.Shape, ranks int, g Grid, width int) []Traffic {
	out := make([]Traffic, ranks)
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

// SrummaSent predicts srumma if the owners send their panels. Every panel that a rank needs is then a
// message from its owner.
func SrummaSent(s gemm.Shape, ranks int, g Grid, width int) []Traffic {
	out := Srumma(s, ranks, g, width)
	if empty(s) {
		return out
	}
	for r := range g.Ranks() {
		i, j, _ := g.At(r)
		others, below := int64(g.Q-1), int64(g.P-1)
		if m := part(s.M, g.P, i); m > 0 {
			out[r].add(others*m*part(s.K, g.Q, j), 0, others*calls(s, g, width, func(_, col int) bool { return col == j }))
		}
		if n := part(s.N, g.Q, j); n > 0 {
			out[r].add(below*n*part(s.K, g.P, i), 0, below*calls(s, g, width, func(row, _ int) bool { return row == i }))
		}
	}
	return out
}

// calls returns the number of panels of k for whose owners at returns true. row is the row of the
// grid that holds the panel's rows of B, col the column that holds its columns of A.
func calls(s gemm.Shape, g Grid, width int, at func(row, col int) bool) int64 {
	panels := int64(0)
	for i := range g.P {
		for j := range g.Q {
			if a, b := Split(s.K, g.Q, j), Split(s.K, g.P, i); at(i, j) {
				panels += pieces(max(0, min(a.Hi, b.Hi)-max(a.Lo, b.Lo)), width)
			}
		}
	}
	return panels
}

// Cannon predicts cannon, for operands that are distributed over the grid already. K is cut into
// lcm(P, Q) blocks, and there are as many steps; see Shifts. Before each step, except the first, A moves
// one column to the left and B one row up. The blocks of the first step are counted separately as the
// skew: row i of the grid needs A's blocks from i columns farther, and column j needs B's from j rows
// farther.
//
//	2×2           rank     0              1              2              3
//	spread                 A₀₀ B₀₀        A₀₁ B₀₁        A₁₀ B₁₀        A₁₁ B₁₁
//	skewed                 A₀₀ B₀₀        A₀₁ B₁₁        A₁₁ B₁₀        A₁₀ B₀₁
//	step 1                 A₀₁ B₁₀        A₀₀ B₀₁        A₁₀ B₀₀        A₁₁ B₁₁
//
// A rank does not receive a block that it owns, such as rank 2 its A₁₀ before step 1.
func Cannon(s gemm.Shape, ranks int, g Grid) (steps, skew []Traffic) {
	steps, skew = make([]Traffic, ranks), make([]Traffic, ranks)
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
func ring(steps, skew *Traffic, side int64, k, blocks, shift, at, size int) {
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

// Layers predicts 25d: summa in each layer, on its part of K; then a ReduceScatter of C over the
// layers, after which each layer has a part of the rows.
//
//	1×1×2, M = 3      rank      0                           1
//	summa                       C⁰ = A[:,0:k/2]·B[0:k/2]    C¹ = A[:,k/2:k]·B[k/2:k]
//	ReduceScatter     before    C⁰ (3 rows)                 C¹ (3 rows)
//	                  after     rows 0, 1 of C⁰+C¹          row 2 of C⁰+C¹
func Layers(s gemm.Shape, ranks int, g Grid, width int) []Traffic {
	out := make([]Traffic, ranks)
	if empty(s) {
		return out
	}
	flat := Grid{g.P, g.Q, 1}
	for l := range g.C {
		within := gemm.Shape{M: s.M, N: s.N, K: Split(s.K, g.C, l).Len()}
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

func (t *Traffic) add(sent, recv, messages int64) {
	t.Sent += sent
	t.Recv += recv
	t.Messages += messages
}

// bcast adds a Bcast of the given elements in the given number of calls.
func (t *Traffic) bcast(elements, calls int64, ranks int, root bool) {
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
func (t *Traffic) exchange(side int64, k, ranks, rank int, calls int64) {
	if ranks > 1 && side > 0 {
		own := part(k, ranks, rank)
		t.add(side*own, side*(int64(k)-own), calls*levels(ranks))
	}
}

// empty reports whether a product has no terms.
func empty(s gemm.Shape) bool { return s.M == 0 || s.N == 0 || s.K == 0 }

// part returns the length of the i-th part of Split.
func part(n, parts, i int) int64 { return int64(Split(n, parts, i).Len()) }

func area(a, b int) int64 { return int64(a) * int64(b) }

// pieces returns ⌈n/width⌉.
func pieces(n, width int) int64 { return int64(ceil(n, width)) }

// levels returns ⌈log₂ ranks⌉.
func levels(ranks int) int64 { return int64(bits.Len(uint(ranks - 1))) }

// widths returns how many different lengths, except 0, the parts of Split have.
func widths(n, parts int) int64 {
	if n > parts && n%parts != 0 {
		return 2
	}
	return sign(int64(n))
}

// sign returns 1 if n is positive, and 0 if it is 0.
func sign(n int64) int64 { return min(n, 1) }
