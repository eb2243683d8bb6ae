package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
)

// variant, shared and onRanks return planted variants.
func variant(name string) gemm.Variant { return gemmtest.Variant(name, nil) }
func shared(name string) gemm.Variant  { return gemmtest.Shared(name, nil) }
func onRanks(name string) gemm.Variant { return gemmtest.OnRanks(name, nil) }

// variants returns planted variants with the parameters.
func variants(params []gemm.Param, names ...string) []gemm.Variant {
	var out []gemm.Variant
	for _, name := range names {
		v := variant(name)
		v.Params = params
		out = append(out, v)
	}
	return out
}

// texts returns the texts of the cases that are selected.
func texts(cases []Case, selected func(Case) bool) []string {
	var out []string
	for _, c := range cases {
		if selected(c) {
			out = append(out, c.String())
		}
	}
	return out
}

// drawn reports whether c has a timeline.
func drawn(c Case) bool { return c.Timeline }

// tally returns how many cases have each text; "": not counted.
func tally(cases []Case, text func(Case) string) map[string]int {
	out := map[string]int{}
	for _, c := range cases {
		if t := text(c); t != "" {
			out[t]++
		}
	}
	return out
}

// TestCasesOfExperiments checks the order of an experiment's rows: rows whose times are compared
// follow each other, together with their baselines.
func TestCasesOfExperiments(t *testing.T) {
	variants := []gemm.Variant{shared("parallel/rows"), shared("parallel/tiles")}
	baselines := []gemm.Variant{variant("serial/packed"), variant("serial/ikj")}
	sweep := map[string][]any{"threads": {1, 2, 3}, "schedule": {"static", "dynamic"}, "chunk": {0, 16}}
	for _, test := range []struct {
		experiment record.Experiment
		groups     int // a shape
	}{
		{"strong", 2}, {"weak", 2}, {"affinity", 2}, {"gomaxprocs", 2}, {"chunk", 6}, {"load", 6},
	} {
		l := Ladder{
			Experiment: test.experiment, Variants: variants, Baselines: baselines, Timeline: true,
			Shapes: []gemm.Shape{gemm.Cube(8), {M: 4, N: 5, K: 6}}, Types: []string{"f64", "gf256"}, Ops: []string{"nn"},
			Alpha: 1, Sweep: sweep,
		}
		cases := l.Cases()
		if want := 2 * (2*3*2*2 + 2); len(cases) != want {
			t.Errorf("%s: %d rows, want %d", test.experiment, len(cases), want)
		}
		var turns []string
		keys := map[record.ID]bool{}
		for i, c := range cases {
			if keys[c.ID()] {
				t.Errorf("%s: %v is given twice", test.experiment, c)
			}
			keys[c.ID()] = true
			if c.Experiment != test.experiment || c.Row().Experiment != test.experiment {
				t.Errorf("%v is of the experiment %s", c, c.Experiment)
			}
			base := gemm.Shape{M: 4, N: 5, K: 6}
			if i >= len(cases)/2 {
				base = gemm.Cube(8)
			}
			if c.Base() != base {
				t.Errorf("%s: row %d has the base %v, want %v", test.experiment, i, c.Base(), base)
			}
			if serial := c.Variant.Family() == "serial"; serial != (c.Turn == "") || serial == c.Timeline ||
				serial && len(c.Params) > 0 {
				t.Errorf("%s: %v has the turn %q, timeline %v", test.experiment, c, c.Turn, c.Timeline)
			}
			if want := base.M * c.Threads(); test.experiment == record.WeakScaling && c.M != want {
				t.Errorf("weak: %v has m = %d, want %d", c, c.M, want)
			}
			if c.Turn != "" && (i == 0 || cases[i-1].Turn != c.Turn) {
				turns = append(turns, c.Turn)
			}
		}
		if len(turns) != 2*test.groups || len(slices.Compact(slices.Sorted(slices.Values(turns)))) != len(turns) {
			t.Errorf("%s: the turns are %q, want %d, each in one piece", test.experiment, turns, 2*test.groups)
		}
	}
}

