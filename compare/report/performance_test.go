package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/reporttest"
)

// rival plants a row of the profile peers: m×n×k on so many threads at the given
// GFLOP/s, the ceiling at 40 a thread in f64 and 80 in f32.
func rival(variant, typ string, m, n, k, threads int, gflops float64, change ...func(*compare.Record)) compare.Record {
	work := 2 * float64(m) * float64(n) * float64(k)
	r := row(variant, n, work/gflops/1e9)
	r.M, r.K, r.LDA = m, k, k
	r.Type, r.Compute, r.Threads = typ, typ, threads
	r.Turn = fmt.Sprintf("peers %s %dx%dx%d", typ, m, n, k)
	r.Ceiling = 40 * float64(threads)
	if typ == "f32" {
		r.Ceiling *= 2
	}
	r.Gflops = compare.Number(gflops)
	r.PercentPeak = compare.Number(100 * gflops / r.Ceiling)
	if family(variant) == "reference" {
		r.Params = gemm.Params{"threads": threads}
		r.Resolved = gemm.Params{"threads": threads, "version": "1.2", "kernel": "wide", "library": "lib.so", "process": "own"}
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// peersDocument plants rows of every kind: squares, small and skinny shapes in both
// types, two threads, one row without a speed, one with a warning and a neighbour that
// takes no part.
func peersDocument() compare.Document {
	var rows []compare.Record
	for _, typ := range []string{"f64", "f32"} {
		scale := 1.0
		if typ == "f32" {
			scale = 2
		}
		for _, n := range []int{64, 512, 1024, 2048, 4096} {
			rows = append(rows,
				rival("serial/packed", typ, n, n, n, 1, 36*scale),
				rival("reference/openblas", typ, n, n, n, 1, 30*scale),
				rival("reference/mkl", typ, n, n, n, 1, 35*scale),
				rival("serial/strassen", typ, n, n, n, 1, 99, func(r *compare.Record) { r.Turn = "" }))
			if n <= 1024 {
				rows = append(rows, rival("serial/gonum", typ, n, n, n, 1, 3))
			}
			if n >= 512 {
				rows = append(rows,
					rival("parallel/packed", typ, n, n, n, 2, 69*scale),
					rival("reference/mkl", typ, n, n, n, 2, 68*scale))
			}
		}
		rows = append(rows,
			rival("serial/packed", typ, 2, 2, 2, 1, 0.5*scale),
			rival("reference/openblas", typ, 2, 2, 2, 1, 1*scale),
			rival("reference/mkl", typ, 2, 2, 2, 1, 0.25*scale),
			rival("serial/packed", typ, 16, 4096, 4096, 1, 20*scale),
			rival("reference/openblas", typ, 16, 4096, 4096, 1, 20.001*scale),
			rival("reference/mkl", typ, 16, 4096, 4096, 1, 0, came(compare.Unavailable, "no MKL; install it")))
	}
	rows[0].Warnings = []string{"wide spread: repeat"}
	doc := planted(rows...)
	doc.Measurements = []compare.Measurement{
		{Host: "h1", Run: "r1", Name: "micro-kernel", Params: gemm.Params{"type": "f64", "kernel": "wide"}, Unit: "GFLOP/s", Samples: []float64{38, 37, 39}},
		{Host: "h1", Run: "r1", Name: "packing", Params: gemm.Params{"type": "f64", "n": 1024}, Unit: "GFLOP/s", Samples: []float64{700, 740}},
		{Host: "h1", Run: "r1", Name: "ping-pong", Params: gemm.Params{}, Unit: "µs", Samples: []float64{1}},
	}
	return doc
}

func TestPerformanceGolden(t *testing.T) {
	page, drawings := Performance(peersDocument(), "")
	var b bytes.Buffer
	if err := document.Markdown(&b, page); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "performance.md.golden", b.Bytes())
	if want := strings.Count(b.String(), "](performance/"); len(drawings) != want || want == 0 {
		t.Errorf("%d drawings, %d figures", len(drawings), want)
	}
	for _, d := range drawings {
		var svg bytes.Buffer
		if err := d.SVG(&svg); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "performance/"+d.ID+".svg") {
			t.Errorf("no figure shows %s", d.ID)
		}
		decoder := xml.NewDecoder(&svg)
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", d.ID, err)
			}
		}
	}
}

