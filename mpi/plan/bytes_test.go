package plan_test

import (
	"slices"
	"testing"

	"gemm"
	"gemm/mpi/plan"
)

// cluster counts what ranks send and receive, call by call.
type cluster []plan.Traffic

func (c cluster) send(from, to, elements int) {
	if from == to || elements == 0 {
		return
	}
	c[from].Sent += int64(elements)
	c[from].Messages++
	c[to].Recv += int64(elements)
	c[to].Messages++
}

// call counts the rounds of a collective of the ranks, unless they have no elements.
func (c cluster) call(ranks []int, elements int) {
	rounds := int64(0)
	for reach := 1; reach < len(ranks); reach *= 2 {
		rounds++
	}
	for _, r := range ranks {
		if elements > 0 {
			c[r].Messages += rounds
		}
	}
}

func (c cluster) bcast(ranks []int, root, elements int) {
	if len(ranks) == 1 {
		return
	}
	c.call(ranks, elements)
	for _, r := range ranks {
		if r == root {
			c[r].Sent += int64(elements)
		} else {
			c[r].Recv += int64(elements)
		}
	}
}

// scatter counts the parts that root sends to the ranks; gather counts the opposite direction. Each
// range of columns is a call of its own; matrix rows have one width.
func (c cluster) scatter(ranks []int, root int, parts []int, calls int) {
	all := 0
	for i, r := range ranks {
		if all += parts[i]; r != root {
			c[root].Sent += int64(parts[i])
			c[r].Recv += int64(parts[i])
		}
	}
	for range calls {
		c.call(ranks, all)
	}
}

func (c cluster) gather(ranks []int, root int, parts []int, calls int) {
	all := 0
	for i, r := range ranks {
		if all += parts[i]; r != root {
			c[r].Sent += int64(parts[i])
			c[root].Recv += int64(parts[i])
		}
	}
	for range calls {
		c.call(ranks, all)
	}
}

// reduceScatter counts parts that every rank sends each other.
func (c cluster) reduceScatter(ranks, parts []int) {
	all := 0
	for i, to := range ranks {
		all += parts[i]
		for _, from := range ranks {
			if from != to {
				c[from].Sent += int64(parts[i])
				c[to].Recv += int64(parts[i])
			}
		}
	}
	c.call(ranks, all)
}

// fetch counts what one rank reads from another.
func (c cluster) fetch(rank, elements int) {
	if elements > 0 {
		c[rank].Recv += int64(elements)
		c[rank].Messages++
	}
}

// lengths returns the lengths of the parts of n, each multiplied by times.
func lengths(n, parts, times int) []int {
	var out []int
	for _, s := range plan.Spans(n, parts) {
		out = append(out, s.Len()*times)
	}
	return out
}

// kinds returns how many lengths but 0 there are.
func kinds(lengths []int) int {
	seen := map[int]bool{}
	for _, l := range lengths {
		if l > 0 {
			seen[l] = true
		}
	}
	return len(seen)
}

