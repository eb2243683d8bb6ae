package report

import (
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// gpuShapes is the section on the speed over sizes and shapes beside NVIDIA's library.
func (b *builder) gpuShapes(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-shapes", "gpu-shapes.title")
	s.Text(b.Say("gpu-shapes.intro"))
	found := false
	for _, typ := range v.gpuTypes() {
		rows := v.rungs(typ)
		if len(rows) == 0 {
			continue
		}
		found = true
		command := b.rerun(v, rows)
		b.figure(&s, v, "gpu-rates-"+typ, "fig.gpu-rates", command, text.Args{"Type": typ})
		if typ == "f32" {
			only := func(keep func(compare.Record) bool) string {
				return b.rerun(v, slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return !keep(r) }))
			}
			b.figure(&s, v, "gpu-rates-tf32", "fig.gpu-rates-tf32", only(func(r compare.Record) bool { return problemOf(r).cube() && (simt(r) || !exact(r)) }))
			b.figure(&s, v, "gpu-sgemm", "fig.gpu-sgemm", only(func(r compare.Record) bool { return slices.Contains(sgemmShapes, problemOf(r)) }))
		}
		t := b.shapesTable(v, typ, rows)
		t.Command = command
		s.Add(t)
	}
	return s, found
}

// cubesFirst returns the problems of rows, cubes before other shapes.
func cubesFirst(rows []compare.Record) []problem {
	out := problems(rows)
	slices.SortStableFunc(out, func(x, y problem) int {
		switch {
		case x.cube() == y.cube():
			return 0
		case x.cube():
			return -1
		}
		return 1
	})
	return out
}

// shapesTable holds the best rung without tensor cores and the one with them against
// NVIDIA's library at each shape.
func (b *builder) shapesTable(v *view, typ string, rows []compare.Record) document.Table {
	tensor, library := tf32WMMA, cublasTF32
	heads := []string{"size", "bestsimt", "#simttflops", "#cublastflops", "#simtover", "verdict", "#wmmatflops", "#wmmaover", "#cublas32tflops", "#wmmaover32", "#digits"}
	if typ == "f64" {
		tensor, library = dmma, cublas
		heads = []string{"size", "bestsimt", "#simttflops", "#dmmatflops", "#dmmaover", "#cublastflops", "#dmmaovercublas", "verdict"}
	}
	t := document.Table{ID: "table-gpu-shapes-" + anchor(typ) + v.suffix, Caption: b.Say("gpu-shapes.caption", text.Args{
		"Type": typ,
	}), Columns: b.columns(heads...)}
	for _, p := range cubesFirst(rows) {
		best, ok := quickest(rows, p, simt)
		wide, wok := at(rows, tensor, p)
		exactly, eok := at(rows, cublas, p)
		peer, pok := at(rows, library, p)
		name := document.Text(absent)
		if ok {
			name = document.Literal(algorithm(best.Variant))
		}
		speed := func(r compare.Record, ok bool) document.Text {
			if !ok {
				return absent
			}
			return tflops(r)
		}
		cells := []document.Text{document.Escape(p.label()), name, speed(best, ok)}
		if typ == "f64" {
			cells = append(cells, speed(wide, wok), overCell(best, wide, ok && wok), speed(peer, pok), overCell(peer, wide, pok && wok), b.against(peer, wide, pok && wok))
		} else {
			lost := document.Text(absent)
			if x := digitsLost(best, wide); ok && wok && !math.IsNaN(x) {
				lost = document.Text(significant(x))
			}
			cells = append(cells, speed(exactly, eok), overCell(exactly, best, ok && eok), b.against(exactly, best, ok && eok),
				speed(wide, wok), overCell(best, wide, ok && wok), speed(peer, pok), overCell(peer, wide, pok && wok), lost)
		}
		class := ""
		for _, r := range []compare.Record{best, wide, exactly, peer} {
			if r.Speed() && held(r) != "" {
				class = "muted"
			}
		}
		t.Rows = append(t.Rows, document.Row{Cells: cells, Class: class})
	}
	return t
}

