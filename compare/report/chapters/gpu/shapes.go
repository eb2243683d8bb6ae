package gpu

import (
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// gpuShapes is the section on the speed over sizes and shapes compared with cuBLAS.
func (b *builder) gpuShapes(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-shapes", "gpu-shapes.title")
	s.Text(b.Say("gpu-shapes.intro"))
	found := false
	for _, typ := range v.GPUTypes() {
		rows := v.Rungs(typ)
		if len(rows) == 0 {
			continue
		}
		found = true
		command := b.Rerun(v, rows)
		b.Figure(&s, v, "gpu-rates-"+typ, "fig.gpu-rates", command, text.Args{"Type": typ})
		if typ == "f32" {
			only := func(keep func(compare.Record) bool) string {
				return b.Rerun(v, slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return !keep(r) }))
			}
			b.Figure(&s, v, "gpu-rates-tf32", "fig.gpu-rates-tf32", only(func(r compare.Record) bool {
				return analysis.ProblemOf(r).Cube() && (analysis.Simt(r) || !analysis.Exact(r))
			}))
			b.Figure(&s, v, "gpu-sgemm", "fig.gpu-sgemm",
				only(func(r compare.Record) bool { return slices.Contains(analysis.SgemmShapes, analysis.ProblemOf(r)) }))
		}
		t := b.shapesTable(v, typ, rows)
		if analysis.Half(typ) {
			t = b.halfTable(v, typ, rows)
		}
		t.Command = command
		s.Add(t)
	}
	return s, found
}

// shapesTable holds the best rung without tensor cores and the one with them against
// NVIDIA's library at each shape.
func (b *builder) shapesTable(v *analysis.View, typ string, rows []compare.Record) document.Table {
	library := analysis.CuBLASTF32
	heads := []string{"size", "bestsimt", "#simttflops", "#cublastflops", "#simtover", "verdict", "#wmmatflops",
		"#wmmaover", "#cublas32tflops", "#wmmaover32", "#digits"}
	if typ == "f64" {
		library = analysis.CuBLAS
		heads = []string{"size", "bestsimt", "#simttflops", "#dmmatflops", "#dmmaover", "#cublastflops",
			"#dmmaovercublas", "verdict"}
	}
	t := document.Table{ID: "table-gpu-shapes-" + analysis.Anchor(typ) + v.Suffix,
		Caption: b.Say("gpu-shapes.caption", text.Args{
			"Type": typ,
		}), Columns: b.Columns(heads...)}
	for _, p := range analysis.CubesFirst(rows) {
		best, ok := analysis.Quickest(rows, p, analysis.Simt)
		wide, wok := analysis.Quickest(rows, p, analysis.InTF32)
		if typ == "f64" {
			wide, wok = analysis.At(rows, analysis.DMMA, p)
		}
		exactly, eok := analysis.At(rows, analysis.CuBLAS, p)
		peer, pok := analysis.At(rows, library, p)
		name := document.Text(number.Absent)
		if ok {
			name = document.Literal(analysis.Algorithm(best.Variant))
		}
		speed := func(r compare.Record, ok bool) document.Text {
			if !ok {
				return number.Absent
			}
			return chapters.Tflops(r)
		}
		cells := []document.Text{document.Escape(p.Label()), name, speed(best, ok)}
		if typ == "f64" {
			cells = append(cells, speed(wide, wok), chapters.OverCell(best, wide, ok && wok), speed(peer, pok),
				chapters.OverCell(peer, wide, pok && wok), b.against(peer, wide, pok && wok))
		} else {
			lost := document.Text(number.Absent)
			if x := analysis.DigitsLost(best, wide); ok && wok && !math.IsNaN(x) {
				lost = document.Text(number.Significant(x))
			}
			cells = append(cells, speed(exactly, eok), chapters.OverCell(exactly, best, ok && eok),
				b.against(exactly, best, ok && eok),
				speed(wide, wok), chapters.OverCell(best, wide, ok && wok), speed(peer, pok),
				chapters.OverCell(peer, wide, pok && wok), lost)
		}
		class := ""
		for _, r := range []compare.Record{best, wide, exactly, peer} {
			if r.Speed() && analysis.Held(r) != "" {
				class = "muted"
			}
		}
		t.Rows = append(t.Rows, document.Row{Cells: cells, Class: class})
	}
	return t
}

