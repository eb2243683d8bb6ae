package compare

import (
	"cmp"
	"slices"

	"gemm"
)

// Selection selects rows: those that have all of what it says. The zero value selects all.
type Selection struct {
	Variants []string `word:"variant"`
	Families []string `word:"family"`
	Roles    []string `word:"role"`
	Classes  []string `word:"class"`
	On       []string `word:"place"`
	Types    []string `word:"type"`
	Shapes   shapes
	Cubes    bool // only products of square matrices
	// Least and Most are of products with at least, and at most, as many terms as square matrices of that size.
	Least, Most int
	Columns     Range // of C
	Threads     Range // busy threads, on all ranks together
	Ranks       Range // 0 if the row is on none
	// Worthwhile: whether the variant computes products of the shape, and the call takes little of their time.
	Worthwhile *bool
}

// Range are numbers from Least to Most. Most 0: there is no limit.
type Range struct{ Least, Most int }

func (r Range) has(n int) bool { return n >= r.Least && (r.Most == 0 || n <= r.Most) }

// roles are the names of the roles, and classes of the classes. The first ones are of those without a name.
var (
	roles = []string{"rung", string(gemm.Production), string(gemm.Baseline), string(gemm.Library), string(gemm.Brought),
		string(gemm.Program), string(gemm.Study)}
	classes = []string{"plain", string(gemm.Interpreted), string(gemm.Textbook), string(gemm.Tuned), string(gemm.Fast)}
)

// places are where rows are computed: by one process, which has a row of a library; by our threads of one process; on ranks;
// on a GPU.
var places = []string{"process", "threads", "ranks", "gpu"}

// isOn reports whether the case is computed at one of the places.
func (c Case) isOn(place string) bool {
	switch place {
	case "process":
		return c.Variant.Location == gemm.InProcess
	case "threads":
		return c.shared()
	case "ranks":
		return c.Ranks() > 0
	}
	return c.OnDevice()
}

// Has reports whether the selection has the case.
func (s Selection) Has(c Case) bool {
	among := func(list []string, value string) bool { return list == nil || slices.Contains(list, value) }
	return among(s.Variants, c.Key.Variant) && among(s.Families, c.Variant.Family()) &&
		among(s.Roles, cmp.Or(string(c.Variant.Role), roles[0])) &&
		among(s.Classes, cmp.Or(string(c.Variant.Class), classes[0])) && among(s.Types, c.Type) &&
		(s.On == nil || slices.ContainsFunc(s.On, c.isOn)) &&
		(s.Shapes == nil || slices.Contains(s.Shapes, c.Shape)) && (!s.Cubes || c.IsCube()) &&
		c.Terms() >= gemm.Cube(s.Least).Terms() && (s.Most == 0 || c.Terms() <= gemm.Cube(s.Most).Terms()) &&
		s.Columns.has(c.N) && s.Threads.has(c.Threads()) && s.Ranks.has(c.Ranks()) &&
		(s.Worthwhile == nil || *s.Worthwhile == c.worthwhile())
}

// worthwhile reports whether the variant computes products of the shape, of which the call takes little of the time.
func (c Case) worthwhile() bool { return c.accepted() && c.Terms() >= c.Variant.Least }

// rule decides whether the rows that it selects are measured: all, or those that Only has, or none.
type rule struct {
	Selection `yaml:",inline"`
	Only      *Selection
	Never     bool
}

// rules decide on a row by the first rule that selects it. They keep a row that none selects.
type rules []rule

func (rs rules) keep(c Case) bool {
	for _, r := range rs {
		if r.Has(c) {
			return !r.Never && (r.Only == nil || r.Only.Has(c))
		}
	}
	return true
}

// Keeps reports whether the profile has the row in its ladder. Sized: the user has requested the size.
func (p Profile) Keeps(c Case, sized bool) bool {
	return p.Ladder.keep(c) && (sized || p.Sizes.keep(c))
}

// Draws reports whether the row of the ladder has a timeline.
func (p Profile) Draws(c Case) bool {
	return p.Timelines != nil && c.Experiment == MainLadder && p.Timelines.Has(c)
}

// study is an experiment: variants with each combination of values of some parameters.
type study struct {
	Experiment Experiment `word:"experiment"`
	Variants   []string   `word:"variant"`
	Families   []string   `word:"family"` // all variants of them, in place of Variants
	Types      []string   `word:"type"`   // nil: f64
	Shapes     shapes
	Sweep      map[string]values `word:"parameter"`
	Libraries  map[string]values `word:"parameter"` // swept values of libraries of others; nil: those of Sweep
	Batches    []int             // products of a batch; nil: one product, and no batch
	Apart      bool              // without the baselines, which are of threads
	All        bool              // only if all the variants are there
	// Timelines selects the rows with a timeline, of those with the last of the swept ranks; nil: none.
	Timelines *Selection
}

// cases returns the rows of the experiment for the given variants, and for baselines among them if it is on threads.
func (s study) cases(variants []gemm.Variant, baselines []string) []Case {
	among := func(is func(gemm.Variant) bool) []gemm.Variant {
		return slices.DeleteFunc(slices.Clone(variants), func(v gemm.Variant) bool { return !is(v) })
	}
	l := Ladder{Experiment: s.Experiment, Shapes: s.Shapes, Types: s.Types, Ops: []string{"nn"}, Alpha: 1,
		Sweep: swept(s.Sweep), Libraries: swept(s.Libraries), Batches: s.Batches}
	l.Variants = among(func(v gemm.Variant) bool {
		return slices.Contains(s.Variants, v.Name) || slices.Contains(s.Families, v.Family())
	})
	if l.Types == nil {
		l.Types = []string{"f64"}
	}
	if len(l.Variants) == 0 || s.All && len(l.Variants) < len(s.Variants) {
		return nil
	}
	ranks := s.Sweep["ranks"]
	if ranks == nil && !s.Apart {
		l.Baselines = among(func(v gemm.Variant) bool { return slices.Contains(baselines, v.Name) })
	}
	cases := l.Cases()
	for i, c := range cases {
		cases[i].Timeline = s.Timelines != nil && s.Timelines.Has(c) &&
			(ranks == nil || c.Params["ranks"] == ranks[len(ranks)-1])
	}
	return cases
}

// swept returns swept values as a Ladder has them.
func swept(sweep map[string]values) map[string][]any {
	if sweep == nil {
		return nil
	}
	out := map[string][]any{}
	for name, all := range sweep {
		out[name] = all
	}
	return out
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

// experiments are all experiments.
var experiments = []Experiment{
	MainLadder, CompilerOptions, CutoffSweep, LoopOrders, StrongScaling, WeakScaling, ChunkSizes, OpenMPLoops,
	ArtificialLoad, Affinities, ProcessorLimits, IteratedProduct, Batches, PanelWidths, RankSchedules,
	Distributions, BlockSizes, PipelineStages, TileShapes, RegisterLimits, CacheStates, TuningTrials, TunedKernels,
}
