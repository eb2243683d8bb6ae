// Package probe has the measurements besides the products of a report: the parts of their time, and
// the overhead of loops over threads.
package probe

import (
	"maps"
	"slices"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/internal/block"
	"gemm/internal/kernel"
)

// Of returns the probes for the cases. If there are packed products, it is the parts of their time;
// if there are experiments on threads, it is the overhead of loops.
func Of(cases []plan.Case) []run.Probe {
	packed := func(typ string) bool {
		return slices.ContainsFunc(cases,
			func(c plan.Case) bool {
				v := c.Variant
				return v.Role == gemm.Production && v.Class == gemm.Tuned && !v.Has("threads") && c.Type == typ
			})
	}
	var out []run.Probe
	if packed("f64") {
		out = append(out, parts[float64]()...)
	}
	if packed("f32") {
		out = append(out, parts[float32]()...)
	}
	onThreads := slices.DeleteFunc(slices.Clone(cases), func(c plan.Case) bool {
		return c.Experiment == record.MainLadder || c.Experiment == record.CutoffSweep ||
			c.Experiment == record.CompilerOptions
	})
	return append(out, overheads(onThreads)...)
}

// partsOf is the size of the product whose parts are measured: its operands fit the last level of cache and no other.
const partsOf = 1024

// parts returns the probes of a type: the micro-kernel with operands in L1 and in L2, the packing
// alone, and the update of C alone.
func parts[T kernel.Float]() []run.Probe {
	e := block.Host[T](block.Serial)
	k, blocking := e.Kernel(), e.Blocking()
	probe := func(name string, call func(), flops float64, size gemm.Params) run.Probe {
		params := gemm.Params{"type": gemm.TypeOf[T]().Name, "kernel": k.Name}
		maps.Copy(params, size)
		return run.Probe{Name: name, Params: params, Call: call, Flops: flops}
	}
	inL1, l1 := k.Cached()
	inL2, l2 := k.Resident(blocking.KC, blocking.NC)
	packing, update, whole := e.Parts(partsOf)
	return []run.Probe{
		probe("micro-kernel", inL1, l1, nil),
		probe("micro-kernel-l2", inL2, l2, gemm.Params{"kc": blocking.KC, "nc": blocking.NC}),
		probe("packing", packing, whole, gemm.Params{"n": partsOf}),
		probe("update-c", update, whole, gemm.Params{"n": partsOf}),
	}
}
