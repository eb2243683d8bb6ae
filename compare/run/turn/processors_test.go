package turn

import (
	"runtime"
	"slices"
	"testing"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/cpu"
)

// TestOnAllProcessors checks that work that is not timed may use all processors, and that timed work
// afterwards uses the same ones as before.
func TestOnAllProcessors(t *testing.T) {
	all := cpu.Allowed()
	if len(all) < 2 {
		t.Skip("there is one processor")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := all[:1]
	if err := cpu.Pin(one); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := cpu.Pin(all); err != nil {
			t.Error(err)
		}
	}()
	called := false
	onAllProcessors(func() {
		called = true
		if here := cpu.Allowed(); !slices.Equal(here, all) || runtime.GOMAXPROCS(0) != running {
			t.Errorf("it runs on %v, and Go uses %d, want %v and %d", here, runtime.GOMAXPROCS(0), all, running)
		}
	})
	if here := cpu.Allowed(); !called || !slices.Equal(here, one) || runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("then the process runs on %v, and Go uses %d, want %v and 1", here, runtime.GOMAXPROCS(0), one)
	}
}

func TestProcessorsOfACase(t *testing.T) {
	parallel, ranks := gemmtest.Shared("parallel/rows", nil), gemmtest.Variant("mpi/a", nil)
	ranks.Params = []gemm.Param{{Name: "ranks", Default: 1, Min: 1}, {Name: "threads", Default: 1, Min: 0}}
	for _, test := range []struct {
		v     gemm.Variant
		p     gemm.Params
		turn  string
		procs int
	}{
		{gemmtest.Variant("serial/packed", nil), nil, "", 1},
		{gemmtest.Variant("serial/packed", nil), nil, "peers", 1},
		{parallel, gemm.Params{"threads": 2}, "", 8},
		{parallel, gemm.Params{"threads": 99}, "", 8},
		{parallel, gemm.Params{"threads": 2}, "strong", 2},
		{parallel, gemm.Params{"threads": 99}, "strong", 8},
		{parallel, gemm.Params{"threads": 2, "gomaxprocs": 3}, "gomaxprocs", 3},
		{parallel, gemm.Params{"threads": 2, "gomaxprocs": 99}, "", 99},
		{ranks, nil, "", 1},
		{ranks, gemm.Params{"ranks": 4, "threads": 3}, "mpi", 3},
		{ranks, gemm.Params{"ranks": 2, "threads": 0}, "", 4}, // they divide all processors
		{gemmtest.Variant("cuda/a", nil), nil, "cuda", 8},     // for the checks
	} {
		c := plan.Request{Variant: test.v, Params: test.p, Turn: test.turn, Processors: 8}.Case()
		if got := processors(c, 8); got != test.procs {
			t.Errorf("%v %v in turn %q: %d processors, want %d", test.v.Name, test.p, test.turn, got, test.procs)
		}
		want := min(c.Threads(), test.procs, runtime.NumCPU())
		if c.Ranks() > 0 {
			want = c.Threads() // they may be on several hosts
		}
		if got := busy(c, 8); got != want {
			t.Errorf("%v %v in turn %q: %d processors are busy, want %d", test.v.Name, test.p, test.turn, got, want)
		}
	}
}

// TestPinnedRowsAreNotGathered looks at the mask under which products run.
func TestPinnedRowsAreNotGathered(t *testing.T) {
	all := cpu.Allowed()
	if len(all) < 2 {
		t.Skip("one processor, or affinity is not known")
	}
	masks := map[string]int{}
	v := gemmtest.Shared("parallel/rows", nil)
	v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) {
		return gemmtest.Observed(func() { masks[p.Text("affinity")] = len(cpu.Allowed()) }), nil
	}
	run(t, plan.Ladder{Experiment: record.StrongScaling, Variants: []gemm.Variant{v},
		Sweep: map[string][]any{"schedule": {"static", "dynamic"}}}, 0)
	if masks["none"] != 1 {
		t.Errorf("candidates on a thread may run on %d processors, want the fastest one", masks["none"])
	}
	run(t, plan.Ladder{Experiment: record.Affinities, Variants: []gemm.Variant{v},
		Sweep: map[string][]any{"affinity": {"none", "close"}}}, 0)
	if masks["none"] != len(all) || masks["close"] != len(all) {
		t.Errorf("where one is pinned, candidates may run on %v processors, want %d", masks, len(all))
	}
	if got := cpu.Allowed(); !slices.Equal(got, all) {
		t.Errorf("afterwards %v are allowed, before %v", got, all)
	}
}

func TestFastestProcessors(t *testing.T) {
	siblings := []cpu.Processor{{ID: 0, Core: 0}, {ID: 4, Core: 0}, {ID: 1, Core: 1}, {ID: 5, Core: 1}}
	rates := map[int]float64{0: 10, 4: 11, 1: 5, 5: 4}
	for _, test := range []struct {
		topology []cpu.Processor
		want     []int
	}{
		{siblings, []int{4, 1, 0, 5}},
		{nil, []int{4, 0, 1, 5}},
	} {
		if got := fastest([]int{0, 4, 1, 5}, test.topology, rates); !slices.Equal(got, test.want) {
			t.Errorf("with the cores %v the order is %v, want %v", test.topology, got, test.want)
		}
	}
}
