package analysis

import (
	"fmt"

	"gemm/compare"
)

// Duel is two rows of one case that differ in what a finding is about.
type Duel struct{ First, Second compare.Record }

// Fought is the outcome of duels, with p values adjusted for their number.
type Fought struct {
	Duel
	Comparison
}

// Fight compares the pairs like Versus, or like Contrast if it is known how much times of identical code differ
// that were not interleaved. P and Outcome are adjusted by Holm's procedure.
func Fight(duels []Duel) []Fought {
	out := make([]Fought, len(duels))
	p := make([]float64, len(duels))
	for i, d := range duels {
		out[i] = Fought{d, Versus(d.First, d.Second)}
		if noise(d.First, d.Second) > 0 {
			out[i].Comparison = Contrast(d.First, d.Second)
		}
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

// Duels pairs timed parallel rows of one experiment. The second row differs from the first as
// change says; everything else is equal. threads selects the numbers of threads above one; nil:
// all.
func (v *View) Duels(keep func(compare.Record) bool, change func(compare.Record) string,
	threads func([]int) int) []Duel {
	rows := v.Pick(func(r compare.Record) bool {
		return Family(r.Variant) == Parallel && r.Experiment != compare.OpenMPLoops && r.Speed() && r.Median > 0 &&
			r.Threads > 1 && !v.Crowds(r)
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

// ManyThreads is how many threads are many.
const ManyThreads = 4

// FewRanks is how many ranks are few, at most.
const FewRanks = 4

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
// shared machines run at two thirds of their speed at times. It widens the interval of two rows that
// were not sampled in turn on either side.
const Drift = 1.5
