// Package coursework has the numbers of the tables that courses on parallel programming ask for:
// versions and their speed-ups, times by ranks and by threads over sizes, settings of a GPU, orders of
// the loops, and the average share of the peak over many sizes.
package coursework

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// Version is a row of the table of versions.
type Version struct {
	record.Record
	Options  string  // the first of the options of a program in C; otherwise empty
	Relative float64 // speed-up over the version before; NaN for the first
	Absolute float64 // speed-up over the first version
}

// Versions is a table of versions of one product.
type Versions struct {
	N       int
	Rows    []Version
	Options []string        // all options of the programs in C
	Apart   []Version       // the versions that were timed at another size than N
	Untimed []record.Record // rows that have no time
}

// Name returns the variant, with the first option of a program in C.
func (r Version) Name() string { return strings.TrimSpace(r.Variant + " " + r.Options) }

// Ms returns the time in milliseconds, of a GPU with the copies.
func (r Version) Ms() float64 { return 1e3 * analysis.HostTime(r.Record) }

// Faults returns the rows without a time.
func (t Versions) Faults() []analysis.Fault { return analysis.FaultsOf(t.Untimed) }

// Copies reports whether a version ran on a GPU, so that its time has copies.
func (t Versions) Copies() bool {
	return slices.ContainsFunc(t.Rows, func(r Version) bool { return analysis.ByGPU(r.Record) })
}

// leastVersions is the number of versions from which there is a table.
const leastVersions = 3

// versions returns the variants that courses go through in the order of the table: on one thread, and then on the
// threads of the host. Loops in Python come first, and then ours: those that read B down its columns, along its rows
// and in blocks. Programs in C stand next to the same loops in Go, libraries of others last.
func versions(v *analysis.View) (onOne, onAll []record.Variant) {
	var programs, libraries []record.Variant
	for _, of := range v.Variants {
		switch threaded := of.Family() == analysis.Parallel; {
		case !of.Plays(record.Course) || of.Location != gemm.InProcess:
		case of.Role == gemm.Library:
			libraries = append(libraries, of)
		case of.Role == gemm.Program && of.Parent != "":
			programs = append(programs, of)
		case threaded:
			onAll = append(onAll, of)
		default:
			onOne = append(onOne, of)
		}
	}
	order := []record.Walk{"", record.Columns, record.Rows, record.Blocks}
	slices.SortStableFunc(onOne, func(x, y record.Variant) int {
		return cmp.Compare(slices.Index(order, x.Loop.Walk), slices.Index(order, y.Loop.Walk))
	})
	for _, p := range programs {
		i := slices.IndexFunc(onOne, func(of record.Variant) bool { return of.Name == p.Parent })
		onOne = slices.Insert(onOne, i+1, p)
	}
	// Products alone go before the whole of BLAS's operation.
	slices.SortStableFunc(libraries, func(x, y record.Variant) int {
		return cmp.Compare(x.Can&gemm.Gemms, y.Can&gemm.Gemms)
	})
	return append(onOne, libraries...), append(onAll, libraries...)
}

