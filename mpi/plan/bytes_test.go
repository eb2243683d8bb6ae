package plan_test

import (
	"slices"
	"testing"

	"gemm"
	"gemm/mpi/plan"
)

// count is what a rank sends and receives.
type count plan.Counts

// spread returns the hosts of ranks that take turns.
func spread(ranks, hosts int) []int {
	out := make([]int, ranks)
	for r := range out {
		out[r] = r % hosts
	}
	return out
}

// TestCannonSteps follows the blocks on all grids of 1 to 36 ranks: a rank holds those that it owns and the block that
// it multiplies in a step. Each message must come from a rank that holds the block, and in the end all products of
// blocks have been computed once. The schedule has these messages.
func TestCannonSteps(t *testing.T) {
	for _, s := range shapes {
		for ranks := 1; ranks <= 36 && !t.Failed(); ranks++ {
			for _, g := range grids(ranks, 1) {
				gotSteps, gotSkew := plan.Cannon(s, oneHost(ranks+2), g)
				steps, skew := runCannon(t, s, ranks+2, g)
				same(t, "cannon "+g.String(), flows(gotSteps), flows(plan.Schedule{Hosts: gotSteps.Hosts,
					Steps: []plan.Step{{Traffic: steps.Traffic}}}))
				same(t, "cannon's skew "+g.String(), flows(gotSkew), flows(plan.Schedule{Hosts: gotSkew.Hosts,
					Steps: []plan.Step{{Traffic: skew.Traffic}}}))
			}
		}
	}
}

func runCannon(t *testing.T, s gemm.Shape, ranks int, g plan.Grid) (steps, skew plan.Calls) {
	t.Helper()
	steps, skew = plan.NewCalls(oneHost(ranks)), plan.NewCalls(oneHost(ranks))
	shifts := plan.Shifts{Grid: g, K: s.K}
	met := map[[3]int]bool{}
	for step := range shifts.Steps() {
		for r := range g.Ranks() {
			i, j, _ := g.At(r)
			block, calls := shifts.Block(i, j, step), steps
			if step == 0 {
				calls = skew
			}
			col, row := shifts.FromA(i, j, step), shifts.FromB(i, j, step)
			held := func(i, j, owner, at int) bool {
				return owner == at || step > 0 && shifts.Block(i, j, step-1) == block
			}
			if !held(i, col, block%g.Q, col) || !held(row, j, block%g.P, row) {
				t.Fatalf("%v, step %d: rank %d wants block %d from column %d and row %d, which lack it",
					g, step, r, block, col, row)
			}
			if g.P == g.Q && step > 0 && (col != j && col != (j+1)%g.Q || row != i && row != (i+1)%g.P) {
				t.Fatalf("%v, step %d: rank %d gets block %d from column %d and row %d, no neighbours",
					g, step, r, block, col, row)
			}
			depth := shifts.Depth(block).Len()
			calls.Send(g.Rank(i, col, 0), r, int64(plan.Split(s.M, g.P, i).Len()*depth))
			calls.Send(g.Rank(row, j, 0), r, int64(plan.Split(s.N, g.Q, j).Len()*depth))
			met[[3]int{i, j, block}] = true
		}
	}
	if len(met) != g.Ranks()*shifts.Steps() {
		t.Fatalf("%v: %d products of blocks, want %d", g, len(met), g.Ranks()*shifts.Steps())
	}
	return steps, skew
}

// flows returns the traffic of the ranks on both paths together.
func flows(s plan.Schedule) []count {
	var out []count
	for _, t := range s.Traffic() {
		out = append(out, count(t.Total()))
	}
	return out
}

func same(t *testing.T, name string, got, want []count) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\npredicted %v\n  counted %v", name, got, want)
	}
}

