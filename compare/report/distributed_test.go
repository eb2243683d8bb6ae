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
)

// launched returns records such as `gemm mpi` leaves on a host of 16 processors: all
// variants by ranks and sizes, weak scaling, panels, binding and messages. Times are drawn
// from a generator of fixed seed about those of a model, latency and bandwidth and a rate
// of each rank, so that what the report says of them can be known beforehand.
func launched() compare.Document {
	const host, run = "5ca1ab1e", "r1"
	const rate, latency, bandwidth = 50e9, 1e-6, 5e9 // operations, seconds, bytes
	rng := rand.New(rand.NewPCG(7, 8))
	noisy := func(x float64) float64 { return x * (1 + 0.004*math.Abs(rng.NormFloat64())) }
	doc := compare.Document{
		Schema: compare.Schema,
		Hosts: []compare.Host{{
			ID: host, CPU: "Example EPYC 9654", Sockets: 1, NUMA: 1, Cores: 16, Quota: compare.None(), ISA: "avx512",
			Memory: 64 << 30, PagePolicy: "madvise", OS: "linux 6.1", MPI: "Open MPI v4.1.4",
		}},
		Runs: []compare.RunInfo{{
			ID: run, Host: host, Command: "gemm mpi --np 1,2,4,8,16,32 --json mpi.json", Git: "0123abc", Go: "go1.26.0", GOAMD64: "v1", Flags: "-tags mpi",
			Time: time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC),
		}},
	}
	// add appends a row: what rank 0 or the busiest rank moves in bytes, a lower bound of
	// that, and the seconds of each rank's phases.
	add := func(experiment, variant string, m, n, k, ranks int, params gemm.Params, bytes, bound int64, phases []map[string]float64) {
		threads, ok := params["threads"].(int)
		if !ok {
			threads = 1
		}
		params = omit(params)
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
			Host: host, Run: run, Experiment: experiment, Variant: variant, Type: "f64", Compute: "f64", Op: "nn", Alpha: 1,
			M: m, N: n, K: k, LDA: k, LDB: n, LDC: n, Threads: ranks * threads, Params: params, Resolved: resolved,
			Status: compare.OK, Inner: 1, Unit: "GFLOP/s", DataGBps: compare.None(), Residual: 2e-16, Bound: 1e-14, BoundKind: gemm.Componentwise,
			Turn:      fmt.Sprintf("%s f64 %s nn, %d ranks", experiment, compare.Record{M: m, N: n, K: k}.Shape(), ranks),
			RanksUsed: ranks, BytesCounted: bytes, BytesPredicted: bytes, BytesBound: float64(bound), Phases: map[string]float64{},
		}
		if ranks > 16 {
			r.Warnings = []string{"oversubscribed: 32 ranks on 16 processors; timings are scheduler noise"}
		}
		total := 0.0
		for i, own := range phases {
			sum := 0.0
			for name, s := range own {
				r.Phases[name] = max(r.Phases[name], s)
				sum += s
			}
			total = max(total, sum)
			r.Ranks = append(r.Ranks, gemm.Rank{Rank: i, Host: "node1", CPUs: fmt.Sprint(i % 16), Phases: own, Sent: bytes / int64(ranks), Recv: bytes / int64(ranks)})
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
	// each returns the phases of so many ranks.
	each := func(ranks int, of func(rank int) map[string]float64) []map[string]float64 {
		out := make([]map[string]float64, ranks)
		for i := range out {
			out[i] = of(i)
		}
		return out
	}
	product := func(experiment, variant string, m, n, k, ranks int, params gemm.Params) {
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
					return map[string]float64{"distribute": 2 * hidden * moved(a+b*int64(workers), float64(workers)), "collect": hidden * (moved(c, float64(workers)) + 2e-5)}
				}
				return map[string]float64{"distribute": 2 * hidden * moved(a+b*int64(workers), float64(workers)), "compute": work / float64(workers), "collect": hidden * moved(c, float64(workers))}
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
				return map[string]float64{"distribute": moved(bytes-min(bytes, c), 4), "compute": work / float64(ranks) * (1 + 0.01*float64(rank%3)), "collect": moved(min(bytes, c), 4)}
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
		r.Params, r.Resolved, r.Ranks, r.RanksUsed, r.Phases, r.ModelSeconds, r.Turn = gemm.Params{}, gemm.Params{}, nil, 0, nil, 0, ""
	}
	common := map[string]gemm.Params{
		"mpi/p2p-rows": {"master": "idle"}, "mpi/p2p-rows-overlap": {"master": "idle", "panel": 256}, "mpi/scatter-rows": {}, "mpi/bcast-rows": {"panel": 256},
		"mpi/scatter-blocks": {"grid": "auto"}, "mpi/grid-blocks": {"grid": "auto"}, "mpi/summa": {"grid": "auto", "panel": 256}, "mpi/cannon": {}, "mpi/25d": {"panel": 256, "replication": 0},
	}
	order := []string{"mpi/p2p-rows", "mpi/p2p-rows-overlap", "mpi/scatter-rows", "mpi/scatter-blocks", "mpi/grid-blocks", "mpi/bcast-rows", "mpi/summa", "mpi/cannon", "mpi/25d"}
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
			p := omit(common["mpi/summa"])
			p["threads"] = threads
			product("strong", "mpi/summa", 1024, 1024, 1024, ranks, p)
		}
	}
	for _, ranks := range []int{1, 2, 4, 8, 16} {
		product("weak", "mpi/summa", 256*ranks, 256, 256, ranks, common["mpi/summa"])
	}
	for _, panel := range []int{32, 128, 512} {
		p := omit(common["mpi/bcast-rows"])
		p["panel"] = panel
		product("panel", "mpi/bcast-rows", 512, 512, 512, 4, p)
	}
	for _, affinity := range []string{"none", "close"} {
		p := omit(common["mpi/summa"])
		p["affinity"] = affinity
		product("affinity", "mpi/summa", 512, 512, 512, 4, p)
	}
	for i := range doc.Records {
		if r := &doc.Records[i]; r.Turn != "" {
			r.Turn = "mpi " + r.Turn
		}
	}
	for _, bytes := range []int{1, 64, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20} {
		m := compare.Measurement{Host: host, Run: run, Name: "ping-pong", Unit: "s", Params: gemm.Params{"bytes": bytes, "ranks": 4}}
		for range 9 {
			m.Samples = append(m.Samples, noisy(latency+float64(bytes)/bandwidth))
		}
		doc.Measurements = append(doc.Measurements, m)
	}
	return doc
}

