package report

import (
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/batch"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
	"gemm/parallel/timeline"
)

// swept adds to the records of a GPU two iterated products, the occupancies that its worker records, and a
// timeline.
func swept(d *compare.Document) {
	one := d.Records[slices.IndexFunc(d.Records, func(r compare.Record) bool {
		return r.Variant == "cuda/dmma" && r.N == 2048 && r.M == r.N && r.K == r.N
	})]
	for _, steps := range []int{0, 10} {
		r := one
		r.Experiment, r.Turn, r.Params = compare.IteratedProduct, "chain cuda f64", gemm.Params{"chain": steps}
		reporttest.Sampled(20, float64(max(1, steps))*(1e-3+1e-4*float64(min(1, steps))))(&r)
		d.Records = append(d.Records, r)
	}
	for _, o := range []struct {
		over                string
		threads, regs, smem int
		share               float64
	}{
		{"threads", 32, 128, 16384, 0.2}, {"threads", 1024, 128, 16384, 0}, {"registers", 256, 32, 16384, 1},
		{"registers", 256, 128, 16384, 0.25}, {"shared memory", 256, 128, 65536, 0.25},
		{"shared memory", 256, 128, 232448, 0.125},
	} {
		d.Measurements = append(d.Measurements, compare.Measurement{Host: one.Host, Run: one.Run, Name: "occupancy",
			Params:  gemm.Params{"cc": "9.0", "over": o.over, "threads": o.threads, "regs": o.regs, "smem": o.smem},
			Samples: []float64{o.share}})
	}
	trace := compare.Trace{Key: one.Key, Run: one.Run, Seconds: 3e-3}
	for i, name := range []string{"h2d", "kernels", "d2h"} {
		trace.Lanes = append(trace.Lanes, name)
		trace.Phases = append(trace.Phases, timeline.Phase{Lane: i, Name: name, Begin: float64(i) * 1e-3,
			End: float64(i+1) * 1e-3})
	}
	d.Traces = append(d.Traces, trace)
}

// packed makes the f64 rungs in shared memory those of the lab.
func packed(d *compare.Document) {
	for i, r := range d.Records {
		if r.Type == "f64" && (r.Variant == "cuda/smem" || r.Variant == "cuda/conflictfree") {
			d.Records[i].Variant = "cuda/packed-" + analysis.Short(r.Variant)
		}
	}
}

// tiled adds to the records of codes those of two tiles.
func tiled(d *compare.Document) {
	one := d.Records[slices.IndexFunc(d.Records, func(r compare.Record) bool { return r.Variant == "cuda/tiled" })]
	for i, tile := range []string{"4x256x10", "1x32x2"} {
		r := one
		r.Experiment, r.Params = compare.TileShapes, gemm.Params{"tile": tile}
		r.Turn = "tile cuda gf256"
		reporttest.Sampled(20, 1e-3*float64(1+i))(&r)
		r.Gflops, r.DataGBps = compare.None(), compare.Number(200/float64(1+i))
		d.Records = append(d.Records, r)
	}
}

// chained returns rows of an iterated product of the variant and of one product; a step takes slower times as long.
func chained(variant string, slower float64) []compare.Record {
	row := func(steps int, seconds float64) compare.Record {
		return reporttest.Row(variant, 512, seconds, reporttest.Experiment(compare.IteratedProduct),
			reporttest.Turn("chain "+variant), func(r *compare.Record) { r.Params = gemm.Params{"chain": steps} })
	}
	return []compare.Record{row(0, 1e-2), row(10, 1e-1*slower)}
}

// batched returns rows of batches of 1000 products: ours, and a library that takes slower times as long.
func batched(ours, library string, slower float64) []compare.Record {
	row := func(variant, by string, seconds float64) compare.Record {
		return reporttest.Row(variant, 16, seconds, reporttest.Experiment(compare.Batches),
			reporttest.Turn("batch "+ours), func(r *compare.Record) {
				r.Batch, r.Gflops, r.Resolved = 1000, r.Gflops*1000, gemm.Params{batch.Key: by}
				r.Rate = r.Gflops
			})
	}
	return []compare.Record{row(ours, batch.OneCall, 1e-3), row(library, batch.EachInC, 1e-3*slower),
		row(analysis.Family(ours)+"/naive", batch.EachCall, 2e-3)}
}

