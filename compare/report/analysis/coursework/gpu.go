package coursework

import (
	"fmt"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
)

// Access returns how the threads of a rung access memory: uncoalesced, coalesced, shared (slices of A and
// B in shared memory), wide (the same, copied by up to 16 bytes), engine (the same,
// brought by the copy engine) or library.
func Access(r compare.Record) string {
	if !analysis.Ours(r) {
		return "library"
	}
	switch fetch := analysis.Of(r).Fetch[r.Type]; fetch {
	case gemm.Uncoalesced, gemm.Coalesced, gemm.Wide, gemm.Engine:
		return string(fetch)
	case gemm.Producer:
		return string(gemm.Engine)
	}
	return "shared"
}

// producers is the number of threads of a warpgroup that only has slices brought.
const producers = 128

// Elements returns how many elements of C a thread computes: those of its block's tile over the threads of
// its block that compute. It returns 0 if the row does not have them.
func Elements(r compare.Record) int {
	tile, _ := r.Resolved["tile"].(string)
	var bm, bn int
	if _, err := fmt.Sscanf(tile, "%dx%d", &bm, &bn); err != nil || r.GPU == nil || r.GPU.Threads == 0 {
		return 0
	}
	threads := r.GPU.Threads
	if analysis.Of(r).Fetch[r.Type] == gemm.Producer && threads > producers {
		threads -= producers
	}
	return bm * bn / threads
}
