package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
)

// brought makes a row one of a kernel that was brought as a source file.
func brought(r *compare.Record) {
	r.Resolved = gemm.Params{"file": "mine.c", "compiler": "gcc 12", "cflags": "-O3 -march=native", "abi": "square"}
}

// inTurn puts a row into the turn of its size.
func inTurn(r *compare.Record) { r.Turn = fmt.Sprintf("peers %s %s %s", r.Type, r.Shape, r.Op) }

// withKernels has the textbook loops, our fastest variant and a library at two sizes, and extra rows.
func withKernels(extra ...compare.Record) compare.Document {
	return way(append([]compare.Record{
		reporttest.Row("reference/openblas", 64, 9e-5, inTurn), reporttest.Row("reference/openblas", 128, 9e-4, inTurn),
	}, extra...)...)
}

// faulty are the rows of five kernels, each with a fault of its own, and of a sixth with one wrong size.
func faulty() []compare.Record {
	var rows []compare.Record
	for _, f := range []struct {
		name, reason string
		status       compare.Status
	}{
		{"unwritten", "element (3, 5) was not written", compare.Wrong},
		{"outside", "it wrote outside C, 8 bytes after its end", compare.Wrong},
		{"segfault", "the process ended: segmentation fault", compare.Failed},
		{"endless", "took longer than 10s", compare.Timeout},
		{"modifies", "it changed A", compare.Wrong},
	} {
		for _, n := range []int{64, 128} {
			rows = append(rows, reporttest.Row("user/"+f.name, n, 1, brought, reporttest.Came(f.status, f.reason)))
		}
	}
	return append(rows, reporttest.Row("user/ragged", 64, 1e-2, brought),
		reporttest.Row("user/ragged", 128, 1, brought, reporttest.Came(compare.Wrong, "")))
}

// many are n kernels at one size.
func many(n int) []compare.Record {
	var rows []compare.Record
	for i := range n {
		rows = append(rows, reporttest.Row(fmt.Sprint("user/k", i), 128, 1e-2, brought))
	}
	return rows
}

// sizes are rows of a kernel at so many sizes.
func sizesOfMine(n int) []compare.Record {
	var rows []compare.Record
	for i := range n {
		rows = append(rows, reporttest.Row("user/mine", 31+32*i, 1e-3*float64(i+1), brought))
	}
	return rows
}

// kernelOnGPU makes a row one of a kernel of the user on a GPU.
func kernelOnGPU(r *compare.Record) {
	onGPU(r)
	r.Resolved = gemm.Params{"symbol": "mine", "grid_dims": "8x8x1", "block_dims": "16x16x1", "smem": 0}
	r.Turn = "cuda " + r.Type
}

