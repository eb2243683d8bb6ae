// Package figures draws what the analysis of records says. It knows no language: the letters inside of figures are
// English, and reports write captions. A figure is a line of specs.
package figures

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/plot/vg"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
)

type spec struct {
	id   string                               // with what it is drawn for in place of *
	each func(d drawn) []string               // what it is drawn for, for example element types; nil: it is drawn once
	draw func(d drawn, of string) chart.Chart // nil if there is nothing to draw
}

// specs are the kinds of figures of a host, in the order of the report.
var specs = []spec{
	// The way from the textbook loops to the fastest variant, factor by factor.
	{"waterfall-*", mainType, drawn.waterfall},
	// Speed of the fastest variant of each family.
	{"families-*", mainType, lines(chart.Curve{XLabel: overN, LogY: true, Top: true, Flat: true}, drawn.families)},
	// Speed of the variants of a family, up to the measured peak.
	{"gflops-serial-*", floats, lines(toPeak, rates(analysis.Serial))},
	{"gflops-parallel-*", floats, lines(toPeak, rates(analysis.Parallel))},
	// Speed of fast algorithms relative to the serial variant that users choose.
	{"strassen-crossover-*", floats, lines(chart.Curve{XLabel: overN}, drawn.crossover)},
	// Executed operations a second over arithmetic intensity.
	{"roofline-*", floats, lines(chart.Curve{XLabel: "operations a byte of predicted traffic",
		YLabel: "GFLOP/s executed", LogY: true, Scattered: true, Top: true}, drawn.roofline)},
	// Speed relative to the build for GOAMD64=v1.
	{"compiler-*", floats, drawn.compiler},
	// Speed of textbook variants in Go, and of loops in C by the options of their compiler.
	{"loops-*", twoFloats, lines(chart.Curve{XLabel: overN, YLabel: "GFLOP/s", LogY: true}, drawn.loops)},
	// Speed of the six orders of the plain loops.
	{"orders-*", twoFloats, drawn.orders},
	// Speed of the pool and of OpenMP, by schedule.
	{"openmp-*", twoFloats, lines(chart.Curve{XLabel: "threads", YLabel: "GFLOP/s", LogY: true}, drawn.openMP)},
	// Gmul/s of all variants.
	{"rate-*", field, lines(toPeak, rates(""))},
	// Speed-up over one thread at the size that most variants have.
	{"strong-speedup-*", drawn.SharedTypes, lines(chart.Curve{LogY: true}, gains(analysis.OverThreads))},
	// Time over the chunk under a schedule, a curve for each number of threads.
	{"chunk-static-*", drawn.SharedTypes, lines(overChunks, chunks("static"))},
	{"chunk-dynamic-*", drawn.SharedTypes, lines(overChunks, chunks("dynamic"))},
	// Time of the kernel of the 2024 report by schedule, threads and size.
	{"times-*", drawn.SharedTypes, drawn.times},
	// When workers were busy.
	{"timeline-1", nil, drawn.timeline},
	// When each rank did what.
	{"mpi-timeline", nil, func(d drawn, _ string) chart.Chart { return d.phaseTraces(analysis.OnRanks) }},
	// Time of the ways to distribute a product with the plain loops on each rank, by size and ranks.
	{"mpi-distribution-*", rankTypes, drawn.distributions},
	// Phases of each variant's slowest rank.
	{"mpi-phases-*", rankTypes, drawn.phases},
	// Bytes counted over the lower bound.
	{"mpi-bytes-*", rankTypes, lines(chart.Curve{XLabel: "ranks", YLabel: "bytes counted / least possible", LogY: true,
		Limit: chart.Limit{Level: 1, Label: "least possible"}}, drawn.bytes)},
	{"mpi-strong-speedup-*", rankTypes, lines(chart.Curve{LogY: true}, gains(analysis.OverRanks))},
	// When operands were copied and kernels ran.
	{"gpu-timeline", nil, func(d drawn, _ string) chart.Chart { return d.phaseTraces(analysis.OnGPU) }},
	{"gpus-strong-speedup-*", drawn.GPUTypes, lines(chart.Curve{LogY: true}, gains(analysis.OverGPUs))},
	// When each of several GPUs copied and computed.
	{"gpus-timeline", nil, func(d drawn, _ string) chart.Chart { return d.phaseTraces(analysis.OnGPUs) }},
	// Speed on the GPU of what computes in an arithmetic: f32, tf32, f64, f16 and bf16.
	{"gpu-rates-*", arithmetics, lines(toPeak, drawn.gpuRates)},
	// Speed of rungs over the operations a byte of global memory.
	{"gpu-roofline-*", drawn.GPUTypes, lines(chart.Curve{XLabel: "operations a byte of global memory",
		YLabel: "TFLOP/s", LogY: true, Scattered: true, Top: true}, drawn.gpuRoofline)},
	// What the warps of a multiprocessor did around the end of a tile.
	{"gpu-inside-*", drawn.GPUTypes, drawn.inside},
	// Error over speed, by precision.
	{"errors", nil, lines(chart.Curve{XLabel: "TFLOP/s", YLabel: "largest error / (|A||B|)", LogY: true,
		Scattered: true}, drawn.errors)},
	// Data a second over Reed–Solomon codes, at a width of shards, with what limits it.
	{"codes-*", widths, lines(chart.Curve{XLabel: "code: data + parity shards", YLabel: "data, GB/s", LogY: true},
		drawn.codes)},
	// Speed next to libraries, <kind>-<type>-<threads>, kind square, small or skinny.
	{"*", comparisonGroups, lines(chart.Curve{XLabel: overN, YLabel: "GFLOP/s", Top: true}, drawn.comparison)},
}

