// Package mpi multiplies matrices on the ranks that mpirun starts, by real MPI.
//
// Rank 0 leads, and the driver measures its multipliers (multiplier.go). A call that concerns all ranks is first
// broadcast as a command (commands.go), which the other ranks execute with the same code and empty operands (task.go).
// Package plan decides what each rank owns, sends and computes. Package comm sends the messages, and package launch
// starts mpirun. The algorithms are here, one per file:
//
//	p2p_rows.go, p2p_rows_overlap.go          messages from rank 0 to each worker
//	scatter_rows.go, scatter_blocks.go        one Scatter of joined parts, one Gather
//	grid_blocks.go, bcast_rows.go             Scatterv and Bcast
//	summa.go, srumma.go, layers.go            distributed operands; C stays in place (distributed.go)
//	cannon.go                                 distributed operands whose blocks are shifted
//
// The first six begin and end with whole operands on rank 0, and the distribution is part of their time. In the last
// four the operands are distributed already: Stage and Collect move them, outside of the measured time.
package mpi

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"sync"

	"gemm"
	"gemm/cuda"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// files are the pseudo-code of the variants.
//
//go:embed *.txt
var files embed.FS

// Variants returns the variants on ranks: first with operands that begin and end on rank 0, from messages to collective
// calls, and then with operands that are distributed.
func Variants() []gemm.Variant {
	return gemm.WithPseudocode(files, []gemm.Variant{
		p2pRowsVariant(),
		p2pRowsOverlapVariant(),
		scatterRowsVariant(),
		scatterBlocksVariant(),
		gridBlocksVariant(),
		bcastRowsVariant(),
		summaVariant(),
		srummaVariant(),
		cannonVariant(),
		layersVariant(),
	})
}

// Values of parameters.
const (
	none    = "none"
	closeBy = "close"
	idle    = "idle"
	works   = "works"
	auto    = "auto"
	static  = "static"
	dynamic = "dynamic"
)

// commonParams returns the parameters of every variant, and more.
func commonParams(more ...gemm.Param) []gemm.Param {
	ranks := launched()
	return append([]gemm.Param{
		{Name: "ranks", Default: ranks, Min: 1, Doc: "processes that mpirun starts"},
		{Name: "threads", Default: 1, Min: 0, Doc: "threads per rank; 0: its share of the processors of the host"},
		{Name: "local", Default: packedName, Choices: localNames(),
			Doc: "variant that computes the part of a rank, with its defaults; with several threads, the parallel counterpart of a serial one"},
		{Name: "affinity", Default: closeBy, Choices: []string{none, closeBy},
			Doc: "placement of ranks: close gives each its own share of the processors if there are enough, none keeps the placement of mpirun"},
	}, more...)
}

// localNames are the names of locals, listed once: every variant offers them.
var localNames = sync.OnceValue(func() (names []string) {
	for _, v := range locals() {
		names = append(names, v.Name)
	}
	return names
})

// onGPUs adds the variants of the family cuda that can add to C.
func onGPUs(params []gemm.Param) []gemm.Param {
	for i, p := range params {
		if p.Name == "local" {
			params[i].Choices = slices.Concat(p.Choices, gpuNames())
			params[i].Doc = p.Doc + "; of the family cuda, each rank computes on a GPU"
		}
	}
	return params
}

var gpuNames = sync.OnceValue(func() (names []string) {
	for _, v := range cuda.Variants(nil) {
		if v.Can.Has(gemm.Gemms) && v.Name != cuda.Family+"/"+cuda.CuBLASXt {
			names = append(names, v.Name)
		}
	}
	return names
})

// The parameters that some variants have besides.
func masterParam() gemm.Param {
	return gemm.Param{Name: "master", Default: idle, Choices: []string{idle, works},
		Doc: "whether rank 0, which distributes and collects, also computes a part; a single rank always does"}
}

func panelParam(standard int, what string) gemm.Param {
	return gemm.Param{Name: "panel", Default: standard, Min: 1, Doc: what}
}

