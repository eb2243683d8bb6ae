package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/note"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/document"
	"gemm/compare/report/reporttest"
)

// rival returns a row of the profile peers: m×n×k on that many threads with the given GFLOP/s. The
// ceiling is 40 GFLOP/s a thread in f64 and 80 in f32.
func rival(variant, typ string, m, n, k, threads int, gflops float64, change ...func(*compare.Record)) compare.Record {
	work := 2 * float64(m) * float64(n) * float64(k)
	r := reporttest.Row(variant, n, work/gflops/1e9)
	r.M, r.K, r.LDA = m, k, k
	r.Type, r.Compute, r.Threads = typ, typ, threads
	r.Turn = fmt.Sprintf("peers %s %dx%dx%d", typ, m, n, k)
	r.Ceiling = 40 * float64(threads)
	if typ == "f32" {
		r.Ceiling *= 2
	}
	r.Gflops = compare.Number(gflops)
	r.PercentPeak = compare.Number(100 * gflops / r.Ceiling)
	if analysis.Family(variant) == "reference" {
		r.Params = gemm.Params{"threads": threads}
		r.Resolved = gemm.Params{"threads": threads, "version": "1.2", "kernel": "wide", "library": "lib.so",
			"process": "own"}
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// peersDocument returns rows of every kind: squares, small and slender shapes in both types, two
// threads, a row without a speed, a row with a warning, and one variant that is not compared.
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
			rival("reference/mkl", typ, 16, 4096, 4096, 1, 0, reporttest.Came(compare.Unavailable, "no MKL; install it")))
	}
	rows[0].Warnings = []note.Note{note.Read("wide spread: repeat")}
	doc := reporttest.Planted(rows...)
	doc.Measurements = []compare.Measurement{
		{Host: "h1", Run: "r1", Name: "micro-kernel", Params: gemm.Params{"type": "f64", "kernel": "wide"}, Unit: "GFLOP/s",
			Samples: []float64{38, 37, 39}},
		{Host: "h1", Run: "r1", Name: "micro-kernel-l2", Params: gemm.Params{"type": "f64", "kernel": "wide"},
			Unit: "GFLOP/s", Samples: []float64{36}},
		{Host: "h1", Run: "r1", Name: "update-c", Params: gemm.Params{"type": "f64", "n": 1024}, Unit: "GFLOP/s",
			Samples: []float64{900}},
		{Host: "h1", Run: "r1", Name: "packing", Params: gemm.Params{"type": "f64", "n": 1024}, Unit: "GFLOP/s",
			Samples: []float64{700, 740}},
		{Host: "h1", Run: "r1", Name: "ping-pong", Params: gemm.Params{}, Unit: "µs", Samples: []float64{1}},
	}
	return doc
}

// TestContestHidesNothing changes one row and looks for it in the chapter, in both languages.
func TestContestHidesNothing(t *testing.T) {
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
		en, zh string
	}{
		"a peer that is ahead": {
			func(doc compare.Document) {
				*find(doc, "reference/openblas", 512) = rival("reference/openblas", "f64", 512, 512, 512, 1, 40)
			},
			"| 512 | f64 | 1 | `reference/openblas` | 36.0 | 40.0 | 0.900 ", "其中最快的库在 3 组上可分辨地领先",
		},
		"a wrong row of ours": {
			func(doc compare.Document) {
				reporttest.Came(compare.Wrong, "one element")(find(doc, "serial/packed", 1024))
			},
			"one element", "one element",
		},
		"a size that misses while another is not there": {
			func(doc compare.Document) {
				reporttest.Came(compare.Failed, "died")(find(doc, "serial/packed", 1024))
				*find(doc, "serial/packed", 2048) = rival("serial/packed", "f64", 2048, 2048, 2048, 1, 20)
			},
			"died", "died",
		},
		"two threads that are slow": {
			func(doc compare.Document) {
				*find(doc, "parallel/packed", 2048) = rival("parallel/packed", "f64", 2048, 2048, 2048, 2, 60)
			},
			"| 2048 | f64 | 2 | `reference/mkl` | 60.0 | 68.0 |", "| 2048 | f64 | 2 | `reference/mkl` | 60.0 | 68.0 |",
		},
	}
	rendered := func(doc compare.Document, lang string) string {
		var b bytes.Buffer
		if err := document.Markdown(&b, Appendix(doc, Options{Lang: lang})); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	en, zh := rendered(peersDocument(), "en"), rendered(peersDocument(), "zh")
	for name, test := range tests {
		doc := peersDocument()
		test.change(doc)
		look := func(text, before, want string) {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q", name, want)
			}
			if strings.Contains(before, want) {
				t.Errorf("%s: %q without it too", name, want)
			}
		}
		look(rendered(doc, "en"), en, test.en)
		look(rendered(doc, "zh"), zh, test.zh)
	}
}

// TestContestFigures checks that each group of cubes has a figure.
func TestContestFigures(t *testing.T) {
	for _, id := range []string{"square-f64-1", "square-f64-2", "square-f32-1"} {
		if _, ok := drawingOf(t, peersDocument(), id).(chart.Curve); !ok {
			t.Errorf("no figure %s", id)
		}
	}
}

func TestMeanOf(t *testing.T) {
	pair := func(n int, ours, theirs float64) analysis.Match {
		own, peer := rival("serial/packed", "f64", n, n, n, 1, ours), rival("reference/mkl", "f64", n, n, n, 1, theirs)
		return analysis.Match{Problem: analysis.ProblemOf(own), Own: own, Peers: []compare.Record{peer}}
	}
	one := analysis.MeanOf([]analysis.Match{pair(64, 20, 10)}, "reference/mkl")
	c := analysis.Contrast(pair(64, 20, 10).Peers[0], pair(64, 20, 10).Own)
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }
	if !near(one.Ratio, 2) || !near(one.Lo, c.Lo) || !near(one.Hi, c.Hi) || one.Count != 1 {
		t.Errorf("the mean of one ratio is %+v, want %v (%v to %v)", one, c.Ratio, c.Lo, c.Hi)
	}
	two := analysis.MeanOf([]analysis.Match{pair(64, 20, 10), pair(65, 10, 20)}, "reference/mkl")
	if !near(two.Ratio, 1) || !(two.Lo < 1 && two.Hi > 1) || !(two.Hi/two.Lo < one.Hi/one.Lo) || two.Count != 2 {
		t.Errorf("the mean of 2 and 1/2 is %+v, narrower than %+v", two, one)
	}
	if none := analysis.MeanOf([]analysis.Match{pair(64, 20, 10)}, "reference/blis"); none.Count != 0 ||
		!math.IsNaN(none.Ratio) {
		t.Errorf("the mean of nothing is %+v", none)
	}
	bare := pair(64, 20, 10)
	bare.Own.CI = nil
	if m := analysis.MeanOf([]analysis.Match{pair(65, 20, 10), bare}, "reference/mkl"); !near(m.Ratio, 2) ||
		!math.IsNaN(m.Lo) || !math.IsNaN(m.Hi) {
		t.Errorf("the mean with a ratio that has no interval is %+v", m)
	}
}
