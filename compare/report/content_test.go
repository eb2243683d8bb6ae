package report

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare"
	"gemm/compare/note"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
	"gemm/compare/report/text"
)

func param(name string, value any) func(*compare.Record) {
	return func(r *compare.Record) { r.Params = gemm.Params{name: value} }
}

func built(build string) func(*compare.Record) {
	return func(r *compare.Record) { r.Experiment, r.Build = "compiler", build }
}

func onHost(id string) func(*compare.Record) {
	return func(r *compare.Record) { r.Host, r.Run = id, "r-"+id }
}

// field makes a row one over GF(2⁸).
func field(r *compare.Record) {
	r.Type, r.Compute, r.Unit, r.BoundKind = "gf256", "gf256", "Gmul/s", gemm.Exact
	r.Rate, r.Gflops, r.DataGBps, r.PercentPeak, r.Residual, r.Bound = r.Gflops/2, compare.None(), 3, compare.None(), 0, 0
}

// allText renders content without a format, for comparing.
func allText(r document.Report, skip ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s\n", r.Title, r.Subtitle, r.Lang)
	for _, s := range r.Sections {
		if slices.Contains(skip, s.ID) {
			continue
		}
		fmt.Fprintf(&b, "\n%s %s {#%s}\n", strings.Repeat("#", s.Level), s.Title, s.ID)
		for _, block := range s.Blocks {
			b.WriteString("\n")
			switch block := block.(type) {
			case document.Paragraph:
				fmt.Fprintln(&b, block.Text)
			case document.List:
				for i, item := range block.Items {
					mark := "-"
					if block.Ordered {
						mark = fmt.Sprint(i+1, ".")
					}
					fmt.Fprintln(&b, mark, item)
				}
			case document.Table:
				fmt.Fprintf(&b, "table %s: %s\n", block.ID, block.Caption)
				for _, c := range block.Columns {
					fmt.Fprintf(&b, "| %s ", c.Title)
				}
				b.WriteString("\n")
				for _, row := range block.Rows {
					for _, cell := range row.Cells {
						fmt.Fprintf(&b, "| %s ", cell)
					}
					fmt.Fprintln(&b, row.Class)
				}
				fmt.Fprintln(&b, "$", block.Command)
			case document.Figure:
				fmt.Fprintf(&b, "figure %s: %s\nalt: %s\n$ %s\n", block.ID, block.Caption, block.Alt, block.Command)
			case document.Code:
				fmt.Fprintln(&b, block.Text)
			}
		}
	}
	return b.String()
}

// lacking returns a document without the rows of a variant.
func lacking(doc compare.Document, variant string) compare.Document {
	doc.Records = slices.DeleteFunc(slices.Clone(doc.Records), func(r compare.Record) bool { return r.Variant == variant })
	return doc
}

// strassens returns rows of a fast variant and of the ladder's packed. The times of the fast variant
// are relative to packed.
func strassens(variant string, over [3]float64, change ...func(*compare.Record)) []compare.Record {
	var rows []compare.Record
	for i, n := range []int{64, 128, 256} {
		s := math.Pow(float64(n)/64, 3)
		work := 2 * math.Pow(float64(n), 3)
		rows = append(rows, reporttest.Row(variant, n, 5e-5*s*over[i], append([]func(*compare.Record){
			reporttest.Predicted(compare.Predicted{Flops: 0.875 * work, Accesses: work, Workspace: 3 << 20, L1Traffic: work / 4,
				L2Traffic: work / 4, Traffic: work / 4}),
			func(r *compare.Record) {
				r.BoundKind, r.Residual, r.Bound = gemm.Normwise, compare.Number(9.0/16*float64(n)*3e-16), 1e-10
			},
		}, change...)...))
	}
	return rows
}

// cutoffs returns a sweep at n = 256 with the given times by cut-off.
func cutoffs(times map[int]float64, change ...func(*compare.Record)) []compare.Record {
	var rows []compare.Record
	for _, cut := range slices.Sorted(maps.Keys(times)) {
		rows = append(rows, reporttest.Row("serial/strassen", 256, times[cut],
			append([]func(*compare.Record){reporttest.Experiment("cutoff"), param("cutoff", cut)}, change...)...))
	}
	return rows
}

// builds returns a variant's child builds, with the speed-up of v3 over v1.
func childBuilds(variant string, v3 float64, change ...func(*compare.Record)) []compare.Record {
	var rows []compare.Record
	for build, gain := range map[string]float64{"v1": 1, "v3": v3, "v1 -B": 1, "v3 -B": v3 * 1.1} {
		rows = append(rows, reporttest.Row(variant, 128, 1e-3/gain,
			append([]func(*compare.Record){built(build)}, change...)...))
	}
	slices.SortFunc(rows, func(a, b compare.Record) int { return strings.Compare(a.Build, b.Build) })
	return rows
}