// broadParam is the panel parameter of variants that broadcast panels of k.
func broadParam() gemm.Param {
	return gemm.Param{Name: "panel", Default: 0, Min: 0,
		Doc: "columns of A and rows of B that are broadcast at once; 0: 512, 128 if the ranks are on several hosts, or 2048 on GPUs"}
}

// gpuPanel is that width on GPUs: with a smaller one, kernels take longer.
const gpuPanel = 2048

// panelWidth returns the width of panels in resolved parameters with broadParam.
func panelWidth(p gemm.Params, hosts int) int {
	switch width := p.Int("panel"); {
	case width > 0:
		return width
	case hosts > 1:
		// Panels of several owners have to be in flight for all links to be busy.
		return 128
	default:
		return 512
	}
}

func gridParam() gemm.Param {
	return gemm.Param{Name: "grid", Default: auto,
		Doc: "PxQ ranks that divide the rows and columns of C; auto: all ranks, the squarest grid"}
}

func scheduleParam() gemm.Param {
	return gemm.Param{Name: "schedule", Default: dynamic, Choices: []string{static, dynamic},
		Doc: "static: every rank computes its own part; dynamic: idle ranks steal work on their host, if there is a processor for each rank"}
}

func replicationParam() gemm.Param {
	return gemm.Param{Name: "replication", Default: 0, Min: 0,
		Doc: "layers of ranks, each with a copy of C; 0: the number with the least communication and at most 4 GiB of C per rank"}
}

func gridOf(p gemm.Params, ranks int, s gemm.Shape) (plan.Grid, error) {
	text := p.Text("grid")
	if text == auto {
		return plan.Squarest(ranks, s), nil
	}
	g, err := plan.ParseGrid(text)
	if err == nil && g.Ranks() > ranks {
		err = fmt.Errorf("%w: grid is %s, there are %d ranks", gemm.ErrParam, text, ranks)
	}
	return g, err
}

// gridWorkspace returns the workspace of an algorithm over a grid, where the parameters have one: without it, the
// constructor has an error.
func gridWorkspace(of func(gemm.Shape, plan.Grid, gemm.Params) float64) func(gemm.Shape, int, gemm.Params) float64 {
	return func(s gemm.Shape, ranks int, p gemm.Params) float64 {
		g, err := gridOf(p, ranks, s)
		if err != nil {
			return 0
		}
		return of(s, g, p)
	}
}

// available returns why a process cannot lead the number of ranks in the parameters.
func available(p gemm.Params) error {
	if !comm.Built {
		_, err := comm.Start()
		return err
	}
	if here := launched(); p.Int("ranks") != here {
		return gemm.Unavailablef("%d ranks are requested, this process is one of %d", p.Int("ranks"), here).
			WithRemedy("mpirun -n %d gemm mpi, or gemm mpi --np %d", p.Int("ranks"), p.Int("ranks"))
	}
	return nil
}

func constructor[T gemm.Element](name string, form maker[T]) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		var hasType error
		if name, _ := p["local"].(string); isOnGPU(name) {
			_, _, hasType = cuda.Local(p, gemm.TypeOf[T]().Name)
		}
		if err := cmp.Or(available(p), checkSettings(p), hasType); err != nil {
			return nil, err
		}
		return &multiplier[T]{name: name, params: p, make: form}, nil
	}
}

// gemmConstructor is constructor for multipliers that are the whole BLAS operation.
func gemmConstructor[T gemm.Float](name string, form maker[T]) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		m, err := constructor(name, form)(p)
		if err != nil {
			return nil, err
		}
		return gemmer[T]{m.(*multiplier[T])}, nil
	}
}

// CheckSettings returns an error if the variant can have each of these parameters, but not together.
func CheckSettings(v gemm.Variant, p gemm.Params) error {
	p, err := v.Resolve(p)
	if err != nil || v.Location != gemm.OnRanks {
		return nil
	}
	return checkSettings(p)
}

