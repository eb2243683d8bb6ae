package coursework

import (
	"fmt"
	"strconv"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// Count is a number of things, empty if it is not known.
type Count int

// String returns the number, or nothing.
func (c Count) String() string {
	if c <= 0 {
		return ""
	}
	return strconv.Itoa(int(c))
}

// Setting is a row of the table of settings of a GPU: of a kernel alone, without copies.
type Setting struct {
	record.Record
	Threads, Slice, Elements Count // of a block, of k, and of C for each thread
	Access                   string
	Over                     float64 // speed-up over the first row
}

// Settings returns the settings of a type on a GPU that compute in its arithmetic, none if none was timed.
func Settings(v *analysis.View, typ string) []Setting {
	var out []Setting
	all := analysis.Pick(v.Entries(typ), func(e analysis.Entry) bool { return analysis.Exact(e.Record) })
	for _, e := range all {
		s := Setting{Record: e.Record, Slice: Count(e.Slice), Elements: Count(Elements(e.Record)), Access: Access(e.Record),
			Over: analysis.Known(all[0].Record, all[0].Median) / analysis.Known(e.Record, e.Median)}
		s.Phases = nil
		if s.GPU != nil {
			s.Threads = Count(s.GPU.Threads)
		}
		out = append(out, s)
	}
	return out
}

// Access returns how the threads of a rung access memory: uncoalesced, coalesced, shared (slices of A and B in shared
// memory), wide (the same, copied by up to 16 bytes), engine (the same, copied by the copy engine) or library.
func Access(r record.Record) string {
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

// producers is the number of threads of a warpgroup that only starts copies.
const producers = 128

// Elements returns how many elements of C a thread computes: the tile of its block over the threads that compute. It
// returns 0 if the row does not have them.
func Elements(r record.Record) int {
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
