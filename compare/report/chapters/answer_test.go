package chapters_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/chapters"
	"gemm/compare/report/figures"
)

func appendix(t *testing.T, lang string, doc record.Document) string {
	t.Helper()
	return filled(t, lang, `{{template "appendix" .}}`, doc)
}

var (
	on2     = on(2)
	ranks2  = func(r *record.Record) { r.Threads, r.Params = 2, gemm.Params{"ranks": 2} }
	gpu     = func(r *record.Record) { r.GPU = &record.Device{Pipe: r.Type} }
	ofBytes = func(r *record.Record) { r.Type, r.Compute, r.Unit, r.Rate = "gf256", "gf256", "Gmul/s", 1 }
	oblong  = func(r *record.Record) { r.M, r.N, r.K, r.LDA, r.LDB, r.LDC = 3, 5, 7, 7, 5, 5 }
	turn    = inTurn("t")
)

// stairs has every step from the textbook loops to the fastest variant at two sizes, and more rows.
func stairs(more ...record.Record) record.Document {
	return bare(append([]record.Record{
		row("serial/naive", 64, 10e-3), row("serial/ikj", 64, 2e-3), row("serial/packed", 64, 1e-4),
		row("parallel/packed", 64, 2e-4, on2),
		row("serial/naive", 128, 80e-3), row("serial/ikj", 128, 10e-3), row("serial/hinted", 128, 9e-3),
		row("serial/packed", 128, 1e-3), row("parallel/packed", 128, 5e-4, on2),
	}, more...)...)
}

func bare(rows ...record.Record) record.Document {
	doc := planted(rows...)
	doc.Hosts[0].Quota = record.None()
	return doc
}

