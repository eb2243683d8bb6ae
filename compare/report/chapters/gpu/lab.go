package gpu

import (
	"cmp"
	"fmt"
	"slices"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/claim"
	"gemm/compare/report/analysis/lab"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chapters/sharing"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Lab is the sections on what the lab in double precision measures, on one host: its findings, iterated products, and
// the occupancy of kernels.
func Lab(base *chapters.Builder, v *analysis.View) []document.Section {
	b := &builder{base}
	var sections []document.Section
	for _, part := range []func(*analysis.View) (document.Section, bool){b.lab, b.gpuChains, b.occupancies} {
		if s, ok := part(v); ok {
			sections = append(sections, s)
		}
	}
	return sections
}

// lab judges the findings of the lab, and gives the times of its versions over those of cuBLAS.
func (b *builder) lab(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-lab", "gpu-lab.title")
	sizes := lab.Sizes(v)
	if len(sizes) == 0 {
		return s, false
	}
	s.Text(b.Say("gpu-lab.intro", text.Args{"Band": fmt.Sprintf("%g %%", 100*claim.Band), "Enough": claim.Enough,
		"Around": number.Significant(claim.Around)}))
	var items []document.Text
	for _, f := range lab.Findings {
		items = append(items, b.labFinding(v, f))
	}
	s.List(items)
	s.Add(b.overLibraryTable(v, sizes))
	return s, true
}

// labFinding is the verdict on one finding, and the ratios that it rests on.
func (b *builder) labFinding(v *analysis.View, f lab.Finding) document.Text {
	all := lab.Compare(v, f.Slow, f.Fast)
	cases := f.Judge(all)
	slow, fast := v.Playing(f.Slow), v.Playing(f.Fast)
	sentence := sharing.Judgement(b.Builder, "gpu-lab."+f.Key, cases.Verdict())
	if len(all) == 0 {
		return sentence + b.Say("finding.command", text.Args{"Command": document.Literal(
			b.Program + " cuda --type f64 --variants " + slow + "," + fast)})
	}
	sentence += b.Say("cases.decided", text.Args{"Decided": cases.Decided(), "All": cases.All()})
	by := func(x, y lab.Measured) int { return cmp.Compare(x.Ratio, y.Ratio) }
	least, most := slices.MinFunc(all, by), slices.MaxFunc(all, by)
	if _, _, same := number.Between(least.Ratio, most.Ratio, number.Significant); same {
		return sentence + b.Say("gpu-lab.one", text.Args{"Slow": document.Literal(analysis.Short(slow)),
			"Fast":  document.Literal(analysis.Short(fast)),
			"Ratio": number.Times(most.Ratio, most.Lo, most.Hi), "Lab": number.Significant(f.Lab)})
	}
	return sentence + b.Say("gpu-lab.ratio", text.Args{
		"Slow": document.Literal(analysis.Short(slow)), "Fast": document.Literal(analysis.Short(fast)),
		"Least": number.Times(least.Ratio, least.Lo, least.Hi), "LeastSize": least.Slow.N,
		"Most": number.Times(most.Ratio, most.Lo, most.Hi), "MostSize": most.Slow.N, "Lab": number.Significant(f.Lab),
	})
}

// overLibraryTable is the table of the times over those of cuBLAS, the lab's own first.
func (b *builder) overLibraryTable(v *analysis.View, sizes []analysis.Problem) document.Table {
	t := document.Table{ID: "table-gpu-lab" + v.Suffix, Caption: b.Say("gpu-lab.caption"),
		Columns: b.Columns("size")}
	cells := []document.Text{b.Say("gpu-lab.theirs")}
	of := map[gemm.Part][]lab.Measured{}
	for _, step := range lab.Steps {
		t.Columns = append(t.Columns, document.Column{Title: analysis.Short(v.Playing(step.Part)), Numeric: true})
		cells = append(cells, document.Text(number.Significant(step.Ratio)))
		of[step.Part] = lab.Compare(v, step.Part, gemm.LabLibrary)
	}
	t.Rows = append(t.Rows, document.Row{Class: "muted", Cells: cells})
	for _, p := range sizes {
		cells := []document.Text{document.Escape(p.Label())}
		for _, step := range lab.Steps {
			cell := document.Text(number.Absent)
			for _, m := range of[step.Part] {
				if analysis.ProblemOf(m.Slow) == p {
					cell = document.Text(number.Significant(m.Ratio))
				}
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, document.Row{Cells: cells})
	}
	t.Command = b.Rerun(v, slices.DeleteFunc(v.Rungs("f64"), func(r compare.Record) bool {
		return !slices.Contains(sizes, analysis.ProblemOf(r))
	}))
	return t
}

// gpuChains is the section on iterated products on the GPU.
func (b *builder) gpuChains(v *analysis.View) (document.Section, bool) {
	return b.Chains(v, "gpu-chain", v.Pick(analysis.ByGPU))
}

// occupancies is the section on the occupancy over what a kernel takes, with the rungs as they ran.
func (b *builder) occupancies(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-occupancy", "gpu-occupancy.title")
	k, ok := lab.Swept(v)
	if !ok || !v.HasGPU() {
		return s, false
	}
	s.Text(b.Say("gpu-occupancy.intro", text.Args{"Threads": k.Threads, "Registers": k.Registers,
		"Memory": number.ByteSize(float64(k.Shared))}))
	for _, over := range []string{"threads", "registers", "memory"} {
		b.Figure(&s, v, "gpu-occupancy-"+over, "fig.gpu-occupancy."+over,
			b.Program+" cuda --type f32 --block 8,16 --json blocks.json")
	}
	return s, true
}