// TestPeersStayTogether has a variant between two that are compared.
func TestPeersStayTogether(t *testing.T) {
	var names []string
	all := variants(nil, "serial/packed", "serial/gonum", "parallel/rows", "parallel/packed", "parallel/strassen",
		"reference/blis")
	for _, c := range (Ladder{Variants: all, Shapes: cubes([]int{8}), Types: []string{"f64"},
		Ops: []string{"nn"}}).Cases() {
		names = append(names, c.Variant.Name)
	}
	want := []string{"parallel/rows", "parallel/strassen", "serial/packed", "serial/gonum", "parallel/packed",
		"reference/blis"}
	if !slices.Equal(names, want) {
		t.Errorf("the order is %q, want %q", names, want)
	}
}

func TestTurnsOnRanks(t *testing.T) {
	l := Ladder{
		Experiment: record.WeakScaling, Variants: []gemm.Variant{onRanks("mpi/a"), onRanks("mpi/b")},
		Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 1, Sweep: map[string][]any{"ranks": {1, 3}, "threads": {2}},
	}
	var got []string
	for _, c := range l.Cases() {
		got = append(got, fmt.Sprint(c.Variant.Name, " ", c.M, ", ", c.Turn))
		if c.Base() != gemm.Cube(8) {
			t.Errorf("%v is based on %v", c, c.Base())
		}
	}
	want := []string{
		"mpi/a 8, mpi f64 8 nn, 1 ranks", "mpi/b 8, mpi f64 8 nn, 1 ranks",
		"mpi/a 24, mpi f64 24x8x8 nn, 3 ranks", "mpi/b 24, mpi f64 24x8x8 nn, 3 ranks",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the cases are %q, want %q", got, want)
	}
}

// TestFieldTurn checks that over GF(2⁸) the variants that are compared with a library are interleaved with it, by the
// length of a shard, and others are not.
func TestFieldTurn(t *testing.T) {
	const coded = "peers gf256, shards of 65536 bytes"
	for name, want := range map[string]string{"serial/packed gf256": coded, "reference/reedsolomon gf256": coded,
		"parallel/packed gf256": coded, "serial/packed f64": "peers f64 4x65536x10 nn", "serial/ikj gf256": ""} {
		of := strings.Fields(name)
		r := Request{Experiment: record.MainLadder, Variant: variant(of[0]), Type: of[1], Shape: code(10, 4, 64<<10)}
		if got := r.Case().turn(); got != want {
			t.Errorf("%s is in the turn %q, want %q", name, got, want)
		}
	}
	long := Request{Variant: variant("serial/packed"), Type: "gf256", Shape: code(10, 4, 1<<20)}
	if got, want := long.Case().turn(), "peers gf256 4x1048576x10 nn"; got != want {
		t.Errorf("a code with long shards is in the turn %q, want %q", got, want)
	}
}

// TestLoopOrders checks that rows of a study are an experiment of their own, interleaved, and in no ladder.
func TestLoopOrders(t *testing.T) {
	v := variant("serial/loops")
	v.Role, v.Params = gemm.Study, []gemm.Param{{Name: "order", Default: "ijk", Choices: []string{"ijk", "kij"}}}
	cases := Ladder{Variants: []gemm.Variant{v}, Shapes: cubes([]int{8}), Types: []string{"f64"}, Ops: []string{"nn"},
		Alpha: 1, Sweep: map[string][]any{"order": {"ijk", "kij"}}}.Cases()
	if len(cases) != 2 || cases[0].Experiment != record.LoopOrders || cases[0].Turn == "" ||
		cases[1].Turn != cases[0].Turn {
		t.Errorf("rows %v, in the turn %q", cases, cases[0].Turn)
	}
}
