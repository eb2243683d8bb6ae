package report

import (
	"fmt"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// strong says what more threads or ranks bring for a problem of a fixed size.
func (b *builder) strong(a axis) func(*view) (document.Section, bool) {
	return func(v *view) (document.Section, bool) { return b.scaling(v, a, "strong", (*view).strongSeries) }
}

// weak says what they bring where every one of them has the same work.
func (b *builder) weak(a axis) func(*view) (document.Section, bool) {
	return func(v *view) (document.Section, bool) { return b.scaling(v, a, "weak", (*view).weakSeries) }
}

// weakSeries returns the series of one type whose m grows along the axis.
func (v *view) weakSeries(a axis, typ string) []series {
	return v.seriesOf(a, v.along(a, typ, "weak"), true)
}

// scalingFigures are those of each kind of scaling, without their types.
var scalingFigures = map[string][]string{
	"strong":     {"strong-speedup", "strong-serial", "strong-efficiency", "strong-ceiling", "strong-fraction", "strong-time"},
	"weak":       {"weak-speedup", "weak-time"},
	"mpi-strong": {"mpi-strong-speedup", "mpi-strong-efficiency", "mpi-strong-ceiling"},
	"mpi-weak":   {"mpi-weak-speedup", "mpi-weak-time"},
}

// scaling is the chapter's section on one kind of scaling: for each type a sentence a
// variant, figures, a table of all rows and one of the laws that they follow.
func (b *builder) scaling(v *view, a axis, sort string, of func(*view, axis, string) []series) (document.Section, bool) {
	kind := a.prefix + sort
	s := b.of(v, kind, kind+".title")
	s.Text(b.Say(kind + ".intro"))
	found := false
	for _, typ := range v.typesOf(a) {
		all := of(v, a, typ)
		if len(all) == 0 {
			continue
		}
		found = true
		var used []compare.Record
		for _, one := range all {
			used = append(used, one.rows...)
		}
		command := b.rerun(v, used)
		size := mainSize(all)
		var items []document.Text
		for _, lead := range v.leading(all, size) {
			items = append(items, b.scales(v, kind, lead))
		}
		s.Text(b.Say(kind+".of", text.Args{"Type": typ, "Size": b.sizes([]problem{size})}))
		s.List(items)
		for _, figure := range scalingFigures[kind] {
			b.figure(&s, v, figure+"-"+typ, "fig."+figure, command, text.Args{"Type": typ})
		}
		s.Add(b.scalingTable(v, a, sort, typ, all, command))
		if laws := b.laws(v, a, sort, typ, all, command); len(laws.Rows) > 0 {
			s.Add(laws)
		}
	}
	return s, found
}

// scales says of one series how it scales and what law it follows.
func (b *builder) scales(v *view, kind string, one series) document.Text {
	sentence := b.Say("scales.name", text.Args{"Subject": one.name()})
	last := one.full(v)
	c, ok := one.speedup(last)
	if !ok {
		sentence += b.Say("scales.time", text.Args{
			"Time": seconds(float64(last.Median)), "Workers": b.Count(one.axis.param, one.count(last)),
		})
		if _, ok := one.one(); !ok {
			sentence += b.Say("scales.alone", text.Args{"Worker": b.Say("one." + one.axis.param)})
		}
	} else {
		sentence += b.Say(kind+".speedup", text.Args{
			"Workers": b.Count(one.axis.param, one.count(last)), "Ratio": significant(c.Ratio),
		})
		if known := extent(c.Lo, c.Hi, significant); known != absent {
			sentence += b.Say("interval", text.Args{"Interval": known})
		}
		sentence += b.Say("scales.efficiency", text.Args{"Efficiency": percent(c.Ratio / float64(one.count(last)))})
		if !one.grows && last.PercentPeak.Known() {
			sentence += b.Say("scales.ceiling", text.Args{"Share": significant(float64(last.PercentPeak))})
		}
		sentence += b.Say("stop")
	}
	if best, ok := v.bestSerial(one); ok && !one.grows {
		sentence += b.Say("scales.serial", text.Args{
			"Ratio": significant(float64(best.Median / last.Median)), "Variant": document.Literal(best.Variant),
		})
	}
	l, fitted := one.fit(v)
	switch {
	case !fitted && ok && one.axis == overThreads && !inTurn(one.rows...):
		sentence += b.Say("scales.apart")
	case !fitted:
	case l.Serial > 1:
		sentence += b.Say("scales.slower", text.Args{"Workers": b.Say("all." + one.axis.param)})
	case len(l.Residual) < 2:
		sentence += b.Say(kind+".point", text.Args{"Fraction": significant(l.Serial)})
	case one.axis == overRanks:
		sentence += b.Say(kind+".law", text.Args{"Fraction": significant(l.Serial), "Residual": percent(l.Largest)})
	default:
		sentence += b.Say(kind+".law", text.Args{
			"Fraction": significant(l.Serial), "Scatter": extent(l.Lo, l.Hi, significant),
			"Residual": percent(l.Largest),
		})
	}
	switch {
	case !fitted:
	case l.Serial < 0 && c.Lo > float64(one.count(last)):
		sentence += b.Say("scales.super", text.Args{"Workers": b.Say("all." + one.axis.param)})
	case l.Serial < 0:
		sentence += b.Say("scales.none")
	}
	if fitted && l.Serial <= 1 && l.Largest > 0.1 {
		sentence += b.Say("scales.unfit")
	}
	if most := one.most(); v.crowded(most.Threads) {
		sentence += b.Say("scales.crowded", text.Args{
			"Workers": b.Count(one.axis.param, one.count(most)), "Processors": fmt.Sprintf("%.4g", v.granted()),
			"Ratio": significant(float64(most.Median / last.Median)),
		})
		if inTurn(one.rows...) {
			sentence += b.Say("scales.beyond")
		}
		sentence += b.Say("stop")
	}
	return sentence
}

// scalingTable has all rows of all series of a type.
func (b *builder) scalingTable(v *view, a axis, sort, typ string, all []series, command string) document.Table {
	kind := a.prefix + sort
	heads := []string{"variant", "setting", "size", "#" + a.param, "#median", "#interval", "#overserial", "#overone" + a.one, "#efficiency"}
	if sort == "strong" {
		heads = append(heads, "#ofceiling", "#fractionkf")
	}
	t := document.Table{
		ID: "table-" + kind + "-" + anchor(typ) + v.suffix, Caption: b.Say(kind+".caption", text.Args{"Type": typ}),
		Columns: b.columns(heads...), Command: command,
	}
	for _, one := range all {
		for _, r := range one.rows {
			cells := []document.Text{
				document.Literal(r.Variant), settled(one.setting(r)), document.Escape(problemOf(r).label()), document.Text(fmt.Sprint(one.count(r))),
				document.Text(b.median(r)), document.Text(b.ci(r)), b.overSerial(v, one, r),
			}
			c, ok := one.speedup(r)
			if !ok {
				cells = append(cells, absent, absent)
			} else {
				cells = append(cells, times(c.Ratio, c.Lo, c.Hi), document.Text(percent(c.Ratio/float64(one.count(r)))))
			}
			if sort == "strong" {
				fraction := document.Text(absent)
				if p := one.count(r); ok {
					// A greater speed-up is a smaller fraction.
					fraction = times(karpFlatt(c.Ratio, p), karpFlatt(c.Hi, p), karpFlatt(c.Lo, p))
				}
				cells = append(cells, document.Text(percent(share(r))), fraction)
			}
			t.Rows = append(t.Rows, document.Row{Cells: cells})
		}
	}
	return t
}

// overSerial holds a row against the best serial one: times as fast, or where the
// work grows, times the work in the same time.
func (b *builder) overSerial(v *view, one series, r compare.Record) document.Text {
	scale := 1.0
	if one.grows {
		scale = float64(one.count(r))
	}
	best, ok := v.bestSerial(one)
	if !ok {
		return absent
	}
	c := beside(best, r)
	return times(scale*c.Ratio, scale*c.Lo, scale*c.Hi)
}

// laws is the table of the laws fitted to the series of a type that have several points
// to fit them to; what one point says is Karp and Flatt's fraction.
func (b *builder) laws(v *view, a axis, sort, typ string, all []series, command string) document.Table {
	kind := a.prefix + sort
	heads := []string{"variant", "setting", "size", "#points", "#fraction1"}
	if a == overThreads {
		heads = append(heads, "#scatter")
	}
	heads = append(heads, "residuals"+a.one, "#largest")
	if sort == "strong" {
		heads = append(heads, "#atmost")
	}
	t := document.Table{
		ID:      "table-" + kind + "-law-" + anchor(typ) + v.suffix,
		Caption: b.Say(kind+".laws", text.Args{"Type": typ}), Command: command, Columns: b.columns(heads...),
	}
	for _, one := range all {
		l, ok := one.fit(v)
		if !ok || len(l.Residual) < 2 {
			continue
		}
		var residuals []document.Text
		for _, r := range l.Residual {
			residuals = append(residuals, document.Text(signed(100*r)))
		}
		cells := []document.Text{
			document.Literal(one.variant), settled(one.set), document.Escape(one.problem.label()), document.Text(fmt.Sprint(len(l.Residual))),
			document.Text(significant(l.Serial)),
		}
		if a == overThreads {
			cells = append(cells, document.Text(extent(l.Lo, l.Hi, significant)))
		}
		cells = append(cells, document.Join(residuals, ", ")+" %", document.Text(percent(l.Largest)))
		if sort == "strong" {
			limit := document.Text(absent)
			if l.Serial > 0 && l.Serial < 1 {
				limit = document.Text(significant(1 / l.Serial))
			}
			cells = append(cells, limit)
		}
		t.Rows = append(t.Rows, document.Row{Cells: cells})
	}
	return t
}
