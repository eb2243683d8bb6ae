package plan_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gemm"
	"gemm/mpi/plan"
)

// shapes are more ranks than rows, k smaller than a grid, single elements, and others.
var shapes = []gemm.Shape{
	{M: 1, N: 1, K: 1}, {M: 3, N: 5, K: 2}, {M: 5, N: 64, K: 1}, {M: 64, N: 2, K: 3},
	{M: 1, N: 100, K: 7}, {M: 17, N: 1, K: 33}, {M: 300, N: 1000, K: 77}, {M: 96, N: 96, K: 96},
}

// oneHost returns the hosts of ranks that are all on one.
func oneHost(ranks int) []int { return make([]int, ranks) }

// grids returns all grids with that many ranks and layers.
func grids(ranks, layers int) []plan.Grid {
	var out []plan.Grid
	for p := 1; p*layers <= ranks; p++ {
		if ranks%(p*layers) == 0 {
			out = append(out, plan.Grid{P: p, Q: ranks / layers / p, C: layers})
		}
	}
	return out
}

func TestSplitCoversOnce(t *testing.T) {
	for n := range 80 {
		for parts := 1; parts <= 64; parts++ {
			spans := plan.Spans(n, parts)
			at := 0
			for i, s := range spans {
				if s != plan.Split(n, parts, i) || s.Lo != at || s.Len() != s.Hi-s.Lo || s.Len() < n/parts ||
					s.Len() > (n+parts-1)/parts {
					t.Fatalf("Split(%d, %d, %d) = %v after %d", n, parts, i, s, at)
				}
				if i > 0 && s.Len() > spans[i-1].Len() {
					t.Fatalf("Split(%d, %d): part %d is longer than the one before", n, parts, i)
				}
				for x := s.Lo; x < s.Hi; x++ {
					if got := plan.Owner(n, parts, x); got != i {
						t.Fatalf("Owner(%d, %d, %d) = %d, want %d", n, parts, x, got, i)
					}
				}
				at = s.Hi
			}
			if at != n {
				t.Fatalf("Spans(%d, %d) end at %d", n, parts, at)
			}
		}
	}
	if got := fmt.Sprint(plan.Spans(10, 4)); got != "[{0 3} {3 6} {6 8} {8 10}]" {
		t.Errorf("Spans(10, 4) = %s", got)
	}
}

func TestGrid(t *testing.T) {
	for ranks := 1; ranks <= 64; ranks++ {
		for layers := 1; layers <= ranks; layers++ {
			for _, g := range grids(ranks, layers) {
				if g.Ranks() != ranks {
					t.Fatalf("%v has %d ranks, want %d", g, g.Ranks(), ranks)
				}
				next := 0
				for l := range g.C {
					for i := range g.P {
						for j := range g.Q {
							x, y, z := g.At(next)
							if g.Rank(i, j, l) != next || x != i || y != j || z != l {
								t.Fatalf("%v: rank %d is at (%d,%d,%d), want (%d,%d,%d)", g, next, x, y, z, i, j, l)
							}
							next++
						}
					}
				}
			}
		}
	}
	if a, b := (plan.Grid{P: 2, Q: 3, C: 1}).String(), (plan.Grid{P: 2, Q: 3, C: 4}).String(); a != "2x3" || b != "2x3x4" {
		t.Errorf("grids are written %q and %q", a, b)
	}
}

func TestSquarest(t *testing.T) {
	wide, tall := gemm.Shape{M: 10, N: 20, K: 5}, gemm.Shape{M: 20, N: 10, K: 5}
	for ranks := 1; ranks <= 64; ranks++ {
		g := plan.Squarest(ranks, wide)
		if g.Ranks() != ranks || g.C != 1 || g.P > g.Q {
			t.Fatalf("Squarest(%d, wide) = %v", ranks, g)
		}
		for _, other := range grids(ranks, 1) {
			if other.P <= other.Q && other.P > g.P {
				t.Fatalf("Squarest(%d, wide) = %v, and %v is squarer", ranks, g, other)
			}
		}
		if h := plan.Squarest(ranks, tall); h.P != g.Q || h.Q != g.P {
			t.Fatalf("Squarest(%d, tall) = %v, Squarest(wide) = %v", ranks, h, g)
		}
	}
}

