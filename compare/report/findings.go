package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// verdict is what the data says of a finding.
type verdict int

const (
	unmeasured verdict = iota
	undecided
	supported
	partly
	refuted
)

// judge returns the verdict of cases that speak for a finding, against it, and that do
// not decide.
func judge(pro, contra, open int) verdict {
	switch {
	case pro > 0 && contra > 0:
		return partly
	case pro > 0:
		return supported
	case contra > 0:
		return refuted
	case open > 0:
		return undecided
	}
	return unmeasured
}

// findings takes up what the report of 2024 found of threads, section 2.3, one by one.
func (b *builder) findings(v *view) (document.Section, bool) {
	s := b.of(v, "findings", "findings.title")
	s.Text(b.Say("findings.intro", text.Args{"Tolerance": tolerated}))
	var items []document.Text
	for _, find := range []func(*view) document.Text{
		b.chunksMatter, b.inverse, b.staticAhead, b.staticBehind, b.privateCopy, b.singleLoop, b.reduction, b.automatic,
	} {
		items = append(items, find(v))
	}
	s.List(items)
	return s, true
}

// finding is one of them: its name and verdict, and what was measured or, where
// nothing was, what to type.
func (b *builder) finding(key string, v verdict, command string, evidence ...document.Text) document.Text {
	word := []string{unmeasured: "finding.unmeasured", undecided: "finding.undecided", supported: "finding.supported", partly: "finding.partly", refuted: "finding.refuted"}[v]
	sentence := b.Say("finding", text.Args{"Claim": b.Say("finding." + key), "Verdict": b.Say(word)})
	if v == unmeasured {
		return sentence + b.Say("finding.command", text.Args{"Command": document.Literal(b.program + " " + command)})
	}
	for _, e := range evidence {
		sentence += e
	}
	return sentence
}

// chunksMatter: the size of a chunk hardly matters.
func (b *builder) chunksMatter(v *view) document.Text {
	var all []bout
	for _, typ := range v.sharedTypes() {
		all = append(all, v.chunkBouts(typ)...)
	}
	pro, contra, open := 0, 0, 0
	var worst *bout
	for i, g := range all {
		switch {
		case g.Outcome == same || g.Outcome == slight:
			pro++
		case g.Outcome == differ && g.Lo > 1+tolerance:
			contra++
			if worst == nil || g.Ratio > worst.Ratio {
				worst = &all[i]
			}
		default:
			open++
		}
	}
	evidence := b.Say("evidence.chunks", text.Args{
		"Comparisons": len(all), "Same": pro, "Tolerance": tolerated, "Larger": contra, "Open": open,
	})
	if worst != nil {
		evidence += b.largest(*worst, "chunk")
	}
	return b.finding("chunk", judge(pro, contra, open), "parallel --schedule static,dynamic --chunk 0,1,16,64 --json chunks.json", evidence)
}

// slack is how far the product of time and threads may be from constant for time to
// be called inverse to threads.
const slack = 0.1

// The tolerance and the slack in prose.
var tolerated, slackened = fmt.Sprintf("%g %%", 100*tolerance), fmt.Sprintf("%g %%", 100*slack)

