package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gemm"
	"gemm/gf256"
)

// Ladder selects the rows of the main table, or of an experiment: every variant on every shape, type
// and storage of the operands, with every combination of swept parameters.
type Ladder struct {
	Experiment  Experiment // empty: MainLadder, and LoopOrders for studies
	Variants    []gemm.Variant
	Shapes      []gemm.Shape
	Types       []string
	Ops         []string // nn, nt, tn, tt
	Alpha, Beta float64
	LD          int              // added to the least leading dimension of each operand
	Batches     []int            // products of a batch; nil: one product, and no batch
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
// In the experiment weak, Shapes are for one thread or rank, and m is multiplied by their number.
func (l Ladder) Cases() []Case {
	var cases []Case
	shapes := slices.Clone(l.Shapes)
	slices.SortStableFunc(shapes, func(a, b gemm.Shape) int { return cmp.Compare(a.Terms(), b.Terms()) })
	for _, shape := range shapes {
		for _, typ := range l.Types {
			for _, stored := range l.storages() {
				var rows []Case
				row := func(v gemm.Variant, p gemm.Params) Request {
					return Request{
						Experiment: l.experimentOf(v), Variant: v, Type: typ, Shape: shape, Op: stored.op,
						Alpha: l.Alpha, Beta: l.Beta, LD: l.LD, Batch: stored.batch, Hosts: l.Hosts, Params: p,
					}
				}
				for _, v := range having(typ, l.Variants) {
					for _, p := range crossed(v, l.sweepOf(v)) {
						r := row(v, p)
						r.Timeline = l.Timeline
						k := r.inTurn()
						if l.Together && k.Experiment == MainLadder {
							k = k.as(k.peers())
						}
						rows = append(rows, k)
					}
				}
				for _, v := range having(typ, l.Baselines) {
					rows = append(rows, row(v, gemm.Params{}).Case())
				}
				if l.Keep != nil {
					rows = slices.DeleteFunc(rows, func(c Case) bool { return !l.Keep(c) })
				}
				cases = append(cases, rows...)
			}
		}
	}
	return together(cases)
}

// storage is how operands are stored, and how many there are of each.
type storage struct {
	op    string
	batch int
}

// storages returns all combinations of ways to store operands and of batches.
func (l Ladder) storages() []storage {
	batches := l.Batches
	if batches == nil {
		batches = []int{0}
	}
	var out []storage
	for _, op := range l.Ops {
		for _, batch := range batches {
			out = append(out, storage{op, batch})
		}
	}
	return out
}

// experimentOf returns the experiment of the variant's rows. No main table has a study: its default is a rung.
func (l Ladder) experimentOf(v gemm.Variant) Experiment {
	if l.Experiment == "" && v.Role == gemm.Study {
		return LoopOrders
	}
	return cmp.Or(l.Experiment, MainLadder)
}

// sweepOf returns the swept values for the variant.
func (l Ladder) sweepOf(v gemm.Variant) map[string][]any {
	if l.Libraries != nil && foreign(v) {
		return l.Libraries
	}
	return l.Sweep
}

// inTurn returns the case with its turn. In the experiment weak, it multiplies m by the threads or
// ranks.
func (r Request) inTurn() Case {
	c := r.Case()
	turn := c.turn()
	if r.Experiment == WeakScaling {
		r.M *= c.workers()
		c = r.Case()
	}
	if c.Ranks() > 0 { // no other case has its shape
		turn = c.turn()
	}
	return c.as(turn)
}

// having returns the variants with the type.
func having(typ string, variants []gemm.Variant) []gemm.Variant {
	return slices.DeleteFunc(slices.Clone(variants), func(v gemm.Variant) bool { return !slices.Contains(v.Types(), typ) })
}

// together sorts cases so that the cases of a turn are adjacent, at the place of the last one.
func together(cases []Case) []Case {
	last := map[string]int{}
	for i, c := range cases {
		last[c.Turn] = i
	}
	place := func(i int) int {
		if cases[i].Turn == "" {
			return i
		}
		return last[cases[i].Turn]
	}
	order := make([]int, len(cases))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(place(i), place(j)) })
	var out []Case
	for _, i := range order {
		out = append(out, cases[i])
	}
	return out
}

