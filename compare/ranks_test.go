package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gemm"
	"gemm/compare/note"
	"gemm/gf256"
	"gemm/mpi/account"
)

// onRanks returns a planted variant of the family mpi.
func onRanks(name string, f multiplier[float64]) gemm.Variant {
	v := variant(name, f)
	v.Params = []gemm.Param{
		{Name: "ranks", Default: 1, Min: 1}, {Name: "threads", Default: 1, Min: 0},
		{Name: "affinity", Default: "close", Choices: []string{"none", "close"}}, {Name: "panel", Default: 1, Min: 1},
	}
	return v
}

func TestCasesOnRanks(t *testing.T) {
	v := onRanks("mpi/a", product[float64])
	for _, test := range []struct {
		params               gemm.Params
		ranks, threads, each int
	}{
		{nil, 1, 1, 1},
		{gemm.Params{"ranks": 4}, 4, 4, 1},
		{gemm.Params{"ranks": 4, "threads": 3}, 4, 12, 3},
		{gemm.Params{"ranks": 2, "threads": 0}, 2, max(2, runtime.NumCPU()), max(2, runtime.NumCPU()) / 2},
		{gemm.Params{"ranks": 3, "affinity": "none"}, 3, 3, 1},
	} {
		c := Request{Variant: v, Type: "f64", Shape: gemm.Cube(8), Op: "nn", Params: test.params}.Case()
		if c.Ranks() != test.ranks || c.Threads() != test.threads || processors(c, 64) != test.each ||
			busy(c, 1) != test.threads {
			t.Errorf("%v: %d ranks, %d threads, %d processors of which %d are busy; want %d, %d, %d, %d", test.params,
				c.Ranks(), c.Threads(), processors(c, 64), busy(c, 1), test.ranks, test.threads, test.each, test.threads)
		}
		if !c.Pinned() {
			t.Errorf("%v: the driver would choose processors", test.params)
		}
	}
	if c := (Request{Variant: variant("serial/a", nil)}.Case()); c.Ranks() != 0 || c.Threads() != 1 || c.Pinned() {
		t.Errorf("a variant of one process has %d ranks and %d threads", c.Ranks(), c.Threads())
	}
}

