package sharing

import (
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
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
