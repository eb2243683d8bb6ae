package compare

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gemm"
	"gemm/compare/note"
	"gemm/internal/cpu"
	"gemm/parallel/timeline"
)

// shared returns a variant like those that share the work between threads.
func shared(name string, f multiplier[float64]) gemm.Variant {
	v := variant(name, f)
	v.Can = gemm.Loads
	v.Params = []gemm.Param{
		{Name: "threads", Default: 1, Min: 1},
		{Name: "schedule", Default: "static", Choices: []string{"static", "dynamic"}},
		{Name: "chunk", Default: 0},
		{Name: "affinity", Default: "none", Choices: []string{"none", "close"}},
	}
	return v
}

// anIdentity is what a row is known by, for tests.
func anIdentity(c Case) identity { return c.identity() }

// TestCasesOfExperiments checks the order of an experiment's rows: rows whose times are compared
// follow each other, together with their baselines.
func TestCasesOfExperiments(t *testing.T) {
	variants := []gemm.Variant{shared("parallel/rows", nil), shared("parallel/tiles", nil)}
	baselines := []gemm.Variant{variant("serial/packed", nil), variant("serial/ikj", nil)}
	sweep := map[string][]any{"threads": {1, 2, 3}, "schedule": {"static", "dynamic"}, "chunk": {0, 16}}
	for _, test := range []struct {
		experiment Experiment
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
		keys := map[identity]bool{}
		for i, c := range cases {
			if keys[anIdentity(c)] {
				t.Errorf("%s: %v is given twice", test.experiment, c)
			}
			keys[anIdentity(c)] = true
			if c.Experiment != test.experiment || c.record().Experiment != test.experiment {
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
			if want := base.M * c.Threads(); test.experiment == WeakScaling && c.M != want {
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
	var variants []gemm.Variant
	for _, name := range []string{"serial/packed", "serial/gonum", "parallel/rows", "parallel/packed", "parallel/strassen",
		"reference/blis"} {
		variants = append(variants, variant(name, nil))
	}
	var names []string
	for _, c := range (Ladder{Variants: variants, Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 1}).Cases() {
		names = append(names, c.Variant.Name)
	}
	want := []string{"parallel/rows", "parallel/strassen", "serial/packed", "serial/gonum", "parallel/packed",
		"reference/blis"}
	if !slices.Equal(names, want) {
		t.Errorf("the order is %q, want %q", names, want)
	}
}

func TestProcessorsOfACase(t *testing.T) {
	parallel := shared("parallel/rows", nil)
	for _, test := range []struct {
		v     gemm.Variant
		p     gemm.Params
		turn  string
		procs int
	}{
		{variant("serial/packed", nil), nil, "", 1},
		{variant("serial/packed", nil), nil, "peers", 1},
		{parallel, gemm.Params{"threads": 2}, "", 8},
		{parallel, gemm.Params{"threads": 99}, "", 8},
		{parallel, gemm.Params{"threads": 2}, "strong", 2},
		{parallel, gemm.Params{"threads": 99}, "strong", 8},
		{parallel, gemm.Params{"threads": 2, "gomaxprocs": 3}, "gomaxprocs", 3},
		{parallel, gemm.Params{"threads": 2, "gomaxprocs": 99}, "", 99},
	} {
		c := Request{Variant: test.v, Params: test.p, Turn: test.turn}.Case()
		if got := processors(c, 8); got != test.procs {
			t.Errorf("%v %v in turn %q: %d processors, want %d", test.v.Name, test.p, test.turn, got, test.procs)
		}
		if got, want := busy(c, 8), min(c.Threads(), test.procs, runtime.NumCPU()); got != want {
			t.Errorf("%v %v in turn %q: %d processors are busy, want %d", test.v.Name, test.p, test.turn, got, want)
		}
	}
}

// TestGOMAXPROCSOfARow sees what the driver sets for a product.
func TestGOMAXPROCSOfARow(t *testing.T) {
	seen := map[int]bool{}
	v := shared("parallel/rows", nil)
	v.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) {
		return multiplier[float64](func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			seen[runtime.GOMAXPROCS(0)] = true
			return product(ctx, c, a, b)
		}), nil
	}
	before := runtime.GOMAXPROCS(0)
	rows := run(t, &Store{}, Ladder{Experiment: ProcessorLimits, Variants: []gemm.Variant{v},
		Sweep: map[string][]any{"gomaxprocs": {1, before + 3}}}, time.Millisecond)
	if len(seen) != 2 || !seen[1] || !seen[before+3] || runtime.GOMAXPROCS(0) != before {
		t.Errorf("set: %v; %d afterwards, want %d", seen, runtime.GOMAXPROCS(0), before)
	}
	for _, r := range rows {
		if r.Status != OK || !(r.Ceiling > 0) {
			t.Errorf("%s %v: %s, ceiling %v", r.Variant, r.Params, r.Status, r.Ceiling)
		}
	}
}

// run measures the ladder's variants at n = 8 in f64 into store, and the ceilings if ceilings is
// positive. It returns the new rows.
func run(t *testing.T, store *Store, l Ladder, ceilings time.Duration) []Record {
	t.Helper()
	l.Shapes, l.Alpha = []gemm.Shape{gemm.Cube(8)}, 1
	if l.Types == nil {
		l.Types = []string{"f64"}
	}
	if l.Ops == nil {
		l.Ops = []string{"nn"}
	}
	var p silent
	d := Driver{Store: store, Budget: testBudget, Progress: &p, Ceilings: ceilings}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	return p.rows
}

// TestPinnedRowsAreNotGathered looks at the mask under which products run.
func TestPinnedRowsAreNotGathered(t *testing.T) {
	all := cpu.Allowed()
	if len(all) < 2 {
		t.Skip("one processor, or affinity is not known")
	}
	masks := map[string]int{}
	v := shared("parallel/rows", nil)
	v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) {
		return multiplier[float64](func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			masks[p.Text("affinity")] = len(cpu.Allowed())
			return product(ctx, c, a, b)
		}), nil
	}
	run(t, &Store{}, Ladder{Experiment: StrongScaling, Variants: []gemm.Variant{v},
		Sweep: map[string][]any{"schedule": {"static", "dynamic"}}}, 0)
	if masks["none"] != 1 {
		t.Errorf("contenders on a thread may run on %d processors, want the fastest one", masks["none"])
	}
	run(t, &Store{}, Ladder{Experiment: Affinities, Variants: []gemm.Variant{v},
		Sweep: map[string][]any{"affinity": {"none", "close"}}}, 0)
	if masks["none"] != len(all) || masks["close"] != len(all) {
		t.Errorf("where one is pinned, contenders may run on %v processors, want %d", masks, len(all))
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

// TestPartsOfATurn has contenders whose workspaces do not all fit.
func TestPartsOfATurn(t *testing.T) {
	v := shared("parallel/collapse-reduce", nil)
	v.Model = func(s gemm.Shape, p gemm.Params) gemm.Model {
		return gemm.Model{Workspace: float64(p.Int("threads") * s.M * s.N)}
	}
	l := Ladder{Experiment: StrongScaling, Variants: []gemm.Variant{v}, Shapes: []gemm.Shape{gemm.Cube(10)},
		Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1, Sweep: map[string][]any{"threads": {1, 2, 3, 4}}}
	cases := l.Cases()
	operands := cases[0].operands()
	if got, want := bytesTogether(cases), operands+8*100*(1+2+3+4); got != want {
		t.Errorf("together they need %v bytes, want %v: the operands are shared", got, want)
	}
	for _, test := range []struct {
		have float64
		want string
	}{
		{0, "1 2 3 4"},
		{operands + 8000, "1 2 3 4"},
		{operands + 7999, "1 2 3|4"},
		{operands + 4000, "1 2|3|4"},
		{1, "1|2|3|4"},
	} {
		var text []string
		for _, part := range parts(cases, test.have) {
			var threads []string
			for _, c := range part {
				threads = append(threads, fmt.Sprint(c.Threads()))
			}
			text = append(text, strings.Join(threads, " "))
		}
		if got := strings.Join(text, "|"); got != test.want {
			t.Errorf("with %v bytes the parts are %s, want %s", test.have, got, test.want)
		}
	}
	// Shapes that grow have operands of their own.
	l.Experiment = WeakScaling
	if got, least := bytesTogether(l.Cases()), 4*operands; !(got > least) {
		t.Errorf("together the rows of weak need %v bytes, want more than %v", got, least)
	}
}

// TestTurnsOfRowsMeasuredLater adds rows to a turn group that is on disk: they were not
// sampled with those that are there and have another turn.
func TestTurnsOfRowsMeasuredLater(t *testing.T) {
	fails := map[int]bool{1: true, 2: true}
	v := shared("parallel/rows", nil)
	v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) {
		return multiplier[float64](func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			if fails[p.Int("chunk")] {
				return errors.New("not yet")
			}
			return product(ctx, c, a, b)
		}), nil
	}
	store := &Store{}
	measure := func(chunks ...any) string {
		run(t, store, Ladder{Experiment: StrongScaling, Variants: []gemm.Variant{v},
			Sweep: map[string][]any{"chunk": chunks}}, 0)
		var text []string
		for _, r := range store.Document().Records {
			part := strings.TrimPrefix(r.Turn, "strong parallel/rows f64 8 nn")
			text = append(text, fmt.Sprint(r.Params["chunk"], part))
		}
		return strings.Join(text, "|")
	}
	// Rows without times leave the name to others.
	if got, want := measure(1, 2), "1|2"; got != want {
		t.Errorf("the turns are %s, want %s", got, want)
	}
	fails[1] = false
	if got, want := measure(0, 1, 2), "1|2|0"; got != want {
		t.Errorf("the turns are %s, want %s", got, want)
	}
	fails[2] = false
	if got, want := measure(0, 1, 2), "1|2, part 2|0"; got != want {
		t.Errorf("the turns are %s, want %s", got, want)
	}
	if got, want := measure(0, 1, 2, 3, 4), "1|2, part 2|0|3, part 3|4, part 3"; got != want {
		t.Errorf("the turns are %s, want %s", got, want)
	}
	// Records of another host do not count.
	for i := range store.doc.Records {
		store.doc.Records[i].Host = "another"
	}
	if got, want := measure(5), "1|2, part 2|0|3, part 3|4, part 3|5"; got != want {
		t.Errorf("the turns are %s, want %s", got, want)
	}
}