// peer returns a library's rows with the given times relative to packed.
func peer(name string, over [3]float64, change ...func(*compare.Record)) []compare.Record {
	var rows []compare.Record
	for i, n := range []int{64, 128, 256} {
		r := reporttest.Row("reference/"+name, n, 5e-5*math.Pow(float64(n)/64, 3)*over[i], func(r *compare.Record) {
			r.Resolved = gemm.Params{"version": "1.2.3", "threads": 1}
		})
		for _, f := range change {
			f(&r)
		}
		rows = append(rows, r)
	}
	return rows
}

// onTwo puts a row on two threads.
func onTwo(r *compare.Record) { r.Threads = 2 }

// turned puts all rows of one size and number of threads in one turn.
func turned(doc compare.Document) compare.Document {
	for i := range doc.Records {
		r := &doc.Records[i]
		r.Turn = fmt.Sprint(r.N, " ", r.Threads)
	}
	return doc
}

// twoHosts has the ladder on two hosts, the second ten times as fast.
func twoHosts() compare.Document {
	doc := reporttest.With()
	second := doc.Hosts[0]
	second.ID, second.CPU = "h2", "Other CPU"
	doc.Hosts = append(doc.Hosts, second)
	doc.Runs = append(doc.Runs,
		compare.RunInfo{ID: "r-h2", Host: "h2", Command: "gemm compare", Time: time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC),
			Git: "def456"})
	for _, r := range reporttest.Ladder() {
		onHost("h2")(&r)
		reporttest.Sampled(20, float64(r.Median)/10)(&r)
		doc.Records = append(doc.Records, r)
	}
	return doc
}

// changed applies a change to a document.
func changed(doc compare.Document, by ...func(*compare.Document)) compare.Document {
	for _, f := range by {
		f(&doc)
	}
	return doc
}

// sentence is a document with what its report says and does not say.
type sentence struct {
	name string
	doc  compare.Document
	want []string
	not  []string
}

