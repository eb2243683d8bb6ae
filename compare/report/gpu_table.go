package report

import (
	"cmp"
	"fmt"
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// reported are the shares of cuBLAS in the table 1 of the report of 2024, in percent: on
// an RTX 4070 at n = 2048 with thread blocks of 16×16, by variant and slice of k.
var reported = map[string]map[int]float64{
	"naive":        {0: 11.26},
	"blocktile2d":  {8: 65.25, 16: 62.97},
	"vectorized":   {8: 82.90, 16: 81.88},
	"conflictfree": {8: 93.25, 16: 98.06},
	"doublebuffer": {8: 104.44, 16: 108.47},
}

// reportedSize is the size of that table.
const reportedSize = 2048

// entry is a row of the table for this GPU: a rung with one of its settings.
type entry struct {
	compare.Record
	block, slice int // 0: the rung has no such setting
}

// settingIn returns an integer parameter of a row, as it was asked for or else as run.
func settingIn(r compare.Record, name string) int {
	for _, p := range []any{r.Params[name], r.Resolved[name]} {
		if n, ok := p.(int); ok && n > 0 {
			return n
		}
	}
	return 0
}

// entries returns the rows of the experiment block of a type at the size of the report's
// table, or else at the largest there is, with those of the other variants from the
// ladder: in the order of the ladder, large blocks first.
func (v *view) entries(typ string) []entry {
	rows := v.pick(func(r compare.Record) bool {
		return r.Experiment == "block" && r.Type == typ && byGPU(r) && problemOf(r).cube()
	})
	n := 0
	for _, r := range rows {
		if n != reportedSize {
			n = max(n, r.N)
		}
		if r.N == reportedSize {
			n = r.N
		}
	}
	if len(timed(rows)) == 0 {
		return nil
	}
	ladder := v.rungs(typ)
	var out []entry
	for _, variant := range v.gpuVariants() {
		var own []entry
		for _, r := range rows {
			if r.Variant == variant && r.N == n {
				own = append(own, entry{r, settingIn(r, "block"), settingIn(r, "bk")})
			}
		}
		if r, ok := at(ladder, variant, cubeOf(typ, n)); ok && len(own) == 0 && n > 0 {
			own = append(own, entry{Record: r})
		}
		slices.SortStableFunc(own, func(x, y entry) int {
			return cmp.Or(cmp.Compare(y.block, x.block), cmp.Compare(x.slice, y.slice))
		})
		out = append(out, own...)
	}
	return out
}

// before returns the entry of the rung before e: with the same setting, or the quickest.
func before(all []entry, e entry) (compare.Record, bool) {
	var previous string
	for _, o := range all {
		if o.Variant == e.Variant {
			break
		}
		previous = o.Variant
	}
	var own []entry
	for _, o := range all {
		if o.Variant == previous && !vendor(o.Variant) {
			own = append(own, o)
		}
	}
	if vendor(e.Variant) || len(own) == 0 {
		return compare.Record{}, false
	}
	if i := slices.IndexFunc(own, func(o entry) bool { return o.block == e.block && o.slice == e.slice }); i >= 0 {
		return own[i].Record, true
	}
	best := own[0].Record
	for _, o := range own {
		if o.Speed() && !(o.Median >= best.Median) {
			best = o.Record
		}
	}
	return best, true
}

// gpuTable1 is the table 1 of the report of 2024 for this GPU.
func (b *builder) gpuTable1(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-table1", "gpu-table1.title")
	s.Text(b.Say("gpu-table1.intro"))
	found := false
	for _, typ := range v.gpuTypes() {
		all := v.entries(typ)
		if len(all) == 0 {
			continue
		}
		found = true
		size := problemOf(all[0].Record)
		b.bestEntries(&s, all, typ, size)
		then := typ == "f32" && size.n == reportedSize
		packs := slices.ContainsFunc(all, func(e entry) bool { return e.Phases["pack"] > 0 })
		heads := []string{"rung", "threadblock", "slice", "state", "#median"}
		if packs {
			heads = append(heads, "#phase.pack")
		}
		heads = append(heads, "#tflops", "#ofcublas", "#peak", "#overbefore", "#registers", "#occupancy")
		if then {
			heads = append(heads, "#then")
		}
		t := document.Table{ID: "table-gpu-table1-" + anchor(typ) + v.suffix, Caption: b.Say("gpu-table1.caption", text.Args{
			"Type": typ, "Size": size.label(),
		}), Columns: b.columns(heads...)}
		var notes []document.Text
		var used []compare.Record
		library := slices.IndexFunc(all, func(e entry) bool { return e.Variant == cublas && e.Speed() })
		for _, e := range all {
			r := e.Record
			used = append(used, r)
			var state document.Text
			state, notes = b.state(r, notes)
			cells := []document.Text{document.Literal(algorithm(r.Variant)), squared(e.block), numbered(e.slice), state, document.Text(b.median(r))}
			if packs {
				cells = append(cells, phaseOf(r, "pack"))
			}
			of := document.Text(absent)
			if library >= 0 && r.Speed() {
				of = document.Text(percent(float64(all[library].Median / r.Median)))
			}
			earlier, ok := before(all, e)
			cells = append(cells, tflops(r), of, document.Text(significant(known(r, r.PercentPeak))), overCell(earlier, r, ok), registers(r), occupancyOf(r))
			if then {
				cell := document.Text(absent)
				share, ok := reported[algorithm(r.Variant)][e.slice]
				if ok && (e.slice == 0 || e.block == 16) {
					cell = document.Text(percent(share / 100))
				}
				cells = append(cells, cell)
			}
			t.Rows = append(t.Rows, document.Row{Cells: cells, Class: held(r)})
		}
		t.Command = b.rerun(v, used)
		b.withNotes(&s, t, notes)
	}
	return s, found
}

// bestEntries says which setting of each rung that has several is the quickest.
func (b *builder) bestEntries(s *document.Section, all []entry, typ string, size problem) {
	var parts []document.Text
	for _, variant := range distinct(all, func(e entry) string { return e.Variant }) {
		var best entry
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
			setting := squared(best.block)
			if best.slice > 0 {
				setting = b.Say("gpu-table1.slice", text.Args{"Setting": setting, "Slice": best.slice})
			}
			parts = append(parts, b.Say("gpu-table1.part", text.Args{
				"Rung": document.Literal(algorithm(variant)), "Setting": setting, "Speed": tflops(best.Record),
			}))
		}
	}
	if len(parts) > 0 {
		s.Text(b.Say("gpu-table1.best", text.Args{
			"Type": typ, "Size": b.sizes([]problem{size}), "Settings": b.Clauses(parts) + b.Say("stop"),
		}))
	}
}

// squared is a square block by its edge.
func squared(edge int) document.Text {
	if edge <= 0 {
		return absent
	}
	return document.Text(fmt.Sprintf("%d×%d", edge, edge))
}

func numbered(n int) document.Text {
	if n <= 0 {
		return absent
	}
	return document.Text(fmt.Sprint(n))
}

// phaseOf is the time of a phase as a cell.
func phaseOf(r compare.Record, name string) document.Text {
	if t, ok := r.Phases[name]; ok && r.Speed() {
		return document.Text(seconds(t))
	}
	return absent
}

// registers and occupancyOf are what the kernel of a row takes, as cells.
func registers(r compare.Record) document.Text {
	if r.GPU == nil {
		return absent
	}
	return numbered(r.GPU.Registers)
}

func occupancyOf(r compare.Record) document.Text {
	if r.GPU == nil || !(r.GPU.Occupancy > 0) {
		return absent
	}
	return document.Text(percent(r.GPU.Occupancy))
}
