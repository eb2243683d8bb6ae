package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
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

// SpansHosts reports whether there is a timed row whose ranks are on several hosts.
func (v *View) SpansHosts() bool {
	return slices.ContainsFunc(v.OfRanks(), func(r compare.Record) bool { return r.Speed() && Hosts(r) > 1 })
}

// Alone returns the problem of a row without its threads.
func Alone(r compare.Record) Problem {
	p := ProblemOf(r)
	p.Threads = 1
	return p
}

// Muted is the class of a row whose ranks take turns on processors.
func (v *View) Muted(r compare.Record) string {
	if v.Crowds(r) || !r.Speed() {
		return "muted"
	}
	return ""
}

// Settled returns rows as if the parameters that they ran with had been requested, except parameters of
// local variants.
func Settled(rows []compare.Record) []compare.Record {
	out := Timed(rows)
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

// OneRank returns the timed row on one rank that r is compared with: with the same variant, problem
// and parameters.
func OneRank(rows []compare.Record, r compare.Record) (compare.Record, bool) {
	rest := Omit(r.Params, OverRanks.Param)
	for _, o := range rows {
		if OverRanks.Count(o) == 1 && o.Variant == r.Variant && o.Speed() && o.Median > 0 &&
			Alone(o) == Alone(r) && maps.Equal(Omit(o.Params, OverRanks.Param), rest) {
			return o, true
		}
	}
	return compare.Record{}, false
}

// PhaseNames are the phases of a product in the order of its course.
var PhaseNames = []string{"skew", "distribute", "communicate", "compute", "reduce", "collect"}

// PhaseSpread returns the longest and the shortest time of a phase among the ranks that have it. If
// the row does not have the ranks separately, only the longest is known.
func PhaseSpread(r compare.Record, phase string) (most, least float64, ok bool) {
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

// extreme is a row with a ratio.
type extreme struct {
	compare.Record
	Ratio float64
}

// Ends returns the rows with the least and the greatest finite ratio.
func Ends(rows []compare.Record, ratio func(compare.Record) float64) (least, most extreme, ok bool) {
	for _, r := range rows {
		x := ratio(r)
		if !compare.Number(x).Known() {
			continue
		}
		if !ok || x < least.Ratio {
			least = extreme{r, x}
		}
		if !ok || x > most.Ratio {
			most = extreme{r, x}
		}
		ok = true
	}
	return least, most, ok
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
// order of DistributionVariants; those that were not timed are empty.
type Distribution struct {
	Problem // on one thread
	Ranks   int
	Rows    []compare.Record
}

// DistributionVariants are the ways of figure 15 of the 2024 report: rows by messages, rows by collective
// calls, and blocks.
var DistributionVariants = []string{P2PRows, ScatterRows, ScatterBlocks}

// Distributions returns what that figure shows: products of square matrices with the plain loops on each rank,
// by size and ranks. If several experiments have rows of a size and number of ranks, they are of the first.
func (v *View) Distributions(typ string) []Distribution {
	var out []Distribution
	for _, experiment := range append([]compare.Experiment{compare.Distributions}, OverRanks.fixed()...) {
		var own []Distribution
		for _, r := range v.Records {
			way, ranks := slices.Index(DistributionVariants, r.Variant), OverRanks.Count(r)
			if r.Experiment != experiment || r.Type != typ || way < 0 || !r.Speed() || !(r.Median > 0) || ranks == 0 ||
				Local(r) != Baseline || r.Params["master"] == "works" || !Alone(r).Cube() {
				continue
			}
			same := func(d Distribution) bool { return d.Problem == Alone(r) && d.Ranks == ranks }
			if slices.ContainsFunc(out, same) {
				continue
			}
			i := slices.IndexFunc(own, same)
			if i < 0 {
				i = len(own)
				own = append(own, Distribution{Alone(r), ranks, make([]compare.Record, len(DistributionVariants))})
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

// Hiding is what overlapping hides of the communication of a product.
type Hiding struct {
	Duel            // blocking and overlapped
	Compute float64 // seconds
	Share   float64 // of the communication; NaN if there is none to hide
	Lo, Hi  float64 // 95 % interval; NaN if there are too few samples
}

// hidden is the formula: 1 − (overlapped − compute)/(blocking − compute), NaN if the
// blocking product takes no longer than its computing.
func hidden(blocking, overlapped, compute float64) float64 {
	if !(blocking > compute) {
		return math.NaN()
	}
	return 1 - (overlapped-compute)/(blocking-compute)
}

// hides computes how much communication d hides. The interval holds 95 % of the results for medians
// of resampled times (Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics
// 7, 1979). The random draws are always the same.
func hides(d Duel) (Hiding, bool) {
	h := Hiding{Duel: d, Lo: math.NaN(), Hi: math.NaN()}
	compute, ok := d.First.Phases["compute"]
	if !ok {
		return h, false
	}
	h.Compute = compute
	h.Share = hidden(float64(d.First.Median), float64(d.Second.Median), compute)
	const fewest, draws = 6, 1000 // samples that an interval of a median takes
	if math.IsNaN(h.Share) || len(d.First.Samples) < fewest || len(d.Second.Samples) < fewest {
		return h, true
	}
	rng := rand.New(rand.NewPCG(1, 2))
	again := func(samples []float64) float64 {
		drawn := make([]float64, len(samples))
		for i := range drawn {
			drawn[i] = samples[rng.IntN(len(samples))]
		}
		slices.Sort(drawn)
		return (drawn[(len(drawn)-1)/2] + drawn[len(drawn)/2]) / 2
	}
	shares := make([]float64, draws)
	for i := range shares {
		shares[i] = hidden(again(d.First.Samples), again(d.Second.Samples), compute)
		if math.IsNaN(shares[i]) {
			return h, true // whether there is anything to hide is within the noise
		}
	}
	slices.Sort(shares)
	h.Lo, h.Hi = shares[draws/40], shares[draws-1-draws/40]
	return h, true
}

// Hidings returns what p2p-rows-overlap hides, by size and ranks.
func (v *View) Hidings(typ string) []Hiding {
	var out []Hiding
	for _, d := range v.Couples(typ, P2PRows, P2PRowsOverlap) {
		if h, ok := hides(d); ok {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(x, y Hiding) int { return ProblemOf(x.First).Compare(ProblemOf(y.First)) })
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

// gap compares point-to-point rows with the rows of a collective variant, at one size, by ranks.
type gap struct {
	Problem
	Variant string // the collective one
	Set     string // the setting of the point-to-point rows
	By      []Fought
}

// Gaps returns them, the pairs of each by ranks, ascending.
func (v *View) Gaps(typ string) []gap {
	var out []gap
	for _, variant := range []string{ScatterRows, BcastRows} {
		at := map[string]int{}
		for _, f := range Fight(v.Couples(typ, P2PRows, variant)) {
			p, second := f.First, f.Second
			key := fmt.Sprint(p.Experiment, Alone(p), Omit(p.Params, OverRanks.Param), Omit(second.Params, OverRanks.Param))
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, gap{Problem: Alone(p), Variant: variant, Set: v.Trait(p.Variant, p.Params)})
			}
			out[i].By = append(out[i].By, f)
		}
	}
	for _, g := range out {
		slices.SortStableFunc(g.By, func(x, y Fought) int { return OverRanks.Count(x.First) - OverRanks.Count(y.First) })
	}
	slices.SortStableFunc(out, func(x, y gap) int { return x.Problem.Compare(y.Problem) })
	return out
}

// FastestBeside pairs the library's rows with the fastest row of its turn, size and
// number of ranks whose operands are spread, by size and ranks.
func (v *View) FastestBeside(typ string) []Duel {
	var out []Duel
	at := map[string]int{}
	for _, variant := range SpreadVariants {
		for _, d := range v.Couples(typ, ScaLAPACK, variant) {
			key := fmt.Sprint(d.First.Turn, d.First.Experiment, ProblemOf(d.First))
			i, ok := at[key]
			switch {
			case !ok:
				at[key] = len(out)
				out = append(out, d)
			case d.Second.Median < out[i].Second.Median:
				out[i] = d
			}
		}
	}
	slices.SortStableFunc(out, func(x, y Duel) int {
		return cmp.Or(Alone(x.First).Compare(Alone(y.First)), cmp.Compare(OverRanks.Count(x.First), OverRanks.Count(y.First)))
	})
	return out
}
