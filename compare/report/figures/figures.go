// Package figures draws what the analysis of records says, with charts; their titles are
// messages of package text.
package figures

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Drawings returns the figures that doc has data for, in the order of the report.
// Their IDs are, for each family and element type:
//
//	topology                    the host: packages, NUMA nodes, caches, cores and processors
//	placement-workers, -ranks   where workers and ranks run, by affinity
//	waterfall-<type>            the way from serial/naive to the fastest variant, factor by factor
//	families-<type>             speed of the fastest variant of each family over n
//	gflops-<family>-<type>      GFLOP/s over n of serial and parallel, up to the measured peak
//	strassen-crossover-<type>   speed of serial/strassen and winograd relative to serial/packed over n
//	roofline-<type>             executed operations a second over arithmetic intensity
//	compiler-<type>             speed relative to the build for GOAMD64=v1
//	loops-<type>                speed over n of textbook variants in Go, and of loops in C by compiler options
//	compiler-c-<type>           speed of loops in C by the options of the compiler, and of the same loops in Go
//	orders-<type>               speed of the six orders of the plain loops
//	openmp-<type>               speed over threads of our pool and of OpenMP, by schedule
//	rate-gf256                  Gmul/s over n
//	strong-speedup-<type>       speed-up over one thread at the size that most variants have
//	times-<type>                time of the kernel of the 2024 report, bars by schedules, threads and sizes
//	chunk-<schedule>-<type>     time over the chunk, a curve a number of threads
//	timeline-1                  when workers were busy
//	mpi-distribution-<type>     time of point-to-point rows, collective rows and blocks with plain loops on each rank,
//	                            by sizes and ranks
//	mpi-phases-<type>           the phases of each variant's slowest rank
//	mpi-timeline                what each rank did when
//	mpi-bytes-<type>            bytes counted over the lower bound, over ranks
//	mpi-strong-speedup-<type>   as strong-speedup, over ranks
//	gpu-timeline                when operands were copied and kernels ran
//	gpu-inside-<type>           what the warps of kernels did on one multiprocessor around the end of a tile
//	gpu-errors                  error over speed on the GPU, by precision
//	gpu-rates-<arithmetic>      speed over n on the GPU, f32, tf32, f64, f16 and bf16
//	gpu-host-<type>             speed over n of the processor, and of the GPU with copies and without
//	gpu-occupancy-<resource>    occupancy over threads, registers and memory of a kernel, and the rungs as they ran
//	codes-<width>               data a second over Reed–Solomon codes, shards of that width, with what limits it
//	<kind>-<type>-<threads>     GFLOP/s over n beside libraries, kind square, small or skinny
//	occupancy-<resource>        occupancy of a GPU over threads, registers and memory of a kernel, if no row
//	                            of the GPU was timed
//
// Where doc has several hosts there is a set for each, with a dash and the host's id appended. A
// curve needs points at two places, a bar chart one bar. Only cubes and C = A·B are drawn, but for
// codes and the series over threads and ranks. Titles are in the language lang (en, zh), the
// letters inside of figures in English.
func Drawings(doc compare.Document, lang string) []chart.Drawing {
	return Titled(doc, text.In(cmp.Or(lang, "en")))
}

// adder adds a drawing unless there is nothing to draw. Its title is the message called
// key with args.
type adder func(id, key string, ch chart.Chart, ok bool, args ...text.Args)

// Titled returns the figures of doc with titles by s.
func Titled(doc compare.Document, s *text.Speaker) []chart.Drawing {
	var all []chart.Drawing
	for _, v := range analysis.Views(doc) {
		d := newDrawn(v)
		add := func(id, key string, ch chart.Chart, ok bool, args ...text.Args) {
			if !ok {
				return
			}
			title := s.Plain(key, args...)
			if v.Suffix != "" {
				title += " (" + v.ID + ")"
			}
			all = append(all, chart.Drawing{ID: id + v.Suffix, Title: title, Chart: ch})
		}
		ch, ok := machine(v)
		add("topology", "drawing.topology", ch, ok)
		answerDrawings(d, add)
		floats := []string{"f64", "f32", "f16", "bf16"}
		for _, fam := range []string{analysis.Serial, analysis.Parallel} {
			for _, typ := range floats {
				ch, ok := d.rates(fam, typ)
				add("gflops-"+fam+"-"+typ, "drawing.gflops", ch, ok, text.Args{"Family": fam, "Type": typ})
			}
		}
		for _, typ := range floats {
			ch, ok := d.crossover(typ)
			add("strassen-crossover-"+typ, "drawing.crossover", ch, ok, text.Args{"Type": typ, "Packed": d.packed()})
		}
		for _, typ := range floats {
			ch, ok := d.roofline(typ)
			add("roofline-"+typ, "drawing.roofline", ch, ok, text.Args{"Type": typ})
		}
		for _, typ := range floats {
			ch, ok := d.compiler(typ)
			add("compiler-"+typ, "drawing.compiler", ch, ok, text.Args{"Type": typ})
		}
		outsideDrawings(d, add)
		rates, ok := d.rates("", "gf256")
		add("rate-gf256", "drawing.rate", rates, ok)
		sharingDrawings(d, add)
		distributedDrawings(d, add)
		placementDrawings(v, add)
		gpuDrawings(d, add)
		codesDrawings(d, add)
		contestDrawings(d, add)
	}
	return append(all, designDrawings(analysis.Views(doc), s)...)
}

