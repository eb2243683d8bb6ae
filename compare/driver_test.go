package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/note"
	"gemm/cuda/usage"
	"gemm/gf256"
	"gemm/internal/gemmtest"
	"gemm/internal/sample"
)

// multiplier is a Multiplier made of a function.
type multiplier[T gemm.Element] func(ctx context.Context, c, a, b gemm.Matrix[T]) error

func (f multiplier[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return f(ctx, c, a, b)
}

// Loaded does not care: what a load costs is not what these tests are about.
func (f multiplier[T]) Loaded(int) gemm.Multiplier[T] { return f }

// product computes C = A·B by the textbook, with gemm.Classical as its bound.
func product[T gemm.Element](_ context.Context, c, a, b gemm.Matrix[T]) error {
	for i := range c.Rows {
		for j := range c.Cols {
			var sum T
			for l := range a.Cols {
				switch s := any(&sum).(type) {
				case *float32:
					*s += any(a.At(i, l)).(float32) * any(b.At(l, j)).(float32)
				case *float64:
					*s += any(a.At(i, l)).(float64) * any(b.At(l, j)).(float64)
				case *gf256.Elem:
					*s = gf256.Add(*s, gf256.Mul(any(a.At(i, l)).(gf256.Elem), any(b.At(l, j)).(gf256.Elem)))
				}
			}
			c.Set(i, j, sum)
		}
	}
	return nil
}

// textsOf returns the texts of notes.
func textsOf(notes []note.Note) []string {
	var texts []string
	for _, n := range notes {
		texts = append(texts, n.Text)
	}
	return texts
}

// variant returns a variant with f as its f64 implementation. Its capabilities are those of the
// other variants of its family.
func variant(name string, f multiplier[float64]) gemm.Variant {
	location, role, class := gemm.InProcess, gemm.Rung, gemm.Plain
	switch family, algorithm, _ := strings.Cut(name, "/"); {
	case family == "cuda":
		location = gemm.OnGPU
	case family == "mpi":
		location = gemm.OnRanks
	case algorithm == "python":
		role, class = gemm.Program, gemm.Interpreted
	case family == "reference":
		role = gemm.Library
	case algorithm == "packed":
		role, class = gemm.Production, gemm.Tuned
	case algorithm == "gonum":
		role = gemm.Baseline
	}
	return gemm.Variant{
		Location: location, Role: role, Class: class,
		Name: name, Doc: "A planted variant.", Bound: gemm.Classical,
		Model: func(s gemm.Shape, _ gemm.Params) gemm.Model {
			return gemm.Model{Flops: 2 * float64(s.M) * float64(s.N) * float64(s.K)}
		},
		F64: func(gemm.Params) (gemm.Multiplier[float64], error) { return f, nil },
	}
}

// silent is a Progress that keeps the rows.
type silent struct {
	began []Case
	rows  []Record
	kept  []Record
}

func (s *silent) Begin(cases []Case) { s.began = append(s.began, cases...) }
func (s *silent) Done(r Record, kept bool) {
	if kept {
		s.kept = append(s.kept, r)
		return
	}
	s.rows = append(s.rows, r)
}

var testBudget = Budget{Reps: 6, Time: time.Millisecond, Timeout: 20 * time.Second}

// ladder measures the variants at n and returns their rows by name.
func ladder(t *testing.T, n int, variants ...gemm.Variant) map[string]Record {
	t.Helper()
	var p silent
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &p, Ceilings: time.Millisecond}
	cases := Ladder{Variants: variants, Shapes: []gemm.Shape{gemm.Cube(n)}, Types: []string{"f64"}, Ops: []string{"nn"},
		Alpha: 1}.Cases()
	if err := d.Run(t.Context(), cases); err != nil {
		t.Fatal(err)
	}
	rows := map[string]Record{}
	for _, r := range d.Store.Document().Records {
		rows[r.Variant] = r
	}
	if len(rows) != len(variants) {
		t.Fatalf("%d rows of %d variants", len(rows), len(variants))
	}
	return rows
}

// TestRanIsInTheRow checks that a row says which variant computed its product, if it was another.
func TestRanIsInTheRow(t *testing.T) {
	v := variant("serial/recursive", product[float64])
	v.Ran = func(s gemm.Shape, _ gemm.Params) string {
		if s.M > 4 {
			return ""
		}
		return "serial/leaf"
	}
	for n, want := range map[int]any{4: "serial/leaf", 8: nil} {
		if got := ladder(t, n, v)[v.Name].Resolved["ran"]; got != want {
			t.Errorf("%d: %v ran, want %v", n, got, want)
		}
	}
}

