package main

import (
	"slices"

	"gemm"
	"gemm/compare"
	"gemm/internal/kernel"
)

// probes returns what is measured beside the cases: where packed products are
// among them, the rate of their micro-kernel in the first level of cache.
func probes(cases []compare.Case) []compare.Probe {
	packed := func(typ string) bool {
		return slices.ContainsFunc(cases, func(c compare.Case) bool { return c.Variant.Name == "serial/packed" && c.Type == typ })
	}
	var out []compare.Probe
	if packed("f64") {
		out = append(out, microKernel[float64]())
	}
	if packed("f32") {
		out = append(out, microKernel[float32]())
	}
	return out
}

func microKernel[T kernel.Float]() compare.Probe {
	k := kernel.Best[T]()
	call, flops := k.Cached()
	return compare.Probe{
		Name: "micro-kernel", Params: gemm.Params{"type": gemm.TypeName[T](), "kernel": k.Name},
		Call: call, Flops: flops,
	}
}
