package report

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare"
	"gemm/compare/note"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
	"gemm/cuda"
	"gemm/cuda/usage"
)

// accelerated returns records as gemm compare --profile cuda leaves them on a host with a GPU: both
// ladders over sizes and shapes, the experiments on settings, and with processor also rows of the
// CPU. A generator with a fixed seed draws the times; no machine had them. The times of cuBLAS are
// given, those of the rungs are multiples of them.
func accelerated(processor bool) compare.Document {
	const host, run = "ad0be5ee", "r1"
	rng := rand.New(rand.NewPCG(9, 10))
	doc := compare.Document{
		Schema: compare.Schema, Variants: reporttest.Variants(),
		Hosts: []compare.Host{{
			ID: host, CPU: "Example Xeon 8480", Sockets: 1, NUMA: 1, Cores: 16, Quota: compare.None(), ISA: "avx512",
			Memory: 128 << 30, PagePolicy: "madvise", OS: "linux 6.1",
			GPUs: []string{"Example GPU 140GB"}, Driver: "999.10.01", CUDA: "13.0",
			Ceilings: []compare.Ceiling{
				{Unit: "cpu", Pipe: "f64", ISA: "avx512", Threads: 16, Gflops: 1440, Run: run},
				{Unit: "gpu", Pipe: "f32", Gflops: 60900, Run: run},
				{Unit: "gpu", Pipe: "bf16", Gflops: 820000, Run: run},
				{Unit: "gpu", Pipe: "int8", Gflops: 1611000, Run: run},
				{Unit: "gpu", Pipe: "f64", Gflops: 33100, Run: run}, {Unit: "gpu", Pipe: "f64-tensor", Gflops: 65800, Run: run},
			},
			Bandwidths: []compare.Bandwidth{{Unit: "gpu", Name: "copy", GBps: 4310, Run: run}},
		}},
		Runs: []compare.RunInfo{{
			ID: run, Host: host, Command: "gemm compare --profile cuda --out report", Git: "0123abc", Go: "go1.26.0",
			GOAMD64:   "v1",
			Time:      time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC),
			Libraries: map[string]string{"cublas": "13.1.0", "nvrtc": "13.0"},
		}},
	}
	// add appends a row about a rate in TFLOP/s.
	add := func(experiment compare.Experiment, variant, typ string, m, n, k int, rate float64, device *usage.Device,
		params, resolved gemm.Params) *compare.Record {
		r := compare.Record{
			Key: compare.Key{
				Host: host, Experiment: experiment, Variant: variant,
				Problem: compare.Problem{Type: typ, Op: "nn", Alpha: 1, LDA: k, LDB: n, LDC: n,
					Shape: gemm.Shape{M: m, N: n, K: k}},
			},
			Run: run, Compute: typ, Threads: 1, Params: params, Resolved: resolved, Status: compare.OK, Inner: 1,
			Unit: "GFLOP/s", DataGBps: compare.None(), BoundKind: gemm.Componentwise,
			Turn: fmt.Sprintf("cuda %s %s %dx%dx%d nn", experiment, typ, m, n, k), GPU: device,
		}
		work := 2 * float64(m) * float64(n) * float64(k)
		for range 15 {
			r.Samples = append(r.Samples, work/(rate*1e12)*(1+0.003*math.Abs(rng.NormFloat64())))
		}
		sorted := slices.Sorted(slices.Values(r.Samples))
		r.Median, r.CI = compare.Number(sorted[7]), &[2]float64{sorted[3], sorted[11]}
		r.Gflops = compare.Number(work / sorted[7] / 1e9)
		r.Rate = r.Gflops
		eps := map[string]float64{"f64": 0x1p-53, "f32": 0x1p-24}[typ]
		r.Residual, r.Bound = compare.Number(eps*(1.5+rng.Float64())), compare.Number(40*eps)
		if device != nil {
			r.PercentPeak = compare.None()
			if peak := map[string]compare.Number{"f32": 60900, "f64": 33100, "f64-tensor": 65800}[device.Pipe]; peak > 0 {
				r.PercentPeak = 100 * r.Gflops / peak
			}
			size := map[string]float64{"f64": 8, "f32": 4}[typ]
			to, from := size*float64(m*k+k*n)/52e9, size*float64(m*n)/50e9
			r.Phases = map[string]float64{"h2d": to, "d2h": from, "host": 2e-5 + max(to+from/4, float64(r.Median)) + from/8}
			if device.Pipe == "tf32" {
				r.Compute, r.Residual, r.Bound = "tf32", compare.Number(2.1e-4*(1+0.3*rng.Float64())), 1e-3
			}
		}
		doc.Records = append(doc.Records, r)
		return &doc.Records[len(doc.Records)-1]
	}
	type rung struct {
		name, pipe, tile string
		of               float64 // of cuBLAS in the arithmetic of the type
		regs, smem       int
		threads, blocks  int // of a block, and at n = 4096
		occupancy        float64
		limit            []string
		reads            float64
	}
	ladders := map[string][]rung{
		"f32": {
			{"naive", "f32", "32x32", 0.011, 40, 0, 1024, 16384, 0.5, []string{"threads"}, 2},
			{"coalesced", "f32", "32x32", 0.12, 38, 0, 1024, 16384, 0.5, []string{"threads"}, 2},
			{"smem", "f32", "32x32x32", 0.18, 38, 8192, 1024, 16384, 0.5, []string{"threads"}, 1. / 16},
			{"blocktile1d", "f32", "64x64x8/8x1", 0.33, 56, 4096, 512, 4096, 1, []string{"registers"}, 1. / 32},
			{"blocktile2d", "f32", "128x128x8/8x8", 0.505, 122, 8192, 256, 1024, 0.25, []string{"registers"}, 1. / 64},
			{"vectorized", "f32", "128x128x8/8x8", 0.61, 126, 8192, 256, 1024, 0.25, []string{"registers"}, 1. / 64},
			{"conflictfree", "f32", "128x128x8/8x8", 0.60, 128, 8448, 256, 1024, 0.25, []string{"registers"}, 1. / 64},
			{"doublebuffer", "f32", "128x128x8/8x8", 0.72, 150, 16896, 256, 1024, 0.125, []string{"registers"}, 1. / 64},
			{"multistage", "f32", "128x128x8/8x8", 0.715, 128, 25344, 256, 1024, 0.25,
				[]string{"registers", "shared memory"}, 1. / 64},
			{"warptile", "f32", "128x256x16/64x64/8x16", 1.015, 238, 75000, 256, 512, 0.125, []string{"registers"}, 3. / 256},
			{"tf32-mma", "tf32", "128x128x16/64x64", 2.75, 190, 60000, 128, 1024, 0.125,
				[]string{"shared memory"}, 1. / 64},
		},
		"f64": {
			{"naive", "f64", "8x32", 0.01, 40, 0, 256, 65536, 0.75, []string{"registers"}, 2},
			{"packed-global", "f64", "16x16x16", 0.03, 40, 0, 256, 65536, 0.75, []string{"registers"}, 2},
			{"smem", "f64", "64x64x8/4x4", 0.27, 90, 8192, 256, 4096, 0.25, []string{"registers"}, 1. / 32},
			{"conflictfree", "f64", "64x64x8/4x4", 0.33, 96, 8192, 256, 4096, 0.25, []string{"registers"}, 1. / 32},
			{"dmma-wmma", "f64-tensor", "64x64x16/32x32", 0.66, 120, 60000, 128, 4096, 0.1875,
				[]string{"shared memory"}, 1. / 32},
			{"dmma", "f64-tensor", "128x128x16/64x32", 0.93, 230, 111000, 256, 1024, 0.125,
				[]string{"registers", "shared memory"}, 1. / 64},
		},
	}
	device := func(l rung) *usage.Device {
		return &usage.Device{Pipe: l.pipe, Registers: l.regs, Shared: l.smem, Threads: l.threads, Blocks: l.blocks,
			Occupancy: l.occupancy, Limit: l.limit, Clock: 1965 + 15*rng.IntN(2), L2: "cold",
			Power: 412.4 + float64(l.regs)}
	}
	type place struct {
		m, n, k          int
		f32, tf32, dgemm float64 // cuBLAS
		fill             float64 // of the rungs' part of it
	}
	places := []place{
		{256, 256, 256, 2.1, 3, 2.7, 0.8}, {1024, 1024, 1024, 33.8, 92.3, 44.4, 0.9},
		{2048, 2048, 2048, 49.7, 296, 58.9, 0.97}, {2049, 2049, 2049, 46.2, 140, 52.8, 0.96},
		{4095, 4095, 4095, 48.1, 135, 42.6, 1.03}, {4096, 4096, 4096, 51.2, 388, 62.4, 1},
		{8192, 8192, 8192, 51.2, 402, 60.4, 1.01},
		{2048, 2048, 512, 38.9, 113, 45, 0.95}, {2048, 2048, 1024, 42.2, 209, 52.6, 0.96},
		{2048, 4096, 512, 42.8, 180, 50, 0.95}, {2048, 4096, 1024, 46.6, 250, 55.7, 0.95},
		{4096, 2048, 512, 43, 182, 50.1, 0.95}, {4096, 2048, 1024, 46.8, 251, 55.8, 0.94},
		{4096, 4096, 512, 46.5, 236, 55.9, 0.97}, {4096, 4096, 1024, 49.1, 285, 59.6, 0.98},
		{8192, 64, 8192, 41.3, 100, 48.8, 0.9},
	}
	for _, typ := range []string{"f64", "f32"} {
		for _, p := range places {
			for _, l := range ladders[typ] {
				rate := p.f32
				if typ == "f64" {
					rate = p.dgemm
				}
				if l.name == "dmma" && p.n == 4095 {
					rate *= 1.25
				}
				g := device(l)
				work := float64(p.m) * float64(p.n) * float64(p.k)
				r := add("ladder", "cuda/"+l.name, typ, p.m, p.n, p.k, l.of*p.fill*rate, g, gemm.Params{},
					gemm.Params{"tile": l.tile, "device": 0, "l2": "cold"})
				r.Predicted = &compare.Predicted{Flops: 2 * work, Accesses: work*l.reads + float64(p.m)*float64(p.n)}
				if l.name == "multistage" && p.n == 8192 {
					g.Clock, g.Throttled = 1650, "power cap"
					r.Warnings = []note.Note{note.Read("the clock fell to 1650 MHz")}
				}
				if l.name == "packed-global" {
					r.Phases["pack"] = 0.1 * float64(r.Median)
				}
			}
			rate := map[string]float64{"f32": p.f32, "f64": p.dgemm}[typ]
			add("ladder", "cuda/cublas", typ, p.m, p.n, p.k, rate,
				&usage.Device{Pipe: map[string]string{"f32": "f32", "f64": "f64-tensor"}[typ], Clock: 1965}, gemm.Params{},
				gemm.Params{})
			if typ == "f32" {
				add("ladder", "cuda/cublas-tf32", typ, p.m, p.n, p.k, p.tf32, &usage.Device{Pipe: "tf32", Clock: 1900},
					gemm.Params{}, gemm.Params{})
			}
		}
	}
	for _, l := range ladders["f32"][4:9] {
		for _, block := range []int{8, 16} {
			for _, bk := range []int{8, 16} {
				g := device(l)
				slower := 1.0
				if block == 8 {
					g.Threads, g.Blocks, slower = 64, 4096, 0.86
				}
				if bk == 16 {
					slower *= 1.03
				}
				add("block", "cuda/"+l.name, "f32", 2048, 2048, 2048, slower*l.of*48, g, gemm.Params{"block": block, "bk": bk},
					gemm.Params{"block": block, "bk": bk, "tile": fmt.Sprintf("%dx%dx%d/8x8", 8*block, 8*block, bk)})
			}
		}
	}
	for i, block := range []int{8, 16, 32} {
		r := add("block", "cuda/packed-global", "f64", 2048, 2048, 2048, []float64{1.1, 1.8, 1.7}[i],
			device(ladders["f64"][1]), gemm.Params{"block": block}, gemm.Params{"block": block})
		r.Phases["pack"] = 0.12 * float64(r.Median)
	}
	for i, stages := range []int{2, 3} {
		add("stages", "cuda/tf32-mma", "f32", 4096, 4096, 4096, []float64{118, 141}[i], device(ladders["f32"][10]),
			gemm.Params{"stages": stages}, gemm.Params{"stages": stages})
	}
	add("stages", "cuda/cublas-tf32", "f32", 4096, 4096, 4096, 388, &usage.Device{Pipe: "tf32", Clock: 1900},
		gemm.Params{}, gemm.Params{})
	for i, most := range []int{0, 64, 96, 128} {
		g := device(ladders["f32"][7])
		g.Registers, g.Spills, g.Occupancy = cmp.Or(most, 150), []int{0, 620, 180, 24}[i],
			[]float64{0.125, 0.5, 0.25, 0.25}[i]
		add("maxregs", "cuda/doublebuffer", "f32", 4096, 4096, 4096, []float64{36.9, 11, 26, 35.8}[i], g,
			gemm.Params{"maxregs": most}, gemm.Params{"maxregs": most})
	}
	for i, l2 := range []string{"cold", "warm"} {
		add("l2", "cuda/cublas", "f32", 1024, 1024, 1024, []float64{33.8, 36.1}[i], &usage.Device{Pipe: "f32", Clock: 1965},
			gemm.Params{"l2": l2}, gemm.Params{})
		add("l2", "cuda/warptile", "f32", 1024, 1024, 1024, []float64{30.1, 31.4}[i], device(ladders["f32"][9]),
			gemm.Params{"l2": l2}, gemm.Params{"l2": l2})
	}
	for i, tile := range []string{"auto", "64x128x16/32x64/8x8"} {
		add("tuned", "cuda/warptile", "f32", 2048, 2048, 2048, []float64{47.5, 49.9}[i], device(ladders["f32"][9]),
			gemm.Params{"tile": tile}, gemm.Params{"tile": cmp.Or(map[string]string{"auto": "128x128x8/32x64/8x8"}[tile], tile)})
	}
	if processor {
		for _, typ := range []string{"f64", "f32"} {
			for i, n := range []int{256, 1024, 2048, 4096} {
				twice := map[string]float64{"f64": 1, "f32": 2}[typ]
				add("ladder", "serial/naive", typ, n, n, n, twice*0.0012, nil, gemm.Params{}, gemm.Params{})
				add("ladder", "serial/packed", typ, n, n, n, twice*0.105, nil, gemm.Params{}, gemm.Params{})
				r := add("ladder", "parallel/packed", typ, n, n, n, twice*[]float64{0.38, 0.9, 1.15, 1.3}[i], nil,
					gemm.Params{"threads": 16}, gemm.Params{"threads": 16})
				r.Threads = 16
			}
		}
		for i := range doc.Records {
			if r := &doc.Records[i]; !analysis.ByGPU(*r) {
				r.Turn, r.PercentPeak = "", compare.None()
			}
		}
	}
	return doc
}

