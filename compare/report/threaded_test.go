package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/reporttest"
	"gemm/parallel/timeline"
)

// threaded returns records as gemm parallel leaves them after a night of experiments on a host with
// 16 processors. The times follow Amdahl's law with a cost per chunk, with noise from a fixed seed.
// So the tests know what the report must say.
func threaded() compare.Document {
	const host, run = "7a1e55d0", "r1"
	rng := rand.New(rand.NewPCG(5, 6))
	doc := compare.Document{
		Schema: compare.Schema, Variants: reporttest.Variants(),
		Hosts: []compare.Host{{
			ID: host, CPU: "Example EPYC 9654", Sockets: 1, NUMA: 1, Cores: 16, Quota: compare.None(), ISA: "avx512",
			Memory: 64 << 30, PagePolicy: "madvise", OS: "linux 6.1",
			Caches:   []compare.Cache{{Level: 2, Kind: "unified", Bytes: 1 << 20, Line: 64, Shared: 1}},
			Topology: reporttest.Machine(1, 1, 2, 8, 1),
		}},
		Runs: []compare.RunInfo{{
			ID: run, Host: host, Command: "gemm parallel --threads 1,2,4,8,16 --json threads.json", Git: "0123abc",
			Go: "go1.26.0", GOAMD64: "v1",
			Time: time.Date(2026, 4, 1, 20, 0, 0, 0, time.UTC),
		}},
	}
	for _, p := range []int{1, 2, 4, 8, 16} {
		doc.Hosts[0].Ceilings = append(doc.Hosts[0].Ceilings,
			compare.Ceiling{Unit: "cpu", Pipe: "f64", ISA: "avx512", Threads: p,
				Gflops: compare.Number(110 * float64(p) * (1 - 0.01*float64(p))), Run: run})
	}
	// add appends a row of about the given seconds.
	add := func(experiment compare.Experiment, variant string, m, n, k, threads int, params, resolved gemm.Params,
		seconds float64) {
		r := compare.Record{
			Key: compare.Key{
				Host: host, Experiment: experiment, Variant: variant,
				Problem: compare.Problem{Type: "f64", Op: "nn", Alpha: 1, LDA: k, LDB: n, LDC: n,
					Shape: gemm.Shape{M: m, N: n, K: k}},
			},
			Run: run, Compute: "f64", Threads: threads, Params: params, Resolved: resolved, Status: compare.OK,
			Inner: 1, Unit: "GFLOP/s", DataGBps: compare.None(), Residual: 2e-16, Bound: 1e-14,
			BoundKind: gemm.Componentwise,
		}
		if analysis.Family(variant) == "parallel" {
			r.Turn = fmt.Sprintf("%s %s %d", experiment, variant, n)
			if experiment == "chunk" || experiment == "load" {
				r.Turn += fmt.Sprintf(", %d threads", threads)
			}
		}
		for range 25 {
			r.Samples = append(r.Samples, seconds*(1+0.004*math.Abs(rng.NormFloat64())))
		}
		sorted := slices.Sorted(slices.Values(r.Samples))
		r.Median, r.CI = compare.Number(sorted[12]), &[2]float64{sorted[7], sorted[17]}
		r.Gflops = compare.Number(2 * float64(m) * float64(n) * float64(k) / sorted[12] / 1e9)
		r.Rate = r.Gflops
		r.PercentPeak = 100 * r.Gflops / compare.Number(110*float64(threads)*(1-0.01*float64(threads)))
		doc.Records = append(doc.Records, r)
	}
	// took models the seconds of a product: cost a chunk grabbed while it runs.
	type worker struct{ rate, serial float64 } // GFLOP/s on one thread, serial fraction
	workers := map[string]worker{
		"rows": {4, 0.01}, "inner": {3.5, 0.4}, "collapse-inner-atomic": {0.3, 0.02}, "collapse-atomic": {3.8, 0.03},
		"collapse-reduce": {3.8, 0.035}, "tiles": {60, 0.02}, "packed": {105, 0.005}, "strassen": {100, 0.05},
	}
	took := func(variant string, n, p, chunk int, schedule string) float64 {
		w := workers[variant]
		s := 2 * math.Pow(float64(n), 3) / w.rate / 1e9 * (w.serial + (1-w.serial)/float64(p))
		if schedule == "dynamic" || schedule == "guided" {
			s += 2e-8 * float64(n) / float64(max(1, chunk))
		}
		if schedule == "static" && chunk == 0 && p >= 8 {
			s *= 1.03 // waits for the last
		}
		if chunk >= 64 && n/chunk < p {
			s *= float64(p) / float64(max(1, n/chunk)) // too few chunks
		}
		return s
	}
	ran := func(schedule string, chunk int) gemm.Params {
		switch {
		case schedule == "auto":
			return gemm.Params{"schedule": "guided", "chunk": 4}
		case schedule == "dynamic" && chunk == 0:
			chunk = 1
		}
		return gemm.Params{"schedule": schedule, "chunk": chunk}
	}
	baselines := func(experiment compare.Experiment, n int) {
		work := 2 * math.Pow(float64(n), 3) / 1e9
		add(experiment, "serial/packed", n, n, n, 1, gemm.Params{}, gemm.Params{}, work/106)
		add(experiment, "serial/ikj", n, n, n, 1, gemm.Params{}, gemm.Params{}, work/4)
	}
	variants := []string{"rows", "inner", "collapse-inner-atomic", "collapse-atomic", "collapse-reduce", "tiles",
		"packed", "strassen"}
	for _, n := range []int{256, 512} {
		baselines("strong", n)
		for _, variant := range variants {
			for _, p := range []int{1, 2, 4, 8, 16, 32} {
				for _, schedule := range []string{"static", "dynamic", "guided", "auto"} {
					params, resolved := gemm.Params{"threads": p, "schedule": schedule}, ran(schedule, 0)
					if variant == "rows" {
						resolved["local"] = "serial/ikj"
					}
					if variant == "packed" || variant == "strassen" {
						if schedule != "static" {
							continue
						}
						params, resolved = gemm.Params{"threads": p}, gemm.Params{}
					}
					busy := min(p, 16)
					add("strong", "parallel/"+variant, n, n, n, p, params, resolved,
						took(variant, n, busy, 0, schedule)*float64(1+p/32))
				}
			}
		}
	}
	for _, p := range []int{1, 2, 4, 8, 16} {
		for _, variant := range []string{"rows", "packed"} {
			w := workers[variant]
			work := 2 * math.Pow(256, 3) / w.rate / 1e9
			add("weak", "parallel/"+variant, 256*p, 256, 256, p, gemm.Params{"threads": p}, gemm.Params{},
				work*float64(p)/(float64(p)-0.02*float64(p-1)))
		}
	}
	baselines("weak", 256)
	baselines("chunk", 512)
	for _, p := range []int{2, 8} {
		for _, schedule := range []string{"static", "dynamic", "guided"} {
			for _, chunk := range []int{0, 1, 4, 16, 64, 256} {
				add("chunk", "parallel/rows", 512, 512, 512, p, gemm.Params{"threads": p, "schedule": schedule, "chunk": chunk},
					ran(schedule, chunk), took("rows", 512, p, chunk, schedule))
			}
		}
	}
	baselines("affinity", 1024)
	for _, affinity := range []string{"none", "close", "spread"} {
		resolved := gemm.Params{}
		if affinity != "none" {
			resolved["placement"] = map[string]string{"close": "0,1,2,3", "spread": "0,4,8,12"}[affinity]
		}
		faster := map[string]float64{"none": 1, "close": 1, "spread": 1.2}[affinity]
		add("affinity", "parallel/packed", 1024, 1024, 1024, 4, gemm.Params{"threads": 4, "affinity": affinity}, resolved,
			took("packed", 1024, 4, 0, "")/faster)
	}
	baselines("gomaxprocs", 1024)
	for _, procs := range []int{0, 1, 2, 4} {
		busy := min(4, procs)
		if procs == 0 {
			busy = 4
		}
		add("gomaxprocs", "parallel/packed", 1024, 1024, 1024, 4, gemm.Params{"threads": 4, "gomaxprocs": procs},
			gemm.Params{}, took("packed", 1024, busy, 0, ""))
	}
	baselines("load", 256)
	for _, schedule := range []string{"static", "dynamic", "guided"} {
		params := gemm.Params{"threads": 4, "schedule": schedule, "load": 4}
		resolved := ran(schedule, 0)
		resolved["load"] = 4
		trace := played(256, 4, schedule, 4, 1e-5)
		add("load", "parallel/rows", 256, 256, 256, 4, params, resolved, trace.Seconds)
		trace.Host, trace.Run, trace.Params, trace.Resolved = host, run, params, resolved
		doc.Traces = append(doc.Traces, trace)
	}
	probe := func(name string, ns float64, params gemm.Params) {
		m := compare.Measurement{Host: host, Run: run, Name: name, Unit: "ns", Params: params}
		for range 20 {
			m.Samples = append(m.Samples, ns*(1+0.02*math.Abs(rng.NormFloat64())))
		}
		doc.Measurements = append(doc.Measurements, m)
	}
	for _, p := range []int{2, 16} {
		probe("fork-join", 900*float64(p), gemm.Params{"threads": p, "runtime": "pool"})
		probe("fork-join", 2100*float64(p), gemm.Params{"threads": p, "runtime": "goroutines"})
		probe("fork-join", 1000*float64(p), gemm.Params{"threads": p, "runtime": "libgomp"})
		for _, schedule := range []string{"static", "dynamic", "guided"} {
			probe("chunk", 20, gemm.Params{"threads": p, "runtime": "pool", "schedule": schedule, "chunk": 1})
			probe("chunk", 18, gemm.Params{"threads": p, "runtime": "libgomp", "schedule": schedule, "chunk": 1})
		}
		probe("merge", 3, gemm.Params{"threads": p, "runtime": "pool", "method": "atomic"})
		probe("merge", 3, gemm.Params{"threads": p, "runtime": "libgomp", "method": "atomic"})
		probe("merge", 1, gemm.Params{"threads": p, "runtime": "pool", "method": "reduce"})
	}
	return doc
}

