package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/aclements/go-moremath/mathx"
	"github.com/aclements/go-moremath/stats"

	"gemm"
	"gemm/compare/record"
)

// Tolerance is the difference below which two times are called the same, as a part of them.
const Tolerance = 0.05

// Pairwise is what the pairs of some rows show together.
type Pairwise struct {
	Fast, Slow record.Record // the pair that differs most, among the distinguishable pairs if there are any
	Comparison               // of Slow with Quick; P is adjusted for the number of pairs
	Clearest   Comparison    // of the pair whose interval begins highest
	Bounded    bool          // the intervals of all pairs lie within the tolerance
	Turn       string        // that all rows were sampled in; empty: not all in one
}

// CompareAll compares every two of the rows (at least two) like Versus, with Holm's procedure. A test that finds no
// difference does not show that there is none: Bounded says that.
func CompareAll(rows []record.Record) Pairwise {
	type pair struct {
		slow, fast record.Record
		Comparison
	}
	var pairs []pair
	var p []float64
	out := Pairwise{Bounded: true, Turn: rows[0].Turn}
	for i, a := range rows {
		if a.Turn != out.Turn {
			out.Turn = ""
		}
		for _, b := range rows[i+1:] {
			q := pair{slow: a, fast: b}
			if a.Median < b.Median {
				q = pair{slow: b, fast: a}
			}
			q.Comparison = Versus(q.slow, q.fast)
			pairs, p = append(pairs, q), append(p, q.P)
			out.Bounded = out.Bounded && q.Lo >= 1/(1+Tolerance) && q.Hi <= 1+Tolerance
		}
	}
	for i, adjusted := range holm(p) {
		q := &pairs[i]
		if q.P = adjusted; (q.Outcome == Faster || q.Outcome == Slower) && !(adjusted < Significance) {
			q.Outcome = TooFew
		}
	}
	out.Clearest = slices.MaxFunc(pairs, func(x, y pair) int { return cmp.Compare(x.Lo, y.Lo) }).Comparison
	apart := Pick(pairs, func(q pair) bool { return q.P < Significance })
	if apart == nil {
		apart = pairs
	}
	worst := slices.MaxFunc(apart, func(x, y pair) int { return cmp.Compare(x.Ratio, y.Ratio) })
	out.Slow, out.Fast, out.Comparison = worst.slow, worst.fast, worst.Comparison
	return out
}

// holm returns p values adjusted for their number by Holm's procedure (A simple sequentially rejective multiple test
// procedure, Scandinavian Journal of Statistics 6, 1979): one is below a level exactly where the procedure rejects its
// hypothesis at that level. NaN stays NaN, and counts as a test that was made.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	adjusted := slices.Clone(p)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	order = slices.DeleteFunc(order, func(i int) bool { return math.IsNaN(p[i]) })
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = highest
	}
	return adjusted
}

// Interleaved reports whether rows were sampled in one turn of one run.
func Interleaved(rows ...record.Record) bool {
	return rows[0].Turn != "" && !slices.ContainsFunc(rows, func(r record.Record) bool {
		return r.Turn != rows[0].Turn || r.Run != rows[0].Run
	})
}

// Versus compares two rows like Contrast if they were interleaved. Otherwise it returns the ratio only: no sample shows
// what the machine did between them, so neither an interval nor a test is valid.
func Versus(a, b record.Record) Comparison {
	if Interleaved(a, b) {
		return Contrast(a, b)
	}
	return justRatio(float64(a.Median) / float64(b.Median))
}

func justRatio(ratio float64) Comparison {
	return Comparison{Ratio: ratio, Lo: math.NaN(), Hi: math.NaN(), P: math.NaN()}
}

// Significance is the probability of error below which two rows are called different.
const Significance = 0.01

// Outcome is what a comparison of two rows says.
type Outcome int

const (
	TooFew Outcome = iota // no samples could give p < Significance: there are too few
	Level                 // not distinguishable
	Faster                // the second row takes less time
	Slower                // the second row takes more time
)

// String returns the key of the words for an outcome.
func (o Outcome) String() string { return [...]string{"few", "level", "faster", "slower"}[o] }

