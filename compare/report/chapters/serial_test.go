package chapters_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

// part returns what a shared part says of a family of the first host.
func part(t *testing.T, lang, name, family string, doc record.Document) string {
	t.Helper()
	call := `{{with index .Hosts 0}}{{template %q (dict "Data" $ "Host" . "Family" %q "Type" .MainType)}}{{end}}`
	return filled(t, lang, fmt.Sprintf(call, name, family), doc)
}

// few gives a row two samples.
func few(seconds float64) func(*record.Record) { return sampled(2, seconds) }

// descended has a kernel of the user that changes one thing of ikj.
func descended() record.Document {
	doc := with(row("user/mine", 256, 32e-4))
	i := slices.IndexFunc(doc.Variants, func(v record.Variant) bool { return v.Name == "user/mine" })
	doc.Variants[i].Parent = "serial/ikj"
	return doc
}

// TestSteps has steps for each reason. The planted host has 32 KiB of L1, 12 MiB of L3, AVX2, 40 GFLOP/s and 10 GB/s.
func TestSteps(t *testing.T) {
	step := func(from, to string, n int, times float64, change ...func(*record.Record)) record.Document {
		return planted(row(from, n, 1e-3, change...), row(to, n, 1e-3/times, change...))
	}
	traded := func(times, flops, accesses, l1, l2 float64) record.Document {
		predicted := func(f, a, l1, l2 float64) func(*record.Record) {
			return reporttest.Predicted(record.Predicted{Flops: f, Accesses: a, L1Traffic: l1, L2Traffic: l2})
		}
		return planted(row("serial/packed", 64, 1e-3, predicted(1, 1, 1, 1)),
			row("serial/strassen", 64, 1e-3/times, predicted(flops, accesses, l1, l2)))
	}
	const naive, ikj, hinted, packed = "serial/naive", "serial/ikj", "serial/hinted", "serial/packed"
	const strassen, rows, atomic = "serial/strassen", "parallel/rows", "parallel/collapse-atomic"
	for _, test := range []struct {
		doc        record.Document
		want, none string
	}{
		{with(), "| `ikj` | `naive` | 256 | 10.0 (9.99–10.0) | associativity conflicts: the 256 lines of a column of B " +
			"fall into 2 of 64 sets of L1 | 8.00 | faster |", "slower"},
		{step(naive, ikj, 64, 1), "| not explained by the models | 6.67 | level |", "faster |"},
		{step(ikj, hinted, 64, 1), "1.00 (0.999–1.00) | — | 1.50 | level |", "faster"},
		{step(naive, ikj, 64, 7), "| additions wait for one another, 10 cycles each | 6.67 | faster |", "conflicts"},
		{step(naive, ikj, 1000, 9), "| a cache line for each element of B, 12.5 % of it used | 8.00 |", "conflicts"},
		{step(ikj, hinted, 64, 1.4), "| 4 instructions a multiply-add, not 6 | 1.50 |", "check"},
		{step(naive, ikj, 64, 8, func(r *record.Record) { r.Type = "gf256" }),
			"| 8 instructions a multiply-add, not 82; in the slower loop 10 check bounds | 10.2 | faster |", "10 cycles"},
		{step(hinted, "serial/blocked", 2000, 1.8), "| lines of B come from behind L1, 2 cycles a multiply-add |", "sets"},
		{step(hinted, packed, 64, 7), "| 4 elements an instruction, not 1; a tile of C stays in registers |", "not 4"},
		{step(ikj, hinted, 64, 0.5), "| 0.500 (0.500) | not explained by the models | 1.50 | slower |", "faster"},
		{traded(1.25, 0.8, 1, 1, 1), "| operations executed | 1.25 |", "unexplained"},
		{traded(2, 1, 0.5, 1, 1), "| elements loaded and stored | 2.00 |", "operations"},
		{traded(2, 1, 1, 0.5, 1), "| bytes between L1 and L2 | 2.00 |", "operations"},
		{traded(2, 1, 1, 1, 0.5), "| bytes between L2 and L3 | 2.00 |", "operations"},
		{traded(1.25, 1.25, 1.25, 1, 1), "| not explained by the models | 0.800 | faster |", "operations"},
		{traded(1.02, 1, 1, 1, 1), "| finer than the models | 1.00 | faster |", "operations"},
		{step(packed, strassen, 64, 0.5, reporttest.Unpredicted), "| no model | — | slower |", "faster"},
		{step(hinted, packed, 64, 7, wide), "| the samples vary too much | 8.00 | faster |", "elements"},
		{planted(row(ikj, 64, 1, few(2)), row(hinted, 64, 1, few(1))), "| 2.00 | — | 1.50 | too few samples |", "faster |"},
		{with(row(ikj, 512, 1, few(1)), row(naive, 512, 9, few(9))), "| `ikj` | `naive` | 256 |", "too few"},
		{with(row(hinted, 64, 5e-4), row("serial/gonum", 64, 1)), "| `packed` | `hinted` | 64 | 10.0", "`gonum`"},
		{with(row(hinted, 512, 1)), "| `packed` | `ikj` |", "`hinted`"},
		{with(row(strassen, 128, 4e-4, ran(512)), row(strassen, 64, 4e-5)), "| `strassen` | `packed` | 64 | 1.25", "| 128 |"},
		{descended(), "| `user/mine` | `serial/ikj` | 256 | 2.00", "parallel"},
		{planted(row(ikj, 256, 1e-3), row(rows, 256, 0.51e-3, on(2))),
			"| `parallel/rows` | `serial/ikj` | 256 | 1.96 (1.96) | 2 workers, not 1 | 2.00 | faster |", "naive"},
		{step(rows, "parallel/inner", 256, 0.385, on(2)), "| a fork and join for each element of A | 0.204 |", "faster"},
		{step(rows, "parallel/collapse-inner-atomic", 256, 0.064, on(2)),
			"| an atomic addition of 20 cycles for each term | 0.0750 |", "faster"},
		{step(atomic, "parallel/collapse-reduce", 256, 1.12, on(2)),
			"| private copies of C are merged by atomic additions | 1.10 |", "slower"},
		{step(rows, "parallel/tiles", 256, 0.51, on(2), func(r *record.Record) { r.Resolved = gemm.Params{"tile": 256} }),
			"| workers with a tile: 1, not 2 | 0.500 |", "naive"},
	} {
		got := part(t, "en", "steps", "serial", test.doc) + part(t, "en", "steps", "parallel", test.doc)
		has(t, got, test.want)
		if test.none != "" {
			hasNot(t, got, test.none)
		}
	}
	has(t, part(t, "zh", "steps", "serial", with()),
		"10.0 (9.99–10.0) | 组相联冲突：B 的一列有 256 个缓存行，只映射到 L1 64 组中的 2 组 | 8.00 | 变快 |")
}

