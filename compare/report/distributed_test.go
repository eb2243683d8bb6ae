package report

import (
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
	"gemm/mpi/account"
	"gemm/parallel/timeline"
)

// launched returns records as gemm mpi leaves them on a host with 16 processors: all variants by
// ranks and sizes, weak scaling, panels, binding and messages. The times follow a model of latency,
// bandwidth and a rate of each rank, with noise from a fixed seed. So the tests know what the report
// must say.
func launched() compare.Document {
	const host, run = "5ca1ab1e", "r1"
	const rate, latency, bandwidth = 50e9, 1e-6, 5e9 // operations, seconds, bytes
	rng := rand.New(rand.NewPCG(7, 8))
	noisy := func(x float64) float64 { return x * (1 + 0.004*math.Abs(rng.NormFloat64())) }
	var ceilings []compare.Ceiling
	for _, threads := range []int{1, 2, 4, 8, 16, 32} {
		ceilings = append(ceilings, compare.Ceiling{Unit: "cpu", Pipe: "f64", ISA: "avx512", Threads: threads,
			Gflops: compare.Number(60 * threads), Run: run})
	}
	doc := compare.Document{
		Schema: compare.Schema, Variants: reporttest.Variants(),
		Hosts: []compare.Host{{
			ID: host, CPU: "Example EPYC 9654", Sockets: 1, NUMA: 1, Cores: 16, Quota: compare.None(), ISA: "avx512",
			Memory: 64 << 30, PagePolicy: "madvise", OS: "linux 6.1", MPI: "Open MPI v4.1.4",
			Ceilings: ceilings, Topology: reporttest.Machine(1, 1, 2, 8, 1),
		}},
		Runs: []compare.RunInfo{{
			ID: run, Host: host, Command: "gemm mpi --np 1,2,4,8,16,32 --json mpi.json", Git: "0123abc", Go: "go1.26.0",
			GOAMD64: "v1", Flags: "-tags mpi",
			Time: time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC),
		}},
	}
	// add appends a row. bytes is what rank 0 or the busiest rank moves, bound a lower bound of that, and
	// phases has the seconds of each rank.
	add := func(experiment compare.Experiment, variant string, m, n, k, ranks int, params gemm.Params, bytes, bound int64,
		phases []map[string]float64) {
		threads, ok := params["threads"].(int)
		if !ok {
			threads = 1
		}
		params = analysis.Omit(params)
		for name, value := range (gemm.Params{"ranks": ranks, "threads": threads, "local": "serial/packed"}) {
			params[name] = value
		}
		if params["affinity"] == nil {
			params["affinity"] = "close"
		}
		resolved := gemm.Params{"threads": threads}
		if slices.Contains([]string{"mpi/scatter-blocks", "mpi/grid-blocks", "mpi/summa"}, variant) {
			p := int(math.Sqrt(float64(ranks)))
			for ranks%p != 0 {
				p--
			}
			resolved["grid"] = fmt.Sprintf("%dx%d", p, ranks/p)
		}
		r := compare.Record{
			Key: compare.Key{
				Host: host, Experiment: experiment, Variant: variant,
				Problem: compare.Problem{Type: "f64", Op: "nn", Alpha: 1, LDA: k, LDB: n, LDC: n,
					Shape: gemm.Shape{M: m, N: n, K: k}},
			},
			Run: run, Compute: "f64", Threads: ranks * threads, Params: params, Resolved: resolved,
			Status: compare.OK, Inner: 1, Unit: "GFLOP/s", DataGBps: compare.None(), Residual: 2e-16,
			Bound: 1e-14, BoundKind: gemm.Componentwise,
			Turn:      fmt.Sprintf("%s f64 %s nn, %d ranks", experiment, gemm.Shape{M: m, N: n, K: k}.Label(), ranks),
			RanksUsed: ranks, BytesCounted: bytes, BytesPredicted: bytes, BytesBound: float64(bound),
			Phases: map[string]float64{},
		}
		if ranks > 16 {
			r.Warnings = []note.Note{note.Read("oversubscribed: 32 ranks on 16 processors; timings are scheduler noise")}
		}
		total := 0.0
		for i, own := range phases {
			sum := 0.0
			for name, s := range own {
				r.Phases[name] = max(r.Phases[name], s)
				sum += s
			}
			total = max(total, sum)
			r.Ranks = append(r.Ranks,
				account.Rank{Rank: i, Host: "node1", CPUs: fmt.Sprint(i % 16), Phases: own, Sent: bytes / int64(ranks),
					Recv: bytes / int64(ranks)})
		}
		r.ModelSeconds = 0.9 * total
		for range 15 {
			r.Samples = append(r.Samples, noisy(total))
		}
		sorted := slices.Sorted(slices.Values(r.Samples))
		r.Median, r.CI = compare.Number(sorted[7]), &[2]float64{sorted[3], sorted[11]}
		r.Gflops = compare.Number(2 * float64(m) * float64(n) * float64(k) / sorted[7] / 1e9)
		r.Rate, r.PercentPeak = r.Gflops, r.Gflops/compare.Number(60*float64(r.Threads))*100
		doc.Records = append(doc.Records, r)
	}
	// each returns the phases of that many ranks.
	each := func(ranks int, of func(rank int) map[string]float64) []map[string]float64 {
		out := make([]map[string]float64, ranks)
		for i := range out {
			out[i] = of(i)
		}
		return out
	}
	product := func(experiment compare.Experiment, variant string, m, n, k, ranks int, params gemm.Params) {
		workers := ranks
		a, b, c := 8*int64(m)*int64(k), 8*int64(k)*int64(n), 8*int64(m)*int64(n)
		crowd := math.Ceil(float64(ranks) / 16)
		work := 2 * float64(m) * float64(n) * float64(k) / rate * crowd
		if threads, ok := params["threads"].(int); ok {
			work /= float64(threads)
		}
		moved := func(bytes int64, messages float64) float64 { return latency*messages + float64(bytes)/bandwidth*crowd }
		rooted := (a + b + c) * int64(ranks-1) / int64(ranks)
		grid := int64(math.Ceil(math.Sqrt(float64(ranks))))
		slower := 1.0
		if params["affinity"] == "none" {
			slower = 1.1
		}
		switch variant {
		case "mpi/p2p-rows", "mpi/p2p-rows-overlap":
			if ranks > 1 {
				workers = ranks - 1
			}
			bytes := int64(0)
			if ranks > 1 {
				bytes = a + b*int64(workers) + c
			}
			hidden := min(1, float64(ranks-1))
			if variant == "mpi/p2p-rows-overlap" {
				hidden *= 0.3 // of the communication is left
			}
			add(experiment, variant, m, n, k, ranks, params, bytes, rooted, each(ranks, func(rank int) map[string]float64 {
				if rank == 0 && ranks > 1 {
					return map[string]float64{"distribute": 2 * hidden * moved(a+b*int64(workers), float64(workers)),
						"collect": hidden * (moved(c, float64(workers)) + 2e-5)}
				}
				return map[string]float64{"distribute": 2 * hidden * moved(a+b*int64(workers), float64(workers)),
					"compute": work / float64(workers), "collect": hidden * moved(c, float64(workers))}
			}))
		case "mpi/scatter-rows", "mpi/bcast-rows", "mpi/scatter-blocks", "mpi/grid-blocks":
			bytes := a + b*int64(ranks) + c
			switch variant {
			case "mpi/bcast-rows":
				bytes = a + b + c
			case "mpi/scatter-blocks", "mpi/grid-blocks":
				bytes = (a+b)*grid + c
			}
			if ranks == 1 {
				bytes, c = 0, 0
			}
			add(experiment, variant, m, n, k, ranks, params, bytes, rooted, each(ranks, func(rank int) map[string]float64 {
				return map[string]float64{"distribute": moved(bytes-min(bytes, c), 4),
					"compute": work / float64(ranks) * (1 + 0.01*float64(rank%3)), "collect": moved(min(bytes, c), 4)}
			}))
		default:
			bytes := (a + b) / grid * (grid - 1) / grid
			spread := max(0, bytes-bytes/10)
			add(experiment, variant, m, n, k, ranks, params, bytes, spread, each(ranks, func(rank int) map[string]float64 {
				phases := map[string]float64{"communicate": moved(bytes, float64(grid)), "compute": slower * work / float64(ranks)}
				switch variant {
				case "mpi/cannon":
					phases["skew"] = moved(bytes/4, 2)
				case "mpi/25d":
					phases["reduce"] = moved(bytes/8, 2)
				}
				return phases
			}))
		}
	}
	serial := func(n int) {
		add("ladder", "serial/packed", n, n, n, 1, gemm.Params{}, 0, 0, each(1, func(int) map[string]float64 {
			return map[string]float64{"compute": 2 * math.Pow(float64(n), 3) / rate}
		}))
		r := &doc.Records[len(doc.Records)-1]
		r.Params, r.Resolved, r.Ranks, r.RanksUsed, r.Phases, r.ModelSeconds, r.Turn = gemm.Params{}, gemm.Params{}, nil,
			0, nil, 0, ""
	}
	common := map[string]gemm.Params{
		"mpi/p2p-rows": {"master": "idle"}, "mpi/p2p-rows-overlap": {"master": "idle", "panel": 256}, "mpi/scatter-rows": {},
		"mpi/bcast-rows":     {"panel": 256},
		"mpi/scatter-blocks": {"grid": "auto"}, "mpi/grid-blocks": {"grid": "auto"},
		"mpi/summa": {"grid": "auto", "panel": 256}, "mpi/cannon": {}, "mpi/25d": {"panel": 256, "replication": 0},
	}
	order := []string{"mpi/p2p-rows", "mpi/p2p-rows-overlap", "mpi/scatter-rows", "mpi/scatter-blocks", "mpi/grid-blocks",
		"mpi/bcast-rows", "mpi/summa", "mpi/cannon", "mpi/25d"}
	for _, n := range []int{512, 1024} {
		serial(n)
		for _, ranks := range []int{1, 2, 4, 8, 16, 32} {
			for _, variant := range order {
				product("strong", variant, n, n, n, ranks, common[variant])
			}
		}
	}
	for _, threads := range []int{2, 4} {
		for ranks := 1; ranks*threads <= 16; ranks *= 2 {
			p := analysis.Omit(common["mpi/summa"])
			p["threads"] = threads
			product("strong", "mpi/summa", 1024, 1024, 1024, ranks, p)
		}
	}
	for _, ranks := range []int{1, 2, 4, 8, 16} {
		product("weak", "mpi/summa", 256*ranks, 256, 256, ranks, common["mpi/summa"])
	}
	for _, panel := range []int{32, 128, 512} {
		p := analysis.Omit(common["mpi/bcast-rows"])
		p["panel"] = panel
		product("panel", "mpi/bcast-rows", 512, 512, 512, 4, p)
	}
	for _, affinity := range []string{"none", "close"} {
		p := analysis.Omit(common["mpi/summa"])
		p["affinity"] = affinity
		product("affinity", "mpi/summa", 512, 512, 512, 4, p)
	}
	for i := range doc.Records {
		if r := &doc.Records[i]; r.Turn != "" {
			r.Turn = "mpi " + r.Turn
		}
	}
	for _, bytes := range []int{1, 64, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20} {
		m := compare.Measurement{Host: host, Run: run, Name: "ping-pong", Unit: "s",
			Params: gemm.Params{"bytes": bytes, "ranks": 4}}
		for range 9 {
			m.Samples = append(m.Samples, noisy(latency+float64(bytes)/bandwidth))
		}
		doc.Measurements = append(doc.Measurements, m)
	}
	return doc
}