// Comparison is the comparison of a row with another.
type Comparison struct {
	Ratio   float64 // the first row's median over the second's: above 1 where the second is faster
	Lo, Hi  float64 // 95 % interval of the ratio; NaN if a row has none of its median
	P       float64 // two-sided, of Mann and Whitney's test; NaN without samples
	Outcome Outcome
}

// Floor is how much times of identical code differ.
type Floor struct {
	Several     bool    // threads or ranks
	GPU         bool    // on a GPU
	Interleaved bool    // of rows that were interleaved
	Factor      float64 // at most, in 19 of 20 pairs
	Pairs       int
}

// Floors returns the noise floors of the runs of a host, of pairs of rows of one run that the same code computed
// with the same settings: repeats in several experiments or with another name for a setting, and products that
// another variant computed, with rows of that variant.
func (v *View) Floors() []Floor { return v.floors }

func (v *View) findFloors() []Floor {
	found := map[Floor][]float64{}
	timed := Pick(v.All, func(r record.Record) bool { return r.Speed() && r.Median > 0 })
	for _, rows := range GroupBy(timed, func(r record.Record) string {
		return fmt.Sprint(r.Run, "|", r.Build, "|", Hosts(r), "|", ProblemOf(r))
	}) {
		for i, a := range rows {
			for _, b := range rows[i+1:] {
				if identical(a, b) {
					f := Floor{Several: a.Threads > 1, GPU: ByGPU(a), Interleaved: Interleaved(a, b)}
					found[f] = append(found[f], math.Abs(math.Log(float64(a.Median)/float64(b.Median))))
				}
			}
		}
	}
	var out []Floor
	for f, logs := range found {
		slices.Sort(logs)
		f.Pairs, f.Factor = len(logs), math.Exp(logs[(19*len(logs)+19)/20-1])
		out = append(out, f)
	}
	key := func(f Floor) string { return fmt.Sprint(f.GPU, f.Several, f.Interleaved) }
	slices.SortFunc(out, func(f, g Floor) int { return cmp.Compare(key(f), key(g)) })
	return out
}

// identical reports whether the same code computed two rows of one case with the same settings. A variant that
// computed another's product did so with its default settings.
func identical(a, b record.Record) bool {
	switch {
	case Ran(a) != Ran(b) || ByGPU(a) != ByGPU(b) || a.GPU != nil && b.GPU != nil && a.GPU.L2 != b.GPU.L2:
		return false
	case RanItself(a) && RanItself(b):
		return asRun(a) == asRun(b)
	}
	plain := func(r record.Record) bool { return !RanItself(r) || len(Omit(r.Params, "threads")) == 0 }
	return plain(a) && plain(b)
}

// asRun returns the parameters of a row as run.
func asRun(r record.Record) string {
	p := gemm.Params{}
	maps.Copy(p, r.Params)
	maps.Copy(p, r.Resolved)
	return p.String()
}

// setNoise puts the floors into the rows that they are for.
func (v *View) setNoise() {
	v.floors = v.findFloors()
	for i := range v.All {
		r := &v.All[i]
		for _, f := range v.floors {
			switch {
			case f.GPU != ByGPU(*r) || f.Several != (r.Threads > 1):
			case f.Interleaved:
				r.Noise[0] = f.Factor
			default:
				r.Noise[1] = f.Factor
			}
		}
	}
}

// noise returns the logarithm of the floor for a comparison of two rows, 0 if it is not known.
func noise(a, b record.Record) float64 {
	at := 1
	if Interleaved(a, b) {
		at = 0
	}
	return math.Log(max(1, a.Noise[at], b.Noise[at]))
}

