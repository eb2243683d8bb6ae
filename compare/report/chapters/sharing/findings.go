package sharing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/claim"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// findings takes up the claims of the course report of 2024 about threads, one by one.
func (b *builder) findings(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "findings", "findings.title")
	s.Text(b.Say("findings.intro", text.Args{
		"Band": band, "Enough": claim.Enough, "Around": number.Significant(claim.Around),
		"Far": number.Significant(claim.Far),
	}))
	var items []document.Text
	for _, find := range []func(*analysis.View) document.Text{
		b.chunksMatter, b.inverse, b.schedulesMatter, b.staticAhead, b.staticBehind,
		b.privateCopy, b.singleLoop, b.reduction, b.automatic,
	} {
		items = append(items, find(v))
	}
	s.List(items)
	return s, true
}

// band is half of the band around 1 in prose.
var band = fmt.Sprintf("%g %%", 100*claim.Band)

// verdictKeys are the messages of the verdicts.
var verdictKeys = []string{
	claim.Unmeasured: "finding.unmeasured", claim.Undecided: "finding.undecided", claim.Supported: "finding.supported",
	claim.Mixed: "finding.mixed", claim.Refuted: "finding.refuted", claim.Reversed: "finding.reversed",
}

// Judgement is a claim, by the key of its message, and the verdict on it.
func Judgement(b *chapters.Builder, key string, v claim.Verdict) document.Text {
	return b.Say("finding", text.Args{"Claim": b.Say(key), "Verdict": b.Say(verdictKeys[v])})
}

// outcomeKeys are the messages that count the cases with an outcome.
var outcomeKeys = []string{
	claim.TooFew: "cases.few", claim.Open: "cases.open", claim.Holds: "cases.holds", claim.Level: "cases.level",
	claim.More: "cases.more", claim.Less: "cases.less", claim.Opposite: "cases.opposite",
}

// finding is one claim: its name, the verdict, where the cases have which outcome, and the evidence. Without
// measurements, it has the command that makes them.
func (b *builder) finding(key string, a analysis.Axis, c claim.Cases, command string,
	evidence ...document.Text) document.Text {
	verdict := c.Verdict()
	sentence := Judgement(b.Builder, "finding."+key, verdict)
	if verdict == claim.Unmeasured {
		return sentence + b.Say("finding.command", text.Args{"Command": document.Literal(b.Program + " " + command)})
	}
	sentence += b.Say("cases.decided", text.Args{"Decided": c.Decided(), "All": c.All()})
	for _, o := range []claim.Outcome{claim.Holds, claim.Level, claim.More, claim.Less, claim.Opposite, claim.Open,
		claim.TooFew} {
		if len(c[o]) == 0 {
			continue
		}
		var at []document.Text
		for _, g := range c.At(o) {
			var counts []document.Text
			for _, n := range g.Workers[:len(g.Workers)-1] {
				counts = append(counts, document.Text(fmt.Sprint(n)))
			}
			counts = append(counts, b.Count(a.Param, g.Workers[len(g.Workers)-1]))
			at = append(at, b.Say("cases.at", text.Args{"Size": b.Sizes([]analysis.Problem{g.Problem}),
				"Workers": b.Join(counts)}))
		}
		sentence += b.Say(outcomeKeys[o], text.Args{"Cases": len(c[o]), "Places": b.Clauses(at)})
	}
	return sentence + document.Join(evidence, "")
}

// beyond is the finding that a host with so few processors cannot have.
func (b *builder) beyond(key string, processors int, command string) document.Text {
	return Judgement(b.Builder, "finding."+key, claim.Unmeasured) +
		b.Say("finding.larger", text.Args{
			"Processors": processors, "Command": document.Literal(b.Program + " " + command),
		})
}

// kernel is the kernel of the 2024 report, ofReport begins the commands that measure it.
func kernel(v *analysis.View) string   { return v.Playing(gemm.ReportKernel) }
func ofReport(v *analysis.View) string { return "parallel --variants " + kernel(v) }