// device changes what the kernel of a row took.
func device(f func(*usage.Device)) func(*compare.Record) {
	return func(r *compare.Record) { f(r.GPU) }
}

// flat returns a row of every variant of the family at n that all take a millisecond.
func flat(n int) []compare.Record {
	var rows []compare.Record
	for _, v := range cuda.Variants(nil) {
		for _, typ := range v.Types() {
			if typ != "f32" && typ != "f64" {
				continue
			}
			change := reporttest.Single
			if typ == "f64" {
				change = reporttest.Double
			}
			rows = append(rows, reporttest.Kernel(analysis.Algorithm(v.Name), n, 1e-3, func(r *compare.Record) {
				if r.Compute != "tf32" {
					change(r)
				}
			}))
		}
	}
	return rows
}

// counters sets counters of the profiler in a row; pairs alternates names and values.
func counters(pairs ...any) func(*compare.Record) {
	return func(r *compare.Record) {
		r.GPU.Counters = map[string]float64{}
		for i := 0; i < len(pairs); i += 2 {
			r.GPU.Counters[pairs[i].(string)] = pairs[i+1].(float64)
		}
	}
}

// onBoth returns the fastest rows of the CPU and of the GPU at three sizes. The speed-ups of the GPU
// are given, for the kernel alone and with copies.
func onBoth(kernels, copies [3]float64) compare.Document {
	var rows []compare.Record
	for i, n := range []int{64, 128, 256} {
		cpu := 1e-3 * float64(i+1)
		whole := cpu / copies[i]
		rows = append(rows, reporttest.Row("serial/packed", n, cpu, reporttest.Single),
			reporttest.Kernel("warptile", n, cpu/kernels[i], reporttest.Copied(whole, whole/10, whole)))
	}
	return reporttest.Planted(rows...)
}

