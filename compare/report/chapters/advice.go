package chapters

import (
	"cmp"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Advice is one thing to know about a backend: what limits it, what helps, or what
// goes wrong.
type Advice struct {
	ID       string   // stable; cited as it is
	Family   string   // serial, parallel, mpi, cuda
	Source   string   // section of the course report of 2024 that has the item: 2.1.3 … 2.4.3 advice, 3.1 … 3.4 pitfalls
	Kind     string   // bottlenecks, advice, pitfalls
	Variants []string // whose rows show it
	Files    []string // that show it: paths from the root of the module
	// Steps are two steps of the ladder, of which the item says which one is larger in the records.
	Steps *[2][2]string
}

// Backends is a section for each family: its method, what became of it in this
// run, and the advice and pitfalls.
func (b *Builder) Backends() []document.Section {
	var sections []document.Section
	for _, fam := range []string{analysis.Serial, analysis.Parallel, analysis.OnRanks, analysis.OnGPU} {
		s := document.Section{ID: "backend-" + fam, Title: b.Plain("backend." + fam), Level: 2}
		s.Text(b.Say("method." + fam))
		b.fate(&s, fam)
		for _, kind := range []string{"bottlenecks", "advice", "pitfalls"} {
			var items []document.Text
			for _, a := range Items {
				if a.Family == fam && a.Kind == kind {
					items = append(items, b.Advise(a))
				}
			}
			if len(items) > 0 {
				s.Add(document.Paragraph{Text: "**" + b.Say("backend."+kind) + "**"})
				s.List(items)
			}
		}
		sections = append(sections, s)
	}
	return sections
}

// Advise renders an item with its ID and what shows it.
func (b *Builder) Advise(a Advice) document.Text {
	sentence := "**" + document.Text(a.ID) + "** " + b.Say("advice."+a.ID)
	if a.Steps != nil {
		sentence += b.larger(*a.Steps)
	}
	var shown []document.Text
	for _, variant := range a.Variants {
		shown = append(shown, b.row(variant))
	}
	for _, file := range a.Files {
		shown = append(shown, document.Link(document.Literal(file), file))
	}
	if len(shown) > 0 {
		sentence += b.Say("backend.shown", text.Args{"Evidence": b.Join(shown)})
	}
	return sentence
}

// larger says which of two steps is larger, at the largest square case of the first host and type that
// has all four variants. It says nothing if there is none.
func (b *Builder) larger(steps [2][2]string) document.Text {
	for _, v := range b.Views {
		for _, typ := range analysis.Types(v.Records) {
			rows := analysis.Timed(v.Ladder(typ))
			problems := analysis.Problems(rows)
			for _, p := range slices.Backward(problems) {
				var gains [2]float64
				known := p.Cube()
				for i, step := range steps {
					before, ok1 := analysis.At(rows, step[0], p)
					after, ok2 := analysis.At(rows, step[1], p)
					known = known && ok1 && ok2
					gains[i] = float64(before.Median) / float64(after.Median)
				}
				if !known {
					continue
				}
				most := 0
				if gains[1] > gains[0] {
					most = 1
				}
				return b.Say("advice.larger", text.Args{
					"Size": b.Sizes([]analysis.Problem{p}), "Type": typ,
					"Most": stepName(steps[most]), "Gain": number.Significant(gains[most]),
					"Other": stepName(steps[1-most]), "Less": number.Significant(gains[1-most]),
				})
			}
		}
	}
	return ""
}

// row names a variant, with a link to the table of the first host that has its rows; rows of the ladder are
// preferred.
func (b *Builder) row(variant string) document.Text {
	target := ""
	for _, v := range b.Views {
		main := v.MainType()
		own := v.PickAll(func(r compare.Record) bool { return r.Variant == variant })
		slices.SortStableFunc(own, func(x, y compare.Record) int { // the main type first
			switch {
			case x.Type == main && y.Type != main:
				return -1
			case x.Type != main && y.Type == main:
				return 1
			}
			return 0
		})
		for _, r := range own {
			switch {
			case r.Experiment == compare.MainLadder:
				return document.Link(document.Literal(variant),
					b.Elsewhere+"#"+resultsID(compare.MainLadder, analysis.Family(variant), r.Type)+v.Suffix)
			case target == "" && slices.Contains(analysis.Experiments, r.Experiment):
				target = b.Elsewhere + "#" + resultsID(r.Experiment, analysis.AxisOf(variant).Family, r.Type) + v.Suffix
			}
		}
	}
	if target == "" {
		return document.Literal(variant)
	}
	return document.Link(document.Literal(variant), target)
}

// fate says what became of a family in this run: where its figures are, or why
// there are none and what to type.
func (b *Builder) fate(s *document.Section, fam string) {
	var rows []compare.Record
	for _, r := range b.Doc.Records {
		if analysis.Family(r.Variant) == fam {
			rows = append(rows, r)
		}
	}
	command := document.Literal(b.Program + " compare --families " + fam)
	if len(rows) == 0 {
		s.Text(b.Say("backend.absent", text.Args{"Command": command}))
		return
	}
	variants := analysis.Distinct(rows, analysis.VariantOf)
	s.Text(b.Say("backend.ran", text.Args{"Rows": b.Count("rows", len(rows)), "Variants": b.Names(variants)}))
	if len(analysis.Timed(rows)) == 0 {
		b.idle(s, rows)
		return
	}
	var places []document.Text
	for _, v := range b.Views {
		for _, typ := range analysis.Types(v.Pick(func(r compare.Record) bool {
			return analysis.Family(r.Variant) == fam && r.Experiment == compare.MainLadder
		})) {
			label := document.Text(typ)
			if v.Suffix != "" {
				label += b.Say("onhost", text.Args{"Host": v.ID})
			}
			places = append(places, document.Link(label, "#"+resultsID(compare.MainLadder, fam, typ)+v.Suffix))
		}
	}
	switch {
	case fam == analysis.OverThreads.Family && slices.ContainsFunc(b.Views, (*analysis.View).SharesWork):
		places = append(places, document.Link(b.Say("sharing.title"), "#sharing"))
	case fam == analysis.OverRanks.Family && slices.ContainsFunc(b.Views, (*analysis.View).Distributes):
		places = append(places, document.Link(b.Say("distributed.title"), "#distributed"))
	case fam == analysis.OnGPU && slices.ContainsFunc(b.Views, (*analysis.View).HasGPU):
		places = append(places, document.Link(b.Say("gpu.title"), "#gpu"))
	}
	if len(places) > 0 {
		s.Text(b.Say("backend.where", text.Args{"Places": b.Join(places)}))
	}
}

// idle says why none of the rows of a family was timed: in a sentence if the reason is the same
// for all, otherwise in a list.
func (b *Builder) idle(s *document.Section, rows []compare.Record) {
	var items []document.Text
	reasons := analysis.Distinct(rows, func(r compare.Record) string { return r.Reason })
	for _, reason := range reasons {
		note := b.Note(cmp.Or(reason, number.Absent))
		if len(reasons) == 1 {
			s.Text(b.Say("backend.idle", text.Args{"Reason": note}))
			return
		}
		var variants []string
		for _, r := range rows {
			if r.Reason == reason && !slices.Contains(variants, r.Variant) {
				variants = append(variants, r.Variant)
			}
		}
		items = append(items, b.Say("backend.reason", text.Args{"Variants": b.Names(variants), "Reason": note}))
	}
	s.Text(b.Say("backend.reasons"))
	s.List(items)
}
