package turn

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/schedule"
	"gemm/gemmtest"
	"gemm/internal/sample"
)

// pinned returns a variant for which no rate of a processor is measured: that would take time in a bubble.
func pinned(name string, f gemmtest.Func[float64]) gemm.Variant {
	v := gemmtest.Variant(name, f)
	v.Params = []gemm.Param{{Name: "affinity", Default: "close"}}
	return v
}

var testBudget = plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: 20 * time.Second}

// bench returns a bench on this host.
func bench(t *testing.T, budget plan.Budget, ceilings time.Duration) *Bench {
	t.Helper()
	host, err := record.DescribeHost()
	gemmtest.Must(t, err)
	return &Bench{Budget: budget, Ceilings: ceilings, Host: host, Run: "run"}
}

// measure measures the ladder, at n = 8 in f64 unless it says otherwise, and returns its rows and traces.
func measure(t *testing.T, b *Bench, l plan.Ladder) ([]record.Record, []record.Trace) {
	t.Helper()
	if l.Shapes == nil {
		l.Shapes = []gemm.Shape{gemm.Cube(8)}
	}
	if l.Types == nil {
		l.Types = []string{"f64"}
	}
	if l.Ops == nil {
		l.Ops = []string{"nn"}
	}
	if l.Alpha == 0 {
		l.Alpha = 1
	}
	cases := l.Cases()
	if b.Ceilings > 0 {
		gemmtest.Must(t, b.MeasureCeilings(t.Context(), cases, false))
	}
	var rows []record.Record
	var traces []record.Trace
	for _, turn := range schedule.Turns(cases) {
		r, x, err := b.Measure(t.Context(), turn)
		gemmtest.Must(t, err)
		rows, traces = append(rows, r...), append(traces, x...)
	}
	return rows, traces
}

// run measures the ladder on a new bench.
func run(t *testing.T, l plan.Ladder, ceilings time.Duration) []record.Record {
	t.Helper()
	rows, _ := measure(t, bench(t, testBudget, ceilings), l)
	return rows
}

// ladder measures the variants at n and returns their rows by name.
func ladder(t *testing.T, n int, variants ...gemm.Variant) map[string]record.Record {
	t.Helper()
	rows := map[string]record.Record{}
	for _, r := range run(t, plan.Ladder{Variants: variants, Shapes: []gemm.Shape{gemm.Cube(n)}}, time.Millisecond) {
		rows[r.Variant] = r
	}
	return rows
}

func TestNeighboursInTurn(t *testing.T) {
	var order []string
	logged := func(name string) gemm.Variant {
		return gemmtest.Variant(name, gemmtest.Observed(func() {
			if len(order) == 0 || order[len(order)-1] != name {
				order = append(order, name)
			}
		}))
	}
	rows := ladder(t, 48, logged("serial/packed"), logged("reference/other"))
	if got := strings.Join(order, " "); strings.Count(got, "serial/packed reference/other") < leastBursts {
		t.Errorf("calls came in the order %s, want %d turns at least", got, leastBursts)
	}
	for name, r := range rows {
		if r.Turn == "" || r.Status != record.OK || len(r.Samples) < testBudget.Reps {
			t.Errorf("%s: turn %q, %s, %d samples", name, r.Turn, r.Status, len(r.Samples))
		}
	}
}

