package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// tuning is a rung with its default setting and with the one that the tuner found.
type tuning struct{ before, after compare.Record }

// tunings pairs the rows of the experiment tuned: of a variant and problem, that with the
// fewest parameters is the default, and the quickest of the others of its run the tuner's:
// those of a run before were not found again. A row that is alone is held against that of the
// ladder.
func (v *view) tunings() []tuning {
	rows := timed(v.pick(func(r compare.Record) bool { return r.Experiment == "tuned" && byGPU(r) && r.Median > 0 }))
	type place struct {
		variant string
		problem
	}
	var out []tuning
	for _, p := range distinct(rows, func(r compare.Record) place { return place{r.Variant, problemOf(r)} }) {
		var own []compare.Record
		for _, r := range rows {
			if r.Variant == p.variant && problemOf(r) == p.problem {
				own = append(own, r)
			}
		}
		slices.SortStableFunc(own, func(x, y compare.Record) int { return given(x.Params) - given(y.Params) })
		base := own[0]
		if len(own) == 1 {
			r, ok := at(v.rungs(p.typ), p.variant, p.problem)
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
	slices.SortStableFunc(out, func(x, y tuning) int { return problemOf(x.before).compare(problemOf(y.before)) })
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

// gpuTuned is the section on what the tuner's settings gain over the defaults.
func (b *builder) gpuTuned(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-tuned", "gpu-tuned.title")
	s.Text(b.Say("gpu-tuned.intro"))
	all := v.tunings()
	if len(all) == 0 {
		return s, false
	}
	t := document.Table{
		ID: "table-gpu-tuned" + v.suffix, Caption: b.Say("gpu-tuned.caption"),
		Columns: b.columns("rung", "pipe", "size", "defaulttile", "#tflops", "tunedtile", "#tflops", "#tunedover", "verdict"),
	}
	var used []compare.Record
	better, total := 0, 0
	for _, x := range all {
		c := beside(x.before, x.after)
		total++
		if c.Outcome == quicker {
			better++
		}
		verdict := document.Text(absent)
		if !math.IsNaN(c.P) {
			verdict = b.verdict(c.Outcome)
		}
		used = append(used, x.before, x.after)
		t.Rows = append(t.Rows, document.Row{Class: held(x.after), Cells: []document.Text{
			document.Literal(algorithm(x.before.Variant)), document.Escape(x.before.Type), document.Escape(problemOf(x.before).label()), settled(tileOf(x.before)), tflops(x.before),
			settled(tileOf(x.after)), tflops(x.after), times(c.Ratio, c.Lo, c.Hi), verdict,
		}})
	}
	s.Text(b.Say("gpu-tuned.of", text.Args{"Faster": better, "Cases": total}))
	t.Command = b.rerun(v, used)
	s.Add(t)
	return s, true
}

// ofLibrary is the speed of a row of an experiment as a share of that of NVIDIA's library
// in the same arithmetic and turn.
func (v *view) ofLibrary(r compare.Record) document.Text {
	name := r.Experiment
	for _, o := range v.records {
		if vendor(o.Variant) && o.Compute == r.Compute && inTurn(o, r) && problemOf(o) == problemOf(r) &&
			(o.Params[name] == nil || o.Params[name] == r.Params[name]) && o.Speed() && r.Speed() && r.Median > 0 {
			return document.Text(percent(float64(o.Median / r.Median)))
		}
	}
	return absent
}

// gpuSwept are the experiments on one setting of the kernels, which their parameter is named as.
var gpuSwept = []string{"stages", "maxregs", "l2"}

// gpuSettings is the section on the experiments on one setting.
func (b *builder) gpuSettings(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-settings", "gpu-settings.title")
	s.Text(b.Say("gpu-settings.intro"))
	found := false
	for _, name := range gpuSwept {
		rows := v.pick(func(r compare.Record) bool { return r.Experiment == name && byGPU(r) && r.Params[name] != nil })
		if len(timed(rows)) == 0 {
			continue
		}
		found = true
		s.Text(b.Say("gpu-settings." + name))
		t := document.Table{
			ID:      "table-gpu-" + name + v.suffix,
			Caption: b.Say("gpu-settings.caption", text.Args{"Experiment": name}), Command: b.rerun(v, rows),
			Columns: slices.Insert(b.columns("rung", "pipe", "size", "state", "#median", "#tflops", "#ofcublas", "#overfirst", "verdict", "#registers", "#spills", "#occupancy"), 3, b.named([]string{name})...),
		}
		type series struct {
			variant, rest string
			problem
		}
		of := func(r compare.Record) series {
			return series{r.Variant, omit(r.Params, name).String(), problemOf(r)}
		}
		var notes, items []document.Text
		for _, one := range distinct(rows, of) {
			var own []compare.Record
			for _, r := range rows {
				if of(r) == one {
					own = append(own, r)
				}
			}
			slices.SortStableFunc(own, func(x, y compare.Record) int {
				return byNumber(fmt.Sprint(x.Params[name]), fmt.Sprint(y.Params[name]))
			})
			best := own[0]
			for i, r := range own {
				if r.Speed() && !(r.Median >= best.Median) {
					best = r
				}
				var state document.Text
				state, notes = b.state(r, notes)
				over, verdict := document.Text(absent), document.Text(absent)
				if i > 0 && own[0].Speed() && r.Speed() {
					c := beside(own[0], r)
					over = times(c.Ratio, c.Lo, c.Hi)
					if !math.IsNaN(c.P) {
						verdict = b.verdict(c.Outcome)
					}
				}
				spills := document.Text(absent)
				if r.GPU != nil {
					spills = document.Text(byteSize(float64(r.GPU.Spills)))
				}
				t.Rows = append(t.Rows, document.Row{Class: held(r), Cells: []document.Text{
					document.Literal(algorithm(r.Variant)), document.Escape(r.Type), document.Escape(one.label()), document.Escape(fmt.Sprint(r.Params[name])), state, document.Text(b.median(r)), tflops(r), v.ofLibrary(r), over, verdict, registers(r), spills, occupancyOf(r),
				}})
			}
			if best.Speed() && len(own) > 1 {
				items = append(items, b.Say("gpu-settings.best", text.Args{
					"Rung": document.Literal(algorithm(one.variant)), "Type": strings.TrimSpace(one.typ),
					"Size":    b.sizes([]problem{one.problem}),
					"Setting": document.Literal(fmt.Sprintf("%s=%v", name, best.Params[name])),
					"Time":    seconds(float64(best.Median)),
				}))
			}
		}
		s.List(items)
		b.withNotes(&s, t, notes)
	}
	return s, found
}
