package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
	"gemm/cuda/usage"
)

// encoded returns records as gemm compare --profile gf256 leaves them on a host with a GPU: codes at
// two widths of shards, one code at all widths, on 1 and 16 threads, the library, and the rungs of
// the GPU. A generator with a fixed seed draws the times; no machine had them.
func encoded() compare.Document {
	const host, run = "c0de0256", "r1"
	const peak, triad, copies = 240, 15.2, 4300 // of one thread, and of the GPU
	rng := rand.New(rand.NewPCG(11, 12))
	doc := compare.Document{
		Schema: compare.Schema, Variants: reporttest.Variants(),
		Hosts: []compare.Host{{
			ID: host, CPU: "Example Xeon 8480", Sockets: 1, NUMA: 1, Cores: 16, Quota: compare.None(), ISA: "avx512",
			Memory: 128 << 30, PagePolicy: "madvise", OS: "linux 6.1", GPUs: []string{"Example GPU 140GB"}, Driver: "999.10.01",
			CUDA: "13.0",
			Ceilings: []compare.Ceiling{
				{Unit: "cpu", Pipe: "gf256", ISA: "avx512", Threads: 1, Gflops: peak, Run: run},
				{Unit: "cpu", Pipe: "gf256", ISA: "avx512", Threads: 16, Gflops: 13 * peak, Run: run},
			},
			Bandwidths: []compare.Bandwidth{
				{Unit: "cpu", Name: "triad", Threads: 1, GBps: triad, Run: run},
				{Unit: "cpu", Name: "triad", Threads: 16, GBps: 9 * triad, Run: run},
				{Unit: "gpu", Name: "copy", GBps: copies, Run: run},
			},
		}},
		Runs: []compare.RunInfo{{
			ID: run, Host: host, Command: "gemm compare --profile gf256 --out report", Git: "0123abc", Go: "go1.26.0",
			GOAMD64:   "v1",
			Time:      time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
			Libraries: map[string]string{"github.com/klauspost/reedsolomon": "v1.14.2"},
		}},
	}
	// add appends a row about a rate of data in GB/s.
	add := func(variant string, k, m, n, threads int, rate float64) *compare.Record {
		r := compare.Record{
			Key: compare.Key{
				Host: host, Experiment: compare.MainLadder, Variant: variant,
				Problem: compare.Problem{Type: "gf256", Op: "nn", Alpha: 1, LDA: k, LDB: n, LDC: n,
					Shape: gemm.Shape{M: m, N: n, K: k}},
			},
			Run: run, Compute: "gf256", Threads: threads, Params: gemm.Params{}, Resolved: gemm.Params{},
			Status: compare.OK, Inner: 1, Unit: "Gmul/s", Gflops: compare.None(), PercentPeak: compare.None(),
			BoundKind: gemm.Exact, Turn: fmt.Sprintf("peers gf256 %dx%dx%d nn", m, n, k),
		}
		data := float64(k) * float64(n)
		for range 15 {
			r.Samples = append(r.Samples, data/(rate*1e9)*(1+0.004*math.Abs(rng.NormFloat64())))
		}
		sorted := slices.Sorted(slices.Values(r.Samples))
		r.Median, r.CI = compare.Number(sorted[7]), &[2]float64{sorted[3], sorted[11]}
		r.DataGBps = compare.Number(data / sorted[7] / 1e9)
		r.Rate = compare.Number(m) * r.DataGBps
		if analysis.Family(variant) == analysis.OnGPU {
			r.Turn = strings.Replace(r.Turn, "peers", "cuda", 1)
			r.Resolved = gemm.Params{"device": 0, "l2": "cold"}
			r.GPU = &usage.Device{Pipe: "gf256", Registers: 40, Threads: 256, Blocks: 16384, Occupancy: 0.75,
				Limit: []string{"registers"}, Clock: 1965, L2: "cold"}
			r.Phases = map[string]float64{"h2d": data / 52e9, "d2h": float64(m*n) / 50e9, "host": 2e-5 + data/50e9}
		} else {
			r.PercentPeak = 100 * r.Rate / compare.Number(map[int]float64{1: peak, 16: 13 * peak}[threads])
			if threads > 1 {
				r.Params["threads"] = threads
			}
			if analysis.Algorithm(variant) == "packed" {
				r.Resolved["kernel"] = "gfni512-24x64"
			}
		}
		doc.Records = append(doc.Records, r)
		return &doc.Records[len(doc.Records)-1]
	}
	// fast adds the rows of the production variants, the library and the GPU.
	fast := func(k, m, n int) {
		multiplying, memory := float64(peak)/float64(m), triad*float64(k)/float64(k+m)
		if n <= 1<<20 { // in cache
			memory *= 3
		}
		own := 0.85 * min(multiplying, memory)
		many := 0.8 * min(13*multiplying, 9*memory)
		library := own
		if k > 10 {
			library = 0.25 * own
		}
		if n <= 64<<20 {
			add("serial/packed", k, m, n, 1, own)
			add("parallel/packed", k, m, n, 16, many*min(1, float64(n)/(256<<10)+0.2))
			add("reference/reedsolomon", k, m, n, 1, library)
			add("reference/reedsolomon", k, m, n, 16, 0.6*many)
		}
		if n >= 1<<20 {
			whole := min(1, float64(n)/(64<<20)+0.1)
			add("cuda/word", k, m, n, 1, whole*3000/float64(m))
			add("cuda/tuned", k, m, n, 1, whole*min(copies*float64(k)/float64(k+m), 9800/float64(m)))
		}
	}
	for _, c := range [][2]int{{4, 2}, {10, 4}, {17, 3}, {8, 8}, {16, 16}, {50, 20}, {128, 32}} {
		for _, n := range []int{64 << 10, 1 << 20} {
			fast(c[0], c[1], n)
		}
	}
	for _, n := range []int{4 << 10, 16 << 10, 256 << 10, 4 << 20, 16 << 20, 64 << 20, 256 << 20} {
		fast(10, 4, n)
	}
	for i, variant := range []string{"serial/naive", "serial/ikj", "serial/blocked"} {
		for _, n := range []int{64 << 10, 1 << 20} {
			r := add(variant, 10, 4, n, 1, []float64{0.05, 0.6, 0.6}[i])
			r.Turn = ""
		}
	}
	add("cuda/naive", 10, 4, 16<<20, 1, 18)
	r := add("cuda/square-tiled", 10, 4, 16<<20, 1, 11)
	r.GPU.Occupancy = 0.5
	add("cuda/tiled", 10, 4, 16<<20, 1, 60)
	refused := add("serial/packed", 10, 4, 128<<20, 1, 1)
	reporttest.Came(compare.Skipped, "needs 1.8 GiB of memory, 1.0 GiB are available: choose a smaller size")(refused)
	refused.Rate, refused.DataGBps = compare.None(), compare.None()
	return doc
}

