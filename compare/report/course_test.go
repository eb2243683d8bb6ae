package report

import (
	"gemm"
	"gemm/compare"
	"gemm/compare/report/reporttest"
)

// ordered is a row of the orders of the loops at n = 128.
func ordered(order string, seconds float64, change ...func(*compare.Record)) compare.Record {
	return reporttest.Row("serial/loops", 128, seconds, append([]func(*compare.Record){
		reporttest.Of(compare.LoopOrders, "order", order)}, change...)...)
}

// moving makes a row one of the turn of the orders, with the bytes that the model predicts behind the caches.
func moving(l1, l2, last float64) func(*compare.Record) {
	return func(r *compare.Record) {
		r.Turn, r.Predicted = "orders", &compare.Predicted{L1Traffic: l1, L2Traffic: l2, Traffic: last}
	}
}

// spread is a row of strong scaling on ranks or threads with its local variant.
func spread(variant string, n, count int, seconds float64, param string, more ...any) compare.Record {
	return reporttest.Row(variant, n, seconds, func(r *compare.Record) {
		r.Experiment, r.Threads, r.Params = compare.StrongScaling, count, gemm.Params{param: count}
		for i := 0; i+1 < len(more); i += 2 {
			r.Params[more[i].(string)] = more[i+1]
		}
		r.Resolved = gemm.Params{"local": "serial/packed"}
	})
}

// aroundMultiples are rows of two variants at the sizes around 32 to 192: packed reaches 50 % of the
// peak, and 25 % at sizes that are no multiple; hinted reaches 10 %.
func aroundMultiples() []compare.Record {
	var rows []compare.Record
	for n := 32; n <= 192; n += 32 {
		for size := n - 1; size <= n+1; size++ {
			share := 0.5
			if size != n {
				share = 0.25
			}
			flop := 2 * float64(size) * float64(size) * float64(size)
			rows = append(rows, reporttest.Row("serial/packed", size, flop/(share*40e9)),
				reporttest.Row("serial/hinted", size, flop/(0.1*40e9)))
		}
	}
	return rows
}

