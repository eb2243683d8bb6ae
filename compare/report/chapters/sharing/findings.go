package sharing

import (
	"cmp"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// findings takes up what the report of 2024 found of threads, section 2.3, one by one.
func (b *builder) findings(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "findings", "findings.title")
	s.Text(b.Say("findings.intro", text.Args{"Tolerance": analysis.Tolerated}))
	var items []document.Text
	for _, find := range []func(*analysis.View) document.Text{
		b.chunksMatter, b.inverse, b.staticAhead, b.staticBehind, b.privateCopy, b.singleLoop, b.reduction, b.automatic,
	} {
		items = append(items, find(v))
	}
	s.List(items)
	return s, true
}

// finding is one finding: its name and verdict, and the evidence; without measurements, the command that makes
// them.
func (b *builder) finding(key string, v analysis.Verdict, command string, evidence ...document.Text) document.Text {
	word := []string{analysis.Unmeasured: "finding.unmeasured", analysis.Undecided: "finding.undecided",
		analysis.Supported: "finding.supported", analysis.Partly: "finding.partly", analysis.Refuted: "finding.refuted"}[v]
	sentence := b.Say("finding", text.Args{"Claim": b.Say("finding." + key), "Verdict": b.Say(word)})
	if v == analysis.Unmeasured {
		return sentence + b.Say("finding.command", text.Args{"Command": document.Literal(b.Program + " " + command)})
	}
	for _, e := range evidence {
		sentence += e
	}
	return sentence
}

// chunksMatter: the size of a chunk hardly matters.
func (b *builder) chunksMatter(v *analysis.View) document.Text {
	var all []analysis.Bout
	for _, typ := range v.SharedTypes() {
		all = append(all, v.ChunkBouts(typ)...)
	}
	pro, contra, open := 0, 0, 0
	var worst *analysis.Bout
	for i, g := range all {
		switch {
		case g.Outcome == analysis.Same || g.Outcome == analysis.Slight:
			pro++
		case g.Outcome == analysis.Differ && g.Lo > 1+analysis.Tolerance:
			contra++
			if worst == nil || g.Ratio > worst.Ratio {
				worst = &all[i]
			}
		default:
			open++
		}
	}
	evidence := b.Say("evidence.chunks", text.Args{
		"Comparisons": len(all), "Same": pro, "Tolerance": analysis.Tolerated, "Larger": contra, "Open": open,
	})
	if worst != nil {
		evidence += b.largest(*worst, "chunk")
	}
	return b.finding("chunk", analysis.Judge(pro, contra, open),
		"parallel --schedule static,dynamic --chunk 0,1,16,64 --json chunks.json", evidence)
}

