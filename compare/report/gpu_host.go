package report

import (
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// facing is the processor and the GPU on one product: each by its quickest variant in the
// arithmetic of the type.
type facing struct {
	problem
	cpu    compare.Record // without a speed where none was measured
	kernel compare.Record // the quickest with operands on the GPU
	copied compare.Record // the quickest with operands in the memory of the host
}

// copiedApart is the time of a product whose operands and result are copied one after the
// other, NaN where the copies were not timed.
func copiedApart(r compare.Record) float64 {
	to, ok := r.Phases["h2d"]
	from, too := r.Phases["d2h"]
	if !ok || !too {
		return math.NaN()
	}
	return float64(r.Median) + to + from
}

// overlapped is that of one whose copies and computing overlap, NaN where it was not timed.
func overlapped(r compare.Record) float64 {
	t, ok := r.Phases["host"]
	if !ok || !(t > 0) {
		return math.NaN()
	}
	return t
}

// withCopies is the least time in which the GPU does a product for the host.
func withCopies(r compare.Record) float64 {
	t := overlapped(r)
	if a := copiedApart(r); math.IsNaN(t) || a < t {
		return a
	}
	return t
}

// facings returns the cubes of a type by size at which copies were timed.
func (v *view) facings(typ string) []facing {
	rows := v.rungs(typ)
	cpu := timed(v.pick(func(r compare.Record) bool {
		return r.Type == typ && exact(r) && !byGPU(r) && r.Build == "" && r.Median > 0
	}))
	var out []facing
	for _, p := range problems(rows) {
		if !p.cube() {
			continue
		}
		f := facing{problem: p}
		for _, r := range rows {
			if problemOf(r) != p || !ours(r) || !exact(r) {
				continue
			}
			if !f.kernel.Speed() || r.Median < f.kernel.Median {
				f.kernel = r
			}
			if t := withCopies(r); !math.IsNaN(t) && (!f.copied.Speed() || t < withCopies(f.copied)) {
				f.copied = r
			}
		}
		for _, r := range cpu {
			if alone(r) == p && (!f.cpu.Speed() || r.Median < f.cpu.Median) {
				f.cpu = r
			}
		}
		if f.copied.Speed() {
			out = append(out, f)
		}
	}
	return out
}

// wins returns the size from which on the GPU, by the given time, is ahead of the
// processor at every size measured on both, 0 where it is not at the largest, and the
// sizes measured on both.
func wins(all []facing, of func(facing) float64) (from int, sizes []int) {
	for _, f := range all {
		if !f.cpu.Speed() {
			continue
		}
		sizes = append(sizes, f.n)
		switch ahead := of(f) < float64(f.cpu.Median); {
		case !ahead:
			from = 0
		case from == 0:
			from = f.n
		}
	}
	return from, sizes
}

// gpuHost is the section that has the processor and the GPU on one page.
func (b *builder) gpuHost(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-host", "gpu-host.title")
	s.Text(b.Say("gpu-host.intro"))
	found := false
	for _, typ := range v.gpuTypes() {
		all := v.facings(typ)
		if len(all) == 0 {
			continue
		}
		found = true
		b.crossing(&s, typ, all)
		last := all[len(all)-1]
		copied := last.copied
		bytes := map[string]float64{"f32": 4, "f64": 8}[typ] * (float64(last.m)*float64(last.k) + float64(last.k)*float64(last.n))
		if to := copied.Phases["h2d"]; to > 0 {
			s.Text(b.Say("gpu-host.copies", text.Args{
				"Size": b.sizes([]problem{last.problem}), "Bandwidth": significant(bytes / to / 1e9),
				"Share": percent(1 - float64(copied.Median)/withCopies(copied)),
			}))
		}
		var used []compare.Record
		t := document.Table{
			ID: "table-gpu-host-" + anchor(typ) + v.suffix, Caption: b.Say("gpu-host.caption", text.Args{"Type": typ}),
			Columns: b.columns("size", "cpubest", "#threads", "#cputime", "gpubest", "#kernel", "#cpuover", "#h2d", "#d2h", "#oneafterother", "#overlapped", "#cpuovercopies"),
		}
		for _, f := range all {
			used = append(used, f.kernel, f.copied)
			cells := []document.Text{document.Escape(f.label()), absent, absent, absent}
			over, copies := math.NaN(), math.NaN()
			if f.cpu.Speed() {
				used = append(used, f.cpu)
				cells = []document.Text{document.Escape(f.label()), document.Literal(f.cpu.Variant), numbered(f.cpu.Threads), document.Text(b.median(f.cpu))}
				over, copies = float64(f.cpu.Median/f.kernel.Median), float64(f.cpu.Median)/withCopies(f.copied)
			}
			t.Rows = append(t.Rows, document.Row{Class: held(f.kernel), Cells: append(cells,
				document.Literal(algorithm(f.kernel.Variant)), document.Text(b.median(f.kernel)), document.Text(significant(over)), phaseOf(f.copied, "h2d"), phaseOf(f.copied, "d2h"),
				document.Text(seconds(copiedApart(f.copied))), document.Text(seconds(overlapped(f.copied))), document.Text(significant(copies)))})
		}
		t.Command = b.rerun(v, used)
		b.figure(&s, v, "gpu-host-"+typ, "fig.gpu-host", t.Command, text.Args{"Type": typ})
		s.Add(t)
	}
	return s, found
}

// crossing says from which size on the GPU is ahead of the processor.
func (b *builder) crossing(s *document.Section, typ string, all []facing) {
	bare, sizes := wins(all, func(f facing) float64 { return float64(f.kernel.Median) })
	from, _ := wins(all, func(f facing) float64 { return withCopies(f.copied) })
	if len(sizes) == 0 {
		s.Text(b.Say("gpu-host.alone", text.Args{
			"Type": typ, "Command": document.Literal(b.program + " compare --families serial,parallel,cuda"),
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
