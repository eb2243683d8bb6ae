// Package cudatest has what tests of the GPU's ladder share: a GPU that is not there, and the output of a profiler.
package cudatest

import (
	"fmt"
	"strings"

	"gemm"
	"gemm/cuda"
)

// SmallGPU is so small that the products that stand for its classes are.
var SmallGPU = cuda.GPU{
	Name: "Fake H1", Capability: "9.0", Multiprocessors: 1, Clock: 1000, Warp: 32, BlockThreads: 1024, BlockShared: 49152,
	BlockSharedOptIn: 232448, BlockRegisters: 65536,
}

// RungOf returns the rung of the name in the element type.
func RungOf(typ, name string) cuda.Rung {
	r, err := cuda.RungNamed(name, typ)
	if err != nil {
		panic(err)
	}
	return r
}

// PlanOf returns how a rung computes a product on the GPU, whose operands have no gaps.
func PlanOf(r cuda.Rung, g cuda.GPU, m, n, k int, p gemm.Params) (cuda.Plan, gemm.Params, error) {
	at := func(ld int) cuda.Operand { return cuda.Operand{Address: 1 << 20, LD: ld} }
	plan, err := r.Plan(g, gemm.Shape{M: m, N: n, K: k}, at(k), at(n), at(n), p)
	resolved := gemm.Params{"tile": plan.Tile.Name()}
	if plan.Tile.Stages > 0 {
		resolved["stages"] = plan.Tile.Stages
	}
	if r.Splits {
		resolved["split"] = plan.Split
	}
	return plan, resolved, err
}

// Launch is a line of a profiler's table: the kernel, and the bytes that it read.
type Launch [2]string

// ProfilerTable returns the profiler's table of the launches, with bytes in the unit.
func ProfilerTable(unit string, launches ...Launch) string {
	var b strings.Builder
	b.WriteString(`"ID","Kernel Name","Grid Size","CC","dram__bytes_read.sum","gpu__time_duration.sum",` +
		`"smsp__inst_executed.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"` + "\n")
	fmt.Fprintf(&b, `"","","","",%q,"ns","inst","%%"`+"\n", unit)
	for i, l := range launches {
		fmt.Fprintf(&b, `"%d",%q,"(8, 8, 1)","9.0",%q,"100","n/a","97.5"`+"\n", i, l[0], l[1])
	}
	return b.String()
}

// TableCounters returns the counters of a launch in ProfilerTable with the given bytes.
func TableCounters(bytes float64) map[string]float64 {
	return map[string]float64{"dram__bytes_read.sum": bytes, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}
}
