package claim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/gemmtest/reporttest"
)

func view(rows ...record.Record) *analysis.View {
	return analysis.Views(reporttest.Many(rows...))[0]
}

func claimed(t *testing.T, id string) *Claim {
	t.Helper()
	i := slices.IndexFunc(Claims(), func(c Claim) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("there is no claim %s", id)
	}
	return &Claims()[i]
}

// row returns a row of a setting at n on the given workers, interleaved with the others at n.
func row(c *Claim, s Setting, n, workers int, seconds float64) record.Record {
	var params []any
	for name, value := range s.Params {
		if name == "threads" {
			workers = value.(int)
			continue
		}
		params = append(params, name, value)
	}
	change := reporttest.ThreadsOf(record.StrongScaling, workers, params...)
	local := "serial/ikj"
	switch c.Rows.Family {
	case analysis.OnRanks:
		change, local = reporttest.OnRanks(record.StrongScaling, workers, params...), "serial/naive"
	case analysis.OnGPU:
		change = reporttest.Experiment(record.MainLadder)
	}
	return reporttest.OnLocal(local, reporttest.Row(view().WithPart(s.Part), n, seconds, change,
		reporttest.Turn(fmt.Sprint(c.Rows.Family, n))))[0]
}

// measured returns rows of a claim at three sizes, in which the time of Slow is ratio times the time of Fast.
func measured(c *Claim, ratio float64) []record.Record {
	var rows []record.Record
	workers := max(c.Rows.From, 2)
	for _, n := range []int{512, 1024, 2048} {
		slow, fast := row(c, c.Slow, n, workers, ratio), row(c, c.Fast, n, workers, 1)
		if c.Vary != "" {
			values := append(slices.Clone(c.Values), 1, 16)
			slow, fast = row(c, c.Of, n, workers, ratio), row(c, c.Of, n, workers, 1)
			slow.Params[c.Vary], fast.Params[c.Vary] = values[0], values[1]
		}
		rows = append(rows, slow, fast)
	}
	return rows
}

// TestClaimsFlip makes times as every claim has them, and the opposite.
func TestClaimsFlip(t *testing.T) {
	ratios := map[string]float64{"same": 1, "faster": 2, "slightly": 1.15, "much": 2, "hardly": 1.1, "inverse": 2}
	for i := range Claims() {
		c := &Claims()[i]
		ratio, ok := ratios[c.Range]
		if len(c.Times) == 2 {
			ratio, ok = math.Sqrt(c.Times[0]*c.Times[1]), c.Times[0] <= c.Times[1]
		}
		if !ok || c.Text["en"] == "" || c.Text["zh"] == "" || c.Page["en"] == "" || c.Page["zh"] == "" {
			t.Errorf("%s: a range, a text or a page is missing", c.ID)
		}
		flipped, want := 1/ratio, Reversed
		if c.Range == "same" {
			flipped, want = 1.5, Refuted
		}
		if j := c.Evaluate(view(measured(c, ratio)...)); j.Verdict() != Supported || len(j.Cases) != 3 {
			t.Errorf("%s: %v of %d cases", c.ID, j.Verdict(), len(j.Cases))
		} else if !(math.Abs(j.Least().Ratio/ratio-1) < 1e-9) || j.Needs != 0 {
			t.Errorf("%s: the ratio is %v, %d processors are needed", c.ID, j.Least().Ratio, j.Needs)
		}
		if j := c.Evaluate(view(measured(c, flipped)...)); j.Verdict() != want || j.Decided() != 3 {
			t.Errorf("%s, flipped: %v of %d decided cases, want %v", c.ID, j.Verdict(), j.Decided(), want)
		}
		if j := c.Evaluate(view()); j.Verdict() != Unmeasured {
			t.Errorf("%s, without rows: %v", c.ID, j.Verdict())
		}
		command := Commands(view(), "gemm", c)[0]
		if f := c.Rows.Family; strings.Contains(command, "{") || !strings.HasPrefix(command, "gemm "+f+" --") ||
			!strings.Contains(command, f+"/") {
			t.Errorf("%s: the command is %q", c.ID, command)
		}
	}
}

func each(rows []record.Record, change func(r *record.Record)) []record.Record {
	for i := range rows {
		change(&rows[i])
	}
	return rows
}

func apart(r *record.Record) { r.Turn = r.Variant + fmt.Sprint(r.Params) }

func of(variant string, change func(*record.Record)) func(*record.Record) {
	return func(r *record.Record) {
		if r.Variant == variant {
			change(r)
		}
	}
}

// param returns a change of a parameter, local one of the loops of each worker, and ranks one of their number.
func param(name string, value any) func(*record.Record) {
	return func(r *record.Record) { r.Params[name] = value }
}

func local(name string) func(*record.Record) {
	return func(r *record.Record) { r.Resolved["local"] = name }
}

func ranks(n int) func(*record.Record) {
	return func(r *record.Record) { r.Params["ranks"], r.Threads = n, n }
}

func half(r *record.Record) {
	n := r.N / 2
	r.Shape, r.LDA, r.LDB, r.LDC = gemm.Cube(n), n, n, n
}

