package plan

import (
	"maps"
	"reflect"
	"slices"

	"gemm"
	"gemm/compare/record"
)

// planned returns the rows that a comparison adds to the ladder, for the given variants and types: the cut-offs of
// recursive variants, the builds with other compiler options, and the experiments on threads, ranks and the GPU. Most
// are in f64.
func (p Profile) planned(variants []gemm.Variant, types []string) []Case {
	var cases []Case
	plain := func(experiment record.Experiment, v gemm.Variant, n int) Request {
		return Request{Experiment: experiment, Variant: v, Type: "f64", Shape: gemm.Cube(n), Op: "nn", Alpha: 1,
			Params: gemm.Params{}, Processors: p.Processors}
	}
	for _, n := range slices.Sorted(maps.Keys(p.Cutoffs)) {
		for _, v := range variants {
			for _, set := range crossed(v, map[string][]any{"cutoff": anys(p.Cutoffs[n])}) {
				if len(set) > 0 && (!v.Has("threads") || set.Int("cutoff") >= leastTask) {
					c := plain(record.CutoffSweep, v, n)
					c.Params = set
					cases = append(cases, c.Case())
				}
			}
		}
	}
	compiled := among(variants, func(v gemm.Variant) bool {
		return slices.Contains(p.Compiler.Variants, v.Name) && v.Location == gemm.InProcess && v.Role.Ours()
	})
	for _, n := range p.Compiler.Sizes {
		for _, build := range Builds() {
			for _, v := range compiled {
				c := plain(record.CompilerOptions, v, n)
				c.Build = build.Name
				cases = append(cases, c.Case())
			}
		}
	}
	cases = append(cases, p.loopsOfC(variants)...)
	for _, s := range p.Experiments {
		cases = append(cases, s.cases(variants, p)...)
	}
	seen := map[record.ID]bool{} // experiments with one name have the same baselines
	return slices.DeleteFunc(cases, func(c Case) bool {
		again := seen[c.ID()]
		seen[c.ID()] = true
		return again || !slices.Contains(types, c.Type)
	})
}

// loopsOfC returns the rows that compare loops in C, by all options of their compiler, with the same loops
// in Go as this program was built. It returns none if there are no programs in C.
func (p Profile) loopsOfC(variants []gemm.Variant) []Case {
	options := map[string][]any{}
	programs := among(variants, func(v gemm.Variant) bool {
		i := slices.IndexFunc(v.Params, func(q gemm.Param) bool { return q.Name == cFlags && len(q.Choices) > 0 })
		if v.Role != gemm.Program || i < 0 {
			return false
		}
		options[cFlags] = anys(v.Params[i].Choices)
		return true
	})
	if len(programs) == 0 {
		return nil
	}
	ours := among(variants, func(v gemm.Variant) bool { return slices.Contains(p.Loops.Variants, v.Name) })
	return Ladder{Experiment: record.CompilerOptions, Variants: append(programs, ours...), Shapes: cubes(p.Loops.Sizes),
		Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1, Processors: p.Processors, Sweep: options}.Cases()
}

// leastTask is the least cut-off of parallel recursive variants. Below it, tasks are smaller than the
// overhead of a task.
const leastTask = 16

// study is an experiment: variants with each combination of values of some parameters.
type study struct {
	Experiment record.Experiment `word:"experiment"`
	Variants   []string          `word:"variant"`
	Families   []string          `word:"family"` // all variants of them, in place of Variants
	Types      []string          `word:"type"`   // nil: f64
	Shapes     shapes
	Sweep      map[string]values `word:"parameter"`
	Libraries  map[string]values `word:"parameter"` // swept values of external libraries; nil: Sweep
	Batches    []int             // products of a batch; nil: one product, and no batch
	Apart      bool              // without the baselines, which are of threads
	// Timelines selects the rows with a timeline, at the last of the swept ranks; nil: none.
	Timelines *Selection
}

// cases returns the rows of the experiment for the given variants, and for the profile's baselines among them if it is
// on threads.
func (s study) cases(variants []gemm.Variant, p Profile) []Case {
	l := Ladder{Experiment: s.Experiment, Shapes: s.Shapes, Types: s.Types, Ops: []string{"nn"}, Alpha: 1,
		Processors: p.Processors, Sweep: s.Sweep, Libraries: s.Libraries, Batches: s.Batches}
	l.Variants = among(variants, func(v gemm.Variant) bool {
		return slices.Contains(s.Variants, v.Name) || slices.Contains(s.Families, v.Family())
	})
	if l.Types == nil {
		l.Types = []string{"f64"}
	}
	if len(l.Variants) == 0 {
		return nil
	}
	ranks := s.Sweep["ranks"]
	if ranks == nil && !s.Apart {
		l.Baselines = among(variants, func(v gemm.Variant) bool { return slices.Contains(p.Baselines, v.Name) })
	}
	cases := l.Cases()
	for i, c := range cases {
		cases[i].Timeline = s.Timelines != nil && s.Timelines.Has(c) &&
			(ranks == nil || c.Params["ranks"] == ranks[len(ranks)-1])
	}
	return cases
}

// Build is a build of this program with other compiler options.
type Build struct {
	Name    string // as in Record.Build
	GOAMD64 string
	Gcflags string
}

// Builds returns the builds that the experiment on compiler options compares: with and without the instructions of
// x86-64-v3, which let the compiler fuse a multiplication and an addition; and with and without bounds checks.
func Builds() []Build {
	unchecked := Module() + "/...=-B"
	return []Build{{"v1", "v1", ""}, {"v3", "v3", ""}, {"v1 -B", "v1", unchecked}, {"v3 -B", "v3", unchecked}}
}

// BuildNamed returns the build with the name.
func BuildNamed(name string) Build {
	i := slices.IndexFunc(Builds(), func(b Build) bool { return b.Name == name })
	return Builds()[i]
}

// cFlags is the parameter of programs in C that has the options of their compiler.
const cFlags = "cflags"

// Module returns the name of this module, which a publisher may change.
func Module() string { return reflect.TypeFor[gemm.Params]().PkgPath() }
