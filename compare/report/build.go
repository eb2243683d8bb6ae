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
	"gemm/compare/report/document"
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
	for _, d := range Drawings(doc, opt.Lang) {
		drawings[d.ID] = true
	}
	return build(doc, opt, drawings).report()
}

// builder builds one report.
type builder struct {
	*text.Speaker
	program  string
	doc      compare.Document
	views    []*view
	drawings map[string]bool // the figures that there are, by ID
}

func build(doc compare.Document, opt Options, drawings map[string]bool) *builder {
	return &builder{
		Speaker:  text.In(cmp.Or(opt.Lang, "en")),
		program:  cmp.Or(opt.Command, "gemm"),
		doc:      doc,
		views:    views(doc),
		drawings: drawings,
	}
}

func (b *builder) report() document.Report {
	r := document.Report{Lang: b.Lang(), Title: b.Plain("title"), Subtitle: b.subtitle(), Words: b.words()}
	r.Add(b.summary())
	for _, part := range []struct {
		id      string
		content func(*view) []document.Section
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
func (b *builder) of(v *view, id, key string, args ...text.Args) document.Section {
	title := b.Plain(key, args...)
	if v.suffix != "" {
		title += b.Plain("onhost", text.Args{"Host": b.hostName(v)})
	}
	return document.Section{ID: id + v.suffix, Title: title, Level: 2}
}

// hostName names a host in prose.
func (b *builder) hostName(v *view) string {
	if v.CPU == "" {
		return v.ID
	}
	return v.CPU + " (" + v.ID + ")"
}

// figure adds the figure of the given ID if there is a drawing for it.
func (b *builder) figure(s *document.Section, v *view, id, key, command string, args ...text.Args) {
	id += v.suffix
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
func (b *builder) rerun(v *view, rows []compare.Record) string {
	if len(rows) == 0 {
		return ""
	}
	if !slices.ContainsFunc(rows, func(r compare.Record) bool {
		return !slices.Contains(experiments, r.Experiment) && family(r.Variant) != overRanks.family
	}) {
		return b.rerunShared(v, rows)
	}
	families := distinct(rows, func(r compare.Record) string { return family(r.Variant) })
	if !slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Experiment != "tuned" }) {
		args := append([]string{b.program, "tune", "--families", strings.Join(families, ",")}, v.asked(rows, "time")...)
		return strings.Join(append(args, "--records", "tuned.json", "&&", b.program, "report", "--in", "tuned.json", "--out", "again"), " ")
	}
	typ := strings.Join(types(rows), ",")
	own := len(families) == 1 && families[0] != "reference" &&
		!slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Experiment != "ladder" })

	args := []string{b.program}
	if own {
		args = append(args, families[0])
	} else {
		args = append(args, "compare")
		args = append(args, v.asked(rows, "profile")...)
		args = append(args, "--families", strings.Join(families, ","))
	}
	if own || len(v.asked(rows, "variants")) > 0 {
		args = append(args, "--variants", strings.Join(distinct(rows, variantOf), ","))
	}
	args = append(args, "--sizes", sizesOf(problems(rows)), "--type", typ)
	if own {
		args = append(args, b.parameters(rows)...)
		args = append(args, v.asked(rows, "reps", "time", "timeout", "seed")...)
		name := families[0] + "-" + typ + ".json"
		return strings.Join(append(args, "--json", name, "&&", b.program, "report", "--in", name, "--out", "again"), " ")
	}
	return strings.Join(append(args, "--out", "again"), " ")
}

// rerunShared returns the command that measures experiments on threads or ranks again.
// The serial rows among them come by themselves. With flags, those are given too.
func (b *builder) rerunShared(v *view, rows []compare.Record, flags ...string) string {
	a := overThreads
	if slices.ContainsFunc(rows, func(r compare.Record) bool { return family(r.Variant) == overRanks.family }) {
		a = overRanks
	}
	var own []compare.Record
	for _, r := range rows {
		if family(r.Variant) == a.family {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		own = rows
	}
	shapes := problems(own)
	if slices.ContainsFunc(own, func(r compare.Record) bool { return r.Experiment == "weak" }) {
		flags = append(flags, "--weak")
		shapes = nil
		for _, r := range own {
			shapes = append(shapes, problemOf(r).ofOne(max(1, a.count(r))))
		}
		slices.SortFunc(shapes, problem.compare)
	}
	typ := strings.Join(types(own), ",")
	args := []string{b.program, a.family, "--variants", strings.Join(distinct(own, variantOf), ","), "--sizes", sizesOf(shapes), "--type", typ}
	args = append(args, b.parameters(own)...)
	args = append(args, flags...)
	args = append(args, v.asked(rows, "reps", "time", "timeout", "seed")...)
	name := a.family + "-" + typ + ".json"
	return strings.Join(append(args, "--json", name, "&&", b.program, "report", "--in", name, "--out", "again"), " ")
}

// sizesOf returns shapes as the flag takes them.
func sizesOf(ps []problem) string {
	var sizes []string
	for _, p := range ps {
		size := strings.ReplaceAll(compare.Record{M: p.m, N: p.n, K: p.k}.Shape(), "×", "x")
		if !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	return strings.Join(sizes, ",")
}

// asked returns those of the flags that the run which the first of rows comes
// from was given, with their values.
func (v *view) asked(rows []compare.Record, flags ...string) []string {
	i := slices.IndexFunc(v.runs, func(run compare.RunInfo) bool { return run.ID == rows[0].Run })
	if i < 0 {
		return nil
	}
	words := strings.Fields(v.runs[i].Command)
	var out []string
	for _, flag := range flags {
		for j, word := range words {
			if value, joined := strings.CutPrefix(word, "--"+flag+"="); joined {
				out = append(out, "--"+flag, value)
			} else if word == "--"+flag && j+1 < len(words) {
				out = append(out, word, words[j+1])
			}
		}
	}
	return out
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
