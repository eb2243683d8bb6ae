package chapters

import (
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Summary is the chapter for readers of one chapter only: first the errors, then what was measured, then
// the fastest variants.
func (b *Builder) Summary() document.Section {
	s := b.Section("summary", 1)
	rows := b.Doc.Records
	if len(rows) == 0 {
		s.Text(b.Say("summary.empty", text.Args{"Command": document.Literal(b.Program + " compare --out report")}))
		return s
	}
	byStatus := map[compare.Status][]compare.Record{}
	for _, r := range rows {
		byStatus[r.Status] = append(byStatus[r.Status], r)
	}
	for _, status := range []compare.Status{compare.Wrong, compare.Suspect, compare.Failed, compare.Timeout} {
		if bad := byStatus[status]; len(bad) > 0 {
			s.Add(document.Paragraph{Text: b.Count("summary."+string(status), len(bad))})
			s.List(b.offenders(bad))
		}
	}
	if verified := len(byStatus[compare.OK]); verified > 0 && len(byStatus[compare.Wrong]) == 0 {
		s.Add(document.Paragraph{Text: b.Count("summary.right", verified)})
	}

	var counts []document.Text
	for _, status := range []compare.Status{compare.OK, compare.Wrong, compare.Suspect, compare.Skipped,
		compare.Unavailable, compare.Timeout, compare.Failed} {
		if n := len(byStatus[status]); n > 0 {
			counts = append(counts, b.Say("summary.count", text.Args{"Status": b.Status(status), "Rows": n}))
		}
	}
	s.Text(b.Say("summary.rows", text.Args{
		"Rows": b.Count("rows", len(rows)), "Variants": b.Count("variants", len(analysis.Distinct(rows, analysis.VariantOf))),
		"Hosts": b.Count("hosts", len(b.Views)), "States": b.Join(counts),
	}))
	if revisions := b.revisions(); len(revisions) > 1 {
		s.Text(b.Say("summary.revisions", text.Args{"Revisions": b.Join(revisions)}))
	}
	for _, v := range b.Views {
		b.leaders(&s, v)
	}
	return s
}

// offenders names rows that went wrong, with their reasons.
func (b *Builder) offenders(rows []compare.Record) []document.Text {
	var items []document.Text
	for _, r := range rows {
		where := document.Text("")
		if len(b.Views) > 1 {
			where = b.Say("onhost", text.Args{"Host": r.Host})
		}
		reason := document.Escape(r.Reason)
		if reason == "" {
			reason = b.Say("summary.unreasoned", text.Args{
				"Residual": number.Significant(float64(r.Residual)), "Bound": number.Significant(float64(r.Bound)),
			})
		}
		items = append(items, b.Say("summary.offender", text.Args{
			"Variant": b.Name(r), "Type": r.Type, "Size": analysis.ProblemOf(r).Label(), "Host": where, "Reason": reason,
		}))
	}
	return items
}

// revisions returns the revisions of the programs that measured the rows.
func (b *Builder) revisions() []document.Text {
	used := map[string]bool{}
	for _, r := range b.Doc.Records {
		used[r.Run] = true
	}
	var out []document.Text
	seen := map[string]bool{}
	for _, run := range b.Doc.Runs {
		if used[run.ID] && run.Git != "" && !seen[run.Git] {
			seen[run.Git] = true
			out = append(out, document.Literal(number.Revision(run.Git)))
		}
	}
	return out
}

// leaders says for each type of one host which variant is, on the processor and on the
// GPU, and names the baseline.
func (b *Builder) leaders(s *document.Section, v *analysis.View) {
	rows := v.Pick(func(r compare.Record) bool { return r.Experiment == compare.MainLadder && !analysis.ByGPU(r) })
	if len(rows) == 0 {
		rows = v.Pick(func(r compare.Record) bool {
			return slices.Contains(analysis.Experiments, r.Experiment) && !analysis.ByGPU(r)
		})
	}
	if len(rows) == 0 && !v.HasGPU() {
		return
	}
	var items []document.Text
	for _, typ := range analysis.Types(rows) {
		ladder := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return r.Type != typ })
		own, peer := compare.Record{}, compare.Record{}
		for _, r := range ladder {
			if analysis.Program(r.Variant) || analysis.Brought(r.Variant) {
				continue
			}
			best := &own
			if analysis.Rival(r) {
				best = &peer
			}
			now, _ := analysis.Speed(r)
			if old, _ := analysis.Speed(*best); now.Known() && !(now <= old) {
				*best = r
			}
		}
		if !own.Speed() {
			items = append(items, b.Say("summary.nothing", text.Args{"Type": typ}))
			continue
		}
		item := b.Say("summary.fastest", text.Args{"Type": typ, "Row": b.record(v, ladder, own)})
		if peer.Speed() {
			item += b.Say("summary.peer", text.Args{"Row": b.record(v, ladder, peer)}) + b.besidePeer(ladder, own, peer)
		}
		items = append(items, item)
	}
	for _, a := range []analysis.Axis{analysis.OverThreads, analysis.OverRanks} {
		for _, typ := range v.TypesOf(a) {
			if item := b.sharesBest(v, a, typ); item != "" {
				items = append(items, item)
			}
		}
	}
	for _, typ := range v.GPUTypes() {
		if item := b.gpuBest(v, typ); item != "" {
			items = append(items, item)
		}
	}
	if v.Suffix != "" && len(rows)+len(items) > 0 {
		s.Text(b.Say("summary.host", text.Args{"Host": b.HostName(v)}))
	}
	s.List(items)
	if len(rows) == 0 {
		return
	}
	if _, timed := v.Baseline(rows); timed {
		s.Text(b.Say("summary.baseline", text.Args{"Baseline": document.Literal(analysis.Baseline)}))
	} else {
		s.Text(b.Say("summary.nobaseline", text.Args{
			"Baseline": document.Literal(analysis.Baseline), "Command": document.Literal(b.Program + " compare"),
		}))
	}
	for _, typ := range analysis.Types(rows) {
		b.Figure(s, v, "speedup-"+typ, "fig.speedup", b.Rerun(v, v.Ladder(typ)), text.Args{
			"Type": typ, "Baseline": analysis.Baseline,
		})
	}
}

