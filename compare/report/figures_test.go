package report

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"gemm/compare"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
)

// ids returns the IDs of drawings.
func ids(drawings []chart.Drawing) []string {
	var out []string
	for _, d := range drawings {
		out = append(out, d.ID)
	}
	return out
}

// drawingOf returns the chart of the given ID among the drawings of doc.
func drawingOf(t *testing.T, doc compare.Document, id string) chart.Chart {
	t.Helper()
	drawings := figures.Drawings(doc, "en")
	i := slices.Index(ids(drawings), id)
	if i < 0 {
		t.Fatalf("no drawing %s among %v", id, ids(drawings))
	}
	return drawings[i].Chart
}

func TestDrawings(t *testing.T) {
	want := "waterfall-f64 families-f64 gflops-serial-f64 gflops-serial-f32 strassen-crossover-f64 " +
		"strassen-crossover-f32 roofline-f64 roofline-f32 compiler-f64 compiler-f32 rate-gf256"
	if got := strings.Join(ids(figures.Drawings(realistic(), "en")), " "); got != want {
		t.Errorf("drawings are %s, want %s", got, want)
	}
	want = "topology strong-speedup-f64 chunk-static-f64 chunk-dynamic-f64 chunk-guided-f64 times-f64 timeline-1 " +
		"placement-workers"
	if got := strings.Join(ids(figures.Drawings(threaded(), "en")), " "); got != want {
		t.Errorf("drawings of threads are %s, want %s", got, want)
	}
	for _, d := range slices.Concat(figures.Drawings(realistic(), "zh"), figures.Drawings(threaded(), "zh")) {
		if !strings.ContainsFunc(d.Title, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: the title %q is not Chinese", d.ID, d.Title)
		}
	}
	for name, doc := range map[string]compare.Document{
		"no rows": reporttest.Planted(),
		"one number of threads": reporttest.Planted(reporttest.Row("parallel/rows", 64, 1e-3,
			reporttest.ThreadsOf("strong", 2)), reporttest.Row("parallel/rows", 128, 1e-3, reporttest.ThreadsOf("strong", 2))),
		"one chunk": reporttest.Planted(reporttest.Row("parallel/rows", 64, 1e-3,
			reporttest.ThreadsOf("chunk", 2, "schedule", "static", "chunk", 4))),
		"one size": reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3)),
		"not ok": reporttest.Planted(reporttest.Row("serial/naive", 64, 1e-3, reporttest.Came(compare.Wrong, "x")),
			reporttest.Row("serial/naive", 128, 1e-3, reporttest.Came(compare.Skipped, "x")),
			reporttest.Row("serial/ikj", 64, 1e-3, reporttest.Came(compare.Timeout, "x"))),
		"not square": reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3, oblong),
			reporttest.Row("serial/ikj", 128, 1e-3, oblong)),
		"transposed": reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3),
			reporttest.Row("serial/ikj", 128, 1e-3, func(r *compare.Record) { r.Op = "tn" })),
		"scaled": reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3),
			reporttest.Row("serial/ikj", 128, 1e-3, func(r *compare.Record) { r.Alpha = 2 })),
		"accumulating": reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3),
			reporttest.Row("serial/ikj", 128, 1e-3, func(r *compare.Record) { r.Beta = 1 })),
		"no baseline": reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3),
			reporttest.Row("serial/packed", 64, 1e-3, reporttest.Unpredicted)),
		"one build": reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3, reporttest.Experiment("compiler"),
			built("v1"))),
		"no v1": reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3, reporttest.Experiment("compiler"),
			built("v3")), reporttest.Row("serial/ikj", 64, 1e-3, reporttest.Experiment("compiler"), built("v3 -B"))),
		"no packed": reporttest.Planted(reporttest.Row("serial/strassen", 64, 1e-3),
			reporttest.Row("serial/winograd", 64, 1e-3)),
		"no time": reporttest.Planted(reporttest.Row("serial/ikj", 64, 1e-3), reporttest.Row("serial/ikj", 128, 0)),
	} {
		got := ids(figures.Drawings(doc, "en"))
		if name == "no packed" { // these two have a roofline
			got = slices.DeleteFunc(got, func(id string) bool { return id == "roofline-f64" })
		}
		if len(got) != 0 {
			t.Errorf("%s: drawings %v", name, got)
		}
	}
}

// TestDrawingsOfHosts checks that each host has a set of figures of its own rows, with IDs that are
// file names whatever the host is called.
func TestDrawingsOfHosts(t *testing.T) {
	doc := twoHosts()
	for i, h := range doc.Hosts {
		for j := range doc.Records {
			if doc.Records[j].Host == h.ID {
				doc.Records[j].Host = []string{"../../a", "b"}[i]
			}
		}
		doc.Hosts[i].ID = []string{"../../a", "b"}[i]
	}
	var suffixes []string
	for _, id := range ids(figures.Drawings(doc, "en")) {
		if strings.ContainsAny(id, "/.") {
			t.Errorf("the ID %s is a path", id)
		}
		if _, suffix, ok := strings.Cut(id, "gflops-serial-f64"); ok {
			suffixes = append(suffixes, suffix)
		}
	}
	if len(suffixes) != 2 || suffixes[0] == suffixes[1] || suffixes[1] != "-b" {
		t.Errorf("the hosts' figures end in %q", suffixes)
	}
}