// labSentences are documents with what the lab measures.
var labSentences = []sentence{
	{"iterated products on a GPU", reporttest.Planted(append(chained("cuda/dmma", 1.02), chained("cuda/warptile", 1.5)...)...),
		[]string{"A step takes 2.00 % to 50.0 % longer than one product"}, nil},
	{"iterated products on processors", reporttest.With(append(chained("serial/packed", 1.02),
		chained("parallel/packed", 1.5)...)...), nil, nil},
	{"batches", reporttest.With(batched("serial/packed", "reference/mkl", 1.5)...), nil, nil},
	{"batches on a GPU", reporttest.Planted(batched("cuda/warptile", "cuda/cublas", 0.5)...),
		nil, nil},
	{"one iterated product on a GPU, occupancies, and a timeline", changed(accelerated(true), swept, packed), []string{
		"A step takes 10.0 % longer",
		"gemm cuda --variants cuda/dmma --sizes 2048 --type f64 --chain 10 --json"}, []string{"{#chain}", "| " +
		"occupancy |"}},
	{"tiles over GF(2⁸)", changed(encoded(), tiled), nil, nil},
	{"a lab with one version", reporttest.Planted(reporttest.Row("cuda/smem", 1024, 1, reporttest.Turn("cuda")),
		reporttest.Row("cuda/cublas", 1024, 0.5, reporttest.Turn("cuda"))), nil, nil},
}

// TestLab checks the sections on the lab in both languages: each finding has a verdict, and a chain what is lost.
func TestLab(t *testing.T) {
	for _, c := range []struct {
		doc  compare.Document
		want map[string][]string // by language
	}{
		{changed(accelerated(true), swept, packed), map[string][]string{
			"en": {"{#gpu-lab}", "{#gpu-chain}", "{#gpu-occupancy}", "A step takes 10.0 % longer",
				"slower than packed blocks read from global memory.* — **Reversed.**", "| The lab | 1.18 | 1.50 | " +
					"0.987 | 2.37 ",
				"| `cuda/dmma` | f64 | 2048 | 10 | ok | 11.0 ms | 1.10 ms | 1.00 ms | 10.0 % |",
				"256 threads, 128 registers a thread and 16 KiB"},
			"zh": {"{#gpu-lab}", "{#gpu-chain}", "{#gpu-occupancy}", "**结果相反**"},
		}},
	} {
		for lang, want := range c.want {
			all := allText(Build(c.doc, Options{Lang: lang})) + allText(Appendix(c.doc, Options{Lang: lang}))
			for _, sentence := range want {
				if !strings.Contains(all, sentence) {
					t.Errorf("%s: no %q", lang, sentence)
				}
			}
			if strings.Contains(all, "NaN") {
				t.Errorf("%s: there is a NaN", lang)
			}
		}
	}
}

// TestLabFigures checks what is drawn of tiles and of occupancy, and that nothing is without records of them.
func TestLabFigures(t *testing.T) {
	doc := changed(accelerated(true), swept)
	curve := drawingOf(t, doc, "gpu-occupancy-registers").(chart.Curve)
	if got := len(curve.Series); got != 1+11 { // the line and the rungs
		t.Errorf("%d series over registers", got)
	}
	if p := curve.Series[0].Points; len(p) != 4 || p[3].X != 128 || p[3].Y != 25 {
		t.Errorf("the line is %v", p)
	}
	for _, d := range append(figures.Drawings(accelerated(true), "en"), figures.Drawings(encoded(), "en")...) {
		if strings.HasPrefix(d.ID, "gpu-occupancy") {
			t.Errorf("%s is drawn of nothing", d.ID)
		}
	}
	if analysis.OnlyPlanned(analysis.Views(doc)) {
		t.Error("the rows are not timed")
	}
}
