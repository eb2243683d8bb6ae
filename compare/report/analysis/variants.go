package analysis

import (
	"cmp"
	"slices"
	"strings"

	"gemm"
	"gemm/compare/record"
)

// Of returns what the document says of the variant of a row; if that is nothing, its name.
func Of(r record.Record) *record.Variant {
	if r.Of == nil {
		return &record.Variant{Variant: gemm.Variant{Name: r.Variant}}
	}
	return r.Of
}

// Variant returns what the document says of a variant. If that is nothing, it has no name.
func (v *View) Variant(name string) record.Variant {
	return v.pick(func(of record.Variant) bool { return of.Name == name })
}

// Named returns the variants of the document that keep says to keep, in report order.
func (v *View) Named(keep func(record.Variant) bool) []string {
	return Distinct(Pick(v.Variants, keep), func(of record.Variant) string { return of.Name })
}

func (v *View) pick(keep func(record.Variant) bool) record.Variant {
	of, _ := Find(v.Variants, keep)
	return of
}

// First returns the first rung of a family: for serial the textbook loops, which speed-ups are over.
func (v *View) First(family string) string {
	return v.pick(func(of record.Variant) bool { return of.Family() == family && of.Role == record.Rung }).Name
}

// Production returns the first variant of a family that users choose for their products.
func (v *View) Production(family string) string {
	return v.pick(func(of record.Variant) bool { return of.Family() == family && of.Role == gemm.Production }).Name
}

// WithPart returns the variant that published texts have as p.
func (v *View) WithPart(p record.Part) string {
	return v.pick(func(of record.Variant) bool { return of.Plays(p) }).Name
}

// Counterpart returns the program in another language that does what a variant does.
func (v *View) Counterpart(variant string) string {
	return v.pick(func(of record.Variant) bool { return of.Role == gemm.Program && of.Parent == variant }).Name
}

// place returns the place of a variant in the document, which is in report order. Other variants are last.
func (v *View) place(variant string) int {
	i := slices.IndexFunc(v.Variants, func(of record.Variant) bool { return of.Name == variant })
	return (i + len(v.Variants) + 1) % (len(v.Variants) + 1)
}

func (v *View) byPlace(x, y string) int { return v.place(x) - v.place(y) }

// Textbook reports whether a row is of the textbook loops on one thread, in Go.
func Textbook(r record.Record) bool {
	return Of(r).Class == gemm.Textbook && Of(r).Role == record.Rung && Of(r).Location == gemm.InProcess
}

// parent returns the parent of a variant in an element type, "" if it has none.
func (v *View) parent(variant, typ string) string {
	of := v.Variant(variant)
	return cmp.Or(of.Parents[typ], of.Parent)
}

// Ancestor returns the nearest of the parents of a variant in an element type, their parents and so on that has rows,
// "" if none has.
func (v *View) Ancestor(rows []record.Record, variant, typ string) string {
	for parent := v.parent(variant, typ); parent != ""; parent = v.parent(parent, typ) {
		if slices.ContainsFunc(rows, func(r record.Record) bool { return r.Variant == parent }) {
			return parent
		}
	}
	return ""
}

// ParentsFirst returns variants in their order, but none before one that it descends from in an element type.
func (v *View) ParentsFirst(variants []string, typ string) []string {
	var out []string
	var add func(variant string)
	add = func(variant string) {
		if slices.Contains(out, variant) {
			return
		}
		for parent := v.parent(variant, typ); parent != ""; parent = v.parent(parent, typ) {
			if slices.Contains(variants, parent) {
				add(parent)
			}
		}
		out = append(out, variant)
	}
	for _, variant := range variants {
		add(variant)
	}
	return out
}

// ParentRow returns the row of a parent that a row is compared with: of the same problem, on as many
// threads unless the parent is of another family.
func ParentRow(rows []record.Record, parent string, after record.Record) (record.Record, bool) {
	p := ProblemOf(after)
	if Family(parent) != Family(after.Variant) {
		r, ok := Find(rows, func(r record.Record) bool { return r.Variant == parent && r.Problem == after.Problem })
		if !ok {
			return r, false
		}
		p = ProblemOf(r)
	}
	return At(rows, parent, p)
}

