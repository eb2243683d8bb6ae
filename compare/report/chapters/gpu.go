package chapters

import (
	"fmt"
	"math"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/coursework"
	"gemm/compare/report/number"
)

// Limits that all compute capabilities have (CUDA Programming Guide, section 5.1).
const (
	threadRegisters = "255"
	blockSides      = "1024×1024×64"
	gridSides       = "2147483647×65535×65535"
)

// GPUs returns the hosts with timed floating-point products on a GPU.
func (d *Data) GPUs() []*Host {
	return analysis.Pick(d.Hosts, func(h *Host) bool { return len(h.GPUTypes()) > 0 })
}

// KernelTypes returns the types for which kernels were timed on square products.
func (h *Host) KernelTypes() []string {
	return analysis.Pick(h.GPUTypes(), func(typ string) bool { return h.FamilyTable(analysis.OnGPU, typ) != nil })
}

// Resource is what a multiprocessor has of a resource, and the most that a block and a thread can have.
type Resource struct{ Name, Multiprocessor, Block, Thread string }

// Resources returns the limits of a kernel on the GPU, nothing if they are not known.
func (h *Host) Resources() []Resource {
	g := h.Device()
	if g.Threads == 0 || g.Warp == 0 {
		return nil
	}
	shared := number.ByteSize(float64(g.BlockShared))
	if g.BlockSharedOptIn > g.BlockShared {
		shared += fmt.Sprintf(" (%s)", number.ByteSize(float64(g.BlockSharedOptIn)))
	}
	return []Resource{
		{"threads", fmt.Sprint(g.Threads), fmt.Sprint(g.BlockThreads), ""},
		{"warps", fmt.Sprint(g.Threads / g.Warp), fmt.Sprint(g.BlockThreads / g.Warp), ""},
		{"registers", fmt.Sprint(g.Registers), fmt.Sprint(g.BlockRegisters), threadRegisters},
		{"shared", number.ByteSize(float64(g.Shared)), shared, ""},
		{"blocks", fmt.Sprint(g.Blocks), "", ""},
	}
}

// Property is a limit of a GPU, or what was measured of it.
type Property struct{ Name, Value string }

// Properties returns what is known of the GPU: its limits, and the clock and the power that rows had.
func (h *Host) Properties() []Property {
	g, out := h.Device(), []Property(nil)
	add := func(name string, known bool, format string, values ...any) {
		if known {
			out = append(out, Property{name, fmt.Sprintf(format, values...)})
		}
	}
	size := func(bytes int64) string { return number.ByteSize(float64(bytes)) }
	slow, fast, power := math.MaxInt, 0, 0.0
	for _, r := range analysis.Timed(h.Pick(func(r record.Record) bool { return analysis.ByGPU(r) && r.GPU != nil })) {
		if power = max(power, r.GPU.Power); r.GPU.Clock > 0 {
			slow, fast = min(slow, r.GPU.Clock), max(fast, r.GPU.Clock)
		}
	}
	add("capability", g.Capability != "", "%s", g.Capability)
	add("multiprocessors", g.Multiprocessors > 0, "%d", g.Multiprocessors)
	add("memory", g.Memory > 0, "%s", size(g.Memory))
	add("l2", g.L2 > 0, "%s", size(int64(g.L2)))
	add("clock", g.Clock > 0, "%d MHz", g.Clock)
	add("memoryclock", g.MemoryClock > 0, "%d MHz, %d bit", g.MemoryClock, g.BusWidth)
	add("engines", g.CopyEngines > 0, "%d", g.CopyEngines)
	add("warp", g.Warp > 0, "%d", g.Warp)
	add("block", g.Threads > 0, blockSides)
	add("grid", g.Threads > 0, gridSides)
	megahertz := func(x float64) string { return fmt.Sprint(x) }
	add("clocks", fast > 0, "%s MHz", number.Extent(float64(slow), float64(fast), megahertz))
	add("power", power > 0, "%.0f W", power)
	for _, memory := range []string{"shared", "l2", "dram"} {
		cycles, ns := h.Latency(memory)
		add("latency-"+memory, ns > 0, "%s, %s ns", number.Significant(cycles), number.Significant(ns))
	}
	add("copies", h.DeviceCopy() > 0, "%s GB/s", number.Significant(h.DeviceCopy()))
	return out
}

// Chains returns the iterated products on the GPU.
func (h *Host) Chains() []coursework.Chain { return coursework.Chains(h.Pick(analysis.ByGPU)) }
