package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm"
	"gemm/compare/record"
)

// Axis is what the rows of a series differ in.
type Axis struct {
	Param  string // as messages and parameters have it
	Family string // whose rows it is of
	One    string // one of them, in letters of figures
}

// The axes: the threads of the family parallel, the ranks and the hosts of the family mpi, and the GPUs of one product.
var (
	OverThreads = Axis{"threads", Parallel, "thread"}
	OverRanks   = Axis{"ranks", OnRanks, "rank"}
	OverHosts   = Axis{"hosts", OnRanks, "host"}
	OverGPUs    = Axis{"devices", OnGPU, "GPU"}
)

// fixed names the experiments that have a problem of a fixed size, the best first.
func (a Axis) fixed() []record.Experiment {
	if a.Family != Parallel {
		return []record.Experiment{record.StrongScaling, record.MainLadder}
	}
	return []record.Experiment{record.StrongScaling, record.ChunkSizes, record.Affinities, record.ProcessorLimits}
}

// AxisOf returns the axis of a variant's series.
func AxisOf(variant string) Axis {
	if Family(variant) == OverRanks.Family {
		return OverRanks
	}
	return OverThreads
}

// Count returns where a row is on the axis: its threads, its ranks whatever threads each of them has,
// its hosts, or its GPUs. 0: the row does not say, or its hosts have different numbers of ranks.
func (a Axis) Count(r record.Record) int {
	switch a {
	case OverThreads:
		return r.Threads
	case OverHosts:
		return len(RanksOfHosts(r)) * min(1, RanksOfHost(r))
	case OverGPUs:
		return Value[int](r.Resolved, a.Param)
	}
	if ranks, ok := r.Params[a.Param].(int); ok {
		return ranks
	}
	return len(r.Ranks)
}

// Along returns the timed rows of an axis in the given experiments. Over hosts, it leaves out rows whose
// ranks share processors.
func (v *View) Along(a Axis, typ string, experiments ...record.Experiment) []record.Record {
	return v.Pick(func(r record.Record) bool {
		return r.Type == typ && Family(r.Variant) == a.Family && a.Count(r) > 0 && r.Speed() && r.Median > 0 &&
			slices.Contains(experiments, r.Experiment) && (a != OverHosts || !v.Oversubscribes(r))
	})
}

// SharedTypes returns the element types of the rows of the family parallel.
func (v *View) SharedTypes() []string { return v.TypesOf(OverThreads) }

// TypesOf returns the element types of the rows of an axis.
func (v *View) TypesOf(a Axis) []string {
	return Types(v.Pick(func(r record.Record) bool { return Family(r.Variant) == a.Family }))
}

// Series is the rows of one variant that differ in their place on an axis alone.
type Series struct {
	Problem // of one thread
	Axis    Axis
	Variant string
	Rest    gemm.Params     // asked for, but for the axis
	Set     string          // rest in words
	Rows    []record.Record // along the axis, ascending
}

// problem returns the problem of a row as on one thread, rank or GPU.
func (a Axis) problem(r record.Record) Problem {
	p := OnOneThread(r)
	if r.Experiment == record.WeakScaling {
		p.M /= max(1, a.Count(r))
	}
	return p
}

func (v *View) seriesOf(a Axis, rows []record.Record) []Series {
	var out []Series
	if a == OverRanks { // of as many ranks, rows on the fewest hosts are kept
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(x, y record.Record) int { return Hosts(x) - Hosts(y) })
	}
	rest := func(r record.Record) gemm.Params {
		if a != OverHosts {
			return Omit(r.Params, a.Param)
		}
		p := Omit(r.Params, OverRanks.Param)
		p["ranks/host"] = RanksOfHost(r)
		return p
	}
	for _, own := range GroupBy(rows, func(r record.Record) string {
		return fmt.Sprint(r.Experiment, r.Variant, a.problem(r), rest(r))
	}) {
		r := own[0]
		s := Series{Problem: a.problem(r), Axis: a, Variant: r.Variant, Rest: rest(r),
			Set: v.DistinctSetting(r.Variant, Omit(r.Params, a.Param))}
		if a == OverHosts {
			s.Set = strings.TrimSpace(fmt.Sprintf("%s ranks/host=%d", s.Set, RanksOfHost(r)))
		}
		for _, same := range GroupBy(own, a.Count) {
			s.Rows = append(s.Rows, same[0])
		}
		slices.SortFunc(s.Rows, func(x, y record.Record) int { return cmp.Compare(a.Count(x), a.Count(y)) })
		if one, ok := v.alone(r); ok && a == OverGPUs {
			s.Rows = append([]record.Record{one}, Pick(s.Rows, func(r record.Record) bool { return a.Count(r) > 1 })...)
		}
		if len(s.Rows) > 1 {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(x, y Series) int { return x.Problem.Compare(y.Problem) })
	return out
}

