package analysis

import (
	"math"
	"slices"

	"gemm/compare/record"
)

// Gain compares a variant with the one that it changes one thing of, at the largest case that both have enough samples
// of, or else were timed at.
type Gain struct {
	From, To string
	Problem
	Comparison
	Explanation
	noisy bool // the samples vary too much for an explanation
}

// Gains returns the gains of the variants in the chapter of a family, parents before those that descend from them. A
// row that another variant computed has no part in it.
func (v *View) Gains(fam, typ string) []Gain {
	all := v.Ladder(typ)
	variants := Distinct(Pick(all, func(r record.Record) bool { return Home(r) == fam }), VariantOf)
	slices.SortStableFunc(variants, v.byPlace)
	var out []Gain
	for _, variant := range v.ParentsFirst(variants) {
		var best *Gain
		for parent := v.Ancestor(all, variant); parent != "" && best == nil; parent = v.Ancestor(all, parent) {
			best = v.gain(all, parent, variant)
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	return out
}

// gain returns the gain over one parent, nil if no case was timed for both.
func (v *View) gain(rows []record.Record, parent, variant string) (best *Gain) {
	for _, p := range Problems(Pick(rows, func(r record.Record) bool { return r.Variant == variant })) {
		after, _ := At(rows, variant, p)
		before, ok := ParentRow(rows, parent, after)
		if !ok || !before.Speed() || !after.Speed() {
			continue
		}
		if c := Contrast(before, after); best == nil || c.Outcome != TooFew || best.Outcome == TooFew {
			best = &Gain{parent, variant, p, c, v.Explain(before, after, c.Ratio), Wide(before) || Wide(after)}
		}
	}
	return best
}

// Parent names the first variant of a gain, without its family if both are of one.
func (g Gain) Parent() string { return shortName(g.From, g.To) }

// Child names the second variant in the same way.
func (g Gain) Child() string { return shortName(g.To, g.From) }

func shortName(variant, other string) string {
	if Family(variant) == Family(other) {
		return Algorithm(variant)
	}
	return variant
}

// The keys of what is said in place of a reason.
const (
	Noisy       Reason = "noisy"       // the samples vary too much
	Small       Reason = "small"       // the difference is finer than the models
	Unpredicted Reason = "unpredicted" // no model has a prediction
	Unexplained Reason = "unexplained" // the prediction is another
	Checked     Reason = "checks"      // as instructions, of which some check bounds
)

// Reason returns the main reason for a gain or a loss, or why there is none: empty if two rows that are predicted to be
// level are not distinguishable.
func (g Gain) Reason() Reason {
	differ := g.Outcome == Faster || g.Outcome == Slower
	switch {
	case g.noisy:
		return Noisy
	case g.Outcome == Level && math.Abs(math.Log(g.Predicted)) > math.Ln2:
		return Unexplained
	case !differ:
		return NoReason
	case g.Cause == NoReason && Alike(g.Ratio):
		return Small
	case g.Cause == NoReason && math.IsNaN(g.Predicted):
		return Unpredicted
	case g.Cause == NoReason:
		return Unexplained
	}
	slow, fast := g.sides()
	if g.Cause == Instructions && slow.Loop.Checks > fast.Loop.Checks {
		return Checked
	}
	return g.Cause
}

// sides returns the models of the slower and of the faster variant.
func (g Gain) sides() (slow, fast Cost) {
	if g.Before.Cycles < g.After.Cycles {
		return g.After, g.Before
	}
	return g.Before, g.After
}

// Values are what the words for the reason name.
func (g Gain) Values() map[string]float64 {
	slow, _ := g.sides()
	reason := g.Reason()
	before, after := g.Before.Workers, g.After.Workers
	switch reason {
	case Instructions, Checked:
		before, after = g.Before.Loop.Instructions, g.After.Loop.Instructions
	case Vectors:
		before, after = g.Before.Lanes, g.After.Lanes
	}
	return map[string]float64{
		"Cycles": slow.Terms[reason] * slow.Workers, "Percent": 100 * slow.Share, "Lines": slow.Column, "Sets": slow.Sets,
		"All": slow.AllSets, "Checks": slow.Loop.Checks, "Before": before, "After": after,
	}
}