var broughtAnswers = []sentence{
	{"a fast kernel of the user", withKernels(reporttest.Row("user/mine", 64, 5e-5, brought, inTurn),
		reporttest.Row("user/mine", 128, 2e-4, brought, inTurn)), []string{
		"The fastest variant is `user/mine` on 1 thread: 21.0 GFLOP/s at n = 128 in f64, 52.4 % of the measured peak, 400 times as fast",
		"Your kernel `user/mine` on 1 thread: 21.0 GFLOP/s at n = 128 in f64, 52.4 % of the measured peak; 400 times as fast as the textbook loops (`serial/naive`), 5.00 times as fast as `serial/packed`, the fastest of ours, 4.50",
		"times as fast as `reference/openblas`, the fastest library. It is number 1 of 6 variants on 1 thread at this size.",
		"| your kernel | `user/mine` | 1 thread | 21.0 | 52.4 | 400 | — | 200 µs | 10.5 best",
		"# Your kernels {#serial-brought}",
		"| `user/mine` | f64 | 1 thread | mine.c | gcc 12 -O3 -march=native | square | 2 / 2 | 39.3 ",
		"On average over 2 rows it reaches 39.3 % of the measured peak.",
		"| 64 | 10.5 | 26.2 | 200 | 2.00 | 1.80 | 1 / 5 ", "| 128 | 21.0 | 52.4 | 400 | 5.00 | 4.50 | 1 / 6 ",
		"Every row of your kernels has a right result.", "`serial/packed` is slower than `reference/openblas`, 0.900",
		"use `user/mine`", "| `user/mine` | 1 thread | 21.0 ",
	}, []string{"`user/mine` is slower than", "as fast as `user/mine`", "NaN"}},
	{"a kernel of the user next to loops in C", withKernels(reporttest.Row("user/mine", 128, 1e-3, brought, inTurn),
		reporttest.Row("reference/c-ikj", 128, 3e-3, inTurn), reporttest.Row("reference/c-naive", 128, 4e-3, inTurn)), []string{
		"as fast as the textbook loops (`serial/naive`), 3.00 (3.00) times as fast as `reference/c-ikj`, the fastest loops in C, ",
		"| × naive | × loops in C | × fastest of ours | × library | ",
		"| 128 | 4.19 | 10.5 | 80.0 | 3.00 | 1.00 | "}, nil},
	{"a slow kernel of the user", withKernels(reporttest.Row("user/mine", 128, .16, brought)), []string{
		"The fastest variant is `parallel/packed`", "0.500 times as fast as the textbook loops",
		"It is number 6 of 6 variants",
		"0.00625 times as fast as `serial/packed`, the fastest of ours"},
		[]string{"The fastest variant is `user/mine`"}},
	{"faulty kernels of the user", withKernels(faulty()...), []string{
		"11 products are wrong, failed or took too long",
		"No row with a right result: `user/unwritten`, `user/outside`, `user/segfault`, `user/endless`, `user/modifies`. The reasons are in the section [Your kernels](#serial-brought).",
		"| `user/unwritten` | f64 | **wrong** | element (3, 5) was not written | n = 64, 128 wrong",
		"| `user/outside` | f64 | **wrong** | it wrote outside C, 8 bytes after its end | n = 64, 128 wrong",
		"| `user/segfault` | f64 | failed | the process ended: segmentation fault | n = 64, 128 ",
		"| `user/endless` | f64 | timed out | took longer than 10s | n = 64, 128 ",
		"| `user/modifies` | f64 | **wrong** | it changed A | n = 64, 128 wrong",
		"| `user/ragged` | f64 | **wrong** | residual ",
		"1 row of it is wrong, failed or took too long; the reason is in the section [Your kernels](#serial-brought)",
		"Your kernel `user/ragged` on 1 thread: 0.0524 GFLOP/s at n = 64", "| 0 / 2 | — "},
		[]string{"Every row of your kernels has a right result", "| `user/endless` | 1 thread |"}},
	{"only kernels of the user", only(reporttest.Row("user/mine", 64, 1e-3, brought), reporttest.Row("user/mine", 128,
		1e-2, brought),
		reporttest.Row("user/mine", 300, 1e-2, brought, oblong)), []string{
		"The fastest variant is `user/mine` on 1 thread",
		"Your kernel `user/mine` on 1 thread: 0.419 GFLOP/s at n = 128",
		"| 3×5×7 |", "Only one family was timed here"}, []string{"times as fast as the textbook", "It is number",
		"NaN"}},
	{"many kernels of the user", withKernels(many(8)...), []string{"Your kernel `user/k5` on 1 thread",
		"2 more kernels of yours are in the section", "| `user/k7` | f64 |"}, nil},
	{"a seventh kernel", withKernels(many(7)...), []string{"1 more kernel of yours is in the section"}, nil},
	{"a kernel at many sizes", withKernels(sizesOfMine(20)...), []string{"n = 639 in f64", "On average over 20 rows",
		"| 31 | ", "| 639 | "},
		[]string{"| 95 | "}},
	{"a kernel of the user on threads", withKernels(reporttest.Row("user/mine", 128, 2e-4, brought, on(2))), []string{
		"# Your kernels {#parallel-brought}", "Your kernel `user/mine` on 2 threads",
		"2.50 times as fast as `parallel/packed`, the fastest of ours"},
		[]string{"{#serial-brought}"}},
	{"a kernel of the user in strong scaling", only(scaled("parallel/packed", 1, 1e-3), scaled("parallel/packed", 2,
		5e-4),
		scaled("user/mine", 1, 8e-3), scaled("user/mine", 2, 4e-3)), []string{
		"Your kernel `user/mine` on 1 thread", "Your kernel `user/mine` on 2 threads",
		"0.125 (0.125) times as fast as `parallel/packed`, the fastest of ours", "{#serial-brought}",
		"{#parallel-brought}"}, []string{"NaN"}},
	{"a kernel of the user in another type", withKernels(reporttest.Row("user/mine", 128, 2e-4, brought,
		reporttest.Single)), []string{
		"Your kernel `user/mine` on 1 thread: 21.0 GFLOP/s at n = 128 in f32"}, nil},
	{"a kernel that is called strassen", withKernels(reporttest.Row("user/strassen", 128, 2e-4, brought),
		reporttest.Row("user/strassen", 64, 1, brought, reporttest.Came(compare.Wrong, "it changed A")),
		reporttest.Row("user/strassen", 256, 1, brought, reporttest.Came(compare.Wrong, "it changed A"))),
		[]string{"Your kernel `user/strassen`", "2 rows of it are wrong, failed or took too long; the reasons are in"},
		nil},
	{"kernels of the user on a GPU", withKernels(reporttest.Row("cuda/naive", 128, 4e-5, onGPU),
		reporttest.Row("cuda/warptile", 128, 1e-5, onGPU),
		reporttest.Row("cuda/cublas", 128, 8e-6, onGPU), reporttest.Row("user/mine", 128, 2e-5, kernelOnGPU),
		reporttest.Row("user/bad", 128, 1, kernelOnGPU, func(r *compare.Record) { r.GPU = nil },
			reporttest.Came(compare.Failed, "an illegal memory access was encountered"))), []string{
		"# Your kernels {#cuda-brought}", "Your kernel `user/mine` on the GPU: 210 GFLOP/s at n = 128",
		"2.00 times as fast as the textbook loops (`cuda/naive`), 0.500 times as fast as `cuda/warptile`, the fastest of ours, 0.400 times as fast as `cuda/cublas`",
		"It is number 3 of 4 variants on the GPU", "| `user/mine` | the GPU | f64 | 210 ",
		"| `user/bad` | f64 | failed | an illegal memory access was encountered | n = 128 ",
		"| mine | 8x8x1 | 16x16x1 | "}, []string{"{#serial-brought}"}},
	{"only kernels of the user on a GPU", only(reporttest.Row("user/mine", 64, 2e-5, kernelOnGPU),
		reporttest.Row("user/mine", 128, 2e-5, kernelOnGPU)),
		[]string{"Your kernel `user/mine` on the GPU", "{#cuda-brought}"}, []string{"NaN", "{#serial-brought}"}},
	{"programs in C are no libraries", way(cRow("reference/c-ikj", "-O3 -march=native", 5e-4,
		reporttest.Experiment("ladder")),
		reporttest.Row("reference/openmp-collapse", 128, 1e-4, on(2))), []string{
		"No library of others was timed at n = 128 on as many threads as ours."},
		[]string{"slower than `reference/c-ikj`", "| library | `c-ikj`", "| library | `openmp-collapse`"}},
	{"libraries of today", way(reporttest.Row("reference/torch", 128, 2e-3), reporttest.Row("reference/numpy", 128,
		3e-3),
		reporttest.Row("reference/libxsmm", 128, 4e-3), reporttest.Row("reference/accelerate", 128, 5e-3),
		reporttest.Row("cuda/torch", 128, 1e-5, onGPU), reporttest.Row("cuda/naive", 128, 2e-5, onGPU)), []string{
		"on 1 thread `serial/packed` is 2.00 times as fast as `reference/torch`", "| library | `numpy`",
		"| library | `libxsmm`",
		"| library | `accelerate`", "`cuda/naive` is slower than `cuda/torch`, 0.500 times as fast"},
		[]string{"The fastest variant is `cuda/torch`"}},
	{"loops in C", inC(), cLoopsSay, []string{"NaN", "{#compiler}"}},
	{"the pool and OpenMP", openMP(), openMPSays, []string{"NaN"}},
	{"loops in C at two sizes", inTwoSizes(), []string{"figure loops-f64"}, []string{"| 64 | ok |"}},
	{"the kernel of the 2024 report", kernel(), []string{
		"figure times-f64",
		"*The schedules default, static and dynamic make hardly any difference to the time.* — **Supported.**",
		"All cases are of `parallel/collapse-atomic`, the kernel of that report."}, nil},
}

