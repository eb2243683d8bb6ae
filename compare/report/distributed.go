package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// distributed is what is said of the family mpi on one host: its variants by ranks and
// sizes, where their time goes, what they send against what they must, how they scale,
// and what becomes of the findings of the report of 2024.
func (b *builder) distributed(v *view) []document.Section {
	if !v.distributes() {
		return nil
	}
	var sections []document.Section
	for _, part := range []func(*view) (document.Section, bool){
		b.ranked, b.besideLibrary, b.phases, b.bytes, b.shares, b.modelled,
		b.strong(overRanks), b.weak(overRanks), b.placing(overRanks, "panel"), b.placing(overRanks, "schedule"), b.placing(overRanks, "affinity"),
		b.overlap, b.rankFindings,
	} {
		if s, ok := part(v); ok {
			sections = append(sections, s)
		}
	}
	return sections
}

// distributes reports whether there is anything to say in the chapter on ranks.
func (v *view) distributes() bool { return len(timed(v.ofRanks())) > 0 }

// spreadVariants are those whose operands are spread over the ranks; those of the other
// variants are on rank 0.
var spreadVariants = []string{"mpi/summa", "mpi/srumma", "mpi/cannon", "mpi/25d"}

// ofRanks returns the rows of the family mpi that say how many ranks they have, timed or
// not, once each: those of the experiments of a fixed size, or all where those have none.
func (v *view) ofRanks() []compare.Record {
	all := v.pick(func(r compare.Record) bool {
		return family(r.Variant) == overRanks.family && overRanks.count(r) > 0
	})
	var out []compare.Record
	seen := map[string]bool{}
	for _, experiment := range overRanks.fixed() {
		for _, r := range all {
			if key := fmt.Sprint(r.Variant, problemOf(r), r.Params); r.Experiment == experiment && !seen[key] {
				seen[key] = true
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 {
		out = all
	}
	variants := distinct(v.records, variantOf)
	slices.SortStableFunc(out, func(x, y compare.Record) int {
		return cmp.Or(
			cmp.Compare(slices.Index(variants, x.Variant), slices.Index(variants, y.Variant)),
			alone(x).compare(alone(y)), cmp.Compare(overRanks.count(x), overRanks.count(y)), cmp.Compare(x.Threads, y.Threads))
	})
	return out
}

// ofRanksIn returns the timed of those rows of one type.
func (v *view) ofRanksIn(typ string) []compare.Record {
	return slices.DeleteFunc(v.ofRanks(), func(r compare.Record) bool { return r.Type != typ || !r.Speed() || !(r.Median > 0) })
}

// alone returns the problem of a row without its threads.
func alone(r compare.Record) problem {
	p := problemOf(r)
	p.threads = 1
	return p
}

// place returns the cells of a row of the family mpi that say what it is: its variant,
// setting, size and ranks.
func (v *view) place(r compare.Record) []document.Text {
	return []document.Text{
		document.Literal(r.Variant), settled(v.trait(r.Variant, r.Params)), document.Escape(problemOf(r).label()), document.Text(fmt.Sprint(overRanks.count(r))),
	}
}

// muted is the class of a row whose ranks take turns on processors.
func (v *view) muted(r compare.Record) string {
	if v.crowded(r.Threads) || !r.Speed() {
		return "muted"
	}
	return ""
}

// ranked is the section on all variants by ranks and sizes.
func (b *builder) ranked(v *view) (document.Section, bool) {
	s := b.of(v, "mpi-variants", "mpi-variants.title")
	s.Text(b.Say("mpi-variants.intro"))
	rows := v.ofRanks()
	if common := setting(constants(ran(rows))); common != "" {
		s.Text(b.Say("mpi-variants.common", text.Args{"Parameters": common}))
	}
	if slices.ContainsFunc(rows, func(r compare.Record) bool { return v.crowded(r.Threads) }) {
		s.Text(b.Say("mpi-variants.crowded", text.Args{"Processors": fmt.Sprintf("%.4g", v.granted())}))
	}
	for _, typ := range types(rows) {
		own := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return r.Type != typ })
		command := b.rerun(v, own)
		var items []document.Text
		sizes := distinct(own, alone)
		slices.SortFunc(sizes, problem.compare)
		for _, p := range sizes {
			best := compare.Record{Median: compare.None()}
			for _, r := range v.ofRanksIn(typ) {
				if alone(r) == p && !v.crowded(r.Threads) && !(r.Median >= best.Median) {
					best = r
				}
			}
			if best.Median.Known() {
				items = append(items, b.Say("mpi-variants.best", text.Args{
					"Type": typ, "Row": b.where(v, best), "Time": seconds(float64(best.Median)),
				}))
			}
		}
		s.List(items)
		for _, p := range sizes {
			b.figure(&s, v, waysID(typ, p), "fig.mpi-ways", command, text.Args{"Type": typ, "Size": p.label()})
		}
		t := document.Table{
			ID:      "table-mpi-variants-" + anchor(typ) + v.suffix,
			Caption: b.Say("mpi-variants.caption", text.Args{"Type": typ}), Command: command,
			Columns: b.columns("variant", "setting", "size", "#ranks", "#rankthreads", "#used", "state", "#median", "#interval", "#overonerank", "#ofceiling"),
		}
		for _, r := range own {
			used := document.Text(absent)
			if r.RanksUsed > 0 {
				used = document.Text(fmt.Sprint(r.RanksUsed))
			}
			over := document.Text(absent)
			if one, ok := oneRank(own, r); ok && r.Speed() && overRanks.count(r) > 1 {
				c := beside(one, r)
				over = times(c.Ratio, c.Lo, c.Hi)
			}
			t.Rows = append(t.Rows, document.Row{Class: v.muted(r), Cells: append(v.place(r),
				document.Text(fmt.Sprint(r.Threads/overRanks.count(r))), used, b.status(r.Status), document.Text(b.median(r)), document.Text(b.ci(r)), over, document.Text(percent(share(r))))})
		}
		s.Add(t)
	}
	return s, true
}

// ran returns rows that were asked to have the parameters that they were run with, as far
// as those are of the family and not of its local variants.
func ran(rows []compare.Record) []compare.Record {
	out := timed(rows)
	for i, r := range out {
		p := gemm.Params{}
		for _, name := range []string{"local", "affinity", "master", "panel"} {
			if value := cmp.Or(r.Resolved[name], r.Params[name]); value != nil {
				p[name] = value
			}
		}
		out[i].Params = p
	}
	return out
}

// oneRank returns the timed row of one rank that r is held against: of the same variant,
// problem and parameters.
func oneRank(rows []compare.Record, r compare.Record) (compare.Record, bool) {
	rest := omit(r.Params, overRanks.param)
	for _, o := range rows {
		if overRanks.count(o) == 1 && o.Variant == r.Variant && o.Speed() && o.Median > 0 &&
			alone(o) == alone(r) && maps.Equal(omit(o.Params, overRanks.param), rest) {
			return o, true
		}
	}
	return compare.Record{}, false
}

// phaseNames are the phases of a product in the order of its course.
var phaseNames = []string{"skew", "distribute", "communicate", "compute", "reduce", "collect"}

// phaseSpread returns the longest and the shortest that a phase took among the ranks that
// have it; the longest alone is known where the row does not tell its ranks apart.
func phaseSpread(r compare.Record, phase string) (most, least float64, ok bool) {
	for _, rank := range r.Ranks {
		s, has := rank.Phases[phase]
		switch {
		case !has:
		case !ok:
			most, least, ok = s, s, true
		default:
			most, least = max(most, s), min(least, s)
		}
	}
	if !ok {
		most, ok = r.Phases[phase]
		least = most
	}
	return most, least, ok
}

// slowest returns the phases of the rank that they take longest together.
func slowest(r compare.Record) map[string]float64 {
	total := func(phases map[string]float64) float64 {
		sum := 0.0
		for _, name := range phaseNames {
			sum += phases[name]
		}
		return sum
	}
	best := r.Phases
	for i, rank := range r.Ranks {
		if i == 0 || total(rank.Phases) > total(best) {
			best = rank.Phases
		}
	}
	return best
}

// phased returns the rows of a type whose phases are known.
func (v *view) phased(typ string) []compare.Record {
	return slices.DeleteFunc(v.ofRanksIn(typ), func(r compare.Record) bool { return len(r.Phases) == 0 && len(slowest(r)) == 0 })
}

// foremost returns, of rows, those that a figure of one size and number of ranks shows:
// at the largest size that most variants have, on the most ranks that there are
// processors for, a row a variant, its quickest.
func (v *view) foremost(rows []compare.Record) []compare.Record {
	if tame := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return v.crowded(r.Threads) }); len(tame) > 0 {
		rows = tame
	}
	type place struct {
		problem
		ranks int
	}
	of := func(r compare.Record) place { return place{problemOf(r), overRanks.count(r)} }
	variants := map[place]map[string]bool{}
	most := 0
	for _, r := range rows {
		if variants[of(r)] == nil {
			variants[of(r)] = map[string]bool{}
		}
		variants[of(r)][r.Variant] = true
		most = max(most, len(variants[of(r)]))
	}
	var best place
	for p, names := range variants {
		if len(names) == most && cmp.Or(p.problem.compare(best.problem), cmp.Compare(p.ranks, best.ranks)) > 0 {
			best = p
		}
	}
	var out []compare.Record
	for _, r := range rows {
		if of(r) != best {
			continue
		}
		i := slices.IndexFunc(out, func(o compare.Record) bool { return o.Variant == r.Variant })
		switch {
		case i < 0:
			out = append(out, r)
		case r.Median < out[i].Median:
			out[i] = r
		}
	}
	return out
}