// ofKernel returns those of a kernel of the 2024 report, whose claims they are cases of, with a sentence
// that says so. Other kernels decide nothing about it.
func ofKernel[T any](b *builder, all []T, kernel string, variant func(T) string) ([]T, document.Text) {
	own := slices.DeleteFunc(slices.Clone(all), func(x T) bool { return variant(x) != kernel })
	return own, b.Say("evidence.kernel", text.Args{"Variant": document.Literal(kernel)})
}

// chunksMatter: the size of a chunk hardly matters.
func (b *builder) chunksMatter(v *analysis.View) document.Text {
	return b.hardlyMatters(v, "chunk", ofReport(v)+" --schedule static,dynamic --chunk 0,1,16,64 --json chunks.json",
		v.ChunkBouts)
}

// schedulesMatter: the schedules default, static and dynamic make no difference.
func (b *builder) schedulesMatter(v *analysis.View) document.Text {
	return b.hardlyMatters(v, "schedule", ofReport(v)+" --schedule default,static,dynamic --json default.json",
		v.ReportBouts)
}

// hardlyMatters judges whether the bouts between the values of a parameter show no difference.
func (b *builder) hardlyMatters(v *analysis.View, param, command string,
	bouts func(typ string) []analysis.Bout) document.Text {
	var all []analysis.Bout
	for _, typ := range v.SharedTypes() {
		all = append(all, bouts(typ)...)
	}
	all, evidence := ofKernel(b, all, kernel(v), func(g analysis.Bout) string { return g.Variant })
	cases := claim.Cases{}
	var worst *analysis.Bout
	for i, g := range all {
		o := claim.Same.Judge(g.Clearest.Lo, g.Clearest.Hi)
		if o == claim.Holds && !g.Bounded {
			o = claim.Open
		}
		cases.Add(o, claim.PlaceOf(g.Rows[0]))
		if o == claim.More && (worst == nil || g.Ratio > worst.Ratio) {
			worst = &all[i]
		}
	}
	if worst != nil {
		evidence += b.largest(*worst, param)
	}
	return b.finding(param, analysis.OverThreads, cases, command, evidence)
}

// inverse judges whether time falls as 1/threads. Every series is judged on the most threads that
// do not exceed the processors. A series that was not interleaved decides nothing.
func (b *builder) inverse(v *analysis.View) document.Text {
	cases := claim.Cases{}
	apart := 0
	var efficiencies []analysis.Fought
	var quickest []analysis.Series // of each variant and size: schedules are not cases of their own
	for _, typ := range v.SharedTypes() {
		all := v.StrongSeries(analysis.OverThreads, typ)
		for _, p := range analysis.Distinct(all, func(s analysis.Series) analysis.Problem { return s.Problem }) {
			quickest = append(quickest, v.Leading(all, p)...)
		}
	}
	quickest, evidence := ofKernel(b, quickest, kernel(v), func(s analysis.Series) string { return s.Variant })
	for _, s := range quickest {
		for _, r := range slices.Backward(s.Rows) {
			c, ok := s.Speedup(r)
			if !ok || v.Crowds(r) {
				continue
			}
			p := float64(r.Threads)
			inverse := claim.Range{Least: p / (1 + claim.Band), Most: p * (1 + claim.Band)}
			cases.Add(inverse.Judge(c.Lo, c.Hi), claim.PlaceOf(r))
			one, _ := s.One()
			if !analysis.InTurn(one, r) {
				apart++
			}
			c.Ratio, c.Lo, c.Hi = c.Ratio/p, c.Lo/p, c.Hi/p
			duel := analysis.Duel{First: r, Second: one}
			efficiencies = append(efficiencies, analysis.Fought{Duel: duel, Comparison: c})
			break
		}
	}
	evidence += b.Say("evidence.inverse")
	if apart > 0 {
		evidence += b.Say("evidence.apart", text.Args{"Series": apart})
	}
	return b.finding("inverse", analysis.OverThreads, cases, ofReport(v)+" --threads 1,2,4 --json strong.json",
		evidence, b.efficiencies(v, efficiencies))
}