func TestRowsOfGoodAndBrokenMultipliers(t *testing.T) {
	broken := func(name string, spoil func(c gemm.Matrix[float64])) gemm.Variant {
		return variant(name, func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			_ = product(ctx, c, a, b)
			spoil(c)
			return nil
		})
	}
	variants := []gemm.Variant{variant("test/good", product[float64])}
	for _, f := range gemmtest.Faults(1e9, 0.0) {
		variants = append(variants, broken("test/"+f.Name, f.Plant))
	}
	calls := 0
	variants = append(variants,
		variant("test/writes once", func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			if calls++; calls > 1 {
				return nil
			}
			return product(ctx, c, a, b)
		}),
	)
	rows := ladder(t, 33, variants...)
	for name, r := range rows {
		if name == "test/good" {
			if r.Status != OK || !r.Speed() || !(r.Residual <= r.Bound) || r.CI == nil || !r.Gflops.Known() ||
				!r.PercentPeak.Known() {
				t.Errorf("%s: %+v, want ok with a speed", name, r)
			}
			continue
		}
		if r.Status != Wrong || r.Speed() || r.Gflops.Known() || len(r.Samples) > 0 || r.Reason.Text == "" {
			t.Errorf("%s: status %s, speed %v, reason %q, want wrong without a speed", name, r.Status, r.Gflops, r.Reason)
		}
	}
}

func TestRowsThatFail(t *testing.T) {
	boom := errors.New("boom")
	unavailable := variant("test/unavailable", nil)
	unavailable.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return nil, gemm.ErrUnavailable }
	greedy := variant("test/greedy", product[float64])
	greedy.Model = func(gemm.Shape, gemm.Params) gemm.Model { return gemm.Model{Workspace: 1e18} }
	vague := variant("test/vague", product[float64]) // no integers are exact, and zeros are within its bound
	two := func(gemm.Shape, gemm.Params, float64) float64 { return 2 }
	vague.Bound = gemm.Bound{
		Kind: gemm.Componentwise, Worst: two, Random: two,
		Largest: func(gemm.Shape, gemm.Params) float64 { return 1e300 },
	}
	rows := ladder(t, 8,
		variant("test/error", func(context.Context, gemm.Matrix[float64], gemm.Matrix[float64], gemm.Matrix[float64]) error {
			return boom
		}),
		variant("test/panic", func(context.Context, gemm.Matrix[float64], gemm.Matrix[float64], gemm.Matrix[float64]) error {
			panic("ouch")
		}),
		unavailable, greedy, vague)
	for name, want := range map[string]struct {
		status Status
		reason string
	}{
		"test/error":       {Failed, "boom"},
		"test/panic":       {Failed, "panicked: ouch"},
		"test/unavailable": {Unavailable, "unavailable"},
		"test/greedy":      {Skipped, "needs"},
		"test/vague":       {Skipped, "not verified: the only proven bound, 2 (componentwise) for k = 8 in f64, is larger than the result"},
	} {
		r := rows[name]
		if r.Status != want.status || !strings.Contains(r.Reason.Text, want.reason) || r.Speed() {
			t.Errorf("%s: %s %q, want %s %q", name, r.Status, r.Reason, want.status, want.reason)
		}
	}
}

func TestSlowRowsTimeOutAndLargerOnesAreSkipped(t *testing.T) {
	slow := variant("test/slow", func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		<-ctx.Done()
		return ctx.Err()
	})
	var p silent
	d := Driver{Store: &Store{}, Budget: Budget{Reps: 6, Time: time.Millisecond, Timeout: 50 * time.Millisecond},
		Progress: &p}
	cases := Ladder{Variants: []gemm.Variant{slow}, Shapes: []gemm.Shape{gemm.Cube(64), gemm.Cube(8)},
		Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1}.Cases()
	if err := d.Run(t.Context(), cases); err != nil {
		t.Fatal(err)
	}
	if r := p.rows[0]; r.N != 8 || r.Status != Timeout || !strings.Contains(r.Reason.Text, "--timeout") {
		t.Errorf("n = %d: %s %q, want the small one first, timeout", r.N, r.Status, r.Reason)
	}
	if r := p.rows[1]; r.N != 64 || r.Status != Skipped || !strings.Contains(r.Reason.Text, "predicted") {
		t.Errorf("n = %d: %s %q, want skipped with the prediction", r.N, r.Status, r.Reason)
	}
	// With more time, the rows that were skipped are predicted to fit.
	d.Budget.Timeout = time.Minute
	cases = cases[1:]
	cases[0].Variant = variant("test/slow", product)
	if err := d.Run(t.Context(), cases); err != nil {
		t.Fatal(err)
	}
	if r := p.rows[2]; r.N != 64 || r.Status != OK {
		t.Errorf("with more time n = %d: %s %q", r.N, r.Status, r.Reason)
	}
}

