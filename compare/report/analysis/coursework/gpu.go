package coursework

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// Settings are the kernels of a type on a GPU, each by its fastest setting, and the settings of kernels with several.
type Settings struct {
	Rows    []Setting
	Several []Launch
}

// Launch is a setting: the threads of a block, and the slice of k that a kernel reads at once.
type Launch struct{ Threads, Slice Count }

// String returns the threads and the slice, such as 256/8.
func (l Launch) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%v/%v", l.Threads, l.Slice), "/")
}

// Setting is a row of the table of settings of a GPU: of a kernel alone, without copies.
type Setting struct {
	record.Record
	Launch   Launch
	Elements Count // of C, that a thread computes
	Access   string
	Over     float64 // speed-up over the first row
	all      map[Launch]record.Record
}

// With returns the record of a setting.
func (s Setting) With(l Launch) record.Record { return s.all[l] }

// SettingsOf returns the settings of a type on a GPU that compute in its arithmetic, and whether there are any: of the
// libraries, and of our kernels up to the last with several.
func SettingsOf(v *analysis.View, typ string) (Settings, bool) {
	var t Settings
	all := analysis.Pick(v.Entries(typ), func(e analysis.Entry) bool { return analysis.Exact(e.Record) })
	for _, own := range analysis.GroupBy(all, func(e analysis.Entry) string { return e.Variant }) {
		s := Setting{Record: own[0].Record, all: map[Launch]record.Record{}}
		for _, e := range own {
			l := Launch{Slice: Count(e.Slice)}
			if e.GPU != nil {
				l.Threads = Count(e.GPU.Threads)
			}
			r := e.Record
			r.Phases = nil
			if s.all[l] = r; len(s.all) == 1 || r.Speed() && !(s.Median <= r.Median) {
				s.Record, s.Launch = r, l
			}
			if len(own) > 1 && !slices.Contains(t.Several, l) {
				t.Several = append(t.Several, l)
			}
		}
		s.Elements, s.Access = Count(Elements(s.Record)), Access(s.Record)
		first := append(t.Rows, s)[0]
		s.Over = analysis.Known(first.Record, first.Median) / analysis.Known(s.Record, s.Median)
		t.Rows = append(t.Rows, s)
	}
	last := len(t.Rows) // later kernels are in the table of the ladder
	for last > 0 && len(t.Rows[last-1].all) == 1 {
		last--
	}
	if last > 0 {
		libraries := analysis.Pick(t.Rows[last:], func(s Setting) bool { return !analysis.Ours(s.Record) })
		t.Rows = append(t.Rows[:last:last], libraries...)
	}
	slices.SortFunc(t.Several, func(x, y Launch) int {
		return cmp.Or(cmp.Compare(x.Threads, y.Threads), cmp.Compare(x.Slice, y.Slice))
	})
	return t, len(t.Rows) > 0
}

// Access returns how the threads of a rung access memory: uncoalesced, coalesced, shared (slices of A and B in shared
// memory), wide (the same, copied by up to 16 bytes), engine (the same, copied by the copy engine) or library.
func Access(r record.Record) string {
	if !analysis.Ours(r) {
		return "library"
	}
	fetch := analysis.Of(r).Fetch[r.Type]
	if fetch == record.Producer {
		fetch = record.Engine
	}
	return cmp.Or(string(fetch), "shared")
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
	if analysis.Of(r).Fetch[r.Type] == record.Producer && threads > producers {
		threads -= producers
	}
	return bm * bn / threads
}
