package sharing

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// findings takes up the claims of the course report of 2024 about threads, one by one.
func (b *builder) findings(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "findings", "findings.title")
	s.Text(b.Say("findings.intro", text.Args{
		"Tolerance": analysis.Tolerated, "Enough": analysis.Enough, "Around": number.Significant(analysis.Around),
		"Slightly": number.Significant(analysis.Slightly),
	}))
	var items []document.Text
	for _, find := range []func(*analysis.View) document.Text{
		b.chunksMatter, b.inverse, b.staticAhead, b.staticBehind, b.privateCopy, b.singleLoop, b.reduction, b.automatic,
	} {
		items = append(items, find(v))
	}
	s.List(items)
	return s, true
}

// verdictKeys are the messages of the verdicts.
var verdictKeys = []string{
	analysis.Unmeasured: "finding.unmeasured", analysis.Undecided: "finding.undecided",
	analysis.Indicated: "finding.indicated", analysis.Supported: "finding.supported", analysis.Partly: "finding.partly",
	analysis.Divided: "finding.divided", analysis.Refuted: "finding.refuted", analysis.Reversed: "finding.reversed",
	analysis.HintReversed: "finding.hint-reversed", analysis.MoreThan: "finding.more", analysis.LessThan: "finding.less",
}

// finding is one claim: its name, the verdict with the number of cases that decide, and the evidence; without
// measurements, the command that makes them.
func (b *builder) finding(key string, c analysis.Cases, command string, evidence ...document.Text) document.Text {
	verdict := c.Verdict()
	sentence := b.Say("finding", text.Args{"Claim": b.Say("finding." + key), "Verdict": b.Say(verdictKeys[verdict])})
	if verdict == analysis.Unmeasured {
		return sentence + b.Say("finding.command", text.Args{"Command": document.Literal(b.Program + " " + command)})
	}
	sentence += b.decided(c)
	for _, e := range evidence {
		sentence += e
	}
	return sentence
}

// decided says how many cases decide, and how.
func (b *builder) decided(c analysis.Cases) document.Text {
	parts := []document.Text{
		b.Say("cases.for", text.Args{"Cases": c.For}), b.Say("cases.against", text.Args{"Cases": c.Contra()}),
	}
	if c.Reversed > 0 {
		parts = append(parts, b.Say("cases.reversed", text.Args{"Cases": c.Reversed}))
	}
	if c.More > 0 {
		parts = append(parts, b.Say("cases.more", text.Args{"Cases": c.More}))
	}
	if c.Less > 0 {
		parts = append(parts, b.Say("cases.less", text.Args{"Cases": c.Less}))
	}
	if c.Decided() == 1 {
		return b.Say("cases.one", text.Args{"All": c.All(), "Parts": b.Join(parts)})
	}
	return b.Say("cases.several", text.Args{"Decided": c.Decided(), "All": c.All(), "Parts": b.Join(parts)})
}

// chunksMatter: the size of a chunk hardly matters.
func (b *builder) chunksMatter(v *analysis.View) document.Text {
	var all []analysis.Bout
	for _, typ := range v.SharedTypes() {
		all = append(all, v.ChunkBouts(typ)...)
	}
	var cases analysis.Cases
	var worst *analysis.Bout
	for i, g := range all {
		switch {
		case g.Outcome == analysis.Same || g.Outcome == analysis.Slight:
			cases.For++
		case g.Outcome == analysis.Differ && g.Lo > 1+analysis.Tolerance:
			cases.Against++
			if worst == nil || g.Ratio > worst.Ratio {
				worst = &all[i]
			}
		default:
			cases.Open++
		}
	}
	evidence := b.Say("evidence.chunks", text.Args{
		"Same": cases.For, "Tolerance": analysis.Tolerated, "Larger": cases.Against,
	})
	if worst != nil {
		evidence += b.largest(*worst, "chunk")
	}
	return b.finding("chunk", cases,
		"parallel --schedule static,dynamic --chunk 0,1,16,64 --json chunks.json", evidence)
}

