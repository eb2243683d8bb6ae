package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// hiding is what overlapping hides of the communication of a product.
type hiding struct {
	duel            // blocking and overlapped
	compute float64 // seconds
	share   float64 // of the communication; NaN where there is none to hide
	lo, hi  float64 // 95 % interval; NaN where there are too few samples
}

// hidden is the formula: 1 − (overlapped − compute)/(blocking − compute), NaN where the
// blocking product takes no longer than its computing.
func hidden(blocking, overlapped, compute float64) float64 {
	if !(blocking > compute) {
		return math.NaN()
	}
	return 1 - (overlapped-compute)/(blocking-compute)
}

// hides computes what d hides. The interval holds 95 % of what the medians of samples
// drawn again from those of the two rows give (Efron, Bootstrap methods: another look at
// the jackknife, Annals of Statistics 7, 1979), always the same draws.
func hides(d duel) (hiding, bool) {
	h := hiding{duel: d, lo: math.NaN(), hi: math.NaN()}
	compute, ok := d.first.Phases["compute"]
	if !ok {
		return h, false
	}
	h.compute = compute
	h.share = hidden(float64(d.first.Median), float64(d.second.Median), compute)
	const fewest, draws = 6, 1000 // samples that an interval of a median takes
	if math.IsNaN(h.share) || len(d.first.Samples) < fewest || len(d.second.Samples) < fewest {
		return h, true
	}
	rng := rand.New(rand.NewPCG(1, 2))
	again := func(samples []float64) float64 {
		drawn := make([]float64, len(samples))
		for i := range drawn {
			drawn[i] = samples[rng.IntN(len(samples))]
		}
		slices.Sort(drawn)
		return (drawn[(len(drawn)-1)/2] + drawn[len(drawn)/2]) / 2
	}
	shares := make([]float64, draws)
	for i := range shares {
		shares[i] = hidden(again(d.first.Samples), again(d.second.Samples), compute)
		if math.IsNaN(shares[i]) {
			return h, true // whether there is anything to hide is within the noise
		}
	}
	slices.Sort(shares)
	h.lo, h.hi = shares[draws/40], shares[draws-1-draws/40]
	return h, true
}

// hidings returns what p2p-rows-overlap hides, by size and ranks.
func (v *view) hidings(typ string) []hiding {
	var out []hiding
	for _, d := range v.couples(typ, "mpi/p2p-rows", "mpi/p2p-rows-overlap") {
		if h, ok := hides(d); ok {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(x, y hiding) int { return problemOf(x.first).compare(problemOf(y.first)) })
	return out
}

// overlap is the section on what overlapping hides.
func (b *builder) overlap(v *view) (document.Section, bool) {
	s := b.of(v, "mpi-overlap", "mpi-overlap.title")
	s.Text(b.Say("mpi-overlap.intro"))
	found := false
	for _, typ := range v.typesOf(overRanks) {
		all := v.hidings(typ)
		if len(all) == 0 {
			continue
		}
		found = true
		t := document.Table{
			ID:      "table-mpi-overlap-" + anchor(typ) + v.suffix,
			Caption: b.Say("mpi-overlap.caption", text.Args{"Type": typ}),
			Columns: b.columns("setting", "size", "#ranks", "#blockingtime", "#overlaptime", "#computetime", "#hidden", "#interval"),
		}
		var used []compare.Record
		var largest *hiding
		for i, h := range all {
			used = append(used, h.first, h.second)
			if !v.crowded(h.first.Threads) && !math.IsNaN(h.share) {
				largest = &all[i]
			}
			t.Rows = append(t.Rows, document.Row{Class: v.muted(h.first), Cells: []document.Text{
				settled(v.trait(h.second.Variant, h.second.Params)), document.Escape(problemOf(h.first).label()), document.Text(fmt.Sprint(overRanks.count(h.first))),
				document.Text(b.median(h.first)), document.Text(b.median(h.second)), document.Text(seconds(h.compute)), document.Text(significant(h.share)), document.Text(extent(h.lo, h.hi, significant)),
			}})
		}
		if largest != nil {
			interval := document.Text("")
			if known := extent(largest.lo, largest.hi, percent); known != absent {
				interval = b.Say("interval", text.Args{"Interval": known})
			}
			s.Text(b.Say("mpi-overlap.largest", text.Args{
				"Type": typ, "Size": b.sizes([]problem{alone(largest.first)}),
				"Ranks": b.Count("ranks", overRanks.count(largest.first)), "Share": percent(largest.share),
				"Interval": interval,
			}))
		}
		t.Command = b.rerun(v, used)
		s.Add(t)
	}
	return s, found
}

// rankFindings takes up what the report of 2024 found of MPI, section 2.2, and what its
// figure 15 is about.
func (b *builder) rankFindings(v *view) (document.Section, bool) {
	s := b.of(v, "mpi-findings", "mpi-findings.title")
	s.Text(b.Say("mpi-findings.intro", text.Args{"Ratio": significant(farAhead)}))
	s.List([]document.Text{b.blocksAhead(v), b.gapCloses(v)})
	for i, typ := range v.typesOf(overRanks) {
		all := v.gaps(typ)
		if len(all) == 0 {
			continue
		}
		if i == 0 {
			s.Text(b.Say("mpi-gap.intro"))
		}
		t := document.Table{
			ID: "table-mpi-gap-" + anchor(typ) + v.suffix, Caption: b.Say("mpi-gap.caption", text.Args{"Type": typ}),
			Columns: b.columns("collective", "setting", "size", "#ranks", "#gap", "#p", "verdict"),
		}
		var used []compare.Record
		for _, g := range all {
			for _, f := range g.by {
				used = append(used, f.first, f.second)
				t.Rows = append(t.Rows, document.Row{Class: v.muted(f.first), Cells: []document.Text{
					document.Literal(f.second.Variant), settled(g.set), document.Escape(g.label()), document.Text(fmt.Sprint(overRanks.count(f.first))),
					times(f.Ratio, f.Lo, f.Hi), document.Text(probability(f.P)), b.verdict(f.Outcome),
				}})
			}
		}
		t.Command = b.rerun(v, used)
		b.figure(&s, v, "mpi-gap-"+typ, "fig.mpi-gap", t.Command, text.Args{"Type": typ})
		s.Add(t)
	}
	return s, true
}

// roomy keeps the duels that have a processor for every thread.
func (v *view) roomy(all []duel) []duel {
	return slices.DeleteFunc(all, func(d duel) bool { return v.crowded(d.first.Threads) })
}

// blocksAhead: blocks are slightly ahead of rows.
func (b *builder) blocksAhead(v *view) document.Text {
	var all []duel
	for _, typ := range v.typesOf(overRanks) {
		all = append(all, v.roomy(v.couples(typ, "mpi/scatter-rows", "mpi/scatter-blocks"))...)
	}
	fights := fight(all)
	ahead, behind, level, open := 0, 0, 0, 0
	for _, f := range fights {
		switch {
		case f.Outcome == quicker:
			ahead++
		case f.Outcome == slower:
			behind++
		case f.steady():
			level++
		default:
			open++
		}
	}
	evidence := b.Say("evidence.blocks", text.Args{
		"Pairs": len(fights), "Ahead": ahead, "Behind": behind, "Level": level, "Tolerance": tolerated,
		"Open": open,
	})
	return b.finding("blocks", judge(ahead, behind+level, open), "mpi --variants mpi/scatter-rows,mpi/scatter-blocks --np 2,4 --json blocks.json",
		evidence, b.extremes(v, fights, "scatter-blocks", "scatter-rows"))
}

// gap is point-to-point rows held against the rows of a collective variant at one size,
// by ranks.
type gap struct {
	problem
	variant string // the collective one
	set     string // the setting of the point-to-point rows
	by      []fought
}

// gaps returns them, the pairs of each by ranks, ascending.
func (v *view) gaps(typ string) []gap {
	var out []gap
	for _, variant := range []string{"mpi/scatter-rows", "mpi/bcast-rows"} {
		at := map[string]int{}
		for _, f := range fight(v.couples(typ, "mpi/p2p-rows", variant)) {
			p, second := f.first, f.second
			key := fmt.Sprint(p.Experiment, alone(p), omit(p.Params, overRanks.param), omit(second.Params, overRanks.param))
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, gap{problem: alone(p), variant: variant, set: v.trait(p.Variant, p.Params)})
			}
			out[i].by = append(out[i].by, f)
		}
	}
	for _, g := range out {
		slices.SortStableFunc(g.by, func(x, y fought) int { return overRanks.count(x.first) - overRanks.count(y.first) })
	}
	slices.SortStableFunc(out, func(x, y gap) int { return x.problem.compare(y.problem) })
	return out
}