func TestTurnsOnRanks(t *testing.T) {
	l := Ladder{
		Experiment: WeakScaling, Variants: []gemm.Variant{onRanks("mpi/a", nil), onRanks("mpi/b", nil)},
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

func TestOversubscribed(t *testing.T) {
	rank := func(host, cpus string) account.Rank { return account.Rank{Host: host, CPUs: cpus} }
	for _, test := range []struct {
		name  string
		quota Number
		each  int
		ranks []account.Rank
		want  string
	}{
		{"room", None(), 1, []account.Rank{rank("a", "0-1"), rank("a", "0-1")}, ""},
		{"shares", None(), 2, []account.Rank{rank("a", "0-1"), rank("a", "2,5")}, ""},
		{"three on two", None(), 1, []account.Rank{rank("a", "0-1"), rank("a", "0-1"), rank("a", "0-1")},
			"3 ranks with 3 threads share 2 processors"},
		{"threads", None(), 2, []account.Rank{rank("a", "0"), rank("a", "1")},
			"2 ranks with 4 threads share 2 processors"},
		{"two hosts", None(), 1, []account.Rank{rank("a", "0"), rank("b", "0")}, ""},
		{"the second host", None(), 1, []account.Rank{rank("a", "0"), rank("b", "0"), rank("b", "0")},
			"2 ranks with 2 threads share 1 processors"},
		{"quota", 1.5, 1, []account.Rank{rank("a", "0-3"), rank("a", "0-3")}, "quota of 1.5 processors"},
		{"not known", None(), 9, []account.Rank{rank("a", "")}, ""},
		{"nobody", None(), 1, nil, ""},
	} {
		r := Record{Ranks: test.ranks, Threads: test.each * len(test.ranks)}
		got := Host{Quota: test.quota}.oversubscribed(r)
		if (got.Text == "") != (test.want == "") || !strings.Contains(got.Text, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// scattered is a run of two ranks of which one is idle.
type scattered struct{ staged }

func (s *scattered) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &scattered{staged{c, a, b}}, nil
}

func (s *scattered) Resolved() gemm.Params { return gemm.Params{"threads": 3, "ranks": 2} }

func (s *scattered) Distribution() account.Distribution {
	return account.Distribution{
		Ranks: []account.Rank{{Rank: 0, Host: "a", CPUs: "0-1", Sent: 7}, {Rank: 1, Host: "a", CPUs: "0-1", Recv: 7}},
		Used:  1, Counted: 7, Predicted: 8, Bound: 6.5, Warnings: []note.Note{note.Read("1 of 2 ranks is idle")},
		Model: account.Model{Seconds: 1, Latency: 0.25, Transfer: 0.5, Compute: 0.75},
	}
}

func TestDistributionIsInTheRow(t *testing.T) {
	v := onRanks("mpi/scattered", nil)
	v.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return &scattered{}, nil }
	r := ladder(t, 8, v)["mpi/scattered"]
	if r.Status != OK || len(r.Ranks) != 2 || r.Ranks[1].Recv != 7 || r.RanksUsed != 1 || r.Threads != 6 ||
		r.BytesCounted != 7 || r.BytesPredicted != 8 || r.BytesBound != 6.5 || r.ModelSeconds != 1 ||
		r.ModelLatency != 0.25 || r.ModelTransfer != 0.5 || r.ModelCompute != 0.75 {
		t.Errorf("the row is %+v", r)
	}
	for _, want := range []string{"1 of 2 ranks is idle", "oversubscribed: 2 ranks with 6 threads share 2 processors"} {
		if !slices.ContainsFunc(r.Warnings, func(w note.Note) bool { return strings.HasPrefix(w.Text, want) }) {
			t.Errorf("the warnings are %q, want %q among them", r.Warnings, want)
		}
	}
}

// TestOutsideGrid counts ranks that a grid leaves out.
func TestOutsideGrid(t *testing.T) {
	for grid, want := range map[any]int{"1x1": 3, "2x2": 0, "1x1x3": 1, "auto": 0, nil: 0} {
		r := Record{Resolved: gemm.Params{"grid": grid}, Ranks: make([]account.Rank, 4)}
		if got := r.outsideGrid(); got != want {
			t.Errorf("the grid %v leaves out %d of 4 ranks, want %d", grid, got, want)
		}
	}
}

// gridded is a scattered whose grid has one rank.
type gridded struct{ scattered }

func (g *gridded) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &gridded{scattered{staged{c, a, b}}}, nil
}

func (g *gridded) Resolved() gemm.Params { return gemm.Params{"threads": 1, "ranks": 2, "grid": "1x1"} }

// TestPeakOfRanksThatComputed compares the shares of the peak of one rank and of two.
func TestPeakOfRanksThatComputed(t *testing.T) {
	one, two := onRanks("mpi/one", nil), onRanks("mpi/two", nil)
	one.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return &gridded{}, nil }
	two.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return &scattered{}, nil }
	rows := ladder(t, 8, one, two)
	share := func(name string) float64 { return float64(rows[name].PercentPeak) / float64(rows[name].Gflops) }
	if got := share("mpi/one") / share("mpi/two"); !(math.Abs(got-2) < 1e-9) {
		t.Errorf("a GFLOP/s is %v times the share of the peak of one rank that it is of two, want 2", got)
	}
}

// uneven is a scattered of which each product takes another time: 1 s, 2 s, 9 s, and again.
type uneven struct {
	scattered
	calls int
}

func (u *uneven) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &uneven{scattered: scattered{staged{c, a, b}}}, nil
}

func (u *uneven) took() time.Duration {
	return []time.Duration{time.Second, 2 * time.Second, 9 * time.Second}[u.calls%3]
}

func (u *uneven) Do(context.Context) (gemm.Cost, error) {
	u.calls++
	phases := map[string]time.Duration{"compute": u.took() / 2}
	if u.calls%2 == 0 {
		phases["collect"] = time.Duration(u.calls) * time.Second
	}
	return gemm.Cost{Time: u.took(), Phases: phases}, nil
}

func (u *uneven) Distribution() account.Distribution {
	d := u.scattered.Distribution()
	d.Ranks[0].Phases = map[string]float64{"compute": u.took().Seconds()}
	return d
}

