package schedule

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/note"
)

// TestPartsOfATurn has contenders whose workspaces do not all fit.
func TestPartsOfATurn(t *testing.T) {
	var cases, weak []plan.Case
	for threads := 1; threads <= 4; threads++ {
		c := sized("parallel/collapse-reduce", "strong", 10, gemm.Params{"threads": threads})
		cases = append(cases, c.Case())
		c.M *= threads
		weak = append(weak, c.Case())
	}
	operands := cases[0].OperandBytes()
	if got, want := bytesTogether(cases), operands+8*100*(1+2+3+4); got != want {
		t.Errorf("together they need %v bytes, want %v: the operands are shared", got, want)
	}
	if got, least := bytesTogether(weak), 4*operands; !(got > least) {
		t.Errorf("with operands of their own they need %v bytes, want more than %v", got, least)
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
}

// TestTurnsOfRowsMeasuredLater adds rows to a turn that is on disk, here and on a GPU: they were not sampled with those
// that are there and have another turn. So have contenders that do not fit into memory with the others.
func TestTurnsOfRowsMeasuredLater(t *testing.T) {
	for _, family := range []string{"parallel", "cuda"} {
		fails := map[int]bool{1: true, 2: true}
		w := world{rules: Rules{GPU: true}}
		w.measure = func(step Step) ([]record.Record, Outcome) {
			rows := okRows(step.Cases)
			for i, c := range step.Cases {
				if fails[c.Params.Int("chunk")] {
					rows[i] = row(c, record.Failed, 0)
				}
			}
			return rows, Outcome{}
		}
		measure := func(want string, chunks ...int) {
			t.Helper()
			var cases []plan.Case
			for _, chunk := range chunks {
				cases = append(cases, caseOfName(family+"/rows", "t", gemm.Params{"chunk": chunk}))
			}
			if err := w.work(t, cases...); err != nil {
				t.Error(err)
			}
			var text []string
			for _, r := range w.store.Document().Records {
				text = append(text, fmt.Sprint(r.Params["chunk"], strings.TrimPrefix(r.Turn, "t")))
			}
			if got := strings.Join(text, "|"); got != want {
				t.Errorf("%s: the turns are %s, want %s", family, got, want)
			}
		}
		measure("1|2", 1, 2) // rows without times leave the name to others
		fails[1] = false
		measure("1|2|0", 0, 1, 2)
		fails[2] = false
		measure("1|2, part 2|0", 0, 1, 2)
		measure("1|2, part 2|0|3, part 3|4, part 3", 0, 1, 2, 3, 4)
		rows := w.store.Document().Records // rows of another host do not count
		w.store = record.Store{}
		for _, r := range rows {
			r.Host = "another"
			w.put(t, []record.Record{r})
		}
		measure("1|2, part 2|0|3, part 3|4, part 3|5", 5)

		one := caseOfName(family+"/rows", "t", nil)
		w.store, w.now.Memory = record.Store{}, one.OperandBytes()+2*one.Workspace()
		measure("0|1|2, part 2", 0, 1, 2)
		measure("0|1|2, part 2|3, part 3", 0, 1, 2, 3)
	}
}

// TestRefusals has cases that need more memory than there is, or more time than a row may take by the rate of a smaller
// one, until there is more.
func TestRefusals(t *testing.T) {
	small, large := sized("serial/a", "", 8, nil).Case(), sized("serial/a", "", 64, nil).Case()
	w := world{rules: Rules{Budget: plan.Budget{Timeout: time.Second}}, now: Now{Memory: large.Bytes() - 1}}
	measure := func(lines ...string) {
		t.Helper()
		if err := w.work(t, small, large); err != nil {
			t.Error(err)
		}
		wants(t, "steps", w.log, lines...)
	}
	const memory = "serial/a is skipped: needs 224 KiB of memory, 224 KiB are available: choose a smaller size"
	measure("this process [serial/a]", memory)
	measure("keep serial/a", "keep serial/a") // its reason holds
	w.now.Memory++
	w.measure = func(step Step) ([]record.Record, Outcome) {
		return []record.Record{row(step.Cases[0], record.Timeout, 0)}, Outcome{}
	}
	measure("keep serial/a", "this process [serial/a]")
	w.store = record.Store{}
	measure("this process [serial/a]", "serial/a is skipped: predicted to take 8m32s a call at the rate of "+
		"the size before, "+
		"the row may take 1s: raise it with --timeout")
	w.rules.Budget.Timeout, w.measure = time.Hour, nil
	measure("this process [serial/a]", "this process [serial/a]") // the one in time is predicted to fit
}

// TestSlowCallsAreSkipped has a budget with a limit of a call: it is for large products only, and
// predicts by the rate of the size before.
func TestSlowCallsAreSkipped(t *testing.T) {
	of := func(n int) plan.Case { return sized("serial/a", "", n, nil).Case() }
	budget := plan.Budget{Timeout: time.Minute, Call: time.Second}
	s := Schedule{rules: Rules{Budget: budget}, history: history{timingKey(of(1)): {c: of(512), took: 2}}}
	const want = "predicted to take 16s a call at the rate of the size before, a call of this profile may take 1s: " +
		"request it with --sizes"
	for n, want := range map[int]string{512: "", 1024: want} {
		if got := s.refuse(of(n), Now{}).Text; got != want {
			t.Errorf("n = %d is refused for %q, want %q", n, got, want)
		}
	}
}

// TestPredictedTimes predicts from a product of one element, which is all fixed cost, and from larger ones.
func TestPredictedTimes(t *testing.T) {
	of := func(n int) plan.Case { return sized("mpi/a", "", n, nil).Case() }
	for _, test := range []struct {
		name string
		last timing
		n    int
		want float64 // seconds
	}{
		{"a call that is all fixed cost", timing{c: of(1), took: 80e-6}, 4096, 80e-6},
		{"operations", timing{c: of(64), took: 100e-6 + 1}, 128, 100e-6 + 8},
		{"messages of one element", timing{of(1), 1e-3, 1e-3, 1e-3, 0}, 1024, 1e-3},
		{"twice the modelled time", timing{of(100), 2, 1, 0.25, 0.5}, 200, 0.5 + 1*4 + 0.5*8},
		{"more than a Duration holds", timing{c: of(1), took: 1e6}, 1 << 20, (1 << 62) / 1e9},
	} {
		if got := test.last.predict(of(test.n)).Seconds(); !(math.Abs(got/test.want-1) < 1e-6) {
			t.Errorf("%s: %g s, want %g", test.name, got, test.want)
		}
	}
}

// TestPredictedTimesOnGPUs predicts from a small product of ranks on GPUs, which is all requests and barriers.
func TestPredictedTimesOnGPUs(t *testing.T) {
	c, h := sized("mpi/a", "", 8, nil).Case(), history{}
	r := row(c, record.OK, 800e-6)
	r.Ranks = []record.Rank{{GPU: &record.DevicePart{}}}
	h.add(c, r, plan.Budget{})
	if got := h[timingKey(c)].predict(sized("mpi/a", "", 1000, nil).Case()); got != 800*time.Microsecond {
		t.Errorf("%v, want 800µs", got)
	}
}

// TestResume names the rows on disk that are kept. Others are measured again.
func TestResume(t *testing.T) {
	type change func(c *plan.Request, r *record.Record)
	status := func(s record.Status) change { return func(_ *plan.Request, r *record.Record) { r.Status = s } }
	digest := func(has string) change {
		return func(c *plan.Request, r *record.Record) {
			c.Variant.Revision, r.Resolved = "b", gemm.Params{"digest": has}
		}
	}
	timeline := func(warnings ...note.Note) change {
		return func(c *plan.Request, r *record.Record) { c.Timeline, r.Warnings = true, warnings }
	}
	for _, test := range []struct {
		name   string
		change change
		traced bool
		kept   bool
	}{
		{"ok", status(record.OK), false, true},
		{"wrong", status(record.Wrong), false, true},
		{"suspect", status(record.Suspect), false, false},
		{"error", status(record.Failed), false, false},
		{"timeout", status(record.Timeout), false, false},
		{"unavailable", status(record.Unavailable), false, false},
		{"skipped, for a reason that is gone", status(record.Skipped), false, false},
		{"another host", func(_ *plan.Request, r *record.Record) { r.Host = "another" }, false, false},
		{"another turn", func(_ *plan.Request, r *record.Record) { r.Turn = "x" }, false, true},
		{"another parameter", func(_ *plan.Request, r *record.Record) { r.Params = gemm.Params{"chunk": 1} }, false, false},
		{"without a timeline", timeline(), false, false},
		{"with a timeline", timeline(), true, true},
		{"with a reason for no timeline", timeline(note.New(note.NoTimeline, "x")), false, true},
		{"another revision", digest("a"), false, false},
		{"the same revision", digest("b"), false, true},
	} {
		c, w, want := sized("serial/a", "", 8, nil), world{}, "this process [serial/a]"
		r := row(c.Case(), record.OK, 1)
		test.change(&c, &r)
		if test.kept {
			want = "keep serial/a"
		}
		w.put(t, []record.Record{r})
		if test.traced {
			gemmtest.Must(t, w.store.Put(record.Document{Traces: []record.Trace{{Key: r.Key, Params: r.Params}}}))
		}
		if err := w.work(t, c.Case()); err != nil {
			t.Error(err)
		}
		wants(t, test.name, w.log, want)
	}
}

// TestRowsAreMeasuredAgain gives rows a wide spread: one alone, one in a turn, one that takes more time than is left,
// and one of an earlier run. The first is measured again, and its better result and the trace of this are kept.
func TestRowsAreMeasuredAgain(t *testing.T) {
	spread := func(r record.Record, width float64) record.Record {
		r.CI, r.Warnings = &[2]float64{1, 1 + width}, nil
		if width > 1 {
			r.Warnings = []note.Note{note.New(note.Spread)}
		}
		return r
	}
	const turns, slow = "this process t[serial/a serial/b]", "this process [serial/slow]"
	for _, test := range []struct {
		second time.Duration // the most time for it
		width  float64       // of the second result
		twice  bool
		kept   float64
	}{{0, 0.5, false, 3}, {time.Hour, 0.5, true, 0.5}, {time.Hour, 9, true, 3}, {time.Minute, 0.5, true, 0.5}} {
		w := world{rules: Rules{Again: test.second}}
		was := caseOfName("serial/was", "", nil)
		old := spread(row(was, record.OK, 1), 3)
		old.Run = "another"
		w.put(t, []record.Record{old})
		calls := map[string]int{}
		w.measure = func(step Step) (rows []record.Record, o Outcome) {
			o.Took = time.Second
			for _, c := range step.Cases {
				calls[c.Variant.Name]++
				width, seconds := 3.0, 1.0
				switch {
				case c.Variant.Name == "serial/quiet":
					width = 0.1
				case c.Variant.Name == "serial/slow":
					o.Took = time.Hour
				case calls[c.Variant.Name] > 1:
					width, seconds = test.width, 1.01
				}
				rows = append(rows, spread(row(c, record.OK, seconds), width))
			}
			return rows, o
		}
		if err := w.work(t, was, caseOfName("serial/alone", "", nil), caseOfName("serial/quiet", "", nil),
			caseOfName("serial/slow", "", nil), caseOfName("serial/a", "t", nil), caseOfName("serial/b", "t", nil)); err != nil {
			t.Error(err)
		}
		want := []string{"keep serial/was", "this process [serial/alone]", "this process [serial/quiet]", slow, turns}
		if test.twice {
			want = append(want, "this process [serial/alone]")
		}
		wants(t, fmt.Sprint(test), w.log, want...)
		for _, r := range w.store.Document().Records {
			if alone := r.Variant == "serial/alone"; r.Warns("twice") != (alone && test.twice) ||
				alone && math.Abs(r.CI[1]-1-test.kept) > 1e-9 {
				t.Errorf("%v: %s has the interval %v and the warnings %q", test, r.Variant, *r.CI, r.Warnings)
			}
		}
	}
}

// TestSecondResults chooses between two results of a row. The trace of the second is kept with it.
func TestSecondResults(t *testing.T) {
	c := caseOfName("serial/a", "", nil)
	of := func(run string, status record.Status, seconds float64, ci *[2]float64) record.Record {
		r := row(c, status, seconds)
		r.Run, r.CI = run, ci
		return r
	}
	var w world
	w.put(t, []record.Record{of("first", record.OK, 10, &[2]float64{8, 15})})
	s := New(nil, Rules{}, &w.store)
	for _, test := range []struct {
		status record.Status
		ci     *[2]float64
		second bool
	}{
		{record.OK, &[2]float64{5, 20}, false}, {record.OK, &[2]float64{9, 11}, true}, {record.OK, nil, false},
		{record.Timeout, nil, false}, {record.Wrong, nil, true}, {record.Suspect, nil, true},
	} {
		r := of("second", test.status, 11, test.ci)
		rows, traces := s.Measured(Step{Cases: []plan.Case{c}, again: true}, []record.Record{r},
			[]record.Trace{record.Trace{Key: r.Key, Params: r.Params}})
		if second := rows[0].Run == "second"; second != test.second || len(traces) > 0 != test.second {
			t.Errorf("%s %v: the second result is kept: %v, with %d traces", test.status, test.ci, second, len(traces))
		}
	}
}
