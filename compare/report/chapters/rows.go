package chapters

import (
	"fmt"
	"math"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Where names a row in prose.
func (b *Builder) Where(v *analysis.View, r compare.Record) document.Text {
	a := analysis.AxisOf(r.Variant)
	parts := []document.Text{b.Sizes([]analysis.Problem{analysis.ProblemOf(r)}), b.Count(a.Param, a.Count(r))}
	if set := v.Trait(r.Variant, r.Params); set != "" {
		parts = append(parts, document.Escape(set))
	}
	return b.Say("evidence.where", text.Args{"Variant": document.Literal(r.Variant), "Place": b.Join(parts)})
}

// Busy says on what a row ran: threads, ranks or the GPU.
func (b *Builder) Busy(r compare.Record) document.Text {
	switch {
	case analysis.ByGPU(r):
		return b.Say("answer.gpu")
	case analysis.Family(r.Variant) == analysis.OnRanks || analysis.Of(r).Location == gemm.OnRanks:
		ranks := b.Count("answer.ranks", analysis.OverRanks.Count(r))
		if helpers, ok := r.Resolved["helpers"].(int); ok && helpers > 0 {
			ranks = b.Say("answer.helpers", text.Args{"Ranks": ranks, "Helpers": helpers})
		}
		return ranks
	}
	return b.Count("answer.threads", max(r.Threads, 1))
}

// PeakCell returns a row's percent of the peak as a cell. A row that takes several products for one has their number
// before the percent of each.
func PeakCell(r compare.Record, percent float64) document.Text {
	cell := document.Text(number.OfPeak(percent))
	if n := analysis.Products(r); n > 1 && cell != number.Absent {
		cell = document.Text(fmt.Sprintf("%d × %s", n, cell))
	}
	return cell
}

// OfPeak says what share of the peak a speed is, in percent.
func (b *Builder) OfPeak(percent float64) document.Text {
	switch share := (text.Args{"Share": number.Significant(percent)}); {
	case math.IsNaN(percent):
		return ""
	case number.Dagger(percent) != "":
		return b.Say("answer.beyond", share)
	default:
		return b.Say("answer.peak", share)
	}
}

// over returns as a cell how many times as fast as the first row the second is.
func OverCell(a, r compare.Record, ok bool) document.Text {
	if !ok || !a.Speed() || !r.Speed() {
		return number.Absent
	}
	c := analysis.Versus(a, r)
	return number.Times(c.Ratio, c.Lo, c.Hi)
}

// WithNotes adds a table and the notes that its cells refer to.
func (b *Builder) WithNotes(s *document.Section, t document.Table, notes []document.Text) {
	s.Add(t)
	if len(notes) > 0 {
		s.Text(b.Say("results.notes"))
		s.Add(document.List{Ordered: true, Items: notes})
	}
}

// Mark is an asterisk behind the speed of a row whose samples vary too much.
func (b *Builder) Mark(r compare.Record) document.Text {
	if r.Speed() && analysis.Wide(r) {
		return b.Say("answer.mark")
	}
	return ""
}

// ValueOf returns the requested value of a parameter. A chunk or GOMAXPROCS of 0 is the word for
// "not set".
func (b *Builder) ValueOf(r compare.Record, param string) document.Text {
	value, ok := r.Params[param]
	if !ok || value == 0 {
		return b.Say("value.default")
	}
	return document.Escape(fmt.Sprint(value))
}

// OfMemory returns the share of the limit that memory sets. What is faster does not come from memory.
func (b *Builder) OfMemory(fraction float64) document.Text {
	if fraction > 1 && !number.IsShare(fraction) {
		return b.Say("share.cached")
	}
	return document.Text(number.Share(fraction))
}

// Name returns a row's variant and the parameters that it was asked to have.
func (b *Builder) Name(r compare.Record) document.Text {
	sentence := document.Literal(r.Variant)
	if len(r.Params) > 0 {
		sentence += " " + document.Escape(r.Params.String())
	}
	return sentence
}
