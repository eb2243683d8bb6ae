package report

import (
	"slices"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/note"
	"gemm/compare/report/document"
	"gemm/compare/report/listing"
	"gemm/compare/report/reporttest"
	"gemm/cuda/usage"
)

// planted is what the reports of tests have besides records.
var planted = Suite{
	Excerpts: []listing.Excerpt{
		{Family: "serial", Path: "serial/ikj.go", Text: "func f() {}\n"},
		{Family: "parallel", Path: "parallel/rows.go", Text: "func g() {}\n"},
		{Family: "mpi", Path: "mpi/scatter_rows.go", Text: "func h() {}\n"},
		{Family: "cuda", Path: "cuda/kernels/f32/smem.cu", Text: "void k() {}\n"},
	},
}

// documents returns the appendix and the report of records.
func documents(doc compare.Document, lang string) []document.Report {
	return []document.Report{Appendix(doc, Options{Lang: lang}), Build(doc, Options{Lang: lang, Suite: planted})}
}

// on gives a row threads.
func on(threads int) func(*compare.Record) { return func(r *compare.Record) { r.Threads = threads } }

// ranks gives a row ranks.
func ranks(n int) func(*compare.Record) {
	return func(r *compare.Record) { r.Threads, r.Params = n, gemm.Params{"ranks": n} }
}

// cut gives a row a cut-off that it ran with.
func cut(n int) func(*compare.Record) {
	return func(r *compare.Record) {
		if r.Resolved = (gemm.Params{"cutoff": n}); r.N <= n {
			r.Resolved["ran"] = "serial/packed"
		}
	}
}

// way has every step from the textbook loops to the fastest variant, at two sizes; extra rows follow.
func way(extra ...compare.Record) compare.Document {
	rows := []compare.Record{
		reporttest.Row("serial/naive", 64, 10e-3), reporttest.Row("serial/ikj", 64, 2e-3),
		reporttest.Row("serial/packed", 64, 1e-4),
		reporttest.Row("parallel/packed", 64, 2e-4, on(2)),
		reporttest.Row("serial/naive", 128, 80e-3), reporttest.Row("serial/ikj", 128, 10e-3),
		reporttest.Row("serial/hinted", 128, 9e-3),
		reporttest.Row("serial/packed", 128, 1e-3), reporttest.Row("parallel/packed", 128, 5e-4, on(2)),
	}
	return only(append(rows, extra...)...)
}

// within puts a row into a turn, with an interval of its median.
func within(lo, hi float64) func(*compare.Record) {
	return func(r *compare.Record) { r.Turn, r.CI = "x", &[2]float64{lo, hi} }
}

// only is a document with no other rows than these.
func only(rows ...compare.Record) compare.Document {
	doc := reporttest.With()
	doc.Records, doc.Hosts[0].Quota = rows, compare.None()
	return doc
}