// inTwoSizes has loops in C at a second size too.
func inTwoSizes() compare.Document {
	smaller := func(r *compare.Record) { r.Shape, r.LDA, r.LDB, r.LDC, r.Gflops = gemm.Cube(64), 64, 64, 64, 7 }
	return inC(cRow("reference/c-naive", "-O0", 1, smaller), cRow("reference/c-naive", "-O2", 1, smaller),
		reporttest.Row("serial/divide", 32, 1), reporttest.Row("serial/divide", 64, 1e-3),
		reporttest.Row("serial/naive", 128, 1e-6))
}

// scaled is a row of strong scaling on threads, in one turn for each number of them.
func scaled(variant string, threads int, seconds float64) compare.Record {
	return reporttest.Row(variant, 128, seconds, on(threads), func(r *compare.Record) {
		r.Experiment, r.Turn = compare.StrongScaling, fmt.Sprint("strong f64 128 ", threads)
		r.Params = gemm.Params{"threads": threads}
	})
}

// cRow is a row of a loop in C with options of its compiler, at n = 128 in one turn.
func cRow(variant, options string, seconds float64, change ...func(*compare.Record)) compare.Record {
	return reporttest.Row(variant, 128, seconds, append([]func(*compare.Record){func(r *compare.Record) {
		r.Experiment, r.Turn = compare.CompilerOptions, "compiler f64 128 nn"
		r.Params = gemm.Params{"cflags": options}
		r.Resolved = gemm.Params{"cflags": options, "compiler": "gcc 12.2"}
	}}, change...)...)
}