// TestTurnsOfParts measures contenders of which two fit into memory, and one more later.
func TestTurnsOfParts(t *testing.T) {
	have := float64(cpu.Available())
	if have <= 0 {
		t.Skip("it is not known how much memory is available")
	}
	v := shared("parallel/rows", product[float64])
	v.Model = func(gemm.Shape, gemm.Params) gemm.Model { return gemm.Model{Workspace: have * 0.4 / 8} }
	store := &Store{}
	var got []string
	for _, chunks := range [][]any{{0, 1, 2}, {0, 1, 2, 3}} {
		for _, r := range run(t, store,
			Ladder{Experiment: StrongScaling, Variants: []gemm.Variant{v}, Sweep: map[string][]any{"chunk": chunks}}, 0) {
			got = append(got, strings.TrimPrefix(r.Turn, "strong parallel/rows f64 8 nn"))
		}
	}
	if want := []string{"", "", ", part 2", ", part 3"}; !slices.Equal(got, want) {
		t.Errorf("the turns are %q, want %q", got, want)
	}
}

// TestLargeWorkspacesAreGivenBack has a variant with a large workspace, and looks at the
// memory that this process holds when the next one begins.
func TestLargeWorkspacesAreGivenBack(t *testing.T) {
	const large = 2 * muchLeft
	held := func() int {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapSys - m.HeapReleased)
	}
	greedy, next := variant("parallel/greedy", nil), variant("parallel/next", nil)
	greedy.Model = func(gemm.Shape, gemm.Params) gemm.Model { return gemm.Model{Workspace: large / 8} }
	during, after := 0, 0
	greedy.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) {
		workspace := make([]byte, large)
		return multiplier[float64](func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			during, workspace[0] = held(), 1
			return product(ctx, c, a, b)
		}), nil
	}
	next.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) {
		after = held()
		return multiplier[float64](product[float64]), nil
	}
	run(t, &Store{}, Ladder{Variants: []gemm.Variant{greedy, next}}, 0)
	if during-after < large/2 {
		t.Errorf("%d bytes are held while %d are in use and %d afterwards", during, large, after)
	}
}