// TestFamily checks the table of a family: its size, the fastest row, rows that another variant computed, and what is
// missing.
func TestFamily(t *testing.T) {
	doc := with(row("serial/strassen", 256, 1e-3, ran(512)), row("serial/hinted", 64, 1e-4))
	has(t, part(t, "en", "family", "serial", doc),
		"| `naive` | — | 0.524 | 1.31 | 1.00 | 64.0 ms | | `ikj` | — | 5.24 | 13.1 | 10.0 | 6.40 ms |",
		"| **`packed`** | — | **10.5** | **26.2** | **20.0** | **3.20 ms** | | *`strassen`* | *`packed`* | — | — | — | — |",
		"Table: Variants of the family `serial` at n = 256, f64; × naive is the speed-up over `serial/naive`; "+
			"not timed at this size: `serial/hinted`.")
	doc.Records = slices.DeleteFunc(doc.Records, func(r record.Record) bool { return r.Variant != "serial/ikj" })
	got := part(t, "en", "family", "serial", doc)
	has(t, got, "| **`ikj`** | **5.24** | **13.1** | **6.40 ms** |", "at n = 256, f64.")
	hasNot(t, got, "naive", "Computed by", "NaN")
	bytes := planted(row("serial/packed", 64, 1e-3, func(r *record.Record) { r.Type, r.Rate = "gf256", 3 }))
	has(t, part(t, "en", "family", "serial", bytes), "| Variant | Gmul/s | ", "| **`packed`** | **3.00** |")
	gpu := planted(kernel("naive", 512, 1e-3, copied(1, 1, 0)), kernel("f16x3", 512, 1e-4))
	has(t, part(t, "en", "family", "cuda", gpu), "| `naive` | f32 | 268 | 50.0 | 1.00 | 1.00 ms |",
		"| **`f16x3`** | **f16** | **2680** | **3 × 50.0** | **10.0** | **100 µs** |", "without copies",
		"× naive is the speed-up over `cuda/naive`; `cuda/f16x3` takes three products in half precision for one.")
	ranks := planted(row("mpi/summa", 64, 1, ranksOf(record.MainLadder, 2)))
	ranks.Hosts[0].Quota = record.None()
	has(t, part(t, "en", "family", "mpi", ranks), "| **2 ranks** |", "the operands of `mpi/summa` are on all ranks")
	if got := part(t, "zh", "family", "cuda", with()); strings.TrimSpace(got) != "" {
		t.Errorf("a family without rows has the table %q", got)
	}
}

