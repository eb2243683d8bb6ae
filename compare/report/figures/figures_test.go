package figures_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/gemmtest/reporttest"
	"gemm/internal/timeline"
)

var row, planted, turn = reporttest.Row, reporttest.Planted, reporttest.Turn

// words returns what a chart shows: a line for each series with its points, for each group with its bars, or for each
// lane. Intervals of more than 2 % are written.
func words(ch chart.Chart) string {
	var out strings.Builder
	value := func(p chart.Point) string {
		if p.Hi > 1.02*p.Lo {
			return fmt.Sprintf("%.3g(%.3g–%.3g)", p.Y, p.Lo, p.Hi)
		}
		return fmt.Sprintf("%.3g", p.Y)
	}
	switch ch := ch.(type) {
	case chart.Curve:
		for _, s := range ch.Series {
			fmt.Fprintf(&out, "%s:", s.Label)
			for _, p := range s.Points {
				fmt.Fprintf(&out, " %.4g→%s", p.X, value(p))
			}
			fmt.Fprintln(&out)
		}
		if ch.Limit.Level > 0 {
			fmt.Fprintf(&out, "limit %.3g\n", ch.Limit.Level)
		}
		if ch.Slope.Rise > 0 {
			fmt.Fprintf(&out, "slope %.3g\n", ch.Slope.Rise)
		}
	case chart.Bars:
		for _, g := range ch.Groups {
			fmt.Fprintf(&out, "%s:", g.Label)
			for _, b := range g.Bars {
				if ch.Names != nil {
					fmt.Fprintf(&out, " %s", ch.Names[b.Color])
				}
				if b.From != 0 {
					fmt.Fprintf(&out, " %.3g→", b.From)
				}
				fmt.Fprintf(&out, " %s", value(b.Point))
			}
			fmt.Fprintln(&out)
		}
	case chart.Columns:
		fmt.Fprintln(&out, strings.Join(ch.Names, ", "))
		for _, block := range ch.Blocks {
			for _, g := range block.Groups {
				fmt.Fprintf(&out, "%s, %s:", block.Label, g.Label)
				for _, b := range g.Bars {
					fmt.Fprintf(&out, " %.3g/%.3g", b.Y, b.Mark)
				}
				fmt.Fprintln(&out)
			}
		}
	case chart.Lanes:
		for _, p := range ch.Panels {
			fmt.Fprintf(&out, "%s, %.3g\n", p.Label, p.End)
			for i, lane := range p.Lanes {
				fmt.Fprintf(&out, " %d:", i)
				for _, b := range lane {
					fmt.Fprintf(&out, " %.3g–%.3g", b.From, b.To)
					if ch.Kinds != nil {
						fmt.Fprintf(&out, " %s", ch.Kinds[b.Kind])
					}
				}
				fmt.Fprintln(&out)
			}
		}
	}
	return out.String()
}

func with(name string, value any) func(*record.Record) {
	return func(r *record.Record) { r.Params = gemm.Params{name: value} }
}

// build makes a row one of a build of the experiment compiler.
func build(name string) func(*record.Record) {
	return func(r *record.Record) { r.Experiment, r.Build = record.CompilerOptions, name }
}

// inC makes a row one of a loop in C, or of a loop in Go next to it.
func inC(options string) func(*record.Record) {
	return func(r *record.Record) {
		r.Experiment, r.Turn = record.CompilerOptions, fmt.Sprint("compiler ", r.N)
		if options != "" {
			r.Params = gemm.Params{"cflags": options}
			r.Resolved = gemm.Params{"cflags": options, "compiler": "gcc 12.2"}
		}
	}
}

// coded makes a row one of a code of data and parity shards.
func coded(k, m, threads int) func(*record.Record) {
	return func(r *record.Record) {
		r.Type, r.Compute, r.M, r.K, r.LDA, r.Predicted, r.Threads = "gf256", "gf256", m, k, k, nil, threads
		r.DataGBps = record.Number(float64(k) * float64(r.N) / float64(r.Median) / 1e9)
		r.Rate = record.Number(m) * r.DataGBps
	}
}