// onRanks makes a row one of an experiment of the family mpi on some ranks, in the turn of
// their number, with other parameters, name and value in turn: rank 1 and those after it
// compute for half of the time, and rank 0 distributes for a quarter of it.
func onRanks(experiment string, ranks int, params ...any) func(*compare.Record) {
	return func(r *compare.Record) {
		threadsOf(experiment, 1, params...)(r)
		r.Params["ranks"], r.Threads = ranks, ranks
		r.Turn = fmt.Sprintf("mpi %s %d, %d ranks", experiment, r.N, ranks)
		r.RanksUsed, r.BytesCounted, r.BytesPredicted, r.BytesBound = ranks, 300, 300, 200
		if ranks == 1 {
			r.BytesCounted, r.BytesPredicted, r.BytesBound = 0, 0, 0
		}
		r.ModelSeconds = float64(r.Median) / 2
		r.Phases = map[string]float64{"compute": float64(r.Median) / 2}
		for i := range ranks {
			phases := map[string]float64{"compute": float64(r.Median) / 2}
			if i == 0 {
				phases = map[string]float64{"distribute": float64(r.Median) / 4}
			}
			r.Ranks = append(r.Ranks, gemm.Rank{Rank: i, Host: "node1", CPUs: fmt.Sprint(i), Phases: phases})
		}
	}
}

// raced returns rows of a variant at n = 256 that take the given milliseconds by ranks.
func raced(variant string, ms map[int]float64, params ...any) []compare.Record {
	var rows []compare.Record
	for _, ranks := range []int{1, 2, 4, 8, 16, 32} {
		if t, ok := ms[ranks]; ok {
			rows = append(rows, row("mpi/"+variant, 256, t/1e3, onRanks("strong", ranks, params...)))
		}
	}
	return rows
}

// growing returns rows of mpi/summa whose m grows with the ranks.
func growing(ms map[int]float64) []compare.Record {
	rows := raced("summa", ms)
	for i := range rows {
		rows[i].Experiment = "weak"
		rows[i].M *= overRanks.count(rows[i])
	}
	return rows
}

