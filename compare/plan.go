package compare

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

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
			for _, op := range l.Ops {
				var rows []Case
				row := func(v gemm.Variant, p gemm.Params) Request {
					return Request{
						Experiment: l.experimentOf(v), Variant: v, Type: typ, Shape: shape,
						Op: op, Alpha: l.Alpha, Beta: l.Beta, LD: l.LD, Params: p,
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
//	ranks               all cases with the same type, shape and number of ranks
//	GPU                 all cases with the same type and shape
//	experiments         all settings of one variant, or of one number of threads
//	compiler            all loops and options, without the builds of this program
//	openmp              the pool and OpenMP with the same setting
//	codes               all codes with short shards of one length
//	production, peers   all of them with the same type and shape
func (c Case) turn() string {
	if ranks := c.Ranks(); ranks > 0 {
		return fmt.Sprintf("mpi %s %s %s, %d ranks", c.Type, c.Shape, c.Op, ranks)
	}
	if c.OnDevice() {
		name := fmt.Sprintf("cuda %s %s %s", c.Type, c.Shape, c.Op)
		if c.Experiment != MainLadder {
			name = string(c.Experiment) + " " + name
		}
		return name
	}
	switch c.Experiment {
	case StrongScaling, WeakScaling, Affinities, ProcessorLimits, LoopOrders:
		return fmt.Sprintf("%s %s %s %s %s", c.Experiment, c.Variant.Name, c.Type, c.Shape, c.Op)
	case ChunkSizes, ArtificialLoad:
		return fmt.Sprintf("%s %s %s %s %s, %d threads", c.Experiment, c.Variant.Name, c.Type, c.Shape, c.Op, c.Threads())
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

// Profile says what a comparison measures, and for how long.
type Profile struct {
	Name     string
	Shapes   []gemm.Shape
	Budget   Budget
	Ceilings time.Duration // time to measure each peak and bandwidth
	Types    []string      // nil: all
	Threads  []int         // numbers of threads; nil: the default of each variant
	// LibraryThreads are the numbers of threads of libraries of others; nil: Threads.
	LibraryThreads []int
	Ranks          []int // numbers of ranks in the ladder
	// Keep selects rows of the ladder; nil: all.
	Keep func(Case) bool
	// Suits selects rows of the ladder further, by shape; nil: all. It is for Shapes, and not for
	// shapes that the user has requested.
	Suits    func(Case) bool
	cutoffs  map[int][]int // cut-offs of the experiment cutoff, by size
	compiler int           // size of the builds in the experiment compiler; 0: none
	loops    []int         // sizes of the loops in C and in Go in that experiment
	studies  []study       // experiments on threads, ranks and the GPU
}

// Profiles returns the profiles:
//
//	quick      everything at small sizes, fast variants up to 2048; three minutes on two cores
//	full       everything, as long as it takes to get good figures
//	parallel   experiments on threads; some 20 minutes on 16 cores
//	mpi        experiments on ranks
//	cuda       what a GPU computes, and our production variant on processors; some minutes
//	peers      our production variants and libraries of others, on all kinds of shapes; some minutes
//	gf256      Reed–Solomon codes on processors and GPUs; some minutes
func Profiles() []Profile {
	processors := runtime.GOMAXPROCS(0)
	counts := threadCounts(processors)
	return []Profile{
		{
			Name: "quick",
			Shapes: []gemm.Shape{gemm.Cube(64), gemm.Cube(128), gemm.Cube(256), gemm.Cube(512), gemm.Cube(1024),
				gemm.Cube(2048), {M: 257, N: 129, K: 383}, quickCode},
			Budget:   quickBudget,
			Ceilings: 50 * time.Millisecond,
			cutoffs: map[int][]int{
				128: {4, 16, 64},
				512: {32, 64, 128, 256, 512},
			},
			compiler: 256,
			loops:    []int{128, 256},
			Keep:     swift,
			Suits:    suitsQuick,
			Ranks:    []int{2, 4},
			studies:  quickStudies(counts),

			LibraryThreads: slices.Compact([]int{1, processors}),
		},
		{
			Name: "full",
			Shapes: []gemm.Shape{
				gemm.Cube(64), gemm.Cube(128), gemm.Cube(256), gemm.Cube(512), gemm.Cube(1000), gemm.Cube(1024), gemm.Cube(2048),
				gemm.Cube(4096),
				{M: 257, N: 129, K: 383}, {M: 2048, N: 300, K: 77}, {M: 1, N: 2048, K: 2048}, {M: 2048, N: 2048, K: 16},
			},
			Budget:   fullBudget,
			Ceilings: 500 * time.Millisecond,
			cutoffs: map[int][]int{
				128:  {1, 2, 4, 8, 16, 32, 64, 128},
				512:  {16, 32, 64, 128, 256, 512},
				2048: {64, 128, 256, 512, 1024, 2048},
			},
			compiler: 512,
			loops:    []int{128, 256, 512, 1024},
			Keep:     spread,
			Ranks:    []int{max(2, processors)},
			studies: slices.Concat(studies(counts), rankStudies(counts, []int{512, 1024, 2048}, 512, 1024),
				[]study{{experiment: StrongScaling, sizes: []int{1024}, sweep: map[string][]any{"ranks": counts}, typ: "f32"}},
				blockStudies, stageStudies),
		},
		{
			Name:     "parallel",
			Budget:   parallelBudget,
			Ceilings: 300 * time.Millisecond,
			Types:    []string{"f64"},
			Keep:     func(Case) bool { return false },
			studies:  studies(counts),
		},
		{
			Name:     "mpi",
			Budget:   mpiBudget,
			Ceilings: 300 * time.Millisecond,
			Types:    []string{"f64"},
			Keep:     func(Case) bool { return false },
			studies:  rankStudies(anys(rankCounts(processors, 1, 2, 4, 8, 9, 16)), []int{1024, 2048, 4096, 8192}, 1024, 2048),
		},
		{
			Name:     "cuda",
			Shapes:   slices.Concat(cubes(cudaSizes), sgemmShapes, slenderShapes),
			Budget:   cudaBudget,
			Ceilings: 300 * time.Millisecond,
			Types:    []string{"f32", "f64"},
			Keep:     inCUDAProfile,
			studies:  slices.Concat(blockStudies, stageStudies, registerStudies, cacheStudies),
		},
		{
			Name:     "peers",
			Shapes:   slices.Concat(cubes(smallSizes), cubes(peerSizes), skinnyShapes),
			Budget:   peersBudget,
			Ceilings: 300 * time.Millisecond,
			Types:    []string{"f64", "f32"},
			Threads:  []int{1, 2},
			Keep:     contends,
		},
		{
			Name:     "gf256",
			Shapes:   codeShapes(),
			Budget:   peersBudget,
			Ceilings: 300 * time.Millisecond,
			Types:    []string{"gf256"},
			Threads:  slices.Compact([]int{1, processors}),
			Keep:     encodes,
		},
	}
}

// The shapes of the profile peers.
var (
	smallSizes   = []int{2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48}
	peerSizes    = []int{64, 65, 100, 127, 128, 129, 255, 256, 257, 512, 1000, 1023, 1024, 2047, 2048, 4096}
	skinnyShapes = []gemm.Shape{
		{M: 4096, N: 4096, K: 16}, {M: 16, N: 4096, K: 4096}, {M: 4096, N: 16, K: 4096}, {M: 8192, N: 64, K: 64},
		{M: 64, N: 64, K: 8192}, {M: 1, N: 4096, K: 4096},
	}
)

// The shapes of the profile cuda: cubes, some of which no tile divides; the shapes of the
// collection of SGEMM kernels; one shape with few columns; and one with few rows and a small k.
var (
	cudaSizes   = []int{256, 512, 1000, 1024, 2048, 2049, 3072, 4095, 4096, 6144, 8192}
	sgemmShapes = []gemm.Shape{
		{M: 2048, N: 2048, K: 512}, {M: 2048, N: 2048, K: 1024}, {M: 2048, N: 4096, K: 512}, {M: 2048, N: 4096, K: 1024},
		{M: 4096, N: 2048, K: 512}, {M: 4096, N: 2048, K: 1024}, {M: 4096, N: 4096, K: 512}, {M: 4096, N: 4096, K: 1024},
	}
	slenderShapes = []gemm.Shape{{M: 8192, N: 64, K: 8192}, {M: 64, N: 1048576, K: 64}}
)

// The shapes of Reed–Solomon codes. The k data shards are the rows of B, the m parity shards the
// rows of C, and n is the length of a shard in bytes. The profile gf256 has all codes at two
// lengths, one that fits in a cache and one that does not; one code at all lengths; and all rungs
// of a GPU at one shape.
var (
	quickCode  = code(10, 4, 64<<10)
	codes      = [][2]int{{4, 2}, {10, 4}, {17, 3}, {8, 8}, {16, 16}, {50, 20}, {128, 32}} // k, m
	codeWidths = []int{64 << 10, 1 << 20}
	sweptWidth = []int{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20}
	rungsCode  = code(10, 4, 16<<20)
)

// The least length of shards for a GPU, and the most for a processor.
const (
	leastOnGPU = 1 << 20
	mostOnCPU  = 64 << 20
)

// code returns the shape of a code of k data and m parity shards with width bytes each.
func code(k, m, width int) gemm.Shape { return gemm.Shape{M: m, N: width, K: k} }

func codeShapes() []gemm.Shape {
	var shapes []gemm.Shape
	for _, c := range codes {
		for _, width := range codeWidths {
			shapes = append(shapes, code(c[0], c[1], width))
		}
	}
	for _, width := range sweptWidth {
		if s := code(10, 4, width); !slices.Contains(shapes, s) {
			shapes = append(shapes, s)
		}
	}
	return shapes
}

// encodes reports whether the profile gf256 has the case: production variants, their peer and the two
// fastest rungs for all codes; the plain loops for one code at two lengths; all rungs at one shape.
func encodes(c Case) bool {
	one := c.K == rungsCode.K && c.M == rungsCode.M
	switch c.Variant.Name {
	case "serial/packed", "reference/reedsolomon":
		return c.N <= mostOnCPU
	case "parallel/packed":
		return c.Threads() > 1 && c.N <= mostOnCPU
	case "serial/naive", "serial/ikj", "serial/blocked":
		return one && slices.Contains(codeWidths, c.N)
	case "cuda/word", "cuda/tuned":
		return c.N >= leastOnGPU
	}
	return c.OnDevice() && c.Shape == rungsCode
}

// inCUDAProfile reports whether the profile cuda has the case: all that a GPU computes, and our
// production variant on all processors for cubes up to 4096. Larger ones would take longer than all
// the rest.
func inCUDAProfile(c Case) bool {
	return c.OnDevice() || c.Variant.Role == gemm.Production && c.shared() && c.Shape == gemm.Cube(c.N) && c.N <= 4096
}

func cubes(sizes []int) []gemm.Shape {
	var shapes []gemm.Shape
	for _, n := range sizes {
		shapes = append(shapes, gemm.Cube(n))
	}
	return shapes
}

// contends reports whether the profile peers has the case. On one thread it has production variants
// and their peers at all shapes, on several threads at large cubes. Gonum is ten times slower: it has
// products up to 1024³.
func contends(c Case) bool {
	large := c.M == c.N && c.N == c.K && c.N >= 512
	switch {
	case c.Ranks() > 0 || c.Type == "gf256" || !c.accepted() || c.calledForLittle():
		return false
	case c.foreign():
		return c.Threads() == 1 || large
	case c.Variant.Location != gemm.InProcess:
		return false
	case c.Variant.Role == gemm.Baseline:
		return c.Terms() <= 1<<30
	case c.Variant.Role == gemm.Production:
		return !c.shared() || c.Threads() > 1 && large
	}
	return false
}

// calledForLittle reports whether the product of the case is so small that the call is a part of its time.
func (c Case) calledForLittle() bool { return c.Terms() < c.Variant.Least }

// swift reports whether the profile quick has the case in its ladder. It has no studies. All variants have a
// Reed–Solomon code. Programs in C are measured in f64 at one size. Parallel variants that are compared
// only with one another are measured in f64;
// those that synchronize in the innermost loop only at small sizes, and so is the plain loop over
// GF(2⁸) and in f32. Variants on ranks are measured in f64, at sizes that are worth sending.
func swift(c Case) bool {
	if c.Variant.Role == gemm.Study {
		return false
	}
	if c.Shape == quickCode {
		return c.Type == "gf256"
	}
	switch c.Variant.Name {
	case "serial/naive":
		return c.Type == "f64" || c.Terms() <= cubed(256)
	case "parallel/inner":
		return c.Type == "f64" && c.Terms() <= cubed(128)
	case "parallel/collapse-inner-atomic":
		return c.Type == "f64" && c.Terms() <= cubed(256)
	case "parallel/packed", "parallel/strassen":
		return true
	case "reference/reedsolomon":
		return c.M+c.K <= gf256.MaxShards
	}
	switch {
	case !c.accepted() || c.calledForLittle():
		return false
	case c.Variant.Role == gemm.Program:
		return c.Type == "f64" && c.Shape == gemm.Cube(256)
	case c.shared():
		return c.Type == "f64"
	case c.Ranks() > 0:
		return c.Type == "f64" && c.Terms() >= cubed(256)
	}
	return true
}

// suitsQuick reports whether the case is of a size that the profile quick has for the variant. Sizes
// beyond the caches show what blocks are good for. Plain loops, but for collapsed ones, are measured up
// to 1024 in f64 if Budget.Call permits, and so are variants on ranks. Only the fastest variants, libraries and the GPU
// have all sizes. Libraries use several threads at sizes that are worth waking them.
func suitsQuick(c Case) bool {
	switch c.Variant.Name {
	case "serial/packed", "serial/strassen", "serial/winograd", "parallel/packed", "parallel/strassen":
		return c.Type != "gf256" || c.Terms() <= cubed(1024)
	case "parallel/collapse-atomic", "parallel/collapse-reduce":
		return c.Terms() <= cubed(512)
	}
	switch {
	case c.Shape == quickCode:
		return c.Ranks() <= 2
	case c.foreign():
		return c.Threads() == 1 || c.Terms() >= cubed(512)
	case c.OnDevice(), c.Terms() <= cubed(512):
		return true
	}
	return c.Type == "f64" && c.Terms() <= cubed(1024)
}

// cubed returns the terms of a product of n×n matrices.
func cubed(n int) float64 { return gemm.Cube(n).Terms() }

// spread reports whether the profile full has the case in its ladder. Variants on ranks, which have
// experiments, are measured in f64 on square matrices that are worth sending. Variants on a GPU,
// which has a profile, are measured on square matrices, and so are programs in C, up to 1024. Studies
// are experiments.
func spread(c Case) bool {
	switch {
	case c.Variant.Role == gemm.Study:
		return false
	case c.OnDevice():
		return c.Shape == gemm.Cube(c.N)
	case c.Variant.Role == gemm.Program:
		return c.Shape == gemm.Cube(c.N) && c.N <= 1024
	}
	return !c.onRanks() || c.Type == "f64" && c.Shape == gemm.Cube(c.N) && c.N >= 512 && c.N <= 2048
}

// Experiments returns the rows that a comparison adds to the ladder, for the given variants and
// types: the cut-offs of recursive variants, the builds with other compiler options, and the
// experiments on threads, ranks and the GPU. Most are in f64.
func (p Profile) Experiments(variants []gemm.Variant, types []string) []Case {
	var cases []Case
	plain := func(experiment Experiment, v gemm.Variant, n int) Request {
		return Request{Experiment: experiment, Variant: v, Type: "f64", Shape: gemm.Cube(n), Op: "nn", Alpha: 1,
			Params: gemm.Params{}}
	}
	for _, n := range slices.Sorted(maps.Keys(p.cutoffs)) {
		for _, v := range variants {
			for _, set := range crossed(v, map[string][]any{"cutoff": anys(p.cutoffs[n])}) {
				if len(set) > 0 && (!v.Has("threads") || set.Int("cutoff") >= leastTask) {
					c := plain(CutoffSweep, v, n)
					c.Params = set
					cases = append(cases, c.Case())
				}
			}
		}
	}
	for _, build := range Builds() {
		for _, v := range variants {
			if p.compiler > 0 && slices.Contains(compiled, v.Name) {
				c := plain(CompilerOptions, v, p.compiler)
				c.Build = build.Name
				cases = append(cases, c.Case())
			}
		}
	}
	cases = append(cases, p.loopsOfC(variants)...)
	for _, s := range p.studies {
		cases = append(cases, s.cases(variants)...)
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
		if slices.Contains(loops, v.Name) {
			programs = append(programs, v)
		}
	}
	l := Ladder{Experiment: CompilerOptions, Variants: programs, Shapes: cubes(p.loops),
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

func anys[V any](values []V) []any {
	var out []any
	for _, v := range values {
		out = append(out, v)
	}
	return out
}
