package turn

import (
	"cmp"
	"time"

	"gemm/compare/plan"
	"gemm/internal/sample"
)

// The samples of a turn are taken in leastBursts to mostBursts bursts. There are as many bursts as
// each can have burstSamples samples of every case. All bursts of a case have the same number of
// samples: so other load on the machine, which comes and goes, meets all cases alike.
const (
	leastBursts  = 6
	mostBursts   = 48
	burstSamples = 2
)

// burstsOf returns the number of bursts of a turn.
func burstsOf(candidates []*candidate, b plan.Budget) int {
	bursts := cmp.Or(b.Bursts, mostBursts)
	for _, t := range candidates {
		if took := t.sampler.Sample(); took > 0 {
			bursts = min(bursts, int(b.Time/(burstSamples*took)))
		}
	}
	return max(leastBursts, bursts)
}

// share returns the part of the row's budget for one burst.
func (t *candidate) share(b plan.Budget, burst, bursts int) sample.Budget {
	done, left := len(t.sampler.Seconds), bursts-burst
	out := sample.Budget{
		// As many samples as in the bursts before: otherwise the median would be of the first ones.
		Reps:  done + max((b.Reps-done+left-1)/left, done/max(1, burst)),
		Time:  b.Time / time.Duration(bursts),
		Limit: limit(t.left, b.Patience) / time.Duration(left),
		Max:   sample.MaxSamples * (burst + 1) / bursts,
	}
	if took := t.sampler.Sample(); bursts > leastBursts && took > 0 {
		each := max(burstSamples, int(out.Time/took), (b.Reps+bursts-1)/bursts)
		out.Reps = min(done+each, out.Max)
		out.Max = out.Reps
	}
	return out
}

// limit returns the smaller of two limits, of which 0 means none.
func limit(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// spent reports whether one more sample like the last ones might exceed the budget.
func (t *candidate) spent(b plan.Budget) bool {
	if len(t.sampler.Seconds) == 0 {
		return false
	}
	all := 0.0
	for _, seconds := range t.sampler.Seconds {
		all += seconds * float64(t.sampler.Inner)
	}
	mean := all / float64(len(t.sampler.Seconds))
	return b.Timeout > 0 && !sample.Fits(time.Duration(mean*float64(time.Second)), t.left) ||
		b.Patience > 0 && len(t.sampler.Seconds) < b.Reps && all+mean > b.Patience.Seconds()
}