const overN = "n (matrices are n×n)"

// Frames of several figures.
var (
	toPeak     = chart.Curve{XLabel: overN, LogY: true, Top: true}
	overChunks = chart.Curve{XLabel: "chunk", YLabel: "time, ms", LogY: true}
)

// What figures are drawn for.

func mainType(d drawn) []string  { return []string{d.MainType()} }
func floats(drawn) []string      { return []string{"f64", "f32", "f16", "bf16"} }
func twoFloats(drawn) []string   { return []string{"f64", "f32"} }
func field(drawn) []string       { return []string{"gf256"} }
func rankTypes(d drawn) []string { return d.TypesOf(analysis.OverRanks) }

func arithmetics(d drawn) []string {
	types := d.GPUTypes()
	if i := slices.Index(types, "f32"); i >= 0 {
		types = slices.Insert(types, i+1, "tf32")
	}
	return types
}

// lines draws lines over x: what data adds to the frame. They need points at two places; a scattered figure needs
// two series.
func lines(frame chart.Curve, data func(d drawn, of string, c *chart.Curve)) func(drawn, string) chart.Chart {
	return func(d drawn, of string) chart.Chart {
		c := frame
		if data(d, of, &c); c.Scattered && len(c.Series) < 2 || !c.Scattered && len(c.Places()) < 2 {
			return nil
		}
		return c
	}
}

// Set is the figures of records. A figure is built when it is requested.
type Set struct {
	IDs    []string // in the order of the report, also of figures that doc has no data for
	charts map[string]func() chart.Chart
}

// Of returns the figures of doc. If doc has several hosts there is a set for each, with a dash and the host's id
// appended to their IDs. Only cubes and C = A·B are drawn, but for codes and the series over threads and ranks.
func Of(doc record.Document) *Set {
	s := &Set{charts: map[string]func() chart.Chart{}}
	for _, v := range analysis.Views(doc) {
		d := newDrawn(v)
		for _, kind := range specs {
			each := []string{""}
			if kind.each != nil {
				each = kind.each(d)
			}
			for _, of := range each {
				id := strings.ReplaceAll(kind.id, "*", of) + v.Suffix
				s.IDs = append(s.IDs, id)
				s.charts[id] = sync.OnceValue(func() chart.Chart { return kind.draw(d, of) })
			}
		}
	}
	return s
}

