package analysis

import (
	"math"
	"slices"

	"gemm/compare/record"
)

// FamilyRow is a variant in the table of its family.
type FamilyRow struct {
	record.Record
	Mark              // best: the fastest; muted: another variant computed the product
	By        string  // the variant that computed the product, if it is another: the row has no speed then
	OverNaive float64 // how many times as fast as the first variant; NaN if that was not timed
}

// In returns the row, whose speed is in the unit of its type.
func (r FamilyRow) In(string) record.Record { return r.Record }

// FamilyTable has every variant of a family at the largest size that all but a few were timed at. Rows of a GPU are of
// kernels alone.
type FamilyTable struct {
	Family, Type string
	N            int // the size
	Rows         []FamilyRow
	First        string   // the variant that OverNaive is over; empty if it was not timed
	Missing      []string // variants that were not timed at this size
	Spread       []string // variants whose operands are on all ranks before the product begins
	Products     []string // variants that take several products for one
}

// Units returns the unit of the speeds.
func (t *FamilyTable) Units() []string {
	_, unit := Speed(t.Rows[0].Record)
	return []string{unit}
}

// familyRows returns the fastest row of each variant of a family at the main size if more than half of the variants
// were timed at it, else, and for a GPU always, at the largest size of which that is true. Rows of other arithmetic
// than the type's are among them.
func (a Answer) familyRows(fam string) []record.Record {
	own := Pick(a.rows, func(r record.Record) bool { return Home(r) == fam })
	rows := map[int][]record.Record{}
	most, best := 0, 0
	for _, n := range Distinct(own, sizeOf) {
		for _, variant := range Distinct(own, VariantOf) {
			if r, ok := a.Of(variant, n); ok {
				rows[n] = append(rows[n], r)
			}
		}
		most = max(most, len(rows[n]))
	}
	for n := range rows {
		if 2*len(rows[n]) > most {
			best = max(best, n)
		}
	}
	if fam != OnGPU && 2*len(rows[a.Main]) > most { // a GPU shows what it can at large sizes
		best = a.Main
	}
	return rows[best]
}

// FamilyTable returns the table of a family for a type, nil if no row was timed.
func (v *View) FamilyTable(fam, typ string) *FamilyTable {
	a := v.Answer(typ)
	rows := a.familyRows(fam)
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(x, y record.Record) int { return v.byPlace(x.Variant, y.Variant) })
	t := &FamilyTable{Family: fam, Type: typ, N: rows[0].N}
	first := v.First(Serial)
	if fam == OnGPU {
		first = v.First(fam)
	}
	naive, ok := a.Of(first, t.N)
	naive.Phases = nil
	if ok {
		t.First = first
	}
	for _, r := range rows {
		if fam == OnGPU {
			r.Phases = nil
		}
		row := FamilyRow{Record: r, OverNaive: math.NaN()}
		if ok {
			row.OverNaive = HostTime(naive) / HostTime(r)
		}
		if Of(r).Spread {
			t.Spread = append(t.Spread, r.Variant)
		}
		if Products(r) > 1 {
			t.Products = append(t.Products, r.Variant)
		}
		t.Rows = append(t.Rows, row)
	}
	best, _ := MinBy(t.Rows, func(r FamilyRow) float64 { return HostTime(r.Record) })
	i := slices.IndexFunc(t.Rows, func(r FamilyRow) bool { return r.Variant == best.Variant })
	t.Rows[i].Mark = "best"
	ladder := Pick(v.All, inLadder(typ))
	here := Pick(ladder, func(r record.Record) bool {
		return r.Speed() && ProblemOf(r).Cube() && r.N == t.N
	})
	for _, r := range here { // products that another variant computed
		if Family(r.Variant) == fam && ProblemOf(r).Plain() && !RanItself(r) {
			row := FamilyRow{Record: r, Mark: "muted", By: Ran(r), OverNaive: math.NaN()}
			row.Status, row.Median = record.Skipped, record.None()
			t.Rows = append(t.Rows, row)
		}
	}
	all := Pick(ladder, func(r record.Record) bool { return Home(r) == fam })
	t.Missing = Pick(Distinct(all, VariantOf), func(variant string) bool {
		return !slices.ContainsFunc(here, func(r record.Record) bool { return r.Variant == variant && Home(r) == fam })
	})
	return t
}