// efficiencies gives the least and the greatest efficiency.
func (b *builder) efficiencies(v *analysis.View, all []analysis.Fought) document.Text {
	if len(all) == 0 {
		return ""
	}
	worst, best := ends(all)
	if _, _, same := number.Between(worst.Ratio, best.Ratio, number.Significant); same {
		return b.Say("evidence.efficiency", text.Args{
			"Row": b.Where(v, best.First), "Efficiency": number.Times(best.Ratio, best.Lo, best.Hi),
		})
	}
	return b.Say("evidence.efficiencies", text.Args{
		"BestRow": b.Where(v, best.First), "Best": number.Times(best.Ratio, best.Lo, best.Hi),
		"WorstRow": b.Where(v, worst.First), "Worst": number.Times(worst.Ratio, worst.Lo, worst.Hi),
	})
}

// ends returns the comparisons with the least and the greatest ratio.
func ends(all []analysis.Fought) (least, most analysis.Fought) {
	by := func(x, y analysis.Fought) int { return cmp.Compare(x.Ratio, y.Ratio) }
	return slices.MinFunc(all, by), slices.MaxFunc(all, by)
}

// staticAhead: static is slightly ahead of dynamic, because nothing is decided while
// the loop runs.
func (b *builder) staticAhead(v *analysis.View) document.Text {
	return b.staticOrDynamic(v, "ahead", slices.Min[[]int], analysis.Comparison.Inverse)
}

// staticBehind: against that, static is behind dynamic on many threads.
func (b *builder) staticBehind(v *analysis.View) document.Text {
	if v.IsCrowded(analysis.ManyThreads) {
		return b.beyond("behind", analysis.ManyThreads, schedulesCommand(v))
	}
	return b.staticOrDynamic(v, "behind",
		func(threads []int) int { return max(analysis.ManyThreads, slices.Max(threads)) },
		func(c analysis.Comparison) analysis.Comparison { return c })
}

// schedulesCommand measures static against dynamic schedules.
func schedulesCommand(v *analysis.View) string {
	return ofReport(v) + " --threads 2,4 --schedule static,dynamic --json schedules.json"
}

// staticOrDynamic judges which of the two schedules is slightly faster on some number of threads.
// turned returns the comparison of static with dynamic so that the claim is a ratio above 1.
func (b *builder) staticOrDynamic(v *analysis.View, key string, threads func([]int) int,
	turned func(analysis.Comparison) analysis.Comparison) document.Text {
	duels, evidence := ofKernel(b, v.Duels(analysis.IsStatic, analysis.ToDynamic, threads),
		kernel(v), func(d analysis.Duel) string { return d.First.Variant })
	all := analysis.Fight(duels)
	cases := claim.Cases{}
	for _, f := range all {
		c := turned(f.Comparison)
		cases.Add(claim.Slightly.Judge(c.Lo, c.Hi), claim.PlaceOf(f.First))
	}
	return b.finding(key, analysis.OverThreads, cases, schedulesCommand(v), evidence,
		b.extremes(v, all, "dynamic", "static"))
}