func TestCrowdedRowsAreWarned(t *testing.T) {
	for _, test := range []struct {
		h       Host
		threads int
		want    string
	}{
		{Host{Cores: 4, Quota: None()}, 4, ""},
		{Host{Cores: 4, Quota: None()}, 5, "5 threads share 4 processors; use at most 4 with --threads"},
		{Host{Cores: 4, Quota: 8}, 5, "5 threads share 4 processors; use at most 4 with --threads"},
		{Host{Cores: 4, Quota: 2.5}, 2, ""},
		{Host{Cores: 4, Quota: 2.5}, 3,
			"3 threads on a quota of 2.5 processors: the control group stops them part of the time; use at most 2 with --threads"},
		{Host{Cores: 4, Quota: 0.5}, 1,
			"1 threads on a quota of 0.5 processors: the control group stops them part of the time; use at most 1 with --threads"},
	} {
		if got := test.h.Crowded(test.threads).Text; got != test.want {
			t.Errorf("%d threads on %d processors with a quota of %v: %q, want %q", test.threads, test.h.Cores, test.h.Quota,
				got, test.want)
		}
	}
	many := runtime.NumCPU() + 1
	rows := run(t, &Store{}, Ladder{Variants: []gemm.Variant{shared("parallel/rows", product[float64])},
		Sweep: map[string][]any{"threads": {many}}}, time.Millisecond)
	if r := rows[0]; r.Status != OK || r.Threads != many || len(r.Warnings) == 0 ||
		!strings.HasPrefix(r.Warnings[len(r.Warnings)-1].Text, fmt.Sprint(many, " threads share ")) || !r.PercentPeak.Known() {
		t.Errorf("%d threads: %s, warnings %q, %v %% of the peak; want a row with a warning", many, r.Status, r.Warnings,
			r.PercentPeak)
	}
}