// points returns the points of the series called label.
func pointsOf(t *testing.T, ch chart.Chart, label string) []chart.Point {
	t.Helper()
	var labels []string
	for _, s := range ch.(chart.Curve).Series {
		if s.Label == label {
			return s.Points
		}
		labels = append(labels, s.Label)
	}
	t.Fatalf("no series %s, only %q", label, labels)
	return nil
}

func TestRates(t *testing.T) {
	later := reporttest.Row("serial/ikj", 64, 2e-6)
	doc := reporttest.Planted(
		reporttest.Row("serial/ikj", 64, 1e-6), reporttest.Row("serial/ikj", 128, 8e-6),
		reporttest.Row("serial/ikj", 256, 1e-3, reporttest.Came(compare.Wrong, "x")), later,
		reporttest.Row("serial/packed", 64, 1e-6), reporttest.Row("serial/packed", 128, 4e-6),
		reporttest.Row("reference/mkl", 64, 1e-7), reporttest.Row("reference/mkl", 128, 1e-6),
	)
	doc.Records[1].CI = &[2]float64{4e-6, 16e-6}
	doc.Records[1].Median = 8e-6
	doc.Records[1].Gflops = 0.5
	ikj := pointsOf(t, drawingOf(t, doc, "gflops-serial-f64"), "ikj")
	if len(ikj) != 2 || ikj[0].X != 64 || ikj[0].Y != float64(later.Gflops) {
		t.Errorf("ikj is %v: the later of two rows stands, a wrong one does not", ikj)
	}
	if got, want := ikj[1], (chart.Point{X: 128, Y: 0.5, Lo: 0.25, Hi: 1}); got != want {
		t.Errorf("at 128 ikj is %v, want %v", got, want)
	}
	curve := drawingOf(t, doc, "gflops-serial-f64").(chart.Curve)
	if curve.Limit.Level != 40 || !curve.Top || !slices.Equal(curve.Sizes, []float64{64, 128}) {
		t.Errorf("limit %v, sizes %v", curve.Limit, curve.Sizes)
	}
	doc.Hosts[0].Ceilings = nil
	if curve := drawingOf(t, doc, "gflops-serial-f64").(chart.Curve); curve.Limit.Level != 0 {
		t.Errorf("without a measured peak the limit is %v", curve.Limit)
	}
}

// TestRatesOfParameters checks that each set of parameters has a series.
func TestRatesOfParameters(t *testing.T) {
	doc := reporttest.Planted(reporttest.Row("serial/blocked", 64, 1e-6, param("block", 16)),
		reporttest.Row("serial/blocked", 128, 1e-6, param("block", 16)),
		reporttest.Row("serial/blocked", 64, 1e-6, param("block", 32)))
	ch := drawingOf(t, doc, "gflops-serial-f64")
	if a, b := pointsOf(t, ch, "blocked block=16"), pointsOf(t, ch, "blocked block=32"); len(a) != 2 || len(b) != 1 {
		t.Errorf("series are %v and %v", a, b)
	}
}

