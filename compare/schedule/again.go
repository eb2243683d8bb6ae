package schedule

import (
	"time"

	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/note"
)

// A neighbour on a shared machine comes and goes within seconds. So rows that it has disturbed are
// measured once more at the end, when it may be gone.

// againShare is the part of the time of a run that may be added to measure rows again.
const againShare = 10

// attempt is a case that was measured alone, and the time that it took.
type attempt struct {
	c    plan.Case
	took time.Duration
}

// measureAgain is a step that measures a row with a wide spread once more, of which the better result is kept. Rows in
// turns are left: a turn compares samples of the same minutes. All such steps take at most Rules.Again, and a tenth of
// the time of the run so far.
func (s *Schedule) measureAgain(now Now) (Step, bool) {
	if !s.second {
		s.second, s.left = true, min(s.rules.Again, now.Elapsed/againShare)
	}
	for len(s.alone) > 0 {
		m := s.alone[0]
		s.alone = s.alone[1:]
		if old, ok := s.find(m.c); ok && old.Run == s.rules.Run && old.Warns(note.Spread) && m.took <= s.left {
			return Step{Cases: []plan.Case{m.c}, again: true}, true
		}
	}
	return Step{}, false
}

// narrower returns the row with the narrower interval, relative to its median. A row that went wrong
// the second time says so.
func narrower(first, second record.Record) record.Record {
	switch {
	case second.Status == record.Wrong, second.Status == record.Suspect:
		return second
	case second.Status != record.OK || second.CI == nil:
		return first
	case first.CI == nil || spread(second) < spread(first):
		return second
	}
	return first
}

// spread returns the width of the interval relative to the median.
func spread(r record.Record) float64 { return (r.CI[1] - r.CI[0]) / float64(r.Median) }
