package sharing

import (
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/claim"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// ThreadClaims is the section on the claims about threads, if the host has rows of experiments on them.
func ThreadClaims(base *chapters.Builder, v *analysis.View) []document.Section {
	b := &builder{base}
	if !experimented(v, analysis.Parallel) {
		return nil
	}
	s, _ := b.findings(v)
	return []document.Section{s}
}

// experimented reports whether there are timed rows of an experiment on a family.
func experimented(v *analysis.View, fam string) bool {
	return slices.ContainsFunc(v.Records, func(r compare.Record) bool {
		return r.Speed() && analysis.Family(r.Variant) == fam && slices.Contains(analysis.Experiments, r.Experiment)
	})
}

// RankClaims is the section on the claims about ranks, without its tables, if the host has rows of
// ranks.
func RankClaims(base *chapters.Builder, v *analysis.View) []document.Section {
	b := &builder{base}
	if !v.Distributes() {
		return nil // not even of the ladder, in which ranks are compared
	}
	s := b.Of(v, "mpi-findings", "mpi-findings.title")
	b.rankClaims(&s, v)
	return []document.Section{s}
}

// TimelineArgs are the arguments of the caption of a timeline.
func TimelineArgs(b *chapters.Builder, c analysis.Concert) text.Args {
	return text.Args{"Variant": c.Variant, "Size": c.Label(), "Workers": b.Count("workers", c.Threads)}
}

// rankClaims adds the claims about ranks to a section.
func (b *builder) rankClaims(s *document.Section, v *analysis.View) {
	s.Text(b.Say("mpi-findings.intro", text.Args{
		"Band": band, "Enough": claim.Enough, "Few": analysis.FewRanks, "Large": largeRanks,
		"Far": number.Significant(claim.Far),
	}))
	s.List([]document.Text{
		b.overRanks(v, rankClaim{"blocks", gemm.ReportRows, gemm.ReportBlocks, claim.Slightly, 0, 2, 0, "2,4"}),
		b.overRanks(v, rankClaim{"gapfew", gemm.ReportMessages, gemm.ReportRows, claim.Much, largeRanks, 2,
			analysis.FewRanks, "2,4"}),
		b.overRanks(v, rankClaim{"gapmany", gemm.ReportMessages, gemm.ReportRows, claim.Hardly, largeRanks,
			analysis.FewRanks + 1, 0, "8,16"}),
	})
}

// largeRanks is the n from which n×n matrices are large for claims about ranks.
const largeRanks = 512

// rankClaim is a claim that the variant of the part fast is faster than that of slow.
type rankClaim struct {
	key        string
	slow, fast gemm.Part
	claimed    claim.Range
	size       int    // the least n of the n³ terms of a product
	few, many  int    // the numbers of ranks, from few to many; many 0: no limit
	np         string // numbers of ranks that measure it
}

// admits reports whether the claim is about a row. The master of the 2024 report only deals out.
func (c rankClaim) admits(r compare.Record) bool {
	ranks := analysis.OverRanks.Count(r)
	return r.Params["master"] != "works" && r.Terms() >= gemm.Cube(c.size).Terms() &&
		ranks >= c.few && (c.many == 0 || ranks <= c.many)
}

// overRanks judges a claim about ranks that compute with the kernel of the 2024 report. With another one the
// messages are another part of the time.
func (b *builder) overRanks(v *analysis.View, c rankClaim) document.Text {
	first, second, textbook := v.Playing(c.slow), v.Playing(c.fast), v.First(analysis.Serial)
	command := "mpi --variants " + strings.Join(v.Ways(), ",") + " --np " + c.np +
		" --local " + textbook + " --sizes 512,1024 --json ranks.json"
	if v.IsCrowded(c.few) {
		return b.beyond(c.key, c.few, command)
	}
	var duels []analysis.Duel
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		for _, d := range v.Roomy(v.Couples(typ, first, second)) {
			if c.admits(d.First) {
				duels = append(duels, d)
			}
		}
	}
	duels, evidence := ofKernel(b, duels, textbook,
		func(d analysis.Duel) string { return analysis.Local(d.First) })
	all := analysis.Fight(duels)
	cases := claim.Cases{}
	for _, f := range all {
		cases.Add(c.claimed.Judge(f.Lo, f.Hi), claim.PlaceOf(f.First))
	}
	return b.finding(c.key, analysis.OverRanks, cases, command, evidence,
		b.extremes(v, all, analysis.Algorithm(second), analysis.Algorithm(first)))
}

// Ensemble adds the timeline of the ranks of a host, or of its GPU.
func Ensemble(b *chapters.Builder, s *document.Section, v *analysis.View, family, command string) {
	e, ok := v.Ensemble(family)
	if !ok {
		return
	}
	args := text.Args{"Type": e.Type, "Size": b.Sizes([]analysis.Problem{e.Problem})}
	if family == analysis.OnRanks {
		args["Ranks"] = b.Count("ranks", e.Lanes)
	}
	id := figures.EnsembleID(family)
	b.Figure(s, v, id, "fig."+id, command, args)
	within := 0.0
	for _, t := range e.Traces {
		within = max(within, t.ClockError)
	}
	if within > 0 {
		s.Text(b.Say("mpi-timeline.clocks", text.Args{"Time": number.Seconds(within)}))
	}
}
