package analysis

import (
	"fmt"

	"gemm/compare"
)

// Verdict is what the data says of a claim.
type Verdict int

const (
	Unmeasured   Verdict = iota // there is no case
	Undecided                   // no case decides
	Indicated                   // all cases that decide speak for the claim, but they are fewer than Enough
	Supported                   // all do, and they are enough
	Partly                      // some speak for it, others show less, more or no difference
	Divided                     // some speak for it, others show the opposite
	Refuted                     // none speaks for it
	Reversed                    // all cases that decide show the opposite
	HintReversed                // all do, but they are fewer than Enough
	MoreThan                    // the difference has the claimed sign and is larger everywhere
	LessThan                    // the difference has the claimed sign and is smaller everywhere
)

// Enough is how many cases have to decide before a claim is called supported.
const Enough = 3

// Cases counts the cases of a claim by what they say of it.
type Cases struct {
	For      int
	Against  int // no difference, or one that the claim excludes
	Reversed int // the opposite, with significance
	More     int // the claimed sign, and more than claimed
	Less     int // the claimed sign, and less than claimed
	Open     int // undecided
}

// Decided is the number of cases that decide.
func (c Cases) Decided() int { return c.For + c.Against + c.Reversed + c.More + c.Less }

// All is the number of cases.
func (c Cases) All() int { return c.Decided() + c.Open }

// Contra is the number of cases that decide and do not speak for the claim.
func (c Cases) Contra() int { return c.Decided() - c.For }

// Join adds the cases of d.
func (c *Cases) Join(d Cases) {
	c.For, c.Against, c.Reversed = c.For+d.For, c.Against+d.Against, c.Reversed+d.Reversed
	c.More, c.Less, c.Open = c.More+d.More, c.Less+d.Less, c.Open+d.Open
}

// Verdict returns what the cases say together.
func (c Cases) Verdict() Verdict {
	decided := c.Decided()
	switch {
	case c.All() == 0:
		return Unmeasured
	case decided == 0:
		return Undecided
	case c.For == decided && decided < Enough:
		return Indicated
	case c.For == decided:
		return Supported
	case c.For > 0 && c.Reversed > 0:
		return Divided
	case c.For > 0:
		return Partly
	case c.Reversed == decided && decided < Enough:
		return HintReversed
	case c.Reversed == decided:
		return Reversed
	case c.More == decided:
		return MoreThan
	case c.Less == decided:
		return LessThan
	}
	return Refuted
}

// Around is the factor by which a measured ratio may lie beyond either end of a claimed range and
// still speak for it.
const Around = 1.5

// Slightly is the largest ratio that is called slightly or a little.
const Slightly = 1.1

// Claim is a claimed range of ratios, all above 1.
type Claim struct{ Least, Most float64 }

// Add counts a case by the interval of its ratio and by the outcome of its test. The claim is that
// the second row is quicker.
func (c *Cases) Add(claim Claim, x Comparison) {
	switch {
	case x.Outcome == Slower:
		c.Reversed++
	case x.Outcome == Quicker && x.Lo > claim.Most:
		c.More++
	case x.Outcome == Quicker && x.Hi < claim.Least:
		c.Less++
	case x.Outcome == Quicker && (x.Lo >= claim.Least && x.Hi <= claim.Most || claim.within(x.Ratio)):
		c.For++
	case x.Lo >= 1/(1+Tolerance) && x.Hi <= 1+Tolerance:
		c.Against++
	default:
		c.Open++
	}
}

// within reports whether a ratio is in a range whose one end is open, as that of “slightly” and
// “faster”: there the test of the sign decides.
func (c Claim) within(ratio float64) bool {
	return c.Least <= 1 && ratio <= c.Most
}

// Slack is how far the product of time and threads may be from constant for time to
// be called inverse to threads.
const Slack = 0.1

// The tolerance and the slack in prose.
var Tolerated, Slackened = fmt.Sprintf("%g %%", 100*Tolerance), fmt.Sprintf("%g %%", 100*Slack)

// Duel is two rows of one case that differ in what a finding is about.
type Duel struct{ First, Second compare.Record }