// noCompiler is a row of a loop in C where there is no compiler.
func noCompiler(options string) compare.Record {
	return cRow("reference/c-ikj", options, 1, func(r *compare.Record) { r.Resolved = gemm.Params{} },
		reporttest.Came(compare.Unavailable, "there is no C compiler among gcc, clang, cc: install gcc"))
}

// goRow is a row of a loop in Go in the same turn.
func goRow(variant string, seconds float64) compare.Record {
	return cRow(variant, "", seconds, func(r *compare.Record) { r.Params, r.Resolved = gemm.Params{}, gemm.Params{} })
}

// inC has three loops with three sets of options, the first of all a little out of order, and loops in Go.
func inC(extra ...compare.Record) compare.Document {
	const least, mid, most = "-O0", "-O2", "-O3 -march=native -funroll-loops"
	return way(append([]compare.Record{
		cRow("reference/c-naive", mid, 2e-3), cRow("reference/c-naive", least, 8e-3), cRow("reference/c-naive", most,
			2e-3),
		cRow("reference/c-restrict", least, 8e-3), cRow("reference/c-restrict", mid, 1e-3),
		cRow("reference/c-restrict", most, 1e-3),
		cRow("reference/c-ikj", least, 4e-3), cRow("reference/c-ikj", mid, 1e-3), cRow("reference/c-ikj", most, 25e-5),
		goRow("serial/naive", 3e-3), goRow("serial/hinted", 5e-4),
	}, extra...)...)
}

