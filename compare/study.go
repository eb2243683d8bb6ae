package compare

import (
	"cmp"
	"fmt"
	"slices"

	"gemm"
)

// study is an experiment on threads, on ranks or on a GPU, of square matrices.
type study struct {
	experiment Experiment
	variants   []string // nil: all of the family mpi
	sizes      []int
	shapes     []gemm.Shape // nil: cubes of sizes
	sweep      map[string][]any
	timeline   bool              // of every row
	drawn      func(c Case) bool // whether a row has a timeline; nil: as timeline says
	typ        string            // empty: f64
	apart      bool              // without the baselines, which are of threads
	duel       bool              // only if all the variants are there
	batches    []int             // products of a batch; nil: one product, and no batch
	libraries  map[string][]any  // swept values of libraries of others; nil: those of sweep
}

// baselines are the variants that speed-ups are quoted over: the fastest serial one,
// and the plain loop that the variants with threads begin from.
var baselines = []string{"serial/packed", "serial/ikj"}

// cases returns the rows of the experiment for the given variants, and for baselines among them if
// it is on threads.
func (s study) cases(variants []gemm.Variant) []Case {
	among := func(names []string) []gemm.Variant {
		return slices.DeleteFunc(slices.Clone(variants), func(v gemm.Variant) bool { return !slices.Contains(names, v.Name) })
	}
	l := Ladder{
		Experiment: s.experiment, Variants: among(s.variants), Shapes: append(cubes(s.sizes), s.shapes...),
		Types: []string{cmp.Or(s.typ, "f64")}, Ops: []string{"nn"}, Alpha: 1, Sweep: s.sweep, Timeline: s.timeline,
		Batches: s.batches, Libraries: s.libraries,
	}
	if s.variants == nil {
		l.Variants = slices.DeleteFunc(slices.Clone(variants), func(v gemm.Variant) bool { return !ownOnRanks(v) })
	}
	if len(l.Variants) == 0 || s.duel && len(l.Variants) < len(s.variants) {
		return nil
	}
	if s.sweep["ranks"] == nil && !s.apart {
		l.Baselines = among(baselines)
	}
	cases := l.Cases()
	for i, c := range cases {
		if s.drawn != nil {
			cases[i].Timeline = s.drawn(c)
		}
	}
	return cases
}

// threadCounts returns 1, 2, 4, … and the number of processors.
func threadCounts(processors int) []any {
	var counts []any
	for n := 1; n < processors; n *= 2 {
		counts = append(counts, n)
	}
	return append(counts, processors)
}

// quickStudies are the experiments on threads of the profile quick: they show scaling, the effect
// of chunks, and of an imbalance.
func quickStudies(threads []any) []study {
	rows, sizes := []string{"parallel/rows"}, []int{256}
	schedules := []any{"static", "dynamic", "guided"}
	return []study{
		{experiment: StrongScaling, variants: rows, sizes: sizes,
			sweep: map[string][]any{"threads": threads, "schedule": schedules}},
		{experiment: ChunkSizes, variants: rows, sizes: sizes,
			sweep: map[string][]any{"threads": threads, "schedule": schedules, "chunk": {0, 16}}},
		{experiment: ArtificialLoad, variants: rows, sizes: sizes,
			sweep: map[string][]any{"threads": last(threads), "schedule": schedules, "load": {4}}, timeline: true},
	}
}

// againstOpenMP are the kernel of the 2024 report on our pool, and the same program in C.
var againstOpenMP = []string{"parallel/collapse-atomic", "reference/openmp-collapse"}