func TestNeighboursInTurn(t *testing.T) {
	var order []string
	logged := func(name string) gemm.Variant {
		return variant(name, func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			if len(order) == 0 || order[len(order)-1] != name {
				order = append(order, name)
			}
			return product(ctx, c, a, b)
		})
	}
	rows := ladder(t, 48, logged("serial/packed"), logged("reference/other"))
	if got := strings.Join(order, " "); strings.Count(got, "serial/packed reference/other") < leastBursts {
		t.Errorf("calls came in the order %s, want %d turns at least", got, leastBursts)
	}
	for name, r := range rows {
		if r.Turn == "" || r.Status != OK || len(r.Samples) < testBudget.Reps {
			t.Errorf("%s: turn %q, %s, %d samples", name, r.Turn, r.Status, len(r.Samples))
		}
	}
}

// TestBursts checks the bursts of fast and slow contenders. A burst of the slowest has two samples,
// and the bursts of the others take as long; or there are as few bursts as allowed.
func TestBursts(t *testing.T) {
	const open = -1 // samples: as many as make the median known
	for _, test := range []struct {
		took    []time.Duration
		budget  Budget
		bursts  int
		samples []int // of all bursts
	}{
		{[]time.Duration{time.Millisecond, 100 * time.Microsecond}, Budget{Reps: 6, Time: time.Second}, mostBursts,
			[]int{960, 1000}},
		{[]time.Duration{time.Millisecond, 50 * time.Millisecond}, Budget{Reps: 6, Time: time.Second}, 10, []int{1000, 20}},
		{[]time.Duration{time.Millisecond, time.Millisecond}, Budget{Reps: 100, Time: 96 * time.Millisecond}, mostBursts,
			[]int{144, 144}},
		{[]time.Duration{100 * time.Microsecond, time.Second}, Budget{Reps: 6, Time: time.Second}, leastBursts,
			[]int{open, open}},
		{[]time.Duration{time.Millisecond, time.Millisecond}, Budget{Reps: 6}, leastBursts, []int{open, open}},
		{[]time.Duration{time.Millisecond, time.Millisecond}, Budget{Reps: 6, Time: time.Second, Bursts: 12}, 12,
			[]int{996, 996}},
	} {
		all := []*contender{{err: errTimeout}} // never warm
		for _, took := range test.took {
			c := &contender{sampler: sample.Sampler{Call: func(context.Context, int) (time.Duration, error) {
				return took, nil
			}}}
			if _, err := c.sampler.Warm(t.Context()); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		bursts := burstsOf(all, test.budget)
		if bursts != test.bursts {
			t.Errorf("%v in %v: %d bursts, want %d", test.took, test.budget.Time, bursts, test.bursts)
		}
		for i, c := range all[1:] {
			want := test.samples[i]
			for burst := range bursts {
				before := len(c.sampler.Seconds)
				if want == open {
					c.sampler.Seconds = make([]float64, 20*burst) // they scatter
					if share := c.share(test.budget, burst, bursts); share.Reps < 20*(burst+1) && burst > 0 ||
						share.Max <= share.Reps {
						t.Errorf("%v in %v: burst %d of %v ends with %d samples at least and %d at most, after 20 in each before",
							test.took, test.budget.Time, burst, test.took[i], share.Reps, share.Max)
					}
					continue
				}
				share := c.share(test.budget, burst, bursts)
				if err := c.sampler.Burst(t.Context(), share); err != nil {
					t.Fatal(err)
				}
				if got := len(c.sampler.Seconds) - before; got < want/bursts || got > (want+bursts-1)/bursts {
					t.Errorf("%v in %v: burst %d of %v has %d samples of %d", test.took, test.budget.Time, burst,
						test.took[i], got, want)
				}
			}
			if got := len(c.sampler.Seconds); want != open && got != want {
				t.Errorf("%v in %v: %v has %d samples, want %d", test.took, test.budget.Time, test.took[i], got, want)
			}
		}
	}
}

// TestBurstsWeighAlike has a contender slow down after its first burst: those after it count
// as much, each.
func TestBurstsWeighAlike(t *testing.T) {
	const slow = 2 * time.Millisecond
	calls, bursts, before := 0, 0, ""
	spin := func(name string) gemm.Variant {
		return variant(name, func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			if name == "serial/packed" && before != name {
				bursts++ // the first of them warms up
			}
			before = name
			calls++
			wait := slow/2 + time.Duration(calls%3)*slow/20
			if bursts > 2 {
				wait = slow
			}
			for start := time.Now(); time.Since(start) < wait; {
			}
			return product(ctx, c, a, b)
		})
	}
	var p silent
	d := Driver{Store: &Store{}, Budget: Budget{Reps: 6, Time: leastBursts * 20 * slow, Timeout: 20 * time.Second},
		Progress: &p}
	l := Ladder{Variants: []gemm.Variant{spin("serial/packed"), spin("reference/other")},
		Shapes: []gemm.Shape{gemm.Cube(4)}, Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	r, late := p.rows[0], 0
	for _, seconds := range r.Samples {
		if seconds >= slow.Seconds() {
			late++
		}
	}
	if r.Status != OK || late < len(r.Samples)*(leastBursts-1)/leastBursts {
		t.Errorf("%s: %s, %d of %d samples are of the last %d of %d bursts", r.Variant, r.Status, late, len(r.Samples),
			leastBursts-1, leastBursts)
	}
}

// TestNeighboursThatFillUpWithSamples takes so many samples that the first bursts alone could fill
// the limit of a row. Every burst must still leave a result.
func TestNeighboursThatFillUpWithSamples(t *testing.T) {
	calls := 0
	jitter := func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		calls++
		wait := 15 * time.Microsecond
		if calls%2 == 0 {
			wait *= 3
		}
		for start := time.Now(); time.Since(start) < wait; {
		}
		return product(ctx, c, a, b)
	}
	var p silent
	d := Driver{Store: &Store{}, Budget: Budget{Reps: 6, Time: 600 * time.Millisecond, Timeout: 20 * time.Second},
		Progress: &p}
	l := Ladder{Variants: []gemm.Variant{variant("serial/packed", jitter), variant("serial/gonum", jitter)},
		Shapes: []gemm.Shape{gemm.Cube(4)}, Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	for _, r := range p.rows {
		if r.Status != OK || len(r.Samples) > sample.MaxSamples {
			t.Errorf("%s: %s, %s (%d samples)", r.Variant, r.Status, r.Reason, len(r.Samples))
		}
	}
}

// TestBoundsOfOneVerifyNothing checks a variant whose own bound is above 1, and which multiplies no integers exactly: a
// right result is checked by norms, and a lost element is found.
func TestBoundsOfOneVerifyNothing(t *testing.T) {
	wide := func(gemm.Shape, gemm.Params, float64) float64 { return 3.9 }
	of := func(name string, spoil func(c gemm.Matrix[float64])) gemm.Variant {
		v := variant(name, func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			_ = product(ctx, c, a, b)
			spoil(c)
			return nil
		})
		v.Bound = gemm.Bound{Kind: gemm.Normwise, Worst: wide, Random: wide,
			Largest: func(gemm.Shape, gemm.Params) float64 { return 1e30 }}
		return v
	}
	rows := ladder(t, 33, of("test/good", func(gemm.Matrix[float64]) {}),
		of("test/nearly", func(c gemm.Matrix[float64]) { c.Set(5, 7, c.At(5, 7)*(1+1e-6)) }))
	for name, want := range map[string]Status{"test/good": OK, "test/nearly": Wrong} {
		if r := rows[name]; r.Status != want || r.BoundKind != gemm.Euclidean || !(r.Bound < 1e-7) {
			t.Errorf("%s: %s, %s bound %v, %s; want %s", name, r.Status, r.BoundKind, r.Bound, r.Reason, want)
		}
	}
}