// pinged adds messages that take latency and a second for each so many bytes.
func pinged(ranks int, latency, bandwidth float64, sizes ...int) func(*compare.Document) {
	return func(d *compare.Document) {
		for _, bytes := range sizes {
			d.Measurements = append(d.Measurements, compare.Measurement{Host: "h1", Run: "r1", Name: "ping-pong", Unit: "s",
				Params: gemm.Params{"bytes": bytes, "ranks": ranks}, Samples: row("x", 1, latency+float64(bytes)/bandwidth).Samples})
		}
	}
}

// noRank is what the report of a document without timed rows of the family does not say.
var noRank = []string{"{#distributed}", "{#mpi-findings}", "ranks:"}

var rankSentences = []sentence{
	{"an evening with ranks", launched(), []string{
		"# Distributed memory {#distributed}",
		"- **f64**, ranks: `mpi/summa`, n = 1024, 16 ranks, affinity=close threads=1 is 13.0 times as fast as on one rank: [Distributed memory](#mpi-strong).",
		"- **f64**: the fastest is `mpi/summa`, n = 1024, 16 ranks, affinity=close threads=1, with 3.3",
		"Common to all rows that have it: affinity=close local=serial/packed master=idle panel=256.",
		"Rows with more ranks or threads than the 16 processors granted are muted",
		"For f64 at n = 1024 and 16 ranks, the largest part of the time of the slowest rank: `p2p-rows`: Distribute 92.",
		"In every row the bytes counted are those predicted (f64, 115 rows).",
		"Operands spread over the ranks: between 1.11 (", "| on rank 0 | 41943040 | 41943040 | yes | 18874368 | 2.22",
		"| 1024 | 4 | 10.7 MiB | 0.716 | 10 MiB | 2×2 | 8 MiB | 0.537 | yes", "| 512 | 2 | 4 MiB | 0.268 | 3 MiB | 1×2 | 3 MiB | 0.134 | no",
		"- 4 ranks: a message takes 1.00 µs and another second for every 4.6", "For f64 the time measured is between 1.11 (",
		"`mpi/cannon`: 16 ranks are 12.", "Amdahl's law has a serial fraction of 0.0", "take 1.1", "| Residuals by ranks |",
		"`mpi/summa` (affinity=close threads=1): 16 ranks do 10.6 times the work of one in the same time",
		"| `mpi/summa` | affinity=close threads=4 | 1024 | 4 |", "--np 1,2,4,8,16 --panel 256 --threads 1 --weak --json mpi-f64.json",
		"$ gemm mpi --variants mpi/bcast-rows --sizes 512 --type f64 --affinity close --local serial/packed --np 4 --panel 32,128,512 --threads 1 --json mpi-f64.json",
		"The largest difference is at n = 512, 4 ranks: none takes 1.08 (1.0", "| none | 0 / 1 / 2 / 3 |",
		"For f64 at n = 1024 on 16 ranks, 70.0 % of the communication is hidden (95 % interval ",
		"*Blocks are slightly ahead of rows.* — **Supported in part.** Pairs in one turn: 8, of which blocks are faster in 6, rows in 2,",
		"The figures are in [Distributed memory](#distributed).",
	}, []string{"Other measurements", "Residuals by threads", "By the scatter"}},
	{"ranks that could not be launched", with(row("mpi/summa", 256, 1, onRanks("strong", 2), came(compare.Unavailable, "built without MPI"))), nil, noRank},
	{"ranks whose number is not known", with(row("mpi/summa", 256, 1e-3)), nil, noRank},
	{"one row on ranks", many(row("mpi/summa", 256, 1e-3, onRanks("ladder", 2))),
		[]string{"- **f64**: the fastest is `mpi/summa`, n = 256, 2 ranks, with 1.00 ms.", "| `mpi/summa` | — | 256 | 2 | 1 | 2 | ok | 1.00 ms |", "| spread | 300 | 300 | yes | 200 | 1.50",
			"*Blocks are slightly ahead of rows.* — **Not measured here.** To measure it: `gemm mpi --variants mpi/scatter-rows,mpi/scatter-blocks --np 2,4 --json blocks.json`",
			"at few ranks, and hardly at many.* — **Not measured here.**"}, []string{"{#mpi-strong}", "{#mpi-overlap}", "{#mpi-shares}"}},
	{"a rank that failed", many(append(raced("summa", map[int]float64{1: 1, 2: 0.6}), row("mpi/summa", 256, 1, onRanks("strong", 4), came(compare.Failed, "rank 3 was killed by signal 9 (Killed)")))...),
		[]string{"| `mpi/summa` | — | 256 | 4 | 1 | 4 | failed | — | — | — | — muted", "| 256 | 2 | 1 | 2 | ok | 600 µs | 600 µs – 600 µs | 1.67 |"}, nil},
	{"the row of one rank failed", many(append(raced("summa", map[int]float64{2: 0.6, 4: 0.3}), row("mpi/summa", 256, 1, onRanks("strong", 1), came(compare.Failed, "x")))...),
		[]string{"| 256 | 2 | 1 | 2 | ok | 600 µs | 600 µs – 600 µs | — |", "`mpi/summa`: 300 µs on 4 ranks. One rank was not timed, so that there is no speed-up."}, nil},
	{"ranks that cost more than they bring", many(raced("summa", map[int]float64{1: 1, 2: 1.5, 4: 2})...), []string{"The ranks cost more than they bring"}, nil},
	{"two ranks", many(slices.Concat(raced("summa", map[int]float64{1: 1, 2: 0.75}), growing(map[int]float64{1: 1, 2: 1.25}))...),
		[]string{"By Amdahl's law that is a serial fraction of 0.500, from one point.", "By Gustafson's law that is a serial fraction of 0.400, from one point."}, nil},
	{"ranks of which one alone computes", many(row("mpi/cannon", 256, 1e-3, onRanks("strong", 2), func(r *compare.Record) { r.BytesCounted, r.BytesPredicted, r.RanksUsed = 0, 0, 1 })),
		[]string{"| spread | 0 | 0 | yes | 200 | — \n"}, []string{"between 0"}},
	{"too few processors for the gap", with(slices.Concat(raced("p2p-rows", map[int]float64{2: 2}), raced("scatter-rows", map[int]float64{2: 1}))...),
		[]string{"and hardly at many.* — **Not measured here.** It takes a host with at least 4 processors: `gemm mpi --variants mpi/p2p-rows,"}, nil},
	{"more than the ranks", many(raced("summa", map[int]float64{1: 1, 2: 0.45, 4: 0.2})...), []string{"The fraction is not told from 0.", "| 2.22 |"}, []string{"2.22 ("}},
	{"bytes that differ", many(append(raced("summa", map[int]float64{1: 1}), row("mpi/summa", 256, 1e-3, onRanks("strong", 2), func(r *compare.Record) { r.BytesCounted = 301 }))...),
		[]string{"**Counted and predicted bytes differ in 1 of 2 rows**; they are marked in the table.", "| 301 | 300 | no | 200 | 1.50 wrong", "| 0 | 0 | yes | 0 | — \n"}, []string{"In every row the bytes"}},
	{"rows without ranks", many(row("mpi/summa", 256, 1e-3, onRanks("strong", 2), func(r *compare.Record) { r.Ranks, r.ModelSeconds = nil, math.NaN() })),
		[]string{"| 500 µs \n"}, []string{"{#mpi-bytes}", "{#mpi-model}"}},
	{"too many ranks", with(row("mpi/summa", 256, 1e-3, onRanks("ladder", 4))),
		[]string{"than the 1.5 processors granted are muted", "| ok | 1.00 ms | 1.00 ms – 1.00 ms | — | 83.9 % muted", " muted\n"}, []string{"the fastest is `mpi/summa`", "the time measured is between"}},

	{"blocks ahead of rows", many(slices.Concat(raced("scatter-rows", map[int]float64{4: 1.1}), raced("scatter-blocks", map[int]float64{4: 1}, "grid", "2x2"))...),
		[]string{"*Blocks are slightly ahead of rows.* — **Supported.** Pairs in one turn: 1, of which blocks are faster in 1, rows in 0, the two within 5 % of one another in 0, undecided 0. `scatter-blocks` is 1.10 (1.10–1.10) times as fast as `scatter-rows`: `mpi/scatter-rows`, n = 256, 4 ranks."}, nil},
	{"blocks level with rows", many(slices.Concat(raced("scatter-rows", map[int]float64{4: 1}), raced("scatter-blocks", map[int]float64{4: 1}))...),
		[]string{"*Blocks are slightly ahead of rows.* — **Not supported.** Pairs in one turn: 1, of which blocks are faster in 0, rows in 0, the two within 5 % of one another in 1"}, nil},
	{"blocks and rows of different launches", many(apart(slices.Concat(raced("scatter-rows", map[int]float64{4: 1.1}), raced("scatter-blocks", map[int]float64{4: 1})))...),
		[]string{"*Blocks are slightly ahead of rows.* — **Not measured here.**"}, nil},
	{"blocks and rows on too many ranks", many(slices.Concat(raced("scatter-rows", map[int]float64{32: 1.1}), raced("scatter-blocks", map[int]float64{32: 1}))...),
		[]string{"*Blocks are slightly ahead of rows.* — **Not measured here.**"}, nil},
	{"a gap that closes", many(slices.Concat(raced("p2p-rows", map[int]float64{2: 2, 8: 1}, "master", "idle"), raced("scatter-rows", map[int]float64{2: 1, 8: 0.9}))...),
		[]string{"and hardly at many.* — **Supported.** Sizes and collective variants: 1, of which 1 for it, 0 against it, 0 undecided. At n = 256 against `scatter-rows`: 2.00 (2.00–2.00) on 2 ranks, 1.11 (1.11–1.11) on 8 ranks.",
			"| `mpi/scatter-rows` | — | 256 | 8 | 1.11 (1.11–1.11) | <\u00a00.0001 | gain"}, nil},
	{"a gap that opens", many(slices.Concat(raced("p2p-rows", map[int]float64{2: 2, 8: 3}), raced("bcast-rows", map[int]float64{2: 1, 8: 1}))...),
		[]string{"and hardly at many.* — **Not supported.**"}, nil},
	{"no gap at few ranks", many(slices.Concat(raced("p2p-rows", map[int]float64{2: 1.1, 8: 1}), raced("bcast-rows", map[int]float64{2: 1, 8: 1}))...),
		[]string{"and hardly at many.* — **Not supported.**"}, nil},
	{"a gap on one number of ranks", many(slices.Concat(raced("p2p-rows", map[int]float64{2: 2, 8: 1}), raced("scatter-rows", map[int]float64{2: 1}))...),
		[]string{"and hardly at many.* — **Not measured here.**", "| 256 | 2 | 2.00 (2.00–2.00)"}, []string{"`mpi/scatter-rows` | — | 256 | 8"}},
	{"a gap in too few samples", changed(many(slices.Concat(raced("p2p-rows", map[int]float64{2: 2, 8: 1}), raced("scatter-rows", map[int]float64{2: 1, 8: 0.9}))...), func(d *compare.Document) {
		for i := range d.Records {
			if r := &d.Records[i]; family(r.Variant) == "mpi" {
				sampled(3, float64(r.Median))(r)
			}
		}
	}), []string{"and hardly at many.* — **Cannot be told with these samples.**"}, nil},

	{"the library slower than two variants", many(slices.Concat(raced("summa", map[int]float64{4: 1}), raced("cannon", map[int]float64{4: 1.5}),
		[]compare.Record{row("reference/scalapack", 256, 2e-3, onRanks("strong", 4))})...),
		[]string{"| `mpi/summa` | — | 256 | 4 | 2.00 (2.00–2.00)"}, []string{"| `mpi/cannon` | — | 256 | 4 | 1.33"}},
	{"the library on another number of ranks", many(append(raced("summa", map[int]float64{4: 1}), row("reference/scalapack", 256, 2e-3, onRanks("strong", 2)))...), nil, []string{"{#mpi-library}"}},
	{"help and none", many(
		row("mpi/summa", 256, 2e-3, onRanks("schedule", 4, "schedule", "static")),
		row("mpi/summa", 256, 1e-3, onRanks("schedule", 4, "schedule", "dynamic"))), []string{"{#mpi-schedule}", "| dynamic |"}, nil},

	{"communication that is hidden", many(slices.Concat(raced("p2p-rows", map[int]float64{4: 2}), raced("p2p-rows-overlap", map[int]float64{4: 1.2}, "panel", 64))...),
		[]string{"For f64 at n = 256 on 4 ranks, 80.0 % of the communication is hidden (95 % interval 79.9 % – 80.0 %).", "| 2.00 ms | 1.20 ms | 1.00 ms | 0.800 | 0.799 – 0.800"}, nil},
	{"nothing to hide", many(slices.Concat(
		[]compare.Record{row("mpi/p2p-rows", 256, 2e-3, onRanks("strong", 4), func(r *compare.Record) { r.Ranks, r.Phases["compute"] = nil, 2e-3 })},
		raced("p2p-rows-overlap", map[int]float64{4: 1.2}))...), []string{"| 2.00 ms | 1.20 ms | 2.00 ms | — | — \n"}, []string{"of the communication is hidden"}},
	{"an overlap without its partner", many(raced("p2p-rows-overlap", map[int]float64{2: 1, 4: 1.2})...), nil, []string{"{#mpi-overlap}"}},
	{"an overlap whose partner failed", many(append(raced("p2p-rows-overlap", map[int]float64{4: 1.2}), row("mpi/p2p-rows", 256, 1, onRanks("strong", 4), came(compare.Timeout, "x")))...), nil, []string{"{#mpi-overlap}"}},
	{"an overlap in few samples", changed(many(slices.Concat(raced("p2p-rows", map[int]float64{4: 2}), raced("p2p-rows-overlap", map[int]float64{4: 1.2}))...), func(d *compare.Document) {
		for i := range d.Records {
			if r := &d.Records[i]; family(r.Variant) == "mpi" {
				sampled(5, float64(r.Median))(r)
			}
		}
	}), []string{"80.0 % of the communication is hidden.", "| 0.800 | — \n"}, nil},
	{"messages", changed(many(row("mpi/summa", 256, 1e-3, onRanks("ladder", 2))), pinged(2, 2e-6, 1<<30, 1, 1<<10, 1<<20)),
		[]string{"- 2 ranks: a message takes 2.00 µs and another second for every 1 GiB, by least squares of relative errors over the sizes; the largest relative error of the fit is", "A message of 1 B takes 2.00 µs, one of 1 MiB goes at"}, []string{"Other measurements"}},
	{"messages of one size", changed(many(row("mpi/summa", 256, 1e-3, onRanks("ladder", 2))), pinged(2, 2e-6, 1<<30, 64)), nil, []string{"a message takes", "Other measurements"}},
	{"messages without rows", changed(many(), pinged(2, 2e-6, 1<<30, 1, 64)), []string{"| ping-pong | bytes=64 ranks=2 |"}, noRank},
}

