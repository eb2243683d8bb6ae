// Package report renders records. It measures nothing: every rendering is a pure
// function of a compare.Document, and the same records give the same bytes.
//
// Build turns records into a document, the words and tables of every format in
// reading order; Drawings turns them into figures; Write writes both in the formats
// that are wanted.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/text"
)

// Options choose how Build words a report.
type Options struct {
	Lang    string // en (default) or zh
	Command string // the program's name in commands to type; default gemm
}

// Build turns records into the words and tables of a report, in reading order:
// summary, host and method, results, analysis, sharing the work, distributed memory, the GPU, codes, peers, and a section
// for each backend. Every row of doc is in a table. Figures are placed where Drawings
// has one. The same records give the same report.
func Build(doc compare.Document, opt Options) document.Report {
	drawings := map[string]bool{}
	for _, d := range figures.Drawings(doc, opt.Lang) {
		drawings[d.ID] = true
	}
	return build(doc, opt, drawings).report()
}

// builder builds one report.
type builder struct {
	*text.Speaker
	program  string
	doc      compare.Document
	views    []*analysis.View
	drawings map[string]bool // the figures that there are, by ID
}

func build(doc compare.Document, opt Options, drawings map[string]bool) *builder {
	return &builder{
		Speaker:  text.In(cmp.Or(opt.Lang, "en")),
		program:  cmp.Or(opt.Command, "gemm"),
		doc:      doc,
		views:    analysis.Views(doc),
		drawings: drawings,
	}
}

func (b *builder) report() document.Report {
	r := document.Report{Lang: b.Lang(), Title: b.Plain("title"), Subtitle: b.subtitle(), Words: b.words()}
	r.Add(b.summary())
	for _, part := range []struct {
		id      string
		content func(*analysis.View) []document.Section
	}{
		{"method", b.host},
		{"results", b.results},
		{"analysis", b.analysis},
		{"sharing", b.sharing},
		{"distributed", b.distributed},
		{"gpu", b.gpu},
		{"codes", b.codes},
		{"peers", b.peers},
	} {
		chapter := b.section(part.id, 1)
		chapter.Text(b.Say(part.id + ".intro"))
		var sections []document.Section
		for _, v := range b.views {
			sections = append(sections, part.content(v)...)
		}
		if len(sections) > 0 {
			r.Add(chapter)
			r.Add(sections...)
		}
		if part.id == "method" && len(sections) > 0 {
			r.Add(b.measured())
		}
	}
	chapter := b.section("backends", 1)
	chapter.Text(b.Say("backends.intro"))
	r.Add(chapter)
	r.Add(b.backends()...)
	return r
}

// words returns the words that writers add.
func (b *builder) words() document.Words {
	return document.Words{
		Contents: b.Plain("words.contents"), Again: b.Plain("words.again"),
		Figure: b.Plain("words.figure"), Table: b.Plain("words.table"), Stop: b.Plain("words.stop"),
		Rows: func(n int) string { return string(b.Count("rows", n)) },
	}
}

// section returns an empty section with the title of its ID.
func (b *builder) section(id string, level int) document.Section {
	return document.Section{ID: id, Title: b.Plain(id + ".title"), Level: level}
}

// of returns an empty section of one host, titled by key, and by the host where
// there are several.
func (b *builder) of(v *analysis.View, id, key string, args ...text.Args) document.Section {
	title := b.Plain(key, args...)
	if v.Suffix != "" {
		title += b.Plain("onhost", text.Args{"Host": b.hostName(v)})
	}
	return document.Section{ID: id + v.Suffix, Title: title, Level: 2}
}

// hostName names a host in prose.
func (b *builder) hostName(v *analysis.View) string {
	if v.CPU == "" {
		return v.ID
	}
	return v.CPU + " (" + v.ID + ")"
}

// figure adds the figure of the given ID if there is a drawing for it.
func (b *builder) figure(s *document.Section, v *analysis.View, id, key, command string, args ...text.Args) {
	id += v.Suffix
	if b.drawings[id] {
		s.Add(document.Figure{ID: id, Caption: b.Say(key, args...), Alt: b.Plain(key+".alt", args...), Command: command})
	}
}

// columns returns the heads of columns by their messages; those with a # in front
// are numeric.
func (b *builder) columns(keys ...string) []document.Column {
	out := make([]document.Column, len(keys))
	for i, key := range keys {
		name, numeric := strings.CutPrefix(key, "#")
		out[i] = document.Column{Title: b.Plain("col." + name), Numeric: numeric}
	}
	return out
}

// subtitle names the hosts and the day of the last run.
func (b *builder) subtitle() string {
	if len(b.views) == 0 {
		return b.Plain("subtitle.empty")
	}
	var names []string
	for _, v := range b.views {
		names = append(names, cmp.Or(v.CPU, v.ID))
	}
	hosts := strings.Join(slices.Compact(names), ", ")
	var day string
	for _, r := range b.doc.Runs {
		day = max(day, r.Time.UTC().Format("2006-01-02"))
	}
	if day == "" {
		return hosts
	}
	return hosts + ", " + day
}