var cLoopsSay = []string{
	"# The same loops in C and in Go {#compiler-c}", "compiled by gcc 12.2 with three sets of options",
	"**`-O2` instead of `-O0`:** faster `reference/c-naive` (4.00 times), `reference/c-restrict` (8.00 times), `reference/c-ikj` (4.00 times)",
	"**`-O3 -march=native -funroll-loops` instead of `-O0`:** faster `reference/c-naive` (4.00 times), `reference/c-restrict` (8.00 times), `reference/c-ikj` (16.0 times)",
	"speed over the loop without them: `-O0` 1.00", "`-O2` 2.00", "speed over the loop with `restrict`: `-O0` 2.00",
	"The fastest of these loops in Go, `serial/hinted`, takes 2.00",
	"times as long as the fastest in C, `reference/c-ikj` with `-O3 -march=native -funroll-loops`.",
	"| `reference/c-ikj` | `-O3 -march=native -funroll-loops` | 128 | ok | 250 µs |",
	"| `serial/hinted` | Go | 128 | ok | 500 µs |",
	"figure compiler-c-f64",
}

// openMP has the pool and OpenMP on one and two threads under two schedules and two chunks.
func openMP(change ...func(*compare.Record)) compare.Document {
	var rows []compare.Record
	for _, threads := range []int{1, 2} {
		for _, schedule := range []string{"static", "dynamic"} {
			for _, chunk := range []int{0, 16} {
				// OpenMP takes twice as long, but half with the schedule dynamic on two threads.
				pool, other := 8e-3/float64(threads), 16e-3/float64(threads)
				if schedule == "dynamic" && threads == 2 {
					other = pool / 2
				}
				if chunk == 16 && threads == 2 {
					pool, other = 2*pool, 3*other
				}
				for variant, seconds := range map[string]float64{"parallel/collapse-atomic": pool,
					"reference/openmp-collapse": other} {
					rows = append(rows, reporttest.Row(variant, 128, seconds,
						append([]func(*compare.Record){func(r *compare.Record) {
							r.Experiment, r.Threads = compare.OpenMPLoops, threads
							r.Params = gemm.Params{"threads": threads, "schedule": schedule, "chunk": chunk}
							r.Turn = fmt.Sprintf("openmp f64 128 nn, %s", r.Params)
						}}, change...)...))
				}
			}
		}
	}
	slices.SortStableFunc(rows, func(x, y compare.Record) int {
		return strings.Compare(x.Variant+x.Turn,
			y.Variant+y.Turn)
	})
	return way(rows...)
}

var openMPSays = []string{
	"# Our pool and OpenMP {#openmp}", "For f64 at n = 128:",
	"**1 thread:** of 4 settings the pool is faster at 4, not distinguishable at 0, slower at 0. OpenMP takes 2.00 times as long in the geometric mean.",
	"**2 threads:** of 4 settings the pool is faster at 2, not distinguishable at 0, slower at 2. OpenMP takes 1.22 times as long in the geometric mean.",
	"**From one thread to 2 threads,** each with its fastest setting: the pool becomes 2.00 times as fast, OpenMP 8.00 times.",
	"**Chunks under `dynamic`, 2 threads:** between the best and the worst chunk lies a factor of 2.00 for the pool (best default) and of 3.00 for OpenMP (best default).",
	"| 2 | 4 | 2 | 0 | 2 | 1.22 | static, default | 1.05 | dynamic, default | 2.10 ", "figure openmp-f64",
}

