package main

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/page"
)

// results are the records in results/ of a repository, by the names of their files.
type results struct {
	root   string
	loaded map[string]*committed
}

// committed is a file in results/, as templates see it.
type committed struct {
	Name string
	record.Document
}

func (in results) committed(name string) (*committed, error) {
	if r := in.loaded[name]; r != nil {
		return r, nil
	}
	doc, err := record.Load(filepath.Join(in.root, "results", name))
	if err != nil {
		return nil, err
	}
	in.loaded[name] = &committed{name, doc.Declared(catalog.Variants())}
	return in.loaded[name], nil
}

func (in results) part(d document) (*page.Page, error) {
	tables := page.Tables{}
	if err := tables.Read([]byte(text("tables.yaml"))); err != nil {
		return nil, err
	}
	course := decoded[coursework]("coursework.yaml")
	funcs := chapters.Funcs(d.lang)
	maps.Copy(funcs, map[string]any{
		"record":    in.committed,
		"records":   in.records,
		"headlines": func(brief bool) ([]cells, error) { return in.headlines(brief, d.lang) },
		"bench":     in.bench,
		"sources":   func() any { return course.Sources },
		"table":     func(name string, data any) (page.Text, error) { return tables.Table(name, d.lang, data, funcs) },
		"typed":     func(lines []string) string { return strings.Join(lines, "\n") },
		// Formats.
		"ratio":    ratio,
		"quotient": func(x, y any) float64 { return reflect.ValueOf(x).Float() / reflect.ValueOf(y).Float() },
		// 10¹² operations per second of the products of int8 by which a record has computed f64.
		"int8": func(r record.Record) float64 {
			return 2e-12 * float64(r.M) * float64(r.N) * float64(r.K) * float64(r.Resolved.Int("moduli")) / r.Phases["product"]
		},
		"ms":    func(x float64) string { return known(x, fmt.Sprintf("%.3f", x)) },
		"over":  func(x float64) string { return known(x, digits(x)) },
		"here":  func(e entry) page.Text { return course.here(e, d.lang) },
		"file":  func(name string) page.Text { return page.Link(name, "results/"+name) },
		"lines": func(lines []page.Text) page.Text { return page.Join(lines, "<br>") },
		"coded": func(lines []string) page.Text { return "`" + page.Text(strings.Join(lines, "`<br>`")) + "`" },
	})
	set := page.New(funcs)
	name := path.Base(d.template)
	if err := set.Add(name, text(d.template)); err != nil {
		return nil, err
	}
	filled, err := set.Fill(name, nil)
	return page.Parse(filled, d.lang, chapters.Words(d.lang)), err
}

// records returns all records. Each must be on a page.
func (in results) records() ([]*committed, error) {
	names, err := filepath.Glob(filepath.Join(in.root, "results", "*.json.gz"))
	var all []*committed
	for _, name := range names {
		r, err := in.committed(filepath.Base(name))
		if err != nil {
			return nil, err
		}
		if len(r.Documents()) == 0 {
			return nil, fmt.Errorf("results/%s: no page shows it; give it one in cmd/pages/texts, or remove it", r.Name)
		}
		all = append(all, r)
	}
	return all, err
}

// Documents links the documents that the record is in.
func (r *committed) Documents() []page.Text {
	own := analysis.Pick(documents(), func(d document) bool { return slices.Contains(d.records(), r.Name) })
	return analysis.Distinct(own, func(d document) page.Text {
		return page.Link(strings.TrimPrefix(d.file, "docs/"), d.file)
	})
}

// Next returns the rows with these variants and parameters of the shape and type of a row, nil where there is none.
func (r *committed) Next(one record.Record, labels ...string) []*record.Record {
	rows := make([]*record.Record, len(labels))
	for i := range r.Records {
		x := &r.Records[i]
		label := strings.TrimSpace(x.Variant + " " + x.Params.String())
		if at := slices.Index(labels, label); at >= 0 && x.Shape == one.Shape && x.Type == one.Type {
			rows[at] = x
		}
	}
	return rows
}

// Rows returns the number of rows.
func (r *committed) Rows() int { return len(r.Records) }

// Machines names the hosts with their GPUs.
func (r *committed) Machines() []page.Text {
	return analysis.Distinct(r.Hosts, func(h record.Host) page.Text {
		text := fmt.Sprintf("%s, %d processors", processor(h), h.Cores)
		if h.Cores == 1 {
			text = processor(h) + ", 1 processor"
		}
		return page.Escape(strings.Join(append([]string{text}, h.GPUs...), "; "))
	})
}

// Days returns the day of the first run and, if it is another, of the last.
func (r *committed) Days() string {
	days := analysis.Ascending(r.Runs, dayOf)
	return strings.Join(slices.Compact([]string{days[0], days[len(days)-1]}), " to ")
}

// Revisions returns the revisions of the program.
func (r *committed) Revisions() []string {
	return analysis.Distinct(r.Runs, func(run record.RunInfo) string { return run.Git[:min(len(run.Git), 8)] })
}

// Commands returns the commands that were typed.
func (r *committed) Commands() []string {
	var all []string
	for _, run := range r.Runs {
		all = append(all, run.Commands()...)
	}
	return unique(all)
}

func unique(list []string) []string {
	return analysis.Distinct(list, func(s string) string { return s })
}