// TestClosedForms compares the traffic of a rank with its closed form, for an n×n×n product on p×p×c grids that divide
// it: elements, and messages where ⌈log₂ ranks⌉ of a broadcast is not rounded. The forms are textbook ones and share no
// code with the plan.
func TestClosedForms(t *testing.T) {
	const n, width = 256, 4
	sum := func(all ...count) (total count) {
		for _, x := range all {
			total.Sent, total.Recv, total.Messages = total.Sent+x.Sent, total.Recv+x.Recv, total.Messages+x.Messages
		}
		return total
	}
	s := gemm.Cube(n)
	for _, p := range []int64{1, 2, 4, 8} {
		log := map[int64]int64{1: 0, 2: 1, 4: 2, 8: 3}
		block, panels := n*n/(p*p), n/int64(width)
		g := plan.Grid{P: int(p), Q: int(p), C: 1}
		hosts := oneHost(g.Ranks())
		// Every rank needs the others' blocks of its row of A and of its column of B.
		needed := 2 * (p - 1) * block
		for r, x := range flows(plan.Summa(s, hosts, g, width)) {
			if want := (count{2 * block * min(p-1, 1), needed, 2 * panels * log[p]}); x != want {
				t.Errorf("summa %v: rank %d has %v, want %v", g, r, x, want)
			}
		}
		for r, x := range flows(plan.Srumma(s, hosts, g, width)) {
			if want := (count{0, needed, 2 * (panels - panels/p)}); x != want {
				t.Errorf("srumma %v: rank %d has %v, want %v", g, r, x, want)
			}
		}
		// Cannon: p products of blocks a rank, of which one block of A and one of B is its own.
		steps, skew := plan.Cannon(s, hosts, g)
		moved := flows(skew.Then(steps))
		for r, x := range moved {
			if x.Recv != needed {
				t.Errorf("cannon %v: rank %d receives %d, want %d", g, r, x.Recv, needed)
			}
		}
		// Row i of the skew shifts A by i columns, except row 0, and column j shifts B by j rows.
		ranks := p * p
		if got, want := sum(flows(skew)...), 2*p*(p-1)*block; got.Sent != want || got.Recv != want {
			t.Errorf("cannon's skew %v moves %v, want %d", g, got, want)
		}
		if got, want := sum(moved...), (count{ranks * needed, ranks * needed, 4 * ranks * (p - 1)}); got != want {
			t.Errorf("cannon %v moves %v, want %v", g, got, want)
		}
		// 25d: each layer multiplies 1/c of k, and then every rank sends every other layer its part of C.
		for _, c := range []int64{1, 2, 4} {
			deep := plan.Grid{P: int(p), Q: int(p), C: int(c)}
			part := block / c
			for r, x := range flows(plan.Layers(s, oneHost(deep.Ranks()), deep, width)) {
				want := count{2*part*min(p-1, 1) + (c-1)*part, 2*(p-1)*part + (c-1)*part, 2*panels/c*log[p] + log[c]}
				if x != want {
					t.Errorf("25d %v: rank %d has %v, want %v", deep, r, x, want)
				}
			}
		}
		// Rank 0 distributes and collects: rows of A and all of B, or rows of A and columns of B.
		rows := flows(plan.P2PRows(s, hosts, true))
		blocks := flows(plan.ScatterBlocks(s, plan.InOrder(g), hosts))
		for name, x := range map[string][3]int64{"p2p-rows": {rows[0].Sent, rows[0].Recv, n*n/ranks + n*n},
			"scatter-blocks": {blocks[0].Sent, blocks[0].Recv, 2 * n * n / p}} {
			if x[0] != (ranks-1)*x[2] || x[1] != (ranks-1)*n*n/ranks {
				t.Errorf("%s on %d ranks: rank 0 sends %d and receives %d", name, ranks, x[0], x[1])
			}
		}
		for name, schedule := range schedules(s, hosts) {
			if all := sum(flows(schedule)...); all.Sent > all.Recv {
				t.Errorf("%s on %d ranks: %d sent, %d received", name, ranks, all.Sent, all.Recv)
			}
		}
	}
}