// inverse judges whether time falls as 1/threads. Every series is judged on the most threads that
// do not exceed the processors. A series that was not interleaved decides nothing.
func (b *builder) inverse(v *analysis.View) document.Text {
	var cases analysis.Cases
	apart := 0
	var best, worst analysis.Comparison // of efficiencies
	var bestOf, worstOf compare.Record
	for _, typ := range v.SharedTypes() {
		all := v.StrongSeries(analysis.OverThreads, typ)
		var quickest []analysis.Series // of each variant and size: schedules are not cases of their own
		for _, p := range analysis.Distinct(all, func(s analysis.Series) analysis.Problem { return s.Problem }) {
			quickest = append(quickest, v.Leading(all, p)...)
		}
		for _, s := range quickest {
			for _, r := range slices.Backward(s.Rows) {
				c, ok := s.Speedup(r)
				if !ok || v.IsCrowded(r.Threads) {
					continue
				}
				p := float64(r.Threads)
				slower := c.Hi < 1
				c.Ratio, c.Lo, c.Hi = c.Ratio/p, c.Lo/p, c.Hi/p
				switch {
				case slower:
					cases.Reversed++
				case c.Lo >= 1-analysis.Slack && c.Hi <= 1+analysis.Slack:
					cases.For++
				case c.Hi < 1-analysis.Slack || c.Lo > 1+analysis.Slack:
					cases.Against++
				default:
					cases.Open++
				}
				if one, _ := s.One(); !analysis.InTurn(one, r) {
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
		"Inverse": cases.For, "Tolerance": analysis.Slackened, "Others": cases.Contra(),
	})
	if apart > 0 {
		evidence += b.Say("evidence.apart", text.Args{"Series": apart})
	}
	_, _, same := number.Between(worst.Ratio, best.Ratio, number.Significant)
	switch {
	case bestOf.Variant == "":
	case same:
		evidence += b.Say("evidence.efficiency", text.Args{
			"Row": b.Where(v, bestOf), "Efficiency": number.Times(best.Ratio, best.Lo, best.Hi),
		})
	default:
		evidence += b.Say("evidence.efficiencies", text.Args{
			"BestRow": b.Where(v, bestOf), "Best": number.Times(best.Ratio, best.Lo, best.Hi),
			"WorstRow": b.Where(v, worstOf), "Worst": number.Times(worst.Ratio, worst.Lo, worst.Hi),
		})
	}
	return b.finding("inverse", cases, "parallel --threads 1,2,4 --json strong.json", evidence)
}

// staticAhead: static is slightly ahead of dynamic, because nothing is decided while
// the loop runs.
func (b *builder) staticAhead(v *analysis.View) document.Text {
	return b.staticOrDynamic(v, "ahead", slices.Min[[]int], analysis.Comparison.Inverse)
}

// staticBehind: against that, static is behind dynamic on many threads.
func (b *builder) staticBehind(v *analysis.View) document.Text {
	if v.IsCrowded(analysis.ManyThreads) {
		return b.Say("finding", text.Args{"Claim": b.Say("finding.behind"), "Verdict": b.Say("finding.unmeasured")}) +
			b.Say("finding.larger", text.Args{
				"Processors": analysis.ManyThreads, "Command": document.Literal(b.Program + " " + schedulesCommand),
			})
	}
	return b.staticOrDynamic(v, "behind",
		func(threads []int) int { return max(analysis.ManyThreads, slices.Max(threads)) },
		func(c analysis.Comparison) analysis.Comparison { return c })
}

// schedulesCommand measures static against dynamic schedules.
const schedulesCommand = "parallel --threads 2,4 --schedule static,dynamic --json schedules.json"

// staticOrDynamic judges which of the two schedules is slightly faster on some number of threads.
// turned returns the comparison of static with dynamic so that the claim is a ratio above 1.
func (b *builder) staticOrDynamic(v *analysis.View, key string, threads func([]int) int,
	turned func(analysis.Comparison) analysis.Comparison) document.Text {
	all := analysis.Fight(v.Duels(analysis.IsStatic, analysis.ToDynamic, threads))
	var cases analysis.Cases
	ahead, behind, level := 0, 0, 0
	for _, f := range all {
		cases.Add(analysis.Claim{Least: 1, Most: analysis.Slightly}, turned(f.Comparison))
		switch {
		case f.Outcome == analysis.Slower:
			ahead++
		case f.Outcome == analysis.Quicker:
			behind++
		case f.Steady():
			level++
		}
	}
	evidence := b.Say("evidence.static", text.Args{
		"Ahead": ahead, "Behind": behind, "Level": level, "Tolerance": analysis.Tolerated,
	})
	return b.finding(key, cases, schedulesCommand, evidence, b.extremes(v, all, "dynamic", "static"))
}

// extremes gives the least and the greatest ratio of duels: how many times as fast
// the second is as the first.
func (b *builder) extremes(v *analysis.View, all []analysis.Fought, second, first string) document.Text {
	if len(all) == 0 {
		return ""
	}
	by := func(x, y analysis.Fought) int { return cmp.Compare(x.Ratio, y.Ratio) }
	lo, hi := slices.MinFunc(all, by), slices.MaxFunc(all, by)
	_, _, same := number.Between(lo.Ratio, hi.Ratio, number.Significant)
	if same && len(all) > 1 {
		return b.Say("evidence.same", text.Args{
			"Variant": document.Literal(second), "Ratio": number.Significant(lo.Ratio), "Other": document.Literal(first),
		})
	}
	if same {
		return b.Say("evidence.one", text.Args{
			"Variant": document.Literal(second), "Ratio": number.Times(lo.Ratio, lo.Lo, lo.Hi),
			"Other": document.Literal(first), "Row": b.Where(v, lo.First),
		})
	}
	return b.Say("evidence.range", text.Args{
		"Variant": document.Literal(second), "Least": number.Times(lo.Ratio, lo.Lo, lo.Hi),
		"LeastRow": b.Where(v, lo.First), "Most": number.Times(hi.Ratio, hi.Lo, hi.Hi), "MostRow": b.Where(v, hi.First),
		"Other": document.Literal(first),
	})
}

// between judges whether the second variant is as many times as fast as the first as is claimed. Pairs
// that were not interleaved, as is usual for two variants, count only if no drift can explain the
// difference.
func (b *builder) between(v *analysis.View, key, first, second string, claim analysis.Claim) document.Text {
	all := analysis.Fight(v.Duels(
		func(r compare.Record) bool { return r.Variant == first && r.Experiment != compare.ArtificialLoad },
		func(r compare.Record) string { return second + " " + r.Params.String() }, nil))
	var cases analysis.Cases
	apart := 0
	for _, f := range all {
		c := f.Comparison
		if !analysis.InTurn(f.First, f.Second) {
			apart++
			c = analysis.Drifted(f.First, f.Second)
		}
		cases.Add(claim, c)
	}
	var evidence document.Text
	if claim.Most < math.Inf(1) {
		evidence += b.Say("evidence.around", text.Args{
			"Least": number.Significant(claim.Least), "Most": number.Significant(claim.Most),
		})
	}
	if apart > 0 {
		evidence += b.Say("evidence.drift", text.Args{
			"Pairs": apart, "Factor": number.Significant(analysis.Drift),
		})
	}
	variants := strings.Join([]string{first, second}, ",")
	return b.finding(key, cases, "parallel --variants "+variants+" --sizes 128,256 --json "+key+".json", evidence,
		b.extremes(v, all, analysis.Algorithm(second), analysis.Algorithm(first)))
}

// privateCopy: a private C, merged at the end, is two to three times as fast as an
// atomic addition a term.
func (b *builder) privateCopy(v *analysis.View) document.Text {
	return b.between(v, "private", analysis.CollapseInnerAtomic, analysis.CollapseAtomic,
		analysis.Claim{Least: 2 / analysis.Around, Most: 3 * analysis.Around})
}

// faster is the claim that the second variant takes less time.
var faster = analysis.Claim{Least: 1, Most: math.Inf(1)}

// singleLoop: a private C beats the outer loop alone in parallel.
func (b *builder) singleLoop(v *analysis.View) document.Text {
	return b.between(v, "single", analysis.Rows, analysis.CollapseAtomic, faster)
}

// reduction: merging by atomic additions beats a reduction.
func (b *builder) reduction(v *analysis.View) document.Text {
	return b.between(v, "reduction", analysis.CollapseReduce, analysis.CollapseAtomic, faster)
}

// automatic is the finding on the schedule auto: gcc's is static, ours measures. There is no verdict, only the
// schedules that it chose and its speed compared with static.
func (b *builder) automatic(v *analysis.View) document.Text {
	rows := v.Pick(func(r compare.Record) bool { return r.Params["schedule"] == "auto" && r.Speed() })
	if len(rows) == 0 {
		return b.finding("auto", analysis.Cases{}, "parallel --schedule static,auto --json auto.json")
	}
	chosen := func(r compare.Record) string {
		return strings.TrimPrefix(analysis.SettingOf(compare.Record{Params: map[string]any{"schedule": "auto"},
			Resolved: r.Resolved}), "auto → ")
	}
	counts := map[string]int{}
	var parts []document.Text
	for _, r := range rows {
		counts[chosen(r)]++
	}
	choices := analysis.Distinct(rows, chosen)
	slices.SortStableFunc(choices, func(x, y string) int { return cmp.Compare(counts[y], counts[x]) })
	for _, choice := range choices {
		parts = append(parts, b.Say("evidence.choice", text.Args{"Choice": choice, "Rows": counts[choice]}))
	}
	sentence := b.Say("finding.bare", text.Args{"Claim": b.Say("finding.auto")}) +
		b.Say("evidence.auto", text.Args{"Rows": len(rows), "Choices": b.Join(parts)})
	duels := v.Duels(func(r compare.Record) bool {
		return r.Params["schedule"] == "auto" && analysis.ChunkOf(r.Params) == 0
	}, func(r compare.Record) string {
		p := analysis.Omit(r.Params)
		p["schedule"] = "static"
		return r.Variant + " " + p.String()
	}, nil)
	return sentence + b.extremes(v, analysis.Fight(duels), "static", "auto")
}
