package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
)

// caseOfName returns a case of a planted variant at n = 8.
func caseOfName(name, turn string, p gemm.Params) plan.Case { return sized(name, turn, 8, p).Case() }

// sized returns a request of a planted variant.
func sized(name, turn string, n int, p gemm.Params) plan.Request {
	v := gemm.Variant{Name: name, Bound: gemm.Classical}
	switch v.Family() {
	case "mpi":
		v.Location, v.Params = gemm.OnRanks, []gemm.Param{{Name: "ranks", Default: 1, Min: 1}}
	case "cuda":
		v.Location = gemm.OnGPU
	default:
		v.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
	}
	v.Params = append(v.Params, gemm.Param{Name: "chunk", Default: 0})
	v.Model = func(s gemm.Shape, p gemm.Params) gemm.Model {
		threads, _ := p["threads"].(int)
		return gemm.Model{Flops: 2 * s.Terms(), Workspace: float64(max(1, threads) * s.M * s.N)}
	}
	return plan.Request{Variant: v, Type: "f64", Shape: gemm.Cube(n), Alpha: 1, Params: p, Turn: turn}
}

// world is where a schedule is worked off: a store, a time and a memory, and executors with planted ends.
type world struct {
	rules   Rules
	now     Now
	store   record.Store
	measure func(step Step) ([]record.Record, Outcome) // nil: every case has a row that is ok
	log     []string                                   // of all steps
}

// work works the cases off, and returns what the schedule says at the end.
func (w *world) work(t *testing.T, cases ...plan.Case) error {
	t.Helper()
	w.rules.Host, w.rules.Run, w.log = "host", cmp.Or(w.rules.Run, "run"), nil
	s := New(cases, w.rules, &w.store)
	for range 10 + 10*len(cases) {
		step, more := s.Next(w.now)
		if !more {
			return s.Err()
		}
		for _, r := range step.Kept {
			w.log = append(w.log, "keep "+r.Variant)
		}
		for _, r := range step.Rows {
			w.log = append(w.log, fmt.Sprintf("%s is %s: %s", r.Variant, r.Status, r.Reason))
		}
		w.put(t, step.Rows)
		if len(step.Cases) == 0 {
			continue
		}
		w.log = append(w.log, called(step))
		rows, outcome := okRows(step.Cases), Outcome{}
		if w.measure != nil {
			rows, outcome = w.measure(step)
		}
		if step.Executor != Here { // their rows come one by one
			for _, r := range rows {
				measured, _ := s.Measured(step, []record.Record{r}, nil)
				w.put(t, measured)
			}
		} else {
			measured, _ := s.Measured(step, rows, nil)
			w.put(t, measured)
		}
		s.Done(step, outcome)
		w.now.Elapsed += outcome.Took
	}
	t.Fatalf("the schedule does not end: %q", w.log)
	return nil
}

func (w *world) put(t *testing.T, rows []record.Record) {
	t.Helper()
	gemmtest.Must(t, w.store.Put(record.Document{Records: rows}))
}

// rows returns the rows in the store as text.
func (w *world) rows() []string {
	var out []string
	for _, r := range w.store.Document().Records {
		text := fmt.Sprintf("%s %s", r.Variant, r.Status)
		for _, more := range []string{r.Turn, r.Reason.Text} {
			if more != "" {
				text += ", " + more
			}
		}
		for _, n := range r.Warnings {
			text += "; " + n.Text
		}
		out = append(out, text)
	}
	return out
}

// called returns the executor and the cases of a step.
func called(step Step) string {
	text := step.Executor.String()
	if step.Executor.Kind == Ranks {
		text = fmt.Sprint(step.Executor.Count, " ranks")
	}
	if step.Wait > 0 {
		text = fmt.Sprint("after ", step.Wait, " ", text)
	}
	for _, turn := range Turns(step.Cases) {
		var names []string
		for _, c := range turn {
			names = append(names, c.Variant.Name)
		}
		text += fmt.Sprintf(" %s[%s]", turn[0].Turn, strings.Join(names, " "))
	}
	return text
}

// row returns the row of a measured case.
func row(c plan.Case, status record.Status, seconds float64) record.Record {
	r := c.Row()
	r.Host, r.Run, r.Status = "host", "run", status
	if status == record.OK {
		r.Median = record.Number(seconds)
	}
	return r
}

// okRows returns rows of all cases.
func okRows(cases []plan.Case) []record.Record {
	var out []record.Record
	for _, c := range cases {
		out = append(out, row(c, record.OK, 1e-6))
	}
	return out
}

// wants compares lines.
func wants(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// failing has processes end as planted: start i leaves the rows of the first cases, and ends.
func failing(starts ...start) func(step Step) ([]record.Record, Outcome) {
	i := -1
	return func(step Step) ([]record.Record, Outcome) {
		if i++; i >= len(starts) {
			return okRows(step.Cases), Outcome{}
		}
		return okRows(step.Cases[:starts[i].rows]), Outcome{End: starts[i].end}
	}
}

// start is what a process does.
type start struct {
	rows int
	end  *End
}

var errBoom = errors.New("boom")

// died returns the end of a process in the case; -1: in none.
func died(at int) *End { return &End{Case: at, Status: record.Failed, Reason: errBoom} }

func absentEnd() *End {
	return &End{Case: -1, Status: record.Unavailable, Reason: gemm.Unavailablef("no driver")}
}