func TestParseGrid(t *testing.T) {
	if g, err := plan.ParseGrid("2x4"); err != nil || g != (plan.Grid{P: 2, Q: 4, C: 1}) {
		t.Errorf("ParseGrid(2x4) = %v, %v", g, err)
	}
	for _, text := range []string{"4294967296x4294967296", "", "x", "2", "2x", "0x4", "2x-1", "2x4x1", "2 x 4",
		"axb", "1e3x2"} {
		if _, err := plan.ParseGrid(text); !errors.Is(err, gemm.ErrParam) {
			t.Errorf("ParseGrid(%q) = %v, want an ErrParam", text, err)
		}
	}
}

func TestLayered(t *testing.T) {
	cube := gemm.Cube(960)
	for ranks, want := range map[int]string{1: "1x1", 2: "1x2", 4: "2x2", 8: "2x2x2", 9: "3x3"} {
		if g := plan.Layered(ranks, cube, 0, 0); g.String() != want {
			t.Errorf("Layered(%d, cube) = %v, want %s", ranks, g, want)
		}
	}
	// 2×4×2 and 2×2×4 receive as little, 5/16 of n²; 4×4 receives 6/16.
	g := plan.Layered(16, cube, 0, 0)
	if g.C != 2 || g.Ranks() != 16 {
		t.Errorf("Layered(16, cube) = %v, want 2 layers, the fewest that receive least", g)
	}
	for _, x := range flows(plan.Layers(cube, oneHost(16), g, 32)) {
		if x.Recv != 5*960*960/16 {
			t.Errorf("on %v a rank receives %d, want 5/16 of n²", g, x.Recv)
		}
	}
	for _, c := range []struct {
		ranks, replication int
		room               float64
		want               string
	}{
		{16, 1, 0, "4x4"}, {16, 4, 0, "2x2x4"}, {16, 3, 0, "1x5x3"}, {8, 100, 0, "1x1x8"},
		// A block of C is (n/2)² in 2×2×2 and n²/8 in 2×4.
		{8, 0, 480 * 480, "2x2x2"}, {8, 0, 480*480 - 1, "2x4"}, {8, 0, 1, "2x4"},
	} {
		got := plan.Layered(c.ranks, cube, c.replication, c.room)
		flipped := plan.Grid{P: got.Q, Q: got.P, C: got.C}
		if got.String() != c.want && flipped.String() != c.want {
			t.Errorf("Layered(%d, cube, %d, %v) = %v, want %s", c.ranks, c.replication, c.room, got, c.want)
		}
	}
	if g := plan.Layered(16, gemm.Shape{M: 10, N: 10, K: 100000}, 0, 0); g.C != 16 {
		t.Errorf("Layered for a long k = %v, want 16 layers", g)
	}
	if g := plan.Layered(16, gemm.Shape{M: 100000, N: 10, K: 10}, 0, 0); g != (plan.Grid{P: 16, Q: 1, C: 1}) {
		t.Errorf("Layered for a tall C = %v, want 16x1", g)
	}
	// 1×4 receives as little as 2×2, and 4×1 as little where C is turned.
	for _, s := range []gemm.Shape{{M: 96, N: 192, K: 96}, {M: 192, N: 96, K: 96}} {
		if g := plan.Layered(4, s, 1, 0); g != (plan.Grid{P: 2, Q: 2, C: 1}) {
			t.Errorf("Layered(4, %v) = %v, want the squarest, 2x2", s, g)
		}
	}
	for ranks := 1; ranks <= 64; ranks++ {
		if g := plan.Layered(ranks, gemm.Shape{}, 0, 0); g.Ranks() != ranks {
			t.Errorf("Layered(%d) of nothing = %v", ranks, g)
		}
	}
}

// TestLayeredIsBest compares Layered with all grids, by the traffic of Layers on a cube
// that all of them divide.
func TestLayeredIsBest(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 27, 32, 36, 48, 64} {
		n := 64 * 27
		for _, s := range []gemm.Shape{{M: n, N: n, K: n}, {M: 4 * n, N: n, K: n}, {M: n, N: n, K: 9 * n}} {
			chosen := worst(flows(plan.Layers(s, oneHost(ranks), plan.Layered(ranks, s, 0, 0), n)))
			for layers := 1; layers <= ranks; layers++ {
				for _, g := range grids(ranks, layers) {
					if got := worst(flows(plan.Layers(s, oneHost(ranks), g, n))); got < chosen {
						t.Errorf("%v on %d ranks: %v receives %d, the choice %d", s, ranks, g, got, chosen)
					}
				}
			}
		}
	}
}

