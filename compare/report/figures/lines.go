package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
)

// rates adds the speed over n of the variants and kernels of the user in the chapter of one family, or of
// all if fam is empty. serial/packed is shown with the variants of other families for comparison.
func rates(fam string) func(drawn, string, *chart.Curve) {
	return func(d drawn, typ string, c *chart.Curve) {
		sets := make(map[string][]string) // of parameters, by variant
		var own, base []record.Record
		for _, r := range d.of(record.MainLadder, typ) {
			switch rate, _ := analysis.Speed(r); {
			case !rate.Known() || !(rate > 0):
			case fam == "" || analysis.Home(r) == fam:
				own = append(own, r)
				if p := r.Params.String(); !slices.Contains(sets[r.Variant], p) {
					sets[r.Variant] = append(sets[r.Variant], p)
				}
			case r.Variant == d.packed:
				base = append(base, r)
			}
		}
		if len(own) == 0 {
			return
		}
		add := func(label string, look chart.Look, r record.Record) {
			rate, unit := analysis.Speed(r)
			c.YLabel = unit
			c.Add(label, look, Measured(r, float64(r.N), float64(rate)))
		}
		threads := 1
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
			add(label, look, r)
		}
		for _, r := range base {
			add(d.packed, grey, r)
		}
		c.Title, c.Limit = strings.TrimPrefix(fam+", "+typ, ", "), d.peak(typ, threads, c.YLabel)
	}
}

// families adds the fastest variant of each family, of the libraries of others and the kernels of the user.
func (d drawn) families(typ string, c *chart.Curve) {
	a := d.Answer(typ)
	threads := 1
	put := func(label string, look chart.Look, r record.Record) {
		if !analysis.ByGPU(r) {
			threads = max(threads, r.Threads)
		}
		rate, _ := analysis.Speed(r) // with copies
		c.Add(label, look, Measured(r, float64(r.N), float64(rate)*float64(r.Median)/analysis.HostTime(r)))
	}
	best := func(family, label string, look int, at func(n int) (record.Record, bool)) {
		for _, n := range a.AllSizes(family) {
			if r, ok := at(n); ok {
				put(cmp.Or(label, r.Variant), chart.LookOf(look), r)
			}
		}
	}
	best(analysis.Serial, "", 0, a.Textbook)
	for i, family := range []string{analysis.Serial, analysis.Parallel, analysis.OnRanks, analysis.OnGPU} {
		best(family, family+", best", 1+i, func(n int) (record.Record, bool) { return a.Best(family, n) })
	}
	library := func(r record.Record) bool { return analysis.Foreign(r.Variant) && analysis.OfLibrary(r) }
	best(analysis.Reference, "libraries, best", 5, func(n int) (record.Record, bool) { return a.Fastest(n, library) })
	for _, n := range a.AllSizes(analysis.User) {
		for _, row := range a.FastestRows(n) {
			if r := row.Record; analysis.OfUser(r) {
				put(r.Variant, d.looks[r.Variant], r)
			}
		}
	}
	c.Title, c.YLabel = typ+": the fastest variant of each family", "GFLOP/s"
	if typ == "gf256" {
		c.YLabel = "Gmul/s"
	}
	c.Limit = d.peak(typ, threads, c.YLabel)
}

// packedFor returns the row of serial/packed that r is compared with: an interleaved one, else one
// of the same experiment, else a row of the ladder.
func (d drawn) packedFor(r record.Record) (record.Record, bool) {
	for _, fits := range []func(p record.Record) bool{
		func(p record.Record) bool { return p.Turn != "" && p.Turn == r.Turn },
		func(p record.Record) bool { return p.Experiment == r.Experiment },
		func(p record.Record) bool { return p.Experiment == record.MainLadder },
	} {
		if p, ok := analysis.Find(d.rows, func(p record.Record) bool {
			return p.Variant == d.packed && p.Type == r.Type && p.N == r.N && fits(p)
		}); ok {
			return p, true
		}
	}
	return record.Record{}, false
}

