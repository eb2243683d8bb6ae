package plan_test

import (
	"math"
	"testing"

	"gemm"
	"gemm/mpi/plan"
)

// near says that two numbers agree but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

// even returns a shape of each of the three cases that every grid of that many ranks divides.
func even(ranks int) []gemm.Shape {
	n := ranks * ranks
	return []gemm.Shape{
		{M: n, N: n, K: n}, {M: 8 * n, N: n, K: n}, {M: n, N: 64 * n, K: n}, {M: 8 * n, N: 8 * n, K: n},
		{M: n, N: n, K: 32 * n}, {M: 20 * n, N: n, K: 3 * n}, {M: 100 * n, N: 2 * n, K: 9 * n},
	}
}

func TestTouchedCases(t *testing.T) {
	long := gemm.Shape{M: 1600, N: 100, K: 10}
	for _, c := range []struct {
		s        gemm.Shape
		fraction float64
		want     float64
	}{
		{gemm.Cube(64), 1, 3 * 64 * 64},
		{gemm.Cube(64), 1.0 / 8, 3 * 32 * 32},
		{long, 1, 1600*100 + 1600*10 + 100*10},
		{long, 1.0 / 16, (1600*100+1600*10)/16.0 + 100*10},
		{long, 1.0 / 64, 2*math.Sqrt(1600*100*10*10/64.0) + 1600*100/64.0},
		{long, 1.0 / 1600, 2*100 + 100},
		{long, 1.0 / (1600 * 8), 3 * math.Pow(1600*100*10/12800.0, 2.0/3)},
		{long, 0, 0}, {gemm.Shape{M: 0, N: 3, K: 3}, 1, 0}, {gemm.Shape{M: 3, N: 3, K: 0}, 0.5, 0},
	} {
		if got := plan.Touched(c.s, c.fraction); !near(got, c.want) {
			t.Errorf("Touched(%v, %v) = %v, want %v", c.s, c.fraction, got, c.want)
		}
		turned := gemm.Shape{M: c.s.K, N: c.s.M, K: c.s.N}
		if a, b := plan.Touched(c.s, c.fraction), plan.Touched(turned, c.fraction); a != b {
			t.Errorf("Touched(%v) = %v, Touched(%v) = %v", c.s, a, turned, b)
		}
	}
}

// TestTouchedIsLeast searches for the least sum under the constraints.
func TestTouchedIsLeast(t *testing.T) {
	const points = 200
	for _, s := range append(even(5), shapes...) {
		m, n, k := float64(s.M), float64(s.N), float64(s.K)
		for _, f := range []float64{1.0 / 1000, 1.0 / 64, 1.0 / 9, 0.3, 0.5, 0.75, 63.0 / 64, 1} {
			terms := f * m * n * k
			least := math.Inf(1)
			for a := range points + 1 {
				for b := range points + 1 {
					x := m * k * math.Pow(f, float64(a)/points)
					y := k * n * math.Pow(f, float64(b)/points)
					z := math.Max(f*m*n, terms*terms/(x*y))
					least = math.Min(least, x+y+z)
				}
			}
			if got := plan.Touched(s, f); !(got <= least*(1+1e-9)) || !(got >= 0.995*least) {
				t.Errorf("Touched(%v, %v) = %v, the least found is %v", s, f, got, least)
			}
		}
	}
}

// TestBoundDistributed: no variant with spread operands receives less than the bound.
func TestBoundDistributed(t *testing.T) {
	for ranks := 1; ranks <= 36; ranks++ {
		for _, s := range even(ranks) {
			bound := plan.BoundDistributed(s, ranks)
			if !(bound >= 0) || ranks == 1 && bound != 0 || ranks > 1 && bound == 0 {
				t.Errorf("%v on %d: bound %v", s, ranks, bound)
			}
			check := func(name string, all []count) {
				if got := float64(worst(all)); !(bound <= got*(1+1e-9)) {
					t.Errorf("%s of %v on %d receives %v, the bound is %v", name, s, ranks, got, bound)
				}
			}
			for layers := 1; layers <= ranks; layers++ {
				for _, g := range grids(ranks, layers) {
					check("25d "+g.String(), flows(plan.Layers(s, oneHost(ranks), g, 100)))
				}
			}
			for _, g := range grids(ranks, 1) {
				check("summa "+g.String(), flows(plan.Summa(s, oneHost(ranks), g, 100)))
				steps, _ := plan.Cannon(s, oneHost(ranks), g)
				check("cannon "+g.String(), flows(steps))
			}
		}
	}
}