// answers are documents with what their answer, method and conclusion must say, and must not.
var answers = []struct {
	name      string
	doc       record.Document
	want, not []string
}{
	{"the ranges, the steps and the conclusion", stairs(), []string{"9 results verified; no row is wrong",
		"The fastest family in f64 (one thread, threads) at each size at which all of them were timed:",
		"**n = 64: one thread**, `serial/packed` on 1 thread, 5.24 GFLOP/s, 13.1 % of the measured peak.",
		"**n = 128: threads**, `parallel/packed` on 2 threads, 8.39 GFLOP/s.",
		"`parallel/packed` is **160 times** as fast as the textbook loops (`serial/naive`) at n = 128. Largest " +
			"steps: packing and SIMD (`serial/packed`) 9.00 times, the order of the loops (`serial/ikj`) 8.00 times.",
		"No library was timed on the same number of threads",
		"the differences between times of identical code were not measured",
		"| 64 | 5.24 | 2.62 |", "| **threads** | **`packed`** | **2 threads** | **8.39** | — | **160** | **500 µs** |",
		"In f64 use `serial/packed` for n = 64; `parallel/packed` for n = 128.",
		"gemm compare --profile quick --out report",
	}, []string{"Slower than the step", "Within the noise", "vary widely"}},
	{"a step that is slower", stairs(row("mpi/bcast-rows", 64, 1e-3, ranks2), row("mpi/bcast-rows", 128, 1e-3, ranks2)),
		[]string{"The fastest family in f64 (one thread, threads, MPI)",
			"Slower than the step before: ranks (`mpi/bcast-rows`) " +
				"0.500 times."}, nil},
	{"level at the largest size only", bare(row("serial/packed", 64, 2e-4), row("parallel/packed", 64, 1e-4, on2),
		row("serial/packed", 128, 1.0001e-3), row("parallel/packed", 128, 1e-3, on2)), []string{
		"**n = 64 to 128: threads**", "Within the noise of it at the largest n: `serial/packed` on 1 thread.",
		"use `parallel/packed` for n = 64 to 128."}, []string{"noise of it: "}},
	{"a larger size of one family", stairs(row("serial/packed", 512, 1e-2), row("mpi/bcast-rows", 256, 1e-2,
		ranks2)), []string{"**n = 128: threads**", "(not timed there: MPI)", "at n = 128, f64"}, []string{"n = 512"}},
	{"a library that is level", stairs(row("reference/openblas", 128, 1.01e-3)), []string{
		"`serial/packed` on 1 thread is **level with** `reference/openblas` at n = 128, 1.01 times"}, nil},
	{"strassen above its cut-off", stairs(row("serial/strassen", 128, 4e-4, ran(64))), []string{
		"**n = 64 to 128: one thread**, `serial/strassen` on 1 thread, 10.5 GFLOP/s at n = 128",
		"packing and SIMD (`serial/strassen`)"}, nil},
	{"a library on the GPU", stairs(row("cuda/naive", 128, 2e-5, gpu), row("cuda/cublas", 128, 1e-5, gpu)), []string{
		"`cuda/naive` on the GPU (kernels alone) is **slower than** `cuda/cublas` at n = 128, 0.500 times its speed"}, nil},
	{"larger sizes of fewer families", stairs(row("mpi/bcast-rows", 64, 1, ranks2), row("parallel/packed", 64, 2e-4,
		on2), row("serial/packed", 256, 2e-2), row("parallel/packed", 256, 1e-2, on2)), []string{"**n = 64: one thread**",
		"- **n = 128 to 256: threads** (one thread, threads only), `parallel/packed`",
		"In f64 use `serial/packed` for n = 64; `parallel/packed` for n = 128 to 256."}, nil},
	{"an interleaved library that is a little slower", bare(row("serial/packed", 128, 9.9e-4, turn),
		row("reference/openblas", 128, 1.01e-3, turn)),
		[]string{"**faster than** `reference/openblas` at n = 128, 1.02 (1.02) times"}, nil},
	{"a library that noise hides", stairs(row("serial/packed", 128, 9e-4, turn,
		func(r *record.Record) { r.CI = &[2]float64{8e-4, 12e-4} }),
		row("reference/openblas", 128, 1e-3, turn, func(r *record.Record) { r.CI = &[2]float64{7e-4, 11e-4} })),
		[]string{"**level with** `reference/openblas` at n = 128, 1.11 ("}, nil},
	{"more libraries at a smaller size", stairs(row("reference/openblas", 64, 5e-5), row("reference/blis", 64, 1),
		row("reference/blis", 128, 1)),
		[]string{"**slower than** `reference/openblas` at n = 64"}, []string{"faster than** `reference/blis`"}},
	{"a library on other threads", stairs(row("reference/openblas", 128, 1e-5,
		func(r *record.Record) { r.Threads = 4 })), []string{
		"No library was timed on the same number of threads"}, []string{"slower than"}},
	{"something wrong", stairs(row("serial/blocked", 128, 1e-6, status(record.Wrong, "it is wrong"))), []string{
		"**1 row wrong, failed or timed out**: `serial/blocked`. [All rows](appendix#rows) has the reasons. 9 " +
			"results verified."},
		[]string{"no row is wrong", "`serial/blocked` on"}},
	{"one family", bare(row("serial/naive", 64, 1), row("serial/ikj", 64, .5)), []string{
		"Only the family one thread was timed in f64.", "**n = 64: `serial/ikj`** on 1 thread",
		"`serial/ikj` is **2.00 times** as fast"}, []string{"## Comparison"}},
	{"sizes of their own", bare(row("serial/ikj", 64, 1e-3), row("parallel/rows", 128, 1e-3, on2)), []string{
		"No two families were timed at the same size in f64.", "**n = 64: one thread**, `serial/ikj`",
		"**n = 128: threads**, `parallel/rows`"}, []string{"Only the family", "## Comparison"}},
	{"no square product", bare(row("serial/naive", 64, 1, oblong)), []string{
		"No square product in f64 was timed outside of experiments. The fastest row: `serial/naive` on 1 thread"}, nil},
	{"the GPU with its copies", stairs(row("cuda/naive", 128, 2e-5, gpu, copied(2e-5, 1e-5, 0))), []string{
		"**n = 128: CUDA**, `cuda/naive` on the GPU, 83.9 GFLOP/s", "`cuda/naive` is **1600 times** as fast",
		"the GPU (`cuda/naive`) 10.0 times", "GPU times include the copies"}, nil},
	{"a GPU whose copies take long", stairs(row("cuda/naive", 128, 2e-5, gpu, copied(2e-3, 1e-3, 0))), []string{
		"**n = 128: threads**"}, []string{": CUDA**"}},
	{"a GPU in less precision", stairs(row("cuda/tf32-mma", 128, 1e-7, gpu, copied(1e-7, 1e-7, 0),
		func(r *record.Record) { r.Compute = "tf32" })), []string{"**n = 128: threads**"}, []string{"use `cuda"}},
	{"a library on the GPU whose copies were not timed", stairs(row("cuda/naive", 128, 2e-5, gpu, copied(2e-5, 1e-5, 0)),
		row("cuda/torch", 128, 4e-5, gpu)), []string{"is **faster than** `cuda/torch` at n = 128, 2.00 times"},
		[]string{"| `torch` | GPU |", "**`torch`**"}},
	{"spread operands", stairs(row("mpi/summa", 128, 1e-6, ranks2)), []string{
		"**n = 128: threads**", "| MPI, spread | `summa` | 2 ranks"}, []string{"ranks (`mpi/summa`)",
		"use `mpi/summa`"}},
	{"more ranks than processors", stairs(row("mpi/bcast-rows", 128, 1e-6, func(r *record.Record) {
		r.Threads, r.Params = 4, gemm.Params{"ranks": 4}
	})), []string{"**n = 128: threads**"}, []string{"`mpi/bcast-rows`"}},
	{"a peak that was measured too low", stairs(row("serial/packed", 256, 1e-4), row("parallel/packed", 256, 1,
		on2)), []string{
		"**n = 256: one thread**, `serial/packed` on 1 thread, 336 GFLOP/s, 839† % of the measured peak."}, nil},
	{"a difference within the noise", stairs(row("parallel/packed", 128, 6e-4, on2, experiment(record.StrongScaling)),
		row("mpi/scatter-rows", 128, 4.8e-4, ranks2)), []string{
		"**n = 128: MPI**, `mpi/scatter-rows` on 2 ranks, 8.74 GFLOP/s. Within the noise of it: `parallel/packed` on " +
			"2 threads.",
		"times of identical code differ by a factor of up to 1.20 ([by kind](#setup))",
		"by at most a factor of 1.20 on several threads or ranks, not interleaved (1 pair)",
		"use `mpi/scatter-rows` for n = 128 (or `parallel/packed`)."}, nil},
	{"a busy host", func() record.Document {
		doc := stairs(row("serial/hinted", 64, 1e-3, func(r *record.Record) { r.Steal = 0.123 }))
		doc.Runs[0].Load = 3.5
		return doc
	}(), []string{"The load average was 3.50", "gave up to 12.3 % of the processors' time"}, nil},
	{"a row that varies", stairs(row("parallel/tiles", 128, 4e-4, on2, wide)), []string{
		"`parallel/tiles` on 2 threads, 10.5\\* GFLOP/s", "1 of 10 results have samples that vary widely (marked \\*)"}, nil},
	{"another type", stairs(row("serial/naive", 128, 1, ofBytes), row("serial/packed", 128, .1, ofBytes)), []string{
		"In gf256: `serial/packed` on 1 thread, 1.00 Gmul/s at n = 128, 10.0 times the textbook loops."}, nil},
	{"a fast kernel of the user", stairs(row("user/mine", 64, 5e-5), row("user/mine", 128, 2e-4),
		row("reference/openblas", 128, 9e-4)), []string{
		"**n = 64 to 128: your kernel**, `user/mine` on 1 thread, 21.0 GFLOP/s at n = 128, 52.4 % of the measured " +
			"peak.",
		"Your kernel `user/mine` on 1 thread: 21.0 GFLOP/s at n = 128 in f64, 52.4 % of the measured peak; 400 times " +
			"as fast as the textbook loops (`serial/naive`), 5.00 times as fast as the fastest variant of gemm " +
			"(`serial/packed`), 4.50 times as fast as the fastest library (`reference/openblas`). It is number 1 of " +
			"6 variants.", "`parallel/packed` is **160 times**",
		"use `user/mine`"}, nil},
	{"faulty kernels of the user", stairs(row("user/bad", 64, 1, status(record.Wrong, "element (3, 5) was not written")),
		row("user/ragged", 64, 1e-2), row("user/ragged", 128, 1, status(record.Failed, "it crashed"))), []string{
		"**2 rows wrong, failed or timed out**: `user/bad`, `user/ragged`",
		"Without a right result: `user/bad`. See [your kernels](#kernels).",
		"**1 row wrong, failed or timed out**: see [your kernels](#kernels)."}, nil},
	{"many kernels of the user", stairs(func() (rows []record.Record) {
		for _, name := range strings.Fields("a b c d e f g h") {
			rows = append(rows, row("user/"+name, 128, 1e-2))
		}
		return rows
	}()...), []string{"Your kernel `user/f`", "2 more kernels of yours: see [your kernels](#kernels)"}, []string{
		"Your kernel `user/g`"}},
	{"a family that changes often", bare(func() (rows []record.Record) {
		for i := range 8 {
			n := 64 * (i + 1)
			rows = append(rows, row("serial/packed", n, 1e-3*float64(1+i%2)), row("parallel/packed", n,
				1e-3*float64(2-i%2), on2))
		}
		return rows
	}()...), []string{"**n = 192: one thread**", "**n = 512: threads**",
		"At smaller sizes the fastest changes more often."}, []string{"**n = 128"}},
	{"a code", bare(row("parallel/packed", 1<<20, 1e-3, on2, code), row("serial/packed", 1<<20, 2e-3, code)), []string{
		"No square product in gf256", "Reed–Solomon code 10+4: `parallel/packed` on 2 threads reads 10.5 GB/s of " +
			"data, in shards of 1 MiB."}, nil},
	{"a code on a GPU", bare(row("cuda/tuned", 1<<20, 1e-5, gpu, code, copied(1e-3, 1e-3, 0))), []string{
		"The fastest row: `cuda/tuned` on the GPU, 0.00498 Gmul/s at 4×1048576×10 with the copies.",
		"10+4: `cuda/tuned` on the GPU (the kernel alone) reads 1050 GB/s of data, in shards of 1 MiB."}, nil},
}