// answers are documents with what their reports must say, and must not.
var answers = slices.Concat([]sentence{
	{"the way to the fastest", way(), []string{
		"The fastest variant is `parallel/packed` on 2 threads", "at n = 128 in f64", "160 times as fast as the textbook loops",
		"The largest steps on the way there are packing and SIMD (`serial/packed`) with a factor of 9.00 and the order of the loops (`serial/ikj`) with 8.00.",
		"No library of others was timed at n = 128 on as many threads as ours.",
		"threads over one thread: faster from n = 128 on, 2.00 times at n = 128 (`",
		"For products as large as n = 128 in f64, use `parallel/packed`.",
	}, []string{"not every step pays", "wrong, failed"}},
	{"another fastest", way(reporttest.Row("parallel/tiles", 128, 4e-4, on(2))), []string{
		"The fastest variant is `parallel/tiles` on 2 threads", "200 times as fast", "threads over one thread: faster from n = 128 on, 2.50 times",
		"use `parallel/tiles`"}, []string{"The fastest variant is `parallel/packed`"}},
	{"a step that loses", way(reporttest.Row("mpi/bcast-rows", 64, 1e-3, ranks(2)),
		reporttest.Row("mpi/bcast-rows", 128, 1e-3, ranks(2))), []string{
		"not every step pays: ranks (`mpi/bcast-rows`) has a factor of 0.500", "MPI over threads: not faster at the largest common size, 0.500 times as fast at n = 128 (`",
		"2 ranks"}, nil},
	{"ranks that help", way(reporttest.Row("mpi/bcast-rows", 128, 1e-3, ranks(2), func(r *compare.Record) {
		r.Resolved = gemm.Params{"grid": "1x1", "helpers": 1}
	})), []string{"2 ranks, 1 of them helping through shared memory"}, nil},
	{"ranks that win everywhere", way(reporttest.Row("mpi/bcast-rows", 64, 1e-5, ranks(2)),
		reporttest.Row("mpi/bcast-rows", 128, 1e-4, ranks(2))), []string{
		"The fastest variant is `mpi/bcast-rows` on 2 ranks", "MPI over threads: faster at every common size, 5.00 times at n = 128 (`",
		"The largest steps", "use `mpi/bcast-rows`"}, []string{"not every step pays"}},
	{"a library that is slower", way(reporttest.Row("reference/openblas", 128, 2e-3)), []string{
		"on 1 thread `serial/packed` is 2.00 times as fast as `reference/openblas`"}, []string{"No library of others"}},
	{"a library that is faster", way(reporttest.Row("reference/openblas", 128, 5e-4)), []string{
		"on 1 thread `serial/packed` is slower than `reference/openblas`, 0.500 times as fast"}, nil},
	{"a library that is level", way(reporttest.Row("reference/openblas", 128, 1.01e-3)), []string{
		"on 1 thread `serial/packed` is not distinguishable from `reference/openblas` (ratio 1.01)"}, nil},
	{"a library that noise hides", way(reporttest.Row("serial/packed", 128, 9e-4, within(8e-4, 12e-4)),
		reporttest.Row("reference/openblas", 128, 1e-3, within(7e-4, 11e-4))), []string{
		"on 1 thread `serial/packed` is not distinguishable from `reference/openblas` (ratio 1.11 ("}, nil},
	{"a library on other threads is no rival", way(reporttest.Row("reference/openblas", 128, 1e-5, on(4))), []string{
		"No library of others was timed at n = 128 on as many threads as ours."}, []string{"slower than `reference/openblas`"}},
	{"strassen below its cut-off is packed", way(reporttest.Row("serial/strassen", 128, 9e-4, cut(1200))), []string{
		"= `serial/packed` at this size", "packing and SIMD (`serial/packed`)"},
		[]string{"packing and SIMD (`serial/strassen`)", "The fastest variant is `serial/strassen`"}},
	{"strassen above its cut-off", way(reporttest.Row("serial/strassen", 128, 4e-4, cut(64))), []string{
		"packing and SIMD (`serial/strassen`)", "The fastest variant is `serial/strassen`"}, []string{"= `serial/packed`"}},
	{"a larger size that the textbook loops lack", way(reporttest.Row("serial/packed", 512, 1e-2)), []string{
		"at n = 128 in f64"}, []string{"at n = 512 in f64"}},
	{"something wrong", way(reporttest.Row("serial/blocked", 128, 1e-6,
		reporttest.Came(compare.Wrong, "it is wrong"))), []string{
		"1 product is wrong, failed or took too long"}, []string{"The fastest variant is `serial/blocked`", "the error of each is within"}},
	{"one family", only(reporttest.Row("serial/naive", 64, 1), reporttest.Row("serial/ikj", 64, .5)), []string{
		"Only one family was timed here"}, []string{"faster at every common size"}},
	{"no square product", only(reporttest.Row("serial/naive", 64, 1, oblong)), []string{
		"No square product of f64 was timed, except in experiments."}, nil},
	{"a family that cannot run", way(reporttest.Row("cuda/naive", 128, 1,
		reporttest.Came(compare.Unavailable, "there is no driver"))), []string{
		"This family could not run here: there is no driver."}, nil},
	{"variants that were too slow", way(reporttest.Row("serial/unrolled", 64, 1)), []string{
		"Not timed at this size: `serial/unrolled`."}, nil},
	{"the GPU with its copies", way(reporttest.Row("cuda/naive", 128, 2e-5, onGPU, func(r *compare.Record) {
		r.Phases = map[string]float64{"h2d": 2e-5, "d2h": 1e-5}
	})), []string{"the GPU (`cuda/naive`) with a factor of 10.0", "The fastest variant is `cuda/naive` on the GPU, copies included", "1600 times as fast as the textbook loops",
		"CUDA over threads: faster at every common size, 10.0 times at n = 128 (`"}, nil},
	{"kernels at their largest size", way(reporttest.Row("cuda/naive", 128, 2e-5, onGPU),
		reporttest.Row("cuda/naive", 4096, 1, onGPU)), []string{
		"Every variant of the family CUDA at n = 4096, f64: kernels alone", "| `cuda/naive` | the GPU | "}, nil},
	{"a library on the GPU", way(reporttest.Row("cuda/naive", 128, 2e-5, onGPU),
		reporttest.Row("cuda/cublas", 128, 1e-5, onGPU)), []string{
		"on the GPU, kernels alone, `cuda/naive` is slower than `cuda/cublas`, 0.500 times as fast"}, nil},
	{"a library on the GPU whose copies were not timed", way(
		reporttest.Row("cuda/naive", 128, 2e-5, onGPU, reporttest.Copied(2e-5, 1e-5, 0)),
		reporttest.Row("cuda/torch", 128, 4e-5, onGPU)), []string{
		"on the GPU, kernels alone, `cuda/naive` is 2.00 times as fast as `cuda/torch`", "| `cuda/torch` | the GPU |"},
		[]string{"| `torch` | the GPU, copies included |", "**`torch`**"}},
	{"better loops", way(reporttest.Row("serial/unrolled", 128, 1e-3)), []string{
		"better loops (`serial/unrolled`) with a factor of 10.0 and the order of the loops"}, nil},
	{"ranks that are the largest step", way(reporttest.Row("mpi/bcast-rows", 128, 1e-5, ranks(2))), []string{
		"ranks (`mpi/bcast-rows`) with a factor of 50.0"}, nil},
	{"threads that are the largest step", way(reporttest.Row("parallel/tiles", 128, 1e-5, on(2))), []string{
		"threads (`parallel/tiles`) with a factor of 100"}, nil},
	{"spread operands are no rival", way(reporttest.Row("mpi/summa", 128, 1e-6, ranks(2))), []string{
		"The fastest variant is `parallel/packed`", "| MPI, spread | `summa` | 2 ranks", "use `parallel/packed`"}, []string{"ranks (`mpi/summa`)"}},
	{"a peak that was measured too low", way(reporttest.Row("serial/packed", 256, 1e-4),
		reporttest.Row("serial/naive", 256, 1), reporttest.Row("parallel/packed", 256, 1, on(2))), []string{
		"% of the measured peak: it executes fewer operations than are counted, or the peak was measured on a busy machine"}, nil},
	{"a family whose fastest variants differ by size", way(
		reporttest.Row("mpi/p2p-rows", 64, 2*64*64*64/59.9e9, ranks(2)),
		reporttest.Row("mpi/bcast-rows", 64, 2*64*64*64/57.5e9, ranks(2)),
		reporttest.Row("mpi/p2p-rows", 128, 2e-4, ranks(2)),
		reporttest.Row("mpi/bcast-rows", 128, 1e-4, ranks(2))),
		[]string{"| MPI | `bcast-rows` | 2 ranks | 41.9 | — | 800 | 5.00 | 100 µs | 57.5 best",
			"MPI over threads: faster at every common size, 5.00 times at n = 128 (`mpi/bcast-rows` over `parallel/packed`)."},
		[]string{"| 100 µs | 59.9"}},
	{"families that were timed at sizes of their own", only(reporttest.Row("serial/ikj", 64, 1e-3),
		reporttest.Row("parallel/rows", 128, 1e-3, on(2))),
		[]string{"No two families were timed at a common size"}, []string{"Only one family was timed"}},
	{"one family", only(reporttest.Row("serial/ikj", 64, 1e-3), reporttest.Row("serial/naive", 64, 2e-3)),
		[]string{"Only one family was timed here"}, []string{"No two families"}},
	{"a difference within the noise", way(
		reporttest.Row("parallel/packed", 128, 6e-4, on(2), reporttest.Experiment(compare.StrongScaling)),
		reporttest.Row("parallel/tiles", 64, 1e-4, on(2)),
		reporttest.Row("mpi/scatter-rows", 128, 4.8e-4, ranks(2))),
		[]string{"The fastest variant is `mpi/scatter-rows`", "the difference to `parallel/packed` is within the noise",
			"use `mpi/scatter-rows`, or as well `parallel/packed`: the difference is within the noise.",
			"differ in 19 of 20 pairs by at most these factors: 1.20 on several threads or ranks, if they were measured one after the other (1 pair)"},
		[]string{"MPI over threads: faster"}},
	{"no identical code", way(), []string{"it is not known how much times of identical code differ here"}, nil},
	{"a busy host", func() compare.Document {
		doc := way(reporttest.Row("serial/hinted", 64, 1e-3, func(r *compare.Record) { r.Steal = 0.123 }))
		doc.Runs[0].Load = 3.5
		return doc
	}(), []string{"The load average was 3.50 when the run began. A hypervisor gave up to 12.3 % of the processors' time"}, nil},
	{"a row that varies at a smaller size", way(reporttest.Row("parallel/tiles", 64, 2e-5, on(2), func(r *compare.Record) {
		r.Warnings = []note.Note{note.Read("wide spread: repeat on a quiet machine")}
	}), reporttest.Row("parallel/tiles", 128, 2e-4, on(2))),
		[]string{"| threads | `tiles` | 2 threads | 21.0 | — | 400 | 5.00 | 200 µs | 26.2\\* best",
			"GFLOP/s have an asterisk in the tables of this report"}, nil},
	{"a row that varies", way(reporttest.Row("parallel/tiles", 128, 4e-4, on(2), func(r *compare.Record) {
		r.Warnings = []note.Note{note.Read("wide spread: repeat on a quiet machine")}
	})), []string{"The samples of 1 product vary widely", "| `parallel/tiles` | 2 threads | 10.5\\*"}, nil},
	{"more ranks than processors", way(reporttest.Row("mpi/bcast-rows", 128, 1e-6, ranks(4))), nil,
		[]string{"ranks (`mpi/bcast-rows`)", "use `mpi/bcast-rows`"}},
	{"a win within the noise", way(reporttest.Row("serial/blocked", 128, 5.0001e-4)), []string{
		"threads over one thread: not faster at the largest common size, 1.00 times"}, nil},
	{"a step that varies", way(reporttest.Row("serial/transposed", 128, 1e-2, func(r *compare.Record) {
		r.Warnings = []note.Note{note.Read("wide spread: repeat on a quiet machine")}
	})), []string{"The samples vary too much for an explanation."}, nil},
	{"bytes", way(reporttest.Row("serial/naive", 128, 1, inField), reporttest.Row("serial/packed", 128, .1, inField)),
		[]string{
			"In gf256 the fastest variant is `serial/packed`", "`serial/packed` on 1 thread: "}, nil},
}, broughtAnswers, courseAnswers)

