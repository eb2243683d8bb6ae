package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/note"
)

// TestEveryCaseHasOneRow works random cases off, with random rows on disk, ends of processes, memory and time: every
// case ends with one row, which is reported, stored or measured once, and the schedule ends.
func TestEveryCaseHasOneRow(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		random := &chance{r}
		w := world{now: Now{Memory: []float64{0, 4000, 16000, 1e9}[r.IntN(4)]}, rules: Rules{
			Ranks: r.IntN(4) > 0, GPU: r.IntN(4) > 0, Builds: r.IntN(4) > 0, Again: time.Duration(r.IntN(2)) * time.Minute,
			Budget: plan.Budget{Timeout: time.Duration(r.IntN(3)) * time.Second}}}
		var cases []plan.Case
		for i := range r.IntN(14) {
			c := random.request(i)
			cases = append(cases, c.Case())
			if r.IntN(4) == 0 {
				old := random.row(c.Case())
				old.Run = []string{"run", "another"}[r.IntN(2)]
				w.put(t, []record.Record{old})
			}
		}
		rows, again := map[string]int{}, map[string]int{}
		w.measure = func(step Step) ([]record.Record, Outcome) {
			for _, c := range step.Cases {
				if step.again {
					again[c.Variant.Name]++
				} else if rows[c.Variant.Name] > 0 {
					t.Errorf("seed %d: %v has a row and is to be measured", seed, c)
				}
			}
			out, o := random.outcome(step)
			for _, x := range out {
				if !step.again {
					rows[x.Variant]++
				}
			}
			return out, o
		}
		err := w.work(t, cases...)
		for _, line := range w.log { // kept or not measured
			name, rest, _ := strings.Cut(strings.TrimPrefix(line, "keep "), " ")
			if strings.HasPrefix(line, "keep ") || strings.HasPrefix(rest, "is ") {
				rows[name]++
			}
		}
		for _, c := range cases {
			if _, ok := w.store.Find(c.Key.On("host").ID(c.Params)); !ok || rows[c.Variant.Name] != 1 ||
				again[c.Variant.Name] > 1 {
				t.Errorf("seed %d: %v has %d rows and is measured again %d times; in the store: %t", seed, c,
					rows[c.Variant.Name], again[c.Variant.Name], ok)
			}
		}
		if stored := len(w.store.Document().Records); stored != len(cases) {
			t.Errorf("seed %d: %v: %d rows of %d cases", seed, err, stored, len(cases))
		}
		if t.Failed() {
			t.Fatalf("%+v: %s", w.rules, strings.Join(w.log, "\n"))
		}
	}
}

// chance chooses what happens.
type chance struct{ *rand.Rand }

// request returns a case of any executor.
func (r chance) request(i int) plan.Request {
	family := []string{"serial", "mpi", "cuda", "build"}[r.IntN(4)]
	turn := []string{"", "x", "y"}[r.IntN(3)]
	p := gemm.Params{}
	if family == "mpi" {
		p["ranks"] = 1 + r.IntN(2)
	}
	c := sized(fmt.Sprintf("%s/%d", family, i), turn, []int{4, 8, 16}[r.IntN(3)], p)
	c.Timeline = r.IntN(5) == 0
	if family == "build" {
		c.Build = []string{"v1", "v3"}[r.IntN(2)]
	}
	return c
}

// row returns a row with any outcome.
func (r chance) row(c plan.Case) record.Record {
	status := []record.Status{record.OK, record.OK, record.OK, record.Wrong, record.Suspect, record.Skipped,
		record.Unavailable, record.Timeout, record.Failed}[r.IntN(9)]
	x := row(c, status, []float64{1e-6, 0.1, 10}[r.IntN(3)])
	if status == record.OK && r.IntN(2) == 0 {
		x.CI, x.Warnings = &[2]float64{0.1, 0.1 + r.Float64()}, []note.Note{note.New(note.Spread)}
	}
	return x
}

// outcome returns rows of a step, and how it ended: a process leaves the rows of some cases, in the order of its cases,
// and ends in the next case, right after a row, or before the first one.
func (r chance) outcome(step Step) ([]record.Record, Outcome) {
	var rows []record.Record
	for _, c := range step.Cases {
		rows = append(rows, r.row(c))
	}
	o := Outcome{Took: time.Duration(r.IntN(1e9))}
	if step.Executor == Here || r.IntN(3) == 0 {
		return rows, o
	}
	rows = slices.Clip(rows[:r.IntN(len(rows)+1)])
	if r.IntN(8) == 0 {
		return rows, o
	}
	o.End = died(min(len(rows), len(step.Cases)-1) - r.IntN(2))
	o.End.Case = max(o.End.Case, min(0, len(rows)-1))
	switch r.IntN(6) {
	case 0:
		o.End.Hung = true
	case 1:
		o.End.Unreachable = errBoom
	case 2:
		o.End.Status = record.Unavailable
	}
	return rows, o
}
