package analysis

import (
	"cmp"
	"math"
	"slices"

	"gemm"
	"gemm/compare"
)

// This file is about code that is not of the suite and no library of others: kernels that the user
// brought, and textbook programs in C.

// Brought reports whether a row is of a kernel that the user brought.
func Brought(r compare.Record) bool { return Of(r).Role == gemm.Brought }

// Program reports whether a row is of a textbook program in C or in Python.
func Program(r compare.Record) bool { return Of(r).Role == gemm.Program }

// Rival reports whether a row is of a library of others.
func Rival(r compare.Record) bool {
	return Of(r).Role == gemm.Library || Of(r).Role == gemm.Baseline
}

// Home returns the family whose chapter a row is in. For a kernel of the user it is the family for
// what the kernel ran on.
func Home(r compare.Record) string {
	switch {
	case !Brought(r):
		return Family(r.Variant)
	case Of(r).Location == gemm.OnGPU || r.GPU != nil || r.Resolved["device"] != nil:
		return OnGPU
	case r.Threads > 1:
		return Parallel
	}
	return Serial
}

// Kernel is a kernel that the user brought, on one type and number of threads.
type Kernel struct {
	Variant, Type string
	Threads       int
	Home          string
	Rows          []compare.Record // of the ladder, or else of strong scaling; the smallest first
}

// Kernels returns the kernels of the user whose chapter is that of a family; all if fam is empty.
func (v *View) Kernels(fam string) []Kernel {
	type identity struct {
		variant, typ, home string
		threads            int
	}
	of := func(r compare.Record) identity {
		return identity{r.Variant, r.Type, Home(r), max(r.Threads, 1)}
	}
	rows := v.Pick(func(r compare.Record) bool {
		return Brought(r) && (r.Experiment == compare.MainLadder || r.Experiment == compare.StrongScaling) &&
			(fam == "" || Home(r) == fam)
	})
	var out []Kernel
	for _, id := range Distinct(rows, of) {
		k := Kernel{Variant: id.variant, Type: id.typ, Threads: id.threads, Home: id.home}
		for _, r := range rows {
			if of(r) == id {
				k.Rows = append(k.Rows, r)
			}
		}
		ladder := func(r compare.Record) bool { return r.Experiment == compare.MainLadder }
		if slices.ContainsFunc(k.Rows, ladder) {
			k.Rows = slices.DeleteFunc(k.Rows, func(r compare.Record) bool { return !ladder(r) })
		}
		slices.SortStableFunc(k.Rows, func(x, y compare.Record) int { return ProblemOf(x).Compare(ProblemOf(y)) })
		out = append(out, k)
	}
	return out
}

// Largest returns the timed row of the largest product: of a square one, if there is one.
func (k Kernel) Largest() (compare.Record, bool) {
	var best compare.Record
	found := false
	for _, r := range Timed(k.Rows) {
		if !found || ProblemOf(r).Cube() || !ProblemOf(best).Cube() {
			best, found = r, true
		}
	}
	return best, found
}

// MeanShare returns the mean of the shares of the peak over all timed rows, in percent, and their
// number. It is NaN if no peak is known.
func (k Kernel) MeanShare() (percent float64, count int) {
	sum := 0.0
	for _, r := range Timed(k.Rows) {
		if share := Percent(r); !math.IsNaN(share) {
			sum += share
			count++
		}
	}
	if count == 0 {
		return math.NaN(), 0
	}
	return sum / float64(count), count
}

// beside returns the rows that a row of the user is ranked among: of the ladder or of its experiment, on
// the same problem, on as many threads or on the GPU too. The GPU's are of the same arithmetic.
func (v *View) beside(r compare.Record) []compare.Record {
	return Timed(v.Pick(func(o compare.Record) bool {
		return (o.Experiment == compare.MainLadder || o.Experiment == r.Experiment) && o.Build == "" &&
			ProblemOf(o) == ProblemOf(r) && ByGPU(o) == ByGPU(r) &&
			(!ByGPU(r) || o.Compute == r.Compute) && len(o.Ranks) == 0
	}))
}

// Rank returns the place of a row among the variants on the same problem and on as many threads, the
// fastest first, and the number of variants.
func (v *View) Rank(r compare.Record) (place, of int) {
	place = 1
	all := v.beside(r)
	names := Distinct(all, VariantOf)
	for _, name := range names {
		if slices.ContainsFunc(all, func(o compare.Record) bool { return o.Variant == name && o.Median < r.Median }) &&
			name != r.Variant {
			place++
		}
	}
	return place, len(names)
}

// Yardstick is a row that a kernel of the user is compared with.
type Yardstick struct {
	Key string // naive, program, own, library
	Row compare.Record
}

