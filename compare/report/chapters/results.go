package chapters

import (
	"fmt"
	"maps"
	"slices"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Results is one section for each experiment, family and type of a host, with all its rows in a
// table. Rows that were unavailable for the same reason take a sentence. The serial rows of experiments are with the rows that they are compared with. The sweeps
// of cut-offs and the builds with other compiler options have their tables in the analysis.
func (b *Builder) Results(v *analysis.View) []document.Section {
	type group struct {
		experiment  compare.Experiment
		family, typ string
	}
	guests := map[compare.Experiment]string{}
	for _, experiment := range analysis.Experiments {
		guests[experiment] = v.Guest(experiment)
	}
	home := func(r compare.Record) string {
		fam := analysis.Home(r)
		if guest, ok := guests[r.Experiment]; ok && fam != analysis.OverRanks.Family {
			return guest
		}
		return fam
	}
	rows := v.PickAll(func(r compare.Record) bool {
		return r.Experiment != compare.CutoffSweep && r.Experiment != compare.CompilerOptions
	})
	var sections []document.Section
	for _, experiment := range analysis.Distinct(rows, func(r compare.Record) compare.Experiment { return r.Experiment }) {
		for _, fam := range analysis.Distinct(rows, home) {
			for _, typ := range analysis.Types(rows) {
				part := v.PickAll(func(r compare.Record) bool {
					return group{r.Experiment, home(r), r.Type} == group{experiment, fam, typ}
				})
				if len(part) > 0 {
					sections = append(sections, b.resultsOf(v, experiment, fam, typ, part))
				}
			}
		}
	}
	return sections
}

// resultsID is the anchor of a section of results.
func resultsID(experiment compare.Experiment, fam, typ string) string {
	id := "results-"
	if experiment != compare.MainLadder {
		id += analysis.Anchor(string(experiment)) + "-"
	}
	return id + analysis.Anchor(fam) + "-" + analysis.Anchor(typ)
}

func (b *Builder) resultsOf(v *analysis.View, experiment compare.Experiment, fam, typ string,
	rows []compare.Record) document.Section {
	id := resultsID(experiment, fam, typ)
	key, args := "results.of", text.Args{"Family": fam, "Type": typ}
	if experiment != compare.MainLadder {
		key, args["Experiment"] = "results.experiment", string(experiment)
	}
	s := b.Of(v, id, key, args)
	command := b.Rerun(v, rows)
	if experiment == compare.MainLadder {
		b.Figure(&s, v, "gflops-"+fam+"-"+typ, "fig.gflops", command, text.Args{"Family": fam, "Type": typ})
		if typ == "gf256" && fam == analysis.Serial {
			b.Figure(&s, v, "rate-gf256", "fig.rate", command)
		}
	}
	if rows = b.WithoutUnavailable(&s, rows); len(rows) == 0 {
		return s
	}
	table, notes := b.rows(v, rows)
	table.ID, table.Command = "table-"+id+v.Suffix, command
	table.Caption = b.Say("results.caption", text.Args{"Family": fam, "Type": typ})
	if experiment != compare.MainLadder {
		table.Caption = b.Say("results.caption.experiment", text.Args{
			"Family": fam, "Type": typ, "Experiment": string(experiment),
		})
	}
	if everywhere := analysis.Constants(rows, "threads"); analysis.Listed(rows) && len(everywhere) > 0 {
		table.Caption += b.Say("results.constants", text.Args{"Parameters": analysis.Setting(everywhere)})
	}
	s.Add(table)
	if len(notes) > 0 {
		s.Text(b.Say("results.notes"))
		s.Add(document.List{Ordered: true, Items: notes})
	}
	if slices.ContainsFunc(rows,
		func(r compare.Record) bool { return analysis.Fewer(r.Variant) && r.Speed() }) && typ != "gf256" {
		s.Text(b.Say("results.fast"))
	}
	return s
}

// WithoutUnavailable returns the rows that belong in a table. For the others, which were unavailable
// for the same reason as another row, it adds a sentence.
func (b *Builder) WithoutUnavailable(s *document.Section, rows []compare.Record) []compare.Record {
	others, groups := analysis.Unavailable(rows)
	for _, group := range groups {
		sizes := analysis.Distinct(group, func(r compare.Record) analysis.Problem {
			p := analysis.ProblemOf(r)
			p.Threads = 1
			return p
		})
		slices.SortStableFunc(sizes, analysis.Problem.Compare)
		s.Text(b.Say("results.unavailable", text.Args{
			"Rows": b.Count("rows", len(group)), "Variants": b.Names(analysis.Distinct(group, analysis.VariantOf)),
			"Sizes": b.Sizes(sizes), "Reason": b.Note(group[0].Reason),
		}))
	}
	return others
}

// rows is the table of all rows, and the notes that their states refer to.
func (b *Builder) rows(v *analysis.View, rows []compare.Record) (document.Table, []document.Text) {
	field := rows[0].Type == "gf256"
	threads := slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Threads > 1 })
	ladder := rows[0].Experiment == compare.MainLadder
	var columns []string
	if analysis.Listed(rows) {
		columns = sweptParams(rows)
	}
	heads := []string{"size", "variant"}
	if threads {
		heads = append(heads, "#threads")
	}
	heads = append(heads, "state", "#median", "#interval")
	if field {
		heads = append(heads, "#gmuls", "#datagbps")
	} else {
		heads = append(heads, "#gflops")
	}
	gpu := analysis.ByGPU(rows[0])
	if gpu { // its medians are without copies, so that none is held against a processor's here
		heads = append(heads, "#peak", "#h2d", "#d2h", "#overlapped")
	} else {
		heads = append(heads, "#peak", "#naive", "#bestserial")
	}
	norms := norms(rows)
	for _, norm := range norms {
		heads = append(heads, "#residual."+string(norm))
	}
	t := document.Table{Columns: slices.Insert(b.Columns(heads...), 2, b.Named(columns)...)}

	all := v.Ladder(rows[0].Type)
	if !ladder {
		all = slices.Concat(rows, all)
	}
	var notes []document.Text
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted,
		func(x, y compare.Record) int { return analysis.ProblemOf(x).Compare(analysis.ProblemOf(y)) })
	for _, r := range sorted {
		p := analysis.ProblemOf(r)
		row := document.Row{Cells: []document.Text{document.Escape(p.Label()), b.Name(r)}}
		if analysis.Listed(rows) {
			row.Cells[1] = document.Literal(r.Variant)
		}
		for _, name := range columns {
			row.Cells = append(row.Cells, b.param(r, name))
		}
		if threads {
			row.Cells = append(row.Cells, document.Text(fmt.Sprint(r.Threads)))
		}
		var state document.Text
		state, notes = b.State(r, notes)
		rate, _ := analysis.Speed(r)
		row.Cells = append(row.Cells, state, document.Text(b.Median(r)), document.Text(b.Ci(r)),
			document.Text(number.Significant(float64(rate))))
		if field {
			row.Cells = append(row.Cells, document.Text(number.Significant(analysis.Known(r, r.DataGBps))))
		}
		row.Cells = append(row.Cells, PeakCell(r, analysis.Percent(r)))
		if gpu {
			row.Cells = append(row.Cells, PhaseOf(r, "h2d"), PhaseOf(r, "d2h"), PhaseOf(r, "host"))
		} else {
			row.Cells = append(row.Cells, document.Text(number.Significant(b.over(all, r, analysis.Baseline))),
				document.Text(number.Significant(b.overBest(all, r))))
		}
		for _, norm := range norms {
			row.Cells = append(row.Cells, residual(r, norm))
		}
		best, found := analysis.Quickest(rows, p, analysis.RanItself)
		switch {
		case r.Status == compare.Wrong, r.Status == compare.Suspect:
			row.Class = "wrong"
		case !r.Speed():
			row.Class = "muted"
		case found && best.Median == r.Median:
			row.Class = "best"
		}
		t.Rows = append(t.Rows, row)
	}
	return t, notes
}