// inverse judges whether time falls as 1/threads. Every series is judged on the most threads that
// do not exceed the processors. A series that was not interleaved decides nothing.
func (b *builder) inverse(v *analysis.View) document.Text {
	pro, contra, open, apart := 0, 0, 0, 0
	var best, worst analysis.Comparison // of efficiencies
	var bestOf, worstOf compare.Record
	for _, typ := range v.SharedTypes() {
		for _, s := range v.StrongSeries(analysis.OverThreads, typ) {
			for _, r := range slices.Backward(s.Rows) {
				c, ok := s.Speedup(r)
				if !ok || v.IsCrowded(r.Threads) {
					continue
				}
				p := float64(r.Threads)
				c.Ratio, c.Lo, c.Hi = c.Ratio/p, c.Lo/p, c.Hi/p
				switch {
				case c.Lo >= 1-analysis.Slack && c.Hi <= 1+analysis.Slack:
					pro++
				case c.Hi < 1-analysis.Slack || c.Lo > 1+analysis.Slack:
					contra++
				default:
					open++
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
		"Series": pro + contra + open, "Inverse": pro, "Tolerance": analysis.Slackened, "Others": contra, "Open": open,
	})
	if apart > 0 {
		evidence += b.Say("evidence.apart", text.Args{"Series": apart})
	}
	if bestOf.Variant != "" {
		evidence += b.Say("evidence.efficiencies", text.Args{
			"BestRow": b.Where(v, bestOf), "Best": number.Times(best.Ratio, best.Lo, best.Hi),
			"WorstRow": b.Where(v, worstOf), "Worst": number.Times(worst.Ratio, worst.Lo, worst.Hi),
		})
	}
	return b.finding("inverse", analysis.Judge(pro, contra, open), "parallel --threads 1,2,4 --json strong.json", evidence)
}

// staticAhead: static is slightly ahead of dynamic, because nothing is decided while
// the loop runs.
func (b *builder) staticAhead(v *analysis.View) document.Text {
	return b.staticOrDynamic(v, "ahead", slices.Min[[]int], analysis.Slower)
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
		func(threads []int) int { return max(analysis.ManyThreads, slices.Max(threads)) }, analysis.Quicker)
}

// schedulesCommand measures static against dynamic schedules.
const schedulesCommand = "parallel --threads 2,4 --schedule static,dynamic --json schedules.json"

// staticOrDynamic judges which of the two schedules is faster on some number of threads. wanted is
// the outcome of the comparison that supports the finding.
func (b *builder) staticOrDynamic(v *analysis.View, key string, threads func([]int) int,
	wanted analysis.Outcome) document.Text {
	all := analysis.Fight(v.Duels(analysis.IsStatic, analysis.ToDynamic, threads))
	ahead, behind, level, open := 0, 0, 0, 0
	for _, f := range all {
		switch {
		case f.Outcome == analysis.Slower:
			ahead++
		case f.Outcome == analysis.Quicker:
			behind++
		case f.Steady():
			level++
		default:
			open++
		}
	}
	pro, contra := ahead, behind+level
	if wanted == analysis.Quicker {
		pro, contra = behind, ahead+level
	}
	evidence := b.Say("evidence.static", text.Args{
		"Pairs": len(all), "Ahead": ahead, "Behind": behind, "Level": level, "Tolerance": analysis.Tolerated, "Open": open,
	})
	return b.finding(key, analysis.Judge(pro, contra, open), schedulesCommand, evidence,
		b.extremes(v, all, "dynamic", "static"))
}

// extremes gives the least and the greatest ratio of duels: how many times as fast
// the second is as the first.
func (b *builder) extremes(v *analysis.View, all []analysis.Fought, second, first string) document.Text {
	if len(all) == 0 {
		return ""
	}
	by := func(x, y analysis.Fought) int { return cmp.Compare(x.Ratio, y.Ratio) }
	lo, hi := slices.MinFunc(all, by), slices.MaxFunc(all, by)
	if len(all) == 1 {
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

// between judges whether the second variant takes less time than the first, at least by the factor.
// Pairs that were not interleaved, as is usual for two variants, count only if no drift can explain
// the difference.
func (b *builder) between(v *analysis.View, key, first, second string, factor float64) document.Text {
	all := analysis.Fight(v.Duels(
		func(r compare.Record) bool { return r.Variant == first && r.Experiment != compare.ArtificialLoad },
		func(r compare.Record) string { return second + " " + r.Params.String() }, nil))
	pro, contra, open, apart := 0, 0, 0, 0
	for _, f := range all {
		gain := f.Outcome == analysis.Quicker && (factor == 1 || f.Lo >= factor)
		loss := f.Outcome == analysis.Slower || f.Steady() || factor > 1 && f.Hi < factor
		if !analysis.InTurn(f.First, f.Second) {
			apart++
			c := analysis.Contrast(f.First, f.Second)
			gain, loss = c.Lo > factor*analysis.Drift, c.Hi < factor/analysis.Drift
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
			"Pairs": apart, "Above": number.Significant(factor * analysis.Drift),
			"Below": number.Significant(factor / analysis.Drift),
		})
	}
	variants := strings.Join([]string{first, second}, ",")
	return b.finding(key, analysis.Judge(pro, contra, open),
		"parallel --variants "+variants+" --sizes 128,256 --json "+key+".json", evidence,
		b.extremes(v, all, analysis.Algorithm(second), analysis.Algorithm(first)))
}

// privateCopy: a private C, merged at the end, is two to three times as fast as an
// atomic addition a term.
func (b *builder) privateCopy(v *analysis.View) document.Text {
	return b.between(v, "private", analysis.CollapseInnerAtomic, analysis.CollapseAtomic, 2)
}

// singleLoop: a private C beats the outer loop alone in parallel.
func (b *builder) singleLoop(v *analysis.View) document.Text {
	return b.between(v, "single", analysis.Rows, analysis.CollapseAtomic, 1)
}

// reduction: merging by atomic additions beats a reduction.
func (b *builder) reduction(v *analysis.View) document.Text {
	return b.between(v, "reduction", analysis.CollapseReduce, analysis.CollapseAtomic, 1)
}

// automatic is the finding on the schedule auto: gcc's is static, ours measures. There is no verdict, only the
// schedules that it chose and its speed compared with static.
func (b *builder) automatic(v *analysis.View) document.Text {
	rows := v.Pick(func(r compare.Record) bool { return r.Params["schedule"] == "auto" && r.Speed() })
	if len(rows) == 0 {
		return b.finding("auto", analysis.Unmeasured, "parallel --schedule static,auto --json auto.json")
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
