package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"gemm"
	"gemm/compare"
)

// Distributes reports whether there is anything to say in the chapter on ranks.
func (v *View) Distributes() bool { return len(Timed(v.OfRanks())) > 0 }

// OfRanks returns the rows of the family mpi with a number of ranks, timed or not, each once: the
// rows of experiments with a fixed size, or all rows if there are none.
func (v *View) OfRanks() []compare.Record {
	all := v.Pick(func(r compare.Record) bool {
		return Family(r.Variant) == OverRanks.Family && OverRanks.Count(r) > 0
	})
	var out []compare.Record
	seen := map[string]bool{}
	for _, experiment := range OverRanks.fixed() {
		for _, r := range all {
			key := fmt.Sprint(r.Variant, ProblemOf(r), r.Params, Hosts(r))
			if r.Experiment == experiment && !seen[key] {
				seen[key] = true
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 {
		out = all
	}
	variants := Distinct(v.Records, VariantOf)
	slices.SortStableFunc(out, func(x, y compare.Record) int {
		return cmp.Or(
			cmp.Compare(slices.Index(variants, x.Variant), slices.Index(variants, y.Variant)),
			Alone(x).Compare(Alone(y)), cmp.Compare(OverRanks.Count(x), OverRanks.Count(y)),
			cmp.Compare(Hosts(x), Hosts(y)), cmp.Compare(x.Threads, y.Threads))
	})
	return out
}

// OfRanksIn returns the timed of those rows of one type.
func (v *View) OfRanksIn(typ string) []compare.Record {
	return slices.DeleteFunc(v.OfRanks(),
		func(r compare.Record) bool { return r.Type != typ || !r.Speed() || !(r.Median > 0) })
}

// RanksOfHosts returns how many ranks each host of a row has, in the order of their first ranks. It is nil
// if the row has no ranks.
func RanksOfHosts(r compare.Record) []int {
	var out []int
	at := map[string]int{}
	for _, rank := range r.Ranks {
		i, ok := at[rank.Host]
		if !ok {
			i = len(out)
			at[rank.Host] = i
			out = append(out, 0)
		}
		out[i]++
	}
	return out
}

// Hosts returns the number of hosts that the ranks of a row are on. 0: the row does not say.
func Hosts(r compare.Record) int { return max(len(RanksOfHosts(r)), r.Hosts) }

// RanksOfHost returns how many ranks each host of a row has. 0: there are none, or the hosts differ.
func RanksOfHost(r compare.Record) int {
	hosts := RanksOfHosts(r)
	if len(hosts) == 0 || slices.Min(hosts) != slices.Max(hosts) {
		return 0
	}
	return hosts[0]
}

// Alone returns the problem of a row without its threads.
func Alone(r compare.Record) Problem {
	p := ProblemOf(r)
	p.Threads = 1
	return p
}

// PhaseNames are the phases of a product in the order of its course.
var PhaseNames = []string{"skew", "distribute", "communicate", "compute", "reduce", "collect"}

// Slowest returns the phases of the rank that they take longest together, among the ranks that
// compute: one that only deals out and collects waits for the others.
func Slowest(r compare.Record) map[string]float64 {
	total := func(phases map[string]float64) float64 {
		sum := 0.0
		for _, name := range PhaseNames {
			sum += phases[name]
		}
		return sum
	}
	best, computing, found := r.Phases, false, false
	for _, rank := range r.Ranks {
		computes := rank.Phases["compute"] > 0
		if !found || computes && !computing || computes == computing && total(rank.Phases) > total(best) {
			best, computing, found = rank.Phases, computes, true
		}
	}
	return best
}

// Phased returns the rows of a type whose phases are known.
func (v *View) Phased(typ string) []compare.Record {
	return slices.DeleteFunc(v.OfRanksIn(typ),
		func(r compare.Record) bool { return len(r.Phases) == 0 && len(Slowest(r)) == 0 })
}

// Foremost returns the rows for a figure of one size and number of ranks: the largest size that
// most variants have, the most ranks that do not exceed the processors, and for each variant its
// fastest row.
func (v *View) Foremost(rows []compare.Record) []compare.Record {
	if tame := slices.DeleteFunc(slices.Clone(rows),
		func(r compare.Record) bool { return v.Crowds(r) }); len(tame) > 0 {
		rows = tame
	}
	type place struct {
		Problem
		ranks int
	}
	of := func(r compare.Record) place { return place{ProblemOf(r), OverRanks.Count(r)} }
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
		if len(names) == most && cmp.Or(p.Problem.Compare(best.Problem), cmp.Compare(p.ranks, best.ranks)) > 0 {
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

// agree reports whether two rows have equal values for the parameters that were requested of both,
// and compute on their ranks in the same way.
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

// Couples pairs the timed rows of two variants of the family mpi that are of one
// experiment, problem and turn and agree.
func (v *View) Couples(typ, first, second string) []Duel {
	rows := v.Pick(func(r compare.Record) bool {
		return r.Type == typ && OverRanks.Count(r) > 1 && r.Speed() && r.Median > 0
	})
	var out []Duel
	for _, a := range rows {
		if a.Variant != first {
			continue
		}
		for _, o := range rows {
			if o.Variant == second && a.Experiment == o.Experiment && ProblemOf(a) == ProblemOf(o) && InTurn(a,
				o) && agree(a, o) {
				out = append(out, Duel{a, o})
			}
		}
	}
	return out
}

// Distribution is the rows of one size and number of ranks that share a product out in different ways, in the
// order of Ways; those that were not timed are empty.
type Distribution struct {
	Problem // on one thread
	Ranks   int
	Rows    []compare.Record
}

// Ways are the ways of figure 15 of the 2024 report: rows by messages, rows by collective calls, and blocks.
func (v *View) Ways() []string {
	return []string{v.Playing(gemm.ReportMessages), v.Playing(gemm.ReportRows), v.Playing(gemm.ReportBlocks)}
}

// Distributions returns what that figure shows: products of square matrices with the plain loops on each rank,
// by size and ranks. If several experiments have rows of a size and number of ranks, they are of the first.
func (v *View) Distributions(typ string) []Distribution {
	ways, textbook := v.Ways(), v.First(Serial)
	var out []Distribution
	for _, experiment := range append([]compare.Experiment{compare.Distributions}, OverRanks.fixed()...) {
		var own []Distribution
		for _, r := range v.Records {
			way, ranks := slices.Index(ways, r.Variant), OverRanks.Count(r)
			if r.Experiment != experiment || r.Type != typ || way < 0 || !r.Speed() || !(r.Median > 0) || ranks == 0 ||
				Local(r) != textbook || r.Params["master"] == "works" || !Alone(r).Cube() {
				continue
			}
			same := func(d Distribution) bool { return d.Problem == Alone(r) && d.Ranks == ranks }
			if slices.ContainsFunc(out, same) {
				continue
			}
			i := slices.IndexFunc(own, same)
			if i < 0 {
				i = len(own)
				own = append(own, Distribution{Alone(r), ranks, make([]compare.Record, len(ways))})
			}
			own[i].Rows[way] = r
		}
		out = append(out, own...)
	}
	slices.SortFunc(out, func(x, y Distribution) int {
		return cmp.Or(x.Compare(y.Problem), cmp.Compare(x.Ranks, y.Ranks))
	})
	return out
}

// Local is the local variant of a row on ranks, empty if the row does not say.
func Local(r compare.Record) string {
	name, _ := cmp.Or(r.Resolved["local"], r.Params["local"]).(string)
	return name
}

// Roomy keeps the duels that have a processor for every thread.
func (v *View) Roomy(all []Duel) []Duel {
	return slices.DeleteFunc(all, func(d Duel) bool { return v.Crowds(d.First) })
}