// TestIntegersFindWhatRoundingHides plants an error below the bound.
func TestIntegersFindWhatRoundingHides(t *testing.T) {
	r := ladder(t, 33, variant("test/nearly", func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		_ = product(ctx, c, a, b)
		c.Set(5, 7, c.At(5, 7)*(1+0x1p-51))
		return nil
	}))["test/nearly"]
	if r.Status != Wrong || !strings.Contains(r.Reason.Text, "of integers") || r.Bound != 0 || !(r.Residual > 0) {
		t.Errorf("%s, residual %v, bound %v, %q; want wrong by the check on integers", r.Status, r.Residual,
			r.Bound, r.Reason)
	}
	if bound := gemm.Classical.Random(gemm.Cube(33), nil, 0x1p-53); bound < 0x1p-51 {
		t.Errorf("the bound is %g: the planted error is above it", bound)
	}
}

func TestResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	good := variant("test/good", product[float64])
	fails := true
	flaky := variant("test/flaky", func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		if fails {
			return errors.New("not yet")
		}
		return product(ctx, c, a, b)
	})
	cases := Ladder{Variants: []gemm.Variant{good, flaky}, Shapes: []gemm.Shape{gemm.Cube(8), gemm.Cube(9)},
		Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1}.Cases()
	run := func(ctx context.Context, command string) (*silent, error) {
		store, err := OpenStore(path, Resume)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		var p silent
		d := Driver{Store: store, Budget: testBudget, Progress: &p, Command: command}
		return &p, d.Run(ctx, cases)
	}
	// The first run is cancelled when its second row begins.
	ctx, cancel := context.WithCancel(t.Context())
	store, err := OpenStore(path, Create)
	if err != nil {
		t.Fatal(err)
	}
	p := &cancelling{cancel: cancel, after: 2}
	d := Driver{Store: store, Budget: testBudget, Progress: p, Command: "gemm serial"}
	if err := d.Run(ctx, cases); !errors.Is(err, context.Canceled) {
		t.Fatalf("Run = %v, want cancelled", err)
	}
	if doc, err := Load(path); err != nil || len(doc.Records) != 1 {
		t.Fatalf("%d rows on disk after the cancellation, %v; want the one that was done", len(doc.Records), err)
	}
	store.Close()
	if _, err := OpenStore(path, Create); !errors.Is(err, ErrExists) {
		t.Errorf("Create over records = %v, want ErrExists", err)
	}
	second, err := run(t.Context(), "gemm serial --resume")
	if err != nil || len(second.kept) != 1 || len(second.rows) != 3 {
		t.Fatalf("second run: kept %d, measured %d, %v; want 1, 3", len(second.kept), len(second.rows), err)
	}
	// A program of schema 1 has left them.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "\"hosts\":")
	if err := os.WriteFile(path, []byte("{\"schema\":1,\n\"hosts\":"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	fails = false
	third, err := run(t.Context(), "gemm serial --sizes 9 --resume")
	if err != nil || len(third.kept) != 2 || len(third.rows) != 2 {
		t.Fatalf("third run: kept %d, measured %d, %v; want the 2 failed ones again", len(third.kept), len(third.rows), err)
	}
	doc, err := Load(path)
	if err != nil || len(doc.Records) != 4 || len(doc.Runs) != 1 || len(doc.Hosts) != 1 {
		t.Fatalf("%d rows, %d runs, %d hosts, %v; want 4, 1, 1", len(doc.Records), len(doc.Runs), len(doc.Hosts), err)
	}
	if doc.Schema != Schema || len(doc.Variants) != 2 || doc.Variants[0].Name != good.Name {
		t.Errorf("schema %d with the variants %v", doc.Schema, doc.Variants)
	}
	want := []string{"gemm serial", "gemm serial --sizes 9 --resume"}
	if got := doc.Runs[0].Commands(); !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
	for _, r := range doc.Records {
		if r.Status != OK {
			t.Errorf("%s n=%d is %s after all", r.Variant, r.N, r.Status)
		}
	}
}

// cancelling cancels when the given number of rows has begun.
type cancelling struct {
	silent
	cancel context.CancelFunc
	after  int
}

func (c *cancelling) Begin(cases []Case) {
	c.silent.Begin(cases)
	if len(c.began) >= c.after {
		c.cancel()
	}
}

// staged is a Stager whose Multiply must not be called.
type staged struct{ c, a, b gemm.Matrix[float64] }

func (s *staged) Multiply(context.Context, gemm.Matrix[float64], gemm.Matrix[float64], gemm.Matrix[float64]) error {
	return errors.New("Multiply of a Stager was called")
}
func (s *staged) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &staged{c, a, b}, nil
}
func (s *staged) Do(context.Context) (gemm.Cost, error) {
	return gemm.Cost{Time: time.Second, Phases: map[string]time.Duration{"compute": time.Second}}, nil
}
func (s *staged) Collect(ctx context.Context) error { return product(ctx, s.c, s.a, s.b) }
func (s *staged) Close() error                      { return nil }