// noGPUChapter is what the report of a document without rows of the family does not say.
var noGPUChapter = []string{"{#gpu}", "{#gpu-machine}", "GPU: the fastest"}

var gpuSentences = []sentence{
	{"a GPU and a processor", accelerated(true), []string{
		"| GPUs | Example GPU 140GB", "3.", "1. the GPU's clock was held back: power cap",
		"1. the GPU's clock was held back: power cap\n2. the clock fell to 1650 MHz",
		"--families cuda"}, []string{"`gflops-cuda", "No library was asked for. `gemm compare --families cuda", "{#gpu-none}", "NaN"}},
	{"a GPU alone", accelerated(false), nil, nil},
	{"a GPU that is not there",
		reporttest.With(reporttest.Kernel("naive", 64, 1,
			reporttest.Came(compare.Unavailable, "no NVIDIA driver: install it")),
			reporttest.Kernel("smem", 64, 1, reporttest.Came(compare.Unavailable, "no NVIDIA driver: install it"))),
		[]string{"| 128×128×16 | 8×8 | 256 | 32 KiB | 16384 | yes | 50.0 % | 33.3 % | 33.3 % | 25.0 % ",
			"| 128×128×32 | 8×8 | 256 | 64 KiB | 16384 | no: shared memory (17) | — | — | — | — ",
			"| `smem` | 32×32×32 | 1×1 | 4.29 | 32.0× | 137 | 7.97 ",
		},
		[]string{"{#gpu-machine}", "GPU: the fastest", "{#gpu-none}"}},
	{"a GPU that is not there, and no word why",
		reporttest.With(reporttest.Kernel("naive", 64, 1, reporttest.Came(compare.Unavailable, ""))),
		nil, nil},
	{"a GPU on one of two hosts", changed(twoHosts(), func(d *compare.Document) {
		d.Records = append(d.Records, reporttest.Kernel("naive", 64, 1, reporttest.Came(compare.Unavailable, "no driver")),
			reporttest.Kernel("naive", 64, 2e-3, onHost("h2")), reporttest.Kernel("smem", 64, 1.99e-3, onHost("h2")))
	}), nil, nil},
	{"no rows of a GPU", reporttest.With(), nil, noGPUChapter},
	{"a peak in TF32", changed(reporttest.Planted(reporttest.Kernel("tf32-mma", 64, 1e-3),
		reporttest.Kernel("naive", 64, 1e-3)), func(d *compare.Document) {
		d.Hosts[0].Ceilings = append(d.Hosts[0].Ceilings,
			compare.Ceiling{Unit: "gpu", Pipe: "tf32", Gflops: 455000, Run: "r1"},
			compare.Ceiling{Unit: "gpu", Pipe: "tf32", Gflops: 450000, Run: "r1"},
			compare.Ceiling{Unit: "gpu", Pipe: "f16", Gflops: 910000, Run: "r1"})
	}), nil,
		nil},
	{"one kernel", reporttest.Planted(reporttest.Kernel("naive", 64, 1e-3)),
		nil,
		nil},
	{"a library alone", reporttest.Planted(reporttest.Kernel("cublas", 64, 1e-3)),
		nil, nil},
	{"nothing gains", reporttest.Planted(flat(64)...), nil, nil},
	{"everything gains", reporttest.Planted(reporttest.Kernel("naive", 64, 2e-3), reporttest.Kernel("smem", 64, 1e-3)),
		nil,
		nil},
	{"a gain too small to name",
		reporttest.Planted(reporttest.Kernel("naive", 64, 1.01e-3), reporttest.Kernel("smem", 64, 1e-3)),
		nil, nil},
	{"a step that was not measured in turn",
		reporttest.Planted(reporttest.Kernel("naive", 64, 2e-3, reporttest.Turn("")),
			reporttest.Kernel("smem", 64, 1e-3, reporttest.Turn(""))),
		nil, nil},
	{"near the peak", reporttest.Planted(reporttest.Kernel("multistage", 64, 1e-3,
		func(r *compare.Record) { r.PercentPeak = 93 }), reporttest.Kernel("warptile", 64, 1e-3)),
		nil, nil},
	{"spills", reporttest.Planted(reporttest.Kernel("conflictfree", 64, 1e-3),
		reporttest.Kernel("doublebuffer", 64, 2e-3, device(func(g *usage.Device) { g.Spills = 128 }))),
		nil, nil},
	{"a lower occupancy", reporttest.Planted(reporttest.Kernel("conflictfree", 64, 1e-3),
		reporttest.Kernel("doublebuffer", 64, 2e-3, device(func(g *usage.Device) {
			g.Occupancy, g.Registers, g.Limit = 0.25, 180, []string{"registers", "shared memory", "threads", "blocks"}
		}))), nil, nil},
	{"a lower clock", reporttest.Planted(reporttest.Kernel("conflictfree", 64, 1e-3),
		reporttest.Kernel("doublebuffer", 64, 1.1e-3, device(func(g *usage.Device) { g.Clock = 1700 }))),
		nil, nil},
	{"fewer accesses that bring nothing",
		reporttest.Planted(reporttest.Kernel("smem", 64, 1e-3),
			reporttest.Kernel("blocktile1d", 64, 1e-3, reporttest.Predicted(compare.Predicted{Accesses: 65536}))),
		nil, nil},
	{"more accesses", reporttest.Planted(reporttest.Kernel("smem", 64, 1e-3),
		reporttest.Kernel("blocktile1d", 64, 1e-3, reporttest.Predicted(compare.Predicted{Accesses: 524288}))),
		nil, nil},
	{"no predictions of a kernel",
		reporttest.Planted(reporttest.Kernel("smem", 64, 1e-3, reporttest.Unpredicted),
			reporttest.Kernel("blocktile1d", 64, 1e-3)), nil,
		nil},
	{"counters", reporttest.Planted(
		reporttest.Kernel("smem", 64, 1e-3, counters("a", 1., "b", 4., "c", 10., "d", 7., "e", 0., "only", 1.)),
		reporttest.Kernel("blocktile1d", 64, 1e-3, counters("a", 2., "b", 1., "c", 10.1, "d", 7., "e", 0.))),
		nil,
		nil},
	{"counters that appear", reporttest.Planted(reporttest.Kernel("smem", 64, 1e-3, counters("a", 0.)),
		reporttest.Kernel("blocktile1d", 64, 1e-3, counters("a", 3.))), nil, nil},
	{"the same counters", reporttest.Planted(reporttest.Kernel("smem", 64, 1e-3, counters("a", 1.)),
		reporttest.Kernel("blocktile1d", 64, 1e-3, counters("a", 1.))),
		nil, nil},
	{"counters of tensor cores",
		reporttest.Planted(reporttest.Kernel("naive", 64, 1e-3),
			reporttest.Kernel("tf32-mma", 64, 1e-4, counters("pipe", 31.)), reporttest.Kernel("cublas-tf32", 64, 5e-5)),
		nil, nil},
	{"counters of both on tensor cores",
		reporttest.Planted(reporttest.Kernel("naive", 64, 1e-3),
			reporttest.Kernel("tf32-mma", 64, 1e-4, counters("pipe", 31.)),
			reporttest.Kernel("cublas-tf32", 64, 5e-5, counters("pipe", 62.))),
		nil, nil},
	{"rows of which nothing is known but times",
		reporttest.Planted(reporttest.Kernel("naive", 64, 2e-3, func(r *compare.Record) { r.GPU = nil }),
			reporttest.Kernel("tf32-mma", 64, 3e-3, func(r *compare.Record) { r.GPU = nil }),
			reporttest.Kernel("cublas-tf32", 64, 1e-3, func(r *compare.Record) { r.GPU = nil })),
		nil, nil},
	{"a sweep of blocks elsewhere",
		reporttest.Planted(reporttest.Kernel("blocktile2d", 64, 1e-3, reporttest.Of("block", "block", 8)),
			reporttest.Kernel("blocktile2d", 64, 2e-3, reporttest.Of("block", "block", 16)),
			reporttest.Kernel("blocktile2d", 32, 1e-3, reporttest.Of("block", "block", 16)),
			reporttest.Kernel("naive", 64, 4e-3), reporttest.Kernel("tf32-wgmma-ws", 64, 5e-4, func(r *compare.Record) {
				r.Resolved, r.GPU.Threads = gemm.Params{"tile": "256x128x32"}, 384
			})),
		nil,
		nil},
	{"a sweep of blocks that failed",
		reporttest.Planted(reporttest.Kernel("naive", 64, 1e-3),
			reporttest.Kernel("blocktile2d", 64, 1, reporttest.Of("block", "block", 8), reporttest.Came(compare.Failed, "x"))),
		nil, []string{"{#gpu-table1}"}},
	{"a tuned row beside the ladder",
		reporttest.Planted(reporttest.Kernel("warptile", 64, 2e-3),
			reporttest.Kernel("warptile", 64, 1e-3, reporttest.Of("tuned", "tile", "64x64x8"))),
		nil, nil},
	{"a tuned row alone", reporttest.Planted(reporttest.Kernel("naive", 64, 2e-3),
		reporttest.Kernel("warptile", 64, 1e-3, reporttest.Of("tuned", "tile", "64x64x8"))), nil, []string{"{#gpu-tuned}"}},
	{"tuned rows", reporttest.Planted(reporttest.Kernel("warptile", 64, 2e-3, reporttest.Of("tuned", "tile", "auto")),
		reporttest.Kernel("warptile", 64, 1.5e-3, reporttest.Of("tuned", "tile", "a")),
		reporttest.Kernel("warptile", 64, 1e-3, reporttest.Of("tuned", "tile", "b"))),
		nil, nil},
	{"a tuned row of a run before",
		reporttest.Planted(reporttest.Kernel("warptile", 64, 2e-3, reporttest.Of("tuned", "tile", "auto")),
			reporttest.Kernel("warptile", 64, 1.5e-3, reporttest.Of("tuned", "tile", "a")),
			reporttest.Kernel("warptile", 64, 1e-3, reporttest.Of("tuned", "tile", "b"),
				func(r *compare.Record) { r.Run = "before" })),
		nil, nil},
	{"a setting that failed",
		reporttest.Planted(reporttest.Kernel("tf32-mma", 64, 2e-3, reporttest.Of("stages", "stages", 2),
			reporttest.Came(compare.Failed, "too much shared memory")),
			reporttest.Kernel("tf32-mma", 64, 1e-3, reporttest.Of("stages", "stages", 3))),
		nil, nil},
	{"a GPU that is never ahead", onBoth([3]float64{0.5, 0.6, 0.7}, [3]float64{0.2, 0.3, 0.4}),
		nil, nil},
	{"a GPU that is always ahead", onBoth([3]float64{5, 6, 7}, [3]float64{2, 3, 4}),
		nil, nil},
	{"a GPU that gets ahead", onBoth([3]float64{0.5, 6, 7}, [3]float64{0.2, 0.3, 4}),
		nil, nil},
	{"copies that were not timed",
		reporttest.Planted(reporttest.Row("serial/packed", 64, 1e-3, reporttest.Single),
			reporttest.Kernel("warptile", 64, 1e-4)), nil, []string{"{#gpu-host}"}},
	{"copies one after another",
		reporttest.Planted(reporttest.Row("serial/packed", 64, 1e-3, reporttest.Single),
			reporttest.Kernel("warptile", 64, 1e-4, reporttest.Copied(1e-4, 2e-4, 0))),
		nil, nil},
	{"half precision", reporttest.Planted(reporttest.Row("serial/packed", 64, 1e-2, half),
		reporttest.Kernel("naive", 64, 1.01e-3, half), reporttest.Kernel("mma", 64, 1.01e-3, half),
		reporttest.Kernel("wgmma", 64, 1.01e-3, half), reporttest.Kernel("wgmma-ws", 64, 1.01e-3, half),
		reporttest.Kernel("wgmma-persistent", 64, 1e-3, half), reporttest.Kernel("cublas", 64, 2e-3, half)),
		nil,
		nil},
	{"several products for one", reporttest.Planted(reporttest.Kernel("warptile", 64, 1e-3),
		reporttest.Kernel("f16x3", 64, 1e-3)), []string{"| 3 × 50.0 |", "three products in half precision"}, nil},
}

