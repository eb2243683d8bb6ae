package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// bout is rows of one variant on one problem that differ in one parameter.
type bout struct {
	problem
	variant string
	rest    gemm.Params // the other parameters, but for the threads
	set     string      // rest in words
	rows    []compare.Record
	rivalry
}

// count returns the threads of the rows, or their ranks.
func (g bout) count() int { return axisOf(g.variant).count(g.rows[0]) }

// bouts pairs rows off by one parameter and has them compete.
func bouts(rows []compare.Record, param string) []bout {
	out := pairings(rows, param)
	for i := range out {
		out[i].rivalry = compete(out[i].rows)
	}
	return out
}

// pairings groups rows that differ in one parameter, at every setting of the others
// that has several of its values, in the order of variants and sizes. Where two
// experiments have the same rows those that have more of them stand.
func pairings(rows []compare.Record, param string) []bout {
	var out []bout
	at := map[string]int{}
	for _, r := range rows {
		p := problemOf(r)
		rest := omit(r.Params, "threads", param)
		key := fmt.Sprint(r.Experiment, r.Variant, p, rest)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, bout{problem: p, variant: r.Variant, rest: rest, set: setting(rest)})
		}
		out[i].rows = append(out[i].rows, r)
	}
	largest := map[string]*bout{}
	name := func(g bout) string { return fmt.Sprint(g.variant, g.problem, setting(g.rest)) }
	for i, g := range out {
		if old := largest[name(g)]; old == nil || len(g.rows) > len(old.rows) {
			largest[name(g)] = &out[i]
		}
	}
	var kept []bout
	for i, g := range out {
		if len(g.rows) >= 2 && largest[name(g)] == &out[i] {
			kept = append(kept, g)
		}
	}
	variants := distinct(rows, variantOf)
	slices.SortStableFunc(kept, func(x, y bout) int {
		return cmp.Or(cmp.Compare(slices.Index(variants, x.variant), slices.Index(variants, y.variant)), x.problem.compare(y.problem))
	})
	return kept
}

// chunked are the rows between which chunks are compared: all but those under auto,
// which chooses its own.
func (v *view) chunked(typ string) []compare.Record {
	return slices.DeleteFunc(v.shared(typ, "chunk", "strong"), func(r compare.Record) bool {
		return r.Params["schedule"] == "auto"
	})
}

// chunkBouts are those between chunks.
func (v *view) chunkBouts(typ string) []bout {
	if _, done := v.chunkTests[typ]; !done {
		v.chunkTests[typ] = bouts(slices.DeleteFunc(v.chunked(typ), starves), "chunk")
	}
	return v.chunkTests[typ]
}

// starves reports whether r's chunks are so large that some worker has none: larger than
// an equal part of the loop.
func starves(r compare.Record) bool {
	length := r.M // of rows
	switch algorithm(r.Variant) {
	case "inner":
		length = r.N
	case "collapse-inner-atomic", "collapse-atomic", "collapse-reduce":
		length = r.M * r.K
	case "tiles":
		if tile, ok := r.Resolved["tile"].(int); ok && tile > 0 {
			length = ((r.M + tile - 1) / tile) * ((r.N + tile - 1) / tile)
		}
	}
	return chunkOf(r.Params)*r.Threads > length
}

// scheduleBouts are those between schedules, all with their default chunk.
func (v *view) scheduleBouts(typ string) []bout {
	return bouts(slices.DeleteFunc(v.shared(typ, "chunk", "strong"), func(r compare.Record) bool {
		return chunkOf(r.Params) != 0
	}), "schedule")
}

// chunks says what schedules and chunks do.
func (b *builder) chunks(v *view) (document.Section, bool) {
	s := b.of(v, "chunk", "chunk.title")
	s.Text(b.Say("chunk.intro"))
	found := false
	for _, typ := range v.sharedTypes() {
		chunks, schedules := v.chunkBouts(typ), v.scheduleBouts(typ)
		if len(chunks)+len(schedules) == 0 {
			continue
		}
		found = true
		b.decide(&s, v, "chunk", "chunk", typ, chunks)
		for _, schedule := range []string{"static", "dynamic", "guided"} {
			b.figure(&s, v, "chunk-"+schedule+"-"+typ, "fig.chunk", b.rerun(v, rowsOf(chunks)), text.Args{
				"Type": typ, "Schedule": schedule,
			})
		}
		b.decide(&s, v, "schedule", "schedule", typ, schedules)
	}
	return s, found
}