func TestStagersAreTimedByTheirOwnClock(t *testing.T) {
	v := variant("test/staged", nil)
	v.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return &staged{}, nil }
	r := ladder(t, 8, v)["test/staged"]
	if r.Status != OK || r.Median != 1 || r.Phases["compute"] != 1 {
		t.Errorf("%s, median %v s, phases %v, %q; want ok, 1 s by its own clock", r.Status, r.Median, r.Phases, r.Reason)
	}
}

// repeated is a staged that takes batches, and has something to say of its speed.
type repeated struct {
	staged
	most *int // products asked for at once
}

func (r *repeated) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &repeated{staged{c, a, b}, r.most}, nil
}

func (r *repeated) Repeat(_ context.Context, times int) (gemm.Cost, error) {
	*r.most = max(*r.most, times)
	return gemm.Cost{Time: time.Duration(times) * time.Microsecond}, nil
}

func (r *repeated) Warnings() []note.Note { return []note.Note{{Text: "it is asleep"}} }

func TestShortStagedProductsAreTimedInBatches(t *testing.T) {
	most := 0
	v := variant("reference/repeated", nil)
	v.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return &repeated{most: &most}, nil }
	r := ladder(t, 8, v)["reference/repeated"]
	if r.Status != OK || r.Median != 1e-6 || most < 20 || r.Inner != most {
		t.Errorf("%s, median %v s, %d at once, inner %d, %q; want ok, 1 µs, batches of 20 µs at least", r.Status, r.Median,
			most, r.Inner, r.Reason)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Text != "it is asleep" {
		t.Errorf("the warnings are %q, want its own and none of the call", r.Warnings)
	}
}

