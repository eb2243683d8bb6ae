package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
)

// Experiments are the experiments of the families parallel and mpi. Their tables also have the
// serial rows that they are compared with.
var Experiments = []compare.Experiment{
	compare.StrongScaling, compare.WeakScaling, compare.ChunkSizes, compare.ArtificialLoad,
	compare.Affinities, compare.ProcessorLimits, compare.PanelWidths, compare.RankSchedules, compare.Distributions,
}

// Axis is what the rows of a series differ in.
type Axis struct {
	Param  string // as messages and parameters have it
	Family string // whose rows it is of
	Prefix string // of sections, figures and messages
	One    string // one of them, in letters of figures
}

// The axes: the threads of the family parallel, and the ranks and the hosts of the family mpi.
var (
	OverThreads = Axis{"threads", Parallel, "", "thread"}
	OverRanks   = Axis{"ranks", OnRanks, "mpi-", "rank"}
	OverHosts   = Axis{"hosts", OnRanks, "mpi-hosts-", "host"}
)

// fixed names the experiments that have a problem of a fixed size, the best first.
func (a Axis) fixed() []compare.Experiment {
	if a.Family == OnRanks {
		return []compare.Experiment{compare.StrongScaling, compare.MainLadder}
	}
	return []compare.Experiment{compare.StrongScaling, compare.ChunkSizes, compare.Affinities, compare.ProcessorLimits}
}

// AxisOf returns the axis of a variant's series.
func AxisOf(variant string) Axis {
	if Family(variant) == OverRanks.Family {
		return OverRanks
	}
	return OverThreads
}

// Count returns where a row is on the axis: its threads, its ranks whatever threads each of them has,
// or its hosts. 0: the row does not say, or its hosts have different numbers of ranks.
func (a Axis) Count(r compare.Record) int {
	switch a {
	case OverThreads:
		return r.Threads
	case OverHosts:
		return len(RanksOfHosts(r)) * min(1, RanksOfHost(r))
	}
	if ranks, ok := r.Params[a.Param].(int); ok {
		return ranks
	}
	return len(r.Ranks)
}

// Named puts the name of the axis into letters of a figure.
func (a Axis) Named(letters string) string { return strings.ReplaceAll(letters, "{one}", a.One) }

// Shared returns the timed rows of the family parallel in the given experiments.
func (v *View) Shared(typ string, experiments ...compare.Experiment) []compare.Record {
	return v.Along(OverThreads, typ, experiments...)
}

// Along returns the timed rows of an axis in the given experiments. Over hosts, it leaves out rows whose
// ranks take turns on processors.
func (v *View) Along(a Axis, typ string, experiments ...compare.Experiment) []compare.Record {
	return v.Pick(func(r compare.Record) bool {
		return r.Type == typ && Family(r.Variant) == a.Family && a.Count(r) > 0 && r.Speed() && r.Median > 0 &&
			slices.Contains(experiments, r.Experiment) && (a != OverHosts || !v.Crowds(r))
	})
}

// SharedTypes returns the element types of the rows of the family parallel.
func (v *View) SharedTypes() []string { return v.TypesOf(OverThreads) }

// TypesOf returns the element types of the rows of an axis.
func (v *View) TypesOf(a Axis) []string {
	return Types(v.Pick(func(r compare.Record) bool { return Family(r.Variant) == a.Family }))
}

// Series is the rows of one variant that differ in their place on an axis alone.
type Series struct {
	Problem    // of one thread
	Axis       Axis
	Variant    string
	Rest       gemm.Params      // asked for, but for the axis
	Set        string           // rest in words
	Rows       []compare.Record // along the axis, ascending
	experiment compare.Experiment
	Grows      bool // along the axis, as m does: every worker has the same work
}

// seriesOf returns the series of rows, sorted by size. In weak scaling, m is that of one thread or
// rank times their number.
func (v *View) seriesOf(a Axis, rows []compare.Record, grows bool) []Series {
	var out []Series
	at := map[string]int{}
	if a == OverRanks { // of as many ranks, those on the fewest hosts stand
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(x, y compare.Record) int { return Hosts(x) - Hosts(y) })
	}
	for _, r := range rows {
		p := ProblemOf(r)
		if grows {
			if p.M%a.Count(r) != 0 {
				continue
			}
			p = p.OfOne(a.Count(r))
		}
		p.Threads = 1
		rest, set := Omit(r.Params, a.Param), v.Trait(r.Variant, r.Params)
		if a == OverHosts {
			rest = Omit(r.Params, OverRanks.Param)
			rest["ranks/host"] = RanksOfHost(r)
			set = strings.TrimSpace(fmt.Sprintf("%s ranks/host=%d", set, RanksOfHost(r)))
		}
		key := fmt.Sprint(r.Experiment, r.Variant, p, rest)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Series{Problem: p, Axis: a, Variant: r.Variant, Rest: rest, Set: set,
				experiment: r.Experiment, Grows: grows})
		}
		if !slices.ContainsFunc(out[i].Rows, func(o compare.Record) bool { return a.Count(o) == a.Count(r) }) {
			out[i].Rows = append(out[i].Rows, r)
		}
	}
	out = slices.DeleteFunc(out, func(s Series) bool { return len(s.Rows) < 2 })
	for _, s := range out {
		slices.SortFunc(s.Rows, func(x, y compare.Record) int { return cmp.Compare(a.Count(x), a.Count(y)) })
	}
	slices.SortStableFunc(out, func(x, y Series) int { return x.Problem.Compare(y.Problem) })
	return out
}