// besidePeer says how fast the suite is on the case of the fastest library, with as many threads, if
// its own fastest row is of another.
func (b *Builder) besidePeer(ladder []compare.Record, own, peer compare.Record) document.Text {
	there, ok := b.opponent(ladder, peer)
	if !ok || analysis.ProblemOf(peer) == analysis.ProblemOf(own) {
		return ""
	}
	value, unit := analysis.Speed(there)
	return b.Say("summary.beside", text.Args{
		"Variant": b.Name(there), "Speed": number.Significant(float64(value)), "Unit": unit,
	})
}

// sharesBest says which variant gains the most from threads or ranks, at the size of
// which the chapter on them speaks.
func (b *Builder) sharesBest(v *analysis.View, a analysis.Axis, typ string) document.Text {
	all := v.StrongSeries(a, typ)
	var best analysis.Comparison
	var of compare.Record
	for _, s := range v.Leading(all, analysis.MainSize(all)) {
		r := s.Full(v)
		if c, ok := s.Speedup(r); ok && (a.Count(r) > a.Count(of) || a.Count(r) == a.Count(of) && c.Ratio > best.Ratio) {
			best, of = c, r
		}
	}
	if of.Variant == "" {
		return ""
	}
	chapter := map[string]document.Text{analysis.OverThreads.Param: b.Say("sharing.title"),
		analysis.OverRanks.Param: b.Say("distributed.title")}[a.Param]
	return b.Say("summary."+a.Param, text.Args{
		"Type": typ, "Row": b.Where(v, of), "Ratio": number.Times(best.Ratio, best.Lo, best.Hi),
		"Section": document.Link(chapter, "#"+a.Prefix+"strong"+v.Suffix),
	})
}

// gpuBest says which rung is the fastest on the GPU, in the arithmetic of the type and in TF32.
func (b *Builder) gpuBest(v *analysis.View, typ string) document.Text {
	rows := v.Rungs(typ)
	fastest := func(keep func(compare.Record) bool) (best compare.Record, ok bool) {
		for _, r := range rows {
			if analysis.Ours(r) && keep(r) && (!ok || r.Gflops > best.Gflops) {
				best, ok = r, true
			}
		}
		return best, ok
	}
	best, ok := fastest(analysis.Exact)
	if !ok {
		return ""
	}
	sentence := b.Say("summary.gpu", text.Args{
		"Type": typ, "Rung": document.Literal(best.Variant), "Speed": Tflops(best),
		"Size": b.Sizes([]analysis.Problem{analysis.ProblemOf(best)}),
	})
	if library, ok := analysis.At(rows, analysis.CuBLAS, analysis.ProblemOf(best)); ok {
		sentence += b.Say("summary.gpuratio", text.Args{"Ratio": OverCell(library, best, true)})
	}
	sentence += b.Say("stop")
	if r, ok := fastest(analysis.InTF32); ok {
		sentence += b.Say("summary.gputf32", text.Args{
			"Rung": document.Literal(r.Variant), "Speed": Tflops(r), "Size": b.Sizes([]analysis.Problem{analysis.ProblemOf(r)}),
		})
	}
	return sentence + b.Say("summary.gpumore", text.Args{"Section": document.Link(b.Say("gpu.title"), "#gpu")})
}

// record says how fast a row is, of the peak and over the baseline, as far as
// these are known.
func (b *Builder) record(v *analysis.View, rows []compare.Record, r compare.Record) document.Text {
	value, unit := analysis.Speed(r)
	sentence := b.Say("summary.speed", text.Args{
		"Variant": b.Name(r), "Speed": number.Significant(float64(value)), "Unit": unit,
		"Size": b.caseOf(r),
	})
	sentence += b.OfPeak(analysis.Percent(r))
	if naive, ok := analysis.At(rows, analysis.Baseline, analysis.ProblemOf(r)); ok && naive.Speed() &&
		r.Variant != analysis.Baseline {
		sentence += b.Say("summary.naive", text.Args{
			"Ratio": number.Significant(float64(naive.Median / r.Median)), "Baseline": document.Literal(analysis.Baseline),
		})
	}
	return sentence
}

// caseOf names the case of a row: its size, and its threads or ranks if they are several and not among
// the parameters that it is named with.
func (b *Builder) caseOf(r compare.Record) document.Text {
	size := b.Sizes([]analysis.Problem{analysis.ProblemOf(r)})
	if r.Threads <= 1 || r.Params["threads"] != nil || r.Params["ranks"] != nil {
		return size
	}
	a := analysis.AxisOf(r.Variant)
	return b.Join([]document.Text{size, b.Count(a.Param, max(a.Count(r), 1))})
}

// Name returns a row's variant and the parameters that it was asked to have.
func (b *Builder) Name(r compare.Record) document.Text {
	sentence := document.Literal(r.Variant)
	if len(r.Params) > 0 {
		sentence += " " + document.Escape(r.Params.String())
	}
	return sentence
}