// code makes a row one of ten data and four parity shards.
func code(r *record.Record) {
	ofBytes(r)
	r.M, r.K, r.LDA, r.LDB, r.LDC = 4, 10, 10, r.N, r.N
	r.DataGBps = record.Number(10 * float64(r.N) / float64(r.Median) / 1e9)
}

var english = regexp.MustCompile(`[A-Za-z]{2,}(?: [a-z]{2,}){2,}`)

// TestAnswers asserts what the report says of each document. The Chinese text has no English.
func TestAnswers(t *testing.T) {
	for _, test := range answers {
		t.Run(test.name, func(t *testing.T) {
			for _, lang := range chapters.Languages {
				text := fill(t, lang, test.doc)
				own := section(t, text, "answer") + section(t, text, "setup")
				if lang == "zh" {
					if found := english.FindString(literal.ReplaceAllString(own, "")); found != "" {
						t.Errorf("%q is English", found)
					}
					continue
				}
				if strings.Contains(text, "{#frameworks}") {
					own += "## Comparison" + section(t, text, "frameworks")
				}
				has(t, own, test.want...)
				hasNot(t, own, append(test.not, "NaN", "times its speed at n = 0")...)
			}
		})
	}
}

// TestSeveralHosts wants the host in captions, and no host without an answer.
func TestSeveralHosts(t *testing.T) {
	doc := joined(stairs(), bare(row("serial/naive", 64, 1, oblong)), stairs())
	text := section(t, fill(t, "en", doc), "answer")
	for _, lang := range chapters.Languages {
		if glued := regexp.MustCompile(`[^\n]\n\*\*(Test|CPU h)`).FindString(fill(t, lang, doc) +
			appendix(t, lang, doc)); glued != "" {
			t.Errorf("%s: no blank line in %q", lang, glued)
		}
	}
	has(t, text, "**Test CPU**", "at n = 128, f64 — Test CPU.")
	hasNot(t, text, "CPU h2**", "outside of experiments")
	has(t, appendix(t, "en", doc), "| Test CPU | `serial/naive` |", "| CPU h2 | `serial/naive` |",
		"Table: The host — CPU h2.")
}