// sentences are documents and what their reports say, those on threads, ranks, the GPU and codes
// last.
var sentences = slices.Concat([]sentence{
	{"advice that rows judge", judging(), nil, nil},
	{"no records", compare.Document{Schema: 1},
		[]string{"There are no records", "`gemm compare --out report`", "No records"}, nil},
	{"in turn with libraries", peersDocument(), []string{
		"## Geometric means {#means}",
		"Below 1 too, but not distinguishable: 16×4096×4096 f64 1 thread (1.00), 16×4096×4096 f32 1 thread (1.00).",
	}, []string{"`serial/strassen` | 99"}},
	{"held to an instruction set", heldDocument(), []string{
		"All contenders are held to the instruction set `avx2`",
		"`avx2`; libraries and measured peaks are held to it too",
	}, nil},
	{"the fastest", reporttest.With(),
		nil,
		nil},
	{"gonum is a library", reporttest.With(reporttest.Row("serial/gonum", 64, 1e-5)),
		nil, nil},
	{"the fastest on two threads and a library on one", reporttest.With(
		reporttest.Row("parallel/packed", 128, 2e-4, onTwo), reporttest.Row("reference/openblas", 256, 4e-3)),
		nil, nil},
	{"the baseline is the fastest", reporttest.Planted(reporttest.Row("serial/naive", 64, 1e-3)),
		nil, nil},
	{"one row", reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3)),
		nil,
		nil},
	{"a wrong row comes first",
		reporttest.With(reporttest.Row("serial/blocked", 64, 1e-9,
			reporttest.Came(compare.Wrong, "element (0, 1) is 3, want 4"))),
		nil,
		nil},
	{"one divisor of the peak", reporttest.With(
		reporttest.Row("serial/blocked", 64, 5e-5, func(r *compare.Record) { r.Ceiling, r.PercentPeak = 20, 52.4 }),
		reporttest.Row("serial/hinted", 64, 5e-5, func(r *compare.Record) { r.Ceiling, r.PercentPeak = 80, 13.1 })),
		nil, nil},
	{"residuals in three norms", reporttest.With(strassens("serial/strassen", [3]float64{1, 1, 1}, func(r *compare.Record) {
		if r.N == 256 {
			r.BoundKind, r.Residual, r.Bound = gemm.Euclidean, 27./28*3e-16, 1e-8
		}
	})...),
		nil,
		nil},
	{"a wrong row without a number",
		reporttest.With(reporttest.Row("serial/blocked", 64, 1e-9, reporttest.Came(compare.Wrong, ""),
			func(r *compare.Record) { r.Residual = compare.None() })),
		nil, nil},
	{"two wrong rows", reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Came(compare.Wrong, "a")),
		reporttest.Row("serial/blocked", 128, 1, reporttest.Came(compare.Wrong, "b"))),
		nil, nil},
	{"a suspect row", reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Came(compare.Suspect, "too fast"))),
		[]string{"too fast", "suspect"}, []string{"machine was busy"}},
	{"two suspect rows", reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Came(compare.Suspect, "a")),
		reporttest.Row("serial/blocked", 128, 1, reporttest.Came(compare.Suspect, "b"))),
		nil, nil},
	{"failures and timeouts",
		reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Came(compare.Failed, "panicked")),
			reporttest.Row("serial/divide", 64, 1, reporttest.Came(compare.Timeout, "took longer"))),
		[]string{"panicked",
			"| failed (1) |", "| timed out (2) |"}, nil},
	{"failures in number", reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Came(compare.Failed, "x")),
		reporttest.Row("serial/divide", 64, 1, reporttest.Came(compare.Failed, "x")),
		reporttest.Row("serial/blocked", 128, 1, reporttest.Came(compare.Timeout, "y")),
		reporttest.Row("serial/divide", 128, 1, reporttest.Came(compare.Timeout, "y"))),
		nil, nil},
	{"skipped and unavailable rows",
		reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Came(compare.Skipped, "predicted 40 s")),
			reporttest.Row("reference/mkl", 64, 1, reporttest.Came(compare.Unavailable, "no libmkl_rt: install it"))),
		[]string{"| skipped (1) |", "1. predicted 40 s"}, nil},
	{"equal reasons share a note",
		reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Came(compare.Skipped, "too slow")),
			reporttest.Row("serial/blocked", 128, 1, reporttest.Came(compare.Skipped, "too slow"))),
		[]string{"1. too slow"}, []string{"2. too slow", "skipped (2)"}},
	{"a warning is a note", reporttest.With(reporttest.Row("serial/blocked", 64, 1,
		func(r *compare.Record) { r.Warnings = []note.Note{note.Read("the samples scatter")} })),
		[]string{"| ok (1) |", "1. the samples scatter"}, nil},
	{"a state that is not known",
		reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Came("postponed", "later"))),
		[]string{"| postponed (1) |"}, nil},
	{"nothing of a type is ok",
		reporttest.With(reporttest.Row("serial/naive", 64, 1, reporttest.Came(compare.Skipped, "x"),
			func(r *compare.Record) { r.Type = "f32" })),
		nil, nil},
	{"several revisions", changed(reporttest.With(reporttest.Row("serial/ikj", 512, 1,
		func(r *compare.Record) { r.Run = "r2" })), func(d *compare.Document) {
		d.Runs = append(slices.Clone(d.Runs), compare.RunInfo{ID: "r2", Host: "h1", Git: "fff999", Time: d.Runs[0].Time})
	}), nil, nil},

	{"no peak", changed(reporttest.With(), func(d *compare.Document) {
		d.Hosts[0].Ceilings, d.Hosts[0].Quota = nil, compare.None()
		for i := range d.Records {
			d.Records[i].PercentPeak = compare.None()
		}
	}), []string{"Processor time granted | no limit"},
		[]string{"of the measured peak,", "Limited by memory, by"}},
	{"no bandwidth", changed(reporttest.With(), func(d *compare.Document) { d.Hosts[0].Bandwidths = nil }),
		nil,
		nil},
	{"a quota", reporttest.With(),
		[]string{"that of 1.50 processors", "L3 cache, unified | 12 MiB, lines of 64 bytes, shared by 2 processors"},
		[]string{"no limit"}},
	{"a host with a device", changed(reporttest.With(), func(d *compare.Document) {
		h := &d.Hosts[0]
		h.GPUs, h.Driver, h.CUDA, h.MPI = []string{"H200"}, "580", "13.0", "Open MPI 4.1"
	}), []string{"GPUs | H200", "GPU driver | 580", "CUDA | 13.0", "MPI | Open MPI 4.1"}, nil},
	{"no runs", changed(reporttest.With(), func(d *compare.Document) { d.Runs = nil }), []string{"do not say which runs"},
		[]string{"To measure everything again"}},
	{"samples alike", reporttest.With(), nil, nil},
	{"few samples", reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Sampled(1, 1)),
		reporttest.Row("serial/blocked", 128, 1, reporttest.Sampled(2, 1))),
		[]string{"| ok | 1.00 s | — |"}, nil},
	{"one row with few samples", reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Sampled(5, 1))),
		nil, nil},
	{"measurements", changed(reporttest.With(), func(d *compare.Document) {
		d.Measurements = []compare.Measurement{{Host: "h1", Run: "r1", Name: "call overhead",
			Params: gemm.Params{"library": "openblas"}, Unit: "ns", Samples: []float64{500, 540, 560}}}
	}), nil, nil},

	{"other shapes", reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3), reporttest.Row("serial/packed", 64, 1e-4),
		reporttest.Row("serial/ikj", 1, 1e-3, oblong), reporttest.Row("serial/packed", 1, 1e-4, oblong),
		reporttest.Row("serial/packed", 64, 1e-4, func(r *compare.Record) { r.Op, r.Beta, r.LDC = "nt", 0.5, 70 })),
		[]string{"n = 64, 3×5×7.", "--sizes 3x5x7,64", "| 64 nt α=1 β=0.5 ld 64,64,70 |",
			"--beta 0,0.5 --ld 0,6 --trans nn,nt"}, nil},

	{"Strassen pays", reporttest.With(strassens("serial/strassen", [3]float64{1.2, 0.9, 0.8})...),
		nil,
		nil},
	{"Strassen never pays", reporttest.With(strassens("serial/strassen", [3]float64{1.5, 1.4, 1.3})...),
		nil,
		nil},
	{"Strassen below its cut-off", reporttest.With(strassens("serial/strassen", [3]float64{1.01, 0.98, 0.99},
		resolvedAs(gemm.Params{"cutoff": 1200, "leaf": "serial/packed"}))...),
		nil,
		nil},
	{"Strassen partly below its cut-off", reporttest.With(strassens("serial/strassen", [3]float64{0.9, 0.9, 1.2},
		resolvedAs(gemm.Params{"cutoff": 128}))...),
		nil,
		nil},
	{"Strassen is faster at the largest size", reporttest.With(strassens("serial/strassen",
		[3]float64{1.2, 1.1, 0.8})...),
		nil,
		nil},
	{"a cut-off at the size", reporttest.With(cutoffs(map[int]float64{128: 4e-3, 256: 3.1e-3})...),
		nil,
		nil},
	{"Strassen pays in between", reporttest.With(strassens("serial/strassen", [3]float64{1.2, 0.9, 1.1})...),
		nil, nil},
	{"Strassen is level", reporttest.With(strassens("serial/winograd", [3]float64{1.2, 1.1, 1})...),
		nil, nil},
	{"Strassen where it does not recurse",
		reporttest.With(append(strassens("serial/strassen", [3]float64{1.1, 1.4, 1.4}),
			reporttest.Row("serial/packed", 32, 1e-5),
			reporttest.Row("serial/strassen", 32, 1e-5,
				reporttest.Predicted(compare.Predicted{Flops: 65536, Accesses: 1, Workspace: 1, L1Traffic: 65536, L2Traffic: 65536,
					Traffic: 65536})))...),
		nil, nil},
	{"Strassen without packed",
		lacking(reporttest.With(strassens("serial/strassen", [3]float64{1, 1, 1})...), "serial/packed"),
		nil, nil},
	{"Strassen without predictions",
		reporttest.With(strassens("serial/strassen", [3]float64{1.2, 1.2, 1.2}, reporttest.Unpredicted)...),
		nil, nil},
	{"Strassen with few samples",
		reporttest.With(strassens("serial/strassen", [3]float64{1.2, 1.2, 1.2},
			func(r *compare.Record) { r.Samples = r.Samples[:1] })...),
		nil, nil},
	{"bounds of one kind", reporttest.With(strassens("serial/strassen", [3]float64{1.2, 1.2, 1.2},
		func(r *compare.Record) { r.BoundKind, r.Residual = gemm.Componentwise, 5e-16 })...),
		nil, nil},
	{"bounds that do not compare",
		reporttest.With(strassens("serial/strassen", [3]float64{1.2, 1.2, 1.2},
			func(r *compare.Record) { r.BoundKind = "of its own" })...),
		nil, nil},

	{"a cut-off that beats packed", reporttest.With(cutoffs(map[int]float64{1: 1, 64: 4e-3, 128: 3e-3})...),
		nil, nil},
	{"a cut-off that does not", reporttest.With(cutoffs(map[int]float64{128: 4e-3})...),
		nil, nil},
	{"a cut-off that is level", reporttest.With(cutoffs(map[int]float64{128: 3.2e-3})...),
		nil, nil},
	{"a cut-off with few samples",
		reporttest.With(cutoffs(map[int]float64{128: 3.2e-3}, reporttest.Sampled(1, 3.2e-3))...),
		nil, nil},
	{"a cut-off without packed", reporttest.Planted(cutoffs(map[int]float64{128: 3e-3})...),
		nil, nil},
	{"a sweep that failed", reporttest.With(cutoffs(map[int]float64{1: 1},
		reporttest.Came(compare.Skipped, "predicted 9 s"))...),
		[]string{"| 1 | skipped (1) |", "1. predicted 9 s"}, nil},
	{"a wrong cut-off", reporttest.With(cutoffs(map[int]float64{1: 1}, reporttest.Came(compare.Wrong, "off"))...),
		nil, nil},
	{"a sweep with packed in it",
		reporttest.With(append(cutoffs(map[int]float64{128: 4e-3}),
			reporttest.Row("serial/packed", 256, 2e-3, reporttest.Experiment("cutoff")))...),
		nil, nil},

	{"the compiler helps", reporttest.With(childBuilds("serial/hinted", 1.5)...),
		nil, nil},
	{"the compiler hurts", reporttest.With(childBuilds("serial/ikj", 0.8)...),
		nil, nil},
	{"builds with few samples", reporttest.With(childBuilds("serial/ikj", 1, reporttest.Sampled(2, 1))...),
		nil, nil},
	{"no pair of builds", reporttest.With(reporttest.Row("serial/ikj", 128, 1, built("v1")),
		reporttest.Row("serial/ikj", 128, 1, built("v3"), reporttest.Came(compare.Failed, "did not build"))),
		[]string{"1. did not build"},
		[]string{"instead of v1:**"}},
	{"no builds", reporttest.With(),
		nil, nil},

	{"roofline", reporttest.With(),
		nil,
		nil},
	{"a micro-kernel", changed(reporttest.With(), func(d *compare.Document) {
		d.Measurements = []compare.Measurement{{Host: "h1", Run: "r1", Name: "micro-kernel",
			Params: gemm.Params{"type": "f64", "kernel": "go-2x4"}, Unit: "GFLOP/s", Samples: []float64{13, 13.1, 12.9}}}
	}), nil, nil},
	{"far below the peak", reporttest.With(reporttest.Row("serial/unrolled", 64, 1e-3,
		reporttest.Predicted(compare.Predicted{Flops: 524288, Accesses: 1, L1Traffic: 1000, L2Traffic: 1000,
			Traffic: 1000}))),
		nil, nil},
	{"above the roof", reporttest.With(reporttest.Row("serial/blocked", 64, 2e-5)),
		nil,
		nil},
	{"a product as fast as its micro-kernel", changed(reporttest.With(), func(d *compare.Document) {
		d.Measurements = []compare.Measurement{{Host: "h1", Run: "r1", Name: "micro-kernel",
			Params: gemm.Params{"type": "f64", "kernel": "go-2x4"}, Unit: "GFLOP/s", Samples: []float64{9, 9.1, 8.9}}}
	}), nil, nil},

	{"no peers", reporttest.With(),
		nil, nil},
	{"a peer behind", turned(reporttest.With(peer("openblas", [3]float64{2, 2, 3})...)),
		nil,
		nil},
	{"a peer that was not measured in turn", reporttest.With(peer("openblas", [3]float64{2, 2, 3})...),
		nil,
		nil},
	{"a peer on one thread and on two", turned(reporttest.With(append(peer("openblas", [3]float64{2, 2, 2}),
		reporttest.Row("parallel/packed", 256, 1.7e-3, onTwo), reporttest.Row("reference/openblas", 256, 1.6e-3,
			onTwo))...)),
		nil, nil},
	{"a library on ranks beside threads", turned(reporttest.With(
		reporttest.Row("parallel/packed", 256, 1e-3, onTwo),
		reporttest.Row("reference/scalapack", 256, 2e-3, reporttest.OnRanks("ladder", 2)))),
		nil,
		nil},
	{"a peer ahead", turned(reporttest.With(peer("openblas", [3]float64{2, 1, 0.25})...)),
		nil, nil},
	{"a peer with few samples", turned(reporttest.With(peer("openblas", [3]float64{2, 2, 2},
		reporttest.Sampled(1, 1))...)),
		nil, nil},
	{"a peer in turn", reporttest.Planted(reporttest.Row("serial/packed", 64, 2e-3, reporttest.Turn("t")),
		reporttest.Row("serial/ikj", 64, 1e-3), reporttest.Row("reference/mkl", 64, 1e-3, reporttest.Turn("t"))),
		nil, nil},
	{"a peer alone", reporttest.Planted(reporttest.Row("reference/mkl", 64, 1e-3,
		func(r *compare.Record) { r.Threads = 2 }), reporttest.Row("serial/packed", 64, 1e-3)),
		nil,
		nil},

	{"a field at two sizes", reporttest.Planted(reporttest.Row("serial/naive", 64, 1e-3, field),
		reporttest.Row("serial/naive", 128, 8e-3, field)), nil, nil},
	{"a field", reporttest.With(reporttest.Row("serial/naive", 64, 1e-3, field),
		reporttest.Row("serial/ikj", 64, 5e-4, field)),
		nil, nil},
	{"another experiment", reporttest.With(reporttest.Row("parallel/rows", 256, 1e-3, reporttest.Experiment("strong"),
		param("threads", 2), func(r *compare.Record) { r.Threads = 2 })),
		[]string{"| Threads |"}, nil},

	{"a family that could not run for two reasons",
		reporttest.With(reporttest.Row("mpi/summa", 64, 1, reporttest.Came(compare.Unavailable, "built without MPI")),
			reporttest.Row("mpi/p2p-rows", 64, 1, reporttest.Came(compare.Skipped, "too slow"))),
		[]string{"built without MPI"}, []string{"in no table"}},
	{"rows that were unavailable for one reason",
		reporttest.With(reporttest.Row("reference/mkl", 64, 1, reporttest.Came(compare.Unavailable, "no MKL")),
			reporttest.Row("reference/mkl", 128, 1, reporttest.Came(compare.Unavailable, "no MKL")),
			reporttest.Row("reference/blis", 64, 1, reporttest.Came(compare.Unavailable, "no BLIS")),
			reporttest.Row("reference/openblas", 64, 1e-3)),
		nil, nil},

	{"two hosts", twoHosts(),
		[]string{"On Test CPU:", "On Other CPU:"},
		[]string{"200 times", "100 times"}},
	{"a wrong row names its host",
		changed(twoHosts(), func(d *compare.Document) { reporttest.Came(compare.Wrong, "zeroed")(&d.Records[0]) }),
		nil, nil},
	{"a run narrowed to variants",
		changed(reporttest.With(peer("openblas", [3]float64{1, 1, 1})...), func(d *compare.Document) {
			d.Runs[0].Command = "gemm compare --variants serial/packed,reference/openblas"
		}), nil, nil},
	{"a run with limits", changed(reporttest.With(),
		func(d *compare.Document) { d.Runs[0].Command = "gemm serial --sizes 64 --time=3s --reps 9" }),
		[]string{"--type f64 --reps 9 --time 3s --json serial-f64.json && gemm report --in serial-f64.json --out again"},
		[]string{"--seed"}},
	{"the reasons are given once", reporttest.With(append(strassens("serial/strassen", [3]float64{1.2, 1.2, 1.2}),
		append(strassens("serial/strassen", [3]float64{1.2, 1.2, 1.2}, reporttest.Single),
			reporttest.Row("serial/packed", 256, 3.2e-3, reporttest.Single))...)...),
		nil,
		nil},
	{"a row that says nothing", reporttest.Planted(compare.Record{Key: compare.Key{Host: "h1"}}),
		nil, nil},
	{"a row on a host that is not described",
		changed(reporttest.With(), func(d *compare.Document) { d.Hosts, d.Runs = nil, nil }),
		[]string{"Id | `h1`"}, nil},
	{"a row that took no time", reporttest.With(reporttest.Row("serial/blocked", 64, 0)), []string{"| ok | 0 s |"}, nil},
	{"markup in data is literal",
		reporttest.With(reporttest.Row("serial/blocked", 64, 1, reporttest.Came(compare.Skipped, "a*b [c](d) `e`"))),
		[]string{"a\\*b \\[c\\](d) \\`e\\`"}, nil},
}, stepSentences, sharingSentences, rankSentences, gpuSentences, insideSentences, codesSentences, outsideSentences,
	labSentences)