// TestPhasesAreOfTheMedian has the last product, and the one that warms up, take another time
// than the median.
func TestPhasesAreOfTheMedian(t *testing.T) {
	v := onRanks("mpi/uneven", nil)
	v.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return &uneven{}, nil }
	var p silent
	d := Driver{Store: &Store{}, Budget: Budget{Reps: 7, Time: time.Nanosecond, Timeout: 20 * time.Second}, Progress: &p}
	l := Ladder{Variants: []gemm.Variant{v}, Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 1}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	r := p.rows[0]
	want := map[string]float64{"compute": 1, "collect": 5} // the latter of 2, 4, 6 and 8
	if r.Status != OK || len(r.Samples) != 7 || r.Median != 2 || !maps.Equal(r.Phases, want) {
		t.Errorf("%s, %q, samples %v, median %v, phases %v; want %v", r.Status, r.Reason, r.Samples, r.Median, r.Phases, want)
	}
	if len(r.Ranks) != 2 || r.Ranks[0].Phases["compute"] != 2 {
		t.Errorf("ranks %+v, want those of a product of 2 s", r.Ranks)
	}
}

// ranked stands in for the ranks that a driver starts: a driver of its own measures the
// task, until something that is planted happens.
type ranked struct {
	variants []gemm.Variant
	starts   [][]string // variants of the tasks, by start
	// plant is called with each case that is begun. An error ends the ranks.
	plant func(start int, c Case) error
	// early is what ends the ranks of a start before the first case; nil: nothing.
	early func(start int) error
	// silent are hosts that do not answer any more.
	silent []string
}

func (r *ranked) launch(ctx context.Context, ranks int, folder string) error {
	over := make(chan error, 64)
	var ended atomic.Bool // what is deferred runs then, which it does not where a process ends
	end := func(err error) {
		over <- err
		ended.Store(true)
		runtime.Goexit()
	}
	s := Served{Variants: r.variants}
	s.Probes = func(cases []Case) []Probe {
		var names []string
		for _, c := range cases {
			names = append(names, c.Variant.Name)
			if c.Ranks() != ranks {
				end(fmt.Errorf("%d ranks were started for %v", ranks, c))
			}
		}
		r.starts = append(r.starts, names)
		if r.early != nil {
			if err := r.early(len(r.starts)); err != nil {
				end(err)
			}
		}
		return []Probe{{
			Name: "ping-pong", Params: gemm.Params{"bytes": 1, "ranks": ranks}, Unit: "s",
			Samples: func(context.Context) ([]float64, error) { return []float64{1}, nil },
		}}
	}
	s.Lead = func(Budget) (*Lead, error) {
		return &Lead{
			Peak: func(_ string, threads int, _ time.Duration) (float64, error) {
				return 1000 * float64(threads*ranks), nil
			},
			GiveUp: func(reason string) { end(errors.New(reason)) },
			Silent: func() []string { return r.silent },
			Now: func(c Case) {
				if ended.Load() || r.plant == nil {
					return
				}
				if err := r.plant(len(r.starts), c); err != nil {
					end(err)
				}
			},
		}, nil
	}
	in, err := os.Open(filepath.Join(folder, taskFile))
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(folder, messageFile), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(in.Close(), out.Close()) }()
	go func() { over <- Serve(ctx, in, until{out, &ended}, s) }()
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until writes nothing any more once it has ended.
type until struct {
	to    io.Writer
	ended *atomic.Bool
}

func (u until) Write(data []byte) (int, error) {
	if u.ended.Load() {
		return len(data), nil
	}
	return u.to.Write(data)
}

// measured has a driver that starts r measure three variants at each number of ranks, and
// returns their rows by variant and ranks.
func (r *ranked) measured(t *testing.T, store *Store, ranks ...any) (map[string]Record, *silent) {
	t.Helper()
	if r.variants == nil {
		for _, name := range []string{"mpi/a", "mpi/b", "mpi/c"} {
			r.variants = append(r.variants, onRanks(name, product[float64]))
		}
	}
	cases := Ladder{
		Variants: r.variants, Shapes: []gemm.Shape{gemm.Cube(8), gemm.Cube(12)}, Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 1,
		Sweep: map[string][]any{"ranks": ranks},
	}.Cases()
	var p silent
	d := Driver{Store: store, Budget: testBudget, Progress: &p, Ceilings: time.Millisecond, MPI: "an MPI",
		Command: "gemm mpi", Launch: r.launch}
	if err := d.Run(t.Context(), cases); err != nil {
		t.Fatal(err)
	}
	rows := map[string]Record{}
	for _, x := range store.Document().Records {
		if x.Params["ranks"] == ranks[0] || len(ranks) > 1 {
			rows[fmt.Sprintf("%s %d on %v", x.Variant, x.N, x.Params["ranks"])] = x
		}
	}
	if want := 2 * len(r.variants) * len(ranks); len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	return rows, &p
}