// placing returns the section on an experiment that sweeps the parameter of its name.
func (b *builder) placing(a axis, param string) func(*view) (document.Section, bool) {
	return func(v *view) (document.Section, bool) {
		kind := a.prefix + param
		s := b.of(v, kind, kind+".title")
		s.Text(b.Say(kind + ".intro"))
		found := false
		for _, typ := range v.typesOf(a) {
			all := bouts(v.along(a, typ, param), param)
			for i, g := range all {
				all[i].set = v.trait(g.variant, g.rest)
			}
			if len(all) > 0 {
				found = true
				b.decide(&s, v, kind, param, typ, all)
				if param == "panel" {
					b.figure(&s, v, kind+"-"+typ, "fig."+kind, b.rerun(v, rowsOf(all)), text.Args{"Type": typ})
				} else {
					s.Add(b.placements(v, kind, param, typ, all))
				}
			}
		}
		b.nodes(&s, v, kind)
		return s, found
	}
}

// nodes says whether the host has memory that is nearer to some of its processors, where
// threads that share operands are placed.
func (b *builder) nodes(s *document.Section, v *view, kind string) {
	switch {
	case kind != "affinity":
	case v.NUMA > 1:
		s.Text(b.Say("numa.several", text.Args{"Nodes": v.NUMA}))
	case v.NUMA == 1:
		s.Text(b.Say("numa.one"))
	}
}

// rowsOf returns all rows of bouts.
func rowsOf(all []bout) []compare.Record {
	var rows []compare.Record
	for _, g := range all {
		rows = append(rows, g.rows...)
	}
	return rows
}

// valueOf returns the value of a parameter that a row was asked to have, a chunk and
// GOMAXPROCS of 0 as the word for what is not set.
func (b *builder) valueOf(r compare.Record, param string) document.Text {
	value, ok := r.Params[param]
	if !ok || value == 0 {
		return b.Say("value.default")
	}
	return document.Escape(fmt.Sprint(value))
}

// called returns the value of a parameter for prose, a number with the name of what it
// is.
func (b *builder) called(r compare.Record, param string) document.Text {
	if n, ok := r.Params[param].(int); ok && n != 0 {
		return document.Escape(fmt.Sprintf("%s=%d", param, n))
	}
	return b.valueOf(r, param)
}

// decide adds what the tests say of the bouts over one parameter: a sentence a variant
// and a table of all.
func (b *builder) decide(s *document.Section, v *view, kind, param, typ string, all []bout) {
	if len(all) == 0 {
		return
	}
	var items []document.Text
	variants := map[string][]bout{}
	for _, g := range all {
		variants[g.variant] = append(variants[g.variant], g)
	}
	for _, variant := range distinct(rowsOf(all), variantOf) {
		items = append(items, b.Say("scales.name", text.Args{
			"Subject": document.Literal(variant),
		})+b.verdicts(variants[variant], param))
	}
	s.Text(b.Say(kind+".of", text.Args{"Type": typ}))
	s.List(items)
	t := document.Table{
		ID:      "table-bouts-" + anchor(kind) + "-" + anchor(typ) + v.suffix,
		Caption: b.Say(kind+".caption", text.Args{"Type": typ}), Command: b.rerun(v, rowsOf(all)),
		Columns: b.columns("variant", "setting", "size", "#"+axisOf(all[0].variant).param, "quickest", "slowest", "#slowdown", "#padjusted", "#apart", "verdict", "turn"),
	}
	for _, g := range all {
		turn := "turn.apart"
		if g.Turn != "" {
			turn = "turn.together"
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Literal(g.variant), settled(g.set), document.Escape(g.label()), document.Text(fmt.Sprint(g.count())),
			b.valueOf(g.Quick, param), b.valueOf(g.Slow, param), times(g.Ratio, g.Lo, g.Hi), document.Text(probability(g.P)),
			document.Text(fmt.Sprintf("%d / %d", g.Apart, g.Pairs)), b.spreadVerdict(g.Outcome), b.Say(turn),
		}})
	}
	s.Add(t)
}

