package chapters

import (
	"fmt"
	"maps"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Peers holds the libraries of others against the variants of the suite.
func (b *Builder) Peers(v *analysis.View) []document.Section {
	isPeer := func(r compare.Record) bool {
		return r.Experiment == compare.MainLadder && analysis.Foreign(r.Variant) && analysis.Rival(r)
	}
	s := b.Of(v, "against", "peers.of")
	rows := v.Pick(isPeer)
	if !v.HasCPU() {
		return nil
	}
	if len(rows) == 0 {
		s.Text(b.Say("peers.absent", text.Args{
			"Command": document.Literal(b.Program + " compare --families serial,reference"),
		}))
		return append([]document.Section{s}, b.contest(v)...)
	}
	for _, typ := range analysis.Types(rows) {
		ladder := v.Ladder(typ)
		table := document.Table{
			ID: "table-peers-" + analysis.Anchor(typ) + v.Suffix, Caption: b.Say("peers.caption", text.Args{"Type": typ}),
			Columns: b.Columns("peer", "against", "size", "#threads", "#peerratio", "#interval", "#p", "verdict", "turn"),
		}
		var items []document.Text
		var used []compare.Record
		for _, peer := range analysis.Distinct(rows, analysis.VariantOf) {
			sentence, lines, pairs := b.peer(ladder, peer)
			if sentence != "" {
				items = append(items, sentence)
			}
			table.Rows = append(table.Rows, lines...)
			used = append(used, pairs...)
		}
		if len(items) == 0 {
			continue
		}
		s.Text(b.Say("peers.type", text.Args{"Type": typ}))
		s.List(items)
		if len(table.Rows) > 0 {
			table.Command = b.Rerun(v, used)
			s.Add(table)
		}
	}
	return append([]document.Section{s}, b.contest(v)...)
}

// peer says where one library is faster and where the suite is. It returns a table row for every
// case that both were timed on, and the compared rows.
func (b *Builder) peer(ladder []compare.Record, peer string) (document.Text, []document.Row, []compare.Record) {
	var lines []document.Row
	var used []compare.Record
	sorted := map[int]map[analysis.Outcome][]analysis.Problem{} // by threads
	apart := map[int][]analysis.Problem{}                       // not in turn, by threads
	var last analysis.Comparison
	var lastPoint analysis.Problem
	var opponent, ran string
	seen, reason := false, ""
	for _, p := range analysis.Problems(ladder) {
		r, ok := analysis.At(ladder, peer, p)
		if !ok {
			continue
		}
		seen = true
		if !r.Speed() {
			reason = r.Reason
			continue
		}
		own, found := b.opponent(ladder, r)
		if !found {
			continue
		}
		c, together := analysis.Versus(r, own), analysis.InTurn(r, own)
		if sorted[p.Threads] == nil {
			sorted[p.Threads] = map[analysis.Outcome][]analysis.Problem{}
		}
		turn, verdict := "turn.apart", b.Say("verdict.apart")
		if together {
			sorted[p.Threads][c.Outcome] = append(sorted[p.Threads][c.Outcome], p)
			turn, verdict = "turn.together", b.PeerVerdict(c.Outcome)
		} else {
			apart[p.Threads] = append(apart[p.Threads], p)
		}
		last, lastPoint, opponent, ran = c, p, own.Variant, asRun(r)
		used = append(used, own, r)
		lines = append(lines, document.Row{Cells: []document.Text{
			document.Literal(peer), document.Literal(own.Variant), document.Escape(p.Label()),
			document.Text(fmt.Sprint(p.Threads)), document.Text(number.Significant(c.Ratio)),
			document.Text(number.Extent(c.Lo, c.Hi, number.Significant)), document.Text(number.Probability(c.P)),
			verdict, b.Say(turn),
		}})
	}
	switch {
	case !seen:
		return "", nil, nil
	case len(lines) == 0 && reason != "":
		return b.Say("peers.untimed", text.Args{"Library": document.Literal(peer), "Reason": reason}), nil, nil
	case len(lines) == 0:
		return b.Say("peers.alone", text.Args{"Library": document.Literal(peer)}), nil, nil
	}
	sentence := b.Say("peers.bare", text.Args{"Library": document.Literal(peer)})
	if ran != number.Absent {
		sentence = b.Say("peers.name", text.Args{"Library": document.Literal(peer), "Settings": ran})
	}
	for _, threads := range slices.Sorted(maps.Keys(sorted)) {
		if len(sorted) > 1 {
			sentence += b.Say("peers.on", text.Args{"Threads": b.Count("threads", threads)})
		}
		if len(sorted[threads]) > 0 {
			sentence += b.outcomes("peers", sorted[threads])
		}
		if len(apart[threads]) > 0 {
			sentence += b.Say("peers.apart", text.Args{"Sizes": b.Sizes(apart[threads])})
		}
	}
	sentence += b.Say("peers.largest", text.Args{
		"Size": b.Sizes([]analysis.Problem{lastPoint}), "Ratio": number.Significant(last.Ratio),
		"Variant": document.Literal(opponent), "Threads": b.Count("threads", lastPoint.Threads),
	})
	if known := number.Extent(last.Lo, last.Hi, number.Significant); known != number.Absent {
		sentence += b.Say("interval", text.Args{"Interval": known})
	}
	return sentence + b.Say("stop"), lines, used
}

// opponent returns the row of the suite that a peer's row is compared with, on the same case and
// number of threads: the interleaved one, or else the fastest. A library on ranks is compared with
// rows on ranks only, whose operands are distributed too.
func (b *Builder) opponent(ladder []compare.Record, peer compare.Record) (compare.Record, bool) {
	distributed := func(r compare.Record) bool {
		return len(r.Ranks) > 0 || analysis.Family(r.Variant) == analysis.OnRanks || r.Variant == analysis.ScaLAPACK
	}
	like := func(r compare.Record) bool {
		return analysis.Ours(r) && !analysis.ByGPU(r) && distributed(r) == distributed(peer)
	}
	if r, ok := analysis.Quickest(ladder, analysis.ProblemOf(peer), func(r compare.Record) bool {
		return like(r) && peer.Turn != "" && r.Turn == peer.Turn
	}); ok {
		return r, true
	}
	return analysis.Quickest(ladder, analysis.ProblemOf(peer), like)
}

// PeerVerdict returns the word for a comparison in which the peer is the first
// row.
func (b *Builder) PeerVerdict(o analysis.Outcome) document.Text {
	return b.Say([]string{analysis.TooFew: "verdict.few", analysis.Level: "verdict.level", analysis.Quicker: "peers.ahead",
		analysis.Slower: "peers.behind"}[o])
}

// asRun returns what a row found out when it ran: version, kernel, file. Threads are given with each
// case.
func asRun(r compare.Record) string {
	resolved := maps.Clone(r.Resolved)
	maps.DeleteFunc(resolved, func(name string, value any) bool { return name == "threads" || r.Params[name] == value })
	if len(resolved) == 0 {
		return number.Absent
	}
	return resolved.String()
}
