package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm"
	"gemm/compare/record"
)

// This file is about code that is neither of the suite nor a library: kernels of the user, and textbook programs in C.

// OfUser reports whether a row is of a kernel of the user.
func OfUser(r record.Record) bool { return Of(r).Role == gemm.UserKernel }

// Program reports whether a row is of a textbook program in C or in Python.
func Program(r record.Record) bool { return Of(r).Role == gemm.Program }

// OfLibrary reports whether a row is of a library.
func OfLibrary(r record.Record) bool {
	return Of(r).Role == gemm.Library || Of(r).Role == gemm.Baseline
}

// Home returns the family whose chapter a row is in. For a kernel of the user it is the family for
// what the kernel ran on.
func Home(r record.Record) string {
	switch {
	case !OfUser(r):
		return Family(r.Variant)
	case Of(r).Location == gemm.OnGPU || r.GPU != nil || r.Resolved["device"] != nil:
		return OnGPU
	case r.Threads > 1:
		return Parallel
	}
	return Serial
}

// Kernel is a kernel of the user, on one type and number of threads.
type Kernel struct {
	Variant, Type string
	Rows          []record.Record // of the ladder, or else of strong scaling; the smallest first
}

// Kernels returns the kernels of the user.
func (v *View) Kernels() []Kernel {
	type identity struct {
		variant, typ, home string
		threads            int
	}
	ladder := func(r record.Record) bool { return r.Experiment == record.MainLadder }
	rows := v.Pick(func(r record.Record) bool {
		return OfUser(r) && (ladder(r) || r.Experiment == record.StrongScaling)
	})
	var out []Kernel
	for _, own := range GroupBy(rows, func(r record.Record) identity {
		return identity{r.Variant, r.Type, Home(r), max(r.Threads, 1)}
	}) {
		if slices.ContainsFunc(own, ladder) {
			own = Pick(own, ladder)
		}
		slices.SortStableFunc(own, func(x, y record.Record) int { return ProblemOf(x).Compare(ProblemOf(y)) })
		out = append(out, Kernel{own[0].Variant, own[0].Type, own})
	}
	return out
}

// First returns the row of the smallest product.
func (k Kernel) First() record.Record { return k.Rows[0] }

// Main returns the timed row of the largest product, of a square one if there is one; none if no row was timed.
func (k Kernel) Main() (best []record.Record) {
	for _, r := range k.Timed() {
		if len(best) == 0 || ProblemOf(r).Cube() || !ProblemOf(best[0]).Cube() {
			best = []record.Record{r}
		}
	}
	return best
}

// Timed returns the rows with a speed.
func (k Kernel) Timed() []record.Record { return Timed(k.Rows) }

// MeanShare returns the mean of the shares of the peak over all timed rows, in percent. It is NaN if no peak is known.
func (k Kernel) MeanShare() float64 {
	sum, count := 0.0, 0.0
	for _, r := range k.Timed() {
		if share := Percent(r); !math.IsNaN(share) {
			sum, count = sum+share, count+1
		}
	}
	return sum / count
}

// Right returns how many of the rows have a right result: "2 / 3".
func (k Kernel) Right() string { return fmt.Sprintf("%d / %d", len(k.Timed()), len(k.Rows)) }

// Built returns the file, the compiler with its options, and the ABI of a kernel for processors.
func (k Kernel) Built() []string {
	return k.resolved(Home(k.First()) != OnGPU, "file", "compiler", CFlags, "abi")
}

// Launched returns the function, grid, block and shared memory in bytes of a kernel for GPUs.
func (k Kernel) Launched() []string {
	return k.resolved(Home(k.First()) == OnGPU, "symbol", "grid_dims", "block_dims", "smem")
}

// resolved returns the parameters with the names as run, each of the row of the largest product that has it.
func (k Kernel) resolved(fit bool, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, r := range slices.Backward(k.Rows) {
			if value, ok := r.Resolved[name]; ok && value != "" && fit {
				out = append(out, fmt.Sprint(value))
				break
			}
		}
	}
	return out
}

// comparable returns the rows that a row of the user is ranked among: of the ladder or of its experiment, on the same
// problem, on as many threads or on the GPU too, and there in the same arithmetic.
func (v *View) comparable(r record.Record) []record.Record {
	return Timed(v.Pick(func(o record.Record) bool {
		return (o.Experiment == record.MainLadder || o.Experiment == r.Experiment) && o.Build == "" &&
			ProblemOf(o) == ProblemOf(r) && ByGPU(o) == ByGPU(r) &&
			(!ByGPU(r) || o.Compute == r.Compute) && len(o.Ranks) == 0
	}))
}

// Baseline is a row that a kernel of the user is compared with.
type Baseline struct {
	Key        string // naive, program, own, library
	Row        record.Record
	Comparison // how many times as fast as it the kernel is
}