// TestTrafficByHand has sums that were done on paper.
func TestTrafficByHand(t *testing.T) {
	s := gemm.Shape{M: 5, N: 3, K: 4}
	square := plan.Grid{P: 2, Q: 2, C: 1}
	steps, skew := plan.Cannon(s, oneHost(4), square)
	for _, c := range []struct {
		name      string
		got, want []count
	}{
		// A 5×4, B 4×3. Two workers have 3 and 2 rows: 12 + 12 and 8 + 12 there, 9 and 6 back.
		{"p2p-rows", flows(plan.P2PRows(s, oneHost(3), false)), []count{{44, 15, 6}, {9, 24, 3}, {6, 20, 3}}},
		// Three workers have 2, 2 and 1 rows, the first of them on rank 0.
		{"p2p-rows, master works", flows(plan.P2PRows(s, oneHost(3), true)),
			[]count{{36, 9, 6}, {6, 20, 3}, {3, 16, 3}}},
		{"p2p-rows-overlap", flows(plan.P2PRowsOverlap(s, oneHost(3), true, 2)),
			[]count{{36, 9, 14}, {6, 20, 7}, {3, 16, 7}}},
		// Alone the master works, and of 1 row two of three workers have none.
		{"p2p-rows, one rank", flows(plan.P2PRows(s, oneHost(1), false)), []count{{}}},
		{"p2p-rows, one row", flows(plan.P2PRows(gemm.Shape{M: 1, N: 2, K: 3}, oneHost(4), false)),
			[]count{{9, 2, 3}, {2, 9, 3}, {}, {}}},
		// 2 padded rows a rank: 8 + 12 there, 6 back.
		{"scatter-rows", flows(plan.ScatterRows(s, oneHost(3))), []count{{40, 12, 4}, {6, 20, 4}, {6, 20, 4}}},
		// 3 padded rows and 2 padded columns: 12 + 8 there, 6 back.
		{"scatter-blocks", flows(plan.ScatterBlocks(s, plan.InOrder(square), oneHost(5))),
			[]count{{60, 18, 4}, {6, 20, 4}, {6, 20, 4}, {6, 20, 4}, {}}},
		// The rows of the grid share blocks: rank 2 gets A₁ 8, B₀ 8 and B₁ 4. In two bands, B₀ and C₀ are cut in
		// halves, and B₁ and C₁, of one column, are not.
		{"scatter-blocks by hosts", flows(plan.HostBlocks(s, plan.InOrder(square), oneHost(4),
			[]int{0, 0, 1, 1}, 2)),
			[]count{{20, 3 + 4 + 2, 1 + 3 + 1 + 2 + 1}, {3, 0, 1}, {4, 20, 4 + 2}, {2, 0, 1}}},
		// Rows 3 + 2, columns 2 + 1. Rank 0 sends A₁ 8, B₁ 4, A₀ 12, B₀ 8, and gets C₀₁ 3 and
		// C₁ 6. Rank 1 gets B₁ 4 and A₀ 12, sends B₁ 4 and C₀₁ 3. Rank 2 gets A₁ 8, B₀ 8, C₁₁ 2,
		// sends A₁ 8 and C₁ 6. Rank 3 gets A₁ 8 and B₁ 4, sends C₁₁ 2. Columns take two calls.
		{"grid-blocks", flows(plan.GridBlocks(s, oneHost(4), square)),
			[]count{{32, 9, 8}, {7, 16, 6}, {14, 18, 6}, {2, 12, 4}}},
		// Rows 2, 2, 1: rank 0 sends 8 + 4 and B 12, gets 6 + 3. Two panels of B: each takes two rounds, and
		// returns a message from each rank.
		{"bcast-rows", flows(plan.BcastRows(s, oneHost(3), plan.UpTo(3), 2)),
			[]count{{24, 9, 10}, {6, 20, 8}, {3, 16, 8}}},
		// Ranks 0 and 1 share a copy: rank 2 alone gets B, in one round a panel.
		{"bcast-rows, two copies", flows(plan.BcastRows(s, oneHost(3), []int{0, 0, 1}, 2)),
			[]count{{24, 9, 8}, {6, 8, 4}, {3, 16, 6}}},
		// The halves of k have length 2. Rank 0 receives 3×2 elements of A and 2×2 of B, and sends as
		// many: one panel of each half.
		{"summa", flows(plan.Summa(s, oneHost(4), square, 2)),
			[]count{{10, 10, 4}, {8, 8, 4}, {8, 8, 4}, {6, 6, 4}}},
		{"summa, narrow panels", flows(plan.Summa(s, oneHost(4), square, 1)),
			[]count{{10, 10, 8}, {8, 8, 8}, {8, 8, 8}, {6, 6, 8}}},
		// Columns of A 2, 1, 1; rows of B 2, 2: three panels. Rank 0 has 3 rows and 1 column of C.
		{"summa 2x3", flows(plan.Summa(s, oneHost(6), plan.Grid{P: 2, Q: 3, C: 1}, 9))[:3],
			[]count{{6 + 2, 6 + 2, 9}, {3 + 2, 9 + 2, 9}, {3 + 2, 9 + 2, 9}}},
		// Rank 0 gets A₀₁ 6 and B₁₀ 4. Ranks 1 and 2 own one block of step 1 and get A₀₀ 6 and B₀₀ 4;
		// rank 3 owns both.
		{"cannon", flows(steps), []count{{10, 10, 4}, {6, 6, 2}, {4, 4, 2}, {}}},
		// Row 1 of A, 2×2 blocks, and column 1 of B, 2×1 blocks, change places.
		{"cannon's skew", flows(skew), []count{{}, {2, 2, 2}, {4, 4, 2}, {6, 6, 4}}},
		// Each layer computes all of C, of 5 rows of 3: it keeps 3 and 2.
		{"25d 1x1x2", flows(plan.Layers(s, oneHost(2), plan.Grid{P: 1, Q: 1, C: 2}, 9)),
			[]count{{6, 9, 1}, {9, 6, 1}}},
		// In layer 0, of k = 2, columns of A 1 and 1: rank 0 gets 5 and sends 5. Columns of C
		// 2 and 1, rows kept 3 and 2: rank 0 sends 4 and gets 6.
		{"25d 1x2x2", flows(plan.Layers(s, oneHost(4), plan.Grid{P: 1, Q: 2, C: 2}, 9)),
			[]count{{9, 11, 3}, {7, 8, 3}, {11, 9, 3}, {8, 7, 3}}},
	} {
		same(t, c.name, c.got, c.want)
	}
}

// TestNothingMoves: of one rank.
func TestNothingMoves(t *testing.T) {
	for _, s := range shapes {
		for name, schedule := range schedules(s, oneHost(1)) {
			if got := flows(schedule); !slices.Equal(got, []count{{}}) {
				t.Errorf("%s of %v: %+v", name, s, got)
			}
		}
	}
}
