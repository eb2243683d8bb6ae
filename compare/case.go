package compare

import (
	"cmp"
	"math"
	"runtime"
	"strings"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/verify"
)

// Request is one row that somebody wants to measure.
type Request struct {
	Experiment Experiment
	Variant    gemm.Variant
	Build      string // build of the experiment compiler, otherwise empty
	Type       string // f64, f32, f16, bf16, gf256
	gemm.Shape
	Op          string // nn, nt, tn, tt: how A and B are stored; empty: nn
	Alpha, Beta float64
	LD          int         // added to the least leading dimension of each operand
	Batch       int         // products of a batch; 0: one product
	Hosts       int         // of the job, if its ranks are on several; otherwise 0
	Params      gemm.Params // parameters of the variant and conditions
	Turn        string      // cases with the same turn are measured interleaved (A B A B); empty: alone
	Timeline    bool        // one additional product is computed after the samples, for a Trace
}

// Case is a Request with resolved parameters. It is immutable.
type Case struct {
	Key      // without a host
	Variant  gemm.Variant
	LD       int
	Params   gemm.Params // as requested
	Turn     string
	Timeline bool

	resolved gemm.Params // nil if the parameters are wrong, see err
	err      error
}

// Case resolves the parameters. If they are wrong, Err of the Case says why.
func (r Request) Case() Case {
	r.Op = cmp.Or(r.Op, "nn")
	c := Case{
		Key: Key{
			Experiment: r.Experiment, Variant: r.Variant.Name, Build: r.Build, Hosts: r.Hosts,
			Problem: Problem{Type: r.Type, Op: r.Op, Alpha: r.Alpha, Beta: r.Beta, Shape: r.Shape, Batch: r.Batch},
		},
		Variant: r.Variant, LD: r.LD, Params: r.Params, Turn: r.Turn, Timeline: r.Timeline,
	}
	c.LDA, c.LDB, c.LDC = c.padded(cols(r.Op[0], r.M, r.K)), c.padded(cols(r.Op[1], r.K, r.N)), c.padded(r.N)
	if c.resolved, c.err = resolve(r.Variant, r.Params); c.err != nil {
		c.resolved = nil
	}
	if c.chain() > 0 && (!c.Plain() || c.Shape != gemm.Cube(c.N) || gemm.TypeNamed(c.Type).IsHalf()) {
		c.resolved, c.err = nil, errChain
	}
	if c.Batch > 0 && (c.chain() > 0 || c.load() > 0 || c.Timeline) {
		c.resolved, c.err = nil, errBatch
	}
	return c
}

// Err says what is wrong with the parameters. It is nil if they are right.
func (c Case) Err() error { return c.err }

// as returns the case in another turn.
func (c Case) as(turn string) Case {
	c.Turn = turn
	return c
}

// Transposes returns the operations on A and B.
func (c Case) Transposes() (tA, tB blas.Transpose) {
	tA, tB = blas.NoTrans, blas.NoTrans
	if c.Op[0] == 't' {
		tA = blas.Trans
	}
	if c.Op[1] == 't' {
		tB = blas.Trans
	}
	return tA, tB
}

// Plain reports whether the case is C = A·B, which every Multiplier computes.
func (c Case) Plain() bool { return c.Op == "nn" && c.Alpha == 1 && c.Beta == 0 }

// padded returns the leading dimension of a matrix with rows of n elements. If the sum overflows,
// it is the largest int; no host has the memory for it.
func (c Case) padded(n int) int { return n + min(c.LD, math.MaxInt-n) }

// layout returns the operation and the storage for which the operands are drawn.
func (c Case) layout() verify.Layout {
	tA, tB := c.Transposes()
	return verify.Layout{
		Shape: c.Shape, TransA: tA, TransB: tB, Alpha: c.Alpha, Beta: c.Beta,
		LDA: c.LDA, LDB: c.LDB, LDC: c.LDC,
	}
}