// oblong makes a row one of 3×5 elements with k = 7.
func oblong(r *compare.Record) {
	r.M, r.N, r.K, r.LDA, r.LDB, r.LDC = 3, 5, 7, 7, 5, 5
}

// TestMain has garbage collected less often: to render hundreds of reports makes much of it.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// TestPlantedRecords renders the report and the appendix of every document in both languages, and checks what
// must be true of all, and what they say.
func TestPlantedRecords(t *testing.T) {
	for at, test := range slices.Concat(sentences, answers) {
		t.Run(test.name, func(t *testing.T) {
			for _, lang := range text.Languages {
				reports := documents(test.doc, lang)
				checkContent(t, test, lang, reports)
				switch {
				case lang == "zh":
					checkChinese(t, test.doc, reports)
				case at < len(sentences):
					checkRows(t, test, reports[0])
					checkAnswer(t, test, reports...)
				default:
					checkAnswer(t, test, reports[1])
				}
			}
		})
	}
}

// checkAnswer checks what documents say.
func checkAnswer(t *testing.T, test sentence, reports ...document.Report) {
	t.Helper()
	var got string
	for _, r := range reports {
		got += allText(r, "references")
	}
	for _, want := range test.want {
		if !strings.Contains(got, want) {
			t.Errorf("does not say %q:\n%s", want, got[:min(len(got), 3000)])
		}
	}
	for _, not := range test.not {
		if strings.Contains(got, not) {
			t.Errorf("says %q", not)
		}
	}
}

