package gpu

import (
	"math"
	"slices"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// gpuHost is the section that has the processor and the GPU on one page.
func (b *builder) gpuHost(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-host", "gpu-host.title")
	s.Text(b.Say("gpu-host.intro"))
	found := false
	for _, typ := range v.GPUTypes() {
		all := v.Facings(typ)
		if len(all) == 0 {
			continue
		}
		found = true
		b.crossing(&s, typ, all)
		last := all[len(all)-1]
		copied := last.Copied
		bytes := float64(gemm.TypeNamed(typ).Size) * (float64(last.M)*float64(last.K) + float64(last.K)*float64(last.N))
		if to := copied.Phases["h2d"]; to > 0 {
			s.Text(b.Say("gpu-host.copies", text.Args{
				"Size": b.Sizes([]analysis.Problem{last.Problem}), "Bandwidth": number.Significant(bytes / to / 1e9),
				"Share": number.Percent(1 - float64(copied.Median)/analysis.WithCopies(copied)),
			}))
		}
		var used []compare.Record
		t := document.Table{
			ID: "table-gpu-host-" + analysis.Anchor(typ) + v.Suffix, Caption: b.Say("gpu-host.caption", text.Args{"Type": typ}),
			Columns: b.Columns("size", "cpubest", "#threads", "#cputime", "gpubest", "#kernel", "#cpuover", "#h2d", "#d2h",
				"#oneafterother", "#overlapped", "#cpuovercopies"),
		}
		for _, f := range all {
			used = append(used, f.Kernel, f.Copied)
			cells := []document.Text{document.Escape(f.Label()), number.Absent, number.Absent, number.Absent}
			over, copies := math.NaN(), math.NaN()
			if f.CPU.Speed() {
				used = append(used, f.CPU)
				cells = []document.Text{document.Escape(f.Label()), document.Literal(f.CPU.Variant), number.Numbered(f.CPU.Threads),
					document.Text(b.Median(f.CPU))}
				over, copies = float64(f.CPU.Median/f.Kernel.Median), float64(f.CPU.Median)/analysis.WithCopies(f.Copied)
			}
			t.Rows = append(t.Rows, document.Row{Class: analysis.Held(f.Kernel), Cells: append(cells,
				document.Literal(analysis.Algorithm(f.Kernel.Variant)), document.Text(b.Median(f.Kernel)),
				document.Text(number.Significant(over)), chapters.PhaseOf(f.Copied, "h2d"), chapters.PhaseOf(f.Copied, "d2h"),
				document.Text(number.Seconds(analysis.CopiedApart(f.Copied))),
				document.Text(number.Seconds(analysis.Overlapped(f.Copied))), document.Text(number.Significant(copies)))})
		}
		t.Command = b.Rerun(v, used)
		b.Figure(&s, v, "gpu-host-"+typ, "fig.gpu-host", t.Command, text.Args{"Type": typ})
		s.Add(t)
	}
	return s, found
}

// crossing says from which size on the GPU is ahead of the processor.
func (b *builder) crossing(s *document.Section, typ string, all []analysis.Facing) {
	bare, sizes := analysis.Wins(all, func(f analysis.Facing) float64 { return float64(f.Kernel.Median) })
	from, _ := analysis.Wins(all, func(f analysis.Facing) float64 { return analysis.WithCopies(f.Copied) })
	if len(sizes) == 0 {
		s.Text(b.Say("gpu-host.alone", text.Args{
			"Type": typ, "Command": document.Literal(b.Program + " compare --families serial,parallel,cuda"),
		}))
		return
	}
	say := func(key string, from int) document.Text {
		switch from {
		case 0:
			return b.Say(key+".never", text.Args{"N": slices.Max(sizes)})
		case slices.Min(sizes):
			return b.Say(key+".always", text.Args{"N": from})
		}
		return b.Say(key+".from", text.Args{"N": from})
	}
	s.Add(document.Paragraph{Text: b.Say("gpu-host.of", text.Args{
		"Type": typ,
	}) + say("gpu-host.kernel", bare) + say("gpu-host.copied", from)})
}