// checkSettings is CheckSettings for resolved parameters.
func checkSettings(p gemm.Params) error {
	if threads, ok := p["threads"].(int); ok {
		if _, _, err := onThreads(p.Text("local"), threads); err != nil {
			return err
		}
	}
	if q, ok := p["grid"]; ok && q != auto {
		if _, err := gridOf(p, p.Int("ranks"), gemm.Shape{}); err != nil {
			return err
		}
	}
	return nil
}

// types are the algorithm of a variant for all element types.
type types struct {
	f32 maker[float32]
	f64 maker[float64]
	gf  maker[gf256.Elem]
}

// variant sets the common fields of the variants of the family. workspace returns the
// elements that all ranks together hold besides the operands.
func variant(v gemm.Variant, of types, workspace func(s gemm.Shape, ranks int, p gemm.Params) float64) gemm.Variant {
	v.Location, v.Bound, v.BoundOf, v.ComputeOf = gemm.OnRanks, gemm.Classical, boundOf, computeOf
	v.F32, v.F64, v.GF256 = constructor(v.Name, of.f32), constructor(v.Name, of.f64), constructor(v.Name, of.gf)
	v.Can |= gemm.Stages | gemm.Explains
	v.Model = func(s gemm.Shape, p gemm.Params) gemm.Model {
		model := localModel(s, p)
		if s.M > 0 && s.N > 0 && s.K > 0 {
			model.Workspace += workspace(s, p.Int("ranks"), p)
		}
		return model
	}
	return v
}

// localModel is the model of the local variant for the whole product: all ranks together have its operations and
// accesses. For a variant that halves dimensions it is the workspace only. What such a variant saves depends on how
// often a part can be halved, and a rank has at most the operations of packed.
func localModel(s gemm.Shape, p gemm.Params) gemm.Model {
	v, resolved := localVariant(p.Text("local"))
	model := v.Model(s, resolved)
	if v.Bound.Kind != gemm.Componentwise {
		workspace := model.Workspace
		model = localModel(s, gemm.Params{"local": packedName})
		model.Workspace = workspace
	}
	return model
}

// boundOf is the bound with a local variant. Parts are summed in any order, which classical bounds cover. A variant
// that halves dimensions halves a part at most as often as the whole product, so the errors of all parts together are
// at most its own bound; the bound of a classical product is added for the additions of parts.
func boundOf(typ string, p gemm.Params) gemm.Bound {
	v, resolved := localVariant(p.Text("local"))
	of := v.Bound
	if v.BoundOf != nil {
		of = v.BoundOf(typ, resolved)
	}
	if of.Kind == gemm.Componentwise && computeOf(typ, p) == "" {
		return gemm.Classical
	}
	// sum adds the bound of the additions, whose terms are at most (1 + part)·|A||B|, or k·max|A|·max|B|.
	sum := func(s gemm.Shape, part, additions float64) float64 {
		if of.Kind == gemm.Componentwise {
			return part + (1+part)*additions
		}
		return part + float64(s.K)*additions
	}
	out := of
	out.Worst = func(s gemm.Shape, p gemm.Params, u float64) float64 {
		return sum(s, of.Worst(s, resolved, u), gemm.Classical.Worst(s, p, u))
	}
	out.Random = func(s gemm.Shape, p gemm.Params, u float64) float64 {
		return sum(s, of.Random(s, resolved, u), gemm.Classical.Random(s, p, u))
	}
	out.Largest = func(s gemm.Shape, p gemm.Params) float64 {
		return max(of.Largest(s, resolved), gemm.Classical.Largest(s, p))
	}
	return out
}

// computeOf returns the arithmetic of a local variant on a GPU; empty: the arithmetic of the type.
func computeOf(typ string, p gemm.Params) string {
	if !isOnGPU(p.Text("local")) {
		return ""
	}
	_, of, _ := cuda.Local(p, typ) // without such a product there is none on ranks
	return of.Compute
}