// worst returns the most elements that a rank receives.
func worst(all []count) int64 {
	return slices.MaxFunc(all, func(a, b count) int { return int(a.Recv - b.Recv) }).Recv
}

func TestPanels(t *testing.T) {
	for _, k := range []plan.Span{{Lo: 0, Hi: 0}, {Lo: 0, Hi: 1}, {Lo: 0, Hi: 10}, {Lo: 5, Hi: 82}, {Lo: 7, Hi: 10}} {
		for p := 1; p <= 12; p++ {
			for q := 1; q <= 12; q++ {
				for _, width := range []int{1, 2, 4, 7, 1000} {
					at := k.Lo
					for _, x := range plan.Panels(k, p, q, width) {
						if x.K.Lo != at || x.K.Len() < 1 || x.K.Len() > width {
							t.Fatalf("Panels(%v, %d, %d, %d): %+v after %d", k, p, q, width, x, at)
						}
						for i := x.K.Lo; i < x.K.Hi; i++ {
							if plan.Owner(k.Len(), q, i-k.Lo) != x.Col || plan.Owner(k.Len(), p, i-k.Lo) != x.Row {
								t.Fatalf("Panels(%v, %d, %d, %d): %+v has index %d of another rank", k, p, q, width, x, i)
							}
						}
						at = x.K.Hi
					}
					if at != k.Hi {
						t.Fatalf("Panels(%v, %d, %d, %d) end at %d", k, p, q, width, at)
					}
				}
			}
		}
	}
	want := "[{{0 4} 0 0} {{4 5} 1 0} {{5 7} 1 1} {{7 10} 2 1}]"
	if got := fmt.Sprint(plan.Panels(plan.Span{Lo: 0, Hi: 10}, 2, 3, 4)); got != want {
		t.Errorf("Panels([0,10), 2, 3, 4) = %s, want %s", got, want)
	}
}

// TestAlternating checks that all panels are there once, the panels of an owner in their order, and that owners
// alternate until all but one have none left.
func TestAlternating(t *testing.T) {
	for _, g := range []plan.Grid{{P: 1, Q: 1, C: 1}, {P: 2, Q: 2, C: 1}, {P: 2, Q: 3, C: 1}, {P: 4, Q: 2, C: 1}} {
		for _, k := range []int{0, 1, 5, 64, 77} {
			panels := plan.Panels(plan.Span{Hi: k}, g.P, g.Q, 4)
			got := plan.Alternating(panels)
			last, left := map[[2]int]int{}, map[[2]int]int{}
			for _, p := range panels {
				left[[2]int{p.Col, p.Row}]++
			}
			for i, p := range got {
				o := [2]int{p.Col, p.Row}
				if !slices.Contains(panels, p) || last[o] > p.K.Lo {
					t.Fatalf("%v, k = %d: %v of %v", g, k, got, panels)
				}
				last[o] = p.K.Hi
				if i > 0 && got[i-1].Col == p.Col && got[i-1].Row == p.Row && len(left) > 1 {
					t.Fatalf("%v, k = %d: two panels of one owner follow each other in %v", g, k, got)
				}
				if left[o]--; left[o] == 0 {
					delete(left, o)
				}
			}
			if len(got) != len(panels) {
				t.Fatalf("%v, k = %d: %d of %d panels", g, k, len(got), len(panels))
			}
		}
	}
}

func TestSteps(t *testing.T) {
	for width := 1; width < 12; width++ {
		for q := 1; q <= 7; q++ {
			panels := plan.Panels(plan.Span{Lo: 2, Hi: 33}, 3, q, width)
			for together := 1; together <= 2; together++ {
				at, twos := 0, 0
				for _, s := range plan.Steps(panels, together) {
					if s.Lo != at || s.Len() < 1 || s.Len() > together ||
						s.Len() == 2 && panels[s.Lo].K.Len() != panels[s.Lo+1].K.Len() {
						t.Fatalf("Steps(%v, %d): %v after %d", panels, together, s, at)
					}
					if s.Len() == 2 {
						twos++
					}
					at = s.Hi
				}
				if at != len(panels) || together == 2 && width == 1 && twos == 0 {
					t.Fatalf("Steps(%v, %d) end at %d, with %d of two panels", panels, together, at, twos)
				}
			}
		}
	}
	want := "[{0 1} {1 2} {2 4}]"
	four := []plan.Panel{{K: plan.Span{Lo: 0, Hi: 4}}, {K: plan.Span{Lo: 4, Hi: 5}}, {K: plan.Span{Lo: 5, Hi: 7}},
		{K: plan.Span{Lo: 7, Hi: 9}}}
	if got := fmt.Sprint(plan.Steps(four, 2)); got != want {
		t.Errorf("Steps(%v, 2) = %s, want %s", four, got, want)
	}
	if got := plan.Steps(nil, 2); len(got) != 0 {
		t.Errorf("steps of no panels: %v", got)
	}
}