// TestOnlyMatchingRows checks that rows of other kernels, sizes and settings are no cases, and what the others say.
func TestOnlyMatchingRows(t *testing.T) {
	const kernel = "parallel/collapse-atomic"
	named := func(name string) func(*record.Record) { return func(r *record.Record) { r.Variant = name } }
	at512 := func(change func(*record.Record)) func(*record.Record) {
		return func(r *record.Record) {
			if r.N == 512 {
				change(r)
			}
		}
	}
	few := func(r *record.Record) { reporttest.Sampled(3, float64(r.Median))(r) }
	for _, test := range []struct {
		name, id string
		ratio    float64
		change   func(*record.Record)
		want     Verdict
		all      int
	}{
		{"not interleaved", "ahead", 1.15, apart, Unmeasured, 0},
		{"chunks not interleaved", "chunk", 1, apart, Unmeasured, 0},
		{"ranks of different launches", "blocks", 1.15, apart, Unmeasured, 0},
		{"kernels not interleaved", "lab-shared", 2, apart, Unmeasured, 0},
		{"few samples", "few", 2, few, Undecided, 3},
		{"chunks in few samples", "chunk", 1, few, Undecided, 3},
		{"what a drift may explain", "single", 1.4, apart, Undecided, 3},
		{"what no drift explains", "single", 1.8, apart, Supported, 3},
		{"the opposite, beyond a drift", "single", 1 / 1.8, apart, Reversed, 3},
		{"far more than claimed", "private", 77, apart, Refuted, 3},
		{"less than claimed", "private", 1.2, func(*record.Record) {}, Refuted, 3},
		{"not faster", "reduction", 1, func(*record.Record) {}, Refuted, 3},
		{"a speed-up below the threads", "inverse", 1.5, func(*record.Record) {}, Refuted, 3},
		{"another kernel on ranks", "blocks", 1.15, local("serial/packed"), Unmeasured, 0},
		{"a load", "ahead", 1.15, reporttest.Experiment(record.ArtificialLoad), Unmeasured, 0},
		{"another kernel", "chunk", 2, of(kernel, named("parallel/rows")), Unmeasured, 0},
		{"other loops for rows of C", "single", 2, local("serial/naive"), Unmeasured, 0},
		{"a master that computes", "few", 2, param("master", "works"), Unmeasured, 0},
		{"auto", "private", 2.5, param("schedule", "auto"), Unmeasured, 0},
		{"chunks that leave workers idle", "chunk", 2, param("chunk", 1<<30), Unmeasured, 0},
		{"a stand-in for the lab's kernel", "lab-transposed", 2, of("cuda/packed-smem", named("cuda/smem")), Unmeasured, 0},
		{"small matrices on ranks", "few", 2, half, Undecided, 2},
		{"many ranks", "few", 2, ranks(8), Unmeasured, 0},
		{"few ranks", "many", 1.1, ranks(4), Unmeasured, 0},
		{"two experiments", "private", 2.5, of(kernel, reporttest.Experiment(record.ChunkSizes)), Unmeasured, 0},
		{"one that is wrong", "private", 2.5, at512(reporttest.WithStatus(record.Wrong, "one element")), Undecided, 2},
		{"small matrices on a GPU", "lab-tensor", 2.37, half, Undecided, 2},
		{"two problems", "private", 2.5, of(kernel, func(r *record.Record) { r.Beta = 1 }), Unmeasured, 0},
		{"more ranks than processors", "many", 1.1, ranks(32), Unmeasured, 0},
		{"one that differs", "private", 2.5, at512(reporttest.Sampled(20, 1)), Mixed, 3},
	} {
		c := claimed(t, test.id)
		j := c.Evaluate(view(each(measured(c, test.ratio), test.change)...))
		if j.Verdict() != test.want || len(j.Cases) != test.all {
			t.Errorf("%s: %s is %v of %d cases, want %v of %d", test.name, test.id, j.Verdict(), len(j.Cases), test.want,
				test.all)
		}
	}
	chunks := claimed(t, "chunk")
	third := row(chunks, chunks.Of, 512, 2, 1)
	third.Params["chunk"] = 4
	few(&third)
	if j := chunks.Evaluate(view(append(measured(chunks, 1), third)...)); j.Count(Open) != 1 || j.Count(Holds) != 2 {
		t.Errorf("of a chunk with few samples, all pairs are called the same: %v", j.Verdict())
	}
	doc := reporttest.With()
	doc.Hosts[0].Cores, doc.Hosts[0].Quota = 2, record.None()
	for id, want := range map[string]int{"behind": 4, "many": 5, "ahead": 0, "chunk": 0, "lab-shared": 0} {
		if got := claimed(t, id).Evaluate(analysis.Views(doc)[0]).Needs; got != want {
			t.Errorf("%s needs %d processors, want %d", id, got, want)
		}
	}
}

// TestChosenWorkers checks which numbers of threads and which schedules count.
func TestChosenWorkers(t *testing.T) {
	rows := func(id, schedule string, ratios ...float64) (rows []record.Record) {
		c := claimed(t, id)
		for i, ratio := range ratios {
			if i == 0 || id != "inverse" { // which compares with one thread
				rows = append(rows, row(c, c.Slow, 512, 2<<i, 1))
			}
			rows = append(rows, row(c, c.Fast, 512, 2<<i, 1/ratio))
		}
		if schedule != "" {
			each(rows, param("schedule", schedule))
		}
		return rows
	}
	for _, test := range []struct {
		id   string
		rows []record.Record
		want Outcome
	}{
		{"ahead", rows("ahead", "", 1.15, 1, 0.5), Holds},      // on 2, 4 and 8 threads; the fewest count
		{"behind", rows("behind", "", 1.15, 1, 0.5), Opposite}, // the most
		{"inverse", append(rows("inverse", "static", 1, 2, 4), rows("inverse", "dynamic", 1, 4, 8)...), Holds},
	} {
		if j := claimed(t, test.id).Evaluate(view(test.rows...)); j.Count(test.want) != 1 || len(j.Cases) != 1 {
			t.Errorf("%s: %+v", test.id, j.Cases)
		}
	}
}
