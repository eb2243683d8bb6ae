package chapters

import (
	"slices"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/figures"
	"gemm/compare/report/page"
)

// Algorithm is a variant whose pseudo-code a report shows.
type Algorithm struct {
	record.Variant
	Type string // the element type of a kernel for GPUs; empty: the pseudo-code is for all types
}

// Algorithms returns what a report shows as pseudo-code of the timed variants of a family: the first variant, and those
// that an item of docs/advice.md contrasts.
func (d *Data) Algorithms(family string) []Algorithm { return d.algorithms(family, true) }

// Others returns the other timed variants of a family with pseudo-code, of all families if it is empty.
func (d *Data) Others(family string) []Algorithm { return d.algorithms(family, false) }

func (d *Data) algorithms(family string, shown bool) (out []Algorithm) {
	timed, taught := map[string]bool{}, map[string]bool{}
	for _, r := range d.Timed() {
		timed[r.Variant] = timed[r.Variant] || analysis.RanItself(r)
	}
	begun := map[string]bool{}
	for _, v := range d.Variants {
		if v.Role == record.Rung && !begun[v.Family()] {
			begun[v.Family()], taught[v.Name] = true, true
		}
		for _, a := range v.Advice {
			taught[v.Name], taught[a.Over] = true, true
		}
	}
	for _, v := range d.Variants {
		own := (family == "" || family == v.Family()) && (v.Role == record.Rung || v.Role == gemm.Production)
		if !own || v.Pseudocode == "" || !timed[v.Name] || shown != taught[v.Name] {
			continue
		}
		// Of the types of a kernel for GPUs, f32 is preferred.
		a := Algorithm{Variant: v}
		if v.Location == gemm.OnGPU && len(v.Types) > 0 {
			a.Type = v.Types[max(0, slices.Index(v.Types, "f32"))]
		}
		out = append(out, a)
	}
	return out
}

// Ran reports whether a row in the chapter of a family was timed on the host.
func (h *Host) Ran(family string) bool {
	return slices.ContainsFunc(h.Records, func(r record.Record) bool { return analysis.Home(r) == family && r.Speed() })
}

// TypeOf returns the type that the tables of a family are of: the main type if the family was timed with that, else the
// first that it was timed with.
func (h *Host) TypeOf(family string) string {
	types := analysis.Types(h.Pick(func(r record.Record) bool { return analysis.Home(r) == family && r.Speed() }))
	if main := h.MainType(); len(types) == 0 || slices.Contains(types, main) {
		return main
	}
	return types[0]
}

// Ran reports whether one was timed on any host.
func (d *Data) Ran(family string) bool {
	return slices.ContainsFunc(d.Hosts, func(h *Host) bool { return h.Ran(family) })
}

// WhyAbsent returns the first reason why a row of a family has no speed.
func (d *Data) WhyAbsent(family string) record.Note {
	r, _ := analysis.Find(d.Rows, func(r record.Record) bool {
		return analysis.Family(r.Variant) == family && r.Reason.Text != ""
	})
	return r.Reason
}

// Floats reports whether a row in the chapter of a family was timed on the host, other than over GF(2⁸).
func (h *Host) Floats(family string) bool { return h.Ran(family) && h.TypeOf(family) != "gf256" }

// Floats reports whether one was timed on any host.
func (d *Data) Floats(family string) bool {
	return slices.ContainsFunc(d.Hosts, func(h *Host) bool { return h.Floats(family) })
}

// Lanes returns the timelines of the ranks of several variants, or of the streams of a GPU, or, by the name gpus, of
// several GPUs; nil if there are none.
func (h *Host) Lanes(family string) *analysis.PhaseTraces {
	if e, ok := h.PhaseTraces(family); ok {
		return &e
	}
	return nil
}

// LoopsOfC returns the experiments on compilers of C that have rows, of each type.
func (h *Host) LoopsOfC() (all []analysis.CLoops) {
	for _, typ := range []string{"f64", "f32"} {
		if c, _ := h.CLoops(typ); len(c.All) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// CodeWidths returns the widths of shards at which several codes were timed.
func (h *Host) CodeWidths() []int {
	widths, _ := analysis.AtWidths(analysis.Timed(h.CodeRows()))
	return widths
}

// CodesFigure returns the file of the figure of a width.
func (h *Host) CodesFigure(width int) page.Text { return h.Figure(figures.Codes(width)) }