// halfTable holds the best rung in half precision against NVIDIA's library at each shape.
func (b *builder) halfTable(v *analysis.View, typ string, rows []compare.Record) document.Table {
	t := document.Table{ID: "table-gpu-shapes-" + analysis.Anchor(typ) + v.Suffix,
		Caption: b.Say("gpu-shapes.caption", text.Args{"Type": typ}),
		Columns: b.Columns("size", "bestrung", "#simttflops", "#peak", "#cublastflops", "#simtover", "verdict")}
	for _, p := range analysis.CubesFirst(rows) {
		best, ok := analysis.Quickest(rows, p, analysis.Ours)
		library, too := analysis.At(rows, analysis.CuBLAS, p)
		if !ok {
			continue
		}
		speed, class := document.Text(number.Absent), analysis.Held(best)
		if too {
			speed = chapters.Tflops(library)
			class = max(class, analysis.Held(library))
		}
		t.Rows = append(t.Rows, document.Row{Class: class, Cells: []document.Text{
			document.Escape(p.Label()), document.Literal(analysis.Algorithm(best.Variant)), chapters.Tflops(best),
			chapters.PeakCell(best, analysis.Percent(best)), speed, chapters.OverCell(library, best, too),
			b.against(library, best, too),
		}})
	}
	return t
}

// against is the verdict on a library's row and one of the suite.
func (b *builder) against(library, own compare.Record, ok bool) document.Text {
	if !ok {
		return number.Absent
	}
	c := analysis.Versus(library, own)
	if math.IsNaN(c.P) {
		return number.Absent
	}
	return b.PeerVerdict(c.Outcome)
}

// gpuPrecision is the section on the accuracy that TF32 costs: the residuals of its rows and those
// in single precision.
func (b *builder) gpuPrecision(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-precision", "gpu-precision.title")
	s.Text(b.Say("gpu-precision.intro"))
	rows := v.Rungs("f32")
	t := document.Table{
		ID: "table-gpu-precision" + v.Suffix, Caption: b.Say("gpu-precision.caption"),
		Columns: b.Columns("size", "bestsimt", "#residualsimt", "#residualcublas", "#residualwmma", "#residualcublas32",
			"#digitssimt", "#digitswmma", "#digits", "#gaintf32"),
	}
	var used []compare.Record
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range analysis.CubesFirst(rows) {
		best, ok := analysis.Quickest(rows, p, analysis.Simt)
		wide, wok := analysis.Quickest(rows, p, analysis.InTF32)
		lost := analysis.DigitsLost(best, wide)
		if !ok || !wok || math.IsNaN(lost) {
			continue
		}
		least, most = min(least, lost), max(most, lost)
		used = append(used, best, wide)
		residual := func(variant string) document.Text {
			r, ok := analysis.At(rows, variant, p)
			if !ok {
				return number.Absent
			}
			return document.Text(number.Significant(float64(r.Residual)))
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Escape(p.Label()), document.Literal(analysis.Algorithm(best.Variant)),
			document.Text(number.Significant(float64(best.Residual))), residual(analysis.CuBLAS),
			document.Text(number.Significant(float64(wide.Residual))),
			residual(analysis.CuBLASTF32),
			document.Text(number.Significant(analysis.Digits(best))), document.Text(number.Significant(analysis.Digits(wide))),
			document.Text(number.Significant(lost)), chapters.OverCell(best, wide, true),
		}})
	}
	if len(t.Rows) == 0 {
		return s, false
	}
	if fewest, largest, same := number.Between(least, most, number.Significant); same {
		s.Text(b.Say("gpu-precision.same", text.Args{"Digits": fewest}))
	} else {
		s.Text(b.Say("gpu-precision.lost", text.Args{"Least": fewest, "Most": largest}))
	}
	t.Command = b.Rerun(v, used)
	s.Add(t)
	return s, true
}

