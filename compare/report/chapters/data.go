// Package chapters has the chapters of a report: templates of Markdown in each language, the specifications of their
// tables, and the data and functions that they print.
package chapters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/page"
)

// Data is what the templates of a report print.
type Data struct {
	Program  string           // the program's name in commands to type
	Hosts    []*Host          // in the order of the records
	Rows     []record.Record  // of all hosts
	Variants []record.Variant // of the suite, in the order of a report
	Runs     []record.RunInfo // of the program
	Claims   bool             // claims of published texts are judged
}

// Host is what one host contributed.
type Host struct {
	*analysis.View
	Data  *Data
	drawn func(id string) bool // reports whether there is a figure; nil: there is
}

// NewData returns the data of a report. drawn reports whether there is a figure with an ID; nil: there are all.
func NewData(doc record.Document, program string, drawn func(id string) bool) *Data {
	d := &Data{Program: cmp.Or(program, "gemm"), Rows: doc.Records, Variants: doc.Variants, Runs: doc.Runs}
	for _, v := range analysis.Views(doc) {
		d.Hosts = append(d.Hosts, &Host{v, d, drawn})
	}
	return d
}

// Day returns the day of the last run, empty if there is none.
func (d *Data) Day() string {
	var day string
	for _, r := range d.Runs {
		day = max(day, r.Time.UTC().Format("2006-01-02"))
	}
	return day
}

// Names returns the names of the hosts.
func (d *Data) Names() []string { return analysis.Distinct(d.Hosts, (*Host).Title) }

// Bad returns the rows that are wrong or failed, or took too long.
func (d *Data) Bad() []record.Record {
	return analysis.Pick(d.Rows, func(r record.Record) bool { return r.Status.Bad() })
}

// Timed returns the rows with a right result and a time.
func (d *Data) Timed() []record.Record { return analysis.Timed(d.Rows) }

// Title names a host in prose: by its processor and GPU; if another host has the same, by its instruction set too, or
// else by its ID.
func (h *Host) Title() string {
	if h.Name() == "" {
		return h.ID
	}
	short := func(h *Host) string { return h.Name() }
	long := func(h *Host) string { return h.Name() + ", " + h.ISA }
	for _, name := range []func(*Host) string{short, long} {
		if !slices.ContainsFunc(h.Data.Hosts, func(o *Host) bool { return o != h && name(o) == name(h) }) {
			return name(h)
		}
	}
	return h.Name() + " (" + h.ID + ")"
}

// Several reports whether there is another host.
func (h *Host) Several() bool { return h.Suffix != "" }

// On returns the host's name after a dash if there are several hosts, for captions.
func (h *Host) On() page.Text {
	if !h.Several() {
		return ""
	}
	return " — " + page.Escape(h.Title())
}

// Figure returns the file of a figure, if there is one for this host. Its ID is the parts in a row.
func (h *Host) Figure(parts ...any) page.Text {
	id := strings.ReplaceAll(fmt.Sprintln(parts...), " ", "")
	id = strings.TrimSpace(id) + h.Suffix
	if h.drawn != nil && !h.drawn(id) {
		return ""
	}
	return page.Text("figures/" + id + ".svg")
}

// Main returns the answer for the type that most of a report is about.
func (h *Host) Main() analysis.Answer { return h.Answer(h.MainType()) }
