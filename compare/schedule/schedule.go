// Package schedule decides what a comparison does next, as a function of its cases, of the rows so far, and of the time
// and the memory that its caller names. It runs nothing and reads no clock.
//
// The cases are divided into groups that one executor measures in one run: a turn for this process, all cases with one
// number of ranks or with one build, and at the end all cases of the GPU. Each group is a few steps:
//
//	admit     rows on disk are kept, and cases that would not fit are refused
//	measure   as many cases as fit into memory, or all of another process
//	recover   if the process ended early: the case in progress has failed, the others are measured by a new process,
//	          after a pause; or all have failed
//
// After the groups, rows with a wide spread are measured once more.
package schedule

import (
	"slices"
	"time"

	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/note"
)

// Rules are what does not change while a schedule is worked off.
type Rules struct {
	Budget plan.Budget
	Again  time.Duration // most time to measure rows with a wide spread once more, at the end; 0: none
	Host   string        // id of the host, of the rows
	Run    string        // id of the run, of rows that are not measured
	// Whether there are these executors. Otherwise this process measures their cases.
	Ranks, GPU, Builds bool
}

// Rows are the rows so far. A record.Store has them.
type Rows interface {
	Find(id record.ID) (record.Record, bool)
	Traced(r record.Record) bool
	Document() record.Document
}

// Now is the situation in which the next step is chosen.
type Now struct {
	Elapsed time.Duration // since the schedule began
	Memory  float64       // bytes that are available; 0: not known
}

// Step is what is done next: to report the rows that are kept, to store the rows of cases that are not measured, to
// wait, and to measure the cases by the executor. Each may be empty.
type Step struct {
	Kept     []record.Record
	Rows     []record.Record
	Wait     time.Duration
	Executor Executor
	Cases    []plan.Case

	again bool // the rows are on disk already; the better result counts
}

// Outcome is the outcome of a step with cases.
type Outcome struct {
	Took time.Duration
	End  *End // how the process ended early; nil: it was done, or it is this process
}

// End is how a process ended before it had measured all cases.
type End struct {
	Case        int // index of the case in progress; -1: none had begun
	Hung        bool
	Status      record.Status // of the rows that it ended: error or unavailable
	Reason      error
	Unreachable error // hosts: no new process can measure the other rows; nil: none
}

// Schedule is a list of cases, and what is done of it.
type Schedule struct {
	rules   Rules
	rows    Rows
	groups  []group
	turns   map[string]bool // names of turns that times of this host have
	history history
	out     *remote // what a process is measuring; nil: nothing
	part    []plan.Case
	alone   []attempt // cases of this run that were not in a turn
	second  bool      // rows with a wide spread are being measured once more
	left    time.Duration
	hung    error
}

// New returns the schedule of the cases.
func New(cases []plan.Case, rules Rules, rows Rows) *Schedule {
	s := &Schedule{rules: rules, rows: rows, groups: rules.groups(cases), turns: map[string]bool{}, history: history{}}
	for _, r := range rows.Document().Records {
		s.turned(r)
	}
	return s
}

// turned records that the turn of a row has times.
func (s *Schedule) turned(r record.Record) {
	if r.Host == s.rules.Host && r.Speed() {
		s.turns[r.Turn] = true
	}
}

// Next returns the next step, and false if there is none.
func (s *Schedule) Next(now Now) (Step, bool) {
	switch {
	case s.out != nil:
		return s.recover(), true
	case len(s.part) > 0: // as many cases of the turn as fit into memory together
		part := parts(s.part, now.Memory)[0]
		s.part = s.part[len(part):]
		return Step{Cases: s.freeTurn(part)}, true
	case len(s.groups) > 0:
		g := s.groups[0]
		s.groups = s.groups[1:]
		return s.admit(g, now), true
	}
	return s.measureAgain(now)
}

// admit is the first step of a group: which rows are kept, and which cases are refused and measured.
func (s *Schedule) admit(g group, now Now) Step {
	var step Step
	var todo []plan.Case
	for _, c := range g.cases {
		if r, ok := s.find(c); ok && s.keeps(c, r, now) {
			s.history.add(c, r, s.rules.Budget)
			step.Kept = append(step.Kept, r)
		} else if reason := s.refuse(c, now); reason.Text != "" {
			step.Rows = append(step.Rows, s.unmeasured(c, record.Skipped, reason))
		} else {
			todo = append(todo, c)
		}
	}
	if len(todo) == 0 {
		return step
	}
	if g.executor == Here {
		s.part = todo
		return step // the memory is read after the kept rows are reported
	}
	named := s.named(todo, now.Memory)
	s.out = &remote{executor: g.executor, given: named, notes: map[record.ID]string{}, done: map[record.ID]record.Status{}}
	step.Executor, step.Cases = g.executor, named
	return step
}

func (s *Schedule) find(c plan.Case) (record.Record, bool) {
	return s.rows.Find(c.Key.On(s.rules.Host).ID(c.Params))
}

// keeps reports whether the row r on disk is good enough for the case. If the case requests a
// timeline, the row must have one, or a warning that says why not.
func (s *Schedule) keeps(c plan.Case, r record.Record, now Now) bool {
	if v := c.Variant; v.Revision != "" && r.Resolved["digest"] != v.Revision {
		return false
	}
	switch r.Status {
	case record.Failed, record.Timeout, record.Unavailable, record.Suspect:
		return false
	case record.Skipped: // as long as the reason holds
		return s.refuse(c, now).Text != ""
	case record.OK:
		return !c.Timeline || s.rows.Traced(r) || r.Warns(note.NoTimeline)
	}
	return true
}

func (s *Schedule) unmeasured(c plan.Case, status record.Status, reason note.Note) record.Record {
	r := c.Row()
	r.Host, r.Run, r.Status, r.Reason = s.rules.Host, s.rules.Run, status, reason
	return r
}

// Measured returns measured rows of a step as they are to be stored, with their traces.
func (s *Schedule) Measured(step Step, rows []record.Record, traces []record.Trace) ([]record.Record, []record.Trace) {
	for i, r := range rows {
		if step.again {
			old, _ := s.rows.Find(r.ID())
			rows[i] = narrower(old, r)
			rows[i].Warnings = append(rows[i].Warnings[:len(rows[i].Warnings):len(rows[i].Warnings)], note.New("twice"))
			if rows[i].Median == old.Median {
				traces = nil
			}
			continue
		}
		id := r.Key.On("").ID(r.Params)
		c := step.Cases[slices.IndexFunc(step.Cases, func(c plan.Case) bool { return c.ID() == id })]
		if s.out != nil {
			if text, ok := s.out.notes[c.ID()]; ok {
				rows[i].Warnings = append(r.Warnings, note.Note{Text: text})
			}
			s.out.done[c.ID()] = r.Status
		}
		s.history.add(c, r, s.rules.Budget)
		s.turned(r)
	}
	return rows, traces
}

// Done records the outcome of a step with cases.
func (s *Schedule) Done(step Step, o Outcome) {
	switch {
	case s.out != nil:
		s.out.end = o.End
	case step.again:
		s.left -= o.Took
	case step.Cases[0].Turn == "":
		s.alone = append(s.alone, attempt{step.Cases[0], o.Took})
	}
}

// Err returns, at the end, in which case ranks or a device hung; nil: in none.
func (s *Schedule) Err() error { return s.hung }
