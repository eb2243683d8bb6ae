package compare

// Experiment names what a row is measured for, in records too.
type Experiment string

// The experiments. Most are named for the parameter that is swept.
const (
	MainLadder      Experiment = "ladder"     // the rows of the main tables: every variant by itself
	CompilerOptions Experiment = "compiler"   // builds of this program with other options of the compiler
	CutoffSweep     Experiment = "cutoff"     // sizes at which a recursion ends
	StrongScaling   Experiment = "strong"     // threads or ranks, of one shape
	WeakScaling     Experiment = "weak"       // threads or ranks, with as many matrix rows of C each
	ChunkSizes      Experiment = "chunk"      // chunks of a schedule
	ArtificialLoad  Experiment = "load"       // schedules under an artificial imbalance
	Affinities      Experiment = "affinity"   // where threads or ranks run
	ProcessorLimits Experiment = "gomaxprocs" // values of GOMAXPROCS
	PanelWidths     Experiment = "panel"      // what ranks send at once
	RankSchedules   Experiment = "schedule"   // whether ranks of a host help each other
	BlockSizes      Experiment = "block"      // blocks of threads and slices of k on a GPU
	PipelineStages  Experiment = "stages"     // slices in shared memory
	RegisterLimits  Experiment = "maxregs"    // registers of a thread at most
	CacheStates     Experiment = "l2"         // operands in the GPU's cache or not
	TuningTrials    Experiment = "tune"       // settings of a kernel that gemm tune tries
	TunedKernels    Experiment = "tuned"      // settings of a kernel that gemm tune has chosen, and the default
)