func TestChunks(t *testing.T) {
	for n := range 50 {
		for width := 1; width < 60; width++ {
			at := 0
			chunks := plan.Chunks(n, width)
			for _, c := range chunks {
				if c.Lo != at || c.Len() < 1 || c.Len() > width || chunks[0].Len()-c.Len() > 1 {
					t.Fatalf("Chunks(%d, %d) = %v", n, width, chunks)
				}
				at = c.Hi
			}
			if at != n || len(chunks) != (n+width-1)/width {
				t.Fatalf("Chunks(%d, %d) = %v", n, width, chunks)
			}
		}
	}
}

// TestGrowing checks that the ranges cover all indices, that none is too wide for the one before,
// and that the first is much narrower than the others.
func TestGrowing(t *testing.T) {
	for n := range 50 {
		for width := 1; width < 60; width++ {
			at, most := 0, (width+3)/4
			spans := plan.Growing(n, width)
			for _, s := range spans {
				if len(spans) > 1 && s.Len() > most || s.Lo != at || s.Len() < 1 || s.Len() > width {
					t.Fatalf("Growing(%d, %d) = %v", n, width, spans)
				}
				at, most = s.Hi, max(2*s.Len(), most)
			}
			if at != n || n > (width+3)/4 && width > 1 && len(spans) < 2 {
				t.Fatalf("Growing(%d, %d) = %v", n, width, spans)
			}
		}
	}
	want := "[{0 2} {2 6} {6 13} {13 20}]"
	if got := fmt.Sprint(plan.Growing(20, 8)); got != want {
		t.Errorf("Growing(20, 8) = %s, want %s", got, want)
	}
}

// TestHugeWidth cuts an index into ranges whose width is close to the largest integer. The result
// is the same as for any width that covers the whole index.
func TestHugeWidth(t *testing.T) {
	for _, width := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt/2 + 1} {
		for n := range 20 {
			want := plan.Spans(n, min(n, 1))
			if got := plan.Chunks(n, width); !slices.Equal(got, want) {
				t.Fatalf("Chunks(%d, %d) = %v, want %v", n, width, got, want)
			}
			if got := plan.Growing(n, width); !slices.Equal(got, want) {
				t.Fatalf("Growing(%d, %d) = %v, want %v", n, width, got, want)
			}
			k := plan.Span{Lo: 3, Hi: 3 + n}
			if got, want := plan.Panels(k, 2, 3, width), plan.Panels(k, 2, 3, 100); !slices.Equal(got, want) {
				t.Fatalf("Panels(%v, 2, 3, %d) = %v, want %v", k, width, got, want)
			}
		}
	}
}

// TestBusy counts the ranks with terms.
func TestBusy(t *testing.T) {
	for _, s := range append(shapes, gemm.Shape{M: 0, N: 1, K: 1}, gemm.Shape{M: 1, N: 0, K: 1},
		gemm.Shape{M: 1, N: 1, K: 0}) {
		for _, ranks := range []int{1, 6, 8, 64} {
			for layers := 1; layers <= ranks; layers++ {
				for _, g := range grids(ranks, layers) {
					want := 0
					for r := range ranks {
						i, j, l := g.At(r)
						if plan.Split(s.M, g.P, i).Len()*plan.Split(s.N, g.Q, j).Len()*plan.Split(s.K, g.C, l).Len() > 0 {
							want++
						}
					}
					if got := plan.Busy(g, s); got != want {
						t.Errorf("Busy(%v, %v) = %d, want %d", g, s, got, want)
					}
				}
			}
		}
	}
}