// studies are the experiments on threads. The kernel of the 2024 report, parallel/collapse-atomic, has
// all sizes and schedules of its figures. Sizes are such that a product of a slow
// variant on one thread takes seconds at most.
func studies(threads []any) []study {
	schedules := []any{"static", "dynamic", "guided", "auto"}
	scheduled := func(schedules ...any) map[string][]any {
		return map[string][]any{"threads": threads, "schedule": schedules}
	}
	return []study{
		{experiment: StrongScaling, variants: []string{"parallel/rows"}, sizes: []int{128, 256, 512, 1024, 2048},
			sweep: scheduled(schedules...)},
		{experiment: StrongScaling, variants: []string{"parallel/collapse-atomic"}, sizes: []int{128, 256, 512, 1024},
			sweep: scheduled(slices.Concat([]any{"default"}, schedules)...)},
		{experiment: StrongScaling, variants: []string{"parallel/collapse-atomic"}, sizes: []int{2048},
			sweep: scheduled("default", "static", "dynamic")},
		{experiment: StrongScaling, variants: []string{"parallel/collapse-reduce", "parallel/tiles"},
			sizes: []int{256, 512, 1024}, sweep: scheduled(schedules...)},
		{experiment: StrongScaling, variants: []string{"parallel/collapse-reduce", "parallel/tiles"},
			sizes: []int{2048},
			sweep: scheduled("static", "dynamic")},
		{experiment: StrongScaling, variants: []string{"parallel/collapse-inner-atomic"}, sizes: []int{256, 512},
			sweep: scheduled(schedules...)},
		{experiment: StrongScaling, variants: []string{"parallel/inner"}, sizes: []int{256},
			sweep: scheduled("static", "dynamic", "guided")},
		{experiment: StrongScaling, variants: []string{"parallel/packed", "parallel/strassen"},
			sizes: []int{512, 1024, 2048, 4096}, sweep: map[string][]any{"threads": threads}},
		{experiment: WeakScaling, variants: []string{"parallel/rows", "parallel/tiles", "parallel/packed"}, sizes: []int{512},
			sweep: map[string][]any{"threads": threads}},
		{experiment: WeakScaling, variants: []string{"parallel/packed"}, sizes: []int{1024},
			sweep: map[string][]any{"threads": threads}},
		{experiment: ChunkSizes, variants: []string{"parallel/rows", "parallel/collapse-atomic"}, sizes: []int{512},
			sweep: map[string][]any{
				"threads": threads, "schedule": {"static", "dynamic", "guided"}, "chunk": {0, 1, 4, 16, 64, 256},
			}},
		{experiment: OpenMPLoops, variants: againstOpenMP, sizes: []int{512}, apart: true, duel: true,
			sweep: map[string][]any{
				"threads": threads, "schedule": {"static", "dynamic", "guided"}, "chunk": {0, 1, 16, 256},
			}},
		{experiment: OpenMPLoops, variants: againstOpenMP, sizes: []int{128, 256, 512, 1024}, apart: true, duel: true,
			sweep: map[string][]any{"threads": threads, "schedule": {"default", "static", "dynamic"}, "chunk": {0}}},
		{experiment: Affinities, variants: []string{"parallel/packed", "parallel/rows"}, sizes: []int{1024},
			sweep: map[string][]any{
				"threads": threads, "affinity": {"none", "close", "spread"},
			}},
		{experiment: ProcessorLimits, variants: []string{"parallel/packed", "parallel/rows"}, sizes: []int{1024},
			sweep: map[string][]any{
				"threads": threads, "gomaxprocs": threads,
			}},
		{experiment: ArtificialLoad, variants: []string{"parallel/rows"}, sizes: []int{512}, sweep: map[string][]any{
			"threads": last(threads), "schedule": schedules, "load": {4},
		}, timeline: true},
	}
}

// courseStudies are the experiments of the profile course. Each fills a table that courses ask for:
// ranks × size, threads × size × schedule, and the orders of the three loops. The numbers of ranks and
// threads are those of the tables, also if there are fewer processors. Ranks compute their parts by
// their default, which is fast enough for the largest size; threads compute rows by plain loops.
func courseStudies() []study {
	counts := []any{1, 2, 4, 8, 16}
	return []study{
		{experiment: StrongScaling, variants: []string{"mpi/p2p-rows", "mpi/scatter-rows", "mpi/scatter-blocks"},
			sizes: []int{128, 256, 512, 1024, 2048}, sweep: map[string][]any{"ranks": counts}},
		{experiment: StrongScaling, variants: []string{"parallel/rows"}, sizes: []int{128, 256, 512, 1024}, apart: true,
			sweep: map[string][]any{"threads": counts, "schedule": {"default", "static", "dynamic"}}},
		{experiment: LoopOrders, variants: []string{"serial/loops"}, sizes: []int{ordersSize}, apart: true,
			sweep: map[string][]any{"order": {"ijk", "ikj", "jik", "jki", "kij", "kji"}}},
	}
}

// rankCounts returns the numbers of ranks that do not exceed the processors, and always the first
// number.
func rankCounts(processors int, numbers ...int) []int {
	var counts []int
	for i, n := range numbers {
		if i == 0 || n <= processors {
			counts = append(counts, n)
		}
	}
	return counts
}

// rankTimelines are the variants whose timelines show what the family is about: messages, a collective
// call, broadcasts, shifts.
var rankTimelines = []string{"mpi/p2p-rows", "mpi/scatter-rows", "mpi/summa", "mpi/cannon"}

