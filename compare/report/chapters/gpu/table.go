package gpu

import (
	"fmt"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// gpuTable1 is the table 1 of the report of 2024 for this GPU.
func (b *builder) gpuTable1(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-table1", "gpu-table1.title")
	s.Text(b.Say("gpu-table1.intro"))
	found := false
	for _, typ := range v.GPUTypes() {
		all := v.Entries(typ)
		if len(all) == 0 {
			continue
		}
		found = true
		size := analysis.ProblemOf(all[0].Record)
		b.bestEntries(&s, all, typ, size)
		then := typ == "f32" && size.N == analysis.ReportedSize
		packs := slices.ContainsFunc(all, func(e analysis.Entry) bool { return e.Phases["pack"] > 0 })
		heads := []string{"rung", "threadblock", "slice", "state", "#median"}
		if packs {
			heads = append(heads, "#phase.pack")
		}
		heads = append(heads, "#tflops", "#ofcublas", "#peak", "#overbefore", "#registers", "#occupancy")
		if then {
			heads = append(heads, "#then")
		}
		t := document.Table{ID: "table-gpu-table1-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("gpu-table1.caption", text.Args{
				"Type": typ, "Size": size.Label(),
			}), Columns: b.Columns(heads...)}
		var notes []document.Text
		var used []compare.Record
		library := slices.IndexFunc(all, func(e analysis.Entry) bool { return e.Variant == analysis.CuBLAS && e.Speed() })
		for _, e := range all {
			r := e.Record
			used = append(used, r)
			var state document.Text
			state, notes = b.State(r, notes)
			cells := []document.Text{document.Literal(analysis.Short(r.Variant)), squared(e.Block),
				number.Numbered(e.Slice), state, document.Text(b.Median(r))}
			if packs {
				cells = append(cells, chapters.PhaseOf(r, "pack"))
			}
			of := document.Text(number.Absent)
			if library >= 0 && r.Speed() {
				of = document.Text(number.Percent(float64(all[library].Median / r.Median)))
			}
			earlier, ok := analysis.Before(all, e)
			cells = append(cells, chapters.Tflops(r), of, chapters.PeakCell(r, analysis.Percent(r)),
				chapters.OverCell(earlier, r, ok), registers(r), occupancyOf(r))
			if then {
				cell := document.Text(number.Absent)
				share, ok := analysis.Reported[analysis.Algorithm(r.Variant)][e.Slice]
				if ok && (e.Slice == 0 || e.Block == 16) {
					cell = document.Text(number.Percent(share / 100))
				}
				cells = append(cells, cell)
			}
			t.Rows = append(t.Rows, document.Row{Cells: cells, Class: analysis.Held(r)})
		}
		t.Command = b.Rerun(v, used)
		b.WithNotes(&s, t, notes)
	}
	return s, found
}

// bestEntries says which setting of each rung that has several is the quickest.
func (b *builder) bestEntries(s *document.Section, all []analysis.Entry, typ string, size analysis.Problem) {
	var parts []document.Text
	for _, variant := range analysis.Distinct(all, func(e analysis.Entry) string { return e.Variant }) {
		var best analysis.Entry
		count := 0
		for _, e := range all {
			if e.Variant == variant && e.Speed() {
				if count == 0 || e.Median < best.Median {
					best = e
				}
				count++
			}
		}
		if count > 1 {
			setting := squared(best.Block)
			if best.Slice > 0 {
				setting = b.Say("gpu-table1.slice", text.Args{"Setting": setting, "Slice": best.Slice})
			}
			parts = append(parts, b.Say("gpu-table1.part", text.Args{
				"Rung": document.Literal(analysis.Algorithm(variant)), "Setting": setting, "Speed": chapters.Tflops(best.Record),
			}))
		}
	}
	if len(parts) > 0 {
		s.Text(b.Say("gpu-table1.best", text.Args{
			"Type": typ, "Size": b.Sizes([]analysis.Problem{size}), "Settings": b.Clauses(parts) + b.Say("stop"),
		}))
	}
}

// squared is a square block by its edge.
func squared(edge int) document.Text {
	if edge <= 0 {
		return number.Absent
	}
	return document.Text(fmt.Sprintf("%d×%d", edge, edge))
}

// registers and occupancyOf are what the kernel of a row takes, as cells.
func registers(r compare.Record) document.Text {
	if r.GPU == nil {
		return number.Absent
	}
	return number.Numbered(r.GPU.Registers)
}

func occupancyOf(r compare.Record) document.Text {
	if r.GPU == nil || !(r.GPU.Occupancy > 0) {
		return number.Absent
	}
	return document.Text(number.Percent(r.GPU.Occupancy))
}
