package compare

import (
	"runtime"
	"slices"
	"time"

	"gemm"
	"gemm/gf256"
)

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
	Drawn    func(Case) bool // selects rows of the ladder with a timeline; nil: none
	cutoffs  map[int][]int   // cut-offs of the experiment cutoff, by size
	compiler int             // size of the builds in the experiment compiler; 0: none
	loops    []int           // sizes of the loops in C and in Go in that experiment
	studies  []study         // experiments on threads, ranks and the GPU
}

// Profiles returns the profiles:
//
//	quick      everything at small sizes, fast variants up to 2048; three minutes on two cores
//	full       everything, as long as it takes to get good figures
//	parallel   experiments on threads; some 20 minutes on 16 cores
//	mpi        experiments on ranks
//	cuda       what a GPU computes, and our production variant on processors; some minutes
//	peers      our production variants and libraries of others, on all kinds of shapes and on batches; some minutes
//	gf256      Reed–Solomon codes on processors and GPUs; some minutes
//	course     the tables that courses ask for; five minutes on two cores
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
				gemm.Cube(64), gemm.Cube(128), gemm.Cube(256), gemm.Cube(512), gemm.Cube(1000), gemm.Cube(1024),
				gemm.Cube(2048),
				gemm.Cube(4096),
				{M: 257, N: 129, K: 383}, {M: 2048, N: 300, K: 77}, {M: 1, N: 2048, K: 2048}, {M: 2048, N: 2048, K: 16},
			},
			Drawn:    ofWarps,
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
				[]study{distributions(counts),
					{experiment: StrongScaling, sizes: []int{1024}, sweep: map[string][]any{"ranks": counts},
						typ: "f32"}},
				chainStudies, blockStudies, stageStudies, gpuChainStudies, tileStudies),
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
			studies: append(
				rankStudies(anys(rankCounts(processors, 1, 2, 4, 8, 9, 16)), []int{1024, 2048, 4096, 8192}, 1024, 2048),
				distributions(anys(rankCounts(processors, 1, 2, 4, 8, 16)))),
		},
		{
			Name:     "cuda",
			Shapes:   slices.Concat(cubes(cudaSizes), sgemmShapes, slenderShapes),
			Budget:   cudaBudget,
			Ceilings: 300 * time.Millisecond,
			Types:    []string{"f32", "f64", "f16", "bf16"},
			Drawn:    ofWarps,
			Keep:     inCUDAProfile,
			studies: slices.Concat(blockStudies, stageStudies, registerStudies, cacheStudies, gpuChainStudies,
				gpuBatchStudies),
		},
		{
			Name:     "peers",
			Shapes:   slices.Concat(cubes(smallSizes), cubes(peerSizes), skinnyShapes),
			Budget:   peersBudget,
			Ceilings: 300 * time.Millisecond,
			Types:    []string{"f64", "f32"},
			Threads:  []int{1, 2},
			Keep:     contends,
			studies:  batchStudies,
		},
		{
			Name:     "gf256",
			Shapes:   codeShapes(),
			Budget:   peersBudget,
			Ceilings: 300 * time.Millisecond,
			Types:    []string{"gf256"},
			Threads:  slices.Compact([]int{1, processors}),
			Keep:     encodes,
			studies:  tileStudies,
		},
		{
			Name:     "course",
			Shapes:   append(cubes(CourseSizes()), gemm.Cube(courseGPUSize)),
			Budget:   courseBudget,
			Ceilings: 100 * time.Millisecond,
			Types:    []string{"f64", "f32"},
			Ranks:    []int{max(2, processors)},
			Keep:     taught,
			loops:    []int{courseSize},
			studies:  append(courseStudies(), blockStudies...),

			LibraryThreads: slices.Compact([]int{1, processors}),
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

// The sizes of the profile course at which all versions are compared, on processors and on a GPU; of the
// orders of the loops, where the slowest still has samples enough for an interval; and of the textbook
// loops in Python.
const (
	courseSize    = 512
	ordersSize    = 256
	courseGPUSize = 2048
	pythonSize    = 128
)

// CourseSizes returns the sizes of a well-known course, CS267 of Berkeley: the multiples of 32 up to
// 1024, and one less and one more.
func CourseSizes() []int {
	var sizes []int
	for n := 32; n <= 1024; n += 32 {
		sizes = append(sizes, n-1, n, n+1)
	}
	return sizes
}

// The shapes of the profile cuda: cubes, some of which no tile divides; the shapes of the
// collection of SGEMM kernels; one shape with few columns; and one with few rows and a small k.
var (
	cudaSizes   = []int{256, 512, 1000, 1024, 2048, 2049, 3072, 4095, 4096, 6144, 8192}
	sgemmShapes = []gemm.Shape{
		{M: 2048, N: 2048, K: 512}, {M: 2048, N: 2048, K: 1024},
		{M: 2048, N: 4096, K: 512}, {M: 2048, N: 4096, K: 1024},
		{M: 4096, N: 2048, K: 512}, {M: 4096, N: 2048, K: 1024},
		{M: 4096, N: 4096, K: 512}, {M: 4096, N: 4096, K: 1024},
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

// inCUDAProfile reports whether the profile cuda has the case: all that a GPU computes, and, except in half
// precision, our production variant on all processors for cubes up to 4096. Larger ones would take longer than all
// the rest.
func inCUDAProfile(c Case) bool {
	if gemm.TypeNamed(c.Type).IsHalf() {
		return c.OnDevice()
	}
	return c.OnDevice() || c.Variant.Role == gemm.Production && c.shared() && c.Shape == gemm.Cube(c.N) && c.N <= 4096
}

// taught reports whether the profile course has the case in its ladder: the fastest serial variant and
// the fastest plain loops at all sizes of CourseSizes; the versions that a course goes through at one of
// them, with the libraries that it compares them with; the loops in Python at a small one, since they
// take seconds at the others; the rungs of a GPU at a size that is large enough for it, too.
func taught(c Case) bool {
	switch {
	case c.Shape == gemm.Cube(courseGPUSize):
		return c.OnDevice()
	case c.Type != "f64":
		return false
	case c.Variant.Name == "serial/packed", c.Variant.Name == "serial/hinted":
		return true
	case c.Variant.Name == inPython:
		return c.Shape == gemm.Cube(pythonSize)
	case c.Shape != gemm.Cube(courseSize):
		return false
	case c.OnDevice():
		return true
	}
	return slices.Contains(versions, c.Variant.Name)
}

// versions are the variants of the profile course at its main size, besides those of a GPU.
var versions = []string{"serial/naive", "serial/unrolled", "serial/ikj", "serial/blocked",
	"parallel/rows", "parallel/packed", "mpi/p2p-rows", "mpi/scatter-rows", "mpi/scatter-blocks", "reference/numpy",
	"reference/openblas"}

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

// swift reports whether the profile quick has the case in its ladder, which has no studies. All variants have a
// Reed–Solomon code. Programs in C are measured in f64 at one size, loops in Python up to 128. Parallel variants that
// are compared only with one another are measured in f64; those that synchronize in the innermost loop only at small
// sizes, and so is the plain loop over GF(2⁸) and in f32. Variants on ranks are measured in f64, at sizes that are
// worth sending.
func swift(c Case) bool {
	if c.Variant.Role == gemm.Study {
		return false
	}
	if c.Shape == quickCode {
		return c.Type == "gf256"
	}
	switch c.Variant.Name {
	case inPython:
		return briefInPython(c.Shape)
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

// inPython is the variant of loops in Python.
const inPython = "reference/python"

// briefInPython reports whether loops in Python take less than half a second for a cube.
func briefInPython(s gemm.Shape) bool { return s == gemm.Cube(s.N) && s.N <= pythonSize }

// cubed returns the terms of a product of n×n matrices.
func cubed(n int) float64 { return gemm.Cube(n).Terms() }

// spread reports whether the profile full has the case in its ladder. Variants on ranks, which have
// experiments, are measured in f64 on square matrices that are worth sending. Variants on a GPU,
// which has a profile, are measured on square matrices, and so are programs in C, up to 1024, and
// loops in Python, up to 128. It has no studies, which are experiments.
func spread(c Case) bool {
	switch {
	case c.Variant.Role == gemm.Study:
		return false
	case c.Variant.Name == inPython:
		return briefInPython(c.Shape)
	case c.OnDevice():
		return c.Shape == gemm.Cube(c.N)
	case c.Variant.Role == gemm.Program:
		return c.Shape == gemm.Cube(c.N) && c.N <= 1024
	}
	return !c.onRanks() || c.Type == "f64" && c.Shape == gemm.Cube(c.N) && c.N >= 512 && c.N <= 2048
}