// crossover adds the speed of Strassen's and Winograd's algorithms relative to packed: of the ladder, and with the best
// cut-off of the sweep.
func (d drawn) crossover(typ string, c *chart.Curve) {
	fast := d.Named(func(v record.Variant) bool { return v.Class == gemm.Fast && v.Family() == analysis.Serial })
	for _, experiment := range []record.Experiment{record.MainLadder, record.CutoffSweep} {
		rows := d.of(experiment, typ)
		for _, variant := range fast {
			label, look := analysis.Algorithm(variant), d.looks[variant]
			if experiment == record.CutoffSweep {
				label += ", best cut-off"
				look.Marker, look.Dashes = chart.Triangle, []vg.Length{1.5, 2}
			}
			best := map[int]chart.Point{}
			for _, r := range rows {
				if r.Variant != variant {
					continue
				}
				if base, ok := d.packedFor(r); ok {
					if pt := relative(r, base, float64(r.N)); experiment == record.MainLadder {
						c.Add(label, look, pt)
					} else if pt.Y > best[r.N].Y {
						best[r.N] = pt
					}
				}
			}
			for _, pt := range best {
				c.Add(label, look, pt)
			}
		}
	}
	c.Title, c.YLabel = typ, "speed relative to "+d.packed
	c.Limit = chart.Limit{Level: 1, Label: d.packed}
}

// roofline adds the rows of the table with the same name that ran on one thread of the processor:
// executed operations per second over operations per byte of predicted traffic.
func (d drawn) roofline(typ string, c *chart.Curve) {
	peak, triad := d.peak(typ, 1, "GFLOP/s").Level, 0.0
	if b, ok := d.Bandwidth(1); ok {
		triad = float64(b.GBps)
	}
	if !(peak > 0) || !(triad > 0) {
		return
	}
	rows := slices.DeleteFunc(d.of(record.MainLadder, typ), analysis.ByGPU)
	sizes := make(map[int]bool)
	for _, variant := range analysis.Distinct(rows, analysis.VariantOf) {
		r, ok := d.RooflinePoint(rows, variant)
		if !ok || r.Threads > 1 {
			continue
		}
		label, look := analysis.Algorithm(variant), d.looks[variant]
		if analysis.Family(variant) != analysis.Serial {
			label, look.Color = variant, chart.Ink
		}
		if sizes[r.N], c.Title = true, typ+", 1 thread"; len(sizes) == 1 {
			c.Title += fmt.Sprint(", n = ", r.N)
		}
		c.Add(label, look, Measured(r.Record, r.Intensity, r.Rate))
	}
	c.Limit = limit("measured peak", peak, "GFLOP/s")
	c.Slope = chart.Slope{Rise: triad, Label: limit("triad", triad, "GB/s").Label}
}

// loopColors returns the loops of the figure over n in its order, first of the 2024 report in Go, then in C, and the
// colour of each. Loops of one colour are the same loop.
func (d drawn) loopColors() (variants []string, colors map[string]int) {
	colors = map[string]int{}
	next := 0
	for _, v := range d.Variants {
		if !v.Plays(record.ReportLoops) && (v.Role != gemm.Program || v.Loop.Order == "") {
			continue
		}
		variants = append(variants, v.Name)
		color, ok := colors[v.Parent]
		if !ok || v.Role != gemm.Program || !d.Variant(v.Parent).Role.Ours() {
			color = next
			next++
		}
		colors[v.Name] = color
	}
	return variants, colors
}

