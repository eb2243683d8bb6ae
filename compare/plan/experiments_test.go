package plan

import (
	"fmt"
	"slices"
	"testing"

	"gemm"
	"gemm/compare/record"
)

// experimentsOf returns a profile with the experiments of another one alone.
func experimentsOf(p Profile) Profile {
	return Profile{Experiments: p.Experiments, Baselines: p.Baselines}
}

// schedules are variants on threads with all schedules.
func schedules(names ...string) []gemm.Variant {
	var out []gemm.Variant
	for _, name := range names {
		v := shared(name)
		v.Params[1].Choices = []string{"default", "static", "dynamic", "guided", "auto", "none"}
		v.Params[3].Choices = []string{"none", "close", "spread"}
		out = append(out, v)
	}
	return out
}

// TestStudies plans the experiments on threads for 16 processors.
func TestStudies(t *testing.T) {
	names := []string{"parallel/rows", "parallel/inner", "parallel/collapse-inner-atomic", "parallel/collapse-atomic",
		"parallel/collapse-reduce", "parallel/tiles", "parallel/packed", "parallel/strassen"}
	parallel, serial := schedules(names...), variants(nil, "serial/ikj", "serial/packed", "serial/naive")
	for _, name := range []string{"quick", "parallel"} {
		p := experimentsOf(profileOn(name, 16))
		cases := p.planned(slices.Concat(serial, parallel), []string{"f64"})
		for _, c := range cases {
			if err := c.Err(); err != nil {
				t.Errorf("%s: %v: %v", name, c, err)
			}
			if c.Variant.Family() == "serial" && !slices.Contains(p.Baselines, c.Variant.Name) {
				t.Errorf("%s: %v is no baseline", name, c)
			}
			if traced := c.Experiment == record.ArtificialLoad && c.Variant.Family() == "parallel"; traced != c.Timeline {
				t.Errorf("%s: %v of %s has a timeline: %v", name, c, c.Experiment, c.Timeline)
			}
		}
		for id, n := range tally(cases, func(c Case) string { return fmt.Sprint(c.Experiment, " ", c) }) {
			if n > 1 {
				t.Errorf("%s: %s is given twice", name, id)
			}
		}
		got := tally(cases, func(c Case) string { return fmt.Sprint(c.Experiment, " ", c.Variant.Name) })
		for _, experiment := range []record.Experiment{record.StrongScaling, record.ChunkSizes, record.ArtificialLoad} {
			for _, variant := range append(slices.Clone(p.Baselines), "parallel/rows") {
				if got[fmt.Sprint(experiment, " ", variant)] == 0 {
					t.Errorf("%s: the experiment %s lacks %s", name, experiment, variant)
				}
			}
		}
		if alone := p.planned(serial, []string{"f64"}); len(alone) > 0 {
			t.Errorf("%s: baselines alone: %v", name, alone)
		}
		if none := p.planned(parallel, []string{"f32"}); len(none) > 0 {
			t.Errorf("%s: without f64: %v", name, none)
		}
	}
}

// TestCutoffs checks the cut-offs that are swept for recursive variants. Parallel variants get only
// those with tasks that are large enough.
func TestCutoffs(t *testing.T) {
	cutoff := []gemm.Param{{Name: "cutoff", Default: 64, Min: 1}, {Name: "threads", Default: 1, Min: 1}}
	p := Profile{Cutoffs: map[int][]int{32: {1, 15, 16, 32}}}
	got := texts(p.planned(slices.Concat(variants(cutoff[:1], "serial/divide"), variants(nil, "serial/naive"),
		variants(cutoff, "parallel/strassen")), []string{"f64"}), func(Case) bool { return true })
	want := []string{
		"serial/divide f64 32 cutoff=1", "serial/divide f64 32 cutoff=15", "serial/divide f64 32 cutoff=16",
		"serial/divide f64 32 cutoff=32",
		"parallel/strassen f64 32 cutoff=16", "parallel/strassen f64 32 cutoff=32",
	}
	if !slices.Equal(got, want) {
		t.Errorf("cut-offs swept: %q, want %q", got, want)
	}
}

// TestLoopsInC plans the experiment on compilers: every loop with every set of options is in one turn
// with the loops of this program, and not in a turn with libraries.
func TestLoopsInC(t *testing.T) {
	all := append(variants(nil, "serial/naive", "serial/packed"), program("reference/c-naive"),
		program("reference/c-ikj"), shared("reference/blis"))
	loops64 := Profile{Loops: builds{[]int{64}, []string{"serial/naive"}}}
	cases := loops64.planned(all, []string{"f64", "f32"})
	got := texts(cases, func(c Case) bool { return c.Turn == "compiler f64 64 nn" })
	want := []string{"reference/c-naive f64 64 cflags=-O0", "reference/c-naive f64 64 cflags=-O2",
		"reference/c-naive f64 64 cflags=-O3", "reference/c-ikj f64 64 cflags=-O0", "reference/c-ikj f64 64 cflags=-O2",
		"reference/c-ikj f64 64 cflags=-O3", "serial/naive f64 64"}
	if !slices.Equal(got, want) || len(cases) != len(want) {
		t.Errorf("the cases are %v, in the turn %q, want %q", cases, got, want)
	}
	none := slices.Concat(Profile{}.planned(all, []string{"f64"}), loops64.planned(all[:2], []string{"f64"}))
	if len(none) > 0 {
		t.Errorf("%v are planned without a size or a program", none)
	}
	if c := (Request{Variant: program("reference/c-ikj"), Type: "f64", Shape: gemm.Cube(8)}).Case(); c.turn() != "" ||
		c.Foreign() || onThreads(c.Variant) || !c.Outside() {
		t.Errorf("a program in C has the turn %q in the ladder, or counts as a library or as ours", c.turn())
	}
}