// Ranked is a row of a kernel of the user, of a GPU without the copies, among the rows on the same problem.
type Ranked struct {
	record.Record
	Place     int                // 1: the fastest
	Among     int                // variants
	Rank      string             // "1 / 3"
	Baselines []Baseline         // what it is compared with
	Over      map[string]float64 // the speed over the speed of each, by key
}

// Ranking returns the rows with their ranks.
func (v *View) Ranking(rows []record.Record) []Ranked {
	var out []Ranked
	for _, r := range rows {
		r.Phases = nil
		all := v.comparable(r)
		faster := Pick(all, func(o record.Record) bool { return o.Variant != r.Variant && o.Median < r.Median })
		s := Ranked{Record: r, Baselines: v.baselines(r), Over: map[string]float64{},
			Place: 1 + len(Distinct(faster, VariantOf)), Among: len(Distinct(all, VariantOf))}
		s.Rank = fmt.Sprintf("%d / %d", s.Place, s.Among)
		for _, y := range s.Baselines {
			s.Over[y.Key] = y.Ratio
		}
		out = append(out, s)
	}
	return out
}

// baselines returns the rows that a row of the user is compared with: the textbook loops, the fastest loops in C, our
// fastest variant and the fastest library of others, each on the same problem. The textbook loops of
// a processor have one thread; the others have as many as the row.
func (v *View) baselines(r record.Record) []Baseline {
	rows := v.comparable(r)
	textbook, first := rows, v.First(OnGPU)
	if !ByGPU(r) {
		one := r
		one.Threads = 1
		textbook, first = v.comparable(one), v.First(Serial)
	}
	var out []Baseline
	add := func(key string, rows []record.Record, keep func(record.Record) bool) {
		if best, ok := MinBy(Pick(rows, keep), median); ok {
			out = append(out, Baseline{key, best, Versus(best, r)})
		}
	}
	add("naive", textbook, func(o record.Record) bool { return o.Variant == first })
	add("program", rows, func(o record.Record) bool { return Program(o) && Of(o).Class != gemm.Interpreted })
	add("own", rows, func(o record.Record) bool {
		return Ours(o) && Of(o).Class != gemm.Fast && o.Variant != first
	})
	add("library", rows, OfLibrary)
	return out
}

// Fault is rows with the same failure.
type Fault struct {
	record.Record           // the first of them
	Variants      []string  // of all rows
	Problems      []Problem // of all rows
}

// FaultsOf returns the rows without a speed by type, status and reason.
func FaultsOf(rows []record.Record) []Fault {
	type end struct {
		typ, why string
		status   record.Status
	}
	bad := Pick(rows, func(r record.Record) bool { return r.Status != record.OK })
	var out []Fault
	for _, own := range GroupBy(bad, func(r record.Record) end { return end{r.Type, r.Reason.Text, r.Status} }) {
		out = append(out, Fault{own[0], Distinct(own, VariantOf), Distinct(own, ProblemOf)})
	}
	return out
}

// Faults returns what is wrong with the kernels of the user.
func (v *View) Faults() []Fault {
	var rows []record.Record
	for _, k := range v.Kernels() {
		rows = append(rows, k.Rows...)
	}
	return FaultsOf(rows)
}

// Brief is a kernel of the user in one sentence: its largest product.
type Brief struct {
	Ranked
	Bad int // rows that are wrong, failed or took too long
}

// Briefs are the kernels of the user.
type Briefs struct {
	Shown []Brief
	More  int      // that are not shown
	None  []string // without a right result
}

// Briefs returns at most most kernels of the user, of the given type if they were timed in it.
func (v *View) Briefs(typ string, most int) Briefs {
	var out Briefs
	for _, all := range GroupBy(v.Kernels(), func(k Kernel) string { return k.Variant }) {
		timed := Pick(all, func(k Kernel) bool { return len(k.Main()) > 0 })
		own := Pick(timed, func(k Kernel) bool { return k.Type == typ })
		if len(own) == 0 {
			own = timed[:min(1, len(timed))]
		}
		switch {
		case len(own) == 0:
			out.None = append(out.None, all[0].Variant)
		case len(out.Shown) >= most:
			out.More++
		default:
			for _, k := range own {
				bad := Pick(k.Rows, func(r record.Record) bool { return r.Status.Bad() })
				out.Shown = append(out.Shown, Brief{v.Ranking(k.Main())[0], len(bad)})
			}
		}
	}
	return out
}

// CLoop is a textbook loop in C with one set of options, or a loop in Go.
type CLoop struct {
	Options string // empty: in Go
	record.Record
	Mark                  // best: the fastest
	OverLeast  Comparison // with the same loop with the least optimization
	OverParent Comparison // with the loop in C that it changes, or else the one before it, with the same options
}

