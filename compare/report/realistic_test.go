package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gemm"
	"gemm/compare"
	"gemm/compare/note"
	"gemm/compare/report/reporttest"
)

// realistic returns records as a quick comparison of one host leaves them: the serial ladder, a sweep
// of cut-offs, child builds, three peers and GF(2⁸), with a row of every status. A generator with a
// fixed seed draws the times, so the document is always the same.
func realistic() compare.Document {
	const host, run = "4f1c09a2", "r1"
	rng := rand.New(rand.NewPCG(1, 2))
	doc := compare.Document{
		Schema: compare.Schema, Variants: reporttest.Variants(),
		Hosts: []compare.Host{{
			ID: host, CPU: "Example Xeon 8481C @ 2.70GHz", Sockets: 1, NUMA: 1, Cores: 2, Quota: compare.None(),
			Caches: []compare.Cache{
				{Level: 1, Kind: "data", Bytes: 48 << 10, Line: 64, Shared: 1},
				{Level: 2, Kind: "unified", Bytes: 2 << 20, Line: 64, Shared: 1},
				{Level: 3, Kind: "unified", Bytes: 105 << 20, Line: 64, Shared: 2},
			},
			ISA: "avx512", Memory: 16 << 30, PagePolicy: "madvise", OS: "linux 6.1",
			Ceilings: []compare.Ceiling{
				{Unit: "cpu", Pipe: "f64", ISA: "avx512", Threads: 1, Gflops: 118.4, Run: run},
				{Unit: "cpu", Pipe: "f32", ISA: "avx512", Threads: 1, Gflops: 238.9, Run: run},
				{Unit: "cpu", Pipe: "f64", ISA: "avx512", Threads: 2, Gflops: 231.0, Run: run},
			},
			Bandwidths: []compare.Bandwidth{{Unit: "cpu", Name: "triad", Threads: 1, GBps: 15.2, Run: run}},
		}},
		Runs: []compare.RunInfo{{
			ID: run, Host: host, Command: "gemm compare --profile quick --out report",
			Time: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC), Git: "0123abc", Go: "go1.26.0", GOAMD64: "v1",
			Libraries: map[string]string{"gonum.org/v1/gonum": "v0.17.0", "openblas": "OpenBLAS 0.3.21 SkylakeX"},
		}},
	}
	base := func(experiment compare.Experiment, variant, typ string, m, n, k int) compare.Record {
		return compare.Record{
			Key: compare.Key{
				Host: host, Experiment: experiment, Variant: variant,
				Problem: compare.Problem{Type: typ, Op: "nn", Alpha: 1, LDA: k, LDB: n, LDC: n,
					Shape: gemm.Shape{M: m, N: n, K: k}},
			},
			Run: run, Compute: typ, Threads: 1, Params: gemm.Params{}, Resolved: gemm.Params{},
			Median: compare.None(), Gflops: compare.None(), Rate: compare.None(), DataGBps: compare.None(),
			PercentPeak: compare.None(), Residual: compare.None(), Bound: compare.None(),
			BoundKind: gemm.Componentwise,
		}
	}
	// timed gives r samples about the rate in 10⁹ operations a second (for the field
	// of bytes, multiplications).
	timed := func(r compare.Record, rate float64) compare.Record {
		work := 2 * float64(r.M) * float64(r.N) * float64(r.K)
		r.Unit = "GFLOP/s"
		if r.Type == "gf256" {
			work /= 2
			r.Unit = "Gmul/s"
		}
		r.Status, r.Inner = compare.OK, 1
		for range 15 {
			seconds := work / (rate * 1e9) * (1 + 0.02*math.Abs(rng.NormFloat64()))
			r.Samples = append(r.Samples, math.Round(seconds*1e12)/1e12)
		}
		sorted := slices.Sorted(slices.Values(r.Samples))
		r.Median = compare.Number(sorted[7])
		r.CI = &[2]float64{sorted[3], sorted[11]}
		speed := compare.Number(work / sorted[7] / 1e9)
		r.Rate = speed
		eps := map[string]float64{"f64": 0x1p-53, "f32": 0x1p-24}[r.Type]
		if r.Type == "gf256" {
			r.DataGBps = compare.Number((float64(r.M)*float64(r.K) + float64(r.K)*float64(r.N)) / sorted[7] / 1e9)
			r.BoundKind, r.Residual, r.Bound = gemm.Exact, 0, 0
			return r
		}
		r.Gflops = speed
		r.PercentPeak = 100 * speed / map[string]compare.Number{"f64": 118.4, "f32": 238.9}[r.Type]
		r.Residual = compare.Number(eps * math.Sqrt(float64(r.K)) * (0.3 + 0.1*rng.Float64()))
		r.Bound = compare.Number(eps * math.Sqrt(float64(r.K)) * 9.5)
		return r
	}
	sizes := []int{64, 128, 256, 512, 1024}
	ladder := []struct {
		name    string
		rates   [5]float64 // at the sizes, in f64
		traffic float64    // bytes an operation
		flops   float64    // executed over 2n³
	}{
		{"naive", [5]float64{1.9, 1.6, 1.5, 1.2, 0.28}, 4.1, 1},
		{"ikj", [5]float64{3.1, 3.0, 3.2, 3.0, 2.9}, 0.55, 1},
		{"transposed", [5]float64{1.9, 1.8, 1.75, 1.7, 1.66}, 0.5, 1},
		{"unrolled", [5]float64{5.2, 5.0, 4.4, 4.1, 3.6}, 0.5, 1},
		{"hinted", [5]float64{3.3, 3.4, 3.5, 3.2, 3.0}, 0.5, 1},
		{"blocked", [5]float64{3.0, 3.1, 3.3, 3.3, 3.2}, 0.06, 1},
		{"divide", [5]float64{2.9, 3.0, 3.1, 3.1, 3.1}, 0.04, 1},
		{"strassen", [5]float64{7.1, 7.4, 7.9, 8.1, 8.3}, 0.05, 0.77},
		{"winograd", [5]float64{7.1, 7.3, 7.8, 8.3, 8.6}, 0.045, 0.77},
		{"packed", [5]float64{7.4, 8.3, 8.8, 8.9, 8.7}, 0.02, 1},
		{"gonum", [5]float64{11.9, 10.2, 9.6, 9.1, 8.2}, 0.08, 1},
	}
	for _, typ := range []string{"f64", "f32"} {
		faster := map[string]float64{"f64": 1, "f32": 1.6}[typ]
		for _, v := range ladder {
			for i, n := range sizes {
				r := base("ladder", "serial/"+v.name, typ, n, n, n)
				work := 2 * math.Pow(float64(n), 3)
				r.Predicted = &compare.Predicted{Flops: v.flops * work, Accesses: work, Workspace: 1e5,
					L1Traffic: v.traffic * work / faster, L2Traffic: v.traffic * work / faster, Traffic: v.traffic * work / faster}
				switch {
				case v.name == "naive" && n == 1024 && typ == "f32":
					r.Status, r.Reason.Text = compare.Skipped, "predicted 7.7 s, the budget of a row is 2 s; raise --timeout"
				case v.name == "divide" && n == 256 && typ == "f32":
					r.Status, r.Reason, r.Residual, r.Bound = compare.Wrong, note.Note{Text: "1 of 65536 elements differs"}, 0.31, 2.7e-5
				default:
					r = timed(r, faster*v.rates[i])
				}
				doc.Records = append(doc.Records, r)
			}
			r := base("ladder", "serial/"+v.name, typ, 300, 77, 512)
			doc.Records = append(doc.Records, timed(r, 0.9*faster*v.rates[2]))
		}
		for j, peer := range []string{"openblas", "mkl", "blis"} {
			for i, n := range sizes {
				r := base("ladder", "reference/"+peer, typ, n, n, n)
				r.Turn = fmt.Sprint(typ, n)
				if peer == "blis" {
					r.Status, r.Reason = compare.Unavailable, note.Note{Text: "no BLIS among libblis.so.4, /opt/vendor/compilers_and_libraries/linux/latest/lib/intel64/libblis-mt.so.*; install libblis4, or set GEMM_BLIS"}
				} else {
					r = timed(r, 2*faster/1.6*[2][5]float64{{52, 38, 43, 45, 44}, {56, 57, 53, 52, 52}}[j][i])
					if n == 128 {
						r.Warnings = []note.Note{note.Read("the samples spread by 12 %: close other programs")}
					}
				}
				doc.Records = append(doc.Records, r)
			}
		}
		for _, variant := range []string{"serial/strassen", "serial/winograd"} {
			for i, cut := range []int{1, 16, 32, 64, 128, 256, 512} {
				r := base("cutoff", variant, typ, 1024, 1024, 1024)
				r.Params, r.Resolved = gemm.Params{"cutoff": cut}, gemm.Params{"cutoff": cut, "leaf": "packed"}
				if cut == 1 {
					r.Status, r.Reason.Text = compare.Skipped, "predicted 95 s, the budget of a row is 2 s"
				} else {
					r = timed(r, faster*[]float64{0, 1.4, 3.1, 5.8, 7.9, 8.9, 8.8}[i])
				}
				doc.Records = append(doc.Records, r)
			}
		}
		for i, variant := range []string{"serial/naive", "serial/ikj", "serial/hinted", "serial/blocked", "serial/packed"} {
			for j, build := range []string{"v1", "v1 -B", "v3", "v3 -B"} {
				r := base("compiler", variant, typ, 512, 512, 512)
				r.Build = build
				gain := [][4]float64{{1, 1.01, 1, 1}, {1, 1.04, 1.35, 1.4}, {1, 1, 1.5, 1.5}, {1, 1.08, 1.3, 1.36},
					{1, 1, 1.45, 1.44}}
				doc.Records = append(doc.Records, timed(r, faster*ladder[i].rates[3]*gain[i][j]))
			}
		}
	}
	for i, variant := range []string{"serial/naive", "serial/ikj", "serial/blocked"} {
		for j, n := range sizes {
			r := timed(base("ladder", variant, "gf256", n, n, n), []float64{0.35, 0.62, 0.66}[i]*(1-0.04*float64(j)))
			doc.Records = append(doc.Records, r)
		}
	}
	return doc
}
