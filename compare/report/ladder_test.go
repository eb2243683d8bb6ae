package report

import (
	"gemm"
	"gemm/compare"
	"gemm/compare/report/reporttest"
)

// stepOf returns a document with rows of two variants at n, the second with the given speed-up.
func stepOf(from, to string, n int, speedup float64, change ...func(*compare.Record)) compare.Document {
	return reporttest.Planted(reporttest.Row(from, n, 1e-3, change...),
		reporttest.Row(to, n, 1e-3/speedup, change...))
}

// traded returns a document like stepOf, of packed and strassen, with the prediction of strassen. That of
// packed is all ones.
func traded(speedup float64, p compare.Predicted) compare.Document {
	return reporttest.Planted(
		reporttest.Row("serial/packed", 64, 1e-3,
			reporttest.Predicted(compare.Predicted{Flops: 1, Accesses: 1, L1Traffic: 1, L2Traffic: 1})),
		reporttest.Row("serial/strassen", 64, 1e-3/speedup, reporttest.Predicted(p)))
}

// threads changes a row to one on so many threads.
func threads(n int) func(*compare.Record) { return func(r *compare.Record) { r.Threads = n } }

// ended changes a row to one of a recursion with the given cut-off.
func ended(cutoff int) func(*compare.Record) {
	return func(r *compare.Record) { r.Resolved = gemm.Params{"cutoff": cutoff, "leaf": "serial/packed"} }
}