// Built returns the options, or that it is in Go.
func (l CLoop) Built() string { return cmp.Or(l.Options, "Go") }

// CFlags is the parameter with the options of the compiler of a program in C.
const CFlags = "cflags"

// OptionsOf returns the options that a row of a program in C was compiled with.
func OptionsOf(r record.Record) string { return Requested[string](r, CFlags) }

// CLoops is the experiment on the compilers of C for one type, at one size.
type CLoops struct {
	Problem
	Options []string        // the least optimization first
	Loops   []CLoop         // timed, by variant and options
	Go      []record.Record // timed: the same loops in Go, in the same turn
	All     []record.Record // with those that have no speed
}

// CLoops returns the experiment of a type at its largest size. It reports false if no program in C was timed.
func (v *View) CLoops(typ string) (CLoops, bool) {
	out := CLoops{All: v.Pick(func(r record.Record) bool {
		return r.Experiment == record.CompilerOptions && r.Type == typ && r.Build == ""
	})}
	out.Type = typ
	for _, p := range Problems(Pick(Timed(out.All), Program)) {
		out.Problem = p
	}
	for _, r := range Timed(out.All) {
		switch {
		case ProblemOf(r) != out.Problem:
		case Program(r):
			out.Loops = append(out.Loops, CLoop{Options: OptionsOf(r), Record: r})
		case Ours(r):
			out.Go = append(out.Go, r)
		}
	}
	// -O0, -O2, -O3: a resumed run has them in another order.
	out.Options = Ascending(out.Loops, func(l CLoop) string { return l.Options })
	return out, len(out.Loops) > 0
}

// Several reports whether most loops in C were timed at several sizes with the same options.
func (c CLoops) Several() bool {
	of := func(r record.Record) string { return r.Variant + " " + OptionsOf(r) }
	timed := Pick(Timed(c.All), Program)
	return 2*len(Distinct(timed, of)) <= len(timed)
}

// Of returns the row of a loop with the given options.
func (c CLoops) Of(variant, options string) (record.Record, bool) {
	l, ok := Find(c.Loops, func(l CLoop) bool { return l.Variant == variant && l.Options == options })
	return l.Record, ok
}

// Least is the first of the options, without optimization.
func (c CLoops) Least() string { return c.Options[0] }

// Compiler returns the compiler that the programs in C say they were built by.
func (c CLoops) Compiler() string {
	r, _ := Find(c.All, func(r record.Record) bool { return Program(r) && r.Resolved["compiler"] != nil })
	return Value[string](r.Resolved, "compiler")
}

// Absent returns why a program in C was not timed.
func (c CLoops) Absent() record.Note {
	r, _ := Find(c.All, func(r record.Record) bool { return Program(r) && r.Reason.Text != "" })
	return r.Reason
}

// Rows returns the loops in C, each with all options, and the loops in Go.
func (c CLoops) Rows() []CLoop {
	var rows []CLoop
	add := func(l CLoop, parent string) {
		over := func(variant, options string) Comparison {
			if base, ok := c.Of(variant, options); ok && (l.Variant != variant || l.Options != options) {
				return Versus(base, l.Record)
			}
			return justRatio(math.NaN())
		}
		l.OverLeast, l.OverParent = over(l.Variant, c.Least()), over(parent, l.Options)
		rows = append(rows, l)
	}
	parent := ""
	variants := Distinct(c.Loops, func(l CLoop) string { return l.Variant })
	for _, variant := range variants {
		for _, options := range c.Options {
			if r, ok := c.Of(variant, options); ok {
				if p := Of(r).Parent; slices.Contains(variants, p) {
					parent = p
				}
				add(CLoop{Options: options, Record: r}, parent)
			}
		}
		parent = variant
	}
	for _, r := range c.Go {
		add(CLoop{Record: r}, "")
	}
	fastest, _ := MinBy(rows, func(l CLoop) float64 { return median(l.Record) })
	for i, r := range rows {
		if r.Median <= fastest.Median {
			rows[i].Mark = "best"
		}
	}
	return rows
}

// GoAndC is the fastest of loops in Go compared with the fastest in C: Quicker if C is.
type GoAndC struct {
	Go record.Record
	C  CLoop
	Comparison
}

// Fastest compares the fastest loops in Go and in C, nil if either was not timed.
func (c CLoops) Fastest() *GoAndC {
	inGo, ok := MinBy(c.Go, median)
	inC, too := MinBy(c.Loops, func(l CLoop) float64 { return median(l.Record) })
	if !ok || !too {
		return nil
	}
	return &GoAndC{inGo, inC, Versus(inGo, inC.Record)}
}