// Contrast compares the times of two rows. All comparisons in reports are made by it.
//
// The interval combines the intervals of the two medians. On the logarithmic scale the ratio is a difference. There the
// distances from each estimate to the ends of its interval add like the legs of a right triangle (Zou and Donner,
// Construction of confidence limits about effect measures: a general approach, Statistics in Medicine 27, 2008). Like
// the intervals of the medians, it assumes no distribution. It needs both intervals.
//
// The noise floor is the length of one more leg: samples of one row do not show how much times of identical
// code differ. Rows differ if Mann and Whitney's rank test says so (On a test of whether one of two random
// variables is stochastically larger than the other, 1947), which compares all samples, and the interval is on
// one side of 1. The test alone would call rows different whose samples are not independent.
func Contrast(a, b record.Record) Comparison {
	c := justRatio(float64(a.Median) / float64(b.Median))
	if a.CI != nil && b.CI != nil {
		down := math.Hypot(math.Log(float64(a.Median)/a.CI[0]), math.Log(b.CI[1]/float64(b.Median)))
		up := math.Hypot(math.Log(a.CI[1]/float64(a.Median)), math.Log(float64(b.Median)/b.CI[0]))
		down, up = math.Hypot(down, noise(a, b)), math.Hypot(up, noise(a, b))
		c.Lo, c.Hi = c.Ratio*math.Exp(-down), c.Ratio*math.Exp(up)
	}
	if !(c.Ratio > 0) || len(a.Samples) == 0 || len(b.Samples) == 0 {
		return c
	}
	c.P = rankTest(a, b)
	// If the rows do not differ, all rankings are equally likely: the two extreme ones are the strongest evidence.
	switch {
	case !(2/mathx.Choose(a.Count()+b.Count(), a.Count()) < Significance):
		c.Outcome = TooFew
	case c.P < Significance && c.beyond(noise(a, b)) > 0:
		c.Outcome = Faster
	case c.P < Significance && c.beyond(noise(a, b)) < 0:
		c.Outcome = Slower
	default:
		c.Outcome = Level
	}
	return c
}

// beyond returns 1 if the ratio is above 1 by more than its interval, or without one by more than the noise, -1
// if it is below 1 by more, and 0 otherwise.
func (c Comparison) beyond(noise float64) int {
	lo, hi := c.Lo, c.Hi
	if math.IsNaN(lo) || math.IsNaN(hi) {
		lo, hi = c.Ratio*math.Exp(-noise), c.Ratio*math.Exp(noise)
	}
	switch {
	case lo > 1:
		return 1
	case hi < 1:
		return -1
	}
	return 0
}

// Distinguishable reports whether two medians differ by more than the noise. Rows without an interval, such as slow
// loops with one sample, are compared as they are.
func Distinguishable(a, b record.Record) bool { return Contrast(a, b).beyond(noise(a, b)) != 0 }

// rankTest returns the two-sided p value of Mann and Whitney's test, 1 where all samples are equal. If only quantiles
// of the samples are kept, U is in proportion to U of all samples, and p is from its normal distribution.
func rankTest(a, b record.Record) float64 {
	result, err := stats.MannWhitneyUTest(a.Samples, b.Samples, stats.LocationDiffers)
	switch {
	case err != nil:
		return 1
	case a.Sampled == nil && b.Sampled == nil:
		return math.Min(result.P, 1)
	}
	x, y := float64(a.Count()), float64(b.Count())
	share := result.U / float64(len(a.Samples)*len(b.Samples))
	return math.Erfc(math.Abs(share-0.5) * math.Sqrt(6*x*y/(x+y+1)))
}

// Floor returns the highest factor of the noise floors, 0 if none is known.
func (v *View) Floor() float64 { return MaxOf(v.floors, func(f Floor) float64 { return f.Factor }) }

// Where is the word for what the rows of a floor ran on.
func (f Floor) Where() string {
	switch {
	case f.GPU:
		return "gpu"
	case f.Several:
		return "several"
	}
	return "one"
}

// Load returns the highest load average at the beginning of a run, of processors.
func (v *View) Load() float64 { return MaxOf(v.Runs, func(r record.RunInfo) float64 { return r.Load }) }

// Steal returns the largest share of the processors' time that a hypervisor gave to others during a row.
func (v *View) Steal() float64 {
	return MaxOf(v.All, func(r record.Record) float64 { return r.Steal })
}

// ComparePair compares two rows like Versus, or like Contrast if it is known how much times of identical code differ
// that were not interleaved.
func ComparePair(a, b record.Record) Comparison {
	if noise(a, b) > 0 {
		return Contrast(a, b)
	}
	return Versus(a, b)
}

// Inverse returns the comparison with the rows exchanged.
func (c Comparison) Inverse() Comparison {
	c.Ratio, c.Lo, c.Hi = 1/c.Ratio, 1/c.Hi, 1/c.Lo
	c.Outcome = [...]Outcome{TooFew: TooFew, Level: Level, Faster: Slower, Slower: Faster}[c.Outcome]
	return c
}