// TestCeilingInTurn measures contenders on one thread and on two in one group.
func TestCeilingInTurn(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	procs := map[string]int{}
	v := func(name string) gemm.Variant {
		v := variant(name, func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			procs[name] = runtime.GOMAXPROCS(0)
			return product(ctx, c, a, b)
		})
		if name != "serial/packed" {
			v.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
		}
		return v
	}
	var p silent
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &p, Ceilings: time.Millisecond}
	before := runtime.GOMAXPROCS(0)
	l := Ladder{
		Variants: []gemm.Variant{v("serial/packed"), v("parallel/packed")}, Shapes: []gemm.Shape{gemm.Cube(48)},
		Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1,
		Sweep: map[string][]any{"threads": {2}},
	}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	if len(p.rows) != 2 || p.rows[0].Turn == "" || p.rows[0].Turn != p.rows[1].Turn {
		t.Fatalf("the rows are %+v, want two in turn", p.rows)
	}
	for _, r := range d.Store.Rows(p.rows) {
		if want := 100 * float64(r.Gflops) / highest(d.Store.Document(), r); r.Status != OK || !(r.Ceiling > 0) ||
			math.Abs(float64(r.PercentPeak)-want) > 1e-9*want {
			t.Errorf("%s: %s, ceiling %v, %v %% of it, want %v", r.Variant, r.Status, r.Ceiling, r.PercentPeak, want)
		}
	}
	if p.rows[0].Ceiling == p.rows[1].Ceiling {
		t.Errorf("the ceilings of one thread and of two are both %v", p.rows[0].Ceiling)
	}
	if procs["serial/packed"] != 1 || procs["parallel/packed"] < 2 || runtime.GOMAXPROCS(0) != before {
		t.Errorf("processors in use: %v, %d afterwards, want 1, 2 or more, and %d", procs, runtime.GOMAXPROCS(0), before)
	}
}

// highest returns the highest peak in d of the type of r and of as many threads.
func highest(d Document, r Record) float64 {
	most := 0.0
	for _, c := range d.Hosts[0].Ceilings {
		if c.Pipe == r.Type && c.Threads == r.Threads {
			most = max(most, float64(c.Gflops))
		}
	}
	for _, x := range d.Records {
		if x.Type == r.Type && x.Threads == r.Threads {
			most = max(most, x.Ceiling)
		}
	}
	return most
}

func TestProbesAreRecordedOnce(t *testing.T) {
	var p silent
	store := &Store{}
	for range 2 {
		calls := 0
		d := Driver{Store: store, Budget: testBudget, Progress: &p, Ceilings: time.Millisecond, Probes: []Probe{{
			Name: "micro-kernel", Params: gemm.Params{"type": "f64"}, Flops: 100,
			Call: func() {
				calls++
				for begin := time.Now(); time.Since(begin) < 20*time.Microsecond; {
				}
			},
		}}}
		if err := d.Run(t.Context(), nil); err != nil || calls == 0 {
			t.Fatalf("%v after %d calls", err, calls)
		}
	}
	ms := store.Document().Measurements
	if len(ms) != 1 || len(ms[0].Samples) < 6 || !(ms[0].Samples[0] > 0 && ms[0].Samples[0] <= 100/20e-6/1e9) {
		t.Errorf("measurements %+v, want one of at most 5e-3 GFLOP/s", ms)
	}
}

func TestProbesWithSamplesOfTheirOwn(t *testing.T) {
	store := &Store{}
	d := Driver{Store: store, Budget: testBudget, Progress: &silent{}, Probes: []Probe{
		{Name: "fork-join", Params: gemm.Params{"threads": 2}, Unit: "ns", Samples: func(context.Context) ([]float64, error) {
			return []float64{3, math.Inf(1), 1, math.NaN(), 2}, nil
		}},
		{Name: "fork-join", Params: gemm.Params{"runtime": "libgomp"}, Unit: "ns",
			Samples: func(context.Context) ([]float64, error) {
				return nil, gemm.Unavailablef("no C compiler")
			}},
	}}
	if err := d.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ms := store.Document().Measurements
	if len(ms) != 2 || ms[0].Unit != "ns" || !slices.Equal(ms[0].Samples, []float64{3, 1, 2}) || ms[0].Reason != "" {
		t.Errorf("measurements %+v, want the finite samples in ns", ms)
	}
	if len(ms) != 2 || len(ms[1].Samples) != 0 || ms[1].Reason != "no C compiler" {
		t.Errorf("measurements %+v, want the reason why the second has no samples", ms)
	}
	if _, err := store.Encode(); err != nil {
		t.Error(err)
	}
}