// heldDocument is peersDocument with contenders that are held to AVX2.
func heldDocument() compare.Document {
	d := peersDocument()
	d.Hosts = slices.Clone(d.Hosts)
	d.Hosts[0].ISA, d.Hosts[0].Held = "avx2", true
	return d
}

func TestEveryPhraseIsSaid(t *testing.T) {
	said := map[string]bool{}
	for _, test := range slices.Concat(sentences, answers) {
		ids := map[string]bool{}
		for _, id := range []string{"speedup-f64", "gflops-serial-f64", "rate-gf256", "strassen-crossover-f64", "cutoff-f64",
			"compiler-f64", "roofline-f64", "chunk-static-f64", "timeline-1",
			"mpi-ways-f64-1024", "mpi-distribution-f64", "mpi-phases-f64", "mpi-bytes-f64", "mpi-network",
			"mpi-panel-f64",
			"mpi-gap-f64",
			"gpu-ladder-f32", "gpu-rates-f32", "gpu-rates-tf32", "gpu-sgemm", "gpu-host-f32", "codes-64-KiB", "codes-width",
			"codes-rungs", "tiles-gf256", "gpu-occupancy-threads", "gpu-occupancy-registers", "gpu-occupancy-memory",
			"square-f64-1", "occupancy-threads", "occupancy-registers", "occupancy-memory",
			"waterfall-f64", "families-f64", "compiler-c-f64", "openmp-f64", "orders-f64", "times-f64",
			"loops-f64", "topology",
			"placement-workers", "placement-ranks", "mpi-timeline", "gpu-timeline", "gpu-waves-f32", "gpu-inside-f32",
			"gpu-errors"} {
			ids[id] = true
		}
		ids["strong-speedup-f64"], ids["mpi-strong-speedup-f64"] = true, true
		b := chapters.New(test.doc, "", "", ids)
		assemble(b)
		figures.Titled(test.doc, b.Speaker)
		maps.Copy(said, b.Said())
		b = chapters.New(test.doc, "", "", ids)
		b.Excerpts = planted.Excerpts
		read(b, nil)
		maps.Copy(said, b.Said())
	}
	for _, key := range text.Keys("en") {
		if !said[key] && !strings.HasPrefix(key, "note.") &&
			!strings.HasPrefix(key, "cover.") { // which have tests of their own
			t.Errorf("no planted document makes the report say %s", key)
		}
	}
}