// warpTimelines are the variants whose timelines show what warps do inside of a kernel, and warpSize is where they are
// drawn.
var (
	warpTimelines = []string{"cuda/tf32-wgmma", "cuda/tf32-wgmma-ws", "cuda/tf32-wgmma-persistent", "cuda/f16x3",
		"cuda/wgmma", "cuda/wgmma-ws", "cuda/wgmma-persistent"}
	warpSize = gemm.Cube(4096)
)

// ofWarps reports whether the case has a timeline for what warps do.
func ofWarps(c Case) bool {
	return slices.Contains(warpTimelines, c.Key.Variant) && c.Shape == warpSize && c.Experiment == MainLadder
}

// rankStudies are the experiments on ranks: strong scaling of all variants at the sizes; weak
// scaling from base; and at one size, on the most ranks, timelines, and the effect of panel widths and of
// placement.
func rankStudies(ranks []any, sizes []int, base, size int) []study {
	most := last(ranks)
	return []study{
		{experiment: StrongScaling, sizes: sizes, sweep: map[string][]any{"ranks": ranks}, drawn: func(c Case) bool {
			drawn := slices.Contains(rankTimelines, c.Key.Variant)
			return drawn && c.Shape == gemm.Cube(size) && c.Params["ranks"] == most[0]
		}},
		{
			experiment: WeakScaling, variants: []string{"mpi/scatter-rows", "mpi/bcast-rows", "mpi/summa", "mpi/srumma",
				"mpi/cannon", "mpi/25d"},
			sizes: []int{base}, sweep: map[string][]any{"ranks": ranks},
		},
		{
			experiment: PanelWidths, variants: []string{"mpi/p2p-rows-overlap", "mpi/bcast-rows", "mpi/summa",
				"mpi/srumma", "mpi/25d"},
			sizes: []int{size}, sweep: map[string][]any{"ranks": most, "panel": {16, 64, 256, 1024}},
		},
		{
			experiment: Affinities, variants: []string{"mpi/p2p-rows", "mpi/scatter-rows", "mpi/summa"},
			sizes: []int{size}, sweep: map[string][]any{"ranks": most, "affinity": {"none", "close"}},
		},
	}
}

// distributions is the experiment of the 2024 report on ranks: rows by messages, rows by collective calls
// and blocks, with its local kernel.
func distributions(ranks []any) study {
	return study{experiment: Distributions, variants: []string{"mpi/p2p-rows", "mpi/scatter-rows",
		"mpi/scatter-blocks"},
		sizes: []int{128, 256, 512, 1024, 2048}, sweep: map[string][]any{"ranks": ranks, "local": {"serial/naive"}}}
}

// The experiments on a GPU, all interleaved with cuBLAS: thread blocks and slices as in the table
// of the 2024 report, pipeline stages, limits of registers, and products whose operands fit in L2.
var (
	blockStudies = []study{
		onGPU(BlockSizes, "f32", 2048, map[string][]any{"block": {8, 16}, "bk": {8, 16}},
			"cuda/blocktile2d", "cuda/vectorized", "cuda/conflictfree", "cuda/doublebuffer", "cuda/multistage",
			"cuda/cublas"),
		onGPU(BlockSizes, "f64", 2048, map[string][]any{"block": {8, 16, 32}}, "cuda/packed-global", "cuda/cublas"),
	}
	stageStudies = []study{
		onGPU(PipelineStages, "f32", 4096, map[string][]any{"stages": {2, 3}}, "cuda/tf32-wmma", "cuda/tf32-mma",
			"cuda/cublas-tf32"),
		onGPU(PipelineStages, "f64", 4096, map[string][]any{"stages": {2, 3}}, "cuda/dmma", "cuda/cublas"),
	}
	registerStudies = []study{
		onGPU(RegisterLimits, "f32", 4096, map[string][]any{"maxregs": {0, 64, 96, 128}},
			"cuda/conflictfree", "cuda/doublebuffer", "cuda/multistage", "cuda/warptile", "cuda/cublas"),
	}
	cacheStudies = []study{
		onGPU(CacheStates, "f32", 1024, map[string][]any{"l2": {"cold", "warm"}},
			"cuda/doublebuffer", "cuda/multistage", "cuda/warptile", "cuda/tf32-mma", "cuda/cublas",
			"cuda/cublas-tf32"),
		onGPU(CacheStates, "f64", 1024, map[string][]any{"l2": {"cold", "warm"}}, "cuda/conflictfree", "cuda/dmma-wmma",
			"cuda/dmma", "cuda/cublas"),
	}
)