// Yardsticks returns the rows that a row of the user is compared with: the textbook loops, the fastest loops in C, our
// fastest variant and the fastest library of others, each on the same problem. The textbook loops of
// a processor have one thread; the others have as many as the row.
func (v *View) Yardsticks(r compare.Record) []Yardstick {
	rows := v.beside(r)
	var out []Yardstick
	add := func(key string, rows []compare.Record, keep func(compare.Record) bool) {
		best := compare.Record{Median: compare.None()}
		for _, o := range rows {
			if keep(o) && !(o.Median >= best.Median) {
				best = o
			}
		}
		if best.Median.Known() {
			out = append(out, Yardstick{key, best})
		}
	}
	textbook := rows
	first := v.First(OnGPU)
	if !ByGPU(r) {
		first = v.First(Serial)
		one := r
		one.Threads = 1
		textbook = v.beside(one)
	}
	add("naive", textbook, func(o compare.Record) bool { return o.Variant == first })
	add("program", rows, func(o compare.Record) bool { return Program(o) && Of(o).Class != gemm.Interpreted })
	add("own", rows, func(o compare.Record) bool { return Ours(o) && !Fewer(o) && o.Variant != first })
	add("library", rows, Rival)
	return out
}

// Fault is rows of a kernel of the user that came to the same bad end.
type Fault struct {
	compare.Record // the first of them
	Problems       []Problem
}

// Faults returns what is wrong with the kernels of the user whose chapter is that of a family: rows
// that are wrong, failed, timed out or could not run, by variant, type and reason.
func (v *View) Faults(fam string) []Fault {
	var out []Fault
	for _, k := range v.Kernels(fam) {
		for _, r := range k.Rows {
			if r.Status == compare.OK {
				continue
			}
			same := func(f Fault) bool {
				return f.Variant == r.Variant && f.Type == r.Type && f.Status == r.Status && f.Reason.Text == r.Reason.Text
			}
			i := slices.IndexFunc(out, same)
			if i < 0 {
				i = len(out)
				out = append(out, Fault{Record: r})
			}
			out[i].Problems = append(out[i].Problems, ProblemOf(r))
		}
	}
	return out
}

// Bad reports whether a row is wrong, failed or timed out.
func Bad(r compare.Record) bool {
	return r.Status.Bad()
}

// CLoop is a textbook loop in C with one set of options.
type CLoop struct {
	Options string
	compare.Record
}

// CFlags is the parameter with the options of the compiler of a program in C.
const CFlags = "cflags"

// OptionsOf returns the options that a row of a program in C was compiled with.
func OptionsOf(r compare.Record) string {
	for _, value := range []any{r.Params[CFlags], r.Resolved[CFlags]} {
		if options, ok := value.(string); ok {
			return options
		}
	}
	return ""
}

// CLoops is the experiment on the compilers of C for one type, at one size.
type CLoops struct {
	Problem
	Options []string         // the least optimization first
	Loops   []CLoop          // timed, by variant and options
	Go      []compare.Record // timed: the same loops in Go, in the same turn
	All     []compare.Record // with those that have no speed
}

// CLoops returns the experiment of a type at its largest size. It reports false if no program in C
// was timed.
func (v *View) CLoops(typ string) (CLoops, bool) {
	rows := v.Pick(func(r compare.Record) bool {
		return r.Experiment == compare.CompilerOptions && r.Type == typ && r.Build == ""
	})
	out := CLoops{All: rows}
	timed := Timed(rows)
	for _, r := range timed {
		if Program(r) && ProblemOf(r).Compare(out.Problem) > 0 {
			out.Problem = ProblemOf(r)
		}
	}
	for _, r := range timed {
		switch {
		case ProblemOf(r) != out.Problem:
		case Program(r):
			out.Loops = append(out.Loops, CLoop{OptionsOf(r), r})
		case Ours(r):
			out.Go = append(out.Go, r)
		}
	}
	out.Options = Distinct(out.Loops, func(l CLoop) string { return l.Options })
	slices.Sort(out.Options) // -O0, -O2, -O3: a resumed run has them in another order
	return out, len(out.Loops) > 0
}

// Of returns the row of a loop with the given options.
func (c CLoops) Of(variant, options string) (compare.Record, bool) {
	i := slices.IndexFunc(c.Loops, func(l CLoop) bool { return l.Variant == variant && l.Options == options })
	if i < 0 {
		return compare.Record{}, false
	}
	return c.Loops[i].Record, true
}

// Unoptimized returns the timed row with the least optimization of those of the same program and problem as r.
func Unoptimized(rows []compare.Record, r compare.Record) (compare.Record, bool) {
	own := slices.DeleteFunc(Timed(rows), func(o compare.Record) bool {
		return o.Variant != r.Variant || ProblemOf(o) != ProblemOf(r)
	})
	if len(own) == 0 {
		return compare.Record{}, false
	}
	return slices.MinFunc(own, func(x, y compare.Record) int { return cmp.Compare(OptionsOf(x), OptionsOf(y)) }), true
}

// Least is the first of the options, without optimization.
func (c CLoops) Least() string { return c.Options[0] }

// Best returns the fastest row of all loops and options.
func (c CLoops) Best() compare.Record {
	return slices.MinFunc(c.Loops, func(x, y CLoop) int { return cmp.Compare(x.Median, y.Median) }).Record
}

// BestGo returns the fastest of the same loops in Go.
func (c CLoops) BestGo() (compare.Record, bool) {
	if len(c.Go) == 0 {
		return compare.Record{}, false
	}
	return slices.MinFunc(c.Go, func(x, y compare.Record) int { return cmp.Compare(x.Median, y.Median) }), true
}