// spread returns the hosts of ranks that take turns.
func spread(ranks, hosts int) []int {
	out := make([]int, ranks)
	for r := range out {
		out[r] = r % hosts
	}
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// row and column return the ranks of a row and a column of a grid's layer, through those
// behind each other.
func row(g plan.Grid, i, l int) (out []int) {
	for j := range g.Q {
		out = append(out, g.Rank(i, j, l))
	}
	return out
}

func column(g plan.Grid, j, l int) (out []int) {
	for i := range g.P {
		out = append(out, g.Rank(i, j, l))
	}
	return out
}

func through(g plan.Grid, i, j int) (out []int) {
	for l := range g.C {
		out = append(out, g.Rank(i, j, l))
	}
	return out
}

// The variants, call by call. They are only run if there are terms.

func runP2P(s gemm.Shape, ranks int, works bool, panels []plan.Span, width int) cluster {
	c := make(cluster, ranks)
	workers := upTo(ranks)
	if !works && ranks > 1 {
		workers = workers[1:]
	}
	for i, w := range workers {
		rows := plan.Split(s.M, len(workers), i).Len()
		if rows == 0 {
			continue
		}
		for _, panel := range panels {
			c.send(0, w, rows*panel.Len())
			c.send(0, w, panel.Len()*s.N)
		}
		for _, piece := range plan.Chunks(rows, width) {
			c.send(w, 0, piece.Len()*s.N)
		}
	}
	return c
}

func runScatter(s gemm.Shape, g plan.Grid, hosts []int) cluster {
	c := make(cluster, g.Ranks())
	rows, cols := (s.M+g.P-1)/g.P, (s.N+g.Q-1)/g.Q
	atOf, downOf := map[int]map[int]bool{}, map[int]map[int]bool{}
	var heads []int
	at, down := 0, 0 // blocks of rows and of columns that the host with most needs
	for r, h := range hosts {
		i, j, _ := g.At(r)
		if atOf[h] == nil {
			heads, atOf[h], downOf[h] = append(heads, r), map[int]bool{}, map[int]bool{}
		}
		atOf[h][i], downOf[h][j] = true, true
		at, down = max(at, len(atOf[h])), max(down, len(downOf[h]))
	}
	there, back := make([]int, len(heads)), make([]int, g.Ranks())
	for n := range there {
		there[n] = at*rows*s.K + down*s.K*cols
	}
	for r := range back {
		back[r] = rows * cols
	}
	c.scatter(heads, 0, there, 1)
	c.gather(upTo(g.Ranks()), 0, back, 1)
	return c
}

func runGridBlocks(s gemm.Shape, ranks int, g plan.Grid) cluster {
	c := make(cluster, ranks)
	rows, cols := lengths(s.M, g.P, 1), lengths(s.N, g.Q, 1)
	c.scatter(column(g, 0, 0), 0, lengths(s.M, g.P, s.K), 1)
	c.scatter(row(g, 0, 0), 0, lengths(s.N, g.Q, s.K), kinds(cols))
	for i := range g.P {
		c.bcast(row(g, i, 0), g.Rank(i, 0, 0), rows[i]*s.K)
	}
	for j := range g.Q {
		c.bcast(column(g, j, 0), g.Rank(0, j, 0), s.K*cols[j])
	}
	for i := range g.P {
		c.gather(row(g, i, 0), g.Rank(i, 0, 0), lengths(s.N, g.Q, rows[i]), kinds(cols))
	}
	c.gather(column(g, 0, 0), 0, lengths(s.M, g.P, s.N), 1)
	return c
}

func runBcastRows(s gemm.Shape, hosts []int, width int) cluster {
	c, ranks := make(cluster, len(hosts)), len(hosts)
	if s.M*s.N*s.K == 0 {
		return c
	}
	c.scatter(upTo(ranks), 0, lengths(s.M, ranks, s.K), 1)
	var heads []int
	for r, h := range hosts {
		if !slices.Contains(hosts[:r], h) {
			heads = append(heads, r)
		}
	}
	for _, panel := range plan.Chunks(s.N, width) {
		c.bcast(heads, 0, s.K*panel.Len())
		for r := 1; r < ranks; r++ {
			c.send(r, 0, plan.Split(s.M, ranks, r).Len()*panel.Len())
		}
	}
	return c
}

func runLayers(s gemm.Shape, ranks int, g plan.Grid, width int) cluster {
	c := make(cluster, ranks)
	rows, cols := lengths(s.M, g.P, 1), lengths(s.N, g.Q, 1)
	for l := range g.C {
		for _, panel := range plan.Panels(plan.Split(s.K, g.C, l), g.P, g.Q, width) {
			for i := range g.P {
				c.bcast(row(g, i, l), g.Rank(i, panel.Col, l), rows[i]*panel.K.Len())
			}
			for j := range g.Q {
				c.bcast(column(g, j, l), g.Rank(panel.Row, j, l), panel.K.Len()*cols[j])
			}
		}
	}
	for i := range g.P {
		for j := range g.Q {
			c.reduceScatter(through(g, i, j), lengths(rows[i], g.C, cols[j]))
		}
	}
	return c
}

// runSrumma has every rank fetch what it has not got.
func runSrumma(s gemm.Shape, ranks int, g plan.Grid, width int) cluster {
	c := make(cluster, ranks)
	rows, cols := lengths(s.M, g.P, 1), lengths(s.N, g.Q, 1)
	for _, panel := range plan.Panels(plan.Span{Hi: s.K}, g.P, g.Q, width) {
		for r := range g.Ranks() {
			i, j, _ := g.At(r)
			if panel.Col != j {
				c.fetch(r, rows[i]*panel.K.Len())
			}
			if panel.Row != i {
				c.fetch(r, panel.K.Len()*cols[j])
			}
		}
	}
	return c
}

// runSrummaSent has the owners of panels send them to every rank that has not got them.
func runSrummaSent(s gemm.Shape, ranks int, g plan.Grid, width int) cluster {
	c := make(cluster, ranks)
	rows, cols := lengths(s.M, g.P, 1), lengths(s.N, g.Q, 1)
	for _, panel := range plan.Panels(plan.Span{Hi: s.K}, g.P, g.Q, width) {
		for r := range g.Ranks() {
			i, j, _ := g.At(r)
			if a := rows[i] * panel.K.Len(); panel.Col != j && a > 0 {
				c.send(g.Rank(i, panel.Col, 0), r, a)
			}
			if b := panel.K.Len() * cols[j]; panel.Row != i && b > 0 {
				c.send(g.Rank(panel.Row, j, 0), r, b)
			}
		}
	}
	return c
}

// runCannon follows the blocks: a rank holds those that it owns and those that it multiplies in a step.
// Each message must come from a rank that holds the block. In the end, all terms were computed once.
func runCannon(t *testing.T, s gemm.Shape, ranks int, g plan.Grid) (steps, skew cluster) {
	t.Helper()
	steps, skew = make(cluster, ranks), make(cluster, ranks)
	shifts := plan.Shifts{Grid: g, K: s.K}
	met := map[[3]int]bool{}
	for step := range shifts.Steps() {
		for r := range g.Ranks() {
			i, j, _ := g.At(r)
			block, count := shifts.Block(i, j, step), steps
			if step == 0 {
				count = skew
			}
			col, row := shifts.FromA(i, j, step), shifts.FromB(i, j, step)
			held := func(i, j, owner, at int) bool {
				return owner == at || step > 0 && shifts.Block(i, j, step-1) == block
			}
			if !held(i, col, block%g.Q, col) || !held(row, j, block%g.P, row) {
				t.Fatalf("%v, step %d: rank %d wants block %d from column %d and row %d, which lack it", g, step, r, block,
					col, row)
			}
			if g.P == g.Q && step > 0 && (col != j && col != (j+1)%g.Q || row != i && row != (i+1)%g.P) {
				t.Fatalf("%v, step %d: rank %d gets block %d from column %d and row %d, no neighbours", g, step, r, block, col, row)
			}
			depth := shifts.Depth(block).Len()
			count.send(g.Rank(i, col, 0), r, plan.Split(s.M, g.P, i).Len()*depth)
			count.send(g.Rank(row, j, 0), r, plan.Split(s.N, g.Q, j).Len()*depth)
			met[[3]int{i, j, block}] = true
		}
	}
	if len(met) != g.Ranks()*shifts.Steps() {
		t.Fatalf("%v: %d products of blocks, want %d", g, len(met), g.Ranks()*shifts.Steps())
	}
	return steps, skew
}

func same(t *testing.T, name string, got []plan.Traffic, want cluster) {
	t.Helper()
	if !slices.Equal(got, []plan.Traffic(want)) {
		t.Errorf("%s:\npredicted %v\n  counted %v", name, got, want)
	}
}

// TestTraffic recounts each variant call by call on all grids of 1 to 64 ranks, with two
// ranks to spare.
func TestTraffic(t *testing.T) {
	for _, s := range shapes {
		for ranks := 1; ranks <= 64 && !t.Failed(); ranks++ {
			for _, works := range []bool{false, true} {
				same(t, "p2p-rows", plan.P2PRows(s, ranks, works), runP2P(s, ranks, works, plan.Spans(s.K, 1), max(s.M, 1)))
				for _, width := range []int{1, 7, 1000} {
					same(t, "p2p-rows-overlap", plan.P2PRowsOverlap(s, ranks, works, width),
						runP2P(s, ranks, works, plan.Growing(s.K, width), width))
				}
			}
			same(t, "scatter-rows", plan.ScatterRows(s, ranks), runScatter(s, plan.Grid{P: ranks, Q: 1, C: 1}, upTo(ranks)))
			for _, width := range []int{1, 7, 1000} {
				for _, hosts := range [][]int{upTo(ranks), make([]int, ranks), spread(ranks, 3)} {
					same(t, "bcast-rows", plan.BcastRows(s, hosts, width), runBcastRows(s, hosts, width))
				}
			}
			for _, g := range grids(ranks, 1) {
				for _, hosts := range [][]int{upTo(ranks), make([]int, ranks), spread(ranks, 3)} {
					same(t, "scatter-blocks "+g.String(), plan.ScatterBlocks(s, plan.InOrder(g), hosts), runScatter(s, g, hosts))
				}
				same(t, "grid-blocks "+g.String(), plan.GridBlocks(s, ranks+2, g), runGridBlocks(s, ranks+2, g))
				for _, width := range []int{1, 7, 1000} {
					same(t, "summa "+g.String(), plan.Summa(s, ranks+2, g, width), runLayers(s, ranks+2, g, width))
					same(t, "srumma "+g.String(), plan.Srumma(s, ranks+2, g, width), runSrumma(s, ranks+2, g, width))
					same(t, "srumma, sent "+g.String(), plan.SrummaSent(s, ranks+2, g, width), runSrummaSent(s, ranks+2, g, width))
				}
			}
			for layers := 1; layers <= ranks; layers++ {
				for _, g := range grids(ranks, layers) {
					same(t, "25d "+g.String(), plan.Layers(s, ranks+2, g, 7), runLayers(s, ranks+2, g, 7))
				}
			}
			for _, g := range grids(ranks, 1) {
				steps, skew := plan.Cannon(s, ranks+2, g)
				wantSteps, wantSkew := runCannon(t, s, ranks+2, g)
				same(t, "cannon "+g.String(), steps, wantSteps)
				same(t, "cannon's skew "+g.String(), skew, wantSkew)
			}
		}
	}
}

// TestSummaElements recounts, element by element, what each rank of summa is missing.
func TestSummaElements(t *testing.T) {
	for _, s := range shapes[:4] {
		for _, g := range []plan.Grid{{P: 1, Q: 1, C: 1}, {P: 2, Q: 3, C: 1}, {P: 4, Q: 1, C: 1}, {P: 3, Q: 5, C: 1},
			{P: 8, Q: 8, C: 1}} {
			for r, got := range plan.Summa(s, g.Ranks(), g, 3) {
				i, j, _ := g.At(r)
				missing := int64(0)
				for x := range s.K {
					for m := range s.M {
						if plan.Owner(s.M, g.P, m) == i && plan.Owner(s.K, g.Q, x) != j {
							missing++
						}
					}
					for n := range s.N {
						if plan.Owner(s.N, g.Q, n) == j && plan.Owner(s.K, g.P, x) != i {
							missing++
						}
					}
				}
				if got.Recv != missing {
					t.Errorf("%v on %v: rank %d receives %d, is missing %d", s, g, r, got.Recv, missing)
				}
			}
		}
	}
}

// TestTrafficByHand has sums that were done on paper.
func TestTrafficByHand(t *testing.T) {
	s := gemm.Shape{M: 5, N: 3, K: 4}
	square := plan.Grid{P: 2, Q: 2, C: 1}
	steps, skew := plan.Cannon(s, 4, square)
	for _, c := range []struct {
		name      string
		got, want []plan.Traffic
	}{
		// A 5×4, B 4×3. Two workers have 3 and 2 rows: 12 + 12 and 8 + 12 there, 9 and 6 back.
		{"p2p-rows", plan.P2PRows(s, 3, false), []plan.Traffic{{44, 15, 6}, {9, 24, 3}, {6, 20, 3}}},
		// Three workers have 2, 2 and 1 rows, the first of them on rank 0.
		{"p2p-rows, master works", plan.P2PRows(s, 3, true), []plan.Traffic{{36, 9, 6}, {6, 20, 3}, {3, 16, 3}}},
		{"p2p-rows-overlap", plan.P2PRowsOverlap(s, 3, true, 2), []plan.Traffic{{36, 9, 14}, {6, 20, 7}, {3, 16, 7}}},
		// Alone the master works, and of 1 row two of three workers have none.
		{"p2p-rows, one rank", plan.P2PRows(s, 1, false), []plan.Traffic{{}}},
		{"p2p-rows, one row", plan.P2PRows(gemm.Shape{M: 1, N: 2, K: 3}, 4, false),
			[]plan.Traffic{{9, 2, 3}, {2, 9, 3}, {}, {}}},
		// 2 padded rows a rank: 8 + 12 there, 6 back.
		{"scatter-rows", plan.ScatterRows(s, 3), []plan.Traffic{{40, 12, 4}, {6, 20, 4}, {6, 20, 4}}},
		// 3 padded rows and 2 padded columns: 12 + 8 there, 6 back.
		{"scatter-blocks", plan.ScatterBlocks(s, plan.InOrder(square), upTo(4)),
			[]plan.Traffic{{60, 18, 4}, {6, 20, 4}, {6, 20, 4}, {6, 20, 4}}},
		// The rows of the grid are hosts: rank 2 gets A₁ 12, B₀ 8 and B₁ 8.
		{"scatter-blocks, two hosts", plan.ScatterBlocks(s, plan.InOrder(square), []int{0, 0, 1, 1}),
			[]plan.Traffic{{28, 18, 3}, {6, 0, 2}, {6, 28, 3}, {6, 0, 2}}},
		// Rows 3 + 2, columns 2 + 1. Rank 0 sends A₁ 8, B₁ 4, A₀ 12, B₀ 8, and gets C₀₁ 3 and
		// C₁ 6. Rank 1 gets B₁ 4 and A₀ 12, sends B₁ 4 and C₀₁ 3. Rank 2 gets A₁ 8, B₀ 8, C₁₁ 2,
		// sends A₁ 8 and C₁ 6. Rank 3 gets A₁ 8 and B₁ 4, sends C₁₁ 2. Columns take two calls.
		{"grid-blocks", plan.GridBlocks(s, 4, square), []plan.Traffic{{32, 9, 8}, {7, 16, 6}, {14, 18, 6}, {2, 12, 4}}},
		// Rows 2, 2, 1: rank 0 sends 8 + 4 and B 12, gets 6 + 3. Two panels of B: each takes two rounds, and
		// returns a message from each rank.
		{"bcast-rows", plan.BcastRows(s, upTo(3), 2), []plan.Traffic{{24, 9, 10}, {6, 20, 8}, {3, 16, 8}}},
		// Ranks 0 and 1 share a copy: rank 2 alone gets B, in one round a panel.
		{"bcast-rows, two hosts", plan.BcastRows(s, []int{0, 0, 1}, 2), []plan.Traffic{{24, 9, 8}, {6, 8, 4}, {3, 16, 6}}},
		// The halves of k have length 2. Rank 0 receives 3×2 elements of A and 2×2 of B, and sends as
		// many: one panel of each half.
		{"summa", plan.Summa(s, 4, square, 2), []plan.Traffic{{10, 10, 4}, {8, 8, 4}, {8, 8, 4}, {6, 6, 4}}},
		{"summa, narrow panels", plan.Summa(s, 4, square, 1), []plan.Traffic{{10, 10, 8}, {8, 8, 8}, {8, 8, 8}, {6, 6, 8}}},
		// Columns of A 2, 1, 1; rows of B 2, 2: three panels. Rank 0 has 3 rows and 1 column of C.
		{"summa 2x3", plan.Summa(s, 6, plan.Grid{P: 2, Q: 3, C: 1}, 9)[:3],
			[]plan.Traffic{{6 + 2, 6 + 2, 9}, {3 + 2, 9 + 2, 9}, {3 + 2, 9 + 2, 9}}},
		// Rank 0 gets A₀₁ 6 and B₁₀ 4. Ranks 1 and 2 own one block of step 1 and get A₀₀ 6 and B₀₀ 4;
		// rank 3 owns both.
		{"cannon", steps, []plan.Traffic{{10, 10, 4}, {6, 6, 2}, {4, 4, 2}, {}}},
		// Row 1 of A, 2×2 blocks, and column 1 of B, 2×1 blocks, change places.
		{"cannon's skew", skew, []plan.Traffic{{}, {2, 2, 2}, {4, 4, 2}, {6, 6, 4}}},
		// Each layer computes all of C, of 5 rows of 3: it keeps 3 and 2.
		{"25d 1x1x2", plan.Layers(s, 2, plan.Grid{P: 1, Q: 1, C: 2}, 9), []plan.Traffic{{6, 9, 1}, {9, 6, 1}}},
		// In layer 0, of k = 2, columns of A 1 and 1: rank 0 gets 5 and sends 5. Columns of C
		// 2 and 1, rows kept 3 and 2: rank 0 sends 4 and gets 6.
		{"25d 1x2x2", plan.Layers(s, 4, plan.Grid{P: 1, Q: 2, C: 2}, 9),
			[]plan.Traffic{{9, 11, 3}, {7, 8, 3}, {11, 9, 3}, {8, 7, 3}}},
	} {
		same(t, c.name, c.got, c.want)
	}
}

// every returns the predictions for ranks and shapes.
func every(s gemm.Shape, ranks int) map[string][]plan.Traffic {
	near := plan.Near(ranks, s)
	steps, skew := plan.Cannon(s, ranks, near)
	return map[string][]plan.Traffic{
		"p2p-rows": plan.P2PRows(s, ranks, false), "p2p-rows, master works": plan.P2PRows(s, ranks, true),
		"p2p-rows-overlap": plan.P2PRowsOverlap(s, ranks, true, 5), "scatter-rows": plan.ScatterRows(s, ranks),
		"scatter-blocks": plan.ScatterBlocks(s, plan.InOrder(near), upTo(ranks)), "grid-blocks": plan.GridBlocks(s, ranks, near),
		"bcast-rows": plan.BcastRows(s, upTo(ranks), 5), "summa": plan.Summa(s, ranks, near, 5),
		"srumma":       plan.Srumma(s, ranks, near, 5),
		"srumma, sent": plan.SrummaSent(s, ranks, near, 5), "cannon": steps, "cannon's skew": skew,
		"25d": plan.Layers(s, ranks, plan.Layered(ranks, s, 0, 0), 5),
	}
}

// TestNothingMoves: of one rank, and of products without terms.
func TestNothingMoves(t *testing.T) {
	check := func(s gemm.Shape, ranks int) {
		for name, all := range every(s, ranks) {
			if len(all) != ranks {
				t.Errorf("%s: %d ranks, want %d", name, len(all), ranks)
			}
			for r, x := range all {
				if x != (plan.Traffic{}) {
					t.Errorf("%s of %v on %d: rank %d has %+v", name, s, ranks, r, x)
				}
			}
		}
	}
	for _, s := range shapes {
		check(s, 1)
	}
	for ranks := 1; ranks <= 64; ranks++ {
		for _, s := range []gemm.Shape{{}, {M: 0, N: 5, K: 5}, {M: 5, N: 0, K: 5}, {M: 5, N: 5, K: 0}} {
			check(s, ranks)
		}
	}
}

// TestSentIsReceived: if nothing is broadcast, all that is sent is received once.
func TestSentIsReceived(t *testing.T) {
	once := []string{"p2p-rows", "p2p-rows, master works", "p2p-rows-overlap", "scatter-rows", "scatter-blocks", "cannon",
		"cannon's skew"}
	for _, s := range shapes {
		for ranks := 1; ranks <= 64; ranks++ {
			for name, all := range every(s, ranks) {
				var sent, recv int64
				for _, x := range all {
					sent, recv = sent+x.Sent, recv+x.Recv
				}
				if sent > recv || slices.Contains(once, name) && sent != recv {
					t.Errorf("%s of %v on %d: %d sent, %d received", name, s, ranks, sent, recv)
				}
			}
			var sent, recv int64
			for _, x := range plan.Layers(s, ranks, plan.Grid{P: 1, Q: 1, C: ranks}, 5) {
				sent, recv = sent+x.Sent, recv+x.Recv
			}
			if sent != recv {
				t.Errorf("25d of layers alone, %v on %d: %d sent, %d received", s, ranks, sent, recv)
			}
		}
	}
}
