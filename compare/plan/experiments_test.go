package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
		v.Params[1].Choices = []string{"default", "static", "dynamic", "guided", "auto"}
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
	var cases []Case
	for _, name := range []string{"quick", "parallel"} {
		p := experimentsOf(profileOn(name, 16))
		cases = p.planned(slices.Concat(serial, parallel), []string{"f64"})
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
	strong := tally(cases, func(c Case) string { return fmt.Sprint(c.Experiment, " ", c.Variant.Name, " ", c.Threads()) })
	for _, name := range names {
		for _, threads := range []int{1, 2, 4, 8, 16} {
			if strong[fmt.Sprint("strong ", name, " ", threads)] == 0 {
				t.Errorf("strong scaling lacks %s on %d threads", name, threads)
			}
		}
	}
	kernel := texts(cases, func(c Case) bool { // of the last figure of the 2024 report on threads
		return c.Experiment == record.StrongScaling && c.Variant.Name == "parallel/collapse-atomic" &&
			slices.Contains([]string{"default", "static", "dynamic"}, c.Params.Text("schedule"))
	})
	if len(kernel) != 5*3*5 {
		t.Errorf("%d rows of parallel/collapse-atomic, want one for each of 5 sizes, 3 schedules and 5 threads", len(kernel))
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

// TestDistributions plans the experiment of the 2024 report on ranks. Its rows are in turns of their own.
func TestDistributions(t *testing.T) {
	params := []gemm.Param{{Name: "ranks", Default: 2, Min: 1},
		{Name: "local", Default: "serial/packed", Choices: []string{"serial/naive", "serial/packed"}}}
	cases := experimentsOf(profileOn("mpi", 16)).planned(
		variants(params, "mpi/p2p-rows", "mpi/scatter-rows", "mpi/scatter-blocks", "mpi/summa"), []string{"f64"})
	for _, c := range cases {
		if err := c.Err(); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		own := c.Experiment == record.Distributions
		if naive := c.Params["local"] == "serial/naive"; own != naive || own && c.Variant.Name == "mpi/summa" {
			t.Errorf("%v is in the experiment %s", c, c.Experiment)
		}
		if own != strings.HasPrefix(c.Turn, "distribution ") {
			t.Errorf("%v of %s is in the turn %q", c, c.Experiment, c.Turn)
		}
	}
	turns := turnsOf(cases, record.Distributions)
	if each := slices.Collect(maps.Values(turns)); !slices.Equal(each, slices.Repeat([]int{3}, 5*5)) {
		t.Errorf("turns with rows %v, want 3 rows for each of 5 sizes and 5 numbers of ranks", turns)
	}
}

// turnsOf returns how many rows each turn of the experiment has.
func turnsOf(cases []Case, e record.Experiment) map[string]int {
	of := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return c.Experiment != e })
	return tally(of, func(c Case) string { return c.Turn })
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

// TestOpenMPStudy plans the experiment openmp: the pool and OpenMP with one setting are in one turn.
func TestOpenMPStudy(t *testing.T) {
	both := schedules("parallel/collapse-atomic", "reference/openmp-collapse")
	both[1].Role = gemm.Program
	of := func(variants ...gemm.Variant) map[string]int {
		return turnsOf(experimentsOf(profileOn("parallel", 2)).planned(variants, []string{"f64"}), record.OpenMPLoops)
	}
	turns := of(both...)
	for turn, cases := range turns {
		if cases != 2 {
			t.Errorf("the turn %q has %d cases", turn, cases)
		}
	}
	// At one size three schedules with four chunks, at all four sizes three schedules with their own.
	if want := 2 * (3*4 + 4*3 - 2); len(turns) != want {
		t.Errorf("%d turns, want %d, one for each number of threads, size, schedule and chunk", len(turns), want)
	}
	if alone := of(both[0]); len(alone) > 0 {
		t.Errorf("the pool alone has the turns %v", alone)
	}
}

// TestTimelinesOfRanks checks which rows of the experiments on ranks have timelines: of four variants, on
// the most ranks, at one size.
func TestTimelinesOfRanks(t *testing.T) {
	all := variants(onRanks("mpi/a").Params, "mpi/p2p-rows", "mpi/scatter-rows", "mpi/bcast-rows", "mpi/summa",
		"mpi/cannon", "mpi/25d")
	got := tally(experimentsOf(profileOn("full", 4)).planned(all, []string{"f64"}), func(c Case) string {
		if !c.Timeline {
			return ""
		}
		return fmt.Sprint(c.Experiment, " ", c)
	})
	if want := map[string]int{"strong mpi/cannon f64 1024 ranks=4": 1, "strong mpi/p2p-rows f64 1024 ranks=4": 1,
		"strong mpi/scatter-rows f64 1024 ranks=4": 1, "strong mpi/summa f64 1024 ranks=4": 1}; !maps.Equal(got, want) {
		t.Errorf("timelines are of %v, want %v", got, want)
	}
}