// kernel has the kernel of the 2024 report by schedule, threads, size and chunk, and OpenMP.
func kernel() record.Document {
	var rows []record.Record
	const pool, other = "parallel/collapse-atomic", "reference/openmp-collapse"
	add := func(variant string, experiment record.Experiment, n int, ms float64, threads int, params ...any) {
		rows = append(rows, row(variant, n, ms/1e3/float64(threads), turn(fmt.Sprint(experiment, variant, n)),
			reporttest.ThreadsOf(experiment, threads, params...)))
	}
	for _, threads := range []int{1, 2} {
		for _, schedule := range []string{"static", "dynamic"} {
			for i, n := range []int{128, 256} {
				add(pool, record.StrongScaling, n, float64(1+7*i), threads, "schedule", schedule)
				add(pool, record.OpenMPLoops, n, 30, threads, "schedule", schedule, "chunk", 0)
			}
			add(other, record.OpenMPLoops, 128, 0.5, threads, "schedule", schedule, "chunk", 0)
		}
		for i, chunk := range []int{0, 1, 16} {
			add(pool, record.ChunkSizes, 512, float64(4+i), threads, "schedule", "dynamic", "chunk", chunk)
			add("parallel/rows", record.ChunkSizes, 1024, 1, threads, "schedule", "dynamic", "chunk", chunk)
		}
		add(other, record.OpenMPLoops, 512, 6, threads, "schedule", "dynamic", "chunk", 16)
	}
	return reporttest.Many(rows...)
}

func userRows() record.Document {
	mine := func(r *record.Record) {
		r.Resolved = gemm.Params{"file": "mine.c", "compiler": "gcc 12", "cflags": "-O3", "abi": "square"}
	}
	return planted(row("serial/naive", 64, 1e-2), row("serial/naive", 128, 8e-2),
		row("serial/ikj", 128, 4e-2), row("serial/packed", 128, 1e-3), row("serial/packed", 64, 1e-3),
		row("user/mine", 64, 1e-4, mine), row("user/mine", 128, 2e-4, mine))
}

func onGPU() record.Document {
	var rows []record.Record
	for _, n := range []int{1024, 1025, 2048} {
		work := math.Pow(float64(n)/1024, 3)
		rows = append(rows, reporttest.Kernel("naive", n, 1e-3*work, reporttest.Copied(1e-3, 5e-4, 2e-3)),
			reporttest.Kernel("tf32-mma", n, 1e-4*work), reporttest.Kernel("cublas", n, 5e-4*work),
			reporttest.Kernel("dmma", n, 2e-3*work, reporttest.Double), row("serial/packed", n, 1*work, reporttest.Single))
	}
	doc := planted(rows...)
	doc.Hosts[0].Ceilings = append(doc.Hosts[0].Ceilings, record.Ceiling{Unit: "gpu", Pipe: "f64", Gflops: 33100},
		record.Ceiling{Unit: "gpu", Pipe: "f64-tensor", Gflops: 65800},
		record.Ceiling{Unit: "gpu", Pipe: "tf32", Gflops: 4e5})
	return doc
}

func traced(variant string, phases ...timeline.Phase) record.Document {
	doc := planted(row(variant, 64, 3e-3))
	trace := record.Trace{Run: "r1", Workers: 2, Seconds: 3e-3, Key: doc.Records[0].Key}
	trace.Phases, trace.Lanes, trace.Ranks = phases, []string{"h2d", "kernels"}, []record.Rank{{}, {Rank: 1}}
	doc.Traces = []record.Trace{trace}
	return doc
}