// inverse: time falls as 1/threads. Every series is judged on the most threads for
// which there are processors; one that was not measured in turn decides nothing.
func (b *builder) inverse(v *view) document.Text {
	pro, contra, open, apart := 0, 0, 0, 0
	var best, worst comparison // of efficiencies
	var bestOf, worstOf compare.Record
	for _, typ := range v.sharedTypes() {
		for _, s := range v.strongSeries(overThreads, typ) {
			for _, r := range slices.Backward(s.rows) {
				c, ok := s.speedup(r)
				if !ok || v.crowded(r.Threads) {
					continue
				}
				p := float64(r.Threads)
				c.Ratio, c.Lo, c.Hi = c.Ratio/p, c.Lo/p, c.Hi/p
				switch {
				case c.Lo >= 1-slack && c.Hi <= 1+slack:
					pro++
				case c.Hi < 1-slack || c.Lo > 1+slack:
					contra++
				default:
					open++
				}
				if one, _ := s.one(); !inTurn(one, r) {
					apart++
				}
				if bestOf.Variant == "" || c.Ratio > best.Ratio {
					best, bestOf = c, r
				}
				if worstOf.Variant == "" || c.Ratio < worst.Ratio {
					worst, worstOf = c, r
				}
				break
			}
		}
	}
	evidence := b.Say("evidence.inverse", text.Args{
		"Series": pro + contra + open, "Inverse": pro, "Tolerance": slackened, "Others": contra, "Open": open,
	})
	if apart > 0 {
		evidence += b.Say("evidence.apart", text.Args{"Series": apart})
	}
	if bestOf.Variant != "" {
		evidence += b.Say("evidence.efficiencies", text.Args{
			"BestRow": b.where(v, bestOf), "Best": times(best.Ratio, best.Lo, best.Hi),
			"WorstRow": b.where(v, worstOf), "Worst": times(worst.Ratio, worst.Lo, worst.Hi),
		})
	}
	return b.finding("inverse", judge(pro, contra, open), "parallel --threads 1,2,4 --json strong.json", evidence)
}

// where names a row in prose.
func (b *builder) where(v *view, r compare.Record) document.Text {
	a := axisOf(r.Variant)
	parts := []document.Text{b.sizes([]problem{problemOf(r)}), b.Count(a.param, a.count(r))}
	if set := v.trait(r.Variant, r.Params); set != "" {
		parts = append(parts, document.Escape(set))
	}
	return b.Say("evidence.where", text.Args{"Variant": document.Literal(r.Variant), "Place": b.Join(parts)})
}

// duel is two rows of one case that differ in what a finding is about.
type duel struct{ first, second compare.Record }

// fought is the outcome of duels, with p values adjusted for their number.
type fought struct {
	duel
	comparison
}

// fight compares the pairs as beside does. P and Outcome are adjusted by Holm's
// procedure.
func fight(duels []duel) []fought {
	out := make([]fought, len(duels))
	p := make([]float64, len(duels))
	for i, d := range duels {
		out[i] = fought{d, beside(d.first, d.second)}
		p[i] = out[i].P
	}
	for i, adjusted := range holm(p) {
		out[i].P = adjusted
		if o := out[i].Outcome; (o == quicker || o == slower) && !(adjusted < significance) {
			out[i].Outcome = tooFew
		}
	}
	return out
}

// steady reports whether the ratio of a duel is known to lie within the tolerance.
func (f fought) steady() bool { return f.Lo >= 1/(1+tolerance) && f.Hi <= 1+tolerance }

// duels pairs the timed parallel rows of which second differs from first as change
// says, in one experiment and all else equal; threads says which to take of the
// numbers of threads above one that a case was measured with, nil: all.
func (v *view) duels(keep func(compare.Record) bool, change func(compare.Record) string, threads func([]int) int) []duel {
	rows := v.pick(func(r compare.Record) bool {
		return family(r.Variant) == "parallel" && r.Speed() && r.Median > 0 && r.Threads > 1 && !v.crowded(r.Threads)
	})
	key := func(r compare.Record, as string) string {
		p := problemOf(r)
		return fmt.Sprint(r.Experiment, "|", p, "|", as)
	}
	byKey := map[string]compare.Record{}
	counts := map[string][]int{} // of threads, by what is left of a row without them
	apart := func(r compare.Record) string {
		p := problemOf(r)
		p.threads = 0
		return fmt.Sprint(r.Experiment, r.Variant, p, omit(r.Params, "threads"))
	}
	for _, r := range rows {
		byKey[key(r, r.Variant+" "+r.Params.String())] = r
		counts[apart(r)] = append(counts[apart(r)], r.Threads)
	}
	var out []duel
	for _, r := range rows {
		if !keep(r) || threads != nil && r.Threads != threads(counts[apart(r)]) {
			continue
		}
		if other, ok := byKey[key(r, change(r))]; ok {
			out = append(out, duel{r, other})
		}
	}
	return out
}

