package analysis

import (
	"cmp"
	"slices"

	"gemm"
	"gemm/compare"
)

// tuning is a rung with its default setting and with the one that the tuner found.
type tuning struct{ Before, After compare.Record }

// Tunings pairs the rows of the experiment tuned. For a variant and problem, the row with the
// fewest parameters is the default, and the fastest other row of its run is the tuner's choice;
// rows of earlier runs are out of date. A row without a partner is compared with the row of the
// ladder.
func (v *View) Tunings() []tuning {
	rows := Timed(v.Pick(func(r compare.Record) bool {
		return r.Experiment == compare.TunedKernels && ByGPU(r) && r.Median > 0
	}))
	type place struct {
		variant string
		Problem
	}
	var out []tuning
	for _, p := range Distinct(rows, func(r compare.Record) place { return place{r.Variant, ProblemOf(r)} }) {
		var own []compare.Record
		for _, r := range rows {
			if r.Variant == p.variant && ProblemOf(r) == p.Problem {
				own = append(own, r)
			}
		}
		slices.SortStableFunc(own, func(x, y compare.Record) int { return given(x.Params) - given(y.Params) })
		base := own[0]
		if len(own) == 1 {
			r, ok := At(v.Rungs(p.Type), p.variant, p.Problem)
			if !ok {
				continue
			}
			base, own = r, append([]compare.Record{r}, own...)
		} else if own = slices.DeleteFunc(own, func(r compare.Record) bool { return r.Run != base.Run }); len(own) == 1 {
			continue
		}
		best := own[1]
		for _, r := range own[2:] {
			if r.Median < best.Median {
				best = r
			}
		}
		out = append(out, tuning{base, best})
	}
	slices.SortStableFunc(out, func(x, y tuning) int { return ProblemOf(x.Before).Compare(ProblemOf(y.Before)) })
	return out
}

// given counts the parameters that are not left to be chosen.
func given(p gemm.Params) int {
	n := 0
	for _, value := range p {
		if value != 0 && value != "auto" {
			n++
		}
	}
	return n
}

// GPUSwept are the experiments on one setting of the kernels, which their parameter is named as.
var GPUSwept = []compare.Experiment{compare.PipelineStages, compare.RegisterLimits, compare.CacheStates}

// Reported are the shares of cuBLAS, in percent, in table 1 of the 2024 report: on an RTX 4070 at n
// = 2048 with thread blocks of 16×16, by variant and slice of k.
var Reported = map[string]map[int]float64{
	"naive":        {0: 11.26},
	"blocktile2d":  {8: 65.25, 16: 62.97},
	"vectorized":   {8: 82.90, 16: 81.88},
	"conflictfree": {8: 93.25, 16: 98.06},
	"doublebuffer": {8: 104.44, 16: 108.47},
}

// ReportedSize is the size of that table.
const ReportedSize = 2048

// Entry is a row of the table for this GPU: a rung with one of its settings.
type Entry struct {
	compare.Record
	Block, Slice int // 0: the rung has no such setting
}

// settingIn returns an integer parameter of a row, as it was asked for or else as run.
func settingIn(r compare.Record, name string) int {
	for _, p := range []any{r.Params[name], r.Resolved[name]} {
		if n, ok := p.(int); ok && n > 0 {
			return n
		}
	}
	return 0
}

// Entries returns the rows of the experiment block of a type, at the size of the report's table or
// else at the largest size, and rows of the other variants from the ladder. They are in the order
// of the ladder, large blocks first.
func (v *View) Entries(typ string) []Entry {
	rows := v.Pick(func(r compare.Record) bool {
		return r.Experiment == compare.BlockSizes && r.Type == typ && ByGPU(r) && ProblemOf(r).Cube()
	})
	n := 0
	for _, r := range rows {
		if n != ReportedSize {
			n = max(n, r.N)
		}
		if r.N == ReportedSize {
			n = r.N
		}
	}
	if len(Timed(rows)) == 0 {
		return nil
	}
	ladder := v.Rungs(typ)
	var out []Entry
	for _, variant := range v.gpuVariants() {
		var own []Entry
		for _, r := range rows {
			if r.Variant == variant && r.N == n {
				own = append(own, Entry{r, settingIn(r, "block"), settingIn(r, "bk")})
			}
		}
		if r, ok := At(ladder, variant, cubeOf(typ, n)); ok && len(own) == 0 && n > 0 {
			own = append(own, Entry{Record: r})
		}
		slices.SortStableFunc(own, func(x, y Entry) int {
			return cmp.Or(cmp.Compare(y.Block, x.Block), cmp.Compare(x.Slice, y.Slice))
		})
		out = append(out, own...)
	}
	return out
}

// Before returns the entry of the rung before e: with the same setting, or the quickest.
func Before(all []Entry, e Entry) (compare.Record, bool) {
	var previous string
	for _, o := range all {
		if o.Variant == e.Variant {
			break
		}
		previous = o.Variant
	}
	var own []Entry
	for _, o := range all {
		if o.Variant == previous && Ours(o.Record) {
			own = append(own, o)
		}
	}
	if !Ours(e.Record) || len(own) == 0 {
		return compare.Record{}, false
	}
	if i := slices.IndexFunc(own, func(o Entry) bool { return o.Block == e.Block && o.Slice == e.Slice }); i >= 0 {
		return own[i].Record, true
	}
	best := own[0].Record
	for _, o := range own {
		if o.Speed() && !(o.Median >= best.Median) {
			best = o.Record
		}
	}
	return best, true
}