// spreadVerdict returns the word for what the pairs of a bout say.
func (b *builder) spreadVerdict(o spreadOutcome) document.Text {
	return b.Say([]string{untold: "spread.untold", same: "spread.same", slight: "spread.slight", differ: "spread.differ"}[o])
}

// verdicts sums bouts up: how many came out how, and the largest difference.
func (b *builder) verdicts(all []bout, param string) document.Text {
	counts := map[spreadOutcome]int{}
	var worst *bout
	for i, g := range all {
		counts[g.Outcome]++
		if (g.Outcome == differ || g.Outcome == slight) && (worst == nil || g.Ratio > worst.Ratio) {
			worst = &all[i]
		}
	}
	var parts []document.Text
	for _, o := range []spreadOutcome{same, slight, differ, untold} {
		switch n := counts[o]; {
		case n == len(all):
			parts = append(parts, b.Say([]string{untold: "every.untold", same: "every.same", slight: "every.slight", differ: "every.differ"}[o]))
		case n > 0:
			parts = append(parts, b.Say([]string{untold: "some.untold", same: "some.same", slight: "some.slight", differ: "some.differ"}[o], text.Args{
				"Some": n, "All": len(all),
			}))
		}
	}
	sentence := b.Sentence(parts)
	if worst != nil {
		sentence += b.largest(*worst, param)
	}
	return sentence
}

// largest says which pair of a bout differs most, and by how much.
func (b *builder) largest(g bout, param string) document.Text {
	where := []document.Text{b.sizes([]problem{g.problem}), b.Count(axisOf(g.variant).param, g.count())}
	if g.set != "" {
		where = append(where, document.Escape(g.set))
	}
	return b.Say("spread.largest", text.Args{
		"Place": b.Join(where), "Slow": b.called(g.Slow, param), "Ratio": times(g.Ratio, g.Lo, g.Hi),
		"Quick": b.called(g.Quick, param),
	})
}

// placements has the rows of the bouts one by one, each held against the one that
// leaves the parameter alone.
func (b *builder) placements(v *view, kind, param, typ string, all []bout) document.Table {
	t := document.Table{
		ID:      "table-" + kind + "-" + anchor(typ) + v.suffix,
		Caption: b.Say(kind+".rows", text.Args{"Type": typ}), Command: b.rerun(v, rowsOf(all)),
		Columns: slices.Insert(b.columns("variant", "setting", "size", "#"+axisOf(all[0].variant).param, "placement", "#median", "#interval", "#overfree"), 4, b.named([]string{param})...),
	}
	for _, g := range all {
		free := slices.IndexFunc(g.rows, func(r compare.Record) bool {
			value := r.Params[param]
			return value == nil || value == 0 || value == "none"
		})
		for i, r := range g.rows {
			cells := []document.Text{
				document.Literal(r.Variant), settled(g.set), document.Escape(g.label()), document.Text(strconv.Itoa(g.count())),
				b.valueOf(r, param), placement(r), document.Text(b.median(r)), document.Text(b.ci(r)),
			}
			over := document.Text(absent)
			if free >= 0 && i != free {
				c := beside(g.rows[free], r)
				over = times(c.Ratio, c.Lo, c.Hi)
			}
			t.Rows = append(t.Rows, document.Row{Cells: append(cells, over)})
		}
	}
	return t
}

// placement returns the processors that the workers of a row were pinned to, of many
// that are as far apart from one another the first two and the last; of the family mpi
// those of each rank.
func placement(r compare.Record) document.Text {
	if len(r.Ranks) > 0 {
		var places []document.Text
		for _, rank := range r.Ranks {
			places = append(places, document.Escape(rank.CPUs))
		}
		return document.Join(slices.Compact(places), " / ")
	}
	place, _ := r.Resolved["placement"].(string)
	if place == "" {
		return absent
	}
	names := strings.Split(place, ",")
	var numbers []int
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil {
			return document.Escape(place)
		}
		numbers = append(numbers, n)
	}
	const few = 4
	even := len(numbers) > few
	for i := 2; even && i < len(numbers); i++ {
		even = numbers[i]-numbers[i-1] == numbers[1]-numbers[0]
	}
	if even {
		names = []string{names[0], names[1], "…", names[len(names)-1]}
	}
	return document.Escape(strings.Join(names, ", "))
}