// VersionsOf returns the versions of a type on a host: at the largest size that the textbook loops and
// the most families were timed at. It reports false if there are fewer than three, or no textbook loops.
func VersionsOf(v *analysis.View, typ string) (Versions, bool) {
	t := Versions{N: v.Answer(typ).Main}
	rows := v.Pick(func(r record.Record) bool {
		return r.Type == typ && r.Build == "" && analysis.ProblemOf(r).Cube() &&
			slices.Contains(ofVersions, r.Experiment)
	})
	at := analysis.Pick(rows, func(r record.Record) bool { return r.N == t.N })
	onOne, onAll := versions(v)
	for _, of := range onOne {
		t.addSerial(at, rows, of)
	}
	for _, of := range onAll {
		t.addFastest(v, at, func(r record.Record) bool {
			return r.Variant == of.Name && (r.Threads > 1 || of.Role.Ours()) && r.Experiment == record.MainLadder
		})
	}
	t.addFastest(v, at, func(r record.Record) bool {
		of := analysis.Of(r)
		return of.Location == gemm.OnRanks && of.Plays(record.Course) && analysis.OverRanks.Count(r) > 1
	})
	t.addFastest(v, at, func(r record.Record) bool {
		return analysis.ByGPU(r) && analysis.Ours(r) && analysis.Exact(r) && r.Experiment == record.MainLadder
	})
	for _, r := range rows {
		of := analysis.Of(r)
		planned := r.N == t.N && (of.Plays(record.Course) || analysis.ByGPU(r)) || of.Class == gemm.Interpreted
		if planned && !r.Speed() {
			t.Untimed = append(t.Untimed, r)
		}
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		row.Relative, row.Absolute = math.NaN(), rateOf(row.Record)/rateOf(t.Rows[0].Record)
		if i > 0 {
			row.Relative = rateOf(row.Record) / rateOf(t.Rows[i-1].Record)
		}
		if row.N != t.N {
			t.Apart = append(t.Apart, *row)
		}
	}
	textbook := slices.ContainsFunc(t.Rows, func(r Version) bool { return analysis.Textbook(r.Record) })
	return t, textbook && len(t.Rows) >= leastVersions
}

// ofVersions are the experiments with rows of the table: most versions are in the ladder, variants on ranks may be in
// the experiment strong only, and programs in C with their options are in the experiment compiler.
var ofVersions = []record.Experiment{record.MainLadder, record.StrongScaling, record.CompilerOptions}

// addSerial adds the rows of a variant on one thread: of a program in C two, else the row of
// the ladder. at has the rows of the size of the table, rows has all sizes: the loops in Python are timed at their own
// size.
func (t *Versions) addSerial(at, rows []record.Record, v record.Variant) {
	compiled := v.Role == gemm.Program && v.Class != gemm.Interpreted
	of := func(rows []record.Record) []record.Record {
		return analysis.Timed(analysis.Pick(rows, func(r record.Record) bool {
			return r.Variant == v.Name && r.Threads <= 1 && (compiled || r.Experiment == record.MainLadder)
		}))
	}
	own := of(at)
	switch {
	case compiled:
		t.addPrograms(own)
		return
	case v.Class == gemm.Interpreted && len(own) == 0:
		own = of(rows)
		slices.SortStableFunc(own, func(x, y record.Record) int { return cmp.Compare(y.N, x.N) })
	}
	if len(own) > 0 {
		t.Rows = append(t.Rows, Version{Record: own[0]})
	}
}

// addPrograms adds the rows of a program in C with the first and with the last of its sets of options: the chapter on
// loops in C has all.
func (t *Versions) addPrograms(own []record.Record) {
	slices.SortStableFunc(own, func(x, y record.Record) int {
		return strings.Compare(analysis.OptionsOf(x), analysis.OptionsOf(y))
	})
	sets := analysis.GroupBy(own, analysis.OptionsOf)
	for i, same := range sets {
		options := analysis.OptionsOf(same[0])
		if i > 0 && i < len(sets)-1 {
			continue
		}
		if !slices.Contains(t.Options, options) {
			t.Options = append(t.Options, options)
		}
		first, _, _ := strings.Cut(options, " ")
		t.Rows = append(t.Rows, Version{Record: same[0], Options: first})
	}
}

// addFastest adds the fastest of the rows that keep says to keep, without those on more threads than the
// host has processors.
func (t *Versions) addFastest(v *analysis.View, at []record.Record, keep func(record.Record) bool) {
	own := analysis.Pick(at, func(r record.Record) bool { return r.Speed() && keep(r) && !v.Oversubscribes(r) })
	if best, ok := analysis.MinBy(own, analysis.HostTime); ok {
		t.Rows = append(t.Rows, Version{Record: best})
	}
}

// rateOf returns the operations in a second, of a GPU with the copies. Ratios of rates are ratios of
// times if the sizes are equal.
func rateOf(r record.Record) float64 { return 2 * r.Terms() / analysis.HostTime(r) }