func TestNonGemmersAreUnavailableForTransposes(t *testing.T) {
	var p silent
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &p}
	l := Ladder{Variants: []gemm.Variant{variant("test/plain", product[float64])}, Shapes: []gemm.Shape{gemm.Cube(8)},
		Types: []string{"f64"}, Ops: []string{"tn"}, Alpha: 1}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	if r := p.rows[0]; r.Status != Unavailable || !strings.Contains(r.Reason.Text, "C = A·B only") {
		t.Errorf("%s %q, want unavailable", r.Status, r.Reason)
	}
}

func TestRecordsSurviveNumbersThatJSONHasNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	store, err := OpenStore(path, Create)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Variant: variant("test/nan", nil), Type: "f64", Shape: gemm.Cube(2), Op: "nn"}.Case().record()
	r.Status, r.Reason.Text = Wrong, "NaN"
	if err := store.Put(r); err != nil {
		t.Fatal(err)
	}
	doc, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Records[0]; got.Residual.Known() || got.Median.Known() || got.Variant != "test/nan" {
		t.Errorf("read back %+v", got)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), `"residual":null`) || !json.Valid(data) {
		t.Errorf("residual is not null in %s (%v)", data, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for data, want := range map[string]string{
		``:                             "no records",
		`{"schema":1`:                  "no records",
		`[]`:                           "no records",
		`{}`:                           "no schema",
		`{"schema":99}`:                "newer gemm",
		`{"schema":0}`:                 "schema is 0",
		`{"schema":1,"shards":[]}`:     "no records",
		`{"schema":1,"records":[3]}`:   "no records",
		`{"schema":1,"records":"abc"}`: "no records",
	} {
		_, err := Parse([]byte(data))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%s) = %v, want one line with %q", data, err, want)
		}
	}
}

func TestMergeKeepsEveryRowOnce(t *testing.T) {
	row := func(host string, n int) Record {
		r := Request{Variant: variant("test/x", nil), Type: "f64", Shape: gemm.Cube(n), Op: "nn"}.Case().record()
		r.Host = host
		return r
	}
	one := Document{Schema: 1, Hosts: []Host{{ID: "a", MPI: "Open MPI"}}, Records: []Record{row("a", 1), row("a", 2)}}
	two := Document{Schema: 1, Hosts: []Host{{ID: "b"}, {ID: "a"}}, Records: []Record{row("b", 1), row("a", 2)}}
	doc, err := Merge(one, two)
	if err != nil || len(doc.Hosts) != 2 || len(doc.Records) != 3 || doc.Hosts[0].MPI != "Open MPI" {
		t.Errorf("%+v, %d rows, %v; want 2 hosts with what one of the documents says of them, and 3 rows", doc.Hosts,
			len(doc.Records), err)
	}
}

// TestMergeKeepsTurnsApart checks that a merged document has one turn for rows that were sampled
// interleaved, and another turn for all others.
func TestMergeKeepsTurnsApart(t *testing.T) {
	doc := func(second float64, names ...string) Document {
		d := Document{Schema: 1}
		for _, name := range names {
			r := Request{Variant: variant(name, nil), Type: "f64", Shape: gemm.Cube(8), Op: "nn", Turn: "t"}.Case().record()
			r.Host, r.Status, r.Samples, r.Median = "a", OK, []float64{second}, Number(second)
			if name == "test/slow" {
				r.Status, r.Samples, r.Median = Timeout, nil, 0
			}
			d.Records = append(d.Records, r)
		}
		return d
	}
	// resumed has the last row in a part of its own.
	resumed := func(d Document) Document {
		d.Records[len(d.Records)-1].Turn = "t, part 2"
		return d
	}
	for _, test := range []struct {
		docs []Document
		want map[string]string
	}{
		{[]Document{doc(1, "test/x", "test/y"), doc(1, "test/x", "test/y", "test/z")},
			map[string]string{"test/x": "t", "test/y": "t", "test/z": "t"}},
		{[]Document{doc(1, "test/x"), doc(2, "test/y", "test/z"), doc(3, "test/u")},
			map[string]string{"test/x": "t", "test/y": "t, part 2", "test/z": "t, part 2", "test/u": "t, part 3"}},
		{[]Document{doc(1, "test/x", "test/y"), doc(2, "test/x")}, map[string]string{"test/x": "t, part 2", "test/y": "t"}},
		{[]Document{doc(1, "test/x"), resumed(doc(2, "test/y", "test/z"))},
			map[string]string{"test/x": "t", "test/y": "t, part 3", "test/z": "t, part 2"}},
		{[]Document{doc(1, "test/x", "test/slow"), doc(2, "test/y", "test/slow")},
			map[string]string{"test/x": "t", "test/y": "t, part 2", "test/slow": "t, part 2"}},
	} {
		merged, err := Merge(test.docs...)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, r := range merged.Records {
			got[r.Variant] = r.Turn
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("turns are %v, want %v", got, test.want)
		}
	}
}

func TestUnwritableFolderIsFoundAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(filepath.Join(file, "results.json"), Create); err == nil {
		t.Error("a folder that is a file passes for writable")
	}
	if _, err := OpenStore(t.TempDir(), Replace); err == nil {
		t.Error("a folder passes for a file that may be replaced")
	}
}

// gemmStager stages α·A·B + β·C, and computes it when it is collected.
type gemmStager struct {
	staged
	alpha, beta float64
	c0          gemm.Matrix[float64]
}

func (s *gemmStager) Gemm(context.Context, blas.Transpose, blas.Transpose, float64, gemm.Matrix[float64],
	gemm.Matrix[float64], float64, gemm.Matrix[float64]) error {
	return errors.New("Gemm of a GemmStager was called")
}

func (s *gemmStager) StageGemm(_ context.Context, _, _ blas.Transpose, alpha float64, a, b gemm.Matrix[float64],
	beta float64, c gemm.Matrix[float64]) (gemm.Run, error) {
	c0 := gemm.NewMatrix[float64](c.Rows, c.Cols)
	for i := range c.Rows {
		copy(c0.Row(i), c.Row(i))
	}
	return &gemmStager{staged{c, a, b}, alpha, beta, c0}, nil
}

func (s *gemmStager) Collect(ctx context.Context) error {
	if err := product(ctx, s.c, s.a, s.b); err != nil {
		return err
	}
	for i := range s.c.Rows {
		for j := range s.c.Cols {
			s.c.Set(i, j, s.alpha*s.c.At(i, j)+s.beta*s.c0.At(i, j))
		}
	}
	return nil
}

func TestGemmStagersAreStaged(t *testing.T) {
	v := variant("test/staged", nil)
	v.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return &gemmStager{}, nil }
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &silent{}}
	l := Ladder{Variants: []gemm.Variant{v}, Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 2, Beta: -3, LD: 1}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	if r := d.Store.Document().Records[0]; r.Status != OK || r.Median != 1 {
		t.Errorf("%s %q, median %v s; want ok, 1 s by its own clock", r.Status, r.Reason, r.Median)
	}
}

// lazy is on a device, and collects nothing of its second product.
type lazy struct {
	staged
	stages int
}

func (s *lazy) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	s.stages++
	s.staged = staged{c, a, b}
	return s, nil
}

func (s *lazy) Device() usage.Device { return usage.Device{Pipe: "f64"} }

func (s *lazy) Watts() float64 { return 0 }

func (s *lazy) Collect(ctx context.Context) error {
	if s.stages > 1 {
		return nil
	}
	return s.staged.Collect(ctx)
}

// TestStaleResultsOfADevice has a variant that collects nothing after one that did.
func TestStaleResultsOfADevice(t *testing.T) {
	good, stale := variant("cuda/good", nil), variant("cuda/stale", nil)
	good.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return &scattered{}, nil }
	stale.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return &lazy{}, nil }
	rows := ladder(t, 8, good, stale)
	if rows["cuda/good"].Status != OK || rows["cuda/stale"].Status != Wrong ||
		rows["cuda/stale"].Turn != rows["cuda/good"].Turn {
		t.Errorf("%s and %s, want ok and wrong", rows["cuda/good"].Status, rows["cuda/stale"].Status)
	}
}

// TestLibraryInGo checks that a library that starts goroutines is called from a goroutine that is
// not locked to its thread. All other variants are called from a locked one.
func TestLibraryInGo(t *testing.T) {
	locked := map[string]bool{} // of the last call of each row
	library := func(name string) gemm.Variant {
		v := variant(name, nil)
		v.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
		v.GF256 = func(p gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
			return multiplier[gf256.Elem](func(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
				var head [100]byte
				locked[fmt.Sprint(name, p)] = bytes.Contains(head[:runtime.Stack(head[:], false)], []byte("locked to thread"))
				return product(ctx, c, a, b)
			}), nil
		}
		return v
	}
	l := Ladder{
		Variants: []gemm.Variant{library("reference/a"), library("parallel/a")}, Shapes: []gemm.Shape{{M: 2, N: 64, K: 3}},
		Types: []string{"gf256"},
		Ops:   []string{"nn"}, Alpha: 1, Sweep: map[string][]any{"threads": {1, 2}},
	}
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &silent{}}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"reference/athreads=1": true, "reference/athreads=2": false, "parallel/athreads=1": true,
		"parallel/athreads=2": true}
	if !maps.Equal(locked, want) {
		t.Errorf("locked to a thread: %v, want %v", locked, want)
	}
}