// TestPortions wants the report's equations, and its condition as it is in full.
func TestPortions(t *testing.T) {
	if got := rowPortion(6, 10, 4, 3); got != (portion{6*4/3. + 4*10, 2 * 6 * 4 * 10 / 3.}) {
		t.Errorf("rows: %v", got)
	}
	if got := blockPortion(6, 10, 4, 3, 2); got != (portion{6*4/3. + 4*10/2., 2 * 6 * 4 * 10 / 6.}) {
		t.Errorf("blocks: %v", got)
	}
	for _, m := range []int{1, 7, 64, 500} {
		for _, n := range []int{1, 8, 60, 300} {
			for p := 1; p <= 5; p++ {
				for q := 1; q <= 5; q++ {
					blocks, rows := blockPortion(m, n, 9, p, q), rowPortion(m, n, 9, p*q)
					if !(math.Abs(blocks.work/rows.work-1) <= 1e-12) {
						t.Errorf("%d×%d on %d×%d: the work differs", m, n, p, q)
					}
					difference := 9 * (1 - 1/float64(q)) * (float64(m)/float64(p) - float64(n))
					if !(math.Abs(blocks.data-rows.data-difference) <= 1e-9*rows.data) {
						t.Errorf("%d×%d on %d×%d: blocks need %g more, want %g", m, n, p, q, blocks.data-rows.data, difference)
					}
				}
			}
		}
	}
}