var outsideSentences = []sentence{
	{"options that slow loops in C down", way(
		cRow("reference/c-naive", "-O0", 8e-3), cRow("reference/c-naive", "-O2", 8e-3),
		cRow("reference/c-restrict", "-O0", 1e-3), cRow("reference/c-restrict", "-O2", 8e-3),
		cRow("reference/c-ikj", "-O0", 1e-3, reporttest.Sampled(2, 1e-3)),
		cRow("reference/c-ikj", "-O2", 2e-3, reporttest.Sampled(2, 2e-3))), []string{"few"}, nil},
	{"loops in C in the appendix", inC(), append([]string{}, cLoopsSay[1:]...), []string{"NaN"}},
	{"Go is faster than C", inC(goRow("serial/unrolled", 1e-4)), []string{
		"The fastest of these loops in Go, `serial/unrolled`, is 2.50"}, nil},
	{"Go is level with C", inC(goRow("serial/unrolled", 25e-5)), []string{
		"The fastest of these loops in Go, `serial/unrolled`, is not distinguishable from the fastest in C"}, nil},
	{"no compiler of C", way(noCompiler("-O0"), noCompiler("-O2"), goRow("serial/naive", 1e-3)), []string{
		"For f64, no textbook loop in C was timed.",
		"2 rows of `reference/c-ikj` at n = 128 were unavailable and are in no table: there is no C compiler among gcc, clang, cc: install gcc",
		"| `serial/naive` | Go |"}, []string{"compiled by", "NaN"}},
	{"OpenMP in the appendix", openMP(), append([]string{
		"| Pool slower "}, openMPSays...), []string{"NaN"}},
	{"a kernel of the user beside libraries", withKernels(reporttest.Row("serial/packed", 128, 1e-3, inTurn),
		reporttest.Row("user/mine", 128, 2e-4, brought, inTurn)),
		[]string{"| Shapes | against openblas | against user/mine "}, nil},
	{"a kernel of the user with a parent", descended(),
		[]string{"`serial/ikj` → `user/mine`: 2.00 times as fast at n = 256"}, nil},
	{"a kernel of the user in the ladder of a GPU", withKernels(reporttest.Row("cuda/naive", 128, 4e-5, onGPU),
		reporttest.Row("cuda/warptile", 128, 1e-5, onGPU),
		reporttest.Row("cuda/cublas", 128, 8e-6, onGPU), reporttest.Row("user/warptile", 128, 2e-5, kernelOnGPU)),
		nil, nil},
}

// descended returns records of the ladder and of a kernel of the user that changes one thing of ikj.
func descended() compare.Document {
	doc := reporttest.With(reporttest.Row("user/mine", 256, 32e-4))
	for i, v := range doc.Variants {
		if v.Name == "user/mine" {
			doc.Variants[i].Parent = "serial/ikj"
		}
	}
	return doc
}

// TestKernelsAreDrawn looks for the kernels of the user in the figures that are about them.
func TestKernelsAreDrawn(t *testing.T) {
	doc := withKernels(reporttest.Row("user/mine", 64, 5e-5, brought, inTurn), reporttest.Row("user/mine", 128, 2e-4,
		brought, inTurn),
		reporttest.Row("cuda/naive", 128, 4e-5, onGPU), reporttest.Row("cuda/warptile", 128, 1e-5, onGPU),
		reporttest.Row("user/cu", 128, 2e-5, kernelOnGPU))
	for _, id := range []string{"families-f64", "gflops-serial-f64"} {
		if got := pointsOf(t, drawingOf(t, doc, id).(chart.Curve), "user/mine"); len(got) != 2 {
			t.Errorf("%s: the kernel has the points %v", id, got)
		}
	}
	stages := drawingOf(t, doc, "waterfall-f64").(chart.Waterfall).Stages
	at := slices.IndexFunc(stages, func(s chart.Stage) bool { return s.Label == "user/mine" })
	if at < 0 || !stages[at].Apart || stages[at].Before != 1 || !(stages[at].After > 399 && stages[at].After < 401) {
		t.Errorf("the stages of the waterfall are %+v", stages)
	}
	if ids := ids(figures.Drawings(doc, "en")); slices.Contains(ids, "gflops-user-f64") {
		t.Errorf("the figures are %v", ids)
	}
}

// TestOutsideDrawings checks the figures of loops in C and of OpenMP.
func TestOutsideDrawings(t *testing.T) {
	bars := drawingOf(t, inC(), "compiler-c-f64").(chart.Bars)
	if len(bars.Groups) != 5 || len(bars.Groups[0].Bars) != 3 || len(bars.Groups[4].Bars) != 1 || len(bars.Names) != 4 {
		t.Errorf("the bars are %+v of %v", bars.Groups, bars.Names)
	}
	curve := drawingOf(t, openMP(), "openmp-f64").(chart.Curve)
	if len(curve.Series) != 4 || len(curve.Series[0].Points) != 2 {
		t.Errorf("the curves are %+v", curve.Series)
	}
}