// toDynamic is the row that a static one is held against: both with the chunk at its
// default.
func toDynamic(r compare.Record) string {
	p := omit(r.Params)
	p["schedule"] = "dynamic"
	return r.Variant + " " + p.String()
}

func isStatic(r compare.Record) bool {
	return r.Params["schedule"] == "static" && chunkOf(r.Params) == 0 && r.Experiment != "load"
}

// staticAhead: static is slightly ahead of dynamic, because nothing is decided while
// the loop runs.
func (b *builder) staticAhead(v *view) document.Text {
	return b.staticOrDynamic(v, "ahead", slices.Min[[]int], slower)
}

// manyThreads is how many threads, or ranks, are many.
const manyThreads = 4

// staticBehind: against that, static is behind dynamic on many threads.
func (b *builder) staticBehind(v *view) document.Text {
	if v.crowded(manyThreads) {
		return b.Say("finding", text.Args{"Claim": b.Say("finding.behind"), "Verdict": b.Say("finding.unmeasured")}) +
			b.Say("finding.larger", text.Args{
				"Processors": manyThreads, "Command": document.Literal(b.program + " " + schedulesCommand),
			})
	}
	return b.staticOrDynamic(v, "behind", func(threads []int) int { return max(manyThreads, slices.Max(threads)) }, quicker)
}

// schedulesCommand measures static against dynamic schedules.
const schedulesCommand = "parallel --threads 2,4 --schedule static,dynamic --json schedules.json"

// staticOrDynamic judges which of the two is faster on some number of threads; wanted
// is the outcome of static with dynamic that speaks for the finding.
func (b *builder) staticOrDynamic(v *view, key string, threads func([]int) int, wanted outcome) document.Text {
	all := fight(v.duels(isStatic, toDynamic, threads))
	ahead, behind, level, open := 0, 0, 0, 0
	for _, f := range all {
		switch {
		case f.Outcome == slower:
			ahead++
		case f.Outcome == quicker:
			behind++
		case f.steady():
			level++
		default:
			open++
		}
	}
	pro, contra := ahead, behind+level
	if wanted == quicker {
		pro, contra = behind, ahead+level
	}
	evidence := b.Say("evidence.static", text.Args{
		"Pairs": len(all), "Ahead": ahead, "Behind": behind, "Level": level, "Tolerance": tolerated, "Open": open,
	})
	return b.finding(key, judge(pro, contra, open), schedulesCommand, evidence, b.extremes(v, all, "dynamic", "static"))
}

// extremes gives the least and the greatest ratio of duels: how many times as fast
// the second is as the first.
func (b *builder) extremes(v *view, all []fought, second, first string) document.Text {
	if len(all) == 0 {
		return ""
	}
	by := func(x, y fought) int { return cmp.Compare(x.Ratio, y.Ratio) }
	lo, hi := slices.MinFunc(all, by), slices.MaxFunc(all, by)
	if len(all) == 1 {
		return b.Say("evidence.one", text.Args{
			"Variant": document.Literal(second), "Ratio": times(lo.Ratio, lo.Lo, lo.Hi),
			"Other": document.Literal(first), "Row": b.where(v, lo.first),
		})
	}
	return b.Say("evidence.range", text.Args{
		"Variant": document.Literal(second), "Least": times(lo.Ratio, lo.Lo, lo.Hi),
		"LeastRow": b.where(v, lo.first), "Most": times(hi.Ratio, hi.Lo, hi.Hi), "MostRow": b.where(v, hi.first),
		"Other": document.Literal(first),
	})
}

// drift is the factor by which the speed of a machine is taken to change between two
// turns: processors of shared machines run at two thirds of their speed at times.
const drift = 1.5

