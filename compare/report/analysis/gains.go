package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"

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
	for _, variant := range v.ParentsFirst(variants, typ) {
		var best *Gain
		for from := v.Ancestor(all, variant, typ); from != "" && best == nil; from = v.Ancestor(all, from, typ) {
			best = v.gain(all, from, variant)
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
		c := Contrast(before, after)
		g := &Gain{parent, variant, p, c, v.Explain(before, after, c.Ratio), Wide(before) || Wide(after)}
		if best == nil || g.rank() >= best.rank() {
			best = g
		}
	}
	return best
}

// rank is higher for enough samples, and then for a change of the profiler's counters.
func (g *Gain) rank() (rank int) {
	if g.Outcome != TooFew {
		rank = 2
	}
	if g.Counted != nil {
		rank++
	}
	return rank
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
	Profiled    Reason = "profiled"    // the profiler's counters have it: see Counted
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

// Counted is the largest change between two kernels in the profiler's counters.
type Counted struct {
	State         string  // of warps, by the profiler's name, whose cycles change most
	Before, After float64 // cycles of a scheduler in it for a multiply-add of a warp
	Work          string  // a key of works: what changes most of what the state may come from; empty: nothing
	From, To      float64 // of what changes most
}

// counts are counters, by the profiler's names.
type counts map[string]float64

// states are what a warp does or waits for in a cycle, by the profiler's names.
var states = strings.Fields(`selected not_selected math_pipe_throttle gmma warpgroup_arrive long_scoreboard lg_throttle
	short_scoreboard mio_throttle barrier wait dispatch_stall branch_resolving no_instruction imc_miss membar drain
	sleeping`)

// causes are the works that may change how long a state lasts, besides instructions and active warps.
var causes = map[string][]string{
	"long_scoreboard":  {"sectors", "global", "dram"},
	"lg_throttle":      {"sectors", "global"},
	"short_scoreboard": {"conflicts", "loads", "width"},
	"mio_throttle":     {"conflicts", "loads", "width"},
	"drain":            {"stores"},
}

// works are what kernels do, from counters and the multiply-adds of warps. more is -1 for what takes less time if there
// is more of it.
var works = map[string]struct {
	more float64
	of   func(c counts, warps float64) float64
}{
	"instructions": {1, func(c counts, warps float64) float64 { return c["smsp__inst_executed.sum"] / warps }},
	"loads":        {1, func(c counts, warps float64) float64 { return c[sharedLoads] / warps }},
	"width":        {-1, func(c counts, _ float64) float64 { return c[sharedBytes] / (32 * c[sharedLoads]) }},
	"conflicts": {1, func(c counts, _ float64) float64 {
		all := c["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]
		return all / (all - c["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"] -
			c["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"])
	}},
	"sectors": {1, func(c counts, warps float64) float64 { return c[globalSectors+"ld.sum"] / warps }},
	"stores":  {1, func(c counts, warps float64) float64 { return c[globalSectors+"st.sum"] / warps }},
	"global":  {1, func(c counts, warps float64) float64 { return c["lts__t_sectors_op_read.sum"] / warps }},
	"dram":    {1, func(c counts, warps float64) float64 { return c["dram__bytes_read.sum"] / warps }},
	"warps":   {-1, func(c counts, _ float64) float64 { return c[activeWarps] }},
}

const (
	sharedLoads   = "smsp__inst_executed_op_shared_ld.sum"
	sharedBytes   = "smsp__sass_data_bytes_mem_shared_op_ld.sum"
	activeWarps   = "sm__warps_active.avg.pct_of_peak_sustained_active"
	globalSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_"
)

// cycles returns the cycles of a scheduler for a multiply-add of a warp, by the states of warps; nil without counters.
// The profiler has the mean warps in each state for an issued instruction. The sum of all states over the active warps
// is the cycles between two instructions.
func (v *View) cycles(r record.Record) map[string]float64 {
	if r.GPU == nil || !(r.GPU.Counters[activeWarps] > 0) || r.Terms() == 0 {
		return nil
	}
	const schedulers, usual = 4, 64 // of a multiprocessor, and the warps that it can hold
	most := float64(usual)
	if g := v.Device(); g.Threads > 0 && g.Warp > 0 {
		most = float64(g.Threads / g.Warp)
	}
	active := r.GPU.Counters[activeWarps] / 100 * most / schedulers
	issued := works["instructions"].of(r.GPU.Counters, r.Terms()/32)
	out := map[string]float64{}
	for _, s := range states {
		out[s] = issued * r.GPU.Counters["smsp__average_warps_issue_stalled_"+s+"_per_issue_active.ratio"] / active
	}
	return out
}

// Profiled reports whether a kernel of the type was profiled.
func (v *View) Profiled(typ string) bool {
	return slices.ContainsFunc(v.Rungs(typ), func(r record.Record) bool { return v.cycles(r) != nil })
}

// counted returns the largest change in the counters of two rows, and the ratio of their cycles. It is nil without
// counters, or if the cycles do not account for the measured ratio.
func (v *View) counted(before, after record.Record, measured float64) (*Counted, float64) {
	p, q := v.cycles(before), v.cycles(after)
	predicted := total(p) / total(q)
	if !Accounts(predicted, measured) || (predicted-1)*(measured-1) <= 0 {
		return nil, math.NaN()
	}
	direction := 1.0 // of cycles
	if predicted > 1 {
		direction = -1
	}
	most := slices.MaxFunc(states, func(x, y string) int {
		return cmp.Compare(direction*(q[x]-p[x]), direction*(q[y]-p[y]))
	})
	out := &Counted{State: most, Before: p[most], After: q[most]}
	largest := math.Log1p(Tolerance)
	for _, name := range append([]string{"instructions", "warps"}, causes[most]...) {
		w := works[name]
		from, to := w.of(before.GPU.Counters, before.Terms()/32), w.of(after.GPU.Counters, after.Terms()/32)
		if change := direction * w.more * math.Log(to/from); change > largest && !math.IsInf(change, 0) {
			largest, out.Work, out.From, out.To = change, name, from, to
		}
	}
	return out, predicted
}

func total(cycles map[string]float64) (all float64) {
	for _, s := range states {
		all += cycles[s]
	}
	return all
}