func TestRanksAreStartedForAllTheirCases(t *testing.T) {
	store := &Store{}
	r := &ranked{}
	rows, p := r.measured(t, store, 3, 1)
	if len(r.starts) != 2 || len(r.starts[0]) != 6 {
		t.Errorf("ranks were started for %q", r.starts)
	}
	doc := store.Document()
	if len(doc.Runs) != 1 || doc.Runs[0].Command != "gemm mpi" || doc.Hosts[0].MPI != "an MPI" ||
		len(doc.Measurements) != 2 {
		t.Errorf("runs %+v, measurements %+v, the host's MPI is %q", doc.Runs, doc.Measurements, doc.Hosts[0].MPI)
	}
	for name, x := range rows {
		ranks := x.Params.Int("ranks")
		want := fmt.Sprintf("mpi f64 %d nn, %d ranks", x.N, ranks)
		if x.Status != OK || x.Run != doc.Runs[0].ID || x.Turn != want || x.Ceiling != float64(1000*ranks) {
			t.Errorf("%s: %s, run %s, turn %q, ceiling %v, %s", name, x.Status, x.Run, x.Turn, x.Ceiling, x.Reason)
		}
	}
	for _, m := range doc.Measurements {
		if m.Run != doc.Runs[0].ID || m.Name != "ping-pong" {
			t.Errorf("measured is %+v", m)
		}
	}
	for _, n := range []int{1, 3} {
		if !slices.ContainsFunc(doc.Hosts[0].Ceilings, func(c Ceiling) bool {
			return c.Threads == n && c.Run == doc.Runs[0].ID && c.Gflops == Number(1000*n)
		}) {
			t.Errorf("the ceilings are %+v, want one of %d threads", doc.Hosts[0].Ceilings, n)
		}
	}
	if len(p.began) == 0 || len(p.rows) != 12 {
		t.Errorf("progress was told of %d beginnings and %d rows", len(p.began), len(p.rows))
	}
	if _, p := r.measured(t, store, 3, 1); len(p.kept) != 12 || len(r.starts) != 2 {
		t.Errorf("the second time %d rows were kept, and ranks started for %q", len(p.kept), r.starts[2:])
	}
}

// TestCulpritAloneIsLost ends the ranks in one case, each time or once.
func TestCulpritAloneIsLost(t *testing.T) {
	r := &ranked{plant: func(_ int, c Case) error {
		if c.Variant.Name == "mpi/b" && c.N == 8 {
			return errors.New("rank 1 was killed by signal 9 (Killed)")
		}
		return nil
	}}
	rows, _ := r.measured(t, &Store{}, 2)
	for name, x := range rows {
		apart := slices.ContainsFunc(x.Warnings, func(w note.Note) bool {
			return w.Text == "measured apart: its turn was lost when mpi/b f64 8 ranks=2 ended the ranks: rank 1 was killed by signal 9 (Killed)"
		})
		switch {
		case name == "mpi/b 8 on 2":
			if x.Status != Failed || x.Reason.Text != "rank 1 was killed by signal 9 (Killed)" || x.Host == "" || x.Run == "" {
				t.Errorf("%s: %s, %q", name, x.Status, x.Reason)
			}
		case x.Status != OK || apart != (x.N == 8) || (x.Turn == "") != (x.N == 8):
			t.Errorf("%s: %s, turn %q, %s, warnings %q", name, x.Status, x.Turn, x.Reason, x.Warnings)
		}
	}
	if len(r.starts) != 2 || len(r.starts[1]) != 5 {
		t.Errorf("ranks were started for %q", r.starts)
	}
}