// farAhead is the ratio from which collective calls are called far ahead.
const farAhead = 1.25

// closes reports whether the gap is wide on the fewest ranks and less on the most.
func (g gap) closes(v *view) (few, many fought, out verdict) {
	by := slices.DeleteFunc(slices.Clone(g.by), func(f fought) bool { return v.crowded(f.first.Threads) })
	if len(by) < 2 {
		return few, many, unmeasured
	}
	few, many = by[0], by[len(by)-1]
	switch {
	case few.Lo >= farAhead && many.Hi < few.Lo:
		return few, many, supported
	case few.Hi < farAhead || many.Lo >= few.Hi:
		return few, many, refuted
	}
	return few, many, undecided
}

// gapCommand measures point-to-point against collective rows.
const gapCommand = "mpi --variants mpi/p2p-rows,mpi/scatter-rows,mpi/bcast-rows --np 2,4,8 --json gap.json"

// gapCloses: collective is far ahead of point-to-point at few ranks, hardly at many.
func (b *builder) gapCloses(v *view) document.Text {
	if v.crowded(manyThreads) {
		return b.Say("finding", text.Args{"Claim": b.Say("finding.gap"), "Verdict": b.Say("finding.unmeasured")}) +
			b.Say("finding.larger", text.Args{
				"Processors": manyThreads, "Command": document.Literal(b.program + " " + gapCommand),
			})
	}
	counts := map[verdict]int{}
	var cases []document.Text
	for _, typ := range v.typesOf(overRanks) {
		for _, g := range v.gaps(typ) {
			few, many, out := g.closes(v)
			counts[out]++
			if out == unmeasured {
				continue
			}
			cases = append(cases, b.Say("evidence.gapcase", text.Args{
				"Size": b.sizes([]problem{g.problem}), "Variant": document.Literal(algorithm(g.variant)),
				"FewRatio":  times(few.Ratio, few.Lo, few.Hi),
				"FewRanks":  b.Count("ranks", overRanks.count(few.first)),
				"ManyRatio": times(many.Ratio, many.Lo, many.Hi),
				"ManyRanks": b.Count("ranks", overRanks.count(many.first)),
			}))
		}
	}
	evidence := []document.Text{b.Say("evidence.gap", text.Args{
		"Cases": len(cases), "Supported": counts[supported], "Refuted": counts[refuted], "Open": counts[undecided],
	})}
	return b.finding("gap", judge(counts[supported], counts[refuted], counts[undecided]),
		gapCommand, append(evidence, cases...)...)
}