// model returns the prediction of the variant's model, with the artificial load. It returns false
// if the variant has no model or the parameters are wrong.
func (c Case) model() (gemm.Model, bool) {
	if c.err != nil || c.Variant.Model == nil {
		return gemm.Model{}, false
	}
	m := c.Variant.Model(c.Shape, c.resolved)
	return several(iterated(overloaded(m, c.load()), c.chain(), c.N), c.Batch), true
}

// integer returns the resolved value of an integer parameter, and false if the variant does not
// have it.
func (c Case) integer(name string) (int, bool) {
	n, ok := c.resolved[name].(int)
	return n, ok
}

// Ranks returns the number of ranks, and 0 for a variant that does not run on ranks.
func (c Case) Ranks() int {
	n, _ := c.integer("ranks")
	return n
}

// OnDevice reports whether a GPU computes the case, in the process of its worker.
func (c Case) OnDevice() bool { return c.Variant.Location == gemm.OnGPU }

// foreign reports whether a library of others or a kernel of the user computes the case, on the
// processors of this process.
func (c Case) foreign() bool { return foreign(c.Variant) }

// foreign reports whether v is a library of others or a kernel of the user, on the processors of this
// process.
func foreign(v gemm.Variant) bool {
	return (v.Role == gemm.Library || v.Role == gemm.Brought) && v.Location == gemm.InProcess
}

// outside reports whether a library or a program that is not of this suite computes the case, on the
// processors of this process but without its workers.
func (c Case) outside() bool {
	return c.Variant.Location == gemm.InProcess && c.Variant.Role.Outside()
}

// shared reports whether a variant of this suite computes the case on threads of this process.
func (c Case) shared() bool { return onThreads(c.Variant) }

// onThreads reports whether v is of this suite and runs on threads of this process.
func onThreads(v gemm.Variant) bool {
	return v.Location == gemm.InProcess && !v.Role.Outside() && v.Has("threads")
}

// device returns the number of the GPU of the case.
func (c Case) device() int {
	n, _ := c.integer("device")
	return n
}

// accepted reports whether the variant computes products of the shape.
func (c Case) accepted() bool { return c.Variant.Accepts == nil || c.Variant.Accepts(c.Shape) == nil }

// Threads returns the number of busy threads of the case, on all ranks together. If ranks divide the
// processors, they use all of them.
func (c Case) Threads() int {
	threads, ok := c.integer("threads")
	ranks := c.Ranks()
	switch {
	case !ok:
		return max(1, ranks)
	case ranks > 0 && threads == 0:
		return max(ranks, runtime.NumCPU())
	}
	return threads * max(1, ranks)
}

// each returns the threads of one rank, or of this process.
func (c Case) each() int { return c.Threads() / max(1, c.Ranks()) }

// workers returns the number that a scaling experiment varies: ranks if there are any, otherwise
// threads.
func (c Case) workers() int { return cmp.Or(c.Ranks(), c.Threads()) }

// Pinned reports whether the case itself places its threads on processors.
func (c Case) Pinned() bool {
	affinity, ok := c.resolved["affinity"]
	return ok && affinity != "none" || c.Ranks() > 0
}

// Base returns the shape of the case on one thread or rank. In the experiment weak, m grows with
// their number.
func (c Case) Base() gemm.Shape {
	if c.Experiment == WeakScaling {
		return gemm.Shape{M: c.M / c.workers(), N: c.N, K: c.K}
	}
	return c.Shape
}

// Bytes returns the size of the operands, of their copies in the verifier, of the operands of the
// check on integers, and of the workspace that the model predicts.
func (c Case) Bytes() float64 { return c.operands() + c.workspace() }

// ProductBytes is Bytes for a product that is computed and verified once, without the check on
// integers.
func (c Case) ProductBytes() float64 { return c.given() + c.workspace() }

// operands returns the bytes of the operands, of their copies in the verifier, and of the operands
// of the check on integers. Consecutive cases with the same operands share them.
func (c Case) operands() float64 {
	if c.Type == "gf256" { // which has no such check
		return c.given()
	}
	return 2 * c.given()
}

