package figures

import (
	"fmt"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// answerDrawings adds the figures of the answer: the way from the textbook loops to the fastest
// variant, and the fastest of each family over n.
func answerDrawings(d drawn, add adder) {
	typ := d.MainType()
	a := d.Answer(typ)
	ch, ok := d.waterfall(a)
	add("waterfall-"+typ, "drawing.waterfall", ch, ok, text.Args{"Type": typ, "Size": a.Main})
	curve, ok := d.families(a)
	add("families-"+typ, "drawing.families", curve, ok, text.Args{"Type": typ})
}

// waterfall shows the steps of an answer, and below them how many times as fast as the textbook loops
// each kernel of the user is.
func (d drawn) waterfall(a analysis.Answer) (chart.Waterfall, bool) {
	ch := chart.Waterfall{
		Title:  fmt.Sprintf("%s, n = %d: from the textbook loops to the fastest variant", a.Type, a.Main),
		XLabel: "times as fast as " + d.First(analysis.Serial) + " (logarithmic)",
	}
	before := 1.0
	for _, s := range a.Steps(a.Main) {
		if s.Key == "start" {
			continue
		}
		ch.Stages = append(ch.Stages, chart.Stage{Label: s.Row.Variant, Before: before, After: s.Total})
		before = s.Total
	}
	naive, _ := a.Textbook(a.Main)
	for _, c := range a.Champions(a.Main) {
		if analysis.Brought(c.Record) && len(ch.Stages) > 0 {
			ch.Stages = append(ch.Stages, chart.Stage{Label: c.Variant, Before: 1,
				After: analysis.Whole(naive) / analysis.Whole(c.Record), Apart: true})
		}
	}
	return ch, len(ch.Stages) > 0
}

// rate is the speed of a row, of a GPU with the copies.
func rate(r compare.Record) float64 {
	speed, _ := analysis.Speed(r)
	return float64(speed) * float64(r.Median) / analysis.Whole(r)
}

// families is the speed over n of the fastest variant of each family, of the libraries of others and
// of the kernels of the user, up to the measured peak.
func (d drawn) families(a analysis.Answer) (chart.Curve, bool) {
	var c collection
	threads := 1
	put := func(label string, place int, r compare.Record) {
		look := chart.LookOf(place)
		c.add(label, look, measured(r, float64(r.N), rate(r)))
	}
	for _, n := range a.AllSizes(analysis.Serial) {
		if r, ok := a.Textbook(n); ok {
			threads = max(threads, r.Threads)
			put(r.Variant, 0, r)
		}
	}
	for i, family := range []string{analysis.Serial, analysis.Parallel, analysis.OnRanks, analysis.OnGPU} {
		for _, n := range a.AllSizes(family) {
			if r, ok := a.Best(family, n); ok {
				if !analysis.ByGPU(r) {
					threads = max(threads, r.Threads)
				}
				put(family+", best", 1+i, r)
			}
		}
	}
	for _, n := range a.AllSizes(analysis.Reference) {
		library := func(r compare.Record) bool { return analysis.Foreign(r.Variant) && analysis.Rival(r) }
		if r, ok := a.Fastest(n, library); ok {
			threads = max(threads, r.Threads)
			put("libraries, best", 5, r)
		}
	}
	for _, n := range a.AllSizes(analysis.User) {
		for _, champion := range a.Champions(n) {
			if r := champion.Record; analysis.Brought(r) {
				if !analysis.ByGPU(r) {
					threads = max(threads, r.Threads)
				}
				c.add(r.Variant, d.looks[r.Variant], measured(r, float64(r.N), rate(r)))
			}
		}
	}
	sizes := c.places()
	unit := "GFLOP/s"
	if a.Type == "gf256" {
		unit = "Gmul/s"
	}
	curve := chart.Curve{
		Title: a.Type + ": the fastest variant of each family", XLabel: "n (matrices are n×n)", YLabel: unit, Sizes: sizes,
		LogY: true, Series: c, Top: true, Flat: true,
	}
	if peak, ok := d.Ceiling(a.Type, threads); ok {
		curve.Limit = chart.Limit{Level: float64(peak.Gflops),
			Label: fmt.Sprintf("measured peak, %s: %s %s", onThreads(threads),
				number.Significant(float64(peak.Gflops)), unit)}
	}
	return curve, len(sizes) >= 2
}
