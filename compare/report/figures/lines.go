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
		var own, yard []record.Record
		for _, r := range d.of(record.MainLadder, typ) {
			switch rate, _ := analysis.Speed(r); {
			case !rate.Known() || !(rate > 0):
			case fam == "" || analysis.Home(r) == fam:
				own = append(own, r)
				if p := r.Params.String(); !slices.Contains(sets[r.Variant], p) {
					sets[r.Variant] = append(sets[r.Variant], p)
				}
			case r.Variant == d.packed:
				yard = append(yard, r)
			}
		}
		if len(own) == 0 {
			return
		}
		add := func(label string, look chart.Look, r record.Record) {
			rate, unit := analysis.Speed(r)
			c.YLabel = unit
			c.Add(label, look, measured(r, float64(r.N), float64(rate)))
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
		for _, r := range yard {
			add(d.packed, grey, r)
		}
		c.Title, c.Limit = strings.TrimPrefix(fam+", "+typ, ", "), d.peak(typ, threads, c.YLabel)
	}
}

// rate is the speed of a row, of a GPU with the copies.
func rate(r record.Record) float64 {
	speed, _ := analysis.Speed(r)
	return float64(speed) * float64(r.Median) / analysis.Whole(r)
}

// families adds the fastest variant of each family, of the libraries of others and the kernels of the user.
func (d drawn) families(typ string, c *chart.Curve) {
	a := d.Answer(typ)
	threads := 1
	put := func(label string, look chart.Look, r record.Record) {
		if !analysis.ByGPU(r) {
			threads = max(threads, r.Threads)
		}
		c.Add(label, look, measured(r, float64(r.N), rate(r)))
	}
	for _, n := range a.AllSizes(analysis.Serial) {
		if r, ok := a.Textbook(n); ok {
			put(r.Variant, chart.LookOf(0), r)
		}
	}
	for i, family := range []string{analysis.Serial, analysis.Parallel, analysis.OnRanks, analysis.OnGPU} {
		for _, n := range a.AllSizes(family) {
			if r, ok := a.Best(family, n); ok {
				put(family+", best", chart.LookOf(1+i), r)
			}
		}
	}
	for _, n := range a.AllSizes(analysis.Reference) {
		library := func(r record.Record) bool { return analysis.Foreign(r.Variant) && analysis.Rival(r) }
		if r, ok := a.Fastest(n, library); ok {
			put("libraries, best", chart.LookOf(5), r)
		}
	}
	for _, n := range a.AllSizes(analysis.User) {
		for _, champion := range a.Champions(n) {
			if r := champion.Record; analysis.Brought(r) {
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
// of the same experiment, else that of the ladder.
func (d drawn) packedFor(r record.Record) (record.Record, bool) {
	for _, fits := range []func(p record.Record) bool{
		func(p record.Record) bool { return p.Turn != "" && p.Turn == r.Turn },
		func(p record.Record) bool { return p.Experiment == r.Experiment },
		func(p record.Record) bool { return p.Experiment == record.MainLadder },
	} {
		for _, p := range d.rows {
			if p.Variant == d.packed && p.Type == r.Type && p.N == r.N && fits(p) {
				return p, true
			}
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
		r, ok := d.Roof(rows, variant)
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
		c.Add(label, look, measured(r.Record, r.Intensity, r.Rate))
	}
	c.Limit = limit("measured peak", peak, "GFLOP/s")
	c.Slope = chart.Slope{Rise: triad, Label: limit("triad", triad, "GB/s").Label}
}

// loopColors returns the loops of the figure over n in its order, those of the 2024 report in Go, then in C, and the
// colour of each. Loops of one colour are the same loop.
func (d drawn) loopColors() (variants []string, colors map[string]int) {
	colors = map[string]int{}
	next := 0
	for _, v := range d.Variants {
		if !v.Plays(gemm.ReportLoops) && (v.Role != gemm.Program || v.Loop.Order == "") {
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

// loops adds the textbook variants in Go, and loops in C by the options of their compiler, at the sizes between those
// that a loop in C was timed at. Interleaved rows go before rows of the ladder.
func (d drawn) loops(typ string, c *chart.Curve) {
	rows := slices.Concat(d.of(record.CompilerOptions, typ), d.of(record.MainLadder, typ))
	rows = slices.DeleteFunc(rows, func(r record.Record) bool { return r.Build != "" })
	programs := only(rows, analysis.Program)
	sizes := analysis.Distinct(programs, func(r record.Record) int { return r.N })
	if len(sizes) < 2 {
		return
	}
	options := slices.Sorted(slices.Values(analysis.Distinct(programs, analysis.OptionsOf)))
	seen := map[string]bool{}
	variants, colors := d.loopColors()
	for _, variant := range variants {
		own := only(rows, func(r record.Record) bool {
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
				label = "C " + strings.TrimPrefix(analysis.Algorithm(r.Variant), "c-") + " " + brief(options, i)
				look.Marker = []chart.Marker{chart.OpenSquare, chart.OpenDiamond, chart.Ring}[i%3]
				look = dashed(look, []vg.Length{1.5, 4, 8}[i%3])
			}
			if key := fmt.Sprint(label, r.N); !seen[key] {
				seen[key] = true
				c.Add(label, look, measured(r, float64(r.N), float64(r.Gflops)))
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

// openMP adds the pool and OpenMP, a curve for each schedule with its own chunk.
func (d drawn) openMP(typ string, c *chart.Curve) {
	for i, schedule := range []string{"static", "dynamic", "guided"} {
		for _, p := range d.OpenMPPairs(typ) {
			if p.Schedule == schedule && p.Chunk == 0 {
				x := float64(p.Threads)
				c.Title = fmt.Sprintf("%s, %s: two collapsed loops, our pool and OpenMP", typ,
					analysis.OpenMPProblem(p.Pool).Label())
				c.Add("pool, "+schedule, chart.LookOf(i), measured(p.Pool, x, float64(p.Pool.Gflops)))
				c.Add("OpenMP, "+schedule, dashed(chart.LookOf(i), 4), measured(p.OpenMP, x, float64(p.OpenMP.Gflops)))
			}
		}
	}
}

// gains adds the speed-up over one thread or rank of the leading series of the main size.
func gains(a analysis.Axis) func(drawn, string, *chart.Curve) {
	return func(d drawn, typ string, c *chart.Curve) {
		all := d.StrongSeries(a, typ)
		size := analysis.MainSize(all)
		for _, s := range d.Leading(all, size) {
			_, hasOne := s.One()
			for _, r := range s.Rows {
				pt := chart.At(float64(s.Count(r)), 1)
				if !hasOne || s.Count(r) != 1 {
					gain, ok := s.Speedup(r)
					if !ok {
						continue
					}
					pt = chart.At(pt.X, gain.Ratio)
					if gain.Lo <= gain.Ratio && gain.Ratio <= gain.Hi {
						pt.Lo, pt.Hi = gain.Lo, gain.Hi
					}
				}
				c.Add(s.Legend(), d.looks[s.Variant], pt)
			}
		}
		for _, p := range c.Places() {
			c.Add("ideal", flat, chart.At(p, p))
		}
		c.XLabel, c.YLabel = a.Param, a.Named("speed-up over one {one}")
		c.Title = fmt.Sprintf("%s, %s: %s", typ, size.Label(), c.YLabel)
	}
}

// took returns the time of a row in milliseconds at x.
func took(r record.Record, x float64) chart.Point {
	pt := chart.At(x, 1e3*float64(r.Median))
	if r.CI != nil {
		pt.Lo, pt.Hi = 1e3*r.CI[0], 1e3*r.CI[1]
	}
	return pt
}

// chunkRows are the rows of chunks: of the kernel of the 2024 report, if its chunks were swept, or
// else of the variant with the most rows, the first of those that are level, at its largest size.
func (d drawn) chunkRows(schedule, typ string) []record.Record {
	rows := map[string][]record.Record{}
	var variant string
	for _, g := range analysis.Pairings(d.Chunked(typ), "chunk") {
		if g.Rest["schedule"] == schedule {
			rows[g.Variant] = append(rows[g.Variant], g.Rows...)
			if len(rows[g.Variant]) > len(rows[variant]) {
				variant = g.Variant
			}
		}
	}
	if kernel := d.Playing(gemm.ReportKernel); rows[kernel] != nil {
		variant = kernel
	}
	if variant == "" {
		return nil
	}
	largest := slices.MaxFunc(analysis.Distinct(rows[variant], analysis.OpenMPProblem), analysis.Problem.Compare)
	return only(rows[variant], func(r record.Record) bool { return analysis.OpenMPProblem(r) == largest })
}

// chunks adds the time over the chunk under one schedule, a curve for each number of threads. With the kernel
// of the 2024 report goes the same program with OpenMP. A chunk left to the schedule stands at the left.
func chunks(schedule string) func(drawn, string, *chart.Curve) {
	return func(d drawn, typ string, c *chart.Curve) {
		rows := d.chunkRows(schedule, typ)
		if rows == nil {
			return
		}
		sizes := slices.Sorted(slices.Values(analysis.Distinct(rows,
			func(r record.Record) int { return analysis.ChunkOf(r.Params) })))
		unset := sizes[0] == 0
		if unset {
			sizes = append(sizes[1:], 1)
		}
		add := func(label string, look chart.Look, r record.Record) {
			c.Add(label, look, took(r, cmp.Or(float64(analysis.ChunkOf(r.Params)), float64(sizes[0])/4)))
		}
		looks := map[int]chart.Look{}
		for _, r := range rows {
			label := onThreads(r.Threads)
			if set := analysis.Setting(analysis.Omit(r.Params, "schedule", "chunk")); set != "" {
				label += ", " + set
			}
			if _, known := looks[r.Threads]; !known {
				looks[r.Threads] = chart.LookOf(len(looks))
			}
			add(label, looks[r.Threads], r)
		}
		variant, size := rows[0].Variant, analysis.OpenMPProblem(rows[0])
		if kernel := d.Playing(gemm.ReportKernel); variant == kernel {
			for _, r := range analysis.Timed(d.Pick(func(r record.Record) bool {
				return r.Variant == d.Twin(kernel) && r.Experiment == record.OpenMPLoops && r.Type == typ &&
					r.Params["schedule"] == schedule && analysis.OpenMPProblem(r) == size
			})) {
				if look, ok := looks[r.Threads]; ok && (unset || analysis.ChunkOf(r.Params) > 0) {
					add("OpenMP, "+onThreads(r.Threads), dashed(look, 4), r)
				}
			}
		}
		if unset {
			for _, p := range c.Places() {
				c.Names = append(c.Names, fmt.Sprint(p))
			}
			c.Names[0] = "default"
		}
		c.Title = fmt.Sprintf("%s, %s, %s, %s", variant, typ, size.Label(), schedule)
	}
}

// bytes adds the bytes counted over the least there can be, at the size that most variants have.
func (d drawn) bytes(typ string, c *chart.Curve) {
	rows := d.Counted(typ)
	main := d.Foremost(rows)
	if len(main) == 0 {
		return
	}
	size := analysis.Alone(main[0])
	for _, r := range rows {
		if x := analysis.OverLeast(r); analysis.Alone(r) == size && x > 0 {
			label := strings.TrimSuffix(analysis.Algorithm(r.Variant)+", "+d.Trait(r.Variant, r.Params), ", ")
			c.Add(label, d.looks[r.Variant], chart.At(float64(analysis.OverRanks.Count(r)), x))
		}
	}
	c.Title = fmt.Sprintf("%s, %s: bytes over the least possible", typ, size.Label())
}

// contests are the groups of interleaved measurements with libraries.
func contests(d drawn) (out []string) {
	for _, g := range analysis.NewContest(d.View).Groups() {
		out = append(out, g.Figure())
	}
	return out
}

// contest adds the contenders of a group at its cubes, and their ceiling.
func (d drawn) contest(of string, c *chart.Curve) {
	groups := analysis.NewContest(d.View).Groups()
	g := groups[slices.IndexFunc(groups, func(g analysis.Group) bool { return g.Figure() == of })]
	own := g.Own()
	var ceilings []float64
	for _, m := range g.Matches {
		if x := m.Top(); m.Cube() && !math.IsNaN(x) {
			ceilings = append(ceilings, x)
		}
	}
	for _, variant := range append([]string{own}, d.PeersOf(g.Matches)...) {
		look := chart.LookOf(max(d.Order(variant)-1, 0))
		if variant != own {
			look = dashed(look, 4)
		}
		for _, m := range g.Matches {
			if r, ok := m.Row(variant); ok && r.Speed() && r.Median > 0 && m.Cube() {
				c.Add(variant, look, measured(r, float64(r.N), float64(r.Gflops)))
			}
		}
	}
	c.Title = fmt.Sprintf("%s, %s, %s", g.Kind.Title, g.Type, onThreads(g.Threads))
	if len(ceilings) > 0 {
		c.Limit = limit("measured ceiling, "+onThreads(g.Threads), analysis.Middle(ceilings), "GFLOP/s")
	}
}