var (
	literal = regexp.MustCompile("(?s)`[^`]*`|\\]\\([^)]*\\)")
	english = regexp.MustCompile(`[A-Za-z]{2,}(?: [a-z]{2,}){2,}`)
)

// checkChinese checks that reports in Chinese have no English sentence.
func checkChinese(t *testing.T, doc compare.Document, reports []document.Report) {
	t.Helper()
	for _, r := range reports {
		for line := range strings.Lines(allText(r, "references")) { // whose titles stay in their language
			if strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "gemm ") {
				continue // commands
			}
			if found := english.FindString(literal.ReplaceAllString(line, "")); found != "" && !inRecords(doc, found) {
				t.Errorf("%q is English: %s", found, line)
			}
		}
	}
}

// inRecords reports whether words are data: a reason, a warning, a name.
func inRecords(doc compare.Document, words string) bool {
	for _, r := range doc.Records {
		if strings.Contains(fmt.Sprint(r.Reason, r.Warnings)+string(r.BoundKind)+heldBy(r), words) {
			return true
		}
	}
	return false
}

// checkContent checks what must be true of every report and appendix.
func checkContent(t *testing.T, test sentence, lang string, reports []document.Report) {
	t.Helper()
	drawn := map[string]bool{}
	for _, d := range figures.Drawings(test.doc, lang) {
		drawn[d.ID] = true
	}
	placed, appendix := map[string]bool{}, map[string]bool{}
	for i, r := range reports {
		c := &content{name: fmt.Sprintf("%s: document %d", lang, i), drawn: drawn, placed: placed,
			ids: map[string]bool{}}
		c.check(t, r)
		if i == 0 {
			appendix = c.ids
		}
		c.links(t, r, appendix)
	}
}