// touching is a multiplier that notes the operands it is to touch.
type touching struct {
	multiplier[float64]
	threads int
	touched *[]string
}

func (m touching) Loaded(int) gemm.Multiplier[float64] { return m }

func (m touching) Touch(c, a, b gemm.Matrix[float64]) {
	zero := !slices.ContainsFunc(slices.Concat(c.Data, a.Data, b.Data), func(x float64) bool { return x != 0 })
	*m.touched = append(*m.touched,
		fmt.Sprint(m.threads, " ", c.Rows, "x", c.Cols, " ", a.Rows, "x", a.Cols, " ", b.Rows, "x", b.Cols, " ", zero))
}

// TestOperandsAreTouchedByTheirUsers checks that the contender with the most threads touches the
// operands of a setting first, once, before they are drawn.
func TestOperandsAreTouchedByTheirUsers(t *testing.T) {
	var touched []string
	v := shared("parallel/rows", nil)
	v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) {
		return touching{product[float64], p.Int("threads"), &touched}, nil
	}
	var p silent
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &p}
	l := Ladder{
		Experiment: StrongScaling, Variants: []gemm.Variant{v},
		Baselines: []gemm.Variant{variant("serial/ikj", product[float64])},
		Shapes:    []gemm.Shape{{M: 4, N: 5, K: 6}, {M: 40, N: 5, K: 6}}, Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 1,
		Sweep: map[string][]any{"threads": {1, 2}},
	}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"2 4x5 4x6 6x5 true", "2 40x5 40x6 6x5 true"}; !slices.Equal(touched, want) {
		t.Errorf("touched by threads, shapes, whether they are zero: %q, want %q", touched, want)
	}
	for _, r := range p.rows {
		if r.Status != OK {
			t.Errorf("%s %v: %s, %s", r.Variant, r.Params, r.Status, r.Reason)
		}
	}
}