// half makes a row one of f16. On a GPU it is computed by the pipe of f16.
func half(r *compare.Record) {
	r.Type, r.Compute = "f16", "f16"
	if r.GPU != nil {
		r.GPU.Pipe = "f16"
	}
}

// TestGPUFigures checks that the chapter's figures exist, with the peak at the top.
func TestGPUFigures(t *testing.T) {
	want := "families-f64 gpu-rates-f32 gpu-rates-tf32 gpu-host-f32 gpu-rates-f64 gpu-host-f64 gpu-errors"
	if got := strings.Join(ids(figures.Drawings(accelerated(false), "en")), " "); got != want {
		t.Errorf("drawings are %s, want %s", got, want)
	}
	curve := drawingOf(t, accelerated(true), "gpu-rates-f32").(chart.Curve)
	if !curve.Top || curve.Limit.Level != 60.9 || len(curve.Series) != 11 {
		t.Errorf("limit %v of %d series", curve.Limit, len(curve.Series))
	}
	for name, doc := range map[string]compare.Document{
		"one kernel": reporttest.Planted(reporttest.Kernel("naive", 64, 1e-3)),
		"one type too many": reporttest.Planted(reporttest.Kernel("naive", 64, 1e-3, field),
			reporttest.Kernel("smem", 64, 1e-3, field)),
	} {
		if got := ids(figures.Drawings(doc, "en")); len(got) != 0 {
			t.Errorf("%s: drawings %v", name, got)
		}
	}
}

// heldBy is what held the clock of a row back.
func heldBy(r compare.Record) string {
	if r.GPU == nil {
		return ""
	}
	return r.GPU.Throttled
}