// content is what is found in a document.
type content struct {
	name               string
	ids, drawn, placed map[string]bool
}

// once notes an ID.
func (c *content) once(t *testing.T, id string) {
	if c.ids[id] {
		t.Errorf("%s: id %s is given twice", c.name, id)
	}
	c.ids[id] = true
}

// check looks at every block.
func (c *content) check(t *testing.T, r document.Report) {
	for _, s := range r.Sections {
		c.once(t, s.ID)
		for _, block := range s.Blocks {
			switch block := block.(type) {
			case document.Table:
				c.once(t, block.ID)
				for _, row := range block.Rows {
					if len(row.Cells) != len(block.Columns) {
						t.Errorf("%s: a row of %s has %d cells for %d columns", c.name, block.ID, len(row.Cells),
							len(block.Columns))
					}
				}
				if len(block.Rows) == 0 {
					t.Errorf("%s: table %s is empty", c.name, block.ID)
				}
			case document.Figure:
				c.once(t, block.ID)
				if !c.drawn[block.ID] {
					t.Errorf("%s: there is no drawing %s", c.name, block.ID)
				}
				c.placed[block.ID] = true
				if block.Command == "" && !r.Copied || block.Alt == "" {
					t.Errorf("%s: figure %s has no command or no alternative text", c.name, block.ID)
				}
			case document.Algorithms:
				for _, a := range block.Items {
					c.once(t, a.ID)
				}
			case document.Listing:
				c.once(t, block.ID)
			case document.List:
				for _, id := range block.IDs {
					c.once(t, id)
				}
				if len(block.Items) == 0 {
					t.Errorf("%s: an empty list in %s", c.name, s.ID)
				}
			case document.Paragraph:
				if block.Text == "" {
					t.Errorf("%s: an empty paragraph in %s", c.name, s.ID)
				}
			}
		}
	}
}