// alone returns the row of one GPU that computes by the variant that each GPU of a row computes with.
func (v *View) alone(r record.Record) (record.Record, bool) {
	return Find(v.Records, func(x record.Record) bool {
		return x.Variant == r.Resolved["local"] && x.Speed() && x.Experiment == r.Experiment &&
			ProblemOf(x) == OverGPUs.problem(r)
	})
}

// Most returns the row of the most threads.
func (s Series) Most() record.Record { return s.Rows[len(s.Rows)-1] }

// WithinProcessors returns the row with the most threads that do not exceed the processors, or with the fewest
// threads if all exceed them.
func (s Series) WithinProcessors(v *View) record.Record {
	fit := Pick(s.Rows, func(r record.Record) bool { return !v.Oversubscribes(r) })
	return append(s.Rows[:1:1], fit...)[len(fit)]
}

// One returns the row of one thread, rank, host or GPU.
func (s Series) One() (record.Record, bool) {
	return s.Rows[0], s.Axis.Count(s.Rows[0]) == 1 || s.Variant != s.Rows[0].Variant
}

// Count returns where a row is on the axis.
func (s Series) Count(r record.Record) int { return s.Axis.Count(r) }

// StrongSeries returns the strong-scaling series of one type, by variant. If an experiment has several chunks, it is
// the series with the default chunk, or else the fastest one on the most threads.
func (v *View) StrongSeries(a Axis, typ string) []Series {
	var out []Series
	for _, own := range GroupBy(v.Along(a, typ, a.fixed()...), VariantOf) {
		for _, experiment := range a.fixed() {
			rows := Pick(own, func(r record.Record) bool { return r.Experiment == experiment })
			if found := v.seriesOf(a, rows); len(found) > 0 {
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
	for _, own := range GroupBy(all, func(s Series) string { return fmt.Sprint(s.Problem, Omit(s.Rest, "chunk")) }) {
		best := own[0]
		for _, s := range own[1:] {
			if ChunkOf(s.Rest) == 0 || ChunkOf(best.Rest) != 0 && s.Most().Median < best.Most().Median {
				best = s
			}
		}
		out = append(out, best)
	}
	return out
}

// MainSize returns the problem that the most variants have series for, the largest of those that are level.
func MainSize(all []Series) (p Problem) {
	problem := func(s Series) Problem { return s.Problem }
	for _, s := range LargestGroup(all, problem, func(s Series) string { return s.Variant }, Problem.Compare) {
		p = s.Problem
	}
	return p
}

// FastestSeries returns one series a variant at a problem, or a setting of a variant on GPUs: the quickest on the most
// threads that there are processors for.
func (v *View) FastestSeries(all []Series, p Problem) []Series {
	var out []Series
	here := Pick(all, func(s Series) bool { return s.Problem == p })
	for _, own := range GroupBy(here, func(s Series) string {
		if s.Axis == OverGPUs { // by another variant on each GPU it has another arithmetic
			return s.Variant + s.Set
		}
		return s.Variant
	}) {
		out = append(out, slices.MinFunc(own, func(x, y Series) int {
			a, b := x.WithinProcessors(v), y.WithinProcessors(v)
			return cmp.Or(cmp.Compare(b.Threads, a.Threads), cmp.Compare(a.Median, b.Median))
		}))
	}
	return out
}

// Scaled is the speed-up of a series of strong scaling on the most threads, ranks or hosts that have processors.
type Scaled struct {
	Series
	Last       record.Record // the row of that
	Comparison               // of its time
	view       *View
}

// On returns the number of threads, ranks or hosts.
func (s Scaled) On() int { return s.Count(s.Last) }

// Efficiency returns the speed-up over the number of threads, ranks, hosts or GPUs.
func (s Scaled) Efficiency() float64 { return s.Ratio / float64(s.On()) }

// SerialFraction returns the serial fraction with which Amdahl's law gives the speed-up on p threads, ranks or hosts
// (Karp and Flatt, Measuring parallel processor performance, 1990). It is below 0 if the speed-up is above p, and NaN
// if it is not known.
func (s Scaled) SerialFraction(p int) float64 {
	r, _ := Find(s.Rows, func(r record.Record) bool { return s.Count(r) == p && !s.view.Oversubscribes(r) })
	n := float64(p)
	return (median(r)/float64(s.Rows[0].Median) - 1/n) / (1 - 1/n)
}

// Scaling is the strong scaling of the variants of a family at the size that most of them have.
type Scaling struct {
	Problem
	Rows   []Scaled
	Counts []int // the fewest and the most threads, ranks or hosts above one: two numbers, or one
}

// Steps returns the speed-ups on each number of GPUs.
func (s *Scaling) Steps() (out []Scaled) {
	for _, x := range s.Rows {
		for _, r := range x.Series.Rows[1:] {
			out = append(out, Scaled{x.Series, r, ComparePair(x.Series.Rows[0], r), x.view})
		}
	}
	return out
}

// most returns the largest value of the GPUs of a product; 0: it is not known.
func (s Scaled) most(of func(record.DevicePart) float64) (most float64) {
	if s.Last.GPU != nil {
		most = MaxOf(s.Last.GPU.Parts, of)
	}
	return most
}

// Exposed returns the seconds without a kernel, on the GPU that has the most.
func (s Scaled) Exposed() float64 {
	return positive(s.most(func(p record.DevicePart) float64 { return p.Exposed }))
}

// Copied returns the bytes that a GPU copied from others, at most.
func (s Scaled) Copied() float64 {
	return positive(s.most(func(p record.DevicePart) float64 { return float64(p.Peer + p.Host) }))
}

// CopyRate returns how many gigabytes a second the fastest GPU copied from others.
func (s Scaled) CopyRate() float64 {
	return positive(s.most(func(p record.DevicePart) float64 {
		if !(p.Copies > 0) {
			return 0
		}
		return float64(p.Peer+p.Host) / p.Copies / 1e9
	}))
}

// Scaling returns the strong scaling of a type over threads, ranks, hosts or GPUs, nil if there is none.
func (v *View) Scaling(over, typ string) *Scaling {
	a := axisOver(over)
	return v.scaling(a, v.StrongSeries(a, typ))
}

// Weak returns the weak scaling, as Scaling returns the strong one.
func (v *View) Weak(over, typ string) *Scaling {
	a := axisOver(over)
	return v.scaling(a, v.seriesOf(a, v.Along(a, typ, record.WeakScaling)))
}

func axisOver(param string) Axis {
	a, _ := Find([]Axis{OverThreads, OverRanks, OverHosts, OverGPUs}, func(a Axis) bool { return a.Param == param })
	return a
}

func (v *View) scaling(a Axis, all []Series) *Scaling {
	out := Scaling{Problem: MainSize(all)}
	for _, s := range v.FastestSeries(all, out.Problem) {
		one, ok := s.One()
		last := s.WithinProcessors(v)
		if !ok || a.Count(last) == 1 {
			continue
		}
		out.Rows = append(out.Rows, Scaled{s, last, ComparePair(one, last), v})
		for _, r := range s.Rows[1:] {
			if !v.Oversubscribes(r) {
				out.Counts = append(out.Counts, a.Count(r))
			}
		}
	}
	if len(out.Rows) == 0 {
		return nil
	}
	slices.SortStableFunc(out.Rows, func(x, y Scaled) int { return v.byPlace(x.Variant, y.Variant) })
	out.Counts = slices.Compact([]int{slices.Min(out.Counts), slices.Max(out.Counts)})
	return &out
}
