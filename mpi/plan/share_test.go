package plan_test

import (
	"testing"

	"gemm/mpi/plan"
)

func TestShares(t *testing.T) {
	s := plan.Shape{M: 1200, N: 600, K: 100}
	if got, want := plan.RowShare(s, 6), (plan.Share{Data: 20000 + 60000, Work: 24e6}); got != want {
		t.Errorf("RowShare = %+v, want %+v", got, want)
	}
	if got, want := plan.BlockShare(s, plan.Grid{P: 2, Q: 3, C: 1}), (plan.Share{Data: 60000 + 20000, Work: 24e6}); got != want {
		t.Errorf("BlockShare = %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		s    plan.Shape
		p, q int
		want bool
	}{
		{plan.Shape{M: 100, N: 100, K: 100}, 2, 2, true},
		{plan.Shape{M: 100, N: 100, K: 100}, 4, 1, false}, // condition 6: the same
		{plan.Shape{M: 100, N: 100, K: 100}, 1, 4, false}, // the same by symmetry
		{plan.Shape{M: 1000, N: 100, K: 100}, 2, 2, false},
		{plan.Shape{M: 1000, N: 100, K: 100}, 11, 2, true},
		{plan.Shape{M: 1000, N: 100, K: 0}, 11, 2, false},
	} {
		if got := plan.BlocksWin(c.s, plan.Grid{P: c.p, Q: c.q, C: 1}); got != c.want {
			t.Errorf("BlocksWin(%v, %dx%d) = %v", c.s, c.p, c.q, got)
		}
	}
	for _, s := range shapes {
		for ranks := 1; ranks <= 64; ranks++ {
			for _, g := range grids(ranks, 1) {
				rows, blocks := plan.RowShare(s, ranks), plan.BlockShare(s, g)
				if !near(rows.Work, blocks.Work) {
					t.Errorf("%v on %v: work %v in rows, %v in blocks", s, g, rows.Work, blocks.Work)
				}
				if got := plan.BlocksWin(s, g); got != (blocks.Data < rows.Data && !near(blocks.Data, rows.Data)) {
					t.Errorf("BlocksWin(%v, %v) = %v: %v in rows, %v in blocks", s, g, got, rows.Data, blocks.Data)
				}
			}
		}
	}
}

// TestSharesAreSent: the data of a share is what scatter-rows and scatter-blocks send a
// rank where all divides.
func TestSharesAreSent(t *testing.T) {
	for ranks := 2; ranks <= 64; ranks++ {
		for _, s := range even(ranks) {
			if got, want := plan.ScatterRows(s, ranks)[1].Recv, plan.RowShare(s, ranks).Data; !near(float64(got), want) {
				t.Errorf("scatter-rows of %v on %d: %d received, share %v", s, ranks, got, want)
			}
			for _, g := range grids(ranks, 1) {
				if got, want := plan.ScatterBlocks(s, ranks, g)[1].Recv, plan.BlockShare(s, g).Data; !near(float64(got), want) {
					t.Errorf("scatter-blocks of %v on %v: %d received, share %v", s, g, got, want)
				}
			}
		}
	}
}