// gpuTypes is the section that compares double with single precision.
func (b *builder) gpuTypes(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-types", "gpu-types.title")
	s.Text(b.Say("gpu-types.intro"))
	f32, f64 := v.Rungs("f32"), v.Rungs("f64")
	t := document.Table{
		ID: "table-gpu-types" + v.Suffix, Caption: b.Say("gpu-types.caption"),
		Columns: b.Columns("size", "bestf32", "#tflops", "#peak", "bestf64", "#tflops", "#peak", "#f64over", "#cublasover"),
	}
	var used []compare.Record
	own := func(r compare.Record) bool { return analysis.Ours(r) && analysis.Exact(r) }
	var last [2]compare.Record
	for _, p := range analysis.CubesFirst(f32) {
		q := p
		q.Type = "f64"
		single, ok := analysis.Quickest(f32, p, own)
		double, too := analysis.Quickest(f64, q, own)
		if !ok || !too {
			continue
		}
		used = append(used, single, double)
		if p.Cube() {
			last = [2]compare.Record{single, double}
		}
		libraries := document.Text(number.Absent)
		a, aok := analysis.At(f32, analysis.CuBLAS, p)
		d, dok := analysis.At(f64, analysis.CuBLAS, q)
		if aok && dok {
			libraries = document.Text(number.Significant(float64(a.Median / d.Median)))
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Escape(p.Label()), document.Literal(analysis.Algorithm(single.Variant)), chapters.Tflops(single),
			document.Text(number.OfPeak(analysis.Percent(single))),
			document.Literal(analysis.Algorithm(double.Variant)), chapters.Tflops(double),
			document.Text(number.OfPeak(analysis.Percent(double))),
			document.Text(number.Significant(float64(single.Median / double.Median))), libraries,
		}})
	}
	if len(t.Rows) == 0 {
		return s, false
	}
	if last[0].Speed() {
		s.Text(b.Say("gpu-types.largest", text.Args{
			"Size":   b.Sizes([]analysis.Problem{analysis.ProblemOf(last[0])}),
			"Double": document.Literal(analysis.Algorithm(last[1].Variant)),
			"Ratio":  number.Significant(float64(last[0].Median / last[1].Median)),
			"Single": document.Literal(analysis.Algorithm(last[0].Variant)),
		}))
	}
	t.Command = b.Rerun(v, used)
	s.Add(t)
	return s, true
}

// gpuRagged is the section on sizes that are no multiple of a tile.
func (b *builder) gpuRagged(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-ragged", "gpu-ragged.title")
	s.Text(b.Say("gpu-ragged.intro"))
	found := false
	for _, typ := range v.GPUTypes() {
		all := v.Kept(typ)
		if len(all) == 0 {
			continue
		}
		found = true
		t := document.Table{
			ID:      "table-gpu-ragged-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("gpu-ragged.caption", text.Args{"Type": typ}),
			Columns: b.Columns("rung", "wide", "size", "#tflops", "size", "#tflops", "#kept"),
		}
		var used []compare.Record
		var worst *analysis.Kept
		for i, k := range all {
			used = append(used, k.Ragged, k.Even)
			wide := b.Say("no")
			switch {
			case !analysis.Ours(k.Ragged), analysis.Engined(k.Ragged): // whose threads do not copy
				wide = number.Absent
			case analysis.Copies(k.Ragged):
				wide = b.Say("yes")
				if k.Ragged.N+1 == k.Even.N && (worst == nil || k.Share() < worst.Share()) {
					worst = &all[i]
				}
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Literal(analysis.Short(k.Ragged.Variant)), wide,
				document.Escape(analysis.ProblemOf(k.Ragged).Label()),
				chapters.Tflops(k.Ragged), document.Escape(analysis.ProblemOf(k.Even).Label()), chapters.Tflops(k.Even),
				document.Text(number.Percent(k.Share())),
			}})
		}
		if worst != nil {
			s.Text(b.Say("gpu-ragged.worst", text.Args{
				"Type": typ, "Rung": document.Literal(analysis.Algorithm(worst.Ragged.Variant)),
				"Share": number.Percent(worst.Share()), "Size": b.Sizes([]analysis.Problem{analysis.ProblemOf(worst.Ragged)}),
				"Multiple": b.Sizes([]analysis.Problem{analysis.ProblemOf(worst.Even)}),
			}))
		}
		t.Command = b.Rerun(v, used)
		s.Add(t)
	}
	return s, found
}