// TestCloseToBound: on cubes the variants with spread operands receive little more.
func TestCloseToBound(t *testing.T) {
	for _, ranks := range []int{4, 8, 9, 16} {
		s := even(ranks)[0]
		steps, _ := plan.Cannon(s, oneHost(ranks), plan.Squarest(ranks, s))
		for name, all := range map[string][]count{
			"summa": flows(plan.Summa(s, oneHost(ranks), plan.Squarest(ranks, s), 100)), "cannon": flows(steps),
			"25d": flows(plan.Layers(s, oneHost(ranks), plan.Layered(ranks, s, 0, 0), 100)),
		} {
			if ratio := float64(worst(all)) / plan.BoundDistributed(s, ranks); !(ratio <= 1.35) {
				t.Errorf("%s on %d receives %.3f times the bound", name, ranks, ratio)
			}
		}
	}
	s := even(8)[0]
	all := flows(plan.Layers(s, oneHost(8), plan.Layered(8, s, 0, 0), 100))
	if got := float64(worst(all)); !near(got, plan.BoundDistributed(s, 8)) {
		t.Errorf("25d on 2x2x2 receives %v, and attains the bound %v", got, plan.BoundDistributed(s, 8))
	}
}

// TestBoundRooted: no variant with operands on rank 0 sends and receives less there.
func TestBoundRooted(t *testing.T) {
	check := func(name string, s gemm.Shape, ranks int, all []count, works bool) {
		t.Helper()
		bound := plan.BoundRooted(s, ranks, works)
		if got := float64(all[0].Sent + all[0].Recv); !(bound <= got*(1+1e-9)) {
			t.Errorf("%s of %v on %d: rank 0 moves %v, the bound is %v", name, s, ranks, got, bound)
		}
	}
	for ranks := 1; ranks <= 64; ranks++ {
		for _, s := range even(ranks) {
			check("p2p-rows, master works", s, ranks, flows(plan.P2PRows(s, oneHost(ranks), true)), true)
			check("scatter-rows", s, ranks, flows(plan.ScatterRows(s, oneHost(ranks))), true)
			check("bcast-rows", s, ranks, flows(plan.BcastRows(s, oneHost(ranks), plan.UpTo(ranks), 100)), true)
			for _, g := range grids(ranks, 1) {
				check("scatter-blocks", s, ranks,
					flows(plan.ScatterBlocks(s, plan.InOrder(g), oneHost(ranks))), true)
				check("grid-blocks", s, ranks, flows(plan.GridBlocks(s, oneHost(ranks), g)), true)
			}
		}
	}
	for _, s := range shapes {
		for ranks := 1; ranks <= 64; ranks++ {
			check("p2p-rows", s, ranks, flows(plan.P2PRows(s, oneHost(ranks), false)), false)
		}
	}
	// Ranks that share B: one host moves nothing between hosts, and ranks on hosts of their own as much as before.
	for _, s := range even(6) {
		for _, hosts := range [][]int{{0, 0, 1, 1, 2, 2}, spread(6, 2), oneHost(6), plan.UpTo(6)} {
			x := flows(plan.BcastRows(s, oneHost(6), hosts, 100))[0]
			if bound := plan.BoundShared(s, hosts); !(bound <= float64(x.Sent+x.Recv)*(1+1e-9)) {
				t.Errorf("bcast-rows of %v on the hosts %v: rank 0 moves %+v, the bound is %v", s, hosts, x, bound)
			}
		}
		if one, all := plan.BoundShared(s, make([]int, 6)), plan.BoundShared(s, plan.UpTo(6)); one != 0 ||
			!near(all, plan.BoundRooted(s, 6, true)) {
			t.Errorf("%v: the bounds are %v on one host, %v on six", s, one, all)
		}
	}
	s := gemm.Shape{M: 1600, N: 100, K: 10}
	for _, c := range []struct {
		ranks int
		works bool
		want  float64
	}{
		{1, false, 0}, {1, true, 0}, {2, false, 177000}, {64, false, 177000},
		{2, true, 176000.0/2 + 1000}, {16, true, 176000*15.0/16 + 1000},
	} {
		if got := plan.BoundRooted(s, c.ranks, c.works); !near(got, c.want) {
			t.Errorf("BoundRooted(%v, %d, %v) = %v, want %v", s, c.ranks, c.works, got, c.want)
		}
	}
	// bcast-rows attains it on two ranks where B is the smallest operand.
	x := flows(plan.BcastRows(s, oneHost(2), plan.UpTo(2), 10))[0]
	if !near(float64(x.Sent+x.Recv), plan.BoundRooted(s, 2, true)) {
		t.Errorf("bcast-rows moves %+v, and attains %v", x, plan.BoundRooted(s, 2, true))
	}
}
