package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm/compare/record"
)

// OfRanksIn returns the timed rows of a type of the family mpi with a number of ranks, each once: the
// rows of experiments with a fixed size, or all rows if there are none.
func (v *View) OfRanksIn(typ string) []record.Record {
	all := v.Pick(func(r record.Record) bool {
		return Family(r.Variant) == OverRanks.Family && OverRanks.Count(r) > 0
	})
	var fixed []record.Record
	for _, experiment := range OverRanks.fixed() {
		fixed = append(fixed, Pick(all, func(r record.Record) bool { return r.Experiment == experiment })...)
	}
	if len(fixed) == 0 {
		fixed = all
	}
	var out []record.Record
	for _, same := range GroupBy(fixed, func(r record.Record) string {
		return fmt.Sprint(r.Variant, ProblemOf(r), r.Params, Hosts(r))
	}) {
		if r := same[0]; r.Type == typ && r.Speed() && r.Median > 0 {
			out = append(out, r)
		}
	}
	variants := Distinct(v.Records, VariantOf)
	slices.SortStableFunc(out, func(x, y record.Record) int {
		return cmp.Or(
			cmp.Compare(slices.Index(variants, x.Variant), slices.Index(variants, y.Variant)),
			OnOneThread(x).Compare(OnOneThread(y)), cmp.Compare(OverRanks.Count(x), OverRanks.Count(y)),
			cmp.Compare(Hosts(x), Hosts(y)), cmp.Compare(x.Threads, y.Threads))
	})
	return out
}

// RanksOfHosts returns how many ranks each host of a row has, in the order of their first ranks. It is nil
// if the row has no ranks.
func RanksOfHosts(r record.Record) []int {
	var out []int
	for _, ranks := range GroupBy(r.Ranks, func(rank record.Rank) string { return rank.Host }) {
		out = append(out, len(ranks))
	}
	return out
}

// Hosts returns the number of hosts that the ranks of a row are on. 0: the row does not say.
func Hosts(r record.Record) int { return max(len(RanksOfHosts(r)), r.Hosts) }

// RanksOfHost returns how many ranks each host of a row has. 0: there are none, or the hosts differ.
func RanksOfHost(r record.Record) int {
	hosts := RanksOfHosts(r)
	if len(hosts) == 0 || slices.Min(hosts) != slices.Max(hosts) {
		return 0
	}
	return hosts[0]
}

// PhaseNames are the phases of a product in the order of its course.
var PhaseNames = []string{"skew", "distribute", "communicate", "compute", "reduce", "collect"}

// Slowest returns the phases of the rank that they take longest together, among the ranks that
// compute: one that only deals out and collects waits for the others.
func Slowest(r record.Record) map[string]float64 {
	computing := Pick(r.Ranks, func(rank record.Rank) bool { return rank.Phases["compute"] > 0 })
	if len(computing) == 0 {
		computing = r.Ranks
	}
	slowest, ok := MinBy(computing, func(rank record.Rank) float64 { return -together(rank.Phases) })
	if !ok {
		return r.Phases
	}
	return slowest.Phases
}

func together(phases map[string]float64) float64 {
	sum := 0.0
	for _, name := range PhaseNames {
		sum += phases[name]
	}
	return sum
}

// Phased returns the rows of a type whose phases are known.
func (v *View) Phased(typ string) []record.Record {
	return Pick(v.OfRanksIn(typ), func(r record.Record) bool { return len(r.Phases) > 0 || len(Slowest(r)) > 0 })
}

// onRanks is a problem on a number of ranks.
type onRanks struct {
	Problem
	ranks int
}

// LargestCommon returns the rows for a figure of one size and number of ranks: the largest size that most variants
// have, the most ranks that do not exceed the processors, and for each variant its fastest row.
func (v *View) LargestCommon(rows []record.Record) []record.Record {
	if fitting := Pick(rows, func(r record.Record) bool { return !v.Oversubscribes(r) }); len(fitting) > 0 {
		rows = fitting
	}
	of := func(r record.Record) onRanks { return onRanks{ProblemOf(r), OverRanks.Count(r)} }
	var out []record.Record
	for _, own := range GroupBy(LargestGroup(rows, of, VariantOf, func(x, y onRanks) int {
		return cmp.Or(x.Compare(y.Problem), cmp.Compare(x.ranks, y.ranks))
	}), VariantOf) {
		r, _ := MinBy(own, median)
		out = append(out, r)
	}
	return out
}

// Agree reports whether two rows have equal values for the parameters that were requested of both,
// and compute in the same way, except in the parameters named.
func Agree(a, o record.Record, but ...string) bool {
	for name, value := range Omit(a.Params, but...) {
		if other, ok := o.Params[name]; ok && other != value {
			return false
		}
	}
	for _, name := range []string{"local", "threads", "affinity"} {
		x, y := cmp.Or(a.Resolved[name], a.Params[name]), cmp.Or(o.Resolved[name], o.Params[name])
		if x != nil && y != nil && x != y && !slices.Contains(but, name) {
			return false
		}
	}
	return true
}

// Distribution is the rows of one size and number of ranks that distribute a product in different ways, in the
// order of Ways; those that were not timed are empty.
type Distribution struct {
	Problem // on one thread
	Ranks   int
	Rows    []record.Record
}