// growing returns rows of mpi/summa whose m grows with the ranks.
func growing(ms map[int]float64) []compare.Record {
	rows := reporttest.Raced("summa", ms)
	for i := range rows {
		rows[i].Experiment = compare.WeakScaling
		rows[i].M *= analysis.OverRanks.Count(rows[i])
	}
	return rows
}

// peaked adds peaks of the given numbers of threads.
func peaked(doc compare.Document, threads ...int) compare.Document {
	doc.Hosts[0].Ceilings = nil
	for _, n := range threads {
		doc.Hosts[0].Ceilings = append(doc.Hosts[0].Ceilings,
			compare.Ceiling{Unit: "cpu", Pipe: "f64", ISA: "avx2", Threads: n, Gflops: compare.Number(40 * n),
				Run: "r1"})
	}
	return doc
}

// pinged adds messages whose time is latency plus bytes divided by bandwidth.
func pinged(ranks int, latency, bandwidth float64, sizes ...int) func(*compare.Document) {
	return func(d *compare.Document) {
		for _, bytes := range sizes {
			d.Measurements = append(d.Measurements, compare.Measurement{Host: "h1", Run: "r1", Name: "ping-pong", Unit: "s",
				Params:  gemm.Params{"bytes": bytes, "ranks": ranks},
				Samples: reporttest.Row("x", 1, latency+float64(bytes)/bandwidth).Samples})
		}
	}
}