// phases is the section on where the time goes.
func (b *builder) phases(v *view) (document.Section, bool) {
	s := b.of(v, "mpi-phases", "mpi-phases.title")
	s.Text(b.Say("mpi-phases.intro"))
	found := false
	for _, typ := range v.typesOf(overRanks) {
		rows := v.phased(typ)
		if len(rows) == 0 {
			continue
		}
		found = true
		command := b.rerun(v, rows)
		main := v.foremost(rows)
		var parts []document.Text
		for _, r := range main {
			phases, name, total := slowest(r), "", 0.0
			for _, phase := range phaseNames {
				total += phases[phase]
				if name == "" || phases[phase] > phases[name] {
					name = phase
				}
			}
			if total > 0 {
				parts = append(parts, b.Say("mpi-phases.part", text.Args{
					"Variant": document.Literal(algorithm(r.Variant)), "Phase": b.Say("col.phase." + name),
					"Share": percent(phases[name] / total),
				}))
			}
		}
		if len(parts) > 0 {
			s.Text(b.Say("mpi-phases.most", text.Args{
				"Type": typ, "Size": b.sizes([]problem{alone(main[0])}),
				"Ranks": b.Count("ranks", overRanks.count(main[0])), "Parts": b.Join(parts),
			}))
		}
		b.figure(&s, v, "mpi-phases-"+typ, "fig.mpi-phases", command, text.Args{"Type": typ})
		heads := []string{"variant", "setting", "size", "#ranks", "#median"}
		var present []string
		for _, phase := range phaseNames {
			if slices.ContainsFunc(rows, func(r compare.Record) bool { _, _, ok := phaseSpread(r, phase); return ok }) {
				present = append(present, phase)
				heads = append(heads, "#phase."+phase)
			}
		}
		t := document.Table{
			ID:      "table-mpi-phases-" + anchor(typ) + v.suffix,
			Caption: b.Say("mpi-phases.caption", text.Args{"Type": typ}),
			Command: command, Columns: b.columns(heads...),
		}
		for _, r := range rows {
			cells := append(v.place(r), document.Text(b.median(r)))
			for _, phase := range present {
				cell := document.Text(absent)
				if most, least, ok := phaseSpread(r, phase); ok {
					cell = document.Text(seconds(most))
					if least < most {
						cell += document.Text(" (" + seconds(least) + ")")
					}
				}
				cells = append(cells, cell)
			}
			t.Rows = append(t.Rows, document.Row{Cells: cells, Class: v.muted(r)})
		}
		s.Add(t)
	}
	return s, found
}