// stepSentences are what reports say of the steps of the ladder. The planted host has 32 KiB of L1,
// 12 MiB of L3, AVX2, 40 GFLOP/s and 10 GB/s.
var stepSentences = []sentence{
	{"associativity conflicts", reporttest.With(),
		[]string{"`naive` → `ikj`: 10.0 times as fast at n = 256 (95 % interval 9.99 – 10.0). Reason: each element of B comes from a cache line of its own, of which 12.5 % is used: the 256 lines of a column of B fall into 2 of the 64 sets of the first level of cache, and evict each other by associativity conflicts (predicted 8.00). Also: each addition waits for the one before it, a loop-carried dependence of 10.0 cycles a multiply-add (predicted 6.67); the innermost loop has 6 instructions a multiply-add in place of 30; in the slower loop 6 of them are bounds checks (predicted 5.00). Over all sizes: a gain at n = 64, 128, 256.",
			"`ikj` → `packed`: 2.00"},
		[]string{"a loss at", "instead."}},
	{"naive and ikj are level", stepOf("serial/naive", "serial/ikj", 64, 1),
		[]string{"`naive` → `ikj`: 1.00 times as fast at n = 64 (95 % interval 0.999 – 1.00). The models predict 6.67 instead. Over all sizes: not distinguishable at n = 64."},
		[]string{"Reason:", "a gain"}},
	{"ikj and hinted are level", stepOf("serial/ikj", "serial/hinted", 64, 1),
		[]string{"Predicted: 1.50. Over all sizes: not distinguishable at n = 64."}, []string{"instead."}},
	{"a loop-carried dependence", stepOf("serial/naive", "serial/ikj", 64, 7),
		[]string{"Reason: each addition waits for the one before it, a loop-carried dependence of 10.0 cycles a multiply-add (predicted 6.67)."},
		[]string{"cache line of its own"}},
	{"a cache line for every element", stepOf("serial/naive", "serial/ikj", 1000, 9),
		[]string{"Reason: each element of B comes from a cache line of its own, of which 12.5 % is used (predicted 8.00)."},
		nil},
	{"instructions", stepOf("serial/ikj", "serial/hinted", 64, 1.4),
		[]string{"Reason: the innermost loop has 4 instructions a multiply-add in place of 6 (predicted 1.50)."},
		[]string{"Also:"}},
	{"the cache lines of B", stepOf("serial/hinted", "serial/blocked", 2000, 1.8),
		[]string{"Reason: the cache lines of B come from behind the first level of cache, and take 2.00 cycles a multiply-add (predicted 2.00)."},
		nil},
	{"the vector width", stepOf("serial/hinted", "serial/packed", 64, 7),
		[]string{"Reason: the vector width is 4 in place of 1 elements an instruction, and a tile of C stays in registers (predicted 8.00)."},
		nil},
	{"workers", reporttest.Planted(reporttest.Row("serial/ikj", 256, 1e-3),
		reporttest.Row("parallel/rows", 256, 0.51e-3, threads(2)),
		reporttest.Row("parallel/inner", 256, 2.6e-3, threads(2)),
		reporttest.Row("parallel/collapse-inner-atomic", 256, 8e-3, threads(2)),
		reporttest.Row("parallel/collapse-atomic", 256, 0.57e-3, threads(2)),
		reporttest.Row("parallel/collapse-reduce", 256, 0.51e-3, threads(2)),
		reporttest.Row("parallel/tiles", 256, 1e-3, threads(2),
			func(r *compare.Record) { r.Resolved = gemm.Params{"tile": 256} })),
		[]string{"`serial/ikj` → `parallel/rows`: 1.96 times as fast",
			"Reason: 2 workers share the product in place of 1 (predicted 2.00).",
			"`rows` → `inner`: 0.196 times as fast",
			"Reason: the workers fork and join for every element of A (predicted 0.204).",
			"`rows` → `collapse-inner-atomic`",
			"Reason: every term is added to C by an atomic instruction of 20.0 cycles (predicted 0.0750).",
			"`collapse-atomic` → `collapse-reduce`",
			"Reason: the workers add their private copies of C to C atomically (predicted 1.10).",
			"`rows` → `tiles`: 0.510 times as fast",
			"Reason: the tiles keep 1 workers busy in place of 2 (predicted 0.500).",
		}, nil},
	{"workers over bytes", reporttest.Planted(reporttest.Row("serial/packed", 256, 1e-3, field),
		reporttest.Row("parallel/packed", 256, 0.5e-3, field, threads(2))),
		[]string{"Reason: 2 workers share the product in place of 1 (predicted 2.00)."}, nil},
	{"a step over a parent", reporttest.With(reporttest.Row("serial/hinted", 64, 5e-4)),
		[]string{"`hinted` → `packed`: 10.0 times as fast"}, nil},
	{"parents come first", reporttest.Planted(reporttest.Row("serial/strassen", 64, 1e-3),
		reporttest.Row("serial/packed", 64, 1e-3), reporttest.Row("serial/hinted", 64, 8e-3)),
		[]string{"(predicted 8.00). Over all sizes: a gain at n = 64.\n- `packed` → `strassen`"}, nil},

	{"operations", traded(1.25, compare.Predicted{Flops: 0.8, Accesses: 1, L1Traffic: 1, L2Traffic: 1}),
		[]string{"Reason: the number of operations executed (predicted 1.25)."}, []string{"No step"}},
	{"accesses", traded(2, compare.Predicted{Flops: 1, Accesses: 0.5, L1Traffic: 1, L2Traffic: 1}),
		[]string{"Reason: the number of elements that the loops load and store (predicted 2.00)."}, nil},
	{"traffic behind the first level", traded(2, compare.Predicted{Flops: 1, Accesses: 1, L1Traffic: 0.5, L2Traffic: 1}),
		[]string{"Reason: the bytes that move between the first level of cache and the second (predicted 2.00)."}, nil},
	{"traffic behind the second level", traded(2, compare.Predicted{Flops: 1, Accesses: 1, L1Traffic: 1, L2Traffic: 0.5}),
		[]string{"Reason: the bytes that move between the second level of cache and the third (predicted 2.00)."}, nil},
	{"a prediction on the other side", traded(1.25,
		compare.Predicted{Flops: 1.25, Accesses: 1.25, L1Traffic: 1, L2Traffic: 1}),
		[]string{"The models predict 0.800 instead."},
		[]string{"Reason: "}},
	{"a prediction that is far too large",
		traded(1.1, compare.Predicted{Flops: 0.5, Accesses: 1, L1Traffic: 1, L2Traffic: 1}),
		[]string{"The models predict 2.00 instead."}, []string{"Reason: "}},
	{"a small difference", traded(1.02, compare.Predicted{Flops: 1, Accesses: 1, L1Traffic: 1, L2Traffic: 1}),
		[]string{"A difference this small is finer than the models. Over all sizes: a gain at n = 64."},
		[]string{"instead."}},
	{"no predictions", reporttest.Planted(reporttest.Row("serial/packed", 64, 1e-3, reporttest.Unpredicted),
		reporttest.Row("serial/strassen", 64, 2e-3, reporttest.Unpredicted)),
		[]string{"`packed` → `strassen`: 0.500 times as fast",
			"The models predict nothing here. Over all sizes: a loss at n = 64.",
		}, []string{"Reason: "}},

	{"strassen below its cut-off", reporttest.With(reporttest.Row("serial/strassen", 64, 5e-5, ended(128)),
		reporttest.Row("serial/strassen", 128, 4e-4, ended(128)), reporttest.Row("serial/strassen", 256, 3e-3, ended(128))),
		[]string{"`packed` → `strassen`: 1.07 times as fast at n = 256",
			"Over all sizes: a gain at n = 256. No step where `serial/strassen` = `serial/packed`, at n = 64, 128."},
		[]string{"| `packed` → `strassen` | 64", "| `packed` → `strassen` | 128"}},
	{"strassen never divides", reporttest.With(reporttest.Row("serial/strassen", 64, 5e-5, ended(500))),
		nil,
		nil},
	{"strassen divides", reporttest.With(reporttest.Row("serial/strassen", 64, 4e-5, ended(32))),
		nil, nil},
	{"too few samples to tell",
		reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3, reporttest.Sampled(2, 2e-3)),
			reporttest.Row("serial/hinted", 64, 1e-3, reporttest.Sampled(2, 1e-3))),
		[]string{"2.00 times as fast at n = 64. Predicted: 1.50. Over all sizes: too few samples to tell at n = 64."},
		[]string{"a gain", "(95 % interval"}},
	{"a loss", stepOf("serial/ikj", "serial/hinted", 64, 0.5),
		[]string{"`ikj` → `hinted`: 0.500 times as fast", "a loss at n = 64."}, []string{"a gain", "Reason: "}},
	{"a variant that was not timed at all sizes", reporttest.With(reporttest.Row("serial/hinted", 64, 1e-4),
		reporttest.Row("serial/hinted", 128, 1, reporttest.Came(compare.Skipped, "x"))),
		[]string{"Not both were timed at n = 128."}, nil},
	{"a variant and its parent never timed together", reporttest.With(reporttest.Row("serial/hinted", 512, 1e-3)),
		nil, nil},
	{"a library is no step", reporttest.With(reporttest.Row("serial/gonum", 64, 1e-3)),
		[]string{"`ikj` → `packed`"}, []string{"→ `gonum`"}},
}