// pingedByWays adds messages of 4 ranks by all ways.
func pingedByWays(d *compare.Document) {
	for _, way := range [][2]string{{"inside", "one"}, {"inside", "all"}, {"between", "one"}, {"between", "all"},
		{"between", "all both ways"}} {
		first := len(d.Measurements)
		pinged(4, 2e-6, 1<<30, 1, 1<<20)(d)
		for i := range d.Measurements[first:] {
			p := d.Measurements[first+i].Params
			p["path"], p["pairs"] = way[0], way[1]
		}
	}
}

// inLoops is what findings on ranks say of the kernel of the report of 2024.
const inLoops = "All cases are of `serial/naive`, the kernel of that report. "

// noRank is what the report of a document without timed rows of the family does not say.
var noRank = []string{"{#distributed}", "{#mpi-findings}"}

var rankSentences = []sentence{
	{"timelines of ranks", traced(), []string{"Times of ranks on different hosts are known within 20.0 µs of each " +
		"other."}, nil},
	{"an evening with ranks", launched(), []string{
		"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — **Not measured here.** To " +
			"measure it: `gemm mpi --variants ", // every rank computes by serial/packed
	}, []string{"Other measurements", "Residuals by threads", "By the scatter"}},
	{"ranks that could not be launched",
		reporttest.With(reporttest.Row("mpi/summa", 256, 1, reporttest.OnRanks("strong", 2),
			reporttest.Came(compare.Unavailable, "built without MPI"))), nil, noRank},
	{"ranks whose number is not known", reporttest.With(reporttest.Row("mpi/summa", 256, 1e-3)), nil, noRank},
	{"one row on ranks", reporttest.Many(reporttest.Row("mpi/summa", 256, 1e-3, reporttest.OnRanks("ladder", 2))),
		[]string{"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — **Not measured " +
			"here.** To measure it: `gemm mpi --variants mpi/p2p-rows,mpi/scatter-rows,mpi/scatter-blocks " +
			"--np 2,4 --local serial/naive --sizes 512,1024 --json ranks.json`",
			"far faster than by point-to-point messages.* — **Not measured here.**",
			"hardly faster than by point-to-point messages.* — **Not measured here.**"},
		[]string{"{#mpi-strong}", "{#mpi-overlap}", "{#mpi-shares}"}},
	{"a rank that failed", reporttest.Many(append(reporttest.Raced("summa", map[int]float64{1: 1, 2: 0.6}),
		reporttest.Row("mpi/summa", 256, 1, reporttest.OnRanks("strong", 4),
			reporttest.Came(compare.Failed, "rank 3 was killed by signal 9 (Killed)")))...),
		nil, nil},
	{"the row of one rank failed",
		reporttest.Many(append(reporttest.Raced("summa", map[int]float64{2: 0.6, 4: 0.3}),
			reporttest.Row("mpi/summa", 256, 1, reporttest.OnRanks("strong", 1), reporttest.Came(compare.Failed, "x")))...),
		nil, nil},
	{"ranks that cost more than they bring",
		reporttest.Many(reporttest.Raced("summa", map[int]float64{1: 1, 2: 1.5, 4: 2})...),
		nil, nil},
	{"two ranks", reporttest.Many(slices.Concat(reporttest.Raced("summa", map[int]float64{1: 1, 2: 0.75}),
		growing(map[int]float64{1: 1, 2: 1.25}))...),
		nil, nil},
	{"ranks on one, two and three hosts", reporttest.Many(slices.Concat(
		reporttest.Raced("summa", map[int]float64{16: 9}),
		reporttest.OnHosts(2, reporttest.Raced("summa", map[int]float64{16: 10, 32: 6})...),
		reporttest.OnHosts(2, reporttest.Raced("bcast-rows", map[int]float64{2: 10})...),
		reporttest.OnHosts(4, reporttest.Raced("bcast-rows", map[int]float64{4: 20})...),
		growing(map[int]float64{16: 1}), reporttest.OnHosts(2, growing(map[int]float64{32: 1.25})...),
	)...),
		nil, nil},
	{"a rank on each of up to four hosts", peaked(reporttest.Many(slices.Concat(
		reporttest.Raced("summa", map[int]float64{1: 8}),
		reporttest.OnHosts(2, reporttest.Raced("summa", map[int]float64{2: 5})...),
		reporttest.OnHosts(4, reporttest.Raced("summa", map[int]float64{4: 3.5})...),
		reporttest.Raced("bcast-rows", map[int]float64{1: 8}),
		reporttest.OnHosts(2, reporttest.Raced("bcast-rows", map[int]float64{2: 9})...),
		growing(map[int]float64{1: 1}), reporttest.OnHosts(2, growing(map[int]float64{2: 1.25})...),
		reporttest.OnHosts(4, growing(map[int]float64{4: 1.5})...),
	)...), 1, 2, 4),
		nil, nil},
	{"ranks of which one alone computes",
		reporttest.Many(reporttest.Row("mpi/cannon", 256, 1e-3, reporttest.OnRanks("strong", 2),
			func(r *compare.Record) { r.BytesCounted, r.BytesPredicted, r.RanksUsed = 0, 0, 1 })),
		nil, nil},
	{"too few processors for the gap",
		reporttest.With(slices.Concat(reporttest.Raced("p2p-rows", map[int]float64{2: 2}),
			reporttest.Raced("scatter-rows", map[int]float64{2: 1}))...),
		[]string{"hardly faster than by point-to-point messages.* — **Not measured here.** It takes a host with " +
			"at least 5 processors: `gemm mpi --variants mpi/p2p-rows,"}, nil},
	{"more than the ranks", reporttest.Many(reporttest.Raced("summa", map[int]float64{1: 1, 2: 0.45, 4: 0.2})...),
		nil, nil},
	{"bytes that differ", reporttest.Many(append(reporttest.Raced("summa", map[int]float64{1: 1}),
		reporttest.Row("mpi/summa", 256, 1e-3, reporttest.OnRanks("strong", 2),
			func(r *compare.Record) { r.BytesCounted = 301 }))...),
		nil,
		nil},
	{"rows without ranks", reporttest.Many(reporttest.Row("mpi/summa", 256, 1e-3, reporttest.OnRanks("strong", 2),
		func(r *compare.Record) { r.Ranks, r.ModelSeconds = nil, math.NaN() })),
		nil, nil},
	{"too many ranks", reporttest.With(reporttest.Row("mpi/summa", 256, 1e-3, reporttest.OnRanks("ladder", 4))),
		nil, nil},

	{"blocks ahead of rows in one case",
		reporttest.Many(slices.Concat(reporttest.Raced("scatter-rows", map[int]float64{4: 1.1}),
			reporttest.Raced("scatter-blocks", map[int]float64{4: 1}, "grid", "2x2"))...),
		[]string{"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — **Too few " +
			"data.** Cases that are decided: 1 of 1. It holds in 1: n = 256 (4 ranks). " + inLoops +
			"`scatter-blocks` is 1.10 (1.10) times as fast as `scatter-rows`: `mpi/scatter-rows`, n = 256, 4 ranks."}, nil},
	{"blocks ahead of rows", reporttest.Many(thrice(slices.Concat(
		reporttest.Raced("scatter-rows", map[int]float64{4: 1.1}, "local", "serial/naive"),
		reporttest.Raced("scatter-blocks", map[int]float64{4: 1}, "local", "serial/naive")))...),
		[]string{"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — " +
			"**Supported.** Cases that are decided: 3 of 3. It holds in 3: "}, nil},
	{"blocks level with rows", reporttest.Many(thrice(slices.Concat(
		reporttest.Raced("scatter-rows", map[int]float64{4: 1.02}),
		reporttest.Raced("scatter-blocks", map[int]float64{4: 1})))...),
		[]string{"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — **Not " +
			"supported.** Cases that are decided: 3 of 3. No difference in 3: "}, nil},
	{"blocks far ahead of rows", reporttest.Many(thrice(slices.Concat(
		reporttest.Raced("scatter-rows", map[int]float64{4: 1.65}),
		reporttest.Raced("scatter-blocks", map[int]float64{4: 1})))...),
		[]string{"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — **Not " +
			"supported.** Cases that are decided: 3 of 3. More than claimed in 3: "}, nil},
	{"blocks behind rows", reporttest.Many(slices.Concat(
		reporttest.Raced("scatter-rows", map[int]float64{4: 1, 8: 1, 16: 1}),
		reporttest.Raced("scatter-blocks", map[int]float64{4: 1.4, 8: 1.4, 16: 1.4}))...),
		[]string{"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — " +
			"**Reversed.** Cases that are decided: 3 of 3. The opposite in 3: n = 256 (4, 8, 16 ranks). "}, nil},
	{"blocks ahead with the plain loops and behind with another kernel", reporttest.Many(slices.Concat(
		reporttest.Raced("scatter-rows", map[int]float64{4: 1.1, 8: 1.1, 16: 1.1}, "local", "serial/naive"),
		reporttest.Raced("scatter-blocks", map[int]float64{4: 1, 8: 1, 16: 1}, "local", "serial/naive"),
		reporttest.Raced("scatter-rows", map[int]float64{4: 1, 8: 1, 16: 1}, "local", "serial/packed"),
		reporttest.Raced("scatter-blocks", map[int]float64{4: 2, 8: 2, 16: 2}, "local", "serial/packed"))...),
		[]string{"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — " +
			"**Supported.** Cases that are decided: 3 of 3. "}, []string{"sharing it out by rows.* — **Reversed.**"}},
	{"blocks and rows of another kernel", reporttest.Many(thrice(large(slices.Concat(
		reporttest.Raced("p2p-rows", map[int]float64{2: 4, 8: 4}, "local", "serial/packed"),
		reporttest.Raced("scatter-rows", map[int]float64{2: 1, 8: 1}, "local", "serial/packed"),
		reporttest.Raced("scatter-blocks", map[int]float64{2: 2, 8: 2}, "local", "serial/packed"))))...),
		[]string{"sharing it out by rows.* — **Not measured here.** To measure it: ", "far faster than by point-to-point " +
			"messages.* — **Not measured here.** To measure it: ", "hardly faster than by point-to-point messages.* — **Not " +
			"measured here.** To measure it: "}, nil},
	{"blocks and rows of different launches",
		reporttest.Many(apart(slices.Concat(reporttest.Raced("scatter-rows", map[int]float64{4: 1.1}),
			reporttest.Raced("scatter-blocks", map[int]float64{4: 1})))...),
		[]string{"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — **Not measured here.**"}, nil},
	{"blocks and rows on too many ranks",
		reporttest.Many(slices.Concat(reporttest.Raced("scatter-rows", map[int]float64{32: 1.1}),
			reporttest.Raced("scatter-blocks", map[int]float64{32: 1}))...),
		[]string{"*Sharing a product out in blocks is slightly faster than sharing it out by rows.* — **Not measured here.**"}, nil},
	{"three ways with plain loops", reporttest.Many(slices.Concat(
		reporttest.Raced("p2p-rows", map[int]float64{1: 4, 2: 4, 4: 1.4}, "local", "serial/naive"),
		reporttest.Raced("scatter-rows", map[int]float64{1: 4, 2: 2, 4: 1}, "local", "serial/naive"),
		reporttest.Raced("scatter-blocks", map[int]float64{1: 4, 2: 1.9}, "local", "serial/naive"),
		reporttest.Raced("scatter-rows", map[int]float64{2: 0.5, 8: 0.1}, "local", "serial/packed"))...),
		[]string{"figure mpi-distribution-f64: "}, nil},
	{"plain loops of a master that works", reporttest.Many(
		reporttest.Raced("p2p-rows", map[int]float64{2: 4}, "local", "serial/naive", "master", "works")...),
		nil, []string{"{#mpi-distribution}"}},
	{"other loops than plain ones", reporttest.Many(
		reporttest.Raced("scatter-rows", map[int]float64{2: 4}, "local", "serial/packed")...),
		nil, []string{"{#mpi-distribution}"}},
	{"a gap that closes", reporttest.Many(thrice(large(slices.Concat(
		reporttest.Raced("p2p-rows", map[int]float64{2: 2, 8: 1}, "master", "idle"),
		reporttest.Raced("scatter-rows", map[int]float64{2: 1, 8: 0.9}))))...),
		[]string{"far faster than by point-to-point messages.* — **Supported.** Cases that are decided: 3 of 3. " +
			"It holds in 3: ",
			"hardly faster than by point-to-point messages.* — **Supported.** Cases that are decided: 3 of 3. It " +
				"holds in 3: ",
		}, nil},
	{"a gap that turns into its opposite", reporttest.Many(large(slices.Concat(
		reporttest.Raced("p2p-rows", map[int]float64{2: 2, 4: 1.3, 8: 1, 16: 1, 32: 1}),
		reporttest.Raced("scatter-rows", map[int]float64{2: 1, 4: 1, 8: 0.9, 16: 1.4, 32: 1.4})))...),
		[]string{"far faster than by point-to-point messages.* — **Too few data.** Cases that are decided: 2 of " +
			"2. It holds in 2: n = 1024 (2, 4 ranks). ",
			"hardly faster than by point-to-point messages.* — **Too few data.** Cases that are decided: 2 of 2. " +
				"It holds in 1: n = 1024 (8 ranks). The opposite in 1: n = 1024 (16 ranks). " + inLoops + "`scatter-rows` is " +
				"between 0.714 ("},
		[]string{"far faster than by point-to-point messages.* — **Supported",
			"hardly faster than by point-to-point messages.* — **Supported"}},
	{"collective rows that are slower on many ranks", reporttest.Many(thrice(large(slices.Concat(
		reporttest.Raced("p2p-rows", map[int]float64{2: 2, 16: 1}),
		reporttest.Raced("scatter-rows", map[int]float64{2: 1, 16: 1.4}))))...),
		[]string{"far faster than by point-to-point messages.* — **Supported.** ",
			"hardly faster than by point-to-point messages.* — **Reversed.** Cases that are decided: 3 of 3. The " +
				"opposite in 3: "}, nil},
	{"a gap that narrows and stays wide", reporttest.Many(thrice(large(slices.Concat(
		reporttest.Raced("p2p-rows", map[int]float64{2: 4, 8: 2}),
		reporttest.Raced("scatter-rows", map[int]float64{2: 1, 8: 1}))))...),
		[]string{"hardly faster than by point-to-point messages.* — **Not supported.** Cases that are decided: 3 " +
			"of 3. More than claimed in 3: "}, nil},
	{"hardly a gap on few ranks", reporttest.Many(thrice(large(slices.Concat(
		reporttest.Raced("p2p-rows", map[int]float64{2: 1.1, 8: 1}),
		reporttest.Raced("scatter-rows", map[int]float64{2: 1, 8: 1}))))...),
		[]string{"far faster than by point-to-point messages.* — **Not supported.** Cases that are decided: 3 of " +
			"3. Less than claimed in 3: "}, nil},
	{"a gap on small matrices", reporttest.Many(thrice(slices.Concat(
		reporttest.Raced("p2p-rows", map[int]float64{2: 2, 8: 1}),
		reporttest.Raced("scatter-rows", map[int]float64{2: 1, 8: 1})))...),
		[]string{"far faster than by point-to-point messages.* — **Not measured here.**",
			"hardly faster than by point-to-point messages.* — **Not measured here.**"}, nil},
	{"a master that works", reporttest.Many(thrice(large(slices.Concat(
		reporttest.Raced("p2p-rows", map[int]float64{2: 2}, "master", "works"),
		reporttest.Raced("scatter-rows", map[int]float64{2: 1}))))...),
		[]string{"far faster than by point-to-point messages.* — **Not measured here.**"}, nil},
	{"a gap in too few samples",
		changed(reporttest.Many(thrice(large(slices.Concat(reporttest.Raced("p2p-rows", map[int]float64{2: 2, 8: 1}),
			reporttest.Raced("scatter-rows", map[int]float64{2: 1, 8: 0.9}))))...), func(d *compare.Document) {
			for i := range d.Records {
				if r := &d.Records[i]; analysis.Family(r.Variant) == "mpi" {
					reporttest.Sampled(3, float64(r.Median))(r)
				}
			}
		}), []string{"far faster than by point-to-point messages.* — **Too few data.** Cases that are decided: 0 " +
			"of 3. Without an interval in 3: "}, nil},

	{"the library slower than two variants",
		reporttest.Many(slices.Concat(reporttest.Raced("summa", map[int]float64{4: 1}),
			reporttest.Raced("cannon", map[int]float64{4: 1.5}),
			[]compare.Record{reporttest.Row("reference/scalapack", 256, 2e-3, reporttest.OnRanks("strong", 4))})...),
		nil, nil},
	{"the library on another number of ranks",
		reporttest.Many(append(reporttest.Raced("summa", map[int]float64{4: 1}),
			reporttest.Row("reference/scalapack", 256, 2e-3, reporttest.OnRanks("strong", 2)))...), nil,
		[]string{"{#mpi-library}"}},
	{"help and none", reporttest.Many(
		reporttest.Row("mpi/summa", 256, 2e-3, reporttest.OnRanks("schedule", 4, "schedule", "static")),
		reporttest.Row("mpi/summa", 256, 1e-3, reporttest.OnRanks("schedule", 4, "schedule", "dynamic"))),
		nil, nil},

	{"communication that is hidden",
		reporttest.Many(slices.Concat(reporttest.Raced("p2p-rows", map[int]float64{4: 2}),
			reporttest.Raced("p2p-rows-overlap", map[int]float64{4: 1.2}, "panel", 64))...),
		nil, nil},
	{"an overlap that costs more than it hides",
		reporttest.Many(slices.Concat(reporttest.Raced("p2p-rows", map[int]float64{4: 2}),
			reporttest.Raced("p2p-rows-overlap", map[int]float64{4: 3.5}, "panel", 64))...),
		nil, nil},
	{"an overlap that is faster than computing",
		reporttest.Many(slices.Concat(reporttest.Raced("p2p-rows", map[int]float64{4: 2}),
			reporttest.Raced("p2p-rows-overlap", map[int]float64{4: 0.48}, "panel", 64))...),
		nil, nil},
	{"bytes over the least of several rows", reporttest.Many(
		reporttest.Row("mpi/summa", 256, 1e-3, reporttest.OnRanks("strong", 2)),
		reporttest.Row("mpi/summa", 256, 1e-3, reporttest.OnRanks("strong", 4),
			func(r *compare.Record) { r.BytesCounted, r.BytesPredicted = 400, 400 })),
		nil, nil},
	{"nothing to hide", reporttest.Many(slices.Concat(
		[]compare.Record{reporttest.Row("mpi/p2p-rows", 256, 2e-3, reporttest.OnRanks("strong", 4),
			func(r *compare.Record) { r.Ranks, r.Phases["compute"] = nil, 2e-3 })},
		reporttest.Raced("p2p-rows-overlap", map[int]float64{4: 1.2}))...),
		nil, nil},
	{"an overlap without its partner",
		reporttest.Many(reporttest.Raced("p2p-rows-overlap", map[int]float64{2: 1, 4: 1.2})...), nil,
		[]string{"{#mpi-overlap}"}},
	{"an overlap whose partner failed",
		reporttest.Many(append(reporttest.Raced("p2p-rows-overlap", map[int]float64{4: 1.2}),
			reporttest.Row("mpi/p2p-rows", 256, 1, reporttest.OnRanks("strong", 4), reporttest.Came(compare.Timeout, "x")))...),
		nil, []string{"{#mpi-overlap}"}},
	{"an overlap in few samples",
		changed(reporttest.Many(slices.Concat(reporttest.Raced("p2p-rows", map[int]float64{4: 2}),
			reporttest.Raced("p2p-rows-overlap", map[int]float64{4: 1.2}))...), func(d *compare.Document) {
			for i := range d.Records {
				if r := &d.Records[i]; analysis.Family(r.Variant) == "mpi" {
					reporttest.Sampled(5, float64(r.Median))(r)
				}
			}
		}), nil, nil},
	{"messages", changed(reporttest.Many(reporttest.Row("mpi/summa", 256, 1e-3, reporttest.OnRanks("ladder", 2))),
		pinged(2, 2e-6, 1<<30, 1, 1<<10, 1<<20)),
		nil, nil},
	{"messages by their way", changed(reporttest.Many(reporttest.Row("mpi/summa", 256, 1e-3,
		reporttest.OnRanks("ladder", 4))), pingedByWays),
		nil, nil},
	{"messages of one size", changed(reporttest.Many(reporttest.Row("mpi/summa", 256, 1e-3,
		reporttest.OnRanks("ladder", 2))), pinged(2, 2e-6, 1<<30, 64)), nil,
		[]string{"a message takes", "Other measurements"}},
	{"messages without rows", changed(reporttest.Many(), pinged(2, 2e-6, 1<<30, 1, 64)),
		nil, nil},
}