// coded returns a row of k data and m parity shards of n bytes.
func coded(variant string, k, m, n int, seconds float64, change ...func(*compare.Record)) compare.Record {
	return reporttest.Row(variant, n, seconds, append([]func(*compare.Record){field, func(r *compare.Record) {
		r.M, r.K, r.LDA, r.Predicted = m, k, k, nil
		r.Turn = fmt.Sprintf("peers %dx%dx%d", m, n, k)
		r.DataGBps = compare.Number(float64(k) * float64(n) / seconds / 1e9)
		r.Rate = compare.Number(m) * r.DataGBps
		if analysis.ByGPU(*r) {
			r.Turn = "cuda " + r.Turn
			r.GPU = &usage.Device{Pipe: "gf256", Registers: 40, Threads: 256, Blocks: 64, Occupancy: 0.5,
				Limit: []string{"registers"}, Clock: 1900, L2: "cold"}
		}
	}}, change...)...)
}

// measuredField gives a document of planted ceilings over GF(2⁸) and a GPU's copies.
func measuredField(d *compare.Document) {
	h := &d.Hosts[0]
	h.Ceilings = append(slices.Clone(h.Ceilings),
		compare.Ceiling{Unit: "cpu", Pipe: "gf256", ISA: "avx2", Threads: 1, Gflops: 80, Run: "r1"})
	h.Bandwidths = append(slices.Clone(h.Bandwidths), compare.Bandwidth{Unit: "gpu", Name: "copy", GBps: 1000, Run: "r1"},
		compare.Bandwidth{Unit: "gpu", Name: "copy", GBps: 900, Run: "r1"})
}

