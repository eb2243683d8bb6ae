package record

import (
	"fmt"

	"gemm"
)

// ID returns the identity of r.
func (r Record) ID() ID { return r.Key.ID(r.Params) }

// ID returns the identity of the row of t.
func (t Trace) ID() ID { return t.Key.ID(t.Params) }

// Problem is an operation on operands with a storage: what several variants compute.
type Problem struct {
	Type  string  `json:"type"` // f64, f32, f16, bf16, gf256
	Op    string  `json:"op"`   // nn, nt, tn, tt: how A and B are stored
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
	gemm.Shape
	LDA   int `json:"lda"`
	LDB   int `json:"ldb"`
	LDC   int `json:"ldc"`
	Batch int `json:"batch,omitempty"` // products of the shape, computed as one batch; 0: one product, and no batch
}

// String returns all that p consists of.
func (p Problem) String() string {
	text := fmt.Sprint(p.Type, " ", p.Shape, " ", p.Op, " ", p.Alpha, " ", p.Beta, " ", p.LDA, ",", p.LDB, ",", p.LDC)
	if p.Batch > 0 {
		text += fmt.Sprint(" batch ", p.Batch)
	}
	return text
}

// Label returns the shape of p as tables show it, with the products of a batch before it.
func (p Problem) Label() string {
	switch {
	case p.Batch == 0:
		return p.Shape.Label()
	case p.IsCube():
		return fmt.Sprintf("%d × %d³", p.Batch, p.N)
	}
	return fmt.Sprintf("%d × (%s)", p.Batch, p.Shape.Label())
}

// Key is the identity of a row or a timeline, except for the parameters.
type Key struct {
	Host       string     `json:"host"`
	Experiment Experiment `json:"experiment"`
	Variant    string     `json:"variant"`
	Build      string     `json:"build,omitempty"` // of the experiment compiler: v1, v3, v1 -B, v3 -B
	Hosts      int        `json:"hosts,omitempty"` // of the ranks, if the job was on several; otherwise 0
	Problem
}

// ID identifies a row or a timeline by what was requested, not by the result.
type ID struct {
	Key
	params string
}

// ID returns the identity of a row of k with the parameters as asked.
func (k Key) ID(p gemm.Params) ID { return ID{k, p.String()} }

// On returns k on the host.
func (k Key) On(host string) Key {
	k.Host = host
	return k
}

// Experiment names what a row is measured for, in records too.
type Experiment string

// The experiments. Most are named for the parameter that is swept.
const (
	MainLadder      Experiment = "ladder"       // the rows of the main tables: every variant by itself
	CompilerOptions Experiment = "compiler"     // other compiler options: builds of this program, and loops in C
	CutoffSweep     Experiment = "cutoff"       // sizes at which a recursion ends
	LoopOrders      Experiment = "order"        // orders of three plain loops
	StrongScaling   Experiment = "strong"       // threads or ranks, of one shape
	WeakScaling     Experiment = "weak"         // threads, ranks or GPUs, with as many matrix rows of C each
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

// Experiments are all experiments.
var Experiments = []Experiment{
	MainLadder, CompilerOptions, CutoffSweep, LoopOrders, StrongScaling, WeakScaling, ChunkSizes, OpenMPLoops,
	ArtificialLoad, Affinities, ProcessorLimits, IteratedProduct, Batches, PanelWidths, RankSchedules,
	Distributions, BlockSizes, PipelineStages, TileShapes, RegisterLimits, CacheStates, TuningTrials, TunedKernels,
}

// The conditions of a measurement are parameters of the experiment: they say how a product is measured, not how it
// is computed. In a record they are among the parameters of the variant.
const (
	LimitParam = "gomaxprocs" // GOMAXPROCS during the row
	LoadParam  = "load"       // imbalance between the parts of a loop, see Loadable
	ChainParam = "chain"      // steps of an iterated product, see verify.Chain
)
