package analysis

import (
	"maps"
	"math"
	"slices"

	"gemm/compare/record"
	"gemm/internal/note"
)

// families are what a ranking is of, in the order of tables. The operands of all begin in one memory.
var families = []string{Serial, Parallel, OnRanks, OnGPU, User}

// Ranking says which family is the fastest at which sizes.
type Ranking struct {
	Families []string  // that are compared
	Ranges   []Range   // of the sizes of all, ascending; without a common size, one a family with the sizes of its own
	Left     []string  // families that were not timed at these sizes
	Larger   []Ranking // of fewer families, at larger sizes
	Apart    bool      // there is no common size
	Alone    bool      // there is one family: the ranges are of its variants
}

// Range is neighbouring sizes at which one family is the fastest or level with it.
type Range struct {
	Fastest           // its fastest row at the largest size
	Sizes   []int     // ascending
	Level   []Fastest // rows at the largest size of families that are at no size slower by more than the noise
	Last    []Fastest // the same of families that are level at the largest size, but not at all
}

// From is the smallest size of the range.
func (r Range) From() int { return r.Sizes[0] }

// To is the largest size of the range.
func (r Range) To() int { return r.Sizes[len(r.Sizes)-1] }

// Top returns at most n ranges, the largest sizes.
func (k Ranking) Top(n int) []Range { return k.Ranges[max(0, len(k.Ranges)-n):] }

// Last returns the range of the largest sizes.
func (k Ranking) Last() Range { return k.Ranges[len(k.Ranges)-1] }

// Ranking compares the families at the sizes that all of them were timed at. If there is none, it takes the
// families of the largest size that most were timed at.
func (a Answer) Ranking() Ranking {
	all, of := a.split()
	at, seen := map[int][]Fastest{}, map[string][]int{}
	var k Ranking
	for _, n := range all {
		at[n] = of[n].fastestOf(families, func(family string) (record.Record, bool) { return of[n].Best(family, n) })
		for _, c := range at[n] {
			seen[c.Key] = append(seen[c.Key], n)
		}
		if len(at[n]) > 0 && len(at[n]) >= len(k.Families) {
			k.Families = keys(at[n])
		}
	}
	k.Left = Pick(families, func(family string) bool {
		return len(seen[family]) > 0 && !slices.Contains(k.Families, family)
	})
	k.Alone = len(k.Families) == 1 && len(k.Left) == 0
	switch k.Apart = len(k.Families) == 1 && len(k.Left) > 0; {
	case k.Apart:
		k.Left = nil
		for _, family := range families {
			if sizes := seen[family]; len(sizes) > 0 {
				c, _ := Find(at[sizes[len(sizes)-1]], func(c Fastest) bool { return c.Key == family })
				k.Ranges = append(k.Ranges, Range{Fastest: c, Sizes: sizes})
			}
		}
	case k.Alone:
		sizes := seen[k.Families[0]]
		for _, n := range sizes {
			at[n] = of[n].fastestVariants(k.Families[0], n)
		}
		k.Ranges = ranges(sizes, at)
	default:
		k.compare(all, at)
		if len(k.Ranges) == 0 {
			return k
		}
		larger := Pick(all, func(n int) bool { return n > k.Last().To() && len(at[n]) >= 2 })
		if len(larger) > 0 {
			few := Ranking{Families: keys(at[larger[len(larger)-1]])}
			few.compare(larger, at)
			k.Larger = []Ranking{few}
		}
	}
	return k
}

func keys(rows []Fastest) []string { return Distinct(rows, func(c Fastest) string { return c.Key }) }

// compare finds the sizes that all families were timed at, and the ranges of these.
func (k *Ranking) compare(sizes []int, at map[int][]Fastest) {
	own, common := map[int][]Fastest{}, []int(nil)
	for _, n := range sizes {
		own[n] = Pick(at[n], func(c Fastest) bool { return slices.Contains(k.Families, c.Key) })
		if len(own[n]) == len(k.Families) && len(own[n]) > 0 {
			common = append(common, n)
		}
	}
	k.Ranges = ranges(common, own)
}

// Choices returns the ranges of all sizes, Larger too. Neighbours with the same variants are one.
func (k Ranking) Choices() []Range {
	out := slices.Clone(k.Ranges)
	for _, larger := range k.Larger {
		for _, r := range larger.Ranges {
			last := &out[len(out)-1]
			if r.Variant == last.Variant && slices.Equal(keys(r.Level), keys(last.Level)) {
				r.Sizes = slices.Concat(last.Sizes, r.Sizes)
				*last = r
			} else {
				out = append(out, r)
			}
		}
	}
	return out[max(0, len(out)-mostChoices):]
}

// mostChoices is how many ranges a conclusion has.
const mostChoices = 6