// turn returns the name of the turn of c: the cases that its times are compared with. It is empty if
// there are none. For the experiment weak, c has the shape of one thread. The turns are:
//
//	ranks               all cases with the same type, shape and number of ranks; those of the experiment
//	                    distribution are apart
//	GPU                 all cases with the same type and shape
//	experiments         all settings of one variant, or of one number of threads
//	compiler            all loops and options, without the builds of this program
//	openmp              the pool and OpenMP with the same setting
//	batch               all cases with the same type, shape and products
//	codes               all codes with short shards of one length
//	production, peers   all of them with the same type and shape
func (c Case) turn() string {
	if ranks := c.Ranks(); ranks > 0 {
		name := fmt.Sprintf("mpi %s %s %s, %d ranks", c.Type, c.Shape, c.Op, ranks)
		if c.Hosts > 0 {
			name += fmt.Sprintf(" on %d hosts", c.Hosts)
		}
		if c.Experiment == Distributions { // a product takes much longer than those of the other experiments
			name = string(c.Experiment) + " " + name
		}
		return name
	}
	if c.OnDevice() {
		name := fmt.Sprintf("cuda %s %s %s", c.Type, c.sized(), c.Op)
		if c.Experiment != MainLadder {
			name = string(c.Experiment) + " " + name
		}
		return name
	}
	switch c.Experiment {
	case StrongScaling, WeakScaling, Affinities, ProcessorLimits, LoopOrders, IteratedProduct:
		return fmt.Sprintf("%s %s %s %s %s", c.Experiment, c.Variant.Name, c.Type, c.Shape, c.Op)
	case ChunkSizes, ArtificialLoad:
		return fmt.Sprintf("%s %s %s %s %s, %d threads", c.Experiment, c.Variant.Name, c.Type, c.Shape, c.Op, c.Threads())
	case Batches:
		return fmt.Sprintf("%s %s %s %s", c.Experiment, c.Type, c.sized(), c.Op)
	case CompilerOptions:
		return fmt.Sprintf("%s %s %s %s", c.Experiment, c.Type, c.Shape, c.Op)
	case OpenMPLoops:
		return fmt.Sprintf("%s %s %s %s, %s", c.Experiment, c.Type, c.Shape, c.Op, c.Params)
	}
	switch {
	case !inTurn(c.Variant):
		return ""
	case c.Type == "gf256" && c.M+c.K <= gf256.MaxShards && leastShard <= c.N && c.N <= shortShard:
		return fmt.Sprintf("peers %s, shards of %d bytes", c.Type, c.N)
	}
	return c.peers()
}

// sized returns the shape, with the products of a batch before it.
func (c Case) sized() string {
	if c.Batch == 0 {
		return c.Shape.String()
	}
	return fmt.Sprintf("%d of %s", c.Batch, c.Shape)
}

// peers returns the name of the turn of production variants and their peers.
func (c Case) peers() string { return fmt.Sprintf("peers %s %s %s", c.Type, c.Shape, c.Op) }

// The codes with shards of one length, within these bounds in bytes, are one turn. Disturbances on a
// shared host last a second or two, which is as long as a turn of one code. Longer shards have
// longer samples.
const (
	leastShard = 4 << 10
	shortShard = 64 << 10
)

// inTurn reports whether a variant is compared with its peers in a turn: production variants, gonum,
// and the libraries of others.
func inTurn(v gemm.Variant) bool {
	switch v.Location {
	case gemm.InProcess:
		return v.Role != gemm.Rung && v.Role != gemm.Program
	case gemm.OnRanks:
		return v.Role == gemm.Library
	}
	return false
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

// Planned returns the rows that a comparison adds to the ladder, for the given variants and
// types: the cut-offs of recursive variants, the builds with other compiler options, and the
// experiments on threads, ranks and the GPU. Most are in f64.
func (p Profile) Planned(variants []gemm.Variant, types []string) []Case {
	var cases []Case
	plain := func(experiment Experiment, v gemm.Variant, n int) Request {
		return Request{Experiment: experiment, Variant: v, Type: "f64", Shape: gemm.Cube(n), Op: "nn", Alpha: 1,
			Params: gemm.Params{}}
	}
	for _, n := range slices.Sorted(maps.Keys(p.Cutoffs)) {
		for _, v := range variants {
			for _, set := range crossed(v, map[string][]any{"cutoff": anys(p.Cutoffs[n])}) {
				if len(set) > 0 && (!v.Has("threads") || set.Int("cutoff") >= leastTask) {
					c := plain(CutoffSweep, v, n)
					c.Params = set
					cases = append(cases, c.Case())
				}
			}
		}
	}
	for _, n := range p.Compiler.Sizes {
		for _, build := range Builds() {
			for _, v := range variants {
				if slices.Contains(p.Compiler.Variants, v.Name) {
					c := plain(CompilerOptions, v, n)
					c.Build = build.Name
					cases = append(cases, c.Case())
				}
			}
		}
	}
	cases = append(cases, p.loopsOfC(variants)...)
	for _, s := range p.Experiments {
		cases = append(cases, s.cases(variants, p.Baselines)...)
	}
	cases = slices.DeleteFunc(cases, func(c Case) bool { return !slices.Contains(types, c.Type) })
	return once(cases)
}

// loopsOfC returns the rows that compare loops in C, by all options of their compiler, with the same loops
// in Go as this program was built. It returns none if there are no programs in C.
func (p Profile) loopsOfC(variants []gemm.Variant) []Case {
	var programs []gemm.Variant
	options := map[string][]any{}
	for _, v := range variants {
		if i := slices.IndexFunc(v.Params, isOptions); v.Role == gemm.Program && i >= 0 {
			programs = append(programs, v)
			options[cFlags] = anys(v.Params[i].Choices)
		}
	}
	if len(programs) == 0 {
		return nil
	}
	for _, v := range variants {
		if slices.Contains(p.Loops.Variants, v.Name) {
			programs = append(programs, v)
		}
	}
	l := Ladder{Experiment: CompilerOptions, Variants: programs, Shapes: cubes(p.Loops.Sizes),
		Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1, Sweep: options}
	return l.Cases()
}

// leastTask is the least cut-off of parallel recursive variants. Below it, tasks are smaller than the
// overhead of a task.
const leastTask = 16

// once removes repeated cases: experiments with one name have the same baselines.
func once(cases []Case) []Case {
	seen := map[identity]bool{}
	return slices.DeleteFunc(cases, func(c Case) bool {
		key := c.identity()
		if seen[key] {
			return true
		}
		seen[key] = true
		return false
	})
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
