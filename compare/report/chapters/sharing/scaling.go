package sharing

import (
	"fmt"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// strong says what more threads or ranks bring for a problem of a fixed size.
func (b *builder) strong(a analysis.Axis) func(*analysis.View) (document.Section, bool) {
	return func(v *analysis.View) (document.Section, bool) {
		return b.scaling(v, a, "strong", (*analysis.View).StrongSeries)
	}
}

// weak is the section on weak scaling, in which every worker has the same work.
func (b *builder) weak(a analysis.Axis) func(*analysis.View) (document.Section, bool) {
	return func(v *analysis.View) (document.Section, bool) {
		return b.scaling(v, a, "weak", (*analysis.View).WeakSeries)
	}
}

// scaling is the section on one kind of scaling. For each type it has a sentence per variant,
// figures, a table of all rows, and a table of the laws.
func (b *builder) scaling(v *analysis.View, a analysis.Axis, sort string,
	of func(*analysis.View, analysis.Axis, string) []analysis.Series) (document.Section, bool) {
	kind := a.Prefix + sort
	s := b.Of(v, kind, kind+".title")
	s.Text(b.Say(kind + ".intro"))
	found := false
	for _, typ := range v.TypesOf(a) {
		all := of(v, a, typ)
		if len(all) == 0 {
			continue
		}
		found = true
		var used []compare.Record
		for _, one := range all {
			used = append(used, one.Rows...)
		}
		command := b.Rerun(v, used)
		size := analysis.MainSize(all)
		var items []document.Text
		for _, lead := range v.Leading(all, size) {
			items = append(items, b.scales(v, kind, lead))
		}
		s.Text(b.Say(kind+".of", text.Args{"Type": typ, "Size": b.Sizes([]analysis.Problem{size})}))
		s.List(items)
		for _, figure := range figures.Scaling[kind] {
			b.Figure(&s, v, figure+"-"+typ, "fig."+figure, command, text.Args{"Type": typ})
		}
		s.Add(b.scalingTable(v, a, sort, typ, all, command))
		if laws := b.laws(v, a, sort, typ, all, command); len(laws.Rows) > 0 {
			s.Add(laws)
		}
	}
	return s, found
}

// scales says of one series how it scales and what law it follows.
func (b *builder) scales(v *analysis.View, kind string, one analysis.Series) document.Text {
	sentence := b.Say("scales.name", text.Args{"Subject": nameOf(one)})
	last := one.Full(v)
	c, ok := one.Speedup(last)
	if !ok {
		sentence += b.Say("scales.time", text.Args{
			"Time": number.Seconds(float64(last.Median)), "Workers": b.Count(one.Axis.Param, one.Count(last)),
		})
		if _, ok := one.One(); !ok {
			sentence += b.Say("scales.alone", text.Args{"Worker": b.Say("one." + one.Axis.Param)})
		}
	} else {
		sentence += b.Say(kind+".speedup", text.Args{
			"Workers": b.Count(one.Axis.Param, one.Count(last)), "Ratio": number.Significant(c.Ratio),
		})
		if known := number.Extent(c.Lo, c.Hi, number.Significant); known != number.Absent {
			sentence += b.Say("interval", text.Args{"Interval": known})
		}
		sentence += b.Say("scales.efficiency", text.Args{"Efficiency": number.Percent(c.Ratio / float64(one.Count(last)))})
		if share := number.OfPeak(analysis.Percent(last)); !one.Grows && share != number.Absent {
			sentence += b.Say("scales.ceiling", text.Args{"Share": share})
		}
		sentence += b.Say("stop")
	}
	if best, ok := v.BestSerial(one); ok && !one.Grows {
		sentence += b.Say("scales.serial", text.Args{
			"Ratio": number.Significant(float64(best.Median / last.Median)), "Variant": document.Literal(best.Variant),
		})
	}
	l, fitted := one.Fit(v)
	switch {
	case !fitted && ok && one.Axis == analysis.OverThreads && !analysis.InTurn(one.Rows...):
		sentence += b.Say("scales.apart")
	case !fitted:
	case l.Serial > 1:
		sentence += b.Say("scales.slower", text.Args{"Workers": b.Say("all." + one.Axis.Param)})
	case len(l.Residual) < 2:
		sentence += b.Say(kind+".point", text.Args{"Fraction": number.Significant(l.Serial)})
	case one.Axis != analysis.OverThreads:
		sentence += b.Say(kind+".law",
			text.Args{"Fraction": number.Significant(l.Serial), "Residual": number.Percent(l.Largest)})
	default:
		sentence += b.Say(kind+".law", text.Args{
			"Fraction": number.Significant(l.Serial), "Scatter": number.Extent(l.Lo, l.Hi, number.Significant),
			"Residual": number.Percent(l.Largest),
		})
	}
	switch {
	case !fitted:
	case l.Serial < 0 && c.Lo > float64(one.Count(last)):
		sentence += b.Say("scales.super", text.Args{"Workers": b.Say("all." + one.Axis.Param)})
	case l.Serial < 0 || !one.Grows && len(l.Residual) < 2 && analysis.KarpFlatt(c.Hi, one.Count(last)) <= 0:
		sentence += b.Say("scales.none")
	}
	if fitted && l.Serial <= 1 && l.Largest > 0.1 {
		sentence += b.Say("scales.unfit")
	}
	if most := one.Most(); v.Crowds(most) {
		sentence += b.Say("scales.crowded", text.Args{
			"Workers": b.Count(one.Axis.Param, one.Count(most)), "Processors": fmt.Sprintf("%.4g", v.Granted()),
			"Ratio": number.Significant(float64(most.Median / last.Median)),
		})
		if analysis.InTurn(one.Rows...) {
			sentence += b.Say("scales.beyond")
		}
		sentence += b.Say("stop")
	}
	return sentence
}

// scalingTable has all rows of all series of a type.
func (b *builder) scalingTable(v *analysis.View, a analysis.Axis, sort, typ string, all []analysis.Series,
	command string) document.Table {
	kind := a.Prefix + sort
	heads := []string{"variant", "setting", "size", "#" + a.Param, "#median", "#interval", "#overserial",
		"#overone" + a.One, "#efficiency"}
	if sort == "strong" {
		heads = append(heads, "#ofceiling", "#fractionkf")
		if a != analysis.OverThreads {
			heads = append(heads, "#ofmodel")
		}
	}
	t := document.Table{
		ID: "table-" + kind + "-" + analysis.Anchor(typ) + v.Suffix, Caption: b.Say(kind+".caption", text.Args{"Type": typ}),
		Columns: b.Columns(heads...), Command: command,
	}
	for _, one := range all {
		for _, r := range one.Rows {
			cells := []document.Text{
				document.Literal(r.Variant), number.Settled(one.Setting(r)), document.Escape(analysis.ProblemOf(r).Label()),
				document.Text(fmt.Sprint(one.Count(r))),
				document.Text(b.Median(r)), document.Text(b.Ci(r)), b.overSerial(v, one, r),
			}
			c, ok := one.Speedup(r)
			if !ok {
				cells = append(cells, number.Absent, number.Absent)
			} else {
				cells = append(cells, number.Times(c.Ratio, c.Lo, c.Hi),
					document.Text(number.Percent(c.Ratio/float64(one.Count(r)))))
			}
			if sort == "strong" {
				fraction := document.Text(number.Absent)
				if p := one.Count(r); ok {
					// A greater speed-up is a smaller fraction.
					fraction = number.Times(analysis.KarpFlatt(c.Ratio, p), analysis.KarpFlatt(c.Hi, p), analysis.KarpFlatt(c.Lo, p))
				}
				cells = append(cells, document.Text(number.Percent(analysis.Percent(r)/100)+number.Dagger(analysis.Percent(r))), fraction)
				if a != analysis.OverThreads {
					cells = append(cells, document.Text(number.Percent(1/analysis.OverModel(r))))
				}
			}
			t.Rows = append(t.Rows, document.Row{Cells: cells})
		}
	}
	return t
}

// overSerial holds a row against the best serial one: times as fast, or where the
// work grows, times the work in the same time.
func (b *builder) overSerial(v *analysis.View, one analysis.Series, r compare.Record) document.Text {
	scale := 1.0
	if one.Grows {
		scale = float64(one.Count(r))
	}
	best, ok := v.BestSerial(one)
	if !ok {
		return number.Absent
	}
	c := analysis.Versus(best, r)
	return number.Times(scale*c.Ratio, scale*c.Lo, scale*c.Hi)
}

// laws is the table of the laws fitted to the series of a type with several points. If there is one
// point only, it has Karp and Flatt's fraction.
func (b *builder) laws(v *analysis.View, a analysis.Axis, sort, typ string, all []analysis.Series,
	command string) document.Table {
	kind := a.Prefix + sort
	heads := []string{"variant", "setting", "size", "#points", "#fraction1"}
	if a == analysis.OverThreads {
		heads = append(heads, "#scatter")
	}
	heads = append(heads, "residuals"+a.One, "#largest")
	if sort == "strong" {
		heads = append(heads, "#atmost")
	}
	t := document.Table{
		ID:      "table-" + kind + "-law-" + analysis.Anchor(typ) + v.Suffix,
		Caption: b.Say(kind+".laws", text.Args{"Type": typ}), Command: command, Columns: b.Columns(heads...),
	}
	for _, one := range all {
		l, ok := one.Fit(v)
		if !ok || len(l.Residual) < 2 {
			continue
		}
		var residuals []document.Text
		for _, r := range l.Residual {
			residuals = append(residuals, document.Text(number.Signed(100*r)))
		}
		cells := []document.Text{
			document.Literal(one.Variant), number.Settled(one.Set), document.Escape(one.Problem.Label()),
			document.Text(fmt.Sprint(len(l.Residual))),
			document.Text(number.Significant(l.Serial)),
		}
		if a == analysis.OverThreads {
			cells = append(cells, document.Text(number.Extent(l.Lo, l.Hi, number.Significant)))
		}
		cells = append(cells, document.Join(residuals, ", ")+" %", document.Text(number.Percent(l.Largest)))
		if sort == "strong" {
			limit := document.Text(number.Absent)
			if l.Serial > 0 && l.Serial < 1 {
				limit = document.Text(number.Significant(1 / l.Serial))
			}
			cells = append(cells, limit)
		}
		t.Rows = append(t.Rows, document.Row{Cells: cells})
	}
	return t
}