var tests = []struct {
	name, id string
	doc      func() record.Document
	want     string
}{
	{"the later of two rows stands, a wrong one does not", "gflops-serial-f64", func() record.Document {
		wide := row("serial/ikj", 128, 8e-6)
		wide.Median, wide.Gflops, wide.CI = 8e-6, 0.5, &[2]float64{4e-6, 16e-6}
		return planted(row("serial/ikj", 64, 1e-6), wide, row("serial/ikj", 64, 2e-6),
			row("serial/ikj", 256, 1e-3, reporttest.WithStatus(record.Wrong, "x")),
			row("serial/blocked", 64, 1e-4, with("block", 16)), row("serial/blocked", 64, 1e-5, with("block", 32)),
			row("reference/mkl", 64, 1e-7), row("reference/mkl", 128, 1e-6))
	}, "ikj: 64→262 128→0.5(0.25–1)\nblocked block=16: 64→5.24\nblocked block=32: 64→52.4\nlimit 40\n"},
	{"an interleaved packed is the base", "strassen-crossover-f64", func() record.Document {
		sweep := func(n, cut int, s float64) record.Record {
			return row("serial/strassen", n, s, reporttest.Experiment("cutoff"), with("cutoff", cut))
		}
		return planted(row("serial/packed", 128, 1e-3), row("serial/packed", 256, 8e-3),
			row("serial/strassen", 128, 2e-3), row("serial/strassen", 256, 8e-3),
			sweep(256, 32, 16e-3), sweep(256, 64, 4e-3), sweep(256, 128, 5e-3), sweep(128, 64, 4e-3),
			row("serial/winograd", 256, 8e-3, turn("t")),
			row("serial/packed", 256, 16e-3, turn("t"), reporttest.Experiment("turn")))
	}, "strassen: 128→0.5 256→1\nwinograd: 256→2\nstrassen, best cut-off: 128→0.25 256→2\nlimit 1\n"},
	{"an interval as wide as both allow", "strassen-crossover-f64", func() record.Document {
		timed := func(variant string, n int, median, lo, hi float64) record.Record {
			return row(variant, n, median, func(r *record.Record) {
				if r.CI = nil; lo > 0 {
					r.CI = &[2]float64{lo, hi}
				}
			})
		}
		return planted(timed("serial/packed", 64, 6, 3, 12), timed("serial/strassen", 64, 2, 1, 4),
			timed("serial/packed", 128, 6, 0, 0), timed("serial/strassen", 128, 6, 0, 0))
	}, "strassen: 64→3(0.75–12) 128→1\nlimit 1\n"},
	{"one thread", "roofline-f64", func() record.Document {
		return planted(row("serial/naive", 64, 1e-6), row("serial/ikj", 64, 2e-6),
			row("parallel/rows", 64, 1e-6, func(r *record.Record) { r.Threads = 2 }))
	}, "naive: 1→524\nikj: 1→262\nlimit 40\nslope 10\n"},
	{"the size of most variants", "compiler-f64", func() record.Document {
		return planted(row("serial/ikj", 128, 1e-3, build("v1")),
			row("serial/ikj", 128, 5e-4, build("v3")), row("serial/ikj", 128, 8e-4, build("v3 -B")),
			row("serial/naive", 128, 1e-3, build("v1")), row("serial/ikj", 256, 1e-3, build("v1")))
	}, "serial/ikj: v1 1 v3 2 v3 without bounds checks 1.25\n"},
	{"a gain over one thread", "strong-speedup-f64", func() record.Document {
		return reporttest.Many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.5, 4: 0.4}, "schedule", "static")...)
	}, "rows, static: 1→1 2→2 4→2.5\nideal: 1→1 2→2 4→4\n"},
	{"a gain over one rank", "mpi-strong-speedup-f64", func() record.Document {
		return reporttest.Many(reporttest.RankRows("summa", map[int]float64{1: 1, 4: 0.5})...)
	}, "summa: 1→1 4→2\nideal: 1→1 4→4\n"},
	{"bytes", "mpi-bytes-f64", func() record.Document {
		return reporttest.Many(reporttest.RankRows("summa", map[int]float64{1: 1, 2: 1, 4: 0.5})...)
	}, "summa: 2→1.5 4→1.5\nlimit 1\n"},
	{"phases of the slowest rank", "mpi-phases-f64", func() record.Document {
		return reporttest.Many(reporttest.RankRows("summa", map[int]float64{2: 4})...)
	}, "mpi/summa: compute 2\n"},
	{"rows of the experiment on distributions before others", "mpi-distribution-f64", func() record.Document {
		of := func(experiment record.Experiment, variant string, ms map[int]float64) []record.Record {
			rows := reporttest.RankRows(variant, ms)
			for i := range rows {
				rows[i].Experiment = experiment
			}
			return rows
		}
		return reporttest.Many(slices.Concat(of(record.StrongScaling, "p2p-rows", map[int]float64{2: 9, 4: 2}),
			of(record.Distributions, "p2p-rows", map[int]float64{2: 4}),
			of(record.Distributions, "scatter-rows", map[int]float64{2: 3}),
			of(record.WeakScaling, "p2p-rows", map[int]float64{8: 1}))...)
	}, `p2p-rows, scatter-rows, scatter-blocks
n = 256, 2: 4/0 3/0 0/0
n = 256, 4: 2/0 0/0 0/0
`},
	{"an unset chunk is at the left", "chunk-static-f64", func() record.Document {
		return reporttest.Many(reporttest.Swept("chunk", "chunk", []any{0, 4, 16}, []float64{1, 2, 4},
			"schedule", "static")...)
	}, "4 threads: 1→1 4→2 16→4\n"},
	{"the kernel of 2024 and OpenMP", "chunk-dynamic-f64", kernel,
		"1 thread: 0.25→4 1→5 16→6\n2 threads: 0.25→2 1→2.5 16→3\nOpenMP, 1 thread: 16→6\nOpenMP, 2 threads: 16→3\n"},
	{"rows of strong scaling before slower ones", "times-f64", kernel,
		`n = 128, 256, 512
static, 1: 1/0.5 8/0 0/0
static, 2: 0.5/0.25 4/0 0/0
dynamic, 1: 1/0.5 8/0 4/0
dynamic, 2: 0.5/0.25 4/0 2/0
`},
	{"pool and OpenMP", "openmp-f64", kernel, `pool, static: 1→0.14 2→0.28
OpenMP, static: 1→8.39 2→16.8
pool, dynamic: 1→0.14 2→0.28
OpenMP, dynamic: 1→8.39 2→16.8
`},
	{"loops between the sizes of those in C", "loops-f64", func() record.Document {
		return planted(row("reference/c-naive", 64, 1e-3, inC("-O0")),
			row("reference/c-naive", 128, 8e-3, inC("-O0")), row("reference/c-naive", 128, 2e-3, inC("-O3 -g")),
			row("serial/naive", 128, 3e-3, inC("")), row("serial/naive", 128, 1e-6), row("serial/naive", 32, 1))
	}, "Go naive: 128→1.4\nC naive -O0: 64→0.524 128→0.524\nC naive -O3: 128→2.1\n"},
	{"the innermost loop has the colour", "orders-f64", func() record.Document {
		return planted(row("serial/orders", 128, 4e-3, with("order", "ijk")),
			row("serial/orders", 128, 1e-3, with("order", "ikj")))
	}, "ijk: row of A, column of B 1.05\nikj: rows of B and C 4.19\n"},
	{"a kernel of the user is apart", "waterfall-f64", userRows,
		"serial/ikj: 1→ 2\nserial/packed: 2→ 80\nuser/mine: 1→ 400\n"},
	{"the best of families", "families-f64", userRows, `serial/naive: 64→0.0524 128→0.0524
serial, best: 64→0.524 128→4.19
user/mine: 64→5.24 128→21
limit 40
`},
	{"the best rung in single precision next to TF32", "gpu-rates-tf32", onGPU, `tf32-mma: 1024→21.5 2048→21.5
best without tensor cores: 1024→2.15 2048→2.15
limit 400
`},
	{"a gain over one GPU", "gpus-strong-speedup-f32", func() record.Document {
		on := func(n int) func(*record.Record) {
			return func(r *record.Record) { r.Resolved = gemm.Params{"devices": n, "local": "cuda/tuned"} }
		}
		return planted(reporttest.Kernel("tuned", 1024, 1), reporttest.Kernel("multi", 1024, 0.5, on(2)),
			reporttest.Kernel("multi", 1024, 0.4, on(4)))
	}, "multi: 1→1 2→2 4→2.5\nideal: 1→1 2→2 4→4\n"},
	{"two pipes", "gpu-rates-f64", onGPU, `dmma: 1024→1.07 2048→1.07
peak of the f64 pipe: 1024→33.1 2048→33.1
limit 65.8
`},
	{"by precision", "errors", onGPU, `f64: 1.074→1e-16
f32: 2.147→1e-16
f32, libraries: 4.295→1e-16
f32, processor: 0.002147→1e-16
TF32: 21.47→0.001
`},
	{"streams", "gpu-timeline", func() record.Document {
		return traced("cuda/naive", timeline.Phase{Lane: 1, Name: "kernels", Begin: 1e-3, End: 2e-3},
			timeline.Phase{Name: "h2d", End: 1e-3})
	}, "cuda/naive: 3.00 ms, 3\n 0: 0–1 h2d\n 1: 1–2 kernels\n"},
	{"calls and unknown lanes are not drawn", "mpi-timeline", func() record.Document {
		return traced("mpi/summa", timeline.Phase{Name: "communicate", End: 1e-3},
			timeline.Phase{Lane: 9, Name: "compute", End: 1}, timeline.Phase{Name: "compute", Call: "bcast", End: 1e-3},
			timeline.Phase{Lane: 1, Name: timeline.Waiting, End: 4e-3})
	}, "mpi/summa: 3.00 ms, 4\n 0: 0–1 communicate\n 1: 0–4 wait\n"},
	{"every worker", "timeline-1", func() record.Document {
		doc := traced("parallel/rows")
		doc.Traces[0].Params = gemm.Params{"threads": 2, "schedule": "guided"}
		doc.Traces[0].Spans = []timeline.Span{{Worker: 1, Begin: 1e-3, End: 3e-3, To: 2}, {Worker: 1, End: 1e-3, To: 1},
			{Worker: 7, End: 1}, {Worker: -1, End: 1}}
		return doc
	}, "guided: 3.00 ms, busy 50.0 %, 3\n 0:\n 1: 0–1 1–3\n"},
	{"limits where there are rows", "codes-64-KiB", func() record.Document {
		doc := planted()
		doc.Hosts[0].Ceilings = []record.Ceiling{{Unit: "cpu", Pipe: "gf256", Threads: 1, Gflops: 240, Run: "r1"}}
		doc.Hosts[0].Bandwidths = append(doc.Hosts[0].Bandwidths, record.Bandwidth{Unit: "gpu", Name: "copy", GBps: 1000})
		for _, code := range [][2]int{{10, 4}, {4, 2}} {
			doc.Records = append(doc.Records, row("serial/packed", 64<<10, 1e-5, coded(code[0], code[1], 1)),
				row("reference/reedsolomon", 64<<10, 2e-5, coded(code[0], code[1], 1)),
				row("cuda/tuned", 64<<10, 1e-6, coded(code[0], code[1], 1), func(r *record.Record) {
					r.GPU = &record.Device{Pipe: "gf256"}
				}))
		}
		doc.Records = append(doc.Records, row("serial/ikj", 64<<10, 1e-4, coded(4, 2, 1)))
		return doc
	}, `serial/packed: 1→26.2 2→65.5
reedsolomon: 1→13.1 2→32.8
cuda/tuned: 1→262 2→655
limit: multiplying, 1 thread: 1→120 2→60
limit: memory, 1 thread: 1→6.67 2→7.14
limit: memory of the GPU: 1→667 2→714
`},
	{"contenders up to the ceiling", "square-f64-1", func() record.Document {
		var rows []record.Record
		for _, n := range []int{512, 1024} {
			for i, variant := range []string{"serial/packed", "reference/mkl"} {
				rows = append(rows, row(variant, n, float64(i+1)*1e-2, turn(fmt.Sprint("peers ", n)),
					func(r *record.Record) { r.Ceiling = 40 }))
			}
		}
		return planted(rows...)
	}, `serial/packed: 512→26.8 1024→215
reference/mkl: 512→13.4 1024→107
limit 40
`},
}

