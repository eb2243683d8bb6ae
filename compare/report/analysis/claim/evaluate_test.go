package claim

import (
	"fmt"
	"maps"
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
	experiment := append(c.Rows.Experiments, record.StrongScaling)[0]
	change := reporttest.ThreadsOf(experiment, workers, params...)
	local := "serial/ikj"
	switch c.Rows.Family {
	case analysis.OnRanks:
		change, local = reporttest.OnRanks(experiment, workers, params...), "serial/naive"
	case analysis.OnGPU:
		change = func(r *record.Record) {
			r.Experiment, r.Type = experiment, c.Rows.Type
			maps.Copy(r.Params, s.Params)
			maps.Copy(r.Resolved, s.As)
			if len(c.Rows.Shapes) > 0 {
				r.Shape, _ = gemm.ParseShape(c.Rows.Shapes[0])
				r.LDA, r.LDB, r.LDC = r.K, r.N, r.N
			}
		}
	}
	return reporttest.OnLocal(local, reporttest.Row(s.Variant, n, seconds, change,
		reporttest.Turn(fmt.Sprint(c.Rows.Family, n))))[0]
}

// cases is how many of the three pairs of measured count.
func cases(c *Claim) int {
	if c.At == "largest" && len(c.Rows.Shapes) == 0 {
		return 1
	}
	return 3
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
		if j := c.Evaluate(view(measured(c, ratio)...)); j.Verdict() != Supported || len(j.Cases) != cases(c) {
			t.Errorf("%s: %v of %d cases", c.ID, j.Verdict(), len(j.Cases))
		} else if !(math.Abs(j.Least().Ratio/ratio-1) < 1e-9) || j.Needs != 0 {
			t.Errorf("%s: the ratio is %v, %d processors are needed", c.ID, j.Least().Ratio, j.Needs)
		}
		if j := c.Evaluate(view(measured(c, flipped)...)); j.Verdict() != want || j.Decided() != cases(c) {
			t.Errorf("%s, flipped: %v of %d decided cases, want %v", c.ID, j.Verdict(), j.Decided(), want)
		}
		if j := c.Evaluate(view()); j.Verdict() != Unmeasured {
			t.Errorf("%s, without rows: %v", c.ID, j.Verdict())
		}
		command := Commands(view(), "gemm", c)[0]
		if f := c.Rows.Family; strings.Contains(command, "{") ||
			!strings.HasPrefix(command, "gemm compare --profile") &&
				!(strings.HasPrefix(command, "gemm "+f+" --") && strings.Contains(command, f+"/")) {
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

func as(name string, value any) func(*record.Record) {
	return func(r *record.Record) { r.Resolved[name] = value }
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
		{"far more than claimed", "private", 77, func(*record.Record) {}, Refuted, 3},
		{"less than claimed", "private", 1.2, func(*record.Record) {}, Refuted, 3},
		{"not faster", "reduction", 1, func(*record.Record) {}, Refuted, 3},
		{"a speed-up below the threads", "inverse", 1.5, func(*record.Record) {}, Refuted, 3},
		{"another kernel on ranks", "blocks", 1.15, local("serial/packed"), Unmeasured, 0},
		{"a load", "ahead", 1.15, reporttest.Experiment(record.ArtificialLoad), Unmeasured, 0},
		{"another kernel", "chunk", 2, of("reference/openmp-collapse", named(kernel)), Unmeasured, 0},
		{"other loops for rows of C", "single", 2, local("serial/naive"), Unmeasured, 0},
		{"a master that computes", "few", 2, param("master", "works"), Unmeasured, 0},
		{"chunks that leave workers idle", "chunk", 2, param("chunk", 1<<30), Unmeasured, 0},
		{"a stand-in for the lab's kernel", "lab-transposed", 2, of("cuda/packed-smem", named("cuda/smem")), Unmeasured, 0},
		{"small matrices on ranks", "few", 2, half, Undecided, 2},
		{"many ranks", "few", 2, ranks(8), Unmeasured, 0},
		{"few ranks", "many", 1.1, ranks(4), Unmeasured, 0},
		{"two experiments", "private", 2.5, of(kernel, reporttest.Experiment(record.ChunkSizes)), Unmeasured, 0},
		{"one that is wrong", "private", 2.5, at512(reporttest.WithStatus(record.Wrong, "one element")), Undecided, 2},
		{"an older kernel of the same name", "lab-wmma", 2.37, as("tile", "64x64x16/32x32"), Unmeasured, 0},
		{"the largest matrices on a GPU", "lab-wmma", 2.37, at512(reporttest.Sampled(20, 1)), Supported, 1},
		{"a shape that the text does not have", "sk", 1.4, half, Unmeasured, 0},
		{"another block of threads", "block-2024", 1.5, param("block", 8), Unmeasured, 0},
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