// Ran returns the variant that computed a row. This is the row's variant, unless that is a recursion
// and its cut-off ended it before the first division. Then the leaf computed the whole product.
func Ran(r record.Record) string { return cmp.Or(r.Ran(), r.Variant) }

// RanItself reports whether a row was computed by its own variant.
func RanItself(r record.Record) bool { return Ran(r) == r.Variant }

// The families of variants.
const (
	Serial    = "serial"
	Parallel  = "parallel"
	OnRanks   = "mpi"
	OnGPU     = "cuda"
	Reference = "reference" // libraries of others, and programs in C
	User      = "user"      // kernels of the user
)

// Family returns the part of a variant's name before the slash.
func Family(variant string) string {
	name, _, _ := strings.Cut(variant, "/")
	return name
}

// Algorithm returns the part of a variant's name after the slash.
func Algorithm(variant string) string {
	_, name, _ := strings.Cut(variant, "/")
	return name
}

// Short returns the algorithm of a variant, for places that are about one family. A kernel of the user
// keeps its whole name.
func Short(variant string) string {
	if Family(variant) == User {
		return variant
	}
	return Algorithm(variant)
}

// Foreign reports whether a variant is of the family reference: a library of others or a program in C.
func Foreign(variant string) bool { return Family(variant) == Reference }

// Ours reports whether a row is of the suite, and neither of a library of others nor of the user.
func Ours(r record.Record) bool { return Of(r).Role.Ours() }

// ByGPU reports whether a GPU computed the row.
func ByGPU(r record.Record) bool { return Home(r) == OnGPU }

// Vendor reports whether a variant is NVIDIA's library: one on the GPU that has all of BLAS's operation.
func Vendor(v record.Variant) bool {
	return v.Location == gemm.OnGPU && v.Role == gemm.Library && v.Can.Has(gemm.Gemms)
}

// AdviceResult is an item of docs/advice.md with two variants: the second follows the item, the first
// does not.
type AdviceResult struct {
	Item          string
	Before, After string
	Problem       Problem // the largest square product that both computed, of the first type that has one
	Comparison            // Quicker supports the item, Slower contradicts it
}

// Supported reports whether the rows support the item.
func (r AdviceResult) Supported() bool { return r.Outcome == Faster }

// Judged returns the items that the rows of the ladder support or contradict.
func (v *View) Judged() (out []AdviceResult) {
	types := Types(v.Records)
	for _, of := range v.Variants {
		for _, a := range Pick(of.Advice, func(a record.Advice) bool { return a.Item != "" }) {
			j := AdviceResult{Item: a.Item, Before: a.Over, After: of.Name}
			i := slices.IndexFunc(types, func(typ string) bool { return v.compareAdvice(&j, typ) })
			if i >= 0 && (j.Outcome == Faster || j.Outcome == Slower) {
				out = append(out, j)
			}
		}
	}
	slices.SortStableFunc(out, func(x, y AdviceResult) int {
		return cmp.Or(cmp.Compare(strings.Index("SMTG", x.Item[:1]), strings.Index("SMTG", y.Item[:1])),
			cmp.Compare(len(x.Item), len(y.Item)), cmp.Compare(x.Item, y.Item))
	})
	return out
}

// compareAdvice compares the variants of j on one type, and reports whether both were timed on a square product.
func (v *View) compareAdvice(j *AdviceResult, typ string) bool {
	rows := Pick(Timed(v.Ladder(typ)), func(r record.Record) bool { return !v.Oversubscribes(r) })
	for _, p := range slices.Backward(Problems(rows)) {
		before, ok := At(rows, j.Before, p)
		after, both := At(rows, j.After, p)
		if ok && both && p.Cube() {
			j.Problem, j.Comparison = p, Contrast(before, after)
			return true
		}
	}
	return false
}