// Ways are the ways of figure 15 of the 2024 report: rows by messages, rows by collective calls, and blocks.
func (v *View) Ways() []string {
	return []string{v.WithPart(record.ReportMessages), v.WithPart(record.ReportRows), v.WithPart(record.ReportBlocks)}
}

// Distributions returns what that figure shows: products of square matrices with the plain loops on each rank,
// by size and ranks. If several experiments have rows of a size and number of ranks, they are of the first.
func (v *View) Distributions(typ string) []Distribution {
	ways, textbook := v.Ways(), v.First(Serial)
	of := func(r record.Record) onRanks { return onRanks{OnOneThread(r), OverRanks.Count(r)} }
	var out []Distribution
	for _, experiment := range append([]record.Experiment{record.Distributions}, OverRanks.fixed()...) {
		rows := v.Pick(func(r record.Record) bool {
			p := of(r)
			return r.Experiment == experiment && r.Type == typ && slices.Contains(ways, r.Variant) && r.Speed() &&
				r.Median > 0 && p.ranks > 0 && Local(r) == textbook && r.Params["master"] != "works" && p.Cube() &&
				!slices.ContainsFunc(out, func(d Distribution) bool { return d.Problem == p.Problem && d.Ranks == p.ranks })
		})
		for _, own := range GroupBy(rows, of) {
			d := Distribution{OnOneThread(own[0]), of(own[0]).ranks, make([]record.Record, len(ways))}
			for _, r := range own {
				d.Rows[slices.Index(ways, r.Variant)] = r
			}
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(x, y Distribution) int {
		return cmp.Or(x.Compare(y.Problem), cmp.Compare(x.Ranks, y.Ranks))
	})
	return out
}

// Local is the local variant of a row on ranks, empty if the row does not say.
func Local(r record.Record) string {
	name, _ := cmp.Or(r.Resolved["local"], r.Params["local"]).(string)
	return name
}

// Counted returns the rows of a type whose bytes were counted.
func (v *View) Counted(typ string) []record.Record {
	return Pick(v.OfRanksIn(typ), func(r record.Record) bool { return len(r.Ranks) > 0 })
}

// OverLeast returns the ratio of the counted bytes to the lower bound. It is NaN if nothing is
// sent: there is one rank, or only one rank has something to compute.
func OverLeast(r record.Record) float64 {
	if !(r.BytesBound > 0) || r.BytesCounted == 0 {
		return math.NaN()
	}
	return float64(r.BytesCounted) / r.BytesBound
}

// Communication is a product on ranks with what it cost to move the operands. A number that is not known is NaN.
type Communication struct {
	record.Record
	From             string  // where the operands are before timing begins: root or ranks
	NotComputing     float64 // share of the time in which the slowest rank that computes does not compute
	Model, OverModel float64 // the predicted time, and the measured over it
	Network          float64 // of messages, in the predicted time
	Bytes, OverLeast float64 // counted, and over the lower bound
	Between          float64 // bytes between hosts
}

// Communication returns the fastest row of each variant on ranks at the largest common size, on the most ranks.
func (v *View) Communication(typ string) []Communication {
	var out []Communication
	for _, r := range v.LargestCommon(v.OfRanksIn(typ)) {
		phases, model := Slowest(r), positive(r.ModelSeconds)
		c := Communication{Record: r, From: "root", NotComputing: 1 - phases["compute"]/together(phases),
			Model: model, OverModel: float64(r.Median) / model, Network: positive(r.ModelLatency + r.ModelTransfer),
			Bytes: positive(float64(r.BytesCounted)), OverLeast: OverLeast(r), Between: positive(float64(r.BytesBetween))}
		if Of(r).Spread {
			c.From = "ranks"
		}
		out = append(out, c)
	}
	return out
}

// positive returns x, NaN if it is not above 0.
func positive[N ~float64](x N) N {
	if !(x > 0) {
		return N(math.NaN())
	}
	return x
}

// Link is what one message at a time between two ranks takes.
type Link struct {
	Path      string  // inside a host, or between hosts; empty in old records
	Latency   float64 // seconds, of the smallest message
	Bandwidth float64 // bytes a second, from the smallest message to the largest
}

// Links returns the latency and the bandwidth of messages on each path, measured with the fewest ranks: more may wait
// for processors.
func (v *View) Links() []Link {
	bytes := func(m record.Measurement) int { return Value[int](m.Params, "bytes") }
	ranks := func(m record.Measurement) int { return Value[int](m.Params, "ranks") }
	path := func(m record.Measurement) string { return Value[string](m.Params, "path") }
	pings := Pick(v.Measurements, func(m record.Measurement) bool {
		pairs, ok := m.Params["pairs"]
		return m.Name == "ping-pong" && len(m.Samples) > 0 && (!ok || pairs == "one")
	})
	var out []Link
	for _, all := range GroupBy(pings, path) {
		fewest := slices.Min(Distinct(all, ranks))
		own := Pick(all, func(m record.Measurement) bool { return ranks(m) == fewest })
		small, _ := MinBy(own, func(m record.Measurement) float64 { return float64(bytes(m)) })
		large, _ := MinBy(own, func(m record.Measurement) float64 { return -float64(bytes(m)) })
		latency := Middle(small.Samples)
		if bandwidth := float64(bytes(large)-bytes(small)) / (Middle(large.Samples) - latency); bandwidth > 0 {
			out = append(out, Link{path(own[0]), latency, bandwidth})
		}
	}
	return out
}