var codesSentences = []sentence{
	{"codes on processors and a GPU", encoded(), []string{
		"# Reed–Solomon: bytes over GF(2⁸) {#codes}",
		"| GFLOP/s (gf256: Gmul/s) |",
		"- **1 thread**, `serial/packed`: ahead at 64 KiB (17+3, 16+16, 50+20, 128+32), 1 MiB (17+3, 16+16, 50+20, 128+32);",
		"- **16 threads**, `parallel/packed`: ", "| 128+32 | 1 MiB | `serial/packed` | 1 | ok |", "1. needs 1.8 GiB of memory",
		"figure codes-64-KiB", "figure codes-1-MiB",
	}, []string{"NaN", "{#gpu-ladder}", "{#gpu-host}", "GPU: the fastest rung", "{#gpu-none}", "TFLOP/s |"}},
	{"one code", reporttest.Planted(coded("serial/packed", 10, 4, 65536, 1e-4)),
		[]string{"{#codes-table}", "| 10+4 | 64 KiB | `serial/packed` | 1 | ok | 100 µs |",
			"`reference/reedsolomon` was not timed in turn with the suite"},
		[]string{"{#codes-widths}", "{#codes-ladder}", "figure codes", "products of the suite ran on"}},
	{"squares over GF(2⁸) are no codes", reporttest.With(reporttest.Row("serial/naive", 64, 1e-3, field)), nil,
		[]string{"{#codes}"}},
	{"too many shards for a code", reporttest.Planted(coded("serial/packed", 200, 57, 4096, 1e-4)), nil,
		[]string{"{#codes}"}},
	{"codes that were not timed",
		reporttest.Planted(coded("cuda/tuned", 10, 4, 65536, 1, reporttest.Came(compare.Unavailable, "no driver"))),
		[]string{"{#codes}", "| unavailable (1) |", "1. no driver"}, []string{"{#codes-ladder}", "NaN"}},
	{"limits of a code", changed(reporttest.Planted(coded("serial/packed", 10, 4, 65536, 1e-4),
		coded("cuda/tuned", 10, 4, 65536, 1e-6)), measuredField),
		[]string{"| 6.55 | 26.2 | 32.8 | 91.8 % |",
			"| 655 | 2620 | — | 91.8 % |"}, nil},
	{"behind the library", reporttest.Planted(coded("serial/packed", 10, 4, 65536, 2e-4),
		coded("reference/reedsolomon", 10, 4, 65536, 1e-4)),
		[]string{"- **1 thread**, `serial/packed`: behind at 64 KiB (10+4). The ratio is 0.500 (0.500).",
			"| 0.500 (0.500) | loss \n"}, nil},
	{"level with the library",
		reporttest.Planted(coded("serial/packed", 10, 4, 65536, 1e-4), coded("reference/reedsolomon", 10, 4, 65536, 1e-4)),
		[]string{"not distinguishable at 64 KiB (10+4)."}, nil},
	{"few samples beside the library",
		reporttest.Planted(coded("serial/packed", 10, 4, 65536, 1e-4, func(r *compare.Record) { r.Samples = r.Samples[:1] }),
			coded("reference/reedsolomon", 10, 4, 65536, 1e-4, func(r *compare.Record) { r.Samples = r.Samples[:1] })),
		[]string{"too few samples to tell at 64 KiB (10+4)."}, nil},
	{"a library that was not measured in turn",
		reporttest.Planted(coded("serial/ikj", 10, 4, 65536, 2e-4, reporttest.Turn("")),
			coded("reference/reedsolomon", 10, 4, 65536, 1e-4)),
		[]string{"was not timed in turn with the suite", "| 0.500 | — \n"}, nil},
	{"a GPU beside the library on the most threads",
		reporttest.Planted(coded("cuda/tuned", 10, 4, 65536, 1e-5), coded("reference/reedsolomon", 10, 4, 65536, 2e-4),
			coded("reference/reedsolomon", 10, 4, 65536, 1e-4, func(r *compare.Record) { r.Threads = 2 })),
		[]string{"| `cuda/tuned` | — | ok | 10.0 µs | 10.0 µs | 65.5 | 262 | — | — | 10.0 | — \n"}, nil},
	{"rungs that gain nothing",
		reporttest.Planted(coded("cuda/tuned", 10, 4, 65536, 1e-4), coded("cuda/word", 10, 4, 65536, 1e-4),
			coded("cuda/tiled", 10, 4, 65536, 1e-4), coded("cuda/square-tiled", 10, 4, 65536, 1e-4),
			coded("cuda/naive", 10, 4, 65536, 1e-4)),
		nil, nil},
}