// loops adds the textbook variants in Go, and loops in C with the least and the most optimization, at the sizes between
// those that a loop in C was timed at. Interleaved rows go before rows of the ladder.
func (d drawn) loops(typ string, c *chart.Curve) {
	rows := slices.Concat(d.of(record.CompilerOptions, typ), d.of(record.MainLadder, typ))
	rows = slices.DeleteFunc(rows, func(r record.Record) bool { return r.Build != "" })
	programs := analysis.Pick(rows, analysis.Program)
	sizes := analysis.Distinct(programs, func(r record.Record) int { return r.N })
	if len(sizes) < 2 {
		return
	}
	options := analysis.Ascending(programs, analysis.OptionsOf)
	options = slices.Compact([]string{options[0], options[len(options)-1]})
	seen := map[string]bool{}
	variants, colors := d.loopColors()
	for _, variant := range variants {
		own := analysis.Pick(rows, func(r record.Record) bool {
			return r.Variant == variant && r.N >= slices.Min(sizes) && r.N <= slices.Max(sizes)
		})
		slices.SortStableFunc(own, func(x, y record.Record) int {
			return cmp.Compare(analysis.OptionsOf(x), analysis.OptionsOf(y))
		})
		for _, r := range own {
			label := "Go " + analysis.Algorithm(r.Variant)
			look := chart.Look{Color: chart.Palette[colors[variant]%len(chart.Palette)]}
			if analysis.Program(r) {
				i := slices.Index(options, analysis.OptionsOf(r))
				if i < 0 {
					continue
				}
				label = "C " + strings.TrimPrefix(analysis.Algorithm(r.Variant), "c-") + " " + brief(options, i)
				look.Marker = []chart.Marker{chart.OpenSquare, chart.OpenDiamond}[i]
				look = dashed(look, []vg.Length{1.5, 4}[i])
			}
			if key := fmt.Sprint(label, r.N); !seen[key] {
				seen[key] = true
				c.Add(label, look, Measured(r, float64(r.N), float64(r.Gflops)))
			}
		}
	}
	c.Title = typ + ", 1 thread: textbook variants in Go and C"
}

// brief returns the first of the i-th options of the compiler, or all if others begin with it too.
func brief(options []string, i int) string {
	first, _, _ := strings.Cut(options[i], " ")
	for j, other := range options {
		if j != i && (other == first || strings.HasPrefix(other, first+" ")) {
			return options[i]
		}
	}
	return first
}

// bytes adds the bytes counted over the least there can be, at the size that most variants have.
func (d drawn) bytes(typ string, c *chart.Curve) {
	rows := d.Counted(typ)
	main := d.LargestCommon(rows)
	if len(main) == 0 {
		return
	}
	size := analysis.OnOneThread(main[0])
	for _, r := range rows {
		if x := analysis.OverLeast(r); analysis.OnOneThread(r) == size && x > 0 {
			label := strings.TrimSuffix(analysis.Algorithm(r.Variant)+", "+d.DistinctSetting(r.Variant, r.Params), ", ")
			c.Add(label, d.looks[r.Variant], chart.At(float64(analysis.OverRanks.Count(r)), x))
		}
	}
	c.Title = fmt.Sprintf("%s, %s: bytes over the least possible", typ, size.Label())
}

// comparisonGroups are the groups of interleaved measurements with libraries.
func comparisonGroups(d drawn) (out []string) {
	for _, g := range analysis.NewLibraryComparison(d.View).Groups() {
		out = append(out, g.Figure())
	}
	return out
}

// comparison adds the contenders of a group at its cubes, and their ceiling.
func (d drawn) comparison(of string, c *chart.Curve) {
	g, _ := analysis.Find(analysis.NewLibraryComparison(d.View).Groups(),
		func(g analysis.Group) bool { return g.Figure() == of })
	var ceilings []float64
	for _, m := range g.Cases {
		if x := m.Top(); m.Cube() && !math.IsNaN(x) {
			ceilings = append(ceilings, x)
		}
	}
	for _, variant := range append([]string{g.Own}, d.PeersOf(g.Cases)...) {
		look := chart.LookOf(max(d.Order(variant)-1, 0))
		if variant != g.Own {
			look = dashed(look, 4)
		}
		for _, m := range g.Cases {
			if r, ok := m.Row(variant); ok && r.Speed() && r.Median > 0 && m.Cube() {
				c.Add(variant, look, Measured(r, float64(r.N), float64(r.Gflops)))
			}
		}
	}
	c.Title = fmt.Sprintf("%s, %s, %s", g.Kind.Title, g.Type, onThreads(g.Threads))
	if len(ceilings) > 0 {
		c.Limit = limit("measured ceiling, "+onThreads(g.Threads), analysis.Middle(ceilings), "GFLOP/s")
	}
}