// kernel has the kernel of the 2024 report as its figures 21 to 23 need it: in three schedules at five
// sizes, OpenMP twice as fast but at 2048; and with chunks at 512, OpenMP only with two of them.
func kernel() compare.Document {
	var rows []compare.Record
	add := func(variant string, experiment compare.Experiment, n int, ms float64, threads int, params ...any) {
		ms *= math.Pow(float64(n)/128, 3) / float64(threads)
		rows = append(rows, reporttest.Row(variant, n, ms/1e3, reporttest.ThreadsOf(experiment, threads, params...),
			reporttest.Turn(fmt.Sprint(experiment, variant, n))))
	}
	const pool, other = "parallel/collapse-atomic", "reference/openmp-collapse"
	for _, threads := range []int{1, 2, 4, 8, 16} {
		for _, schedule := range []string{"static", "dynamic", "default", "auto"} {
			for _, n := range []int{128, 256, 512, 1024, 2048} {
				add(pool, compare.StrongScaling, n, 1, threads, "schedule", schedule)
				add(pool, compare.OpenMPLoops, n, 3, threads, "schedule", schedule, "chunk", 0)
				if n < 2048 && schedule != "auto" {
					add(other, compare.OpenMPLoops, n, 0.5, threads, "schedule", schedule, "chunk", 0)
				}
			}
		}
		for i, chunk := range []int{0, 1, 4, 16, 256} {
			add(pool, compare.ChunkSizes, 512, 1+0.1*float64(i), threads, "schedule", "dynamic", "chunk", chunk)
			add("parallel/rows", compare.ChunkSizes, 1024, 1, threads, "schedule", "dynamic", "chunk", chunk)
			if chunk >= 16 {
				add(other, compare.OpenMPLoops, 512, 0.6, threads, "schedule", "dynamic", "chunk", chunk)
			}
		}
	}
	return way(rows...)
}

// TestKernelIsDrawn checks the figures of the kernel of the 2024 report: times by schedule, threads and
// size, and times over the chunk.
func TestKernelIsDrawn(t *testing.T) {
	bars := drawingOf(t, kernel(), "times-f64").(chart.Columns)
	var blocks []string
	for _, b := range bars.Blocks {
		blocks = append(blocks, b.Label)
		for _, g := range b.Groups {
			blocks[len(blocks)-1] += " " + g.Label
		}
	}
	if want := []string{"default 1 2 4 8 16", "static 1 2 4 8 16", "dynamic 1 2 4 8 16"}; !slices.Equal(blocks, want) {
		t.Errorf("the groups are %q, want %q", blocks, want)
	}
	if want := []string{"n = 128", "256", "512", "1024", "2048"}; !slices.Equal(bars.Names, want) {
		t.Errorf("the bars are %q, want %q", bars.Names, want)
	}
	// Rows of strong scaling go before the slower ones of the experiment openmp.
	last := bars.Blocks[2].Groups[1].Columns
	want := []chart.Column{{Value: 0.5, Mark: 0.25}, {Value: 4, Mark: 2}, {Value: 32, Mark: 16},
		{Value: 256, Mark: 128},
		{Value: 2048}}
	for i, c := range last {
		if !(math.Abs(c.Value-want[i].Value) < 1e-9 && math.Abs(c.Mark-want[i].Mark) < 1e-9) {
			t.Errorf("dynamic, 2 threads, %s: %+v, want %+v", bars.Names[i], c, want[i])
		}
	}
	curve := drawingOf(t, kernel(), "chunk-dynamic-f64").(chart.Curve)
	if !strings.HasPrefix(curve.Title, "parallel/collapse-atomic, f64, 512") || len(curve.Series) != 10 ||
		!slices.Equal(curve.Names, []string{"default", "1", "4", "16", "256"}) {
		t.Errorf("the chunks are %v of %q in %d curves", curve.Names, curve.Title, len(curve.Series))
	}
	if pts := pointsOf(t, curve, "4 threads"); len(pts) != 5 || !(math.Abs(pts[4].Y-1.4*16) < 1e-9) {
		t.Errorf("the kernel on 4 threads has the points %v", pts)
	}
	if pts := pointsOf(t, curve, "OpenMP, 4 threads"); len(pts) != 3 || !(math.Abs(pts[1].Y-0.6*16) < 1e-9) {
		t.Errorf("OpenMP on 4 threads has the points %v", pts)
	}
	if title := drawingOf(t, kernel(), "openmp-f64").(chart.Curve).Title; !strings.HasPrefix(title, "f64, 512:") {
		t.Errorf("the pool and OpenMP are compared at %q, want the size with chunks", title)
	}
	one := kernel()
	one.Records = slices.DeleteFunc(one.Records,
		func(r compare.Record) bool { return r.Params["schedule"] != "static" })
	if all := ids(figures.Drawings(one, "en")); slices.Contains(all, "times-f64") {
		t.Errorf("schedules are compared where there is one: %v", all)
	}
}