// rerun returns the command that measures rows again.
//
// A family's own command runs the ladder of one family, and the experiments on
// sharing work, and the tuner writes its own; everything else, several families, peers,
// child builds and sweeps, is planned by compare.
func (b *builder) rerun(v *analysis.View, rows []compare.Record) string {
	if len(rows) == 0 {
		return ""
	}
	if !slices.ContainsFunc(rows, func(r compare.Record) bool {
		return !slices.Contains(analysis.Experiments, r.Experiment) && analysis.Family(r.Variant) != analysis.OverRanks.Family
	}) {
		return b.rerunShared(v, rows)
	}
	families := analysis.Distinct(rows, func(r compare.Record) string { return analysis.Family(r.Variant) })
	if !slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Experiment != compare.TunedKernels }) {
		args := append([]string{b.program, "tune", "--families", strings.Join(families, ",")}, v.Asked(rows, "time")...)
		return strings.Join(append(args, "--records", "tuned.json", "&&", b.program, "report", "--in", "tuned.json", "--out", "again"), " ")
	}
	typ := strings.Join(analysis.Types(rows), ",")
	own := len(families) == 1 && families[0] != "reference" &&
		!slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Experiment != compare.MainLadder })

	args := []string{b.program}
	if own {
		args = append(args, families[0])
	} else {
		args = append(args, "compare")
		args = append(args, v.Asked(rows, "profile")...)
		args = append(args, "--families", strings.Join(families, ","))
	}
	if own || len(v.Asked(rows, "variants")) > 0 {
		args = append(args, "--variants", strings.Join(analysis.Distinct(rows, analysis.VariantOf), ","))
	}
	args = append(args, "--sizes", sizesOf(analysis.Problems(rows)), "--type", typ)
	if own {
		args = append(args, b.parameters(rows)...)
		args = append(args, v.Asked(rows, "reps", "time", "timeout", "seed")...)
		name := families[0] + "-" + typ + ".json"
		return strings.Join(append(args, "--json", name, "&&", b.program, "report", "--in", name, "--out", "again"), " ")
	}
	return strings.Join(append(args, "--out", "again"), " ")
}

// rerunShared returns the command that measures experiments on threads or ranks again.
// The serial rows among them come by themselves. With flags, those are given too.
func (b *builder) rerunShared(v *analysis.View, rows []compare.Record, flags ...string) string {
	a := analysis.OverThreads
	if slices.ContainsFunc(rows, func(r compare.Record) bool { return analysis.Family(r.Variant) == analysis.OverRanks.Family }) {
		a = analysis.OverRanks
	}
	var own []compare.Record
	for _, r := range rows {
		if analysis.Family(r.Variant) == a.Family {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		own = rows
	}
	shapes := analysis.Problems(own)
	if slices.ContainsFunc(own, func(r compare.Record) bool { return r.Experiment == compare.WeakScaling }) {
		flags = append(flags, "--weak")
		shapes = nil
		for _, r := range own {
			shapes = append(shapes, analysis.ProblemOf(r).OfOne(max(1, a.Count(r))))
		}
		slices.SortFunc(shapes, analysis.Problem.Compare)
	}
	typ := strings.Join(analysis.Types(own), ",")
	args := []string{b.program, a.Family, "--variants", strings.Join(analysis.Distinct(own, analysis.VariantOf), ","), "--sizes", sizesOf(shapes), "--type", typ}
	args = append(args, b.parameters(own)...)
	args = append(args, flags...)
	args = append(args, v.Asked(rows, "reps", "time", "timeout", "seed")...)
	name := a.Family + "-" + typ + ".json"
	return strings.Join(append(args, "--json", name, "&&", b.program, "report", "--in", name, "--out", "again"), " ")
}

// sizesOf returns shapes as the flag takes them.
func sizesOf(ps []analysis.Problem) string {
	var sizes []string
	for _, p := range ps {
		size := p.Shape.String()
		if !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	return strings.Join(sizes, ",")
}

// parameters returns the flags for the operation and the parameters of rows, but
// for those that all have at the default.
func (b *builder) parameters(rows []compare.Record) []string {
	values := map[string][]string{}
	note := func(flag, value string) {
		if !slices.Contains(values[flag], value) {
			values[flag] = append(values[flag], value)
		}
	}
	for _, r := range rows {
		note("trans", cmp.Or(r.Op, "nn"))
		note("alpha", fmt.Sprint(r.Alpha))
		note("beta", fmt.Sprint(r.Beta))
		note("ld", fmt.Sprint(max(r.LDC-r.N, 0)))
		for name, value := range r.Params {
			if name == "ranks" {
				name = "np"
			}
			note(name, fmt.Sprint(value))
		}
	}
	for flag, value := range map[string]string{"trans": "nn", "alpha": "1", "beta": "0", "ld": "0"} {
		if slices.Equal(values[flag], []string{value}) {
			delete(values, flag) // the default
		}
	}
	var args []string
	for _, flag := range slices.Sorted(maps.Keys(values)) {
		slices.SortFunc(values[flag], byNumber)
		args = append(args, "--"+flag, strings.Join(values[flag], ","))
	}
	return args
}

// byNumber orders numbers by their size and before other texts.
func byNumber(a, b string) int {
	x, err := strconv.ParseFloat(a, 64)
	y, too := strconv.ParseFloat(b, 64)
	switch {
	case err == nil && too == nil:
		return cmp.Compare(x, y)
	case err == nil:
		return -1
	case too == nil:
		return 1
	}
	return strings.Compare(a, b)
}
