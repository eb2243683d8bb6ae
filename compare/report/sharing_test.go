package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
	"gemm/parallel/timeline"
)

// resolvedAs sets the resolved parameters.
func resolvedAs(p gemm.Params) func(*compare.Record) {
	return func(r *compare.Record) { r.Resolved = p }
}

// grown returns the same where m grows with the threads.
func grown(ms map[int]float64) []compare.Record {
	rows := reporttest.Scaled("weak", ms)
	for i := range rows {
		rows[i].M *= rows[i].Threads
	}
	return rows
}

// apart gives every row a turn of its own.
func apart(rows []compare.Record) []compare.Record {
	for i := range rows {
		rows[i].Turn = fmt.Sprint(i)
	}
	return rows
}

// inKernel is what findings say of the kernel of the report of 2024.
const inKernel = "All cases are of `parallel/collapse-atomic`, the kernel of that report. "

// ofReport makes the rows of parallel/rows of the kernel of the report of 2024.
func ofReport(d compare.Document) compare.Document {
	for i, r := range d.Records {
		if r.Variant == "parallel/rows" {
			d.Records[i].Variant = "parallel/collapse-atomic"
		}
	}
	return d
}

// inOne puts rows in one turn.
func inOne(rows []compare.Record) []compare.Record {
	for i := range rows {
		rows[i].Turn = "t"
	}
	return rows
}

// pair returns two variants with equal parameters on 4 threads, which are in no turn.
func pair(first, second string, a, b float64) []compare.Record {
	return reporttest.OnLocal("serial/ikj",
		reporttest.Row("parallel/"+first, 256, a, reporttest.ThreadsOf("strong", 4, "schedule", "static")),
		reporttest.Row("parallel/"+second, 256, b, reporttest.ThreadsOf("strong", 4, "schedule", "static")))
}

// thrice returns rows in three problems.
func thrice(rows []compare.Record) []compare.Record {
	var out []compare.Record
	for i := range 3 {
		for _, r := range rows {
			r.Beta = float64(i)
			out = append(out, r)
		}
	}
	return out
}

// undecided returns pairs of rows and collapse-atomic, each of a problem of its own, in two samples.
func undecided(pairs int) []compare.Record {
	var out []compare.Record
	for i := range pairs {
		for _, r := range pair("rows", "collapse-atomic", 1.1e-3, 1e-3) {
			reporttest.Sampled(2, float64(r.Median))(&r)
			r.Beta = float64(10 + i)
			out = append(out, r)
		}
	}
	return out
}

// measuredAs adds a measurement of 20 samples about some nanoseconds.
func measuredAs(name string, ns float64, params gemm.Params) func(*compare.Document) {
	return func(d *compare.Document) {
		d.Measurements = append(d.Measurements,
			compare.Measurement{Host: "h1", Run: "r1", Name: name, Unit: "ns", Params: params,
				Samples: reporttest.Row("x", 1, ns).Samples})
	}
}

// tracedAs returns a document with the timeline of a schedule of an uneven loop.
func tracedAs(schedules ...string) compare.Document {
	doc := reporttest.Many()
	for _, schedule := range schedules {
		t := played(100, 4, schedule, 9, 1e-6)
		t.Host, t.Run, t.Params = "h1", "r1", gemm.Params{"threads": 4, "schedule": schedule, "load": 9}
		t.Resolved = gemm.Params{"threads": 4, "schedule": schedule, "load": 9, "chunk": 0}
		doc.Traces = append(doc.Traces, t)
	}
	return doc
}