// TestSides wants grids of one layer alone.
func TestSides(t *testing.T) {
	for grid, want := range map[any][2]int{"2x4": {2, 4}, "2x2x2": {}, "auto": {}, "0x3": {}, "3": {}, 4: {}, nil: {}} {
		p, q, ok := sides(grid)
		if ok != (want[0] > 0) || ok && (p != want[0] || q != want[1]) {
			t.Errorf("%v: %d×%d, %v", grid, p, q, ok)
		}
	}
}

// TestHidden wants the formula, and NaN where there is nothing to hide or no number.
func TestHidden(t *testing.T) {
	nan := math.NaN()
	for _, test := range [][4]float64{ // blocking, overlapped, compute, share
		{2, 1, 1, 1}, {2, 2, 1, 0}, {2, 1.5, 1, 0.5}, {2, 3, 1, -1}, {2, 0.5, 1, 1.5}, {1, 1, 1, nan}, {1, 1, 2, nan}, {nan, 1, 0, nan}, {2, nan, 1, nan}, {2, 1, nan, nan},
	} {
		got := hidden(test[0], test[1], test[2])
		if !(math.Abs(got-test[3]) <= 1e-12) && !(math.IsNaN(got) && math.IsNaN(test[3])) {
			t.Errorf("hidden(%v) = %v, want %v", test[:3], got, test[3])
		}
	}
}