// pageOf returns the text of the page of a document.
func pageOf(t *testing.T, doc compare.Document) string {
	t.Helper()
	page, _ := Performance(doc, "gemm")
	var b bytes.Buffer
	if err := document.Markdown(&b, page); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPerformanceHidesNothing changes one row and looks for it on the page.
func TestPerformanceHidesNothing(t *testing.T) {
	find := func(doc compare.Document, variant string, n int) *compare.Record {
		for i, r := range doc.Records {
			if r.Variant == variant && r.N == n && r.M == n && r.Type == "f64" {
				return &doc.Records[i]
			}
		}
		t.Fatalf("no row of %s at %d", variant, n)
		return nil
	}
	tests := map[string]struct {
		change func(doc compare.Document)
		want   []string
	}{
		"a peer that is ahead": {
			func(doc compare.Document) {
				*find(doc, "reference/openblas", 512) = rival("reference/openblas", "f64", 512, 512, 512, 1, 40)
			},
			[]string{"| 512 | f64 | 1 | `reference/openblas` | 36.0 | 40.0 | 0.900 ", "**not met**: f64, 1 thread, square matrices, no size below 0.92 of the best peer: lowest 0.900 at 512"},
		},
		"a wrong row of ours": {
			func(doc compare.Document) { came(compare.Wrong, "one element")(find(doc, "serial/packed", 1024)) },
			[]string{
				"`serial/packed`: wrong: one element (1024 f64)", "| 1024 | 40.0 | wrong |",
				"**not measured**: f64, 1 thread, at least 0.88 of the ceiling at n = 1024, 2048 and 4096: 0.900 at 2048, 0.900 at 4096; no figure at 1024.",
				"**not measured**: f64, 1 thread, at least 10 times gonum at n = 1024: no figure at 1024.",
			},
		},
		"a size that misses while another is not there": {
			func(doc compare.Document) {
				came(compare.Failed, "died")(find(doc, "serial/packed", 1024))
				*find(doc, "serial/packed", 2048) = rival("serial/packed", "f64", 2048, 2048, 2048, 1, 20)
			},
			[]string{"**not met**: f64, 1 thread, at least 0.88 of the ceiling at n = 1024, 2048 and 4096: 0.500 at 2048"},
		},
		"a ceiling that is not there": {
			func(doc compare.Document) {
				r := find(doc, "serial/packed", 4096)
				r.Ceiling, r.PercentPeak = 0, compare.None()
			},
			[]string{"**not measured**: f64, 1 thread, at least 0.88 of the ceiling at n = 1024, 2048 and 4096: 0.900 at 1024, 0.900 at 2048; no figure at 4096."},
		},
		"two threads that are slow": {
			func(doc compare.Document) {
				*find(doc, "parallel/packed", 2048) = rival("parallel/packed", "f64", 2048, 2048, 2048, 2, 60)
			},
			[]string{"**not met**: f64, 2 threads, at least 0.95 of twice one thread from n = 1024 on: 0.958 at 1024, 0.833 at 2048, 0.958 at 4096", "| 2048 | f64 | 2 | `reference/mkl` | 60.0 | 68.0 |"},
		},
		"no rows": {
			func(doc compare.Document) { clear(doc.Records) },
			[]string{"There are no records of it. `gemm compare --profile peers` makes them."},
		},
	}
	whole := pageOf(t, peersDocument())
	for name, test := range tests {
		doc := peersDocument()
		test.change(doc)
		text := pageOf(t, doc)
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
			if strings.Contains(whole, want) {
				t.Errorf("%s: the page has %q without it too", name, want)
			}
		}
	}
}

func TestMeanOf(t *testing.T) {
	pair := func(n int, ours, theirs float64) match {
		own, peer := rival("serial/packed", "f64", n, n, n, 1, ours), rival("reference/mkl", "f64", n, n, n, 1, theirs)
		return match{problem: problemOf(own), own: own, peers: []compare.Record{peer}}
	}
	one := meanOf([]match{pair(64, 20, 10)}, "reference/mkl")
	c := contrast(pair(64, 20, 10).peers[0], pair(64, 20, 10).own)
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }
	if !near(one.Ratio, 2) || !near(one.Lo, c.Lo) || !near(one.Hi, c.Hi) || one.Count != 1 {
		t.Errorf("the mean of one ratio is %+v, want %v (%v to %v)", one, c.Ratio, c.Lo, c.Hi)
	}
	two := meanOf([]match{pair(64, 20, 10), pair(65, 10, 20)}, "reference/mkl")
	if !near(two.Ratio, 1) || !(two.Lo < 1 && two.Hi > 1) || !(two.Hi/two.Lo < one.Hi/one.Lo) || two.Count != 2 {
		t.Errorf("the mean of 2 and 1/2 is %+v, narrower than %+v", two, one)
	}
	if none := meanOf([]match{pair(64, 20, 10)}, "reference/blis"); none.Count != 0 || !math.IsNaN(none.Ratio) {
		t.Errorf("the mean of nothing is %+v", none)
	}
	bare := pair(64, 20, 10)
	bare.own.CI = nil
	if m := meanOf([]match{pair(65, 20, 10), bare}, "reference/mkl"); !near(m.Ratio, 2) || !math.IsNaN(m.Lo) || !math.IsNaN(m.Hi) {
		t.Errorf("the mean with a ratio that has no interval is %+v", m)
	}
}

func TestGoalsFailOnNaN(t *testing.T) {
	if (goal{reached: math.NaN(), target: 0}).met() {
		t.Error("a goal that was not measured is met")
	}
}

// TestWritePerformance writes the page as a format of its own.
func TestWritePerformance(t *testing.T) {
	dir := t.TempDir()
	paths, err := Write(dir, peersDocument(), WriteOptions{Formats: []string{"performance"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	figures := strings.Count(string(text), "](performance/")
	if figures == 0 || len(paths) != figures+1 {
		t.Errorf("it wrote %q for %d figures", paths, figures)
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