var sharingSentences = []sentence{
	{"schedules are not cases of their own", ofReport(only(
		reporttest.Row("parallel/rows", 256, 8e-3, reporttest.ThreadsOf("strong", 1, "schedule", "static")),
		reporttest.Row("parallel/rows", 256, 4e-3, reporttest.ThreadsOf("strong", 2, "schedule", "static")),
		reporttest.Row("parallel/rows", 256, 8e-3, reporttest.ThreadsOf("strong", 1, "schedule", "dynamic")),
		reporttest.Row("parallel/rows", 256, 4e-3, reporttest.ThreadsOf("strong", 2, "schedule", "dynamic")),
		reporttest.Row("parallel/rows", 256, 8e-3, reporttest.ThreadsOf("strong", 1, "schedule", "guided")),
		reporttest.Row("parallel/rows", 256, 4e-3, reporttest.ThreadsOf("strong", 2, "schedule", "guided")))),
		[]string{"it takes 1/p of the time of one.* — **Too few data.** Cases that are decided: 0 of 1. "}, nil},
	{"an evening with threads", threaded(),
		[]string{
			"a private C for each thread, merged at the end, is two to three times as fast as an atomic addition " +
				"of each term.* — **Not supported.** Cases that are decided: 32 of 32. More than claimed in 32: n = ",
			"with a private C for each thread, is faster than sharing out the outer loop alone.* — **Too few " +
				"data.** Cases that are decided: 0 of 32. Undecided in 32: ",
			"It chose, over 72 rows: guided 4 in 72."}, []string{"results-load-serial", "Other measurements"}},
	{"nothing but a ladder of threads",
		reporttest.With(reporttest.Row("parallel/packed", 256, 1e-3, func(r *compare.Record) { r.Threads = 2 })),
		nil,
		nil},
	{"cut-offs on several threads", reporttest.With(
		reporttest.Row("parallel/strassen", 256, 3e-3, reporttest.ThreadsOf("cutoff", 2, "cutoff", 128)),
		reporttest.Row("parallel/packed", 256, 2e-3, func(r *compare.Record) { r.Threads = 2 })),
		nil, nil},
	{"cut-offs on several threads alone",
		reporttest.With(reporttest.Row("parallel/strassen", 256, 3e-3, reporttest.ThreadsOf("cutoff", 2, "cutoff", 128))),
		nil, nil},
	{"no threads at all", reporttest.With(), nil, []string{"{#sharing}", "{#findings}"}},

	{"Amdahl's law", reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.55, 4: 0.325, 8: 0.2125})...),
		[]string{"| 10.0 "},
		[]string{"The fraction is", "does not describe"}},
	{"what no law describes",
		reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.52, 4: 0.3, 8: 0.9})...),
		nil, nil},
	{"more than the threads", reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.475, 4: 0.2125})...),
		nil, nil},
	{"a fraction of one point that may be 0",
		reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.50002})...),
		nil, nil},
	{"more than the threads, from one point",
		reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.4})...),
		nil, nil},
	{"threads that cost more than they bring",
		reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 1.5, 4: 2})...),
		nil,
		nil},
	{"two processors are not many",
		reporttest.With(reporttest.Swept("strong", "schedule", []any{"static", "dynamic"}, []float64{1, 1.02})...),
		[]string{"*On many threads a static schedule is a little slower than a dynamic one.* — **Not measured here.** It takes a host with at least 4 processors: `gemm parallel --variants parallel/collapse-atomic --threads 2,4 --schedule static,dynamic"}, nil},
	{"a fraction that may be 0",
		reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.495, 4: 0.2505})...),
		nil, nil},
	{"no row of one thread", reporttest.Many(reporttest.Scaled("strong", map[int]float64{2: 1, 4: 0.5})...),
		nil, nil},
	{"one processor", changed(reporttest.With(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 1.5})...),
		func(d *compare.Document) { d.Hosts[0].Quota = 0.5 }),
		nil,
		nil},
	{"the chunk left to the schedule stands for its schedule", reporttest.Many(slices.Concat(
		reporttest.Scaled("chunk", map[int]float64{1: 1, 2: 0.5}, "schedule", "static", "chunk", 16),
		reporttest.Scaled("chunk", map[int]float64{1: 1, 2: 0.6}, "schedule", "static", "chunk", 0))...),
		nil, nil},
	{"else the quickest chunk", reporttest.Many(slices.Concat(
		reporttest.Scaled("chunk", map[int]float64{1: 1, 2: 0.7}, "schedule", "static", "chunk", 4),
		reporttest.Scaled("chunk", map[int]float64{1: 1, 2: 0.5}, "schedule", "static", "chunk", 16),
		reporttest.Scaled("chunk", map[int]float64{1: 1, 2: 0.6}, "schedule", "static", "chunk", 64))...),
		nil, nil},
	{"threads that were not measured in turn",
		ofReport(reporttest.Many(append(apart(reporttest.Scaled("chunk", map[int]float64{1: 1, 2: 0.5, 4: 0.3}, "schedule", "static",
			"chunk", 0)), reporttest.Row("serial/packed", 256, 0.5e-3, reporttest.Experiment("chunk")))...)),
		[]string{"*The time of a product falls as 1/threads: on p threads it takes 1/p of the time of one.* — **Too " +
			"few data.** Cases that are decided: 0 of 1. Without an interval in 1: n = 256 (4 threads). " +
			inKernel + "Each " +
			"series is judged on the most threads that have processors. Not measured in turn, and undecided " +
			"for that: 1. The efficiency is 0.833 (`parallel/collapse-atomic`"},
		[]string{"Amdahl's law has", "times as fast as one (95", "table-strong-law"}},
	{"too many threads, not in turn",
		reporttest.Many(apart(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.5, 32: 1}))...),
		nil,
		nil},
	{"weak scaling in no turn", reporttest.Many(apart(grown(map[int]float64{1: 1, 2: 1.25, 4: 1.5}))...),
		nil,
		nil},
	{"weak scaling", reporttest.Many(append(grown(map[int]float64{1: 1, 2: 1 / 0.95, 4: 4 / 3.7}),
		reporttest.Row("serial/packed", 256, 0.5e-3, reporttest.Experiment("weak")))...),
		nil,
		nil},
	{"weak scaling of two threads", reporttest.Many(grown(map[int]float64{1: 1, 2: 1.25})...),
		nil, nil},

	{"chunks that make no difference",
		ofReport(reporttest.Many(reporttest.Swept("chunk", "chunk", []any{0, 1, 16}, []float64{1, 1, 1}, "schedule", "static")...)),
		[]string{"*The size of the chunks that a schedule deals out hardly changes the time.* — **Too few data.** " +
			"Cases that are decided: 1 of 1. It holds in 1: n = 256 (4 threads)."}, []string{"The largest " +
			"difference"}},
	{"chunks of another kernel, which decide nothing",
		reporttest.Many(reporttest.Swept("chunk", "chunk", []any{0, 1, 16}, []float64{1, 1, 2}, "schedule", "static")...),
		[]string{"hardly changes the time.* — **Not measured here.** To measure it: `gemm parallel --variants " +
			"parallel/collapse-atomic" + " --schedule static,dynamic --chunk"}, []string{"**Too few data.**"}},
	{"chunks that were not measured in turn",
		ofReport(reporttest.Many(apart(reporttest.Swept("chunk", "chunk", []any{0, 1, 16}, []float64{1, 1, 2}, "schedule",
			"static"))...)),
		[]string{"*The size of the chunks that a schedule deals out hardly changes the time.* — **Too few data.**"},
		[]string{"The largest difference"}},
	{"static and dynamic that were not measured in turn",
		ofReport(reporttest.Many(apart(reporttest.Swept("strong", "schedule", []any{"static", "dynamic"}, []float64{1, 2}))...)),
		[]string{"since nothing is decided while the loop runs.* — **Too few data.** Cases that are decided: 0 of " +
			"1. Without an interval in 1: n = 256 (4 threads). " + inKernel + "`dynamic` is 0.500 times as fast as `static`"}, nil},
	{"an affinity that was not measured in turn",
		reporttest.Many(apart(reporttest.Swept("affinity", "affinity", []any{"none", "close"}, []float64{2, 1}))...),
		nil, nil},
	{"chunks that make a little",
		reporttest.Many(reporttest.Swept("chunk", "chunk", []any{0, 1, 16}, []float64{1, 1.02, 1.03}, "schedule",
			"dynamic")...),
		nil, nil},
	{"chunks that make much",
		ofReport(reporttest.Many(reporttest.Swept("chunk", "chunk", []any{0, 1, 16}, []float64{1, 1, 2}, "schedule", "static")...)),
		[]string{"*The size of the chunks that a schedule deals out hardly changes the time.* — **Too few data.** " +
			"Cases that are decided: 1 of 1. More than claimed in 1: n = 256 (4 threads). " + inKernel + "The largest " +
			"difference "}, nil},
	{"chunks with few samples", reporttest.Many(slices.Concat(
		reporttest.Swept("chunk", "chunk", []any{0, 1}, []float64{1, 2}, "schedule", "static"))...), nil, nil},
	{"chunks that samples cannot tell",
		ofReport(changed(reporttest.Many(reporttest.Swept("chunk", "chunk", []any{0, 1}, []float64{1, 2}, "schedule", "static")...),
			func(d *compare.Document) {
				for i := range d.Records {
					if d.Records[i].Experiment == compare.ChunkSizes {
						reporttest.Sampled(2, float64(d.Records[i].Median))(&d.Records[i])
					}
				}
			})), []string{"hardly changes the time.* — **Too few data.** Cases that are decided: 0 of 1. Without an interval in " +
			"1: "}, nil},
	{"chunks that sometimes do", ofReport(changed(reporttest.Many(slices.Concat(
		reporttest.Swept("chunk", "chunk", []any{0, 1}, []float64{1, 2}, "schedule", "static"),
		reporttest.Swept("chunk", "chunk", []any{0, 1}, []float64{1, 1}, "schedule", "dynamic"),
		reporttest.Swept("chunk", "chunk", []any{0, 1}, []float64{1, 1.03}, "schedule", "guided"),
		reporttest.Swept("chunk", "chunk", []any{0, 1}, []float64{1, 1}, "schedule", "guided", "local", "serial/packed"),
	)...), func(d *compare.Document) {
		for i := range d.Records {
			if d.Records[i].Params["local"] != nil {
				reporttest.Sampled(2, 1e-3)(&d.Records[i])
			}
		}
	})), []string{"hardly changes the time.* — **Mixed.** Cases that are decided: 3 " +
		"of 4. It holds in 2: n = 256 (4 threads). More than claimed in 1: n = 256 (4 threads). Without an " +
		"interval in 1: ",
	}, nil},
	{"auto has no chunk of its own",
		reporttest.Many(reporttest.Swept("chunk", "chunk", []any{0, 1}, []float64{1, 2}, "schedule", "auto")...), nil,
		[]string{"Chunk sizes, each schedule"}},

	{"one NUMA node", reporttest.Many(reporttest.Swept("affinity", "affinity", []any{"none", "close"},
		[]float64{1, 1})...), nil, nil},
	{"two NUMA nodes", changed(reporttest.Many(reporttest.Swept("affinity", "affinity", []any{"none", "close"},
		[]float64{2, 1})...), func(d *compare.Document) { d.Hosts[0].NUMA = 2 }),
		nil, nil},

	{"a load without timelines",
		reporttest.Many(slices.Concat(reporttest.Swept("load", "schedule", []any{"static", "dynamic"}, []float64{1.5, 1},
			"load", 4, "chunk", 0), reporttest.Swept("load", "chunk", []any{16}, []float64{1.2}, "load", 4, "schedule",
			"dynamic"))...),
		nil, nil},
	{"timelines without rows", tracedAs("static", "dynamic"),
		[]string{"| 1.0"}, []string{"was not recorded"}},
	{"one timeline", tracedAs("guided"), nil,
		nil},

	{"costs", changed(changed(changed(reporttest.Many(),
		measuredAs("fork-join", 1000, gemm.Params{"threads": 2, "runtime": "pool"})),
		measuredAs("fork-join", 2000, gemm.Params{"threads": 2, "runtime": "goroutines"})),
		measuredAs("fork-join", 1500, gemm.Params{"threads": 2, "runtime": "libgomp"})),
		nil, nil},
	{"a dear chunk", changed(changed(reporttest.Many(),
		measuredAs("chunk", 40, gemm.Params{"threads": 2, "runtime": "pool", "schedule": "dynamic", "chunk": 1})),
		measuredAs("chunk", 20, gemm.Params{"threads": 2, "runtime": "libgomp", "schedule": "dynamic", "chunk": 1})),
		nil, nil},
	{"a merge without libgomp",
		changed(reporttest.Many(), measuredAs("merge", 3, gemm.Params{"threads": 2, "runtime": "pool", "method": "atomic"})),
		nil, nil},

	{"time that falls as 1/threads",
		ofReport(reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.52, 32: 3})...)),
		[]string{"*The time of a product falls as 1/threads: on p threads it takes 1/p of the time of one.* — " +
			"**Too few data.** Cases that are decided: 1 of 1. It holds in 1: n = 256 (2 threads). " +
			inKernel + "Each series is " +
			"judged on the most threads that have processors. The efficiency is 0.962 (0.961–0.962) " +
			"(`parallel/collapse-atomic`, n = 256, 2 threads)."}, nil},
	{"time that does not", ofReport(reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.7})...)),
		[]string{"*The time of a product falls as 1/threads: on p threads it takes 1/p of the time of one.* — " +
			"**Too few data.** Cases that are decided: 1 of 1. Less than claimed in 1: "}, nil},
	{"static ahead of dynamic", ofReport(reporttest.Many(thrice(
		reporttest.Swept("strong", "schedule", []any{"static", "dynamic"}, []float64{1, 1.1}))...)),
		[]string{"since nothing is decided while the loop runs.* — **Supported.** Cases that are decided: 3 of 3. " +
			"It holds in 3: ",
			"`dynamic` is 0.909 times as fast as `static` in every pair.",
			"*On many threads a static schedule is a little slower than a dynamic one.* — **Reversed.** Cases " +
				"that are decided: 3 of 3. The opposite in 3: "}, nil},
	{"static behind dynamic", ofReport(reporttest.Many(thrice(
		reporttest.Swept("strong", "schedule", []any{"static", "dynamic"}, []float64{1.1, 1}))...)),
		[]string{"since nothing is decided while the loop runs.* — **Reversed.**",
			"*On many threads a static schedule is a little slower than a dynamic one.* — **Supported.**"}, nil},
	{"static and dynamic alike", ofReport(reporttest.Many(thrice(
		reporttest.Swept("strong", "schedule", []any{"static", "dynamic"}, []float64{1, 1.02}))...)),
		[]string{"since nothing is decided while the loop runs.* — **Not supported.** Cases that are decided: 3 " +
			"of 3. No difference in 3: ",
			"*On many threads a static schedule is a little slower than a dynamic one.* — **Not supported.**"}, nil},
	{"a load is no case of static against dynamic",
		reporttest.Many(reporttest.Swept("load", "schedule", []any{"static", "dynamic"}, []float64{2, 1}, "load", 4)...),
		[]string{"*On many threads a static schedule is a little slower than a dynamic one.* — **Not measured here.**"}, nil},
	{"a private C", reporttest.Many(pair("collapse-inner-atomic", "collapse-atomic", 2.5e-3, 1e-3)...),
		[]string{"a private C for each thread, merged at the end, is two to three times as fast as an atomic " +
			"addition of each term.* — **Too few data.** Cases that are decided: 1 of 1. It holds in 1: n = 256 " +
			"(4 threads). Ratios from 1.33 to 4.50 are counted as in or around the claimed range. Pairs that were " +
			"not sampled in turn: 1. Their intervals are widened by a factor of 1.50 on either side, since " +
			"machines that others use as well run at two thirds of their speed at times. `collapse-atomic` is " +
			"2.50 times as fast as `collapse-inner-atomic`"}, nil},
	{"a private C that a drift may have made",
		reporttest.Many(pair("collapse-inner-atomic", "collapse-atomic", 1.4e-3, 1e-3)...),
		[]string{"as an atomic addition of each term.* — **Too few data.** Cases that are decided: 0 of 1. " +
			"Undecided in 1: ",
			"`collapse-atomic` is 1.40 times as fast as"}, nil},
	{"a private C in turn", reporttest.Many(inOne(pair("collapse-inner-atomic", "collapse-atomic", 2.5e-3, 1e-3))...),
		[]string{"as an atomic addition of each term.* — **Too few data.** Cases that are decided: 1 of 1. It " +
			"holds in 1: n = 256 (4 threads). Ratios from 1.33 to 4.50 are counted as in or around the claimed " +
			"range. `collapse-atomic` is 2.50 (2.50) times as fast as `collapse-inner-atomic`"}, []string{"not " +
			"sampled in turn: "}},
	{"a private C that gains less", reporttest.Many(inOne(pair("collapse-inner-atomic", "collapse-atomic", 1.3e-3,
		1e-3))...),
		[]string{"as an atomic addition of each term.* — **Too few data.** Cases that are decided: 1 of 1. Less " +
			"than claimed in 1: "}, nil},
	{"a private C that gains far more",
		reporttest.Many(inOne(thrice(pair("collapse-inner-atomic", "collapse-atomic", 77e-3, 1e-3)))...),
		[]string{"as an atomic addition of each term.* — **Not supported.** Cases that are decided: 3 of 3. More " +
			"than claimed in 3: "},
		[]string{"as an atomic addition of each term.* — **Supported"}},
	{"a private C that loses", reporttest.Many(inOne(thrice(pair("collapse-inner-atomic", "collapse-atomic", 1e-3,
		2e-3)))...),
		[]string{"as an atomic addition of each term.* — **Reversed.** Cases that are decided: 3 of 3. The " +
			"opposite in 3: "}, nil},
	{"a private C in three cases", reporttest.Many(inOne(thrice(pair("rows", "collapse-atomic", 2e-3, 1e-3)))...),
		[]string{"outer loop alone.* — **Supported.** Cases that are decided: 3 of 3. It holds in 3: "}, nil},
	{"one case of six decides", reporttest.Many(
		inOne(append(pair("rows", "collapse-atomic", 2e-3, 1e-3), undecided(5)...))...),
		[]string{"outer loop alone.* — **Too few data.** Cases that are decided: 1 of 6. It holds in 1: "},
		[]string{"outer loop alone.* — **Supported"}},
	{"rows of C by other loops", reporttest.Many(inOne(thrice(reporttest.OnLocal("serial/naive",
		reporttest.Row("parallel/rows", 256, 2e-3, reporttest.ThreadsOf("strong", 4)),
		reporttest.Row("parallel/collapse-atomic", 256, 1e-3, reporttest.ThreadsOf("strong", 4)))))...),
		[]string{"outer loop alone.* — **Not measured here.** To measure it: `gemm parallel --variants " +
			"parallel/rows,parallel/collapse-atomic --local serial/ikj --sizes 128,256 --json single.json`"}, nil},
	{"cases that disagree", reporttest.Many(inOne(append(pair("rows", "collapse-atomic", 2e-3, 1e-3),
		thrice(pair("rows", "collapse-atomic", 1e-3, 2e-3))[2:]...))...),
		[]string{"outer loop alone.* — **Mixed.** Cases that are decided: 3 of 3. It holds in 1: n = 256 (4 " +
			"threads). The opposite in 2: "}, nil},
	{"threads that lengthen the time", ofReport(reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 1.5})...)),
		[]string{"*The time of a product falls as 1/threads: on p threads it takes 1/p of the time of one.* — " +
			"**Too few data.** Cases that are decided: 1 of 1. The opposite in 1: "}, nil},
	{"a private C against one loop", reporttest.Many(pair("rows", "collapse-atomic", 1.6e-3, 1e-3)...),
		[]string{"with a private C for each thread, is faster than sharing out the outer loop alone.* — **Too few " +
			"data.** Cases that are decided: 1 of 1. It holds in 1: "}, nil},
	{"a reduction that is faster", reporttest.Many(pair("collapse-reduce", "collapse-atomic", 1e-3, 1.6e-3)...),
		[]string{"faster than merging them by a reduction.* — **Too few data.** Cases that are decided: 1 of 1. " +
			"The opposite in 1: "}, nil},
	{"a reduction that a drift may have made faster",
		reporttest.Many(pair("collapse-reduce", "collapse-atomic", 1e-3, 1.4e-3)...),
		[]string{"faster than merging them by a reduction.* — **Too few data.** Cases that are decided: 0 of 1. " +
			"Undecided in 1: "}, nil},
	{"a reduction that is as fast in turn",
		reporttest.Many(inOne(pair("collapse-reduce", "collapse-atomic", 1e-3, 1e-3))...),
		[]string{"faster than merging them by a reduction.* — **Too few data.** Cases that are decided: 1 of 1. " +
			"No difference in 1: "}, nil},
	{"what auto chose", reporttest.Many(
		reporttest.Row("parallel/rows", 256, 1e-3, reporttest.ThreadsOf("strong", 4, "schedule", "auto"),
			resolvedAs(gemm.Params{"schedule": "dynamic", "chunk": 16}), reporttest.Turn("t")),
		reporttest.Row("parallel/rows", 128, 1e-4, reporttest.ThreadsOf("strong", 4, "schedule", "auto"),
			resolvedAs(gemm.Params{"schedule": "static", "chunk": 0})),
		reporttest.Row("parallel/rows", 256, 2e-3, reporttest.ThreadsOf("strong", 4, "schedule", "static"),
			resolvedAs(gemm.Params{"schedule": "static", "chunk": 0}), reporttest.Turn("t"))),
		[]string{"It chose, over 2 rows: dynamic 16 in 1, static in 1. `static` is 0.500 (0.500) times as fast as `auto`"}, nil},
}

