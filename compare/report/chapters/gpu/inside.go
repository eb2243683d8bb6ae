package gpu

import (
	"cmp"
	"fmt"
	"maps"
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

// gpuWaves is the section on how well tiles fill the multiprocessors, next to the speed.
func (b *builder) gpuWaves(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-waves", "gpu-waves.title")
	s.Text(b.Say("gpu-waves.intro"))
	found := false
	for _, typ := range v.GPUTypes() {
		rows := v.Waved(typ)
		if len(rows) == 0 {
			continue
		}
		found = true
		command := b.Rerun(v, rows)
		b.Figure(&s, v, "gpu-waves-"+typ, "fig.gpu-waves", command, text.Args{"Type": typ})
		if t := b.wavesTable(v, typ, rows); len(t.Rows) > 0 {
			t.Command = command
			s.Add(t)
		}
	}
	return s, found
}

// The rows of the table of waves: those of large products whose tiles leave more than a twentieth of the time unused.
const (
	leastWaved = 1024
	wellFilled = 0.95
)

// wavesTable is the rows whose last wave leaves multiprocessors idle, each with the speed over the best of its rung.
func (b *builder) wavesTable(v *analysis.View, typ string, rows []compare.Record) document.Table {
	t := document.Table{ID: "table-gpu-waves-" + analysis.Anchor(typ) + v.Suffix,
		Caption: b.Say("gpu-waves.caption", text.Args{"Type": typ, "Share": number.Percent(wellFilled),
			"Least": leastWaved}),
		Columns: b.Columns("rung", "size", "tile", "#waves", "#fill", "#tflops", "#ofbest")}
	best := map[string]float64{}
	for _, r := range rows {
		best[r.Variant] = max(best[r.Variant], float64(r.Gflops))
	}
	for _, variant := range analysis.Distinct(rows, analysis.VariantOf) {
		for _, r := range rows {
			if r.Variant != variant || r.N < leastWaved || r.GPU.Fill >= wellFilled {
				continue
			}
			t.Rows = append(t.Rows, document.Row{Class: analysis.Held(r), Cells: []document.Text{
				document.Literal(analysis.Algorithm(variant)), document.Escape(analysis.ProblemOf(r).Label()),
				number.Settled(analysis.TileOf(r)), document.Text(number.Significant(r.GPU.Waves)),
				document.Text(number.Percent(r.GPU.Fill)), chapters.Tflops(r),
				document.Text(number.Percent(float64(r.Gflops) / best[variant])),
			}})
		}
	}
	return t
}

// gpuInside is the section on what the warps of a block do, and when.
func (b *builder) gpuInside(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-inside", "gpu-inside.title")
	s.Text(b.Say("gpu-inside.intro"))
	found := false
	for _, typ := range v.GPUTypes() {
		crews := v.Crews(typ)
		if len(crews) == 0 {
			continue
		}
		found = true
		var rows []compare.Record
		t := document.Table{ID: "table-gpu-inside-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("gpu-inside.caption", text.Args{"Type": typ}),
			Columns: b.Columns("rung", "size", "#sliceofk", "#producerwait", "#producercopy", "#wait",
				"#multiply", "#store")}
		for _, c := range crews {
			rows = append(rows, analysis.Traced(c.Trace))
			producer, others := c.Shares(true), c.Shares(false)
			share := func(of map[string]float64, step string) document.Text {
				if x, ok := of[step]; ok {
					return document.Text(number.Percent(x))
				}
				return number.Absent
			}
			step := document.Text(number.Absent)
			if x := c.Step(); !math.IsNaN(x) {
				step = document.Text(number.Seconds(x))
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Literal(analysis.Algorithm(c.Variant)), document.Escape(c.Shape.Label()), step,
				share(producer, "wait"), share(producer, "copy"), share(others, "wait"), share(others, "multiply"),
				share(others, "store"),
			}})
		}
		t.Command = strings.Replace(b.Rerun(v, rows), " --json ", " --timeline --json ", 1)
		b.Figure(&s, v, "gpu-inside-"+typ, "fig.gpu-inside", t.Command, text.Args{"Type": typ})
		s.Add(t)
	}
	return s, found
}

// gpuSteps is the section on what blocks execute for a slice of k, by the profiler's counters.
func (b *builder) gpuSteps(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-steps", "gpu-steps.title")
	s.Text(b.Say("gpu-steps.intro"))
	found := false
	for _, typ := range v.GPUTypes() {
		rows := v.LadderRows(typ)
		if len(rows) == 0 {
			continue
		}
		t := document.Table{ID: "table-gpu-steps-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("gpu-steps.caption", text.Args{"Type": typ, "Size": rows[0].Shape.Label()}),
			Columns: b.Columns("rung", "tile", "#instructions", "#tensor", "#fma", "#sharedreads", "stalls")}
		for _, r := range rows {
			step, ok := analysis.SliceOf(r)
			if !ok {
				continue
			}
			t.Rows = append(t.Rows, document.Row{Class: analysis.Held(r), Cells: []document.Text{
				document.Literal(analysis.Algorithm(r.Variant)), number.Settled(analysis.TileOf(r)),
				counted(step.Instructions), counted(step.Tensor), counted(step.FMA), counted(step.SharedReads),
				stalls(step.Stalls),
			}})
		}
		if len(t.Rows) > 0 {
			found = true
			t.Command = strings.Replace(b.Rerun(v, rows), " --json ", " --counters --json ", 1)
			s.Add(t)
		}
	}
	return s, found
}

// counted is a number of instructions.
func counted(n float64) document.Text {
	if math.IsNaN(n) {
		return number.Absent
	}
	return document.Text(number.Significant(n))
}

// stalls are the causes for which a warp waits longest, with the cycles for a slice of k.
func stalls(cycles map[string]float64) document.Text {
	const most = 4
	names := slices.SortedFunc(maps.Keys(cycles), func(x, y string) int {
		return cmp.Or(cmp.Compare(cycles[y], cycles[x]), cmp.Compare(x, y))
	})
	var out []string
	for _, name := range names[:min(most, len(names))] {
		out = append(out, fmt.Sprintf("%s %s", name, number.Significant(cycles[name])))
	}
	if len(out) == 0 {
		return number.Absent
	}
	return document.Escape(strings.Join(out, ", "))
}

// gpuErrors is the section on what accuracy costs in speed.
func (b *builder) gpuErrors(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-accuracy", "gpu-accuracy.title")
	rows := v.Accuracies()
	s.Text(b.Say("gpu-accuracy.intro"))
	b.Figure(&s, v, "gpu-errors", "fig.gpu-errors", b.Rerun(v, rows))
	return s, len(s.Blocks) > 1
}