// extremes gives the least and the greatest ratio of duels: how many times as fast
// the second is as the first.
func (b *builder) extremes(v *analysis.View, all []analysis.Fought, second, first string) document.Text {
	if len(all) == 0 {
		return ""
	}
	lo, hi := ends(all)
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

// between judges whether the variant of the second part is as many times as fast as that of the first as is claimed.
// Rows of C are computed by their usual leaf, whose loops the others have. Pairs that were not interleaved, as is usual
// for two variants,
// count only if no drift can explain the difference.
func (b *builder) between(v *analysis.View, key string, slow, fast gemm.Part, claimed claim.Range) document.Text {
	first, second := v.Playing(slow), v.Playing(fast)
	leaf := v.Variant(first).Leaf
	all := analysis.Fight(v.Duels(
		func(r compare.Record) bool {
			return r.Variant == first && r.Experiment != compare.ArtificialLoad &&
				(leaf == "" || analysis.Local(r) == leaf)
		},
		func(r compare.Record) string { return second + " " + analysis.Omit(r.Params, "local").String() }, nil))
	cases := claim.Cases{}
	apart := 0
	for _, f := range all {
		lo, hi := f.Lo, f.Hi
		if !analysis.InTurn(f.First, f.Second) {
			apart++
			c := analysis.Contrast(f.First, f.Second)
			lo, hi = c.Lo/analysis.Drift, c.Hi*analysis.Drift
		}
		cases.Add(claimed.Judge(lo, hi), claim.PlaceOf(f.First))
	}
	var evidence document.Text
	if claimed.Most < math.Inf(1) {
		evidence += b.Say("evidence.around", text.Args{
			"Least": number.Significant(claimed.Least), "Most": number.Significant(claimed.Most),
		})
	}
	if apart > 0 {
		evidence += b.Say("evidence.drift", text.Args{
			"Pairs": apart, "Factor": number.Significant(analysis.Drift),
		})
	}
	variants := first + "," + second
	if leaf != "" {
		variants += " --local " + leaf
	}
	return b.finding(key, analysis.OverThreads, cases,
		"parallel --variants "+variants+" --sizes 128,256 --json "+key+".json", evidence,
		b.extremes(v, all, analysis.Algorithm(second), analysis.Algorithm(first)))
}

// privateCopy: a private C, merged at the end, is two to three times as fast as an
// atomic addition a term.
func (b *builder) privateCopy(v *analysis.View) document.Text {
	return b.between(v, "private", gemm.ReportTerms, gemm.ReportKernel,
		claim.Times(2, 3))
}

// singleLoop: a private C beats the outer loop alone in parallel.
func (b *builder) singleLoop(v *analysis.View) document.Text {
	return b.between(v, "single", gemm.ReportOuter, gemm.ReportKernel, claim.Faster)
}

// reduction: merging by atomic additions beats a reduction.
func (b *builder) reduction(v *analysis.View) document.Text {
	return b.between(v, "reduction", gemm.ReportReduced, gemm.ReportKernel, claim.Faster)
}

// automatic is the finding on the schedule auto: gcc's is static, ours measures. There is no verdict, only the
// schedules that it chose and its speed compared with static.
func (b *builder) automatic(v *analysis.View) document.Text {
	rows := v.Pick(func(r compare.Record) bool { return r.Params["schedule"] == "auto" && r.Speed() })
	if len(rows) == 0 {
		return b.finding("auto", analysis.OverThreads, nil, "parallel --schedule static,auto --json auto.json")
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

// called returns the value of a parameter for prose: a number is followed by its unit or noun.
func (b *builder) called(r compare.Record, param string) document.Text {
	if n, ok := r.Params[param].(int); ok && n != 0 {
		return document.Escape(fmt.Sprintf("%s=%d", param, n))
	}
	return b.ValueOf(r, param)
}

// largest says which pair of a bout differs most, and by how much.
func (b *builder) largest(g analysis.Bout, param string) document.Text {
	where := []document.Text{b.Sizes([]analysis.Problem{g.Problem}), b.Count(analysis.AxisOf(g.Variant).Param, g.Count())}
	if g.Set != "" {
		where = append(where, document.Escape(g.Set))
	}
	return b.Say("spread.largest", text.Args{
		"Place": b.Join(where), "Slow": b.called(g.Slow, param), "Ratio": number.Times(g.Ratio, g.Lo, g.Hi),
		"Quick": b.called(g.Quick, param),
	})
}
