package paper

import (
	"fmt"
	"slices"

	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// setup says what was measured on, and how, in half a page.
func (b builder) setup() document.Section {
	s := b.Section("setup", 1)
	for _, v := range b.Views {
		s.Text(b.machine(v))
		b.Figure(&s, v, "topology", "fig.topology", "")
		if t, ok := b.peaks(v); ok {
			s.Add(t)
		}
		s.Text(b.Noise(v))
	}
	s.Text(b.Say("setup.method"))
	s.Text(b.Say("setup.verified"))
	s.Text(b.Say("setup.more", text.Args{"Method": document.Link(b.Say("measured.title"), "docs/measuring.md"),
		"Rows": document.Link(b.Say("results.title"), "appendix#results")}))
	return s
}

// machine describes a host in one paragraph.
func (b builder) machine(v *analysis.View) document.Text {
	sentence := b.Say("setup.host", text.Args{"Host": b.HostName(v),
		"Processors": b.Count("setup.processors", max(v.Cores, 1))})
	var caches []document.Text
	for _, c := range v.Caches {
		if c.Level > 0 && c.Kind != "instruction" {
			caches = append(caches, document.Text(fmt.Sprintf("L%d %s", c.Level, number.ByteSize(float64(c.Bytes)))))
		}
	}
	if len(caches) > 0 {
		sentence += b.Say("setup.caches", text.Args{"Caches": b.Join(caches)})
	}
	if v.ISA != "" {
		key := "setup.isa"
		if v.Held {
			key = "setup.isa.held"
		}
		sentence += b.Say(key, text.Args{"ISA": document.Literal(v.ISA)})
	}
	for _, name := range []string{v.OS, v.MPI} {
		if name != "" {
			sentence += b.Say("setup.runs", text.Args{"Name": name})
		}
	}
	return sentence
}

// peaks is the table of the measured peaks and bandwidths.
func (b builder) peaks(v *analysis.View) (document.Table, bool) {
	t := document.Table{ID: "table-peaks" + v.Suffix, Caption: b.Say("setup.peaks"), Columns: b.Columns("#threads")}
	types := []string{"f64", "f32", "gf256"}
	for _, typ := range types {
		unit := "GFLOP/s"
		if typ == "gf256" {
			unit = "Gmul/s"
		}
		t.Columns = append(t.Columns, document.Column{Title: typ + ", " + unit, Numeric: true})
	}
	t.Columns = append(t.Columns, document.Column{Title: b.Plain("setup.triad"), Numeric: true})
	var counts []int
	for _, c := range v.Ceilings {
		if c.Unit == "cpu" && (v.Cores == 0 || c.Threads <= v.Cores) {
			counts = append(counts, c.Threads)
		}
	}
	counts = analysis.Distinct(counts, func(n int) int { return n })
	for _, n := range slices.Sorted(slices.Values(counts)) {
		cells := []document.Text{document.Text(fmt.Sprint(n))}
		for _, typ := range types {
			cell := document.Text(number.Absent)
			if c, ok := v.Ceiling(typ, n); ok {
				cell = document.Text(number.Significant(float64(c.Gflops)))
			}
			cells = append(cells, cell)
		}
		cell := document.Text(number.Absent)
		if w, ok := v.Bandwidth(n); ok {
			cell = document.Text(number.Significant(float64(w.GBps)))
		}
		t.Rows = append(t.Rows, document.Row{Cells: append(cells, cell)})
	}
	return t, len(t.Rows) > 0
}
