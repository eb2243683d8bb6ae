package turn

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/serial"
)

// touching is a multiplier that notes the operands it is to touch.
type touching struct {
	gemmtest.Func[float64]
	threads int
	touched *[]string
}

func (m touching) Loaded(int) gemm.Multiplier[float64] { return m }

func (m touching) Touch(c, a, b gemm.Matrix[float64]) {
	zero := !slices.ContainsFunc(slices.Concat(c.Data, a.Data, b.Data), func(x float64) bool { return x != 0 })
	*m.touched = append(*m.touched,
		fmt.Sprint(m.threads, " ", c.Rows, "x", c.Cols, " ", a.Rows, "x", a.Cols, " ", b.Rows, "x", b.Cols, " ", zero))
}

// touched64 returns a variant with touching multipliers.
func touched64(touched *[]string) gemm.Variant {
	v := gemmtest.Shared("parallel/rows", nil)
	v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) {
		return touching{gemmtest.Textbook[float64], p.Int("threads"), touched}, nil
	}
	return v
}

// TestOperandsAreTouchedByTheirUsers checks that the candidate with the most threads touches the
// operands first, once, before they are drawn.
func TestOperandsAreTouchedByTheirUsers(t *testing.T) {
	var touched []string
	v := touched64(&touched)
	rows, _ := measure(t, bench(t, testBudget, 0), plan.Ladder{
		Experiment: record.StrongScaling, Variants: []gemm.Variant{v},
		Baselines: []gemm.Variant{gemmtest.Variant("serial/ikj", nil)},
		Shapes:    []gemm.Shape{{M: 4, N: 5, K: 6}, {M: 40, N: 5, K: 6}},
		Sweep:     map[string][]any{"threads": {1, 2}},
	})
	if want := []string{"2 4x5 4x6 6x5 true", "2 40x5 40x6 6x5 true"}; !slices.Equal(touched, want) {
		t.Errorf("touched by threads, shapes, whether they are zero: %q, want %q", touched, want)
	}
	for _, r := range rows {
		if r.Status != record.OK {
			t.Errorf("%s %v: %s, %s", r.Variant, r.Params, r.Status, r.Reason)
		}
	}
}

// TestOperandsAreTouchedAgainByMore has a product on one thread draw the operands, and then products on more, and on
// fewer, use them, each alone.
func TestOperandsAreTouchedAgainByMore(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 || runtime.NumCPU() < 2 {
		t.Skip("needs two processors")
	}
	var touched []string
	v := touched64(&touched)
	run(t, plan.Ladder{Variants: []gemm.Variant{v}, Sweep: map[string][]any{"threads": {1, 2, 1}}}, 0)
	if want := []string{"1 8x8 8x8 8x8 true", "2 8x8 8x8 8x8 true"}; !slices.Equal(touched, want) {
		t.Errorf("touched by threads, shapes, whether they are zero: %q, want %q, once each", touched, want)
	}
}

// TestMostThreadsFirst checks the order in which candidates are prepared, for each problem: first by the processors
// that they keep busy, then by threads, then libraries after our variants.
func TestMostThreadsFirst(t *testing.T) {
	ours, library := gemmtest.Shared("parallel/packed", nil), gemmtest.Shared("reference/library", nil)
	var cases []plan.Case
	add := func(v gemm.Variant, p gemm.Params) {
		cases = append(cases, plan.Request{Variant: v, Op: "nn", Params: p, Turn: "peers"}.Case())
	}
	add(gemmtest.Variant("serial/packed", nil), nil)
	add(ours, gemm.Params{"threads": 9, "gomaxprocs": 1})
	add(library, gemm.Params{"threads": 2})
	add(ours, gemm.Params{"threads": 2})
	add(ours, gemm.Params{"threads": 3})
	if runtime.NumCPU() < 2 {
		t.Skip("needs two processors")
	}
	other := cases[0]
	other.Shape = gemm.Cube(5)
	cases = slices.Insert(cases, 1, other, cases[4])
	cases[2].Shape = other.Shape
	if got, want := mostThreadsFirst(cases, 2), []int{6, 5, 4, 3, 0, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

// TestTurnsShareIntegers checks that the operands of the exact check are drawn once for a turn,
// whatever the order of the magnitudes that the variants need.
func TestTurnsShareIntegers(t *testing.T) {
	wide, err := gemm.Lookup(serial.Variants(), "serial/naive")
	gemmtest.Must(t, err)
	wide.Bound = gemm.Classical
	narrow := wide
	narrow.Bound.Largest = func(gemm.Shape, gemm.Params) float64 { return 0x1p53 / 16 }
	for _, test := range []struct {
		turn  string
		drawn []int
	}{{"x", []int{64, 4, 4, 4}}, {"", []int{64, 4, 64, 4}}} {
		var b Bench
		for i, want := range test.drawn {
			v := []gemm.Variant{wide, narrow}[i%2]
			c := plan.Request{Variant: v, Type: "f64", Shape: gemm.Cube(8), Alpha: 1, Turn: test.turn}.Case()
			x := b.prepare(t.Context(), c, 1)
			x.begin(t.Context(), plan.Budget{})
			if x.err != nil || b.operands.f64.magnitude != want {
				t.Errorf("turn %q, case %d: integers up to %d, want %d; %v", test.turn, i, b.operands.f64.magnitude,
					want, x.err)
			}
		}
	}
}