// drawn is the rows of one host that figures show.
type drawn struct {
	*analysis.View
	rows  []compare.Record // cubes of C = A·B with a speed, the latest of each row
	looks map[string]chart.Look
}

// newDrawn returns the rows of v that figures show. A variant looks the same in
// every figure of its family.
func newDrawn(v *analysis.View) drawn {
	d := drawn{View: v, looks: make(map[string]chart.Look)}
	members := make(map[string]int)
	at := make(map[string]int)
	for _, r := range v.Records {
		if _, known := d.looks[r.Variant]; !known {
			fam := analysis.Family(r.Variant)
			d.looks[r.Variant] = chart.LookOf(members[fam])
			if fam == analysis.User {
				d.looks[r.Variant] = chart.Look{Color: chart.Ink, Marker: chart.LookOf(members[fam]).Marker}
			}
			members[fam]++
		}
		if !r.Speed() || !(r.Median > 0) || !analysis.ProblemOf(r).Cube() || r.N < 1 {
			continue
		}
		key := fmt.Sprint(r.Experiment, "|", r.Build, "|", r.Variant, "|", r.Type, "|", r.N, "|", r.Threads, "|", r.Params)
		if i, again := at[key]; again {
			d.rows[i] = r
			continue
		}
		at[key] = len(d.rows)
		d.rows = append(d.rows, r)
	}
	return d
}

// of returns the drawn rows of one experiment and type.
func (d drawn) of(experiment compare.Experiment, typ string) []compare.Record {
	var rows []compare.Record
	for _, r := range d.rows {
		if r.Experiment == experiment && r.Type == typ {
			rows = append(rows, r)
		}
	}
	return rows
}

// measured returns y, a speed that goes with r's median, at x, with what the 95 %
// interval of the median makes of it.
func measured(r compare.Record, x, y float64) chart.Point {
	pt := chart.Point{X: x, Y: y, Lo: y, Hi: y}
	if r.CI != nil && r.CI[0] > 0 {
		pt.Lo, pt.Hi = min(y, y*float64(r.Median)/r.CI[1]), max(y, y*float64(r.Median)/r.CI[0])
	}
	return pt
}

// relative returns at x how many times as fast as base r is. Its interval divides
// the far ends of the two, and so holds with 90 % at least.
func relative(r, base compare.Record, x float64) chart.Point {
	pt := measured(r, x, float64(base.Median)/float64(r.Median))
	if base.CI != nil && base.CI[0] > 0 {
		pt.Lo *= min(1, base.CI[0]/float64(base.Median))
		pt.Hi *= max(1, base.CI[1]/float64(base.Median))
	}
	return pt
}

// collection is series in the order in which their labels first come up.
type collection []chart.Series

// add puts pt among the points of the series of that label, X ascending.
func (c *collection) add(label string, look chart.Look, pt chart.Point) {
	i := slices.IndexFunc(*c, func(s chart.Series) bool { return s.Label == label })
	if i < 0 {
		i = len(*c)
		*c = append(*c, chart.Series{Label: label, Look: look})
	}
	s := &(*c)[i]
	j, _ := slices.BinarySearchFunc(s.Points, pt.X, func(p chart.Point, x float64) int { return cmp.Compare(p.X, x) })
	s.Points = slices.Insert(s.Points, j, pt)
}

