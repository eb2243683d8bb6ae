package chapters

import (
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
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
					items = append(items, b.advise(a))
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

// advise renders an item with its ID and what shows it.
func (b *Builder) advise(a Advice) document.Text {
	sentence := "**" + document.Text(a.ID) + "** " + b.Say("advice."+a.ID)
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

// row names a variant, with a link to the table of the first host that has its rows; rows of the ladder are
// preferred.
func (b *Builder) row(variant string) document.Text {
	target := ""
	for _, v := range b.Views {
		for _, r := range v.Records {
			switch {
			case r.Variant != variant:
			case r.Experiment == compare.MainLadder:
				return document.Link(document.Literal(variant),
					"#"+resultsID(compare.MainLadder, analysis.Family(variant), r.Type)+v.Suffix)
			case target == "" && slices.Contains(analysis.Experiments, r.Experiment):
				target = "#" + resultsID(r.Experiment, analysis.AxisOf(variant).Family, r.Type) + v.Suffix
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
		s.Text(b.Say("backend.idle"))
		var items []document.Text
		for _, variant := range variants {
			for _, r := range rows {
				if r.Variant == variant {
					items = append(items, b.Say("backend.reason", text.Args{
						"Variant": document.Literal(variant), "Reason": r.Reason,
					}))
					break
				}
			}
		}
		s.List(items)
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
