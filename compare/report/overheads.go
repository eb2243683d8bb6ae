package report

import (
	"fmt"
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
	"gemm/internal/sample"
)

// overheadNames are the measurements of what sharing costs without any work in it.
var overheadNames = []string{"fork-join", "chunk", "merge"}

// overheads returns those measurements.
func (v *view) overheads() []compare.Measurement {
	var out []compare.Measurement
	for _, m := range v.measurements {
		if slices.Contains(overheadNames, m.Name) && len(m.Samples) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// cost is one kind of overhead on some threads, in every runtime that it was measured
// in: a line of the table.
type cost struct {
	name, sort string // sort: the schedule or the method
	threads    int
	runtimes   map[string]compare.Record // samples and their median, in the unit of the measurement
}

// runtimes are those that costs are measured in, ours first.
var runtimes = []string{"pool", "goroutines", "libgomp"}

// costs groups measurements, by name and sort and then threads.
func costs(all []compare.Measurement) []cost {
	var out []cost
	for _, m := range all {
		sort := ""
		for _, name := range []string{"schedule", "method"} {
			if value, ok := m.Params[name].(string); ok {
				sort = value
			}
		}
		threads, _ := m.Params["threads"].(int)
		runtime, _ := m.Params["runtime"].(string)
		i := slices.IndexFunc(out, func(c cost) bool { return c.name == m.Name && c.sort == sort && c.threads == threads })
		if i < 0 {
			i = len(out)
			out = append(out, cost{m.Name, sort, threads, map[string]compare.Record{}})
		}
		out[i].runtimes[runtime] = sampledRow(m.Samples) // the latest stands
	}
	sorts := []string{"", "static", "dynamic", "guided", "atomic", "critical", "reduce"}
	slices.SortStableFunc(out, func(x, y cost) int {
		if d := slices.Index(overheadNames, x.name) - slices.Index(overheadNames, y.name); d != 0 {
			return d
		}
		if d := slices.Index(sorts, x.sort) - slices.Index(sorts, y.sort); d != 0 {
			return d
		}
		return x.threads - y.threads
	})
	return out
}

// sampledRow returns a row that has only samples, their median and its interval.
func sampledRow(samples []float64) compare.Record {
	sum := sample.Summarize(samples)
	r := compare.Record{Status: compare.OK, Samples: samples, Median: compare.Number(sum.Median)}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		r.CI = &[2]float64{sum.Lo, sum.Hi}
	}
	return r
}

// overheads holds what our pool costs against goroutines and libgomp.
func (b *builder) overheads(v *view) (document.Section, bool) {
	all := costs(v.overheads())
	s := b.of(v, "overheads", "overheads.title")
	if len(all) == 0 {
		return s, false
	}
	s.Text(b.Say("overheads.intro"))
	t := document.Table{
		ID: "table-overheads" + v.suffix, Caption: b.Say("overheads.caption"),
		Columns: b.columns("cost", "sort", "#threads", "#pool", "#goroutines", "#libgomp", "#overgoroutines", "#overlibgomp", "verdict"),
	}
	var items []document.Text
	for i, c := range all {
		own, known := c.runtimes["pool"]
		name := b.Say("cost." + c.name)
		row := []document.Text{name, settled(c.sort), document.Text(fmt.Sprint(c.threads))}
		for _, runtime := range runtimes {
			row = append(row, nanoseconds(c.runtimes[runtime]))
		}
		ratio := func(runtime string) (comparison, bool) {
			other, ok := c.runtimes[runtime]
			return contrast(other, own), ok && known
		}
		verdict := document.Text(absent)
		for _, runtime := range runtimes[1:] {
			over, ok := ratio(runtime)
			if !ok {
				row = append(row, absent)
				continue
			}
			row = append(row, times(over.Ratio, over.Lo, over.Hi))
			if runtime == "libgomp" {
				verdict = b.costVerdict(over.Outcome)
			}
		}
		t.Rows = append(t.Rows, document.Row{Cells: append(row, verdict)})
		if c.sort != "" {
			name += " (" + document.Escape(c.sort) + ")"
		}
		last := i == len(all)-1 || all[i+1].name != c.name || all[i+1].sort != c.sort // of its sort: the most threads
		if over, ok := ratio("libgomp"); ok && last {
			items = append(items, b.Say("overheads.beside", text.Args{
				"Cost": name, "Threads": b.Count("threads", c.threads), "Own": nanoseconds(own),
				"Libgomp": nanoseconds(c.runtimes["libgomp"]), "Verdict": b.costVerdict(over.Outcome),
				"Ratio": times(over.Ratio, over.Lo, over.Hi),
			}))
		}
	}
	if len(items) == 0 {
		s.Text(b.Say("overheads.alone"))
	}
	s.List(items)
	s.Add(t)
	return s, true
}

// costVerdict returns the word for a comparison in which ours is the second.
func (b *builder) costVerdict(o outcome) document.Text {
	return b.Say([]string{tooFew: "verdict.few", level: "verdict.level", quicker: "cost.cheaper", slower: "cost.dearer"}[o])
}

// nanoseconds returns the median of a cost with its interval.
func nanoseconds(r compare.Record) document.Text {
	if len(r.Samples) == 0 {
		return absent
	}
	if r.CI == nil {
		return document.Text(significant(float64(r.Median)))
	}
	return times(float64(r.Median), r.CI[0], r.CI[1])
}
