package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
	"gemm/internal/sample"
)

// standing is a row under the roofline of its host (Williams, Waterman and Patterson,
// Roofline: an insightful visual performance model, 2009).
type standing struct {
	compare.Record
	intensity float64 // executed operations a byte of predicted traffic
	rate      float64 // executed operations a second, in 10⁹
	limit     float64 // the smaller of peak and intensity times bandwidth; NaN where one is not known
	memory    bool    // the bandwidth is the smaller
}

// roofline reads intensity and rate of every variant at its largest size.
func (b *builder) roofline(v *view) (document.Section, bool) {
	s := b.of(v, "roofline", "roofline.title")
	s.Text(b.Say("roofline.intro"))
	found := false
	for _, typ := range types(v.pick(func(r compare.Record) bool { return r.Experiment == "ladder" })) {
		if typ == "gf256" {
			continue // codes have a chapter of their own, with what limits them
		}
		var roofs []standing
		// The models of distributed variants are of the caches of one rank, and the peak is
		// not that of a GPU.
		rows := slices.DeleteFunc(timed(v.ladder(typ)), func(r compare.Record) bool { return family(r.Variant) == overRanks.family || byGPU(r) })
		for _, variant := range distinct(rows, variantOf) {
			if r, ok := v.roof(rows, variant); ok {
				roofs = append(roofs, r)
			}
		}
		if len(roofs) == 0 {
			continue
		}
		found = true
		var used []compare.Record
		table := document.Table{
			ID: "table-roofline-" + anchor(typ) + v.suffix, Caption: b.Say("roofline.caption", text.Args{"Type": typ}),
			Columns: b.columns("variant", "size", "#intensity", "bound-by", "#limit", "#executed", "#fraction"),
		}
		for _, r := range roofs {
			used = append(used, r.Record)
			by := document.Text(absent)
			if !math.IsNaN(r.limit) {
				by = b.Say(map[bool]string{true: "roofline.memory", false: "roofline.compute"}[r.memory])
			}
			table.Rows = append(table.Rows, document.Row{Cells: []document.Text{
				document.Literal(r.Variant), document.Escape(problemOf(r.Record).label()), document.Text(significant(r.intensity)), by,
				document.Text(significant(r.limit)), document.Text(significant(r.rate)), document.Text(percent(r.rate / r.limit)),
			}})
		}
		table.Command = b.rerun(v, used)
		s.Text(b.Say("roofline.of", text.Args{"Type": typ}))
		b.readRoofs(&s, v, typ, roofs)
		b.figure(&s, v, "roofline-"+typ, "fig.roofline", table.Command, text.Args{"Type": typ})
		s.Add(table)
		b.microKernel(&s, v, typ, rows)
	}
	return s, found
}

// microKernel says what share of its micro-kernel's rate in the first level of
// cache the packed product reaches at its largest cube, where both were measured
// in one run.
func (b *builder) microKernel(s *document.Section, v *view, typ string, rows []compare.Record) {
	var packed compare.Record
	for _, r := range rows {
		if r.Variant == "serial/packed" && r.M == r.N && r.N == r.K && r.N > packed.N {
			packed = r
		}
	}
	for _, m := range v.measurements {
		if m.Name != "micro-kernel" || m.Params["type"] != typ || m.Run != packed.Run || packed.N == 0 {
			continue
		}
		rate := sample.Summarize(m.Samples).Median
		s.Text(b.Say("roofline.kernel", text.Args{
			"Kernel": document.Literal(fmt.Sprint(m.Params["kernel"])), "Speed": significant(rate),
			"Variant": document.Literal(packed.Variant), "Share": percent(float64(packed.Gflops) / rate),
			"Size": document.Escape(problemOf(packed).label()),
		}))
	}
}

// roof places a variant's row at its largest case, cubes preferred, under the
// roofline. It has no place without a prediction of operations and traffic.
func (v *view) roof(rows []compare.Record, variant string) (standing, bool) {
	var own []compare.Record
	for _, r := range rows {
		if r.Variant == variant && r.Predicted != nil && r.Predicted.Flops > 0 && r.Predicted.Traffic > 0 {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return standing{}, false
	}
	rank := func(r compare.Record) int {
		if problemOf(r).cube() {
			return 1
		}
		return 0
	}
	r := standing{Record: slices.MaxFunc(own, func(x, y compare.Record) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), problemOf(x).compare(problemOf(y)), -cmp.Compare(len(x.Params), len(y.Params)))
	}), limit: math.NaN()}
	r.intensity = r.Predicted.Flops / r.Predicted.Traffic
	r.rate = r.Predicted.Flops / float64(r.Median) / 1e9
	peak, ok := v.ceiling(r.Type, max(r.Threads, 1))
	triad, too := v.bandwidth(max(r.Threads, 1))
	if ok && too {
		slope := r.intensity * float64(triad.GBps)
		r.memory = slope < float64(peak.Gflops)
		r.limit = math.Min(slope, float64(peak.Gflops))
	}
	return r, true
}

// readRoofs says which variants memory limits by prediction, which comes closest
// to its roof, and which fall short of it though memory does not limit them.
func (b *builder) readRoofs(s *document.Section, v *view, typ string, roofs []standing) {
	var memory, compute, short, above []string
	var best, worst standing
	for _, r := range roofs {
		fraction := r.rate / r.limit
		if math.IsNaN(fraction) {
			continue
		}
		if r.memory {
			memory = append(memory, r.Variant)
		} else {
			compute = append(compute, r.Variant)
			if fraction < 0.25 {
				short = append(short, r.Variant)
			}
		}
		if fraction > 1 {
			above = append(above, r.Variant)
		}
		if best.limit == 0 || fraction > best.rate/best.limit {
			best = r
		}
		if worst.limit == 0 || fraction < worst.rate/worst.limit {
			worst = r
		}
	}
	if best.limit == 0 {
		s.Text(b.Say("roofline.nopeak", text.Args{"Type": typ, "Command": document.Literal(b.program + " compare")}))
		return
	}
	if peak, ok := v.ceiling(typ, 1); ok {
		if triad, ok := v.bandwidth(1); ok {
			s.Text(b.Say("roofline.ridge", text.Args{
				"Peak": significant(float64(peak.Gflops)), "Bandwidth": significant(float64(triad.GBps)),
				"Intensity": significant(float64(peak.Gflops / triad.GBps)),
			}))
		}
	}
	say := func(key string, names []string) {
		if len(names) > 0 {
			s.Text(b.Say(key, text.Args{"Variants": b.Names(names)}))
		}
	}
	say("roofline.memories", memory)
	say("roofline.computes", compute)
	s.Text(b.Say("roofline.range", text.Args{
		"Best": document.Literal(best.Variant), "BestShare": percent(best.rate / best.limit),
		"Worst": document.Literal(worst.Variant), "WorstShare": percent(worst.rate / worst.limit),
	}))
	say("roofline.short", short)
	say("roofline.above", above)
}