// TestOperandsAreTouchedAgainByMore has a product on one thread draw the operands, and
// then products on more, and on fewer, use them.
func TestOperandsAreTouchedAgainByMore(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 || runtime.NumCPU() < 2 {
		t.Skip("needs two processors")
	}
	var touched []string
	toucher := func(name string) gemm.Variant {
		v := shared(name, nil)
		v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) {
			return touching{product[float64], p.Int("threads"), &touched}, nil
		}
		return v
	}
	library := shared("reference/library", product[float64])
	run(t, &Store{}, Ladder{
		Experiment: ArtificialLoad, Variants: []gemm.Variant{library, toucher("parallel/rows"), toucher("parallel/tiles")},
		Sweep: map[string][]any{"threads": {1, 2}, "load": {1}},
	}, 0)
	if want := []string{"2 8x8 8x8 8x8 true"}; !slices.Equal(touched, want) {
		t.Errorf("touched by threads, shapes, whether they are zero: %q, want %q, once", touched, want)
	}
}

// TestMostThreadsFirst checks the order in which contenders are prepared, for each setting: those
// that keep more processors busy first, then those with more threads, then libraries after our
// variants.
func TestMostThreadsFirst(t *testing.T) {
	ours, library := shared("parallel/packed", nil), shared("reference/library", nil)
	var cases []Case
	add := func(v gemm.Variant, p gemm.Params) {
		cases = append(cases, Request{Variant: v, Op: "nn", Params: p, Turn: "peers"}.Case())
	}
	add(variant("serial/packed", nil), nil)
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

// chunked returns a multiplier that adds spans if there is a timeline, and counts its calls with one.
func chunked(spans int, calls *int, fails error) multiplier[float64] {
	return func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		if line := timeline.Of(ctx); line != nil {
			*calls++
			if fails != nil {
				return fails
			}
			for i := range spans {
				line.Add(i%2, i, i+1, time.Now())
			}
		}
		return product(ctx, c, a, b)
	}
}

func TestTimelines(t *testing.T) {
	calls := 0
	store := &Store{}
	measure := func(spans int, fails error, timeline bool) []Record {
		calls = 0
		return run(t, store, Ladder{
			Experiment: ArtificialLoad, Variants: []gemm.Variant{shared("parallel/rows", chunked(spans, &calls, fails))},
			Sweep: map[string][]any{"schedule": {"static", "dynamic"}}, Timeline: timeline,
		}, 0)
	}
	if rows := measure(4, nil, false); len(rows) != 2 || calls != 0 || len(store.Document().Traces) != 0 {
		t.Fatalf("without --timeline: %d rows, %d products with one", len(rows), calls)
	}
	rows := measure(4, nil, true) // the rows are there, their timelines are not
	traces := store.Document().Traces
	if len(rows) != 2 || calls != 2 || len(traces) != 2 {
		t.Fatalf("%d rows, %d products with a timeline, %d traces; want 2 each", len(rows), calls, len(traces))
	}
	for i, trace := range traces {
		r := rows[i]
		if !store.Traced(r) || trace.Params.String() != r.Params.String() || trace.Resolved.String() != r.Resolved.String() ||
			trace.Experiment != ArtificialLoad || trace.Op != "nn" || trace.M != 8 || trace.Host != r.Host ||
			trace.Run != r.Run {
			t.Errorf("trace %d is %+v, of the row %+v", i, trace, r)
		}
		if len(trace.Spans) != 4 || trace.Workers != 1 || !(trace.Seconds > 0) || !(trace.Spans[3].End <= trace.Seconds+1) {
			t.Errorf("trace %d is %+v", i, trace)
		}
	}
	if rows := measure(4, nil, true); len(rows) != 0 || calls != 0 {
		t.Errorf("with rows and timelines on disk %d rows are measured again", len(rows))
	}

	store = &Store{}
	rows = measure(0, nil, true)
	if len(store.Document().Traces) != 0 || rows[0].Status != OK ||
		!rows[0].Warns(note.NoTimeline) {
		t.Errorf("a product without chunks: %d traces, %s, %q", len(store.Document().Traces), rows[0].Status,
			rows[0].Warnings)
	}
	if rows := measure(0, nil, true); len(rows) != 0 {
		t.Errorf("%d rows without a timeline are measured again and again", len(rows))
	}

	store = &Store{}
	rows = measure(4, errors.New("boom"), true)
	if r := rows[0]; len(store.Document().Traces) != 0 || r.Status != OK ||
		!slices.Contains(textsOf(r.Warnings), "no timeline: boom") {
		t.Errorf("a product that fails under a timeline: %d traces, %s, %q", len(store.Document().Traces),
			r.Status, r.Warnings)
	}
	if rows := measure(4, errors.New("boom"), true); len(rows) != 0 {
		t.Errorf("%d rows whose timeline failed are measured again and again", len(rows))
	}
}

