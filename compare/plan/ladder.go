package plan

import (
	"cmp"
	"maps"
	"slices"

	"gemm"
	"gemm/compare/record"
)

// Ladder selects the rows of the main table, or of an experiment: every variant on every shape, type
// and storage of the operands, with every combination of swept parameters.
type Ladder struct {
	Experiment  record.Experiment // empty: MainLadder, and LoopOrders for studies
	Variants    []gemm.Variant
	Shapes      []gemm.Shape
	Types       []string
	Ops         []string // nn, nt, tn, tt
	Alpha, Beta float64
	LD          int              // added to the least leading dimension of each operand
	Batches     []int            // products of a batch; nil: one product, and no batch
	Processors  int              // of this host
	Hosts       int              // of the job that measures, if its ranks are on several; otherwise 0
	Sweep       map[string][]any // values by parameter; variants without the parameter ignore it
	// Libraries has the swept values of libraries of others in this process; nil: Sweep.
	Libraries map[string][]any
	Keep      func(Case) bool // the rows that are measured; nil: all
	// Together: the rows of a problem are measured interleaved, all of them. It is for the main table.
	Together bool
	// Timeline requests a Trace of every row.
	Timeline bool
	// Baselines are the variants that speed-ups refer to. They are measured once for each shape,
	// type and storage, with default parameters.
	Baselines []gemm.Variant
}

// Cases returns the rows in the order of measurement: from small to large, since small rows predict
// the time of large ones, and then in the order of the variants. The rows of a turn are together.
// In the experiment weak, Shapes are for one thread, rank or GPU, and m is multiplied by their number.
func (l Ladder) Cases() []Case {
	var cases []Case
	batches := l.Batches
	if batches == nil {
		batches = []int{0}
	}
	for _, shape := range slices.SortedStableFunc(slices.Values(l.Shapes), func(a, b gemm.Shape) int {
		return cmp.Compare(a.Terms(), b.Terms())
	}) {
		for _, typ := range l.Types {
			for _, op := range l.Ops {
				for _, batch := range batches {
					cases = append(cases, l.rows(Request{
						Type: typ, Shape: shape, Op: op, Alpha: l.Alpha, Beta: l.Beta, LD: l.LD, Batch: batch,
						Hosts: l.Hosts, Processors: l.Processors,
					})...)
				}
			}
		}
	}
	if l.Keep != nil {
		cases = slices.DeleteFunc(cases, func(c Case) bool { return !l.Keep(c) })
	}
	return together(cases)
}

// rows returns the rows of a problem, a request without a variant.
func (l Ladder) rows(problem Request) []Case {
	var rows []Case
	has := func(v gemm.Variant) bool { return slices.Contains(v.Types(), problem.Type) }
	for _, v := range among(l.Variants, has) {
		sweep := l.Sweep
		if l.Libraries != nil && (Case{Variant: v}).Foreign() {
			sweep = l.Libraries
		}
		for _, p := range crossed(v, sweep) {
			r := problem
			r.Experiment, r.Variant, r.Params, r.Timeline = l.experimentOf(v), v, p, l.Timeline
			k := r.inTurn()
			if l.Together && k.Experiment == record.MainLadder {
				k.Turn = k.peers()
			}
			rows = append(rows, k)
		}
	}
	for _, v := range among(l.Baselines, has) {
		r := problem
		r.Experiment, r.Variant, r.Params = l.experimentOf(v), v, gemm.Params{}
		rows = append(rows, r.Case())
	}
	return rows
}

// experimentOf returns the experiment of the variant's rows. No main table has a study: its default is a rung.
func (l Ladder) experimentOf(v gemm.Variant) record.Experiment {
	if l.Experiment == "" && v.Role == gemm.Study {
		return record.LoopOrders
	}
	return cmp.Or(l.Experiment, record.MainLadder)
}

// inTurn returns the case with its turn. In the experiment weak, it multiplies m by the threads, ranks or GPUs.
func (r Request) inTurn() Case {
	c := r.Case()
	turn := c.turn()
	if r.Experiment == record.WeakScaling {
		r.M *= c.workers()
		c = r.Case()
	}
	if c.Ranks() > 0 { // no other case has its shape
		turn = c.turn()
	}
	c.Turn = turn
	return c
}

func among(variants []gemm.Variant, selected func(gemm.Variant) bool) []gemm.Variant {
	return slices.DeleteFunc(slices.Clone(variants), func(v gemm.Variant) bool { return !selected(v) })
}

// together sorts cases so that the cases of a turn are adjacent, at the place of the last one.
func together(cases []Case) []Case {
	last := map[string]int{}
	for i, c := range cases {
		last[c.Turn] = i
	}
	var out []Case
	begun := map[string][]Case{}
	for i, c := range cases {
		begun[c.Turn] = append(begun[c.Turn], c)
		if c.Turn == "" || i == last[c.Turn] {
			out = append(out, begun[c.Turn]...)
			delete(begun, c.Turn)
		}
	}
	return out
}

// crossed returns every combination of the swept values of the parameters that v has. The first
// parameter varies slowest. It returns one empty set if v has none of them.
func crossed(v gemm.Variant, sweep map[string][]any) []gemm.Params {
	sets := []gemm.Params{{}}
	for _, q := range params(v) {
		values, swept := sweep[q.Name]
		if !swept {
			continue
		}
		var next []gemm.Params
		for _, set := range sets {
			for _, value := range values {
				with := maps.Clone(set)
				with[q.Name] = value
				next = append(next, with)
			}
		}
		sets = next
	}
	return sets
}

func cubes(sizes []int) []gemm.Shape {
	var shapes []gemm.Shape
	for _, n := range sizes {
		shapes = append(shapes, gemm.Cube(n))
	}
	return shapes
}

func anys[V any](values []V) []any {
	var out []any
	for _, v := range values {
		out = append(out, v)
	}
	return out
}