// against is the verdict on a library's row and one of the suite.
func (b *builder) against(library, own compare.Record, ok bool) document.Text {
	if !ok {
		return absent
	}
	c := beside(library, own)
	if math.IsNaN(c.P) {
		return absent
	}
	return b.peerVerdict(c.Outcome)
}

// digits is the number of decimal digits that a row's error leaves, NaN where it is not
// known or there is none.
func digits(r compare.Record) float64 {
	if !r.Speed() || !(r.Residual > 0) {
		return math.NaN()
	}
	return -math.Log10(float64(r.Residual))
}

// digitsLost is what b has fewer of than a.
func digitsLost(a, b compare.Record) float64 { return digits(a) - digits(b) }

// gpuPrecision is the section on what TF32 costs: the residuals of its rows beside those
// in single precision.
func (b *builder) gpuPrecision(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-precision", "gpu-precision.title")
	s.Text(b.Say("gpu-precision.intro"))
	rows := v.rungs("f32")
	t := document.Table{
		ID: "table-gpu-precision" + v.suffix, Caption: b.Say("gpu-precision.caption"),
		Columns: b.columns("size", "bestsimt", "#residualsimt", "#residualcublas", "#residualwmma", "#residualcublas32", "#digitssimt", "#digitswmma", "#digits", "#gaintf32"),
	}
	var used []compare.Record
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range cubesFirst(rows) {
		best, ok := quickest(rows, p, simt)
		wide, wok := at(rows, tf32WMMA, p)
		lost := digitsLost(best, wide)
		if !ok || !wok || math.IsNaN(lost) {
			continue
		}
		least, most = min(least, lost), max(most, lost)
		used = append(used, best, wide)
		residual := func(variant string) document.Text {
			r, ok := at(rows, variant, p)
			if !ok {
				return absent
			}
			return document.Text(significant(float64(r.Residual)))
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Escape(p.label()), document.Literal(algorithm(best.Variant)), document.Text(significant(float64(best.Residual))), residual(cublas), residual(tf32WMMA), residual(cublasTF32),
			document.Text(significant(digits(best))), document.Text(significant(digits(wide))), document.Text(significant(lost)), overCell(best, wide, true),
		}})
	}
	if len(t.Rows) == 0 {
		return s, false
	}
	s.Text(b.Say("gpu-precision.lost", text.Args{"Least": significant(least), "Most": significant(most)}))
	t.Command = b.rerun(v, used)
	s.Add(t)
	return s, true
}

// gpuTypes is the section on double beside single precision.
func (b *builder) gpuTypes(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-types", "gpu-types.title")
	s.Text(b.Say("gpu-types.intro"))
	f32, f64 := v.rungs("f32"), v.rungs("f64")
	t := document.Table{
		ID: "table-gpu-types" + v.suffix, Caption: b.Say("gpu-types.caption"),
		Columns: b.columns("size", "bestf32", "#tflops", "#peak", "bestf64", "#tflops", "#peak", "#f64over", "#cublasover"),
	}
	var used []compare.Record
	own := func(r compare.Record) bool { return ours(r) && exact(r) }
	var last [2]compare.Record
	for _, p := range cubesFirst(f32) {
		q := p
		q.typ = "f64"
		single, ok := quickest(f32, p, own)
		double, too := quickest(f64, q, own)
		if !ok || !too {
			continue
		}
		used = append(used, single, double)
		if p.cube() {
			last = [2]compare.Record{single, double}
		}
		libraries := document.Text(absent)
		a, aok := at(f32, cublas, p)
		d, dok := at(f64, cublas, q)
		if aok && dok {
			libraries = document.Text(significant(float64(a.Median / d.Median)))
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Escape(p.label()), document.Literal(algorithm(single.Variant)), tflops(single), document.Text(significant(known(single, single.PercentPeak))),
			document.Literal(algorithm(double.Variant)), tflops(double), document.Text(significant(known(double, double.PercentPeak))),
			document.Text(significant(float64(single.Median / double.Median))), libraries,
		}})
	}
	if len(t.Rows) == 0 {
		return s, false
	}
	if last[0].Speed() {
		s.Text(b.Say("gpu-types.largest", text.Args{
			"Size": b.sizes([]problem{problemOf(last[0])}), "Double": document.Literal(algorithm(last[1].Variant)),
			"Ratio":  significant(float64(last[0].Median / last[1].Median)),
			"Single": document.Literal(algorithm(last[0].Variant)),
		}))
	}
	t.Command = b.rerun(v, used)
	s.Add(t)
	return s, true
}

