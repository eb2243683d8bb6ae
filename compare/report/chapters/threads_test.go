package chapters_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
	"gemm/internal/timeline"
)

// threads returns the measurements of threads of records.
func threads(t *testing.T, lang string, rows ...record.Record) string {
	t.Helper()
	return section(t, fill(t, lang, many(rows...)), "parallel-measurements")
}

// TestStrongScaling looks at the speed-up, the efficiency and the serial fraction of Amdahl's law with f = 10 %, and of
// what is faster.
func TestStrongScaling(t *testing.T) {
	rows := reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.55, 4: 0.325, 8: 0.2125, 32: 9})
	text := threads(t, "en", rows...)
	has(t, text, "f, 2 threads | f, 8 threads |",
		"| `rows` | 8 | 212 µs | 4.71 (4.70–4.71) | 58.8 % | 10.0 % | 10.0 % |", "n = 256")
	hasNot(t, text, "32 threads", "9.00 ms")
	has(t, threads(t, "en", reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.475, 4: 0.2125})...),
		"| 4 | 212 µs | 4.71 (4.70–4.71) | 118 % | -5.00 % | -5.00 % |")
	has(t, threads(t, "en", reporttest.Scaled("strong", map[int]float64{1: 1, 2: 1.5})...),
		"| 0.667 (0.666–0.667) | 33.3 % | 200 % |")
	for i := range rows { // not interleaved: no interval
		rows[i].Turn = fmt.Sprint(i)
	}
	has(t, threads(t, "en", rows...), "| 212 µs | 4.71 | 58.8 % |")
	hasNot(t, threads(t, "en", rows[1:]...), "Strong scaling")
	hasNot(t, threads(t, "en", rows[0], rows[4]), "Strong scaling") // more threads than processors
}

// TestFastestSeries checks that each variant stands with its fastest setting, at the size that most have.
func TestFastestSeries(t *testing.T) {
	text := threads(t, "en", slices.Concat(
		reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.8}, "schedule", "static"),
		reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.5}, "schedule", "dynamic"),
		reporttest.Scaled("chunk", map[int]float64{1: 1, 2: 0.4}, "schedule", "dynamic", "chunk", 16))...)
	has(t, text, "| `rows` | dynamic | 2 | 500 µs | 2.00 (2.00) | 100 % |")
	hasNot(t, text, "static |", "400 µs")
}

// TestTimelineOfWorkers looks at the caption of a timeline, which says whether the load was artificial.
func TestTimelineOfWorkers(t *testing.T) {
	doc := many(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.55})...)
	measured := func() string { return section(t, fill(t, "en", doc), "parallel-measurements") }
	hasNot(t, measured(), "timeline-1")
	doc.Traces = []record.Trace{{Run: "r1", Workers: 2, Seconds: 1e-3, Spans: []timeline.Span{{End: 1e-3}},
		Key: record.Key{Host: "h1", Experiment: record.ArtificialLoad, Variant: "parallel/rows",
			Problem: record.Problem{Type: "f64", Op: "nn", Alpha: 1, Shape: gemm.Cube(256)}}}}
	has(t, measured(),
		"of `parallel/rows` computed (coloured) and waited (grey), n = 256, with a load that grows along the loop.")
	doc.Traces[0].Experiment = record.StrongScaling
	hasNot(t, measured(), "with a load")
}

// openMP returns the pool and OpenMP on one and two threads under two schedules and two chunks. OpenMP takes twice as
// long, but half with the schedule dynamic on two threads.
func openMP() []record.Record {
	var rows []record.Record
	for _, threads := range []int{1, 2} {
		for _, schedule := range []string{"static", "dynamic"} {
			for _, chunk := range []int{0, 16} {
				pool, other := 8e-3/float64(threads), 16e-3/float64(threads)
				if schedule == "dynamic" && threads == 2 {
					other = pool / 2
				}
				if chunk == 16 && threads == 2 {
					pool, other = 2*pool, 3*other
				}
				set := threadsOf(record.OpenMPLoops, threads, "schedule", schedule, "chunk", chunk)
				both := inTurn(fmt.Sprint(threads, schedule, chunk))
				rows = append(rows, row("parallel/collapse-atomic", 128, pool, set, both),
					row("reference/openmp-collapse", 128, other, set, both))
			}
		}
	}
	return rows
}

// TestPoolAndOpenMP looks at the table, and exchanges the two.
func TestPoolAndOpenMP(t *testing.T) {
	text := func(rows []record.Record) string { return section(t, fill(t, "en", many(rows...)), "openmp") }
	has(t, text(openMP()), "`parallel/collapse-atomic`", "`reference/openmp-collapse`", "n = 128", "openmp-f64.svg",
		"| 1 | 4 | 4 | 0 | 0 | 2.00 | static | 0.524 | static | 0.262 |",
		"| 2 | 4 | 2 | 0 | 2 | 1.22 | static | 1.05 | dynamic | 2.10 |", "each pair was interleaved.")
	swapped := openMP()
	for i, r := range swapped {
		swapped[i].Samples, swapped[i].Median, swapped[i].CI = openMP()[i^1].Samples, openMP()[i^1].Median, openMP()[i^1].CI
		if r.Threads == 2 && r.Params["chunk"] == 0 {
			swapped[i].Params["chunk"] = 1
		}
	}
	has(t, text(swapped), "| 1 | 4 | 0 | 0 | 4 | 0.500 |", "| 2 | 4 | 2 | 0 | 2 | 0.816 | dynamic chunk=1 |")
	for i := range swapped {
		swapped[i].Turn = fmt.Sprint(i)
	}
	apart := text(swapped)
	has(t, apart, "| 1 | 4 | 0 | 0 | 0 | 0.500 |")
	hasNot(t, apart, "interleaved")
	captions := threads(t, "en", openMP()...)
	has(t, captions, "a line across a bar: OpenMP", "dashed: OpenMP")
	pool := slices.DeleteFunc(openMP(), func(r record.Record) bool { return strings.HasPrefix(r.Variant, "reference/") })
	hasNot(t, fill(t, "en", many(pool...)), "OpenMP", "{#openmp}")
}
