package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
)

// openMP adds the pool and OpenMP, a curve for each schedule with its own chunk.
func (d drawn) openMP(typ string, c *chart.Curve) {
	for i, schedule := range []string{"static", "dynamic", "guided"} {
		for _, p := range d.OpenMPPairs(typ) {
			if p.Schedule == schedule && p.Chunk == 0 {
				x := float64(p.Threads)
				c.Title = fmt.Sprintf("%s, %s: two collapsed loops, our pool and OpenMP", typ,
					analysis.OnOneThread(p.Pool).Label())
				c.Add("pool, "+schedule, chart.LookOf(i), Measured(p.Pool, x, float64(p.Pool.Gflops)))
				c.Add("OpenMP, "+schedule, dashed(chart.LookOf(i), 4), Measured(p.OpenMP, x, float64(p.OpenMP.Gflops)))
			}
		}
	}
}

// gains adds the speed-up over one thread or rank of the leading series of the main size.
func gains(a analysis.Axis) func(drawn, string, *chart.Curve) {
	return func(d drawn, typ string, c *chart.Curve) {
		all := d.StrongSeries(a, typ)
		size := analysis.MainSize(all)
		for _, s := range d.FastestSeries(all, size) {
			one, ok := s.One()
			if !ok {
				continue
			}
			label := strings.TrimSuffix(analysis.Algorithm(s.Variant)+", "+s.Set, ", ")
			c.Add(label, d.looks[s.Variant], chart.At(1, 1))
			for _, r := range s.Rows[1:] {
				gain := analysis.Versus(one, r)
				pt := chart.At(float64(s.Count(r)), gain.Ratio)
				if gain.Lo <= gain.Ratio && gain.Ratio <= gain.Hi {
					pt.Lo, pt.Hi = gain.Lo, gain.Hi
				}
				c.Add(label, d.looks[s.Variant], pt)
			}
		}
		for _, p := range c.Places() {
			c.Add("ideal", flat, chart.At(p, p))
		}
		c.XLabel, c.YLabel = a.One+"s", "speed-up over one "+a.One
		c.Title = fmt.Sprintf("%s, %s: %s", typ, size.Label(), c.YLabel)
	}
}

// timed returns the time of a row in milliseconds at x.
func timed(r record.Record, x float64) chart.Point {
	pt := chart.At(x, 1e3*float64(r.Median))
	if r.CI != nil {
		pt.Lo, pt.Hi = 1e3*r.CI[0], 1e3*r.CI[1]
	}
	return pt
}

// chunkRows are the rows of chunks: of the kernel of the 2024 report, if its chunks were swept, or
// else of the variant with the most rows, the first of those that are level, at the size with the most rows.
func (d drawn) chunkRows(schedule, typ string) []record.Record {
	rows := map[string][]record.Record{}
	var variant string
	for _, g := range analysis.Variations(d.Chunked(typ), "chunk") {
		if g.Rest["schedule"] == schedule {
			rows[g.Variant] = append(rows[g.Variant], g.Rows...)
			if len(rows[g.Variant]) > len(rows[variant]) {
				variant = g.Variant
			}
		}
	}
	if kernel := d.WithPart(record.ReportKernel); rows[kernel] != nil {
		variant = kernel
	}
	return analysis.LargestGroup(rows[variant], analysis.OnOneThread, record.Record.ID, analysis.Problem.Compare)
}

// chunks adds the time over the chunk under one schedule, a curve for each number of threads. With the kernel
// of the 2024 report goes the same program with OpenMP. A chunk left to the schedule stands at the left.
func chunks(schedule string) func(drawn, string, *chart.Curve) {
	return func(d drawn, typ string, c *chart.Curve) {
		rows := d.chunkRows(schedule, typ)
		if rows == nil {
			return
		}
		sizes := analysis.Ascending(rows, func(r record.Record) int { return analysis.ChunkOf(r.Params) })
		unset := sizes[0] == 0
		if unset {
			sizes = append(sizes[1:], 1)
		}
		add := func(label string, look chart.Look, r record.Record) {
			c.Add(label, look, timed(r, cmp.Or(float64(analysis.ChunkOf(r.Params)), float64(sizes[0])/4)))
		}
		looks := map[int]chart.Look{}
		for _, r := range rows {
			label := onThreads(r.Threads)
			if set := analysis.Setting(analysis.Omit(r.Params, "schedule", "chunk")); set != "" {
				label += ", " + set
			}
			if _, known := looks[r.Threads]; !known {
				looks[r.Threads] = chart.LookOf(len(looks))
			}
			add(label, looks[r.Threads], r)
		}
		variant, size := rows[0].Variant, analysis.OnOneThread(rows[0])
		if kernel := d.WithPart(record.ReportKernel); variant == kernel {
			programs := analysis.GroupBy(analysis.Timed(d.Pick(func(r record.Record) bool {
				return r.Variant == d.Counterpart(kernel) && r.Type == typ && r.Params["schedule"] == schedule &&
					analysis.OnOneThread(r) == size &&
					slices.Contains([]record.Experiment{record.ChunkSizes, record.OpenMPLoops}, r.Experiment)
			})), func(r record.Record) record.Experiment { return r.Experiment })
			slices.SortFunc(programs, func(x, y []record.Record) int { return cmp.Compare(len(y), len(x)) })
			for _, r := range slices.Concat(programs[:min(1, len(programs))]...) {
				if look, ok := looks[r.Threads]; ok && (unset || analysis.ChunkOf(r.Params) > 0) {
					add("OpenMP, "+onThreads(r.Threads), dashed(look, 4), r)
				}
			}
		}
		if unset {
			for _, p := range c.Places() {
				c.Names = append(c.Names, fmt.Sprint(p))
			}
			c.Names[0] = "default"
		}
		c.Title = fmt.Sprintf("%s, %s, %s, %s", variant, typ, size.Label(), schedule)
	}
}