// extreme is a row with a ratio.
type extreme struct {
	compare.Record
	ratio float64
}

// ends returns the rows of the least and the greatest ratio, of those where it is finite.
func ends(rows []compare.Record, ratio func(compare.Record) float64) (least, most extreme, ok bool) {
	for _, r := range rows {
		x := ratio(r)
		if !compare.Number(x).Known() {
			continue
		}
		if !ok || x < least.ratio {
			least = extreme{r, x}
		}
		if !ok || x > most.ratio {
			most = extreme{r, x}
		}
		ok = true
	}
	return least, most, ok
}

// agree reports whether two rows were asked to have equal values of the parameters that
// both were asked to have, and compute on their ranks in the same way.
func agree(a, o compare.Record) bool {
	for name, value := range a.Params {
		if other, ok := o.Params[name]; ok && other != value {
			return false
		}
	}
	for _, name := range []string{"local", "threads", "affinity"} {
		x, y := cmp.Or(a.Resolved[name], a.Params[name]), cmp.Or(o.Resolved[name], o.Params[name])
		if x != nil && y != nil && x != y {
			return false
		}
	}
	return true
}

// couples pairs the timed rows of two variants of the family mpi that are of one
// experiment, problem and turn and agree.
func (v *view) couples(typ, first, second string) []duel {
	rows := v.pick(func(r compare.Record) bool {
		return r.Type == typ && overRanks.count(r) > 1 && r.Speed() && r.Median > 0
	})
	var out []duel
	for _, a := range rows {
		if a.Variant != first {
			continue
		}
		for _, o := range rows {
			if o.Variant == second && a.Experiment == o.Experiment && problemOf(a) == problemOf(o) && inTurn(a, o) && agree(a, o) {
				out = append(out, duel{a, o})
			}
		}
	}
	return out
}
