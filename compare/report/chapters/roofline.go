package chapters

import (
	"fmt"
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
	"gemm/internal/sample"
)

// roofline reads intensity and rate of every variant at its largest size.
func (b *Builder) roofline(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "roofline", "roofline.title")
	s.Text(b.Say("roofline.intro"))
	found := false
	for _, typ := range analysis.Types(v.Pick(func(r compare.Record) bool { return r.Experiment == compare.MainLadder })) {
		if typ == "gf256" {
			continue // codes have a chapter of their own, with what limits them
		}
		var roofs []analysis.Standing
		// The models of distributed variants are for the caches of one rank, and the peak is not
		// that of a GPU.
		rows := slices.DeleteFunc(analysis.Timed(v.Ladder(typ)), func(r compare.Record) bool {
			return analysis.Family(r.Variant) == analysis.OverRanks.Family || analysis.ByGPU(r)
		})
		for _, variant := range analysis.Distinct(rows, analysis.VariantOf) {
			if r, ok := v.Roof(rows, variant); ok {
				roofs = append(roofs, r)
			}
		}
		if len(roofs) == 0 {
			continue
		}
		found = true
		var used []compare.Record
		table := document.Table{
			ID: "table-roofline-" + analysis.Anchor(typ) + v.Suffix, Caption: b.Say("roofline.caption", text.Args{"Type": typ}),
			Columns: b.Columns("variant", "size", "#intensity", "bound-by", "#limit", "#executed", "#fraction"),
		}
		for _, r := range roofs {
			used = append(used, r.Record)
			by := document.Text(number.Absent)
			if !math.IsNaN(r.Limit) {
				by = b.Say(map[bool]string{true: "roofline.memory", false: "roofline.compute"}[r.Memory])
			}
			table.Rows = append(table.Rows, document.Row{Cells: []document.Text{
				document.Literal(r.Variant), document.Escape(analysis.ProblemOf(r.Record).Label()),
				document.Text(number.Significant(r.Intensity)), by,
				document.Text(number.Significant(r.Limit)), document.Text(number.Significant(r.Rate)),
				b.ofRoof(r),
			}})
		}
		table.Command = b.Rerun(v, used)
		s.Text(b.Say("roofline.of", text.Args{"Type": typ}))
		b.readRoofs(&s, v, typ, roofs)
		b.Figure(&s, v, "roofline-"+typ, "fig.roofline", table.Command, text.Args{"Type": typ})
		s.Add(table)
		b.microKernel(&s, v, typ, rows)
	}
	return s, found
}

// ofRoof returns the share of its limit that a row reaches, or words where it is no share.
func (b *Builder) ofRoof(r analysis.Standing) document.Text {
	if fraction := r.Rate / r.Limit; r.Memory {
		return b.OfMemory(fraction)
	} else if fraction > 1 && !number.IsShare(fraction) {
		return b.Say("share.overpeak")
	}
	return document.Text(number.Share(r.Rate / r.Limit))
}

// OfMemory returns the share of the limit that memory sets. What is faster does not come from memory.
func (b *Builder) OfMemory(fraction float64) document.Text {
	if fraction > 1 && !number.IsShare(fraction) {
		return b.Say("share.cached")
	}
	return document.Text(number.Share(fraction))
}

// microKernel says which share of the rate of its micro-kernel in L1 the packed product reaches at
// its largest cube, if both were measured in one run.
func (b *Builder) microKernel(s *document.Section, v *analysis.View, typ string, rows []compare.Record) {
	var packed compare.Record
	for _, r := range rows {
		if r.Variant == analysis.Packed && r.IsCube() && r.N > packed.N {
			packed = r
		}
	}
	for _, m := range v.Measurements {
		if m.Name != "micro-kernel" || m.Params["type"] != typ || m.Run != packed.Run || packed.N == 0 {
			continue
		}
		rate := sample.Summarize(m.Samples).Median
		kernel := document.Literal(fmt.Sprint(m.Params["kernel"]))
		size := b.Sizes([]analysis.Problem{analysis.ProblemOf(packed)})
		share := float64(packed.Gflops) / rate
		if share > 0.995 {
			s.Text(b.Say("roofline.kernel-all", text.Args{
				"Kernel": kernel, "Speed": number.Significant(rate), "Variant": document.Literal(packed.Variant), "Size": size,
			}))
			continue
		}
		s.Text(b.Say("roofline.kernel", text.Args{
			"Kernel": kernel, "Speed": number.Significant(rate),
			"Variant": document.Literal(packed.Variant), "Share": number.Share(share), "Size": size,
		}))
	}
}

// readRoofs says which variants memory limits by prediction, which variant is closest to its roof,
// and which fall short of it although memory does not limit them.
func (b *Builder) readRoofs(s *document.Section, v *analysis.View, typ string, roofs []analysis.Standing) {
	var memory, compute, short, above []string
	var best, worst analysis.Standing
	known := false
	for _, r := range roofs {
		fraction := r.Rate / r.Limit
		if math.IsNaN(fraction) {
			continue
		}
		if r.Memory {
			memory = append(memory, r.Variant)
		} else {
			compute = append(compute, r.Variant)
			if fraction < 0.25 {
				short = append(short, r.Variant)
			}
		}
		if !number.IsShare(fraction) {
			above = append(above, r.Variant)
		}
		known = true
		if !number.IsShare(fraction) {
			continue
		}
		if best.Limit == 0 || fraction > best.Rate/best.Limit {
			best = r
		}
		if worst.Limit == 0 || fraction < worst.Rate/worst.Limit {
			worst = r
		}
	}
	if !known {
		s.Text(b.Say("roofline.nopeak", text.Args{"Type": typ, "Command": document.Literal(b.Program + " compare")}))
		return
	}
	if peak, ok := v.Ceiling(typ, 1); ok {
		if triad, ok := v.Bandwidth(1); ok {
			s.Text(b.Say("roofline.ridge", text.Args{
				"Peak": number.Significant(float64(peak.Gflops)), "Bandwidth": number.Significant(float64(triad.GBps)),
				"Intensity": number.Significant(float64(peak.Gflops / triad.GBps)),
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
	switch least, most, same := number.Between(worst.Rate/worst.Limit, best.Rate/best.Limit, number.Share); {
	case best.Limit == 0:
	case same:
		s.Text(b.Say("roofline.one", text.Args{"Variant": document.Literal(best.Variant), "Share": most}))
	default:
		s.Text(b.Say("roofline.range", text.Args{
			"Best": document.Literal(best.Variant), "BestShare": most,
			"Worst": document.Literal(worst.Variant), "WorstShare": least,
		}))
	}
	say("roofline.short", short)
	say("roofline.above", above)
}
