package chapters

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/number"
	"gemm/internal/note"
)

// BadVariants returns the variants that have bad rows.
func (d *Data) BadVariants() []string { return analysis.Distinct(d.Bad(), analysis.VariantOf) }

// Answered returns the hosts of which the answer says something: all that have a time, or of several those with a
// square product, a code or a kernel of the user.
func (d *Data) Answered() []*Host {
	return analysis.Pick(d.Hosts, func(h *Host) bool {
		kernels := len(h.Kernels()) > 0
		said := len(h.Main().Ranking().Ranges) > 0 || h.BestCode() != nil || kernels
		return (len(analysis.Timed(h.Records)) > 0 || kernels) && (said || !h.Several())
	})
}

// Compared returns the hosts that several families were timed on at a common size.
func (d *Data) Compared() []*Host {
	return analysis.Pick(d.Hosts, func(h *Host) bool { return len(h.Main().Speeds()) > 0 })
}

// Code names the code of a row.
func (d *Data) Code(r *record.Record) string { return analysis.CodeName(analysis.ProblemOf(*r)) }

// Commands returns what was typed to measure, each once.
func (d *Data) Commands() string {
	var all []string
	for _, r := range d.Runs {
		all = append(all, r.Commands()...)
	}
	all = analysis.Distinct(all, func(command string) string { return command })
	return strings.Join(slices.DeleteFunc(all, func(command string) bool { return command == "" }), "\n")
}

// Library is a module or a library with the versions that runs used.
type Library struct{ Name, Versions string }

// Libraries returns them by name.
func (h *Host) Libraries() []Library {
	versions := map[string][]string{}
	for _, r := range h.Runs {
		for name, version := range r.Libraries {
			if !slices.Contains(versions[name], version) {
				versions[name] = append(versions[name], version)
			}
		}
	}
	var out []Library
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		out = append(out, Library{name, strings.Join(versions[name], ", ")})
	}
	return out
}

// Row is a record in the table of all.
type Row struct {
	record.Record
	HostName string // if there are several
	Remarks  string // the numbers of its remarks
	Size     string // the shape, with what makes it more than a plain product
	Settings string // the requested parameters, and the build of the experiment on compilers
	Workers  int    // threads, or ranks
	Interval string // the 95 % interval of the median
	Rate     string // the speed, of a GPU without the copies
	Share    string // the speed in percent of the peak
}

// rowOf returns the row of a record, without remarks.
func rowOf(r record.Record) Row {
	rate, _ := analysis.Speed(r)
	row := Row{Record: r, Size: analysis.ProblemOf(r).Label(), Settings: r.Params.String(), Workers: r.Threads,
		Rate: number.Significant(float64(rate)), Share: peak(r, analysis.Percent(r))}
	if r.Experiment == record.CompilerOptions {
		row.Settings = strings.TrimSpace(row.Settings + " " + r.Build)
	}
	if ranks := analysis.OverRanks.Count(r); analysis.Family(r.Variant) == analysis.OnRanks && ranks > 0 {
		row.Workers = ranks
	}
	if r.Speed() && r.CI != nil {
		row.Interval = number.Extent(r.CI[0], r.CI[1], number.Seconds)
	}
	return row
}

// Remark is a note that rows refer to by its number.
type Remark struct {
	Number int
	Note   note.Note
}

// AllRows is the table of all rows.
type AllRows struct {
	Rows    []Row
	Remarks []Remark
}

// AllRows returns every row with the remarks on it. Equal remarks have one number.
func (d *Data) AllRows() AllRows {
	var t AllRows
	numbers := map[string]int{}
	for _, h := range d.Hosts {
		for _, r := range h.All {
			row := rowOf(r)
			if h.Several() {
				row.HostName = h.Title()
			}
			var marks []string
			for _, n := range remarks(r) {
				key := n.Code + "|" + n.Text
				if numbers[key] == 0 {
					numbers[key] = len(t.Remarks) + 1
					t.Remarks = append(t.Remarks, Remark{numbers[key], n})
				}
				if mark := fmt.Sprint(numbers[key]); !slices.Contains(marks, mark) {
					marks = append(marks, mark)
				}
			}
			row.Remarks = strings.Join(marks, ", ")
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// remarks returns why a row is as it is, and what warns of it.
func remarks(r record.Record) []note.Note {
	var out []note.Note
	if r.Reason.Text != "" {
		out = append(out, r.Reason)
	}
	if r.GPU != nil && r.GPU.Throttled != "" {
		out = append(out, note.New("clock", r.GPU.Throttled))
	}
	if ran := analysis.Ran(r); !analysis.RanItself(r) && r.Speed() && r.Experiment != record.CutoffSweep {
		out = append(out, note.Note{Code: "ran", Text: ran, Args: map[string]any{"Variant": ran}})
	}
	return append(out, r.Cautions()...)
}

// Class marks rows that are wrong or have no time.
func (r Row) Class() string {
	switch {
	case r.Status == record.Wrong, r.Status == record.Suspect:
		return "wrong"
	case !r.Speed():
		return "muted"
	}
	return ""
}

// Wide returns the rows whose samples vary too much.
func (d *Data) Wide() []record.Record {
	return analysis.Pick(d.Timed(), analysis.Wide)
}

// Floor returns the highest of the noise floors of all hosts, 0 if none is known.
func (d *Data) Floor() float64 {
	return analysis.MaxOf(d.Hosts, func(h *Host) float64 { return h.Floor() })
}
