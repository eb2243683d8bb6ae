package coursework

import (
	"cmp"
	"slices"

	"gemm/compare/report/analysis"
)

// Occupied is a kernel of the sweep of occupancies, and the occupancy that it has.
type Occupied struct {
	Threads, Registers, Shared int
	Share                      float64 // of the warps of a multiprocessor, 0 to 1
}

// At returns how much the kernel takes of a resource: threads, registers or bytes of shared memory.
func (o Occupied) At(over string) int {
	return map[string]int{"threads": o.Threads, "registers": o.Registers, "shared memory": o.Shared}[over]
}

// Occupancies returns the recorded occupancies over a resource, ascending.
func Occupancies(v *analysis.View, over string) []Occupied {
	var out []Occupied
	for _, m := range v.Measurements {
		if m.Name != analysis.OccupancySweep || m.Params["over"] != over || len(m.Samples) != 1 {
			continue
		}
		number := func(name string) int { return analysis.Value[int](m.Params, name) }
		o := Occupied{number("threads"), number("regs"), number("smem"), m.Samples[0]}
		if !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(x, y Occupied) int { return cmp.Compare(x.At(over), y.At(over)) })
	return out
}

// Swept returns the kernel that the sweeps vary: the one that all of them have. It is false if there are none.
func Swept(v *analysis.View) (Occupied, bool) {
	registers, threads := Occupancies(v, "registers"), Occupancies(v, "threads")
	if len(registers) == 0 || len(threads) == 0 {
		return Occupied{}, false
	}
	return Occupied{Threads: registers[0].Threads, Registers: threads[0].Registers, Shared: threads[0].Shared}, true
}
