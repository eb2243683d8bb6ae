package schedule

import (
	"fmt"
	"slices"
	"time"

	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/note"
)

// If a process ends before it has begun a case, it is started again: once, or restarts times in
// succession if an earlier one has begun a case. A driver that crashed takes a moment to recover, so
// each pause before a start is twice the last.
const (
	restarts = 3
	pause    = 500 * time.Millisecond
)

// remote is what another process measures, and how the process ended.
type remote struct {
	executor Executor
	given    []plan.Case                 // to the process that runs
	notes    map[record.ID]string        // warnings for their rows
	done     map[record.ID]record.Status // cases with a row
	worked   bool                        // a process has begun a case
	idle     int                         // processes in succession that have not
	end      *End
}

// recover is the step after a process has ended, with or without all rows.
func (s *Schedule) recover() Step {
	a, end := s.out, s.out.end
	left := slices.DeleteFunc(slices.Clone(a.given), func(c plan.Case) bool {
		_, ok := a.done[c.ID()]
		return ok
	})
	switch {
	case len(left) == 0:
		s.out = nil
		return Step{}
	case end == nil:
		return s.failAll(left, record.Failed, fmt.Errorf("%s ended and left no row", a.executor))
	case end.Unreachable != nil:
		return s.failAll(left, record.Failed, end.Unreachable)
	case end.Case >= 0:
		a.worked, a.idle = true, 0
		return s.failCase(a, end, left)
	}
	most := 1
	switch {
	case a.worked:
		most = restarts
	case end.Status == record.Unavailable:
		most = 0
	}
	if a.idle >= most {
		return s.failAll(left, end.Status, end.Reason)
	}
	a.notes[left[0].ID()] = fmt.Sprintf("%s started again: %v", a.executor.was(), end.Reason)
	wait := pause << a.idle
	a.idle++
	a.given = left
	return Step{Wait: wait, Executor: a.executor, Cases: left}
}

// failAll is the step that stores rows for the cases that no process will measure.
func (s *Schedule) failAll(left []plan.Case, status record.Status, reason error) Step {
	var step Step
	for _, c := range left {
		step.Rows = append(step.Rows, s.failedRow(c, status, reason))
	}
	s.out = nil
	return step
}

// failedRow returns the row of a case that a process ended before.
func (s *Schedule) failedRow(c plan.Case, status record.Status, reason error) record.Record {
	r := s.unmeasured(c, status, note.Read(reason.Error()))
	s.history.add(c, r, s.rules.Budget)
	return r
}

// failCase is the step after a process has ended in a case. It stores a row with the failure, unless the case has one.
// A new process measures the others: cases of the same turn without a turn, since the samples of the turn are lost.
func (s *Schedule) failCase(a *remote, end *End, left []plan.Case) Step {
	step := Step{Executor: a.executor}
	failed := a.given[end.Case]
	status, ok := a.done[failed.ID()]
	if !ok {
		status = record.Failed
		if end.Hung {
			status = record.Timeout
		}
		step.Rows = append(step.Rows, s.failedRow(failed, status, end.Reason))
		left = slices.DeleteFunc(left, func(c plan.Case) bool { return c.ID() == failed.ID() })
	}
	if status == record.Timeout && s.hung == nil {
		s.hung = fmt.Errorf("%s hung in %s and had to be ended", a.executor, failed)
	}
	for i, c := range left {
		if inOneTurn(c, failed) {
			a.notes[c.ID()] = fmt.Sprintf("measured apart: its turn was lost when %s ended %s: %v", failed, a.executor,
				end.Reason)
			left[i].Turn = ""
		}
	}
	a.given, step.Cases = left, left
	if len(left) == 0 {
		s.out = nil
	}
	return step
}