// Legend returns the same for a figure.
func (s Series) Legend() string {
	if s.Set != "" {
		return Algorithm(s.Variant) + ", " + s.Set
	}
	return Algorithm(s.Variant)
}

// Most returns the row of the most threads.
func (s Series) Most() compare.Record { return s.Rows[len(s.Rows)-1] }

// Full returns the row with the most threads that do not exceed the processors, or with the fewest
// threads if all exceed them.
func (s Series) Full(v *View) compare.Record {
	for _, r := range slices.Backward(s.Rows) {
		if !v.Crowds(r) {
			return r
		}
	}
	return s.Rows[0]
}

// One returns the row of one thread or rank.
func (s Series) One() (compare.Record, bool) { return s.Rows[0], s.Axis.Count(s.Rows[0]) == 1 }

// Count returns where a row is on the axis.
func (s Series) Count(r compare.Record) int { return s.Axis.Count(r) }

// Speedup compares a row of the series with the row on one thread. In strong scaling it is the
// ratio of the times; in weak scaling it is the ratio of the work done in the same time.
func (s Series) Speedup(r compare.Record) (Comparison, bool) {
	one, ok := s.One()
	if !ok || s.Count(r) == 1 {
		return Comparison{}, false
	}
	c := Versus(one, r)
	if s.Grows {
		p := float64(s.Count(r))
		c.Ratio, c.Lo, c.Hi = p*c.Ratio, p*c.Lo, p*c.Hi
	}
	return c, true
}

// StrongSeries returns the strong-scaling series of one type, by variant. If an experiment has
// several chunks, it is the series with the default chunk, or else the fastest one on the most
// threads.
func (v *View) StrongSeries(a Axis, typ string) []Series {
	var out []Series
	all := v.Along(a, typ, a.fixed()...)
	for _, variant := range Distinct(all, VariantOf) {
		for _, experiment := range a.fixed() {
			found := v.seriesOf(a, slices.DeleteFunc(slices.Clone(all), func(r compare.Record) bool {
				return r.Variant != variant || r.Experiment != experiment
			}), false)
			if len(found) > 0 {
				out = append(out, oneChunk(found)...)
				break
			}
		}
	}
	return out
}

// oneChunk keeps one of the series that differ in the chunk alone.
func oneChunk(all []Series) []Series {
	var out []Series
	at := map[string]int{}
	for _, s := range all {
		key := fmt.Sprint(s.Problem, Omit(s.Rest, "chunk"))
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			out = append(out, s)
			continue
		}
		if own := ChunkOf(s.Rest) == 0; own || ChunkOf(out[i].Rest) != 0 && s.Most().Median < out[i].Most().Median {
			out[i] = s
		}
	}
	return out
}

// MainSize returns the problem that the most variants have series for, the largest of
// those that are level.
func MainSize(all []Series) Problem {
	variants := map[Problem]map[string]bool{}
	var best Problem
	for _, s := range all {
		if variants[s.Problem] == nil {
			variants[s.Problem] = map[string]bool{}
		}
		variants[s.Problem][s.Variant] = true
	}
	for p, names := range variants {
		if n := len(names) - len(variants[best]); n > 0 || n == 0 && p.Compare(best) > 0 {
			best = p
		}
	}
	return best
}

// Leading returns one series a variant at a problem: the quickest on the most threads
// that there are processors for.
func (v *View) Leading(all []Series, p Problem) []Series {
	var out []Series
	for _, s := range all {
		if s.Problem != p {
			continue
		}
		i := slices.IndexFunc(out, func(o Series) bool { return o.Variant == s.Variant })
		switch {
		case i < 0:
			out = append(out, s)
		case s.Full(v).Threads > out[i].Full(v).Threads,
			s.Full(v).Threads == out[i].Full(v).Threads && s.Full(v).Median < out[i].Full(v).Median:
			out[i] = s
		}
	}
	return out
}