func TestStrassenFigures(t *testing.T) {
	sweep := func(n, cut int, seconds float64) compare.Record {
		return reporttest.Row("serial/strassen", n, seconds, reporttest.Experiment("cutoff"), param("cutoff", cut))
	}
	doc := reporttest.Planted(
		reporttest.Row("serial/packed", 128, 1e-3), reporttest.Row("serial/packed", 256, 8e-3),
		reporttest.Row("serial/strassen", 128, 2e-3), reporttest.Row("serial/strassen", 256, 8e-3),
		sweep(256, 32, 16e-3), sweep(256, 64, 4e-3), sweep(256, 128, 5e-3), sweep(128, 64, 4e-3),
		// This row was interleaved with a packed of its own, which was slower then.
		reporttest.Row("serial/winograd", 256, 8e-3, reporttest.Turn("t")),
		reporttest.Row("serial/packed", 256, 16e-3, reporttest.Turn("t"), reporttest.Experiment("turn")),
	)
	crossover := drawingOf(t, doc, "strassen-crossover-f64")
	check := func(what string, got []chart.Point, want ...[2]float64) {
		t.Helper()
		same := len(got) == len(want)
		for i := 0; same && i < len(got); i++ {
			same = got[i].X == want[i][0] && got[i].Y > 0.99*want[i][1] && got[i].Y < 1.01*want[i][1]
		}
		if !same {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("crossover", pointsOf(t, crossover, "strassen"), [2]float64{128, 0.5}, [2]float64{256, 1})
	check("best cut-off", pointsOf(t, crossover, "strassen, best cut-off"), [2]float64{128, 0.25}, [2]float64{256, 2})
	check("in turn", pointsOf(t, crossover, "winograd"), [2]float64{256, 2})
}

func TestRoofline(t *testing.T) {
	doc := reporttest.Planted(reporttest.Row("serial/naive", 64, 1e-6), reporttest.Row("serial/ikj", 64, 1e-6),
		reporttest.Row("parallel/rows", 64, 1e-6, func(r *compare.Record) { r.Threads = 2 }))
	curve := drawingOf(t, doc, "roofline-f64").(chart.Curve)
	if len(curve.Series) != 2 || curve.Limit.Level != 40 || curve.Slope.Rise != 10 {
		t.Errorf("series %v, limit %v, slope %v", curve.Series, curve.Limit, curve.Slope)
	}
	if pt := curve.Series[0].Points[0]; pt.X != 1 { // planted rows move a byte an operation
		t.Errorf("intensity %v, want 1", pt.X)
	}
	doc.Hosts[0].Bandwidths = nil
	if got := ids(figures.Drawings(doc, "en")); slices.Contains(got, "roofline-f64") {
		t.Error("a roofline without a bandwidth")
	}
}

func TestCompilerFigure(t *testing.T) {
	doc := reporttest.Planted(childBuilds("serial/ikj", 2)...)
	bars := drawingOf(t, doc, "compiler-f64").(chart.Bars)
	if len(bars.Groups) != 1 || len(bars.Groups[0].Bars) < 2 || bars.Groups[0].Bars[0].Y != 1 {
		t.Fatalf("groups are %v", bars.Groups)
	}
	for _, b := range bars.Groups[0].Bars {
		if bars.Names[b.Color] == "v3" && (b.Y < 1.98 || b.Y > 2.02) {
			t.Errorf("v3 is %v times as fast, want 2", b.Y)
		}
	}
}

// TestDrawingFormats checks that every drawing exists in all three formats, and that a second
// drawing has the same bytes. The tests of package chart look at the pixels.
func TestDrawingFormats(t *testing.T) {
	for i, d := range slices.Concat(figures.Drawings(realistic(), "zh"), figures.Drawings(threaded(), "zh")) {
		for start, write := range map[string]func(*bytes.Buffer) error{
			"<?xml":   func(b *bytes.Buffer) error { return d.SVG(b) },
			"\x89PNG": func(b *bytes.Buffer) error { return d.PNG(b) },
			"%PDF-1.": func(b *bytes.Buffer) error { return d.PDF(b) },
		} {
			if start == "\x89PNG" && i > 0 {
				continue
			}
			var first, second bytes.Buffer
			if err := write(&first); err != nil {
				t.Fatal(err)
			}
			if err := write(&second); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(first.String(), start) || !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("%s: no %q, or not the same twice", d.ID, start)
			}
			if start == "<?xml" && (!strings.Contains(first.String(), d.Title) || strings.Contains(first.String(), "NaN")) {
				t.Errorf("%s: no title, or no numbers", d.ID)
			}
		}
	}
}

// TestScalingFigures compares what is drawn with known times.
func TestScalingFigures(t *testing.T) {
	doc := reporttest.Many(append(reporttest.Scaled("strong", map[int]float64{1: 1, 2: 0.5, 4: 0.4}, "schedule", "static"),
		reporttest.Row("serial/packed", 256, 2e-3, reporttest.Experiment("strong")))...)
	near := func(what string, got []chart.Point, want ...[2]float64) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
		for i, w := range want {
			if got[i].X != w[0] || !(math.Abs(got[i].Y-w[1]) <= 1e-9) || got[i].Lo > got[i].Y || got[i].Hi < got[i].Y {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
	}
	near("speed-up", pointsOf(t, drawingOf(t, doc, "strong-speedup-f64"), "rows, static"), [2]float64{1, 1},
		[2]float64{2, 2}, [2]float64{4, 2.5})
	near("ideal", pointsOf(t, drawingOf(t, doc, "strong-speedup-f64"), "ideal"), [2]float64{1, 1}, [2]float64{2, 2},
		[2]float64{4, 4})
	spread := func(id string) (count int) { // points with an interval
		for _, pt := range pointsOf(t, drawingOf(t, doc, id), "rows, static") {
			if pt.Lo != pt.Y || pt.Hi != pt.Y {
				count++
			}
		}
		return count
	}
	for id, want := range map[string]int{"strong-speedup-f64": 2} {
		if got := spread(id); got != want {
			t.Errorf("%s has %d intervals, want %d", id, got, want)
		}
	}
	doc.Records = apart(doc.Records)
	for _, id := range []string{"strong-speedup-f64"} {
		if got := spread(id); got != 0 {
			t.Errorf("%s has %d intervals of rows that were not measured in turn", id, got)
		}
	}
	doc = reporttest.Many(reporttest.Swept("chunk", "chunk", []any{0, 4, 16}, []float64{1, 2, 4}, "schedule", "guided")...)
	near("chunks", pointsOf(t, drawingOf(t, doc, "chunk-guided-f64"), "4 threads"), [2]float64{1, 1},
		[2]float64{4, 2}, [2]float64{16, 4})
	if names := drawingOf(t, doc, "chunk-guided-f64").(chart.Curve).Names; !slices.Equal(names,
		[]string{"default", "4", "16"}) {
		t.Errorf("the chunks are called %q", names)
	}
}