// given returns the bytes of the operands and of their copies in the verifier.
func (c Case) given() float64 {
	size := float64(gemm.TypeNamed(c.Type).Size)
	m, n, k := float64(c.M), float64(c.N), float64(c.K)
	total := size * (m*float64(c.LDC) + float64(rows(c.Op[0], c.M, c.K))*float64(c.LDA) + float64(rows(c.Op[1], c.K,
		c.N))*float64(c.LDB))
	if c.Beta != 0 {
		total += size * m * float64(c.LDC)
	}
	if typ := gemm.TypeNamed(c.Type); typ == gemm.TypeOf[float32]() || typ.IsHalf() || c.Type == "f64" && c.Op != "nn" {
		total += 8 * (m*k + k*n) // the verifier's operands in float64
	}
	if c.chain() > 0 { // S, Sᵢ and Aᵢ
		total += 3 * size * n * float64(c.LDC)
	}
	return total * float64(max(1, c.Batch))
}

// pipe returns the pipe whose peak the product is compared with on a processor.
func (c Case) pipe() string { return gemm.TypeNamed(c.Type).Pipe() }

// workspace returns the bytes of workspace that the variant's model predicts.
func (c Case) workspace() float64 {
	m, _ := c.model()
	return float64(gemm.TypeNamed(c.Type).Size) * m.Workspace
}

// flops returns the operations that the model predicts, or those of a classical algorithm.
func (c Case) flops() float64 {
	if m, ok := c.model(); ok {
		return m.Flops
	}
	return 2 * c.Terms() * c.products()
}

// hasTraffic reports whether reports compare rows of c with the memory bandwidth: codes, and
// products whose traffic the model predicts.
func (c Case) hasTraffic() bool {
	m, _ := c.model()
	return c.Type == "gf256" || m.Traffic != nil
}

// Smaller is the remedy if there is not enough memory for the case.
func (c Case) Smaller() string {
	switch {
	case c.Batch > 1:
		return "choose a smaller size or fewer products of a batch"
	case c.Ranks() > 1:
		return "choose a smaller size or fewer ranks"
	case c.Threads() > 1:
		return "choose a smaller size or fewer threads"
	}
	return "choose a smaller size"
}

// rows returns the stored rows of an operand whose op is rows×cols.
func rows(op byte, rows, cols int) int {
	if op == 't' {
		return cols
	}
	return rows
}

// cols returns the stored columns of an operand whose op is rows×cols.
func cols(op byte, rows, cols int) int {
	if op == 't' {
		return rows
	}
	return cols
}

// String names the case as progress shows it.
func (c Case) String() string {
	parts := []string{c.Variant.Name, c.Type, c.Shape.String()}
	if c.Batch > 0 {
		parts[2] = c.Label()
	}
	if c.Op != "nn" {
		parts = append(parts, c.Op)
	}
	if len(c.Params) > 0 {
		parts = append(parts, c.Params.String())
	}
	if c.Build != "" {
		parts = append(parts, c.Build)
	}
	return strings.Join(parts, " ")
}

// identity returns the identity of the row of the case, without a host.
func (c Case) identity() identity { return c.Key.with(c.Params) }

// record returns the case's row before it is measured.
func (c Case) record() Record {
	compute := cmp.Or(c.Variant.Compute, c.Type)
	unit := "GFLOP/s"
	if c.Type == "gf256" {
		unit = "Gmul/s"
	}
	params := c.Params
	if params == nil {
		params = gemm.Params{}
	}
	bound := c.Variant.Bound
	if c.err == nil {
		bound = c.Variant.BoundWith(c.resolved)
	}
	r := Record{
		Key: c.Key, Compute: compute,
		Threads: c.Threads(), Params: params, Resolved: gemm.Params{},
		Samples: []float64{}, Turn: c.Turn, Unit: unit,
		Median: None(), Gflops: None(), Rate: None(), DataGBps: None(), PercentPeak: None(),
		Residual: None(), Bound: None(), BoundKind: bound.Kind,
	}
	if c.Type == "gf256" {
		r.BoundKind = gemm.Exact
	}
	return r
}
