package analysis

import (
	"cmp"
	"slices"

	"gemm/compare"
)

// ReportedSize is the size of that table.
const ReportedSize = 2048

// Entry is a row of the table for this GPU: a rung with one of its settings.
type Entry struct {
	compare.Record
	Block, Slice int // 0: the rung has no such setting
}

// settingIn returns an integer parameter of a row, as it was asked for or else as run.
func settingIn(r compare.Record, name string) int {
	for _, p := range []any{r.Params[name], r.Resolved[name]} {
		if n, ok := p.(int); ok && n > 0 {
			return n
		}
	}
	return 0
}

// Entries returns the rows of the experiment block of a type, at the size of the report's table or
// else at the largest size, and rows of the other variants from the ladder. They are in the order
// of the ladder, large blocks first.
func (v *View) Entries(typ string) []Entry {
	rows := v.Pick(func(r compare.Record) bool {
		return r.Experiment == compare.BlockSizes && r.Type == typ && ByGPU(r) && ProblemOf(r).Cube()
	})
	n := 0
	for _, r := range rows {
		if n != ReportedSize {
			n = max(n, r.N)
		}
		if r.N == ReportedSize {
			n = r.N
		}
	}
	if len(Timed(rows)) == 0 {
		return nil
	}
	ladder := v.Rungs(typ)
	var out []Entry
	for _, variant := range v.gpuVariants() {
		var own []Entry
		for _, r := range rows {
			if r.Variant == variant && r.N == n {
				own = append(own, Entry{r, settingIn(r, "block"), settingIn(r, "bk")})
			}
		}
		if r, ok := At(ladder, variant, cubeOf(typ, n)); ok && len(own) == 0 && n > 0 {
			own = append(own, Entry{Record: r})
		}
		slices.SortStableFunc(own, func(x, y Entry) int {
			return cmp.Or(cmp.Compare(y.Block, x.Block), cmp.Compare(x.Slice, y.Slice))
		})
		out = append(out, own...)
	}
	return out
}