// links looks for what no text may have, and for the targets of links, here and in the appendix.
func (c *content) links(t *testing.T, r document.Report, appendix map[string]bool) {
	all := allText(r)
	for _, bad := range []string{"NaN", "Inf", "<nil>", "%!", "\x00"} {
		if strings.Contains(all, bad) {
			t.Errorf("%s: the report says %q", c.name, bad)
		}
	}
	for _, m := range regexp.MustCompile(`\]\((appendix)?#([^)]*)\)`).FindAllStringSubmatch(all, -1) {
		ids := c.ids
		if m[1] != "" {
			ids = appendix
		}
		if !ids[m[2]] {
			t.Errorf("%s: a link goes to %s#%s, which is not there", c.name, m[1], m[2])
		}
	}
}

// checkRows counts the rows of the table of all rows.
func checkRows(t *testing.T, test sentence, appendix document.Report) {
	t.Helper()
	shown := 0
	for _, s := range appendix.Sections {
		for _, block := range s.Blocks {
			if table, ok := block.(document.Table); ok && strings.HasPrefix(table.ID, "table-rows") {
				shown += len(table.Rows)
			}
		}
	}
	if shown != len(test.doc.Records) {
		t.Errorf("the table shows %d rows of %d", shown, len(test.doc.Records))
	}
}

// everything returns records of all families, each on a host: rows of every status, threads, ranks, a GPU and codes.
func everything(t *testing.T) compare.Document {
	t.Helper()
	trouble := reporttest.With(slices.Concat(
		strassens("serial/strassen", [3]float64{1.4, 1.2, 0.9}),
		[]compare.Record{
			reporttest.Row("serial/blocked", 64, 1, reporttest.Came(compare.Wrong, "element (3, 4) is 0, want 36.1")),
			reporttest.Row("serial/divide", 256, 1, reporttest.Came(compare.Skipped, "predicted 12 s, the budget is 10 s")),
		},
		cutoffs(map[int]float64{16: 5e-3, 64: 3e-3, 128: 2.9e-3}),
		childBuilds("serial/hinted", 1.4),
		peer("openblas", [3]float64{0.9, 0.5, 0.2}),
		[]compare.Record{reporttest.Row("reference/mkl", 64, 1,
			reporttest.Came(compare.Unavailable, "no libmkl_rt.so: install intel-mkl"))},
		[]compare.Record{reporttest.Row("serial/naive", 64, 1e-3, field), reporttest.Row("serial/ikj", 64, 4e-4, field)},
	)...)
	doc, err := compare.Merge(trouble, threaded(), launched(), accelerated(true), encoded())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestGoldenContent compares the appendix on all families with a file, in each language: every sentence that depends on
// records, once, and of each table the head and two rows. Values are the matter of the other tests. The chapter of all
// rows has one table here.
func TestGoldenContent(t *testing.T) {
	doc := everything(t)
	for _, lang := range text.Languages {
		appendix := Appendix(doc, Options{Lang: lang})
		appendix.Sections = slices.DeleteFunc(appendix.Sections, func(s document.Section) bool {
			return s.ID == "references" || s.ID == "commands" || s.ID == "measured"
		})
		for _, s := range appendix.Sections {
			for i, block := range s.Blocks {
				if table, ok := block.(document.Table); ok {
					table.Rows = table.Rows[:min(2, len(table.Rows))]
					s.Blocks[i] = table
				}
			}
		}
		var lines strings.Builder
		said := map[string]bool{"\n": true}
		for line := range strings.Lines(allText(appendix)) {
			if !said[line] && !strings.HasPrefix(line, "$") {
				lines.WriteString(line)
			}
			said[line] = true
		}
		reporttest.Golden(t, "content-"+lang+".golden", []byte(lines.String()))
	}
}