// large gives rows the size from which claims about ranks call matrices large.
func large(rows []compare.Record) []compare.Record {
	for i := range rows {
		rows[i].Shape = gemm.Cube(1024)
		rows[i].LDA, rows[i].LDB, rows[i].LDC = 1024, 1024, 1024
	}
	return rows
}

// traced returns records of ranks with the timelines of some of them.
func traced() compare.Document {
	doc := launched()
	add := func(variant string, ranks, n int, clocks float64) {
		trace := compare.Trace{Run: "r1", Workers: ranks, Seconds: 3e-3, Spans: []timeline.Span{}, Key: compare.Key{
			Host: doc.Hosts[0].ID, Variant: variant,
			Problem: compare.Problem{Type: "f64", Op: "nn", Alpha: 1, Shape: gemm.Cube(n)},
		}}
		trace.ClockError = clocks
		for r := range ranks {
			trace.Ranks = append(trace.Ranks, account.Rank{Rank: r})
			trace.Phases = append(trace.Phases, timeline.Phase{Lane: r, Name: "communicate", End: 1e-3},
				timeline.Phase{Lane: r, Name: "communicate", Call: "bcast", End: 1e-3},
				timeline.Phase{Lane: r, Name: "compute", Begin: 1e-3, End: 2e-3},
				timeline.Phase{Lane: r, Name: timeline.Waiting, Begin: 2e-3, End: 4e-3})
		}
		doc.Traces = append(doc.Traces, trace)
	}
	add("mpi/summa", 2, 2048, 0)
	add("mpi/summa", 4, 512, 0)
	add("mpi/summa", 4, 1024, 0)
	add("mpi/summa", 4, 1024, 0)
	add("mpi/cannon", 4, 1024, 2e-5)
	add("mpi/cannon", 4, 512, 0)
	return doc
}