// TestSlowProductsHaveTimeForBothChecks has a product that takes more than half of the
// row's time: it is multiplied once on integers and once for its sample.
func TestSlowProductsHaveTimeForBothChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Second
		slow := variant("parallel/inner", func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			time.Sleep(limit * 6 / 10)
			if err := ctx.Err(); err != nil {
				return err
			}
			return product(ctx, c, a, b)
		})
		var p silent
		d := Driver{Store: &Store{}, Budget: Budget{Reps: 6, Time: time.Millisecond, Timeout: limit}, Progress: &p}
		l := Ladder{Variants: []gemm.Variant{slow}, Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"},
			Ops: []string{"nn"}, Alpha: 1}
		if err := d.Run(t.Context(), l.Cases()); err != nil {
			t.Fatal(err)
		}
		if r := p.rows[0]; r.Status != OK || len(r.Samples) != 1 || r.CI != nil {
			t.Errorf("%s, %s, %d samples; want one", r.Status, r.Reason, len(r.Samples))
		}
	})
}

// TestSlowProductsInTurn measures slow products interleaved, with just enough time for a few samples.
// The rows are ok with these samples. A product that is slower than the earlier ones does not cost
// the row.
func TestSlowProductsInTurn(t *testing.T) {
	const took = 100 * time.Millisecond
	slow := func(name string) gemm.Variant {
		calls := 0
		return variant(name, func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			time.Sleep(took)
			if calls++; calls > 3 { // the product of integers, the warm-up, one sample
				time.Sleep(took * 4 / 10)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			return product(ctx, c, a, b)
		})
	}
	for _, test := range []struct {
		budget Budget
		most   int // samples
	}{
		{Budget{Reps: 6, Time: time.Millisecond, Timeout: 10 * took, Patience: took / 2}, 1},
		{Budget{Reps: 6, Time: time.Millisecond, Timeout: 100 * took, Patience: 3 * took}, 3},
		{Budget{Reps: 6, Time: time.Millisecond, Timeout: 4 * took}, 3},
		{Budget{Reps: 6, Time: time.Millisecond, Timeout: took * 33 / 10}, 1},
		{Budget{Reps: 6, Time: time.Millisecond, Timeout: took * 21 / 10}, 1},
	} {
		var p silent
		d := Driver{Store: &Store{}, Budget: test.budget, Progress: &p}
		l := Ladder{
			Variants: []gemm.Variant{slow("serial/packed"), slow("serial/gonum")}, // a turn
			Shapes:   []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1,
		}
		if err := d.Run(t.Context(), l.Cases()); err != nil {
			t.Fatal(err)
		}
		for _, r := range p.rows {
			if r.Status != OK || len(r.Samples) < 1 || len(r.Samples) > test.most || r.Turn == "" {
				t.Errorf("%+v: %s %s, %s, %d samples in turn %q; want at most %d", test.budget, r.Variant, r.Status, r.Reason,
					len(r.Samples), r.Turn, test.most)
			}
		}
	}
}