// TestLostHost loses a host in the second turn: no ranks are started for the rows that are left, which
// name it.
func TestLostHost(t *testing.T) {
	r := ranked{silent: []string{"node7"}}
	for _, name := range []string{"mpi/a", "mpi/b", "mpi/c"} {
		r.variants = append(r.variants, onRanks(name, func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			if name == "mpi/b" && c.Rows == 12 {
				panic("boom")
			}
			return product(ctx, c, a, b)
		}))
	}
	store := &Store{}
	r.measured(t, store, 2)
	if len(r.starts) != 1 {
		t.Errorf("ranks were started %d times", len(r.starts))
	}
	rows := store.Document().Records
	if len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, x := range rows {
		status, reason := OK, ""
		switch {
		case x.M == 12 && x.Variant == "mpi/b":
			status, reason = Failed, "host node7 does not answer any more: panicked: boom"
		case x.M == 12:
			status, reason = Failed, "host node7 does not answer any more"
		}
		if x.Status != status || x.Reason.Text != reason {
			t.Errorf("%s %d: %s, %q, want %s, %q", x.Variant, x.M, x.Status, x.Reason, status, reason)
		}
	}
}

func TestRanksThatCannotBeStarted(t *testing.T) {
	for _, test := range []struct {
		name   string
		early  func(start int) error
		status Status
		reason string
		starts int
	}{
		{"unavailable", func(int) error { return gemm.Unavailablef("there is no mpirun") }, Unavailable,
			"there is no mpirun", 1},
		{"always", func(int) error { return errors.New("too few slots") }, Failed, "too few slots", 2},
		{"once", func(start int) error {
			if start == 1 {
				return errors.New("rank 1 was killed")
			}
			return nil
		}, OK, "", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &ranked{early: test.early}
			rows, _ := r.measured(t, &Store{}, 2)
			again := 0
			for name, x := range rows {
				if x.Status != test.status || x.Reason.Text != test.reason {
					t.Errorf("%s: %s, %q", name, x.Status, x.Reason)
				}
				if slices.Contains(textsOf(x.Warnings), "the ranks were started again: rank 1 was killed") {
					again++
				}
			}
			if len(r.starts) != test.starts || again != 0 != (test.status == OK) {
				t.Errorf("ranks were started for %q, %d rows say again", r.starts, again)
			}
		})
	}
}

func TestRanksThatLeaveNoRow(t *testing.T) {
	r := &ranked{variants: []gemm.Variant{onRanks("mpi/a", nil)}}
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &silent{},
		Launch: func(context.Context, int, string) error { return nil }}
	l := Ladder{Variants: r.variants, Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"}, Ops: []string{"nn"},
		Alpha: 1, Sweep: map[string][]any{"ranks": {2}}}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	if x := d.Store.Document().Records[0]; x.Status != Failed || x.Reason.Text == "" {
		t.Errorf("%s %q", x.Status, x.Reason)
	}
}

