package chapters

import (
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/coursework"
)

// Part is what one host has of a section.
type Part[T any] struct {
	Host *Host
	Of   T // what the host has
}

// parts returns what the hosts have: find reports whether there is anything.
func parts[T any](d *Data, find func(*analysis.View) (T, bool)) []Part[T] {
	var out []Part[T]
	for _, h := range d.Hosts {
		if of, ok := find(h.View); ok {
			out = append(out, Part[T]{h, of})
		}
	}
	return out
}

// some returns the rows that the hosts have.
func some[T ~[]R, R any](d *Data, rows func(*analysis.View) T) []Part[T] {
	return parts(d, func(v *analysis.View) (T, bool) {
		all := rows(v)
		return all, len(all) > 0
	})
}

// LibraryComparisons returns the interleaved comparisons with libraries by host.
func (d *Data) LibraryComparisons() []Part[analysis.LibraryComparison] {
	return parts(d, func(v *analysis.View) (analysis.LibraryComparison, bool) {
		c := analysis.NewLibraryComparison(v)
		return c, len(c.Cases) > 0
	})
}

// Kernels returns the kernels of the user by host.
func (d *Data) Kernels() []Part[[]analysis.Kernel] { return some(d, (*analysis.View).Kernels) }

// of returns what a host has of an element type.
func of[T any](find func(*analysis.View, string) (T, bool), typ string) func(*analysis.View) (T, bool) {
	return func(v *analysis.View) (T, bool) { return find(v, typ) }
}

// Course is the tables that courses on parallel programming ask for.
type Course struct {
	Versions       []Part[coursework.Versions] // with their speed-ups
	Ranks, Threads []Part[coursework.Times]    // times over sizes
	GPU            []Part[coursework.Settings] // of f32, then of f64
	Orders         []Part[coursework.Ordered]  // of the loops
	Sizes          []Part[[]coursework.Sweep]  // shares of the peak over many sizes
}

// Some reports whether there is a table.
func (c Course) Some() bool {
	return len(c.Versions)+len(c.Ranks)+len(c.Threads)+len(c.GPU)+len(c.Orders)+len(c.Sizes) > 0
}

// courseType is the element type of the tables of processors.
const courseType = "f64"

// Type returns the element type of the tables of processors.
func (Course) Type() string { return courseType }

// Course returns the tables for coursework.
func (d *Data) Course() Course {
	return Course{
		Versions: parts(d, of(coursework.VersionsOf, courseType)),
		Ranks:    parts(d, of(coursework.ByRanks, courseType)),
		Threads: append(parts(d, of(coursework.ByThreads, courseType)),
			parts(d, of(coursework.ByOpenMP, courseType))...),
		GPU:    append(parts(d, of(coursework.SettingsOf, "f32")), parts(d, of(coursework.SettingsOf, "f64"))...),
		Orders: some(d, func(v *analysis.View) coursework.Ordered { return coursework.Orders(v, courseType) }),
		Sizes:  some(d, func(v *analysis.View) []coursework.Sweep { return coursework.Sweeps(v, courseType) }),
	}
}
