package compare

import (
	"time"

	"gemm/internal/sample"
)

// Budget limits what a row may take.
type Budget struct {
	Reps int           // samples at least, as far as Patience and Timeout allow
	Time time.Duration // of samples at most, once there are Reps
	// Timeout is of staging, warming up and the samples together; the product of
	// integers before them and the timeline after them have as much each. 0: no limit.
	Timeout time.Duration
	// Patience is how long samples of a slow product may take before there are Reps: one
	// that would exceed it is not taken, but for the first. 0: no limit.
	Patience time.Duration
}

var (
	quickBudget    = Budget{Reps: sample.MinForInterval, Time: 100 * time.Millisecond, Timeout: 10 * time.Second}
	fullBudget     = Budget{Reps: sample.MinForInterval, Time: time.Second, Timeout: time.Minute}
	parallelBudget = Budget{Reps: sample.MinForInterval, Time: 300 * time.Millisecond, Timeout: 20 * time.Second}
	mpiBudget      = Budget{Reps: sample.MinForInterval, Time: 500 * time.Millisecond, Timeout: 3 * time.Minute}
	cudaBudget     = Budget{Reps: sample.MinForInterval, Time: 100 * time.Millisecond, Timeout: time.Minute,
		Patience: 1500 * time.Millisecond}
	peersBudget = Budget{Reps: sample.MinForInterval, Time: 300 * time.Millisecond, Timeout: time.Minute}
)

// Cases measured in turn are sampled in so many bursts at least. There are more, up to
// mostBursts, where each can have burstSamples samples, and then all of a case's have as
// many: a neighbour who comes and goes meets all cases alike.
const (
	leastBursts  = 6
	mostBursts   = 48
	burstSamples = 2
)

// burstsOf returns the number of bursts in which contenders are sampled in turn; budget is
// the time that a row has for all of its own.
func burstsOf(contenders []*contender, budget time.Duration) int {
	bursts := mostBursts
	for _, t := range contenders {
		if took := t.sampler.Sample(); took > 0 {
			bursts = min(bursts, int(budget/(burstSamples*took)))
		}
	}
	return max(leastBursts, bursts)
}

// share returns what one of t's bursts may take of the row's budget.
func (t *contender) share(b Budget, burst, bursts int) sample.Budget {
	done, left := len(t.sampler.Seconds), bursts-burst
	out := sample.Budget{
		// As many as in the bursts before, or the median would be of the first.
		Reps:  done + max((b.Reps-done+left-1)/left, done/max(1, burst)),
		Time:  b.Time / time.Duration(bursts),
		Limit: limit(t.timeout, b.Patience) / time.Duration(left),
		Max:   sample.MaxSamples * (burst + 1) / bursts,
	}
	if took := t.sampler.Sample(); bursts > leastBursts && took > 0 {
		each := max(burstSamples, int(out.Time/took), (b.Reps+bursts-1)/bursts)
		out.Reps = min(done+each, out.Max)
		out.Max = out.Reps
	}
	return out
}

// limit returns the lesser of two durations of which 0 is none.
func limit(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// spent reports whether a sample like those that there are might exceed the budget.
func (t *contender) spent(b Budget) bool {
	if len(t.sampler.Seconds) == 0 {
		return false
	}
	all := 0.0
	for _, seconds := range t.sampler.Seconds {
		all += seconds * float64(t.sampler.Inner)
	}
	mean := all / float64(len(t.sampler.Seconds))
	return b.Timeout > 0 && !sample.Fits(time.Duration(mean*float64(time.Second)), t.timeout) ||
		b.Patience > 0 && len(t.sampler.Seconds) < b.Reps && all+mean > b.Patience.Seconds()
}