// TestSilentRanksAreEnded checks that ranks are ended after the time limit of a row if rank 0 has
// stopped.
func TestSilentRanksAreEnded(t *testing.T) {
	v := []gemm.Variant{onRanks("mpi/a", nil), onRanks("mpi/b", nil)}
	l := Ladder{Variants: v, Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1,
		Sweep: map[string][]any{"ranks": {2}}}
	starts := 0
	d := Driver{Store: &Store{}, Budget: Budget{Reps: 6, Timeout: time.Millisecond}, Progress: &silent{},
		dead: 300 * time.Millisecond}
	d.Launch = func(ctx context.Context, _ int, folder string) error {
		starts++
		out, err := os.OpenFile(filepath.Join(folder, messageFile), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		first := 0
		if err := errors.Join(json.NewEncoder(out).Encode(message{Now: &first}), out.Close()); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	const want = "the ranks hung in mpi/a f64 8 ranks=2 and had to be ended"
	if err := d.Run(t.Context(), l.Cases()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, x := range d.Store.Document().Records {
		if x.Status != Timeout || x.Reason.Text != errSilent.Error() {
			t.Errorf("%s: %s %q", x.Variant, x.Status, x.Reason)
		}
	}
	if starts != 2 {
		t.Errorf("%d starts, want one for each case", starts)
	}
}

func TestInterruptedRanks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	store, err := OpenStore(path, Create)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &ranked{variants: []gemm.Variant{onRanks("mpi/a", product[float64])}, plant: func(_ int, c Case) error {
		if c.N == 12 {
			cancel()
		}
		return nil
	}}
	l := Ladder{Variants: r.variants, Shapes: []gemm.Shape{gemm.Cube(8), gemm.Cube(12)}, Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 1, Sweep: map[string][]any{"ranks": {2}}}
	d := Driver{Store: store, Budget: testBudget, Progress: &silent{}, Launch: r.launch}
	if err := d.Run(ctx, l.Cases()); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
	if doc, err := Load(path); err != nil || len(doc.Records) != 1 || doc.Records[0].N != 8 {
		t.Errorf("on disk are %+v, %v", doc.Records, err)
	}
}

// TestLeadGivesUp checks that a case that hangs, panics or leaves the ranks out of step has its row
// on disk and is not tried again. A case that only fails does not end the run.
func TestLeadGivesUp(t *testing.T) {
	for _, test := range []struct {
		name    string
		product func(ctx context.Context) error
		step    error // of the ceiling
		gives   bool
		status  Status
		reason  string
	}{
		{"hangs", func(context.Context) error { select {} }, nil, true, Timeout,
			"a rank hangs: nothing came back 200ms after its time limit of 1s"},
		{"panics", func(context.Context) error { panic("boom") }, nil, true, Failed, "panicked: boom"},
		{"out of step", func(context.Context) error { return errors.New("a message was lost") }, errors.New("out of step"),
			true, Failed, "a message was lost"},
		{"fails", func(context.Context) error { return errors.New("no room") }, nil, false, Failed, "no room"},
		{"slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, nil, false, Timeout,
			"took longer than the row's time limit of 1s: raise it with --timeout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := onRanks("mpi/a", func(ctx context.Context, _, _, _ gemm.Matrix[float64]) error { return test.product(ctx) })
			path := filepath.Join(t.TempDir(), "r.json")
			store, err := OpenStore(path, Create)
			if err != nil {
				t.Fatal(err)
			}
			gave := make(chan string, 8)
			returned := make(chan error, 1)
			d := Driver{Store: store, Budget: Budget{Reps: 6, Timeout: time.Second}, Progress: &silent{},
				grace: 200 * time.Millisecond, Lead: &Lead{
					Peak: func(string, int, time.Duration) (float64, error) { return 1, test.step },
					GiveUp: func(reason string) {
						gave <- reason
						runtime.Goexit()
					},
				}}
			l := Ladder{Variants: []gemm.Variant{v}, Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"},
				Ops: []string{"nn"}, Alpha: 1, Sweep: map[string][]any{"ranks": {2}}}
			go func() { returned <- d.Run(t.Context(), l.Cases()) }()
			select {
			case reason := <-gave:
				if !test.gives || reason != "mpi/a f64 8 ranks=2: "+test.reason {
					t.Errorf("given up: %s", reason)
				}
			case err := <-returned:
				if test.gives || err != nil {
					t.Errorf("Run = %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("neither given up nor done")
			}
			doc, err := Load(path)
			if err != nil || len(doc.Records) != 1 || doc.Records[0].Status != test.status ||
				doc.Records[0].Reason.Text != test.reason {
				t.Errorf("on disk are %+v, %v", doc.Records, err)
			}
		})
	}
}

// TestCeilingOfFields checks that products over GF(2⁸) have no FLOP/s, and that their ceiling counts
// multiplications and additions in the field.
func TestCeilingOfFields(t *testing.T) {
	v := variant("parallel/field", nil)
	v.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
	v.GF256 = func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
		return multiplier[gf256.Elem](product[gf256.Elem]), nil
	}
	l := Ladder{
		Experiment: StrongScaling, Variants: []gemm.Variant{v}, Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"gf256"},
		Ops: []string{"nn"}, Alpha: 1,
		Sweep: map[string][]any{"threads": {1, 2}},
	}
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &silent{}, Ceilings: time.Millisecond}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	for _, x := range d.Store.Document().Records {
		want := 100 * x.Rate / Number(highest(d.Store.Document(), x))
		if x.Status != OK || !(x.Ceiling > 0) || !(math.Abs(float64(x.PercentPeak/want)-1) < 1e-9) || x.Gflops.Known() {
			t.Errorf("%v: %s %s, rate %v of %v, which is %v %%, %v GFLOP/s", x.Params, x.Status, x.Reason, x.Rate, x.Ceiling,
				x.PercentPeak, x.Gflops)
		}
	}
	pipes := map[string]int{}
	for _, c := range d.Store.Document().Hosts[0].Ceilings {
		pipes[c.Pipe]++
	}
	if pipes["gf256"] == 0 || pipes["gf256"] != pipes["f64"] {
		t.Errorf("ceilings by pipe: %v", pipes)
	}
}