// between judges two variants: whether the second takes less time than the first,
// by the factor at least. Pairs that were not sampled in turn, as two variants seldom
// are, decide where no drift can have made the difference.
func (b *builder) between(v *view, key, first, second string, factor float64) document.Text {
	all := fight(v.duels(
		func(r compare.Record) bool { return r.Variant == first && r.Experiment != "load" },
		func(r compare.Record) string { return second + " " + r.Params.String() }, nil))
	pro, contra, open, apart := 0, 0, 0, 0
	for _, f := range all {
		gain := f.Outcome == quicker && (factor == 1 || f.Lo >= factor)
		loss := f.Outcome == slower || f.steady() || factor > 1 && f.Hi < factor
		if !inTurn(f.first, f.second) {
			apart++
			c := contrast(f.first, f.second)
			gain, loss = c.Lo > factor*drift, c.Hi < factor/drift
		}
		switch {
		case gain:
			pro++
		case loss:
			contra++
		default:
			open++
		}
	}
	evidence := b.Say("evidence.pairs", text.Args{"Pairs": len(all), "For": pro, "Against": contra, "Open": open})
	if apart > 0 {
		evidence += b.Say("evidence.drift", text.Args{
			"Pairs": apart, "Above": significant(factor * drift), "Below": significant(factor / drift),
		})
	}
	variants := strings.Join([]string{first, second}, ",")
	return b.finding(key, judge(pro, contra, open), "parallel --variants "+variants+" --sizes 128,256 --json "+key+".json", evidence, b.extremes(v, all, algorithm(second), algorithm(first)))
}

// privateCopy: a private C, merged at the end, is two to three times as fast as an
// atomic addition a term.
func (b *builder) privateCopy(v *view) document.Text {
	return b.between(v, "private", "parallel/collapse-inner-atomic", "parallel/collapse-atomic", 2)
}

// singleLoop: a private C beats the outer loop alone in parallel.
func (b *builder) singleLoop(v *view) document.Text {
	return b.between(v, "single", "parallel/rows", "parallel/collapse-atomic", 1)
}

// reduction: merging by atomic additions beats a reduction.
func (b *builder) reduction(v *view) document.Text {
	return b.between(v, "reduction", "parallel/collapse-reduce", "parallel/collapse-atomic", 1)
}

// automatic: gcc's auto is static; ours measures. There is nothing to judge: it says
// what was chosen and how that stands to static.
func (b *builder) automatic(v *view) document.Text {
	rows := v.pick(func(r compare.Record) bool { return r.Params["schedule"] == "auto" && r.Speed() })
	if len(rows) == 0 {
		return b.finding("auto", unmeasured, "parallel --schedule static,auto --json auto.json")
	}
	chosen := func(r compare.Record) string {
		return strings.TrimPrefix(settingOf(compare.Record{Params: map[string]any{"schedule": "auto"}, Resolved: r.Resolved}), "auto → ")
	}
	counts := map[string]int{}
	var parts []document.Text
	for _, r := range rows {
		counts[chosen(r)]++
	}
	choices := distinct(rows, chosen)
	slices.SortStableFunc(choices, func(x, y string) int { return cmp.Compare(counts[y], counts[x]) })
	for _, choice := range choices {
		parts = append(parts, b.Say("evidence.choice", text.Args{"Choice": choice, "Rows": counts[choice]}))
	}
	sentence := b.Say("finding.bare", text.Args{"Claim": b.Say("finding.auto")}) +
		b.Say("evidence.auto", text.Args{"Rows": len(rows), "Choices": b.Join(parts)})
	duels := v.duels(func(r compare.Record) bool {
		return r.Params["schedule"] == "auto" && chunkOf(r.Params) == 0
	}, func(r compare.Record) string {
		p := omit(r.Params)
		p["schedule"] = "static"
		return r.Variant + " " + p.String()
	}, nil)
	return sentence + b.extremes(v, fight(duels), "static", "auto")
}