// TestHides wants an interval that has the share in it and is as wide as the samples
// scatter, the same each time, and none where noise could be all that there is to hide.
func TestHides(t *testing.T) {
	blocking, overlapped := raced("p2p-rows", map[int]float64{4: 2})[0], raced("p2p-rows-overlap", map[int]float64{4: 1.5})[0]
	spread := func(r *compare.Record, by float64) {
		for i := range r.Samples {
			r.Samples[i] = float64(r.Median) * (1 + by*(float64(i)-9.5)/9.5)
		}
	}
	spread(&blocking, 0.1)
	spread(&overlapped, 0.1)
	h, ok := hides(duel{blocking, overlapped})
	if again, _ := hides(duel{blocking, overlapped}); !ok || again.lo != h.lo || again.hi != h.hi {
		t.Errorf("another interval the second time: %v, %v", h, again)
	}
	if !(math.Abs(h.share-0.5) <= 1e-9 && h.lo < 0.48 && h.hi > 0.52 && h.lo > 0 && h.hi < 1) {
		t.Errorf("%g of %g to %g", h.share, h.lo, h.hi)
	}
	spread(&blocking, 2)
	if h, ok = hides(duel{blocking, overlapped}); !ok || !math.IsNaN(h.lo) || !math.IsNaN(h.hi) {
		t.Errorf("an interval of %g to %g where the noise is greater than what there is to hide", h.lo, h.hi)
	}
	blocking.Ranks, blocking.Phases = nil, nil
	if _, ok := hides(duel{blocking, overlapped}); ok {
		t.Error("a share without a time of computing")
	}
}