// TestLoopsAreDrawn checks the figure of textbook variants over n: the sizes of the loops in C, and
// interleaved rows before those of the ladder.
func TestLoopsAreDrawn(t *testing.T) {
	curve := drawingOf(t, inTwoSizes(), "loops-f64").(chart.Curve)
	if !slices.Equal(curve.Sizes, []float64{64, 128}) {
		t.Errorf("the sizes are %v", curve.Sizes)
	}
	var labels []string
	for _, s := range curve.Series {
		labels = append(labels, s.Label)
	}
	want := []string{"Go naive", "Go ikj", "Go hinted", "Go divide", "C naive -O0", "C naive -O2", "C naive -O3",
		"C restrict -O0", "C restrict -O2", "C restrict -O3", "C ikj -O0", "C ikj -O2", "C ikj -O3"}
	if !slices.Equal(labels, want) {
		t.Errorf("the curves are %q, want %q", labels, want)
	}
	if pts := pointsOf(t, curve, "C naive -O0"); len(pts) != 2 || pts[0].Y != 7 {
		t.Errorf("the loop has the points %v", pts)
	}
	rate := 2 * math.Pow(128, 3) / 3e-3 / 1e9
	if pts := pointsOf(t, curve, "Go naive"); len(pts) != 2 || !(math.Abs(pts[1].Y-rate) < 1e-9) {
		t.Errorf("the loop in Go has the points %v, want %v", pts, rate)
	}
	if all := ids(figures.Drawings(inC(), "en")); slices.Contains(all, "loops-f64") {
		t.Errorf("loops of one size are drawn over n: %v", all)
	}
}

// TestRoles checks who is whom.
func TestRoles(t *testing.T) {
	for variant, want := range map[string][2]bool{ // ours, rival
		"serial/packed": {true, false}, "serial/gonum": {false, true}, "reference/mkl": {false, true},
		"cuda/cublas": {false, true},
		"cuda/torch":  {false, true}, "cuda/torch-tf32": {false, true}, "reference/c-ikj": {false, false},
		"reference/openmp-collapse": {false, false},
		"user/packed":               {false, false}, "reference/numpy": {false, true},
	} {
		r := analysis.Views(reporttest.Planted(reporttest.Row(variant, 64, 1)))[0].Records[0]
		if got := [2]bool{analysis.Ours(r), analysis.Rival(r)}; got != want {
			t.Errorf("%s: ours and rival are %v, want %v", variant, got, want)
		}
	}
}

// TestCommandsBringKernels checks that the command of a table with kernels of the user brings them, and
// names no variant that the program does not know.
func TestCommandsBringKernels(t *testing.T) {
	for command, want := range map[string]string{
		"gemm serial --bring mine.c --cflags=-O2 --sizes 128":      "gemm serial --bring mine.c --cflags -O2 --variants serial/naive --sizes 128 --type f64",
		"gemm compare --profile quick --bring a.so --bring mine.c": "gemm serial --bring a.so --bring mine.c --variants serial/naive --sizes 128",
	} {
		doc := only(reporttest.Row("user/mine", 128, 1e-3, brought))
		doc.Runs[0].Command = command
		if got := allText(Build(doc, Options{})); !strings.Contains(got, "$ "+want) || strings.Contains(got,
			"--variants user/") {
			t.Errorf("%s: the report does not have the command %q", command, want)
		}
	}
}
