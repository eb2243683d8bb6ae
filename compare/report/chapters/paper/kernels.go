package paper

import (
	"cmp"
	"fmt"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// The answer has a sentence for each of the first kernels of the user, and the table of a kernel at
// most so many sizes; the appendix has all.
const (
	kernelsInBrief = 6
	sizesOfKernel  = 12
)

// kernels has a sentence for each kernel of the user: of the type that the answer is about, if it was
// timed in it.
func (b builder) kernels(v *analysis.View, typ string) []document.Text {
	all := v.Kernels("")
	timed := func(k analysis.Kernel) bool { _, ok := k.Largest(); return ok }
	var items []document.Text
	var none []string
	shown, more := 0, 0
	for _, name := range analysis.Distinct(all, func(k analysis.Kernel) string { return k.Variant }) {
		own := slices.DeleteFunc(slices.Clone(all), func(k analysis.Kernel) bool {
			return k.Variant != name || !timed(k)
		})
		of := slices.DeleteFunc(slices.Clone(own), func(k analysis.Kernel) bool { return k.Type != typ })
		if len(of) == 0 {
			of = own[:min(1, len(own))]
		}
		switch {
		case len(of) == 0:
			none = append(none, name)
		case shown == kernelsInBrief:
			more++
		default:
			shown++
			for _, k := range of {
				items = append(items, b.kernel(v, k)+b.faulty(v, k))
			}
		}
	}
	if more > 0 {
		items = append(items, b.Count("kernel.more", more))
	}
	if len(none) > 0 {
		items = append(items, b.Say("kernel.none", text.Args{"Variants": b.Names(none),
			"Section": b.section(v, all[0])}))
	}
	return items
}

// section links to the section that a kernel of the user is in.
func (b builder) section(v *analysis.View, k analysis.Kernel) document.Text {
	return document.Link(b.Say("brought.title"), "#"+k.Home+"-brought"+v.Suffix)
}

// faulty says how many rows of a kernel are wrong, failed or took too long.
func (b builder) faulty(v *analysis.View, k analysis.Kernel) document.Text {
	bad := len(slices.DeleteFunc(slices.Clone(k.Rows), func(r compare.Record) bool { return !analysis.Bad(r) }))
	if bad == 0 {
		return ""
	}
	return b.Count("kernel.bad", bad) + b.section(v, k) + b.Say("stop")
}

// kernel says how fast a kernel is at its largest size, compared with what there is, and where it stands.
func (b builder) kernel(v *analysis.View, k analysis.Kernel) document.Text {
	r, _ := k.Largest()
	r.Phases = nil // of a GPU: the kernel alone, as the others are in its ladder
	sentence := b.Say("kernel.is", text.Args{"Variant": document.Literal(k.Variant), "Threads": b.place(r),
		"Speed": b.speed(r), "Size": b.Sizes([]analysis.Problem{analysis.ProblemOf(r)}), "Type": k.Type})
	sentence += b.OfPeak(analysis.Percent(r))
	var parts []document.Text
	for _, y := range v.Yardsticks(r) {
		c := analysis.Versus(y.Row, r)
		parts = append(parts, b.Say("kernel."+y.Key, text.Args{"Ratio": number.Times(c.Ratio, c.Lo, c.Hi),
			"Variant": document.Literal(y.Row.Variant)}))
	}
	if len(parts) > 0 {
		sentence += b.Say("semicolon") + b.Join(parts)
	}
	sentence += b.Say("stop")
	place, of := v.Rank(r)
	if of > 1 {
		sentence += b.Say("kernel.rank", text.Args{"Place": place, "Of": of, "Threads": b.place(r)})
	}
	return sentence
}

// yourKernels is the section on the kernels of the user that are in the chapter of a family: what they
// are, how fast by size, where they stand, and what is wrong with them.
func (b builder) yourKernels(v *analysis.View, fam string) (document.Section, bool) {
	s := b.Of(v, fam+"-brought", "brought.title")
	all := v.Kernels(fam)
	if len(all) == 0 {
		return s, false
	}
	s.Text(b.Say("brought.intro"))
	s.Add(b.brought(v, fam, all))
	var items []document.Text
	for _, k := range all {
		if _, ok := k.Largest(); ok {
			items = append(items, b.kernel(v, k)+b.average(v, k))
		}
	}
	s.List(items)
	for _, k := range all {
		if t, ok := b.bySize(v, k); ok {
			s.Add(t)
		}
	}
	if t := b.faults(v, fam); len(t.Rows) > 0 {
		s.Add(t)
	} else {
		s.Text(b.Say("brought.right"))
	}
	return s, true
}

// average says what share of the peak a kernel reaches in the mean of all sizes.
func (b builder) average(v *analysis.View, k analysis.Kernel) document.Text {
	percent, count := k.MeanShare()
	if count == 0 {
		return ""
	}
	return b.Say("kernel.average", text.Args{"Share": number.Significant(percent), "Rows": b.Count("rows", count)})
}

// brought is the table of what the kernels are: file, compiler and flags, and ABI, or the launch on a
// GPU; and how many of their rows are right.
func (b builder) brought(v *analysis.View, fam string, all []analysis.Kernel) document.Table {
	heads, made := []string{"file", "compiledby", "abi"}, fromSource
	if fam == analysis.OnGPU {
		heads, made = []string{"symbol", "griddims", "blockdims", "#shared"}, launched
	}
	columns := slices.Concat([]string{"variant", "type", "on"}, heads, []string{"#rightrows", "#averagepeak"})
	t := document.Table{ID: "table-" + fam + "-brought" + v.Suffix, Caption: b.Say("brought.caption"),
		Columns: b.Columns(columns...)}
	var rows []compare.Record
	for _, k := range all {
		rows = append(rows, k.Rows...)
		percent, _ := k.MeanShare()
		cells := []document.Text{document.Literal(k.Variant), document.Text(k.Type), b.place(k.Rows[0])}
		cells = append(cells, made(k)...)
		t.Rows = append(t.Rows, document.Row{Cells: append(cells,
			document.Text(fmt.Sprintf("%d / %d", len(analysis.Timed(k.Rows)), len(k.Rows))),
			document.Text(number.Significant(percent)))})
	}
	t.Command = b.Rerun(v, rows)
	return t
}

// resolvedOf returns what a kernel says of itself under the name, in the row of its largest product
// that has it.
func resolvedOf(k analysis.Kernel, name string) document.Text {
	for _, r := range slices.Backward(k.Rows) {
		if value, ok := r.Resolved[name]; ok && value != "" {
			return document.Escape(fmt.Sprint(value))
		}
	}
	return number.Absent
}

// fromSource returns the cells of a kernel for processors: its file, compiler with options, and ABI.
func fromSource(k analysis.Kernel) []document.Text {
	compiled := resolvedOf(k, "compiler")
	if flags := resolvedOf(k, analysis.CFlags); flags != number.Absent {
		compiled += " " + flags
	}
	return []document.Text{resolvedOf(k, "file"), compiled, resolvedOf(k, "abi")}
}

// launched returns the cells of a kernel for GPUs: its function, grid, block and shared memory.
func launched(k analysis.Kernel) []document.Text {
	shared := resolvedOf(k, "smem")
	for _, r := range k.Rows {
		if r.GPU != nil {
			shared = document.Text(number.ByteSize(float64(r.GPU.Shared)))
		}
	}
	return []document.Text{resolvedOf(k, "symbol"), resolvedOf(k, "grid_dims"), resolvedOf(k, "block_dims"), shared}
}

// bySize is the table of a kernel over sizes, beside what it is compared with. It reports false if no
// row has a speed.
func (b builder) bySize(v *analysis.View, k analysis.Kernel) (document.Table, bool) {
	rows := analysis.Timed(k.Rows)
	_, unit := analysis.Speed(k.Rows[0])
	id := fmt.Sprint("table-", analysis.Anchor(k.Variant), "-", k.Type, "-", k.Threads)
	t := document.Table{ID: id + v.Suffix, Command: b.Rerun(v, rows),
		Caption: b.Say("brought.sizes", text.Args{"Variant": document.Literal(k.Variant), "Type": k.Type}),
		Columns: append(b.Columns("size"), append([]document.Column{{Title: unit, Numeric: true}},
			b.Columns("#peak", "#naive", "#overprogram", "#overown", "#overlibrary", "#rank")...)...)}
	for _, r := range spaced(rows, sizesOfKernel) {
		r.Phases = nil
		place, of := v.Rank(r)
		cells := []document.Text{document.Escape(analysis.ProblemOf(r).Label()), b.rate(r),
			document.Text(number.OfPeak(analysis.Percent(r)))}
		yards := map[string]document.Text{}
		for _, y := range v.Yardsticks(r) {
			yards[y.Key] = document.Text(number.Significant(float64(y.Row.Median) / float64(r.Median)))
		}
		for _, key := range []string{"naive", "program", "own", "library"} {
			cells = append(cells, cmp.Or(yards[key], number.Absent))
		}
		t.Rows = append(t.Rows, document.Row{Cells: append(cells, document.Text(fmt.Sprintf("%d / %d", place, of)))})
	}
	return withoutEmpty(t), len(rows) > 0
}

// withoutEmpty returns the table without the columns in which no row has a value.
func withoutEmpty(t document.Table) document.Table {
	columns := t.Columns
	empty := func(i int) bool {
		return !slices.ContainsFunc(t.Rows, func(r document.Row) bool { return r.Cells[i] != number.Absent })
	}
	t.Columns = nil
	rows := slices.Clone(t.Rows)
	for i := range rows {
		rows[i].Cells = nil
	}
	for i, c := range columns {
		if empty(i) {
			continue
		}
		t.Columns = append(t.Columns, c)
		for j := range rows {
			rows[j].Cells = append(rows[j].Cells, t.Rows[j].Cells[i])
		}
	}
	t.Rows = rows
	return t
}

// spaced returns at most the given number of rows: the first, the last, and some between.
func spaced[R any](rows []R, most int) []R {
	if len(rows) <= most {
		return rows
	}
	var out []R
	for i := range most {
		out = append(out, rows[i*(len(rows)-1)/(most-1)])
	}
	return out
}

// faults is the table of the rows of the user's kernels that have no speed, with their reasons.
func (b builder) faults(v *analysis.View, fam string) document.Table {
	t := document.Table{ID: "table-" + fam + "-faults" + v.Suffix, Caption: b.Say("brought.faults"),
		Columns: b.Columns("variant", "type", "state", "reason", "sizes")}
	for _, f := range v.Faults(fam) {
		reason := b.Note(f.Reason)
		if f.Reason.Text == "" {
			reason = b.Say("summary.unreasoned", text.Args{"Residual": number.Significant(float64(f.Residual)),
				"Bound": number.Significant(float64(f.Bound))})
		}
		row := document.Row{Cells: []document.Text{document.Literal(f.Variant), document.Text(f.Type),
			b.Status(f.Status), reason, b.Sizes(f.Problems)}}
		if f.Status == compare.Wrong || f.Status == compare.Suspect {
			row.Class = "wrong"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