// TestAlgorithms looks for pseudo-code of the variants that were timed, and of no others: in the report of the first
// and of those that docs/advice.md is about, in the appendix of the rest.
func TestAlgorithms(t *testing.T) {
	doc := with(row("serial/gonum", 64, 1), row("serial/hinted", 64, 1, status(record.Skipped, "slow")),
		row("serial/strassen", 64, 1, ran(512)), row("serial/loops", 64, 1), row("serial/transposed", 64, 1))
	got := fill(t, "en", doc)
	has(t, section(t, got, "serial-algorithms"), "```algorithm serial/naive C ← 0", "```algorithm serial/packed", "MC")
	hasNot(t, got, "algorithm serial/hinted", "algorithm serial/strassen", "algorithm serial/loops", "algorithm cuda",
		"algorithm serial/transposed")
	rest := section(t, filled(t, "en", `{{template "appendix" .}}`, doc), "algorithms")
	has(t, rest, "```algorithm serial/transposed")
	hasNot(t, rest, "algorithm serial/naive", "algorithm serial/hinted")
	has(t, part(t, "zh", "algorithms", "cuda", planted(kernel("smem", 64, 1))), "```algorithm cuda/smem，f32", "BM、BN、BK")
}

// cRow is a row of a loop with options of its compiler, or in Go without, at n = 128 in one turn.
func cRow(variant, options string, ms float64, change ...func(*record.Record)) record.Record {
	return row(variant, 128, ms/1e3, append([]func(*record.Record){func(r *record.Record) {
		r.Experiment, r.Turn = record.CompilerOptions, "compiler f64 128 nn"
		if options != "" {
			r.Params = gemm.Params{"cflags": options}
			r.Resolved = gemm.Params{"cflags": options, "compiler": "gcc 12.2"}
		}
	}}, change...)...)
}

// TestLoopsOfC compares four loops with two sets of options, the first a little out of order, and loops in Go. A loop
// is compared with its parent, not with the one before it.
func TestLoopsOfC(t *testing.T) {
	const naive, restrict, ikj, most = "reference/c-naive", "reference/c-restrict", "reference/c-ikj", "-O3 -march=native"
	loops := func(fastest float64) record.Document {
		return with(cRow(naive, most, 2), cRow(naive, "-O0", 8), cRow("reference/c-local", "-O0", 2),
			cRow(restrict, "-O0", 8), cRow(restrict, most, 1),
			cRow(ikj, "-O0", 4), cRow(ikj, most, 0.25), cRow("serial/naive", "", 3), cRow("serial/hinted", "", fastest),
			row(ikj, 64, 1, experiment(record.CompilerOptions)))
	}
	got := section(t, fill(t, "en", loops(0.5)), "compiler-c")
	has(t, got, "The fastest of these loops in Go, `serial/hinted`, takes 2.00 (2.00) times as long as the fastest in "+
		"C, `reference/c-ikj` with `-O3 -march=native`.", "compiled by gcc 12.2, and the same loops in Go, f64, n = 128.",
		"| `reference/c-naive` | `-O0` | 0.524 | — | — | 8.00 ms | | `reference/c-naive` | `-O3 -march=native` | 2.10 | 4",
		"| `reference/c-local` | `-O0` | 2.10 | — | 4.00 (4.00) | 2.00 ms |",
		"| `reference/c-restrict` | `-O0` | 0.524 | — | 1.00 (0.999–1.00) | 8.00 ms |",
		"| **`reference/c-ikj`** | **`-O3 -march=native`** | **16.8** | **16.0 (16.0)** | **4.00 (4.00)** | **250 µs** |",
		"| `serial/naive` | `Go` | 1.40 | — | — | 3.00 ms |", "The speed-ups are over `-O0`")
	hasNot(t, got, "figures/loops-f64.svg")
	doc := loops(0.5)
	for _, r := range doc.Records[9:] { // at a second size
		r.Shape = gemm.Cube(256)
		doc.Records = append(doc.Records, r)
	}
	has(t, section(t, fill(t, "en", doc), "compiler-c"), "n = 256", "](figures/loops-f64.svg)")
	has(t, section(t, fill(t, "en", loops(0.1)), "compiler-c"),
		"`serial/hinted`, is 2.50 (2.50) times as fast as the fastest in C")
	has(t, section(t, fill(t, "zh", loops(0.25)), "compiler-c"), "（`-O3 -march=native`）的 1.00 (0.999–1.00) 倍（无显著差异）")
	got = section(t, fill(t, "en", with(cRow("serial/naive", "", 3), cRow(ikj, "-O2", 1,
		status(record.Unavailable, "there is no C compiler")))), "compiler-c")
	has(t, got, "For f64, no textbook loop in C was timed: there is no C compiler.")
	hasNot(t, got, "|", "fastest")
	hasNot(t, fill(t, "en", with()), "{#compiler-c}")
}