// Fought is the outcome of duels, with p values adjusted for their number.
type Fought struct {
	Duel
	Comparison
}

// Fight compares the pairs like Versus. P and Outcome are adjusted by Holm's procedure.
func Fight(duels []Duel) []Fought {
	out := make([]Fought, len(duels))
	p := make([]float64, len(duels))
	for i, d := range duels {
		out[i] = Fought{d, Versus(d.First, d.Second)}
		p[i] = out[i].P
	}
	for i, adjusted := range holm(p) {
		out[i].P = adjusted
		if o := out[i].Outcome; (o == Quicker || o == Slower) && !(adjusted < Significance) {
			out[i].Outcome = TooFew
		}
	}
	return out
}

// Steady reports whether the ratio of a duel is known to lie within the tolerance.
func (f Fought) Steady() bool { return f.Lo >= 1/(1+Tolerance) && f.Hi <= 1+Tolerance }

// Duels pairs timed parallel rows of one experiment. The second row differs from the first as
// change says; everything else is equal. threads selects the numbers of threads above one; nil:
// all.
func (v *View) Duels(keep func(compare.Record) bool, change func(compare.Record) string,
	threads func([]int) int) []Duel {
	rows := v.Pick(func(r compare.Record) bool {
		return Family(r.Variant) == Parallel && r.Experiment != compare.OpenMPLoops && r.Speed() && r.Median > 0 &&
			r.Threads > 1 && !v.IsCrowded(r.Threads)
	})
	key := func(r compare.Record, as string) string {
		p := ProblemOf(r)
		return fmt.Sprint(r.Experiment, "|", p, "|", as)
	}
	byKey := map[string]compare.Record{}
	counts := map[string][]int{} // of threads, by what is left of a row without them
	apart := func(r compare.Record) string {
		p := ProblemOf(r)
		p.Threads = 0
		return fmt.Sprint(r.Experiment, r.Variant, p, Omit(r.Params, "threads"))
	}
	for _, r := range rows {
		byKey[key(r, r.Variant+" "+r.Params.String())] = r
		counts[apart(r)] = append(counts[apart(r)], r.Threads)
	}
	var out []Duel
	for _, r := range rows {
		if !keep(r) || threads != nil && r.Threads != threads(counts[apart(r)]) {
			continue
		}
		if other, ok := byKey[key(r, change(r))]; ok {
			out = append(out, Duel{r, other})
		}
	}
	return out
}

// ToDynamic changes a static row to the dynamic row that it is compared with. Both have the default
// chunk.
func ToDynamic(r compare.Record) string {
	p := Omit(r.Params)
	p["schedule"] = "dynamic"
	return r.Variant + " " + p.String()
}

// IsStatic reports whether a row has a static schedule without a chunk of its own.
func IsStatic(r compare.Record) bool {
	return r.Params["schedule"] == "static" && ChunkOf(r.Params) == 0 && r.Experiment != compare.ArtificialLoad
}

// ManyThreads is how many threads, or ranks, are many.
const ManyThreads = 4

// Drifted widens the interval of two rows that were not sampled in turn by Drift. The outcome is
// what all of the interval says.
func Drifted(first, second compare.Record) Comparison {
	c := Contrast(first, second)
	c.Lo, c.Hi, c.Outcome = c.Lo/Drift, c.Hi*Drift, TooFew
	switch {
	case c.Lo > 1:
		c.Outcome = Quicker
	case c.Hi < 1:
		c.Outcome = Slower
	}
	return c
}

// Inverse returns the comparison with the rows exchanged.
func (c Comparison) Inverse() Comparison {
	c.Ratio, c.Lo, c.Hi = 1/c.Ratio, 1/c.Hi, 1/c.Lo
	switch c.Outcome {
	case Quicker:
		c.Outcome = Slower
	case Slower:
		c.Outcome = Quicker
	}
	return c
}

// Drift is the factor by which the speed of a machine may change between two turns: processors of
// shared machines run at two thirds of their speed at times.
const Drift = 1.5
