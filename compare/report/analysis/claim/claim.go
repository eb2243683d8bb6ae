// Package claim evaluates claims on ratios of times: which of two is faster, and by how much. Every claim
// of a report is evaluated here, by cases. A case is one measured ratio with its 95 % interval.
// The claims themselves are data, in claims.yaml.
//
// A band around 1 separates the outcomes. A ratio whose whole interval lies above the band is faster,
// below it slower, within it no difference. An interval that crosses an end of the band is open.
package claim

import (
	"math"

	"gemm/compare/report/analysis"
)

// Band is half of the band: two times are the same if their ratio lies between 1/(1+Band) and 1+Band.
const Band = analysis.Tolerance

// Far separates slightly faster, below it, from far faster.
const Far = 1.25

// Around is the factor by which a ratio may lie beyond either end of a range that is claimed in numbers.
const Around = 1.5

// Enough is how many cases have to be decided before a claim has a verdict, unless only the largest size counts.
const Enough = 3

// Range is a claimed range of ratios. Above 1 the claim is right about which of the two is faster.
type Range struct{ Least, Most float64 }

// What claims say in words.
var (
	Same     = Range{1 / (1 + Band), 1 + Band}
	Faster   = Range{1 + Band, math.Inf(1)}
	Slightly = Range{1 + Band, Far}       // faster, and not far
	Much     = Range{Far, math.Inf(1)}    // far faster
	Hardly   = Range{1 / (1 + Band), Far} // no difference, or slightly faster
)

var words = map[string]Range{"same": Same, "faster": Faster, "slightly": Slightly, "much": Much, "hardly": Hardly}

// Times is the claim that one is from least to most times as fast as the other.
func Times(least, most float64) Range { return Range{max(least/Around, Faster.Least), most * Around} }

// Outcome is what a case says of a claim.
type Outcome int

const (
	TooFew   Outcome = iota // too few samples for an interval
	Open                    // the interval crosses an end of the range or of the band
	Holds                   // the interval lies in the claimed range
	Level                   // no difference, and the claim is that there is one
	More                    // the claimed one is faster by more than claimed
	Less                    // the claimed one is faster by less than claimed
	Opposite                // the other one is faster
)

// Evaluate returns the outcome of a case with the ends of its interval: the time of the one that is claimed to
// be slower over the time of the other.
func (r Range) Evaluate(lo, hi float64) Outcome {
	switch {
	case !(lo > 0 && lo <= hi) || math.IsInf(hi, 0):
		return TooFew
	case lo >= r.Least && hi <= r.Most:
		return Holds
	case lo >= Same.Least && hi <= Same.Most:
		return Level
	case hi < Same.Least:
		return Opposite
	case lo > Same.Most && lo > r.Most:
		return More
	case lo > Same.Most && hi < r.Least:
		return Less
	}
	return Open
}

// Verdict is what the cases of a claim say together: the key of its words.
type Verdict string

const (
	Unmeasured Verdict = "unmeasured" // there is no case
	Undecided  Verdict = "undecided"  // too few cases are decided
	Supported  Verdict = "supported"  // it holds in all that are
	Mixed      Verdict = "mixed"      // it holds in some
	Refuted    Verdict = "refuted"    // it holds in none
	Reversed   Verdict = "reversed"   // the opposite holds in all
)

// verdict returns what cases say together, by their number, the number of those that are decided, and of those
// for the claim and for the opposite; enough have to be decided. That all agree is said only if at least half are.
func verdict(all, decided, holds, opposite, enough int) Verdict {
	most := 2*decided >= all
	switch {
	case all == 0:
		return Unmeasured
	case decided < enough, holds == decided && !most:
		return Undecided
	case holds == decided:
		return Supported
	case holds > 0:
		return Mixed
	case opposite == decided && most:
		return Reversed
	}
	return Refuted
}
