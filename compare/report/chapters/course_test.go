package chapters_test

import (
	"math"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

// looped is a row of an order of the loops in one turn, with the bytes that the model predicts behind the caches.
func looped(order string, seconds, l1, l2, last float64) record.Record {
	return row("serial/loops", 128, seconds, reporttest.Of(record.LoopOrders, "order", order),
		inTurn("orders"), reporttest.Predicted(record.Predicted{L1Traffic: l1, L2Traffic: l2, Traffic: last}))
}

// strong is a row of strong scaling, on workers counted by a parameter.
func strong(variant string, n, count int, seconds float64, param string, more ...any) record.Record {
	return row(variant, n, seconds, threadsOf(record.StrongScaling, count, more...), func(r *record.Record) {
		delete(r.Params, "threads")
		r.Params[param], r.Resolved = count, gemm.Params{"local": "serial/packed"}
	})
}

// laddered puts a row into the ladder.
func laddered(r record.Record) record.Record {
	r.Experiment = record.MainLadder
	return r
}

// compiled is a row of a program in C with options.
func compiled(variant, options string, seconds float64) record.Record {
	return row(variant, 128, seconds, reporttest.Of(record.CompilerOptions, "cflags", options))
}

// courseVersions are versions of one product, one of them on a GPU.
func courseVersions(more ...record.Record) record.Document {
	doc := planted(append([]record.Record{
		row("serial/naive", 128, 80e-3), row("serial/ikj", 128, 10e-3),
		row("serial/packed", 128, 1e-3), compiled("reference/c-naive", "-O3 -x -y", 40e-3),
		compiled("reference/c-naive", "-O0", 400e-3), row("reference/numpy", 128, 8e-4),
		row("parallel/packed", 128, 5e-4, threadsOf(record.MainLadder, 2)),
		row("mpi/scatter-rows", 128, 1e-3, ranksOf(record.MainLadder, 2)),
		row("mpi/p2p-rows", 128, 1e-6, ranksOf(record.MainLadder, 4)),
		row("cuda/naive", 128, 2e-5, copied(2e-5, 1e-5, 0)),
		row("reference/openblas", 128, 1, status(record.Skipped, "it needs too much memory")),
	}, more...)...)
	doc.Hosts[0].Quota = record.None()
	return doc
}

// swept are rows of a variant at n sizes, by turns with 50 % and 25 % of the peak.
func swept(n int) (rows []record.Record) {
	for i := range n {
		rows = append(rows, row("serial/packed", 31+i, 2*math.Pow(float64(31+i), 3)/(20e9-10e9*float64(i%2))))
	}
	return rows
}

func TestCourse(t *testing.T) {
	late := strong("mpi/p2p-rows", 256, 1, 1, "ranks")
	status(record.Timeout, "took longer")(&late)
	vague := looped("kij", 1.04e-3, 1, 1, 1)
	vague.CI = &[2]float64{0.9e-3, 1.2e-3}
	other := looped("kji", 9e-3, 4, 4, 4)
	other.Turn = ""
	gpu := func(n int, seconds float64, block int) record.Record {
		return kernel("blocktile2d", n, seconds, reporttest.Of(record.BlockSizes, "block", block),
			copied(1, 1, 0), func(r *record.Record) { r.Resolved["tile"] = "64x64x8/8x8" })
	}
	for name, test := range map[string]said{
		"versions": {"course-versions", courseVersions(row("reference/python", 32, 10e-3)), []string{
			// The loops in Python are a 64th of the product: a rate of 0.00655 GFLOP/s.
			"| `reference/python` | 1 thread | 10.0 | — | 1.00 | 0.00655 | 0.0164 |", "`reference/python` ran at n = 32",
			"| `serial/naive` | 1 thread | 80.0 | 8.00 | 8.00 | 0.0524 | 0.131 |",
			"| `reference/c-naive -O0` | 1 thread | 400 | 0.200 | 1.60 |",
			"| `reference/c-naive -O3` | 1 thread | 40.0 | 10.0 |",
			"`-O3 -x -y`.", "| `serial/ikj` | 1 thread | 10.0 | 4.00 | 64.0 |",
			"| `reference/numpy` | 1 thread | 0.800 | 1.25 | 800 |",
			"| `parallel/packed` | 2 threads | 0.500 | 1.60 | 1280 |", "| `mpi/scatter-rows` | 2 ranks | 1.00 | 0.500 | 640 |",
			"| `cuda/naive` | GPU | 0.0500 | 20.0 | 12800 |", "GPU times include the copies.",
			"Without a time: `reference/openblas`, n = 128 (it needs too much memory)."}, []string{"mpi/p2p-rows"}},
		"no Python": {"course-versions", courseVersions(row("reference/python", 32, 1,
			status(record.Unavailable, "there is no python3"))), []string{
			"| `serial/naive` | 1 thread | 80.0 | — | 1.00 |", "; `reference/python` (there is no python3)."},
			[]string{"ran at"}},
		"ranks": {"course-ranks", planted(strong("mpi/scatter-rows", 128, 1, 1e-3, "ranks"),
			strong("mpi/scatter-rows", 128, 4, 2e-3, "ranks"), strong("mpi/p2p-rows", 128, 1, 3e-3, "ranks"),
			strong("mpi/p2p-rows", 256, 2, 1.5, "ranks"), late), []string{"Each rank computes by `serial/packed`.",
			"| Variant | Ranks | 128 | 256 |", "| `mpi/p2p-rows` | 1 | 3.00 | — | | `mpi/p2p-rows` | 2\\* | — | 1500 |",
			"| `mpi/scatter-rows` | 4\\* | 2.00 | — |", "more ranks than the 1.5 processors",
			"Without a time: `mpi/p2p-rows`, n = 256 (took longer)."}, nil},
		"ranks of the ladder": {"course-ranks", planted(strong("mpi/p2p-rows", 128, 1, 1e-3, "ranks"),
			strong("mpi/p2p-rows", 256, 1, 4e-3, "ranks"), strong("mpi/p2p-rows", 256, 2, 3e-3, "ranks"),
			laddered(strong("mpi/p2p-rows", 128, 2, 2e-3, "ranks")), laddered(strong("mpi/p2p-rows", 256, 2, 9e-3, "ranks")),
			laddered(strong("mpi/p2p-rows", 64, 2, 9e-3, "ranks"))), []string{
			"| Ranks | 128 | 256 |", "| 1 | 1.00 | 4.00 |", "| 2\\* | 2.00 | 3.00 |"}, []string{"9.00"}},
		"threads": {"course-threads", planted(strong("parallel/rows", 128, 1, 1e-3, "threads", "schedule", "dynamic"),
			strong("parallel/rows", 128, 1, 2e-3, "threads", "schedule", "static"),
			strong("parallel/rows", 128, 8, 4e-3, "threads", "schedule", "default")), []string{
			"| default | 8\\* | 4.00 | | static | 1 | 2.00 | | dynamic | 1 | 1.00 |"}, []string{"Without a time"}},
		"orders": {"course-orders", planted(looped("ijk", 4e-3, 3, 1, 1), looped("ikj", 1e-3, 1, 1, 1), vague,
			looped("jki", 8e-3, 4, 4, 5), looped("jik", 6e-3, 3, 2, 1), other), []string{
			"`serial/loops`, n = 128.", "Speed-up over `ijk`.", "(figures/orders-f64.svg)",
			"| `ijk` | row | column | element | 4.00 | 1.00 | 1.05 |",
			"| `kji` | column | element | column | 9.00 | 0.444 | 0.466 |",
			"- `ikj` is 4.00 (4.00) times as fast as `ijk`. In `ijk` every addition waits for the one before. By the " +
				"model, `ijk` moves 3.00 times as much data between L1 and L2.",
			"- `ikj` is 8.00 (7.99–8.01) times as fast as `jki`. By the model, `jki` moves 5.00 times " +
				"as much data between the last cache and memory.",
			"`kij` over `ikj` 1.04 (0.900–1.20), `jik` over `ijk` 1.50 (1.50), `kji` over `jki` 1.12."},
			[]string{"not explain"}},
		"orders unexplained": {"course-orders", planted(looped("jki", 8e-3, 1, 1, 1), looped("ikj", 1e-3, 1, 1, 1)),
			[]string{"times as fast as `jki`. The model of traffic does not explain it."}, nil},
		"orders undecided": {"course-orders", planted(vague, looped("jki", 1.05e-3, 4, 1, 1), other),
			[]string{"- `jki` takes 1.01 (0.875–1.17) times as long as `kij`: not distinguishable."}, []string{"By the model"}},
		"orders apart": {"course-orders", planted(looped("ikj", 1e-3, 1, 1, 1), other),
			[]string{"- `kji` takes 9.00 times as long as `ikj`: too few interleaved samples for an interval."}, nil},
		"many sizes": {"course-sizes", planted(swept(16)...), []string{
			"| `serial/packed` | 16 | 37.5 | 25.0 | 50.0 |"}, nil},
		"a GPU": {"course-gpu", planted(gpu(64, 2e-3, 16), gpu(64, 1e-3, 8), kernel("naive", 64, 4e-3),
			kernel("tf32-mma", 64, 1e-4)), []string{"f32, n = 64, without copies. Last",
			"| `naive` | global, uncoalesced | — | 256 | 0.131 | 1.00 | 50.0 | 0.131 |",
			"| `blocktile2d` | shared | 16 | 256 | 0.524 | 4.00 | 50.0 | 0.524 |"},
			[]string{"tf32"}},
	} {
		t.Run(name, test.check)
	}
	for _, rows := range [][]record.Record{ // fewer than a table needs
		{row("serial/naive", 64, 1), row("serial/ikj", 64, .5)},
		{row("serial/ikj", 64, 1), row("serial/hinted", 64, .5), row("serial/packed", 64, .1)},
		{strong("parallel/rows", 128, 2, 1e-3, "threads", "schedule", "static"), looped("ijk", 4e-3, 1, 1, 1)}, swept(15),
		{row("cuda/cublas", 128, 1, experiment("block"), status(record.Unavailable, "no driver"))},
	} {
		hasNot(t, fill(t, "en", planted(rows...)), "{#course")
	}
	two := joined(courseVersions(), courseVersions())
	has(t, section(t, fill(t, "en", two), "course-versions"), "n = 128 — Test CPU. ", "n = 128 — CPU h2. ")
}