// TestCouples wants pairs of one turn, experiment and problem whose common parameters are
// equal, both timed.
func TestCouples(t *testing.T) {
	first := func() compare.Record {
		return row("mpi/p2p-rows", 256, 1e-3, onRanks("strong", 4, "master", "idle", "local", "serial/packed"))
	}
	second := func() compare.Record {
		return row("mpi/scatter-rows", 256, 1e-3, onRanks("strong", 4, "local", "serial/packed"))
	}
	for name, test := range map[string]struct {
		change func(*compare.Record)
		want   int
	}{
		"as they are":  {func(*compare.Record) {}, 1},
		"another turn": {func(r *compare.Record) { r.Turn = "other" }, 0},
		"no turn":      {func(r *compare.Record) { r.Turn = "" }, 0},
		"another run":  {func(r *compare.Record) { r.Run = "r2" }, 0},
		"another size": {func(r *compare.Record) { r.N = 300 }, 0},
		"another that ran": {func(r *compare.Record) {
			r.Params = gemm.Params{"ranks": 4}
			r.Resolved = gemm.Params{"local": "serial/naive"}
		}, 0},
		"another local":     {func(r *compare.Record) { r.Params["local"] = "serial/naive" }, 0},
		"other ranks":       {func(r *compare.Record) { r.Params["ranks"] = 2 }, 0},
		"not ok":            {came(compare.Failed, "x"), 0},
		"no time":           {func(r *compare.Record) { r.Median = 0 }, 0},
		"NaN":               {func(r *compare.Record) { r.Median = compare.None() }, 0},
		"another parameter": {func(r *compare.Record) { r.Params["panel"] = 64 }, 1},
		"another type":      {single, 0},
	} {
		other := second()
		test.change(&other)
		if got := views(many(first(), other))[0].couples("f64", "mpi/p2p-rows", "mpi/scatter-rows"); len(got) != test.want {
			t.Errorf("%s: %d pairs, want %d", name, len(got), test.want)
		}
	}
}