// courseAnswers are the tables for coursework.
var courseAnswers = []sentence{
	{"versions", way(reporttest.Row("reference/python", 32, 10e-3), cRow("reference/c-naive", "-O3 -x -y", 40e-3),
		cRow("reference/c-naive", "-O0", 400e-3), reporttest.Row("reference/numpy", 128, 8e-4),
		reporttest.Row("reference/numpy", 128, 4e-4, on(2)), reporttest.Row("reference/openblas", 128, 1,
			reporttest.Came(compare.Skipped, "it needs too much memory")),
		reporttest.Row("mpi/scatter-rows", 128, 1e-3, ranks(2)), reporttest.Row("mpi/p2p-rows", 128, 1e-6, ranks(4)),
		reporttest.Row("cuda/naive", 128, 2e-5, onGPU, func(r *compare.Record) {
			r.Phases = map[string]float64{"h2d": 2e-5, "d2h": 1e-5}
		})), []string{
		// The loops in Python are a 64th of the product: a rate of 0.00655 GFLOP/s.
		"| `reference/python` | 1 thread | 0.0100 | — | 1.00 | 0.00655 | 0.0164 ",
		"`reference/python` was timed at n = 32, so speed-ups between it and other rows compare GFLOP/s",
		"| `serial/naive` | 1 thread | 0.0800 | 8.00 | 8.00 | 0.0524 | 0.131 \n" +
			"| `reference/c-naive`, `-O0` | 1 thread | 0.400 | 0.200 | 1.60 | 0.0105 | 0.0262 \n" +
			"| `reference/c-naive`, `-O3` | 1 thread | 0.0400 | 10.0 | 16.0 | 0.105 | 0.262 \n" +
			"| `serial/ikj` | 1 thread | 0.0100 | 4.00 | 64.0 | 0.419 | 1.05 \n" +
			"| `serial/hinted` | 1 thread | 0.00900 | 1.11 | 71.1 |",
		"`-O3` stands for `-O3 -x -y`.",
		"| `serial/packed` | 1 thread | 0.00100 | 9.00 | 640 | 4.19 | 10.5 \n" +
			"| `reference/numpy` | 1 thread | 0.000800 | 1.25 | 800 |",
		"| `parallel/packed` | 2 threads | 0.000500 | 1.60 | 1280 | 8.39 | — \n" +
			"| `reference/numpy` | 2 threads | 0.000400 | 1.25 | 1600 |",
		"| `mpi/scatter-rows` | 2 ranks | 0.00100 | 0.400 | 640 |",
		"| `cuda/naive` | the GPU, copies included | 0.0000500 | 20.0 | 12800 |",
		"Rows without a time:\n\n- `reference/openblas`, n = 128, 1 thread: it needs too much memory.",
	}, []string{"| `mpi/p2p-rows` | 4 ranks", "{#course-ranks}", "{#course-threads}", "{#course-gpu}",
		"{#course-orders}", "{#course-sizes}", "NaN"}},
	{"no Python", way(reporttest.Row("reference/python", 32, 1,
		reporttest.Came(compare.Unavailable, "there is no python3"))),
		[]string{"| `serial/naive` | 1 thread | 0.0800 | — | 1.00 |",
			"Rows without a time:\n\n- `reference/python`: there is no python3."}, nil},
	{"too few versions", only(reporttest.Row("serial/naive", 64, 1), reporttest.Row("serial/ikj", 64, .5)), nil,
		[]string{"{#course}"}},
	{"versions without the textbook loops", only(reporttest.Row("serial/ikj", 64, 1),
		reporttest.Row("serial/hinted", 64, .5), reporttest.Row("serial/packed", 64, .1)), nil, []string{"{#course}"}},
	{"times by ranks", only(spread("mpi/scatter-rows", 128, 1, 1e-3, "ranks"),
		spread("mpi/scatter-rows", 128, 4, 2e-3, "ranks"),
		spread("mpi/p2p-rows", 128, 1, 3e-3, "ranks"), spread("mpi/p2p-rows", 256, 2, 1.5, "ranks"),
		reporttest.Row("mpi/p2p-rows", 256, 1, reporttest.Came(compare.Timeout, "took longer"),
			func(r *compare.Record) {
				r.Experiment, r.Params = compare.StrongScaling, gemm.Params{"ranks": 1}
			})), []string{
		"# Time by processes and size {#course-ranks}", "Each rank computes its part by `serial/packed`.",
		"| Variant | Ranks | 128 | 256 \n| `mpi/p2p-rows` | 1 | 0.00300 | — \n| `mpi/p2p-rows` | 2 | — | 1.50 \n" +
			"| `mpi/scatter-rows` | 1 | 0.00100 | — \n| `mpi/scatter-rows` | 4\\* | 0.00200 | — ",
		"\\* More ranks than the 2 processors of this host", "- `mpi/p2p-rows`, n = 256, 1 rank: took longer."},
		[]string{"{#course-threads}", "NaN"}},
	{"times by threads", only(spread("parallel/rows", 128, 1, 1e-3, "threads", "schedule", "dynamic"),
		spread("parallel/rows", 128, 1, 2e-3, "threads", "schedule", "static"),
		spread("parallel/rows", 128, 2, 3e-3, "threads", "schedule", "static"),
		spread("parallel/rows", 128, 8, 4e-3, "threads", "schedule", "default")), []string{
		"Each thread computes its rows by `serial/packed`.",
		"| Setting | Threads | 128 \n| default | 8\\* | 0.00400 \n| static | 1 | 0.00200 \n| static | 2 | 0.00300 \n" +
			"| dynamic | 1 | 0.00100 ", "\\* More threads than the 2 processors of this host"},
		[]string{"{#course-ranks}", "NaN"}},
	{"orders of the loops", only(ordered("kji", 8e-3), ordered("ijk", 4e-3), ordered("ikj", 1e-3),
		ordered("jki", 1, reporttest.Came(compare.Wrong, ""))), []string{
		"The six orders of the three loops, f64, n = 128: `serial/loops`", "The absolute speed-up is over `ijk`.",
		"| `ijk` | along a row | down a column | one element | 0.00400 | 1.00 | 1.05 | 2.62 \n" +
			"| `ikj` | one element | along a row | along a row | 0.00100 | 4.00 | 4.19 | 10.5 \n" +
			"| `jki` | down a column | one element | down a column | — | — | — | — \n" +
			"| `kji` | down a column | one element | down a column | 0.00800 | 0.500 | 0.524 | 1.31 ",
		"- `serial/loops`, n = 128, 1 thread, order=jki: the result is wrong."}, []string{"NaN"}},
	{"orders of the loops compared", only(ordered("ijk", 4e-3, moving(3, 1, 1)), ordered("ikj", 1e-3, moving(1, 1, 1)),
		ordered("kij", 1e-3, moving(1, 1, 1)), ordered("jki", 8e-3, moving(4, 4, 4)),
		ordered("jik", 6e-3, moving(3, 2, 1)),
		ordered("kji", 9e-3)), []string{
		"figure orders-f64: Speed of the six orders of the loops, f64, n = 128",
		"lies above a band of 5 % around 1", "- `ikj` is 4.00", "times as fast as `ijk`. Each step of `ijk` adds " +
			"to the same " +
			"element of C, so that it waits for the addition of the step before. By the model of the traffic, " +
			"`ijk` moves " +
			"3.00 times the data of `ikj` between L1 and what lies behind it.",
		"`jki` moves 4.00 times the data of `ikj` between the last cache and memory.",
		"`jik` moves 2.00 times the data of `ijk` between L2 and what lies behind it.",
		"- `ikj` and `kij` take the same time", "Their innermost loops are the same.",
		"- The medians of `kji` and `jki` have the ratio 1.12; too few samples"}, []string{"NaN"}},
	{"orders of the loops undecided", only(ordered("ikj", 1e-3, moving(1, 1, 1)),
		ordered("kij", 1.04e-3, moving(1, 1, 1),
			func(r *compare.Record) { r.CI = &[2]float64{0.9e-3, 1.2e-3} })), []string{
		"- The samples do not tell whether `ikj` is faster than `kij`: the ratio is 1.04"}, []string{"NaN"}},
	{"orders of the loops unexplained", only(ordered("jki", 8e-3, moving(1, 1, 1)),
		ordered("ikj", 1e-3, moving(1, 1, 1))),
		[]string{"times as fast as `jki`. The model of the traffic does not explain it"}, []string{"NaN"}},
	{"one order", only(ordered("ijk", 4e-3)), nil, []string{"{#course-orders}"}},
	{"many sizes", only(aroundMultiples()...), []string{
		"| `serial/packed` | 18 | 33.3 | 25.0 | 50.0 \n| `serial/hinted` | 18 | 10.0 | 10.0 | 10.0 ",
		"| n | packed, n − 1 | packed, n | packed, n + 1 | hinted, n − 1 | hinted, n | hinted, n + 1 \n" +
			"| 32 | 25.0 | 50.0 | 25.0 | 10.0 | 10.0 | 10.0 \n| 64 |"}, []string{"{#course-versions}", "NaN"}},
	{"faster at many sizes", only(append(aroundMultiples(), reporttest.Row("serial/naive", 64, 1))...), []string{
		"n = 31 to 193 (18 sizes)"}, []string{"n = 31, 32, 33"}},
	{"many other sizes", only(append(aroundMultiples(), reporttest.Row("serial/packed", 50, 1e-3))...), []string{
		"| `serial/packed` | 19 |"}, []string{"n − 1"}},
	{"no GPU", only(reporttest.Row("cuda/cublas", 128, 1, reporttest.Experiment("block"),
		reporttest.Came(compare.Unavailable, "there is no driver."))), []string{
		"No GPU computed a row on this host (there is no driver), so there is no table"},
		[]string{"{#course-versions}"}},
}