// inField makes a row one of bytes.
func inField(r *compare.Record) { r.Type, r.Compute, r.Unit, r.Rate = "gf256", "gf256", "Gmul/s", 1 }

// onGPU makes a row one of a GPU.
func onGPU(r *compare.Record) { r.GPU = &usage.Device{Pipe: r.Type} }

func TestCover(t *testing.T) {
	got := Cover("zh", []string{"name=张三", "course=并行程序设计", "unknown=x"})
	want := []document.Field{{Name: "课程名称", Value: "并行程序设计"}, {Name: "姓名", Value: "张三"}}
	if !slices.Equal(got, want) {
		t.Errorf("the cover has %v, want %v", got, want)
	}
	for _, lang := range []string{"en", "zh"} {
		var all []string
		for _, name := range CoverFields() {
			all = append(all, name+"=x")
		}
		if n := len(Cover(lang, all)); n != len(CoverFields()) {
			t.Errorf("%s: %d fields of %d", lang, n, len(CoverFields()))
		}
	}
}

// TestEveryFamilyHasItsParts looks for the sections of the course report, and for its equations 1 to 22.
func TestEveryFamilyHasItsParts(t *testing.T) {
	r := Build(way(), Options{Suite: planted})
	for _, id := range []string{"answer", "setup", "paper-serial", "serial-analysis", "serial-algorithms",
		"serial-implementation",
		"serial-measurements", "mpi-analysis", "parallel-analysis", "cuda-analysis", "cuda-algorithms",
		"frameworks", "conclusion", "references"} {
		if !slices.ContainsFunc(r.Sections, func(s document.Section) bool { return s.ID == id }) {
			t.Errorf("there is no section %s", id)
		}
	}
	numbers := map[int]bool{}
	for _, s := range r.Sections {
		for _, block := range s.Blocks {
			if e, ok := block.(document.Equation); ok {
				if numbers[e.Number] {
					t.Errorf("equation %d is there twice", e.Number)
				}
				numbers[e.Number] = true
			}
		}
	}
	for n := 1; n <= 22; n++ {
		if !numbers[n] {
			t.Errorf("there is no equation %d", n)
		}
	}
}