// Find returns a figure; ok is false if there is none, or no data for it.
func (s *Set) Find(id string) (d chart.Drawing, ok bool) {
	build := s.charts[id]
	if build == nil {
		return chart.Drawing{}, false
	}
	ch := build()
	return chart.Drawing{ID: id, Chart: ch}, ch != nil
}

// drawn is the rows of one host that figures show.
type drawn struct {
	*analysis.View
	rows   []record.Record // cubes of C = A·B with a speed, the latest of each row
	looks  map[string]chart.Look
	packed string // the serial variant that users choose, which others are compared with
}

// newDrawn returns the rows of v that figures show. A variant looks the same in every figure of its family.
func newDrawn(v *analysis.View) drawn {
	d := drawn{View: v, looks: make(map[string]chart.Look), packed: v.Production(analysis.Serial)}
	members := make(map[string]int)
	for _, r := range v.Records {
		if _, known := d.looks[r.Variant]; !known {
			fam := analysis.Family(r.Variant)
			d.looks[r.Variant] = chart.LookOf(members[fam])
			if fam == analysis.User {
				d.looks[r.Variant] = chart.Look{Color: chart.Ink, Marker: chart.LookOf(members[fam]).Marker}
			}
			members[fam]++
		}
	}
	for _, same := range analysis.GroupBy(v.Pick(func(r record.Record) bool {
		return r.Speed() && r.Median > 0 && analysis.ProblemOf(r).Cube() && r.N >= 1
	}), func(r record.Record) string {
		return fmt.Sprintf("%s|%s|%s|%s|%d|%d|%v", r.Experiment, r.Build, r.Variant, r.Type, r.N, r.Threads, r.Params)
	}) {
		d.rows = append(d.rows, same[len(same)-1])
	}
	return d
}

func (d drawn) of(experiment record.Experiment, typ string) []record.Record {
	return analysis.Pick(d.rows, func(r record.Record) bool { return r.Experiment == experiment && r.Type == typ })
}

// Measured returns y, a speed that goes with r's median, at x, with what the 95 % interval of the median makes of it.
func Measured(r record.Record, x, y float64) chart.Point {
	pt := chart.At(x, y)
	if r.CI != nil && r.CI[0] > 0 {
		pt.Lo, pt.Hi = min(y, y*float64(r.Median)/r.CI[1]), max(y, y*float64(r.Median)/r.CI[0])
	}
	return pt
}

// relative returns at x how many times as fast as base r is. Its interval divides
// the far ends of the two, and so holds with 90 % at least.
func relative(r, base record.Record, x float64) chart.Point {
	pt := Measured(r, x, float64(base.Median)/float64(r.Median))
	if base.CI != nil && base.CI[0] > 0 {
		pt.Lo *= min(1, base.CI[0]/float64(base.Median))
		pt.Hi *= max(1, base.CI[1]/float64(base.Median))
	}
	return pt
}

// peak is the measured peak of a number of threads as a limit, without a level if it is not known.
func (d drawn) peak(typ string, threads int, unit string) chart.Limit {
	peak, ok := d.Ceiling(typ, threads)
	if !ok || !(peak.Gflops > 0) {
		return chart.Limit{}
	}
	return limit("measured peak, "+onThreads(threads), float64(peak.Gflops), unit)
}

func limit(label string, level float64, unit string) chart.Limit {
	return chart.Limit{Level: level, Label: fmt.Sprintf("%s: %s %s", label, number.Significant(level), unit)}
}

// grey is how a series for comparison looks, and flat such a series without data.
var (
	grey = chart.Look{Color: chart.Mid, Dashes: []vg.Length{2, 2}}
	flat = chart.Look{Color: chart.Mid, Dashes: []vg.Length{2, 2}, Marker: chart.Bare}
)

// dashed returns a look with dashes of a length.
func dashed(look chart.Look, dash vg.Length) chart.Look {
	look.Dashes = []vg.Length{dash, 2}
	return look
}

func onThreads(n int) string {
	if n <= 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}