// TestTimelineIsDrawn checks that there is a panel for each schedule, a lane for each worker and
// every span in it, and that no worker is left out.
func TestTimelineIsDrawn(t *testing.T) {
	doc := tracedAs("static", "guided")
	doc.Traces[0].Spans = append(doc.Traces[0].Spans, timeline.Span{Worker: 7, To: 1, End: 1},
		timeline.Span{Worker: -1, To: 1, End: 1})
	lanes := figures.Timeline(analysis.Views(doc)[0].Concerts()[0])
	if len(lanes.Panels) != 2 || len(lanes.Panels[0].Lanes) != 4 || !strings.Contains(lanes.XLabel, "µs") {
		t.Fatalf("%+v", lanes)
	}
	for i, trace := range doc.Traces {
		total, busyTotal := 0.0, 0.0
		for _, lane := range lanes.Panels[i].Lanes {
			for _, b := range lane {
				total += b.To - b.From
			}
		}
		for _, x := range analysis.BusyTimes(trace) {
			busyTotal += x
		}
		if !(math.Abs(total/(1e6*busyTotal)-1) <= 1e-9) {
			t.Errorf("panel %d shows %g µs busy, want %g", i, total, 1e6*busyTotal)
		}
	}
}

// TestTracesThatSayNothing checks that traces without spans, workers or time give no figure and no
// failure.
func TestTracesThatSayNothing(t *testing.T) {
	doc := reporttest.Many()
	whole := tracedAs("static").Traces[0]
	for _, change := range []func(*compare.Trace){
		func(t *compare.Trace) { t.Spans = nil }, func(t *compare.Trace) { t.Workers = 0 },
		func(t *compare.Trace) { t.Seconds = math.NaN() },
	} {
		trace := whole
		change(&trace)
		doc.Traces = append(doc.Traces, trace)
	}
	if got := allText(Appendix(doc, Options{})); strings.Contains(got, "Timelines are of") {
		t.Error("a timeline of nothing")
	}
}