// The experiments on iterated products: with additions between the products, and operands that the step before has just
// written, next to one product.
var (
	chainStudies = []study{{experiment: IteratedProduct, variants: []string{"serial/packed", "parallel/packed"},
		sizes: []int{512, 1024}, sweep: map[string][]any{iterations: {0, 10}}, apart: true}}
	gpuChainStudies = []study{onGPU(IteratedProduct, "f64", 2048, map[string][]any{iterations: {0, 10, 100}},
		"cuda/packed-global", "cuda/smem", "cuda/conflictfree", "cuda/dmma-wmma", "cuda/dmma", "cuda/cublas")}
)

// batchStudies are batches of small products, by our production variants and by libraries, on one thread and on two.
var batchStudies = []study{batchStudy("f64"), batchStudy("f32")}

// gpuBatchStudies are batches of small products on a GPU.
var gpuBatchStudies = []study{{experiment: Batches, typ: "f32", sizes: []int{32, 64, 128}, batches: []int{1000},
	variants: []string{"cuda/warptile", "cuda/cublas"}, apart: true}}

func batchStudy(typ string) study {
	return study{experiment: Batches, typ: typ, sizes: []int{4, 8, 16, 32}, batches: []int{1000}, apart: true,
		variants: []string{"serial/packed", "parallel/packed", "reference/openblas", "reference/mkl", "reference/blis",
			"reference/libxsmm"},
		sweep: map[string][]any{"threads": {2}}, libraries: map[string][]any{"threads": {1, 2}}}
}

// tileStudies are the tiles of the kernel over GF(2⁸) whose tiles are arguments: rows and columns of C, and depth.
var tileStudies = []study{{experiment: TileShapes, variants: []string{"cuda/tiled"}, shapes: []gemm.Shape{rungsCode},
	typ: "gf256", sweep: map[string][]any{"tile": tiles([]int{1, 2, 4}, []int{32, 64, 128, 256}, []int{2, 5, 10})},
	apart: true}}

// tiles returns the names of all tiles of so many rows, columns and indices of k.
func tiles(rows, cols, depths []int) []any {
	var names []any
	for _, m := range rows {
		for _, n := range cols {
			for _, k := range depths {
				names = append(names, fmt.Sprintf("%dx%dx%d", m, n, k))
			}
		}
	}
	return names
}

// onGPU returns the experiment of that name on a GPU.
func onGPU(experiment Experiment, typ string, size int, sweep map[string][]any, variants ...string) study {
	return study{experiment: experiment, variants: variants, sizes: []int{size}, sweep: sweep, typ: typ, apart: true}
}

// last returns the last of the values alone.
func last(values []any) []any { return values[len(values)-1:] }

// Experiment names what a row is measured for, in records too.
type Experiment string

// The experiments. Most are named for the parameter that is swept.
const (
	MainLadder      Experiment = "ladder"       // the rows of the main tables: every variant by itself
	CompilerOptions Experiment = "compiler"     // other compiler options: builds of this program, and loops in C
	CutoffSweep     Experiment = "cutoff"       // sizes at which a recursion ends
	LoopOrders      Experiment = "order"        // orders of three plain loops
	StrongScaling   Experiment = "strong"       // threads or ranks, of one shape
	WeakScaling     Experiment = "weak"         // threads or ranks, with as many matrix rows of C each
	ChunkSizes      Experiment = "chunk"        // chunks of a schedule
	OpenMPLoops     Experiment = "openmp"       // our pool and OpenMP, by schedules and chunks
	ArtificialLoad  Experiment = "load"         // schedules under an artificial imbalance
	Affinities      Experiment = "affinity"     // where threads or ranks run
	ProcessorLimits Experiment = "gomaxprocs"   // values of GOMAXPROCS
	IteratedProduct Experiment = "chain"        // products that follow each other, with additions between
	Batches         Experiment = "batch"        // many products of one shape, computed as a batch
	PanelWidths     Experiment = "panel"        // what ranks send at once
	RankSchedules   Experiment = "schedule"     // whether ranks of a host help each other
	Distributions   Experiment = "distribution" // how ranks share a product out, with the textbook loops on each
	BlockSizes      Experiment = "block"        // blocks of threads and slices of k on a GPU
	PipelineStages  Experiment = "stages"       // slices in shared memory
	TileShapes      Experiment = "tile"         // tiles of C and depths of slices on a GPU
	RegisterLimits  Experiment = "maxregs"      // registers of a thread at most
	CacheStates     Experiment = "l2"           // operands in the GPU's cache or not
	TuningTrials    Experiment = "tune"         // settings of a kernel that gemm tune tries
	TunedKernels    Experiment = "tuned"        // settings of a kernel that gemm tune has chosen, and the default
)