// split returns the sizes, ascending, and the answer of the rows of each.
func (a Answer) split() (sizes []int, at map[int]Answer) {
	at = map[int]Answer{}
	for _, rows := range GroupBy(a.rows, sizeOf) {
		at[rows[0].N] = Answer{Type: a.Type, rows: rows}
	}
	return slices.Sorted(maps.Keys(at)), at
}

// Has reports whether there are rows of a family, or of libraries that are in its chapter.
func (a Answer) Has(family string) bool {
	return slices.ContainsFunc(a.rows, func(r record.Record) bool { return Home(r) == family })
}

// fastestOf returns the fastest rows of families or variants.
func (a Answer) fastestOf(names []string, fastest func(name string) (record.Record, bool)) []Fastest {
	var out []Fastest
	for _, name := range names {
		if r, ok := fastest(name); ok {
			c := a.fastest(r, name)
			if Textbook(r) {
				c.OverNaive = math.NaN()
			}
			out = append(out, c)
		}
	}
	return out
}

func (a Answer) fastestVariants(family string, n int) []Fastest {
	return a.fastestOf(Distinct(a.rows, VariantOf), func(variant string) (record.Record, bool) {
		return a.Fastest(n, func(r record.Record) bool {
			return r.Variant == variant && Family(variant) == family && !OfLibrary(r) && InFull(r) && !Of(r).Spread
		})
	})
}

// ranges divides sizes, the largest first. A range continues to smaller sizes while its key is not slower than the
// fastest.
func ranges(sizes []int, at map[int][]Fastest) []Range {
	var out []Range
	fastest := func(n int) Fastest {
		c, _ := MinBy(at[n], func(c Fastest) float64 { return HostTime(c.Record) })
		return c
	}
	holds := func(key string, n int) bool {
		c, ok := Find(at[n], func(c Fastest) bool { return c.Key == key })
		return ok && !IsSlower(c.Record, fastest(n).Record)
	}
	for _, n := range slices.Backward(sizes) {
		if last := len(out) - 1; last >= 0 && holds(out[last].Key, n) {
			out[last].Sizes = append(out[last].Sizes, n)
		} else {
			out = append(out, Range{Fastest: fastest(n), Sizes: []int{n}})
		}
	}
	slices.Reverse(out)
	for i := range out {
		r := &out[i]
		slices.Reverse(r.Sizes)
		for _, c := range at[r.To()] {
			behind := func(n int) bool { return !holds(c.Key, n) }
			switch {
			case c.Key == r.Key || behind(r.To()):
			case slices.ContainsFunc(r.Sizes, behind):
				r.Last = append(r.Last, c)
			default:
				r.Level = append(r.Level, c)
			}
		}
	}
	return out
}

// Speeds is the fastest rows at one size, by family. Libraries are one of them.
type Speeds struct {
	N  int
	By map[string]record.Record
}

// Speeds returns the fastest rows at the sizes that several families were timed at.
func (a Answer) Speeds() []Speeds {
	var out []Speeds
	sizes, at := a.split()
	for _, n := range sizes {
		s := Speeds{n, map[string]record.Record{}}
		for _, family := range families {
			if r, ok := at[n].Best(family, n); ok {
				s.By[family] = r
			}
		}
		if len(s.By) < 2 {
			continue
		}
		library := func(r record.Record) bool { return OfLibrary(r) && InFull(r) && !Of(r).Spread }
		if r, ok := at[n].Fastest(n, library); ok {
			s.By["library"] = r
		}
		out = append(out, s)
	}
	return out
}

// MainType returns the element type that most of a report is about: the first that was timed, in the
// order of gemm.Types.
func (v *View) MainType() string {
	types := append(Types(Timed(v.Records)), "")
	return types[0]
}

// Others returns the answers for all types but the main one that have ranges.
func (v *View) Others() []Answer {
	var out []Answer
	for _, typ := range Types(Timed(v.Records)) {
		if a := v.Answer(typ); typ != v.MainType() && len(a.Ranking().Ranges) > 0 {
			out = append(out, a)
		}
	}
	return out
}

// Highest returns our row of the highest speed in a type, in any experiment; nil if there is none.
func (v *View) Highest(typ string) *Fastest {
	best, ok := leastOf(v.Records, func(r record.Record) bool {
		return r.Type == typ && r.Speed() && Ours(r) && InFull(r) && !v.Oversubscribes(r)
	}, func(r record.Record) float64 {
		x, _ := Speed(r)
		return -float64(x) * float64(r.Median) / HostTime(r)
	})
	if !ok {
		return nil
	}
	return &Fastest{Record: best}
}

// Wide reports whether a row has the warning that its samples vary too much.
func Wide(r record.Record) bool { return r.Warns(note.Spread) }