// places returns the X of all points, ascending.
func (c collection) places() []float64 {
	set := make(map[float64]bool)
	for _, s := range c {
		for _, pt := range s.Points {
			set[pt.X] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// rates is the speed over n of the variants and kernels of the user in the chapter of one family, or of
// all if fam is empty. serial/packed is shown with the variants of other families for comparison.
func (d drawn) rates(fam, typ string) (chart.Curve, bool) {
	sets := make(map[string][]string) // of parameters, by variant
	var own, yard []compare.Record
	for _, r := range d.of(compare.MainLadder, typ) {
		switch rate, _ := analysis.Speed(r); {
		case !rate.Known() || !(rate > 0):
		case fam == "" || analysis.Home(r) == fam:
			own = append(own, r)
			if p := r.Params.String(); !slices.Contains(sets[r.Variant], p) {
				sets[r.Variant] = append(sets[r.Variant], p)
			}
		case r.Variant == d.packed():
			yard = append(yard, r)
		}
	}
	if len(own) == 0 {
		return chart.Curve{}, false
	}
	at := func(r compare.Record) chart.Point {
		rate, _ := analysis.Speed(r)
		return measured(r, float64(r.N), float64(rate))
	}
	_, unit := analysis.Speed(own[0])
	threads := 1
	var c collection
	for _, r := range own {
		threads = max(threads, r.Threads)
		label, look := analysis.Short(r.Variant), d.looks[r.Variant]
		if fam == "" {
			label = r.Variant
		}
		if several := sets[r.Variant]; len(several) > 1 {
			label = strings.TrimSpace(label + " " + r.Params.String())
			look.Marker = chart.LookOf(slices.Index(several, r.Params.String())).Marker
		}
		c.add(label, look, at(r))
	}
	for _, r := range yard {
		c.add(d.packed(), chart.Look{Color: chart.Mid, Dashes: []vg.Length{2, 2}}, at(r))
	}
	sizes := c.places()
	curve := chart.Curve{
		Title: strings.TrimPrefix(fam+", "+typ, ", "), XLabel: "n (matrices are n×n)", YLabel: unit,
		Sizes: sizes, LogY: true, Series: c, Top: true,
	}
	if peak, ok := d.Ceiling(typ, threads); ok && peak.Gflops > 0 {
		curve.Limit = chart.Limit{
			Level: float64(peak.Gflops),
			Label: fmt.Sprintf("measured peak, %s: %s %s", onThreads(threads),
				number.Significant(float64(peak.Gflops)), unit),
		}
	}
	return curve, len(sizes) >= 2
}

// packedFor returns the row of serial/packed that r is compared with: an interleaved one, else one
// of the same experiment, else that of the ladder.
func (d drawn) packedFor(r compare.Record) (compare.Record, bool) {
	var found compare.Record
	best := 0
	for _, p := range d.rows {
		if p.Variant != d.packed() || p.Type != r.Type || p.N != r.N {
			continue
		}
		rank := 0
		switch {
		case p.Turn != "" && p.Turn == r.Turn:
			rank = 3
		case p.Experiment == r.Experiment:
			rank = 2
		case p.Experiment == compare.MainLadder:
			rank = 1
		}
		if rank > best {
			found, best = p, rank
		}
	}
	return found, best > 0
}

// packed is the serial variant that users choose, which others are compared with.
func (d drawn) packed() string { return d.Production(analysis.Serial) }

// crossover is the speed of Strassen's and Winograd's algorithms relative to packed over n: of the
// ladder, and with the best cut-off of the sweep.
func (d drawn) crossover(typ string) (chart.Curve, bool) {
	var c collection
	best := make(map[string]chart.Point)
	fast := d.Named(func(v compare.Variant) bool { return v.Class == gemm.Fast && v.Family() == analysis.Serial })
	for _, variant := range fast {
		for _, r := range d.of(compare.MainLadder, typ) {
			if base, ok := d.packedFor(r); ok && r.Variant == variant {
				c.add(analysis.Algorithm(variant), d.looks[variant], relative(r, base, float64(r.N)))
			}
		}
	}
	for _, variant := range fast {
		clear(best)
		for _, r := range d.of(compare.CutoffSweep, typ) {
			if base, ok := d.packedFor(r); ok && r.Variant == variant {
				pt := relative(r, base, float64(r.N))
				if key := fmt.Sprint(r.N); pt.Y > best[key].Y {
					best[key] = pt
				}
			}
		}
		look := d.looks[variant]
		look.Marker, look.Dashes = chart.Triangle, []vg.Length{1.5, 2}
		for _, key := range slices.Sorted(maps.Keys(best)) {
			c.add(analysis.Algorithm(variant)+", best cut-off", look, best[key])
		}
	}
	return d.overPacked(typ, "n (matrices are n×n)", c)
}

// overPacked returns the curve of speeds relative to packed.
func (d drawn) overPacked(title, xLabel string, c collection) (chart.Curve, bool) {
	lo, hi := math.Inf(1), 0.0
	for _, s := range c {
		for _, pt := range s.Points {
			lo, hi = min(lo, pt.Y), max(hi, pt.Y)
		}
	}
	sizes := c.places()
	return chart.Curve{
		Title: title, XLabel: xLabel, YLabel: "speed relative to " + d.packed(),
		Sizes: sizes, LogY: hi > 10*lo, Series: c,
		Limit: chart.Limit{Level: 1, Label: d.packed()},
	}, len(sizes) >= 2
}

// roofline shows the rows of the table with the same name that ran on one thread of the processor:
// executed operations per second over operations per byte of predicted traffic.
func (d drawn) roofline(typ string) (chart.Curve, bool) {
	rows := slices.DeleteFunc(d.of(compare.MainLadder, typ), analysis.ByGPU)
	var c collection
	sizes := make(map[int]bool)
	for _, variant := range analysis.Distinct(rows, analysis.VariantOf) {
		r, ok := d.Roof(rows, variant)
		if !ok || r.Threads > 1 {
			continue
		}
		label, look := analysis.Algorithm(variant), d.looks[variant]
		if analysis.Family(variant) != analysis.Serial {
			label, look.Color = variant, chart.Ink
		}
		sizes[r.N] = true
		c.add(label, look, measured(r.Record, r.Intensity, r.Rate))
	}
	title := typ + ", 1 thread"
	if len(sizes) == 1 {
		for n := range sizes {
			title += fmt.Sprintf(", n = %d", n)
		}
	}
	peak, known := d.Ceiling(typ, 1)
	triad, too := d.Bandwidth(1)
	if !known || !too || !(peak.Gflops > 0) || !(triad.GBps > 0) {
		return chart.Curve{}, false
	}
	return chart.Curve{
		Title: title, XLabel: "operations a byte of predicted traffic", YLabel: "GFLOP/s executed",
		LogY: true, Series: c, Scattered: true, Top: true,
		Limit: chart.Limit{Level: float64(peak.Gflops),
			Label: fmt.Sprintf("measured peak: %s GFLOP/s", number.Significant(float64(peak.Gflops)))},
		Slope: chart.Slope{Rise: float64(triad.GBps),
			Label: fmt.Sprintf("triad: %s GB/s", number.Significant(float64(triad.GBps)))},
	}, len(c) >= 2
}

// builds are the builds of the experiment compiler, in the order of their bars.
var builds = []struct {
	name, legend string
	color        color.RGBA
}{
	{"v1", "v1", chart.Palette[5]},
	{"v1 -B", "v1 without bounds checks", chart.Palette[0]},
	{"v3", "v3", chart.Palette[4]},
	{"v3 -B", "v3 without bounds checks", chart.Palette[1]},
}

// compiler is the speed of each variant in each build relative to v1, at the n that most variants
// have, the largest one of these.
func (d drawn) compiler(typ string) (chart.Bars, bool) {
	rows := d.of(compare.CompilerOptions, typ)
	variants := make(map[int]map[string]bool)
	n := 0
	for _, r := range rows {
		if variants[r.N] == nil {
			variants[r.N] = make(map[string]bool)
		}
		variants[r.N][r.Variant] = true
	}
	for _, size := range slices.Sorted(maps.Keys(variants)) {
		if len(variants[size]) >= len(variants[n]) {
			n = size
		}
	}
	rows = slices.DeleteFunc(rows, func(r compare.Record) bool { return r.N != n })
	bars := chart.Bars{
		Title:  fmt.Sprintf("%s, n = %d: speed relative to the build for GOAMD64=v1", typ, n),
		XLabel: "times as fast",
	}
	var present []string
	for _, b := range builds {
		if slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Build == b.name }) {
			present = append(present, b.name)
			bars.Names = append(bars.Names, b.legend)
			bars.Colors = append(bars.Colors, b.color)
		}
	}
	for _, variant := range analysis.Distinct(rows, analysis.VariantOf) {
		find := func(build string) int {
			return slices.IndexFunc(rows, func(r compare.Record) bool { return r.Variant == variant && r.Build == build })
		}
		base := find(builds[0].name)
		if base < 0 {
			continue
		}
		g := chart.Group{Label: variant}
		for i, build := range present {
			switch at := find(build); {
			case at == base:
				g.Bars = append(g.Bars, chart.Bar{Point: measured(rows[at], 0, 1), Color: i})
			case at >= 0:
				g.Bars = append(g.Bars, chart.Bar{Point: relative(rows[at], rows[base], 0), Color: i})
			}
		}
		if len(g.Bars) > 1 {
			bars.Groups = append(bars.Groups, g)
		}
	}
	return bars, len(bars.Groups) > 0
}