// TestOddDocuments renders nothing, and numbers that no run gives.
func TestOddDocuments(t *testing.T) {
	odd := stairs(row("serial/packed", 0, 1), row("", 64, 1), row("user/mine", 64, 0), row("serial/ikj", 64, math.Inf(1)))
	odd.Hosts[0].Cores, odd.Hosts[0].Quota = -1, 0
	for _, doc := range []record.Document{{}, odd} {
		text, all := fill(t, "en", doc), appendix(t, "en", doc)
		hasNot(t, text+all, "NaN", "Inf", "%!", "of 0 processors")
		if len(doc.Records) == 0 {
			hasNot(t, text, "{#setup}", "{#references}", "{#conclusion}")
			has(t, text, "`gemm compare --out report`")
			has(t, all, "`gemm compare --out report`")
		}
	}
}

// TestRowsOfAnotherVariantAreInNoComparison adds rows that another variant computed: all figures stay the same, and
// their speed stands in the table of all rows only, with a note.
func TestRowsOfAnotherVariantAreInNoComparison(t *testing.T) {
	own := []record.Record{row("reference/openblas", 64, 4e-5), row("reference/openblas", 128, 3e-3)}
	var others []record.Record
	threads := func(n int) change {
		return func(r *record.Record) { r.Threads, r.Params = n, gemm.Params{"threads": n} }
	}
	for _, n := range []int{64, 128} {
		for p := 1; p <= 2; p++ {
			own = append(own, row("parallel/packed", n, 3e-5*math.Pow(float64(n)/64, 3)/float64(p), threads(p),
				experiment(record.StrongScaling)))
			others = append(others, row("parallel/strassen", n, 2*math.Pow(float64(n), 3)/777e9, threads(p),
				func(r *record.Record) {
					r.Resolved = gemm.Params{"ran": "parallel/packed", "cutoff": 512}
				}))
		}
		others = append(others, row("serial/strassen", n, 2*math.Pow(float64(n), 3)/777e9, ran(512)))
	}
	with, without := stairs(slices.Concat(own, others)...), stairs(own...)
	drawn := func(doc record.Document) (all []string) {
		set := figures.Of(doc)
		for _, id := range set.IDs {
			if d, ok := set.Find(id); ok {
				all = append(all, fmt.Sprint(d))
			}
		}
		return all
	}
	if got, want := drawn(with), drawn(without); len(want) < 5 || !slices.Equal(got, want) {
		t.Errorf("of %d figures, one has rows that another variant computed", len(want))
	}
	hasNot(t, fill(t, "en", with), "777")
	text := appendix(t, "en", with)
	has(t, text, "1. computed by parallel/packed: in no figure and no comparison")
	if n := len(regexp.MustCompile(`\| ok \| \d[^|]*\|[^|]*\|[^|]*\| 777 \|`).FindAllString(text,
		-1)); n != len(others) {
		t.Errorf("%d rows of %d with a note in\n%s", n, len(others), text)
	}
}

// TestRowsHaveNotes wants the reason of a row in words, in both languages, under one number for equal notes.
func TestRowsHaveNotes(t *testing.T) {
	doc := stairs(row("serial/blocked", 64, 1e-3, wide), row("serial/blocked", 128, 1e-3, wide),
		row("cuda/naive", 128, 1, status(record.Unavailable, "there is no driver")))
	doc.Hosts[0].Quota = 1.5
	text := appendix(t, "en", doc)
	has(t, text, "| `serial/blocked` | ladder | f64 | 64 | — | 1 | ok | 1 | 1.00 ms |",
		"| `serial/blocked` | ladder | f64 | 128 | — | 1 | ok | 1 |",
		"| *`cuda/naive`* | *ladder* | *f64* | *128* | — | *1* | *unavailable* | *2* | — | — | — | — |",
		"1. wide spread: repeat on a quiet machine 2. there is no driver",
		"| `r1` | 2026-05-01 08:30 UTC | abc123 | go1.26.0 | v1 | — |",
		"| Processor time granted | of 1.50 processors |", "| `gonum.org/v1/gonum` | v0.17.0 |")
	has(t, appendix(t, "zh", doc), "| *无法测量* | *2* |", "1. 样本离散程度较大")
}