func TestValues(t *testing.T) {
	for _, test := range tests {
		all := figures.Of(test.doc())
		if _, ok := all.Find(test.id + "x"); ok {
			t.Errorf("%sx is found", test.id)
		}
		d, ok := all.Find(test.id)
		if got := words(d.Chart); !ok || got != test.want {
			t.Errorf("%s, %s: drawn is\n%swant\n%s", test.id, test.name, got, test.want)
		}
	}
}

// TestNothingIsDrawn has records that have no figure.
func TestNothingIsDrawn(t *testing.T) {
	change := func(f func(*record.Record)) record.Document {
		return planted(row("serial/ikj", 64, 1e-3, f), row("serial/ikj", 128, 1e-3, f))
	}
	for name, doc := range map[string]record.Document{
		"no rows": planted(),
		"one chunk": planted(row("parallel/rows", 64, 1e-3,
			reporttest.ThreadsOf("chunk", 2, "schedule", "static", "chunk", 4))),
		"one size":    planted(row("serial/ikj", 64, 1e-3)),
		"wrong":       change(reporttest.WithStatus(record.Wrong, "x")),
		"not square":  change(func(r *record.Record) { r.M, r.N, r.K, r.LDA, r.LDB, r.LDC = 3, 5, 7, 7, 5, 5 }),
		"transposed":  change(func(r *record.Record) { r.Op = "tn" }),
		"no baseline": planted(row("serial/ikj", 64, 1e-3), row("serial/packed", 64, 1e-3, reporttest.Unpredicted)),
		"one build":   planted(row("serial/ikj", 64, 1e-3, build("v1"))),
		"no v1":       planted(row("serial/ikj", 64, 1e-3, build("v3")), row("serial/ikj", 64, 1e-3, build("v3 -B"))),
		"no packed": planted(row("serial/strassen", 64, 1e-3),
			row("serial/winograd", 64, 1e-3, reporttest.Unpredicted)),
		"no time":    planted(row("serial/ikj", 64, 1e-3), row("serial/ikj", 128, 0)),
		"one kernel": planted(reporttest.Kernel("naive", 64, 1e-3)),
		"one width":  planted(row("serial/packed", 4096, 1e-6, coded(10, 4, 1))),
	} {
		all := figures.Of(doc)
		for _, id := range all.IDs {
			if d, ok := all.Find(id); ok {
				t.Errorf("%s: %s is drawn: %s", name, id, words(d.Chart))
			}
		}
	}
}

// TestHostsHaveFigures checks that each host has a set of figures of its own rows, with IDs that are
// file names whatever the host is called, and that they have the measured peak of their host.
func TestHostsHaveFigures(t *testing.T) {
	rows := []record.Record{row("serial/ikj", 64, 1e-3), row("serial/ikj", 128, 1e-3)}
	doc, other := planted(rows...), planted(rows...)
	doc.Hosts[0].ID, doc.Hosts[0].Ceilings, other.Hosts[0].ID = "../../a", nil, "b"
	doc.Hosts, doc.Records = append(doc.Hosts, other.Hosts...), slices.Concat(rows, rows)
	for i := range doc.Records {
		doc.Records[i].Host = doc.Hosts[i/2].ID
	}
	var limits []float64
	all := figures.Of(doc)
	for _, id := range all.IDs {
		if strings.ContainsAny(id, "/.") {
			t.Errorf("the ID %s is a path", id)
		}
		if d, ok := all.Find(id); ok && strings.HasPrefix(id, "gflops-serial-f64-") {
			limits = append(limits, d.Chart.(chart.Curve).Limit.Level)
		}
	}
	if !slices.Equal(limits, []float64{0, 40}) {
		t.Errorf("the limits of the hosts are %v", limits)
	}
}