// TestBursts checks the bursts of fast and slow candidates. A burst of the slowest has two samples,
// and the bursts of the others take as long; or there are as few bursts as allowed.
func TestBursts(t *testing.T) {
	const open = -1 // samples: as many as make the median known
	for _, test := range []struct {
		took    []time.Duration
		budget  plan.Budget
		bursts  int
		samples []int // of all bursts
	}{
		{[]time.Duration{time.Millisecond, 100 * time.Microsecond}, plan.Budget{Reps: 6, Time: time.Second}, mostBursts,
			[]int{960, 1000}},
		{[]time.Duration{time.Millisecond, 50 * time.Millisecond}, plan.Budget{Reps: 6, Time: time.Second}, 10,
			[]int{1000, 20}},
		{[]time.Duration{time.Millisecond, time.Millisecond}, plan.Budget{Reps: 100, Time: 96 * time.Millisecond}, mostBursts,
			[]int{144, 144}},
		{[]time.Duration{100 * time.Microsecond, time.Second}, plan.Budget{Reps: 6, Time: time.Second}, leastBursts,
			[]int{open, open}},
		{[]time.Duration{time.Millisecond, time.Millisecond}, plan.Budget{Reps: 6}, leastBursts, []int{open, open}},
		{[]time.Duration{time.Millisecond, time.Millisecond}, plan.Budget{Reps: 6, Time: time.Second, Bursts: 12}, 12,
			[]int{996, 996}},
	} {
		all := []*candidate{{err: errTimeout}} // never warm
		for _, took := range test.took {
			c := &candidate{sampler: sample.Sampler{Call: func(context.Context, int) (time.Duration, error) {
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
				gemmtest.Must(t, c.sampler.Burst(t.Context(), share))
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

// TestBurstsWeighAlike has a candidate slow down after its first burst: those after it count as much, each.
func TestBurstsWeighAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 2 * time.Millisecond
		calls, bursts, before := 0, 0, ""
		wait := func(name string) gemm.Variant {
			return pinned(name, gemmtest.Observed(func() {
				if name == "serial/packed" && before != name {
					bursts++ // the first of them warms up
				}
				before = name
				calls++
				if bursts > 2 {
					time.Sleep(slow)
				} else {
					time.Sleep(slow/2 + time.Duration(calls%3)*slow/20)
				}
			}))
		}
		budget := plan.Budget{Reps: 6, Time: leastBursts * 20 * slow, Timeout: 20 * time.Second}
		rows, _ := measure(t, bench(t, budget, 0),
			plan.Ladder{Variants: []gemm.Variant{wait("serial/packed"), wait("reference/other")}})
		r, late := rows[0], 0
		for _, seconds := range r.Samples {
			if seconds >= slow.Seconds() {
				late++
			}
		}
		if r.Status != record.OK || late < len(r.Samples)*(leastBursts-1)/leastBursts {
			t.Errorf("%s: %s, %d of %d samples are of the last %d of %d bursts", r.Variant, r.Status, late, len(r.Samples),
				leastBursts-1, leastBursts)
		}
	})
}

// TestSlowProductsInTurn measures slow products interleaved, with just enough time for a few samples. The rows are ok
// with these samples. A product that is slower than the earlier ones does not cost the row. One that takes more than
// half of the row's time is multiplied once on integers and once for its sample, and one that takes longer has none.
func TestSlowProductsInTurn(t *testing.T) {
	const took = 100 * time.Millisecond
	slow := func(name string) gemm.Variant {
		calls := 0
		return pinned(name, gemmtest.Observed(func() {
			time.Sleep(took)
			if calls++; calls > 3 { // the product of integers, the warm-up, one sample
				time.Sleep(took * 4 / 10)
			}
		}))
	}
	for _, test := range []struct {
		budget plan.Budget
		most   int // samples
	}{
		{plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: 10 * took, Patience: took / 2}, 1},
		{plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: 100 * took, Patience: 3 * took}, 3},
		{plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: 4 * took}, 3},
		{plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: took * 33 / 10}, 1},
		{plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: took * 21 / 10}, 1},
		{plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: took * 10 / 6}, 1},
		{plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: took / 2}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			rows, _ := measure(t, bench(t, test.budget, 0),
				plan.Ladder{Variants: []gemm.Variant{slow("serial/packed"), slow("serial/gonum")}}) // a turn
			for _, r := range rows {
				status := record.OK
				if test.most == 0 {
					status = record.Timeout
				}
				if r.Status != status || len(r.Samples) < min(1, test.most) || len(r.Samples) > test.most || r.Turn == "" ||
					r.CI != nil || status == record.Timeout && !strings.Contains(r.Reason.Text, "--timeout") {
					t.Errorf("%+v: %s %s, %s, %d samples in turn %q; want at most %d", test.budget, r.Variant, r.Status, r.Reason,
						len(r.Samples), r.Turn, test.most)
				}
			}
		})
	}
}

// TestDisturbs names the candidates after which the next one has to wait.
func TestDisturbs(t *testing.T) {
	at := func(name string, threads int, elsewhere bool) *candidate {
		of := plan.Request{Variant: gemmtest.Variant(name, nil)}
		c := &candidate{c: of.Case(), product: product{elsewhere: elsewhere}}
		c.row.Threads = threads
		return c
	}
	one, two := at("serial/packed", 1, false), at("parallel/packed", 2, false)
	library, threaded, inGo := at("reference/openblas", 1, true), at("reference/openblas", 2, true),
		at("reference/reedsolomon", 2, false)
	for _, test := range []struct {
		name         string
		before, next *candidate
		want         bool
	}{
		{"after one thread another", one, one, false},
		{"after one thread two", one, two, false},
		{"after workers one thread", two, one, true},
		{"after workers the same workers", two, two, false},
		{"after workers a library's", two, threaded, true},
		{"after workers a library's in Go", two, inGo, true},
		{"after one thread a library", one, library, false},
		{"after a library another", library, library, false},
		{"after a library one thread", library, one, true},
		{"after a library workers", library, two, true},
		{"after a library's workers one thread", threaded, one, true},
	} {
		if got := test.before.disturbs(test.next); got != test.want {
			t.Errorf("%s: disturbs is %v, want %v", test.name, got, test.want)
		}
	}
}
