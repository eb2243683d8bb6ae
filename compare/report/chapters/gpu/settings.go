package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// gpuTuned is the section on what the tuner's settings gain over the defaults.
func (b *builder) gpuTuned(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-tuned", "gpu-tuned.title")
	s.Text(b.Say("gpu-tuned.intro"))
	all := v.Tunings()
	if len(all) == 0 {
		return s, false
	}
	t := document.Table{
		ID: "table-gpu-tuned" + v.Suffix, Caption: b.Say("gpu-tuned.caption"),
		Columns: b.Columns("rung", "pipe", "size", "defaulttile", "#tflops", "tunedtile", "#tflops", "#tunedover", "verdict"),
	}
	var used []compare.Record
	better, total := 0, 0
	for _, x := range all {
		c := analysis.Versus(x.Before, x.After)
		total++
		if c.Outcome == analysis.Quicker {
			better++
		}
		verdict := document.Text(number.Absent)
		if !math.IsNaN(c.P) {
			verdict = b.Verdict(c.Outcome)
		}
		used = append(used, x.Before, x.After)
		t.Rows = append(t.Rows, document.Row{Class: analysis.Held(x.After), Cells: []document.Text{
			document.Literal(analysis.Algorithm(x.Before.Variant)), document.Escape(x.Before.Type),
			document.Escape(analysis.ProblemOf(x.Before).Label()), number.Settled(analysis.TileOf(x.Before)),
			chapters.Tflops(x.Before),
			number.Settled(analysis.TileOf(x.After)), chapters.Tflops(x.After), number.Times(c.Ratio, c.Lo, c.Hi), verdict,
		}})
	}
	s.Text(b.Say("gpu-tuned.of", text.Args{"Faster": better, "Cases": total}))
	t.Command = b.Rerun(v, used)
	s.Add(t)
	return s, true
}

// ofLibrary is the speed of a row of an experiment as a share of cuBLAS in the same arithmetic and
// turn.
func ofLibrary(v *analysis.View, r compare.Record) document.Text {
	name := string(r.Experiment)
	for _, o := range v.Records {
		if analysis.Vendor(o.Variant) && o.Compute == r.Compute && analysis.InTurn(o,
			r) && analysis.ProblemOf(o) == analysis.ProblemOf(r) &&
			(o.Params[name] == nil || o.Params[name] == r.Params[name]) && o.Speed() && r.Speed() && r.Median > 0 {
			return document.Text(number.Percent(float64(o.Median / r.Median)))
		}
	}
	return number.Absent
}

// gpuSettings is the section on the experiments on one setting.
func (b *builder) gpuSettings(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-settings", "gpu-settings.title")
	s.Text(b.Say("gpu-settings.intro"))
	found := false
	for _, experiment := range analysis.GPUSwept {
		name := string(experiment)
		rows := v.Pick(func(r compare.Record) bool {
			return r.Experiment == compare.Experiment(name) && analysis.ByGPU(r) && r.Params[name] != nil
		})
		if len(analysis.Timed(rows)) == 0 {
			continue
		}
		found = true
		s.Text(b.Say("gpu-settings." + name))
		t := document.Table{
			ID:      "table-gpu-" + name + v.Suffix,
			Caption: b.Say("gpu-settings.caption", text.Args{"Experiment": name}), Command: b.Rerun(v, rows),
			Columns: slices.Insert(b.Columns("rung", "pipe", "size", "state", "#median", "#tflops", "#ofcublas", "#overfirst",
				"verdict", "#registers", "#spills", "#occupancy"), 3, b.Named([]string{name})...),
		}
		type series struct {
			variant, rest string
			analysis.Problem
		}
		of := func(r compare.Record) series {
			return series{r.Variant, analysis.Omit(r.Params, name).String(), analysis.ProblemOf(r)}
		}
		var notes, items []document.Text
		for _, one := range analysis.Distinct(rows, of) {
			var own []compare.Record
			for _, r := range rows {
				if of(r) == one {
					own = append(own, r)
				}
			}
			slices.SortStableFunc(own, func(x, y compare.Record) int {
				return chapters.ByNumber(fmt.Sprint(x.Params[name]), fmt.Sprint(y.Params[name]))
			})
			best := own[0]
			for i, r := range own {
				if r.Speed() && !(r.Median >= best.Median) {
					best = r
				}
				var state document.Text
				state, notes = b.State(r, notes)
				over, verdict := document.Text(number.Absent), document.Text(number.Absent)
				if i > 0 && own[0].Speed() && r.Speed() {
					c := analysis.Versus(own[0], r)
					over = number.Times(c.Ratio, c.Lo, c.Hi)
					if !math.IsNaN(c.P) {
						verdict = b.Verdict(c.Outcome)
					}
				}
				spills := document.Text(number.Absent)
				if r.GPU != nil {
					spills = document.Text(number.ByteSize(float64(r.GPU.Spills)))
				}
				t.Rows = append(t.Rows, document.Row{Class: analysis.Held(r), Cells: []document.Text{
					document.Literal(analysis.Algorithm(r.Variant)), document.Escape(r.Type), document.Escape(one.Label()),
					document.Escape(fmt.Sprint(r.Params[name])), state, document.Text(b.Median(r)), chapters.Tflops(r),
					ofLibrary(v, r), over, verdict, registers(r), spills, occupancyOf(r),
				}})
			}
			if best.Speed() && len(own) > 1 {
				items = append(items, b.Say("gpu-settings.best", text.Args{
					"Rung": document.Literal(analysis.Algorithm(one.variant)), "Type": strings.TrimSpace(one.Type),
					"Size":    b.Sizes([]analysis.Problem{one.Problem}),
					"Setting": document.Literal(fmt.Sprintf("%s=%v", name, best.Params[name])),
					"Time":    number.Seconds(float64(best.Median)),
				}))
			}
		}
		s.List(items)
		b.WithNotes(&s, t, notes)
	}
	return s, found
}