// played simulates a loop over n indices on p workers under a schedule, index i of which
// takes unit·(1 + round(load·i/(n−1))) seconds.
func played(n, p int, schedule string, load int, unit float64) compare.Trace {
	t := compare.Trace{Key: compare.Key{Experiment: compare.ArtificialLoad, Variant: "parallel/rows",
		Problem: compare.Problem{Type: "f64", Shape: gemm.Cube(n)}}, Workers: p}
	free := make([]float64, p) // when each worker is
	run := func(w, from, to int) {
		s := timeline.Span{Worker: w, From: from, To: to, Begin: free[w]}
		for i := from; i < to; i++ {
			free[w] += unit * (1 + math.Round(float64(load)*float64(i)/float64(n-1)))
		}
		s.End = free[w]
		t.Spans = append(t.Spans, s)
	}
	next := func() int { return slices.Index(free, slices.Min(free)) }
	switch schedule {
	case "static":
		for i := 0; i < n; {
			w := i * p / n
			j := (w + 1) * n / p
			run(w, i, j)
			i = j
		}
	case "dynamic":
		for i := range n {
			run(next(), i, i+1)
		}
	case "guided":
		for i := 0; i < n; {
			size := max(1, (n-i+p-1)/p)
			run(next(), i, min(n, i+size))
			i += size
		}
	}
	t.Seconds = slices.Max(free) + 2*unit
	return t
}