// kept is a rung at a size next to a multiple of 32, and at that one.
type kept struct{ ragged, even compare.Record }

// share is the part of the rate that it keeps.
func (k kept) share() float64 { return float64(k.ragged.Gflops / k.even.Gflops) }

// kept returns the rows at cubes that are one more or less than a multiple of 32 with
// those at that multiple, by size and rung.
func (v *view) kept(typ string) []kept {
	rows := v.rungs(typ)
	var out []kept
	for _, r := range rows {
		for _, even := range []int{r.N + 1, r.N - 1} {
			if !problemOf(r).cube() || even%32 != 0 || even == 0 {
				continue
			}
			if o, ok := at(rows, r.Variant, cubeOf(typ, even)); ok {
				out = append(out, kept{r, o})
			}
		}
	}
	return out
}

// gpuRagged is the section on sizes that are no multiple of a tile.
func (b *builder) gpuRagged(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-ragged", "gpu-ragged.title")
	s.Text(b.Say("gpu-ragged.intro"))
	found := false
	for _, typ := range v.gpuTypes() {
		all := v.kept(typ)
		if len(all) == 0 {
			continue
		}
		found = true
		t := document.Table{
			ID:      "table-gpu-ragged-" + anchor(typ) + v.suffix,
			Caption: b.Say("gpu-ragged.caption", text.Args{"Type": typ}),
			Columns: b.columns("rung", "wide", "size", "#tflops", "size", "#tflops", "#kept"),
		}
		var used []compare.Record
		var worst *kept
		for i, k := range all {
			used = append(used, k.ragged, k.even)
			wide := b.Say("no")
			switch {
			case !ours(k.ragged):
				wide = absent
			case copies(k.ragged):
				wide = b.Say("yes")
				if k.ragged.N+1 == k.even.N && (worst == nil || k.share() < worst.share()) {
					worst = &all[i]
				}
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Literal(algorithm(k.ragged.Variant)), wide, document.Escape(problemOf(k.ragged).label()), tflops(k.ragged), document.Escape(problemOf(k.even).label()), tflops(k.even), document.Text(percent(k.share())),
			}})
		}
		if worst != nil {
			s.Text(b.Say("gpu-ragged.worst", text.Args{
				"Type": typ, "Rung": document.Literal(algorithm(worst.ragged.Variant)),
				"Share": percent(worst.share()), "Size": b.sizes([]problem{problemOf(worst.ragged)}),
				"Multiple": b.sizes([]problem{problemOf(worst.even)}),
			}))
		}
		t.Command = b.rerun(v, used)
		s.Add(t)
	}
	return s, found
}

// sgemmShapes are the eight of the SGEMM collection.
var sgemmShapes = func() []problem {
	var out []problem
	for _, m := range []int{2048, 4096} {
		for _, n := range []int{2048, 4096} {
			for _, k := range []int{512, 1024} {
				out = append(out, shapeOf("f32", m, n, k))
			}
		}
	}
	return out
}()

// shapeOf returns the plain product of a type and shape.
func shapeOf(typ string, m, n, k int) problem {
	return problem{typ: typ, op: "nn", alpha: 1, m: m, n: n, k: k, lda: k, ldb: n, ldc: n, threads: 1}
}

func cubeOf(typ string, n int) problem { return shapeOf(typ, n, n, n) }