// norms returns the norms that the residuals of rows are in, each of which has a column of its own.
func norms(rows []compare.Record) []gemm.BoundKind {
	var out []gemm.BoundKind
	for _, norm := range []gemm.BoundKind{gemm.Componentwise, gemm.Normwise, gemm.Euclidean,
		gemm.Exact} {
		if slices.ContainsFunc(rows, func(r compare.Record) bool { return r.BoundKind == norm }) {
			out = append(out, norm)
		}
	}
	return out
}

// residual returns the residual of a row and its bound as a cell, absent if they are in another norm.
func residual(r compare.Record, norm gemm.BoundKind) document.Text {
	if r.BoundKind != norm || !r.Residual.Known() && !r.Bound.Known() {
		return number.Absent
	}
	return document.Text(number.Significant(float64(r.Residual)) + " / " + number.Significant(float64(r.Bound)))
}

// Named returns the heads of the columns of parameters: the names of their flags.
func (b *Builder) Named(params []string) []document.Column {
	out := make([]document.Column, len(params))
	for i, name := range params {
		out[i] = document.Column{Title: name}
		if name == "placement" {
			out[i].Title = b.Plain("col.placement")
		}
	}
	return out
}

// sweptParams returns the parameters that have a column, by name: those other than the threads that
// not all rows share, and the placement of workers if they were pinned.
func sweptParams(rows []compare.Record) []string {
	shared := analysis.Constants(rows, "threads")
	seen := map[string]bool{}
	for _, r := range rows {
		for name := range analysis.Omit(r.Params, "threads") {
			if _, same := shared[name]; !same {
				seen[name] = true
			}
		}
		if Placement(r) != number.Absent {
			seen["placement"] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// param returns the cell of a requested parameter. If another schedule ran, the cell has both.
func (b *Builder) param(r compare.Record, name string) document.Text {
	switch value, ok := r.Params[name]; {
	case name == "placement":
		return Placement(r)
	case !ok:
		return number.Absent
	case name == "schedule":
		return number.Settled(analysis.SettingOf(compare.Record{Params: gemm.Params{name: value}, Resolved: r.Resolved}))
	default:
		return b.ValueOf(r, name)
	}
}

// State returns the word for the outcome of a row. If the row has a reason, warnings or a throttled
// clock, it has the number of a note; equal notes have one number.
func (b *Builder) State(r compare.Record, notes []document.Text) (document.Text, []document.Text) {
	sentence := b.Status(r.Status)
	var remarks []document.Text
	if r.Reason != "" {
		remarks = append(remarks, b.Note(r.Reason))
	}
	if r.GPU != nil && r.GPU.Throttled != "" {
		remarks = append(remarks, b.Note("the GPU's clock was held back: "+r.GPU.Throttled))
	}
	if !analysis.RanItself(r) && r.Speed() && r.Experiment != compare.CutoffSweep { // its table says so
		remarks = append(remarks, b.Say("remark.ran", text.Args{"Variant": document.Literal(analysis.Ran(r))}))
	}
	for _, warning := range r.Cautions() {
		if note := b.Note(warning); !slices.Contains(remarks, note) {
			remarks = append(remarks, note)
		}
	}
	for _, note := range remarks {
		i := slices.Index(notes, note)
		if i < 0 {
			i = len(notes)
			notes = append(notes, note)
		}
		sentence += document.Text(fmt.Sprintf(" (%d)", i+1))
	}
	return sentence, notes
}

// Median returns the median of a row that has a speed.
func (b *Builder) Median(r compare.Record) string { return number.Seconds(analysis.Known(r, r.Median)) }

// Ci returns the 95 % interval of a row's median.
func (b *Builder) Ci(r compare.Record) string {
	if !r.Speed() || r.CI == nil {
		return number.Absent
	}
	return number.Extent(r.CI[0], r.CI[1], number.Seconds)
}

// over returns how many times faster r is than a variant on the same case, on
// one thread; NaN if either was not timed.
func (b *Builder) over(rows []compare.Record, r compare.Record, variant string) float64 {
	p := analysis.ProblemOf(r)
	p.Threads = 1
	other, ok := analysis.At(rows, variant, p)
	if !ok || !other.Speed() {
		return float64(compare.None())
	}
	return analysis.Known(r, other.Median) / float64(r.Median)
}

// overBest returns how many times faster r is than the fastest serial variant on
// the same case.
func (b *Builder) overBest(rows []compare.Record, r compare.Record) float64 {
	p := analysis.ProblemOf(r)
	p.Threads = 1
	best, ok := analysis.Quickest(rows, p,
		func(o compare.Record) bool {
			return analysis.Family(o.Variant) == analysis.Serial && analysis.RanItself(o)
		})
	if !ok {
		return float64(compare.None())
	}
	return analysis.Known(r, best.Median) / float64(r.Median)
}
