package cuda

import (
	"slices"
	"strings"

	"gemm"
	"gemm/cuda/ladder"
	"gemm/mpi/plan"
)

// Multi is the algorithm that divides a product between GPUs.
const Multi = "multi"

// Spread is how several GPUs compute a product together: each GPU of a grid computes a block of C, as ranks do in
// mpi/summa. It differs in what a GPU owns of the rows of A and the columns of B that it needs: a panel of each with
// all of k. So each element of C is computed by one kernel, and rounded once.
//
//	grid of 2×2   (0,0)           (0,1)           (1,0)           (1,1)
//	owns          A₀ B₀           A₁ B₂           A₂ B₁           A₃ B₃
//	step 0        A₀·B₀           A₁·B₂           A₂·B₁           A₃·B₃
//	step 1        A₁·B₀ ←         A₀·B₂ ←         A₃·B₁ ←         A₂·B₃ ←
//	step 2        (A₀ A₁)·B₁ ←    (A₀ A₁)·B₃ ←    (A₂ A₃)·B₀ ←    (A₂ A₃)·B₂ ←
//
// The panel of a step is copied while the steps before it are computed. It stays until the product ends. Panels are
// stored as A and B are. If A is transposed, the panels of a block's rows are not one matrix, so step 2 is A₀·B₁, then
// A₁·B₁.
type Spread struct {
	plan.Grid
	gemm.Shape
	Op     Operation
	Size   int // bytes of an element
	Shares []Share
}

// Share is what one of the GPUs computes.
type Share struct {
	Rows   plan.Span   // of its block of C, and of A
	Panels []plan.Span // the columns of the block in panels, which the GPUs of its column of the grid own of B
	Own    Step        // without From: the rows of A and the panel of B that it owns
	Steps  []Step
}

// Step is a panel that a GPU copies, and the part of C that it then computes.
type Step struct {
	From  int       // the GPU that owns the panel; the GPU itself: nothing is copied
	OfB   bool      // the panel is of B, otherwise it is the rows of A
	Rows  plan.Span // of the part of C, and of A
	Panel int       // of B, whose columns the part of C has
}

// NewSpread divides an operation on elements of size bytes between the given number of GPUs.
func NewSpread(devices int, s gemm.Shape, op Operation, size int) Spread {
	x := Spread{Grid: plan.Squarest(devices, s), Shape: s, Op: op, Size: size}
	for gpu := range devices {
		i, j, _ := x.At(gpu)
		share := Share{Rows: plan.Split(s.M, x.P, i), Panels: within(plan.Split(s.N, x.Q, j), x.P)}
		rows := within(share.Rows, x.Q)
		share.Own = Step{Rows: rows[j], Panel: i}
		for t := range x.Q {
			at := (j + t) % x.Q
			share.Steps = append(share.Steps, Step{From: x.Rank(i, at, 0), Rows: rows[at], Panel: i})
		}
		for t := 1; t < x.P; t++ {
			from, parts := x.Rank((i+t)%x.P, j, 0), []plan.Span{share.Rows}
			if op.TransA {
				parts = rows
			}
			for _, part := range parts {
				share.Steps = append(share.Steps, Step{From: from, OfB: true, Rows: part, Panel: (i + t) % x.P})
				from = gpu // the panel is there
			}
		}
		x.Shares = append(x.Shares, share)
	}
	return x
}

// within divides a range into parts.
func within(s plan.Span, parts int) []plan.Span {
	out := plan.Spans(s.Len(), parts)
	for i := range out {
		out[i].Lo, out[i].Hi = out[i].Lo+s.Lo, out[i].Hi+s.Lo
	}
	return out
}

// LD returns the leading dimension of a matrix with the given number of columns on a GPU.
func (x Spread) LD(cols int) int { return AlignedLD(cols, x.Size) }

// stored returns the rows and columns in memory of the panel of a step of a GPU.
func (x Spread) stored(gpu int, s Step) (rows, cols int) {
	rows, cols = s.Rows.Len(), x.K
	if s.OfB {
		rows, cols = x.K, x.Shares[gpu].Panels[s.Panel].Len()
	}
	if s.OfB && x.Op.TransB || !s.OfB && x.Op.TransA {
		return cols, rows
	}
	return rows, cols
}

// PanelLD returns the leading dimension of the panel of a step of a GPU.
func (x Spread) PanelLD(gpu int, s Step) int {
	_, cols := x.stored(gpu, s)
	return x.LD(cols)
}

// Elements returns how many elements the panel of a step of a GPU has in memory, with the gaps between its rows.
func (x Spread) Elements(gpu int, s Step) int64 {
	rows, cols := x.stored(gpu, s)
	if cols == 0 {
		return 0
	}
	return int64(rows) * int64(x.LD(cols))
}

// Before returns how many elements a GPU has of A before the given rows.
func (x Spread) Before(gpu int, rows plan.Span) (n int64) {
	for _, p := range within(x.Shares[gpu].Rows, x.Q) {
		if p.Hi <= rows.Lo {
			n += x.Elements(gpu, Step{Rows: p})
		}
	}
	return n
}

// Traffic predicts the bytes that each GPU copies from others. islands has a number for each GPU; GPUs with the same
// one read each other's memory (Inside), others copy through the memory of the host (Between).
func (x Spread) Traffic(islands []int) []plan.Traffic {
	calls := plan.NewCalls(islands)
	for gpu, share := range x.Shares {
		for _, s := range share.Steps {
			calls.Fetch(gpu, s.From, x.Elements(gpu, s)*int64(x.Size))
		}
	}
	return calls.Traffic
}

// Local returns the algorithm that the parameter local names, and its arithmetic in an element type. The error is a
// gemm.ErrType if it has none.
func Local(p gemm.Params, typ string) (name string, of ladder.Arithmetic, err error) {
	name = strings.TrimPrefix(p.Text("local"), Family+"/")
	for _, l := range libraries {
		if l.name == name && slices.Contains(strings.Fields(l.types), typ) {
			return name, l.Arithmetic, nil
		}
	}
	r, err := RungNamed(name, typ)
	return name, r.Arithmetic, err
}

// multi returns the variant whose product several GPUs compute by one of the others.
func multi(b Backend, others []gemm.Variant) gemm.Variant {
	locals := []string{}
	for _, v := range others {
		if v.Can.Has(gemm.Gemms) && v.Name != Family+"/"+CuBLASXt {
			locals = append(locals, v.Name)
		}
	}
	v := gemm.Variant{
		Doc:  "all GPUs of the host: each computes a block of C, and copies panels from others meanwhile",
		Role: gemm.Production, Class: gemm.Tuned, Bound: gemm.Classical, Leaf: Family + "/tuned",
		Can: gemm.Gemms | gemm.Stages | gemm.GemmStages | gemm.Explains | gemm.Repeats,
	}
	v.BoundOf = func(typ string, p gemm.Params) gemm.Bound {
		if _, of, err := Local(p, typ); err == nil {
			return of.Bound
		}
		return gemm.Classical // there is no such product
	}
	v.ComputeOf = func(typ string, p gemm.Params) string {
		_, of, _ := Local(p, typ)
		return of.Compute
	}
	v = variant(b, v, Multi, nil, []string{"f32", "f64", "f16", "bf16"})
	v.Params[0] = devicesParam
	v.Params = append(v.Params, gemm.Param{Name: "local", Doc: "variant that each GPU computes with", Default: v.Leaf,
		Choices: locals})
	return v
}

// devicesParam is the parameter of algorithms for several GPUs.
var devicesParam = gemm.Param{Name: "devices", Doc: "number of GPUs, the first ones of the host; 0: all", Default: 0}
