// Package plan makes an ordered list of cases of a profile, the processors of a host and a list of variants. It
// measures nothing, and asks the host nothing.
package plan

import (
	"cmp"
	"maps"
	"math"
	"strings"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/record"
)

// Request is one requested row.
type Request struct {
	Experiment record.Experiment
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
	Processors  int         // of the host, which ranks divide if their threads are not given; 0: not known
	Turn        string      // cases with the same turn are measured interleaved (A B A B); empty: alone
	Timeline    bool        // one additional product is computed after the samples, for a Trace
}

// Case is a Request with resolved parameters. It is immutable. In JSON its variant is a name, see Of.
type Case struct {
	record.Key              // without a host
	Variant    gemm.Variant `json:"-"`
	LD         int          `json:"ld,omitempty"`
	Params     gemm.Params  `json:"params"` // as requested
	Turn       string       `json:"turn,omitempty"`
	Timeline   bool         `json:"timeline,omitempty"`

	processors int
	resolved   gemm.Params // nil if the parameters are wrong, see err
	err        error
}

// Case resolves the parameters. If they are wrong, Err of the Case says why.
func (r Request) Case() Case {
	r.Op = cmp.Or(r.Op, "nn")
	c := Case{
		Key: record.Key{
			Experiment: r.Experiment, Build: r.Build, Hosts: r.Hosts,
			Problem: record.Problem{Type: r.Type, Op: r.Op, Alpha: r.Alpha, Beta: r.Beta, Shape: r.Shape, Batch: r.Batch},
		},
		LD: r.LD, Params: r.Params, Turn: r.Turn, Timeline: r.Timeline,
	}
	_, a := stored(r.Op[0], r.M, r.K)
	_, b := stored(r.Op[1], r.K, r.N)
	c.LDA, c.LDB, c.LDC = c.padded(a), c.padded(b), c.padded(r.N)
	return c.Of(r.Variant, r.Processors)
}

// Of returns the case of the variant, on a host with that many processors. A case that was read from JSON has none.
func (c Case) Of(v gemm.Variant, processors int) Case {
	c.Variant, c.Key.Variant, c.processors = v, v.Name, processors
	if c.resolved, c.err = resolve(v, c.Params); c.err != nil {
		c.resolved = nil
	}
	if c.Steps() > 0 && (!c.Plain() || c.Shape != gemm.Cube(c.N) || gemm.TypeNamed(c.Type).IsHalf()) {
		c.resolved, c.err = nil, errChain
	}
	if c.Batch > 0 && (c.Steps() > 0 || c.Load() > 0 || c.Timeline) {
		c.resolved, c.err = nil, errBatch
	}
	return c
}

// Resolved returns the parameters of the variant and the conditions, completed by the defaults; nil: they are wrong.
func (c Case) Resolved() gemm.Params { return maps.Clone(c.resolved) }

// Err says what is wrong with the parameters. It is nil if they are right.
func (c Case) Err() error { return c.err }

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

// Integer returns the resolved value of an integer parameter, and false if the variant does not have it.
func (c Case) Integer(name string) (int, bool) {
	n, ok := c.resolved[name].(int)
	return n, ok
}

// count returns the resolved value of an integer parameter; 0: the variant does not have it.
func (c Case) count(name string) int {
	n, _ := c.resolved[name].(int)
	return n
}

// Ranks returns the number of ranks, and 0 for a variant that does not run on ranks.
func (c Case) Ranks() int { return c.count("ranks") }

// OnDevice reports whether a GPU computes the case, in the process of its worker.
func (c Case) OnDevice() bool { return c.Variant.Location == gemm.OnGPU }

// Foreign reports whether a library of others or a kernel of the user computes the case, on the
// processors of this process.
func (c Case) Foreign() bool {
	role := c.Variant.Role
	return (role == gemm.Library || role == gemm.UserKernel) && c.Variant.Location == gemm.InProcess
}

// Outside reports whether a library or a program that is not of this suite computes the case, on the
// processors of this process but without its workers.
func (c Case) Outside() bool {
	return c.Variant.Location == gemm.InProcess && c.Variant.Role.Outside()
}

// onThreads reports whether v is of this suite and runs on threads of this process.
func onThreads(v gemm.Variant) bool {
	return v.Location == gemm.InProcess && !v.Role.Outside() && v.Has("threads")
}

// Device returns the number of the GPU of the case.
func (c Case) Device() int { return c.count("device") }

// Threads returns the number of busy threads of the case, on all ranks together. If ranks divide the
// processors, they use all of them.
func (c Case) Threads() int {
	threads, ok := c.Integer("threads")
	ranks := c.Ranks()
	switch {
	case !ok:
		return max(1, ranks)
	case ranks > 0 && threads == 0:
		return max(ranks, c.processors)
	}
	return threads * max(1, ranks)
}

// Each returns the threads of one rank, or of this process.
func (c Case) Each() int { return c.Threads() / max(1, c.Ranks()) }

// workers returns the number that a scaling experiment varies: ranks or GPUs if there are any, otherwise threads.
func (c Case) workers() int { return cmp.Or(c.Ranks(), c.count("devices"), c.Threads()) }

// Pinned reports whether the case itself places its threads on processors.
func (c Case) Pinned() bool {
	affinity, ok := c.resolved["affinity"]
	return ok && affinity != "none" || c.Ranks() > 0
}

// Base returns the shape of the case on one thread, rank or GPU. In the experiment weak, m grows with their number.
func (c Case) Base() gemm.Shape {
	if c.Experiment == record.WeakScaling {
		return gemm.Shape{M: c.M / c.workers(), N: c.N, K: c.K}
	}
	return c.Shape
}

// Pipe returns the pipe whose peak the product is compared with on a processor.
func (c Case) Pipe() string { return gemm.TypeNamed(c.Type).Pipe() }

// stored returns the rows and columns in memory of an operand whose op is rows×cols.
func stored(op byte, rows, cols int) (int, int) {
	if op == 't' {
		return cols, rows
	}
	return rows, cols
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

// ID returns the identity of the row of the case, without a host.
func (c Case) ID() record.ID { return c.Key.ID(c.Params) }

// Row returns the case's row before it is measured.
func (c Case) Row() record.Record {
	compute := c.Variant.Compute
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
		bound = c.Variant.BoundWith(c.Type, c.resolved)
	}
	if c.err == nil && c.Variant.ComputeOf != nil {
		compute = c.Variant.ComputeOf(c.Type, c.resolved)
	}
	r := record.Record{
		Key: c.Key, Compute: cmp.Or(compute, c.Type),
		Threads: c.Threads(), Params: params, Resolved: gemm.Params{},
		Samples: []float64{}, Turn: c.Turn, Unit: unit,
		Median: record.None(), Gflops: record.None(), Rate: record.None(), DataGBps: record.None(),
		PercentPeak: record.None(), Residual: record.None(), Bound: record.None(), BoundKind: bound.Kind,
	}
	if c.Type == "gf256" {
		r.BoundKind = gemm.Exact
	}
	return r
}