// TestRanksAreDrawn checks that the timelines of ranks are one figure in both languages, with a panel for
// each variant on the most ranks and a lane for each rank, and that the error of their clocks is named.
func TestRanksAreDrawn(t *testing.T) {
	doc := traced()
	e, ok := analysis.Views(doc)[0].Ensemble(analysis.OnRanks)
	if !ok || e.Lanes != 4 || e.N != 1024 || len(e.Traces) != 2 || e.Traces[1].Variant != "mpi/cannon" {
		t.Fatalf("drawn is %+v", e)
	}
	if _, ok := analysis.Views(doc)[0].Ensemble(analysis.OnGPU); ok {
		t.Error("ranks are streams of a GPU")
	}
	for lang, want := range map[string]string{"en": "known within 20.0 µs of each other", "zh": "误差不超过 20.0 µs"} {
		drawings := slices.DeleteFunc(figures.Drawings(doc, lang), func(d chart.Drawing) bool {
			return d.ID != figures.EnsembleID(analysis.OnRanks)+analysis.Views(doc)[0].Suffix
		})
		if len(drawings) != 1 {
			t.Errorf("%s: %d figures", lang, len(drawings))
		}
		for _, drawing := range drawings {
			lanes := drawing.Chart.(chart.Lanes)
			if got := strings.Join(lanes.Kinds, " "); got != "communicate compute wait" || len(lanes.Panels) != 2 {
				t.Errorf("the kinds are %q, in %d panels", got, len(lanes.Panels))
			}
			p := lanes.Panels[0]
			if len(p.Lanes) != 4 || len(p.Lanes[3]) != 3 || p.End != 4 || p.Label != "mpi/summa: 3.00 ms" {
				t.Errorf("the first panel is %+v", p)
			}
		}
		if !strings.Contains(allText(Build(doc, Options{Lang: lang})), want) {
			t.Errorf("%s: the report lacks %q", lang, want)
		}
	}
}