// TestPhaseSpread wants the longest and shortest of the ranks that have a phase, and the
// rank that its phases take longest together.
func TestPhaseSpread(t *testing.T) {
	r := compare.Record{Phases: map[string]float64{"compute": 9, "collect": 4}}
	if most, least, ok := phaseSpread(r, "compute"); !ok || most != 9 || least != 9 {
		t.Errorf("without ranks: %g, %g, %v", most, least, ok)
	}
	r.Ranks = []gemm.Rank{
		{Phases: map[string]float64{"distribute": 3}}, {Phases: map[string]float64{"compute": 2, "distribute": 1.5}}, {Phases: map[string]float64{"compute": 1}},
	}
	if most, least, ok := phaseSpread(r, "compute"); !ok || most != 2 || least != 1 {
		t.Errorf("with ranks: %g, %g, %v", most, least, ok)
	}
	if _, _, ok := phaseSpread(r, "skew"); ok {
		t.Error("a phase that nobody has")
	}
	if got := slowest(r); got["compute"] != 2 {
		t.Errorf("the slowest rank is that of %v", got)
	}
}

// TestNetworkFit wants what times were made of, and neither part below 0.
func TestNetworkFit(t *testing.T) {
	fitted := func(at func(bytes float64) float64) network {
		w := network{sizes: []int{1, 100, 10000, 1000000}}
		for _, bytes := range w.sizes {
			w.rows = append(w.rows, compare.Record{Median: compare.Number(at(float64(bytes)))})
		}
		w.fit()
		return w
	}
	if w := fitted(func(b float64) float64 { return 2e-6 + b/3e9 }); !(math.Abs(w.latency/2e-6-1) <= 1e-9 && math.Abs(w.each*3e9-1) <= 1e-9 && w.largest <= 1e-9) {
		t.Errorf("%+v", w)
	}
	if w := fitted(func(b float64) float64 { return b * b / 1e12 }); w.latency < 0 || !(w.each > 0) || !(w.largest > 0) {
		t.Errorf("times that grow faster than their sizes: %+v", w)
	}
	if w := fitted(func(b float64) float64 { return 1e-6 / (1 + b/1e6) }); w.each != 0 || !(w.latency > 0) || strings.Contains(byteSize(1/w.each), "Inf") {
		t.Errorf("times that fall: %+v", w)
	}
}

// TestTrait wants the names of those parameters that tell rows apart.
func TestTrait(t *testing.T) {
	rows := slices.Concat(raced("summa", map[int]float64{2: 1, 4: 1}, "local", "serial/packed", "panel", 64), raced("summa", map[int]float64{8: 1}, "local", "serial/packed", "panel", 128))
	v := views(many(rows...))[0]
	if got := v.trait("mpi/summa", rows[0].Params); got != "panel=64" {
		t.Errorf("got %q", got)
	}
	hybrid := row("mpi/summa", 256, 1e-3, onRanks("strong", 2, "local", "serial/packed", "panel", 64))
	hybrid.Params["threads"], hybrid.Threads = 4, 8
	v = views(many(append(rows, hybrid)...))[0]
	if got := v.trait("mpi/summa", hybrid.Params); got != "panel=64 threads=4" {
		t.Errorf("got %q", got)
	}
	// What only some rows were asked to have tells them from those that were not.
	bare := row("mpi/summa", 256, 1e-3, onRanks("strong", 16))
	delete(bare.Params, "threads")
	v = views(many(bare, hybrid))[0]
	if got := v.trait("mpi/summa", hybrid.Params); got != "local=serial/packed panel=64 threads=4" {
		t.Errorf("got %q", got)
	}
	if got := v.trait("mpi/summa", bare.Params); got != "" {
		t.Errorf("got %q", got)
	}
}