// TestCodesDrawings checks which coders and limits are drawn in each figure of codes.
func TestCodesDrawings(t *testing.T) {
	doc := encoded()
	want := "codes-64-KiB codes-1-MiB"
	if got := strings.Join(ids(figures.Drawings(doc, "en")), " "); got != want {
		t.Errorf("drawings are %s, want %s", got, want)
	}
	for _, d := range figures.Drawings(doc, "zh") {
		if !strings.ContainsFunc(d.Title, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: the title %q is not Chinese", d.ID, d.Title)
		}
	}
	labels := func(id string) (out []string) {
		for _, s := range drawingOf(t, doc, id).(chart.Curve).Series {
			out = append(out, s.Label)
		}
		return out
	}
	cached := []string{
		"serial/packed", "parallel/packed, 16 threads", "reedsolomon", "reedsolomon, 16 threads",
		"limit: multiplying, 1 thread", "limit: memory, 1 thread", "limit: multiplying, 16 threads",
		"limit: memory, 16 threads",
	}
	if got := labels("codes-64-KiB"); !slices.Equal(got, cached) {
		t.Errorf("series of 64 KiB: %q, want %q", got, cached)
	}
	for _, id := range []string{"codes-1-MiB"} {
		for _, label := range append(cached, "cuda/word", "cuda/tuned", "limit: memory of the GPU") {
			if !slices.Contains(labels(id), label) {
				t.Errorf("%s lacks %s: %q", id, label, labels(id))
			}
		}
	}
	codes := drawingOf(t, doc, "codes-1-MiB").(chart.Curve)
	if names := strings.Join(codes.Names, " "); names != "4+2 17+3 10+4 8+8 16+16 50+20 128+32" {
		t.Errorf("codes are %s", names)
	}
	points := pointsOf(t, codes, "limit: multiplying, 16 threads")
	if len(points) != 7 || points[0].Y != 13*240./2 || points[6].Y != 13*240./32 {
		t.Errorf("the limit of multiplying is %v", points)
	}
	if points := pointsOf(t, codes, "limit: memory of the GPU"); len(points) != 7 || points[3].Y != 4300./2 {
		t.Errorf("the limit of the GPU's memory is %v", points)
	}
	gpu := doc
	gpu.Records = slices.DeleteFunc(slices.Clone(doc.Records), func(r compare.Record) bool { return !analysis.ByGPU(r) })
	if got := strings.Join(ids(figures.Drawings(gpu, "en")), " "); got != "codes-1-MiB" {
		t.Errorf("drawings of a GPU alone are %s", got)
	}
	alone := reporttest.Planted(coded("serial/packed", 10, 4, 4096, 1e-6), coded("serial/packed", 10, 4, 8192, 1e-6),
		coded("serial/packed", 17, 3, 8192, 1e-6))
	if got := strings.Join(ids(figures.Drawings(alone, "en")), " "); got != "codes-8-KiB" {
		t.Errorf("drawings of two widths are %q", got)
	}
}
