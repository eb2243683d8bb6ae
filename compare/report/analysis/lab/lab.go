// Package lab analyses what a well-known lab in double precision on a GPU measures: the steps from packed blocks over
// shared memory to tensor cores, iterated products, and the tiles and the occupancy of kernels.
package lab

import (
	"cmp"
	"slices"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/claim"
)

// Step is a version of the lab, and the time that the lab gives for it over the time of cuBLAS in the same run.
type Step struct {
	Key   string
	Part  gemm.Part // that a variant plays
	Ratio float64
}

// Steps are the versions of the lab in its order. The first three ran on a GeForce RTX 2080 Ti, and the last, which
// needs tensor cores for float64, on an A100.
var Steps = []Step{
	{"packed", gemm.LabPacked, 13634.3 / 11508.2},
	{"shared", gemm.LabShared, 17235.6 / 11489.1},
	{"transposed", gemm.LabTransposed, 11333.5 / 11484.9},
	{"tensor", gemm.LabTensor, 2127.59 / 899.045},
}

// leastSize is the n from which products are not too short for the claims of the lab.
const leastSize = 512

// Finding is a claim of the lab that Fast is faster than Slow.
type Finding struct {
	Key        string
	Slow, Fast gemm.Part
	Claimed    claim.Range
	Lab        float64 // the ratio of the times that the lab gives; 0: it gives none in one run
}

// Findings are the claims of the lab: shared memory alone slows the packed product down; with A transposed there,
// it is faster than both; without tensor cores it is as fast as cuBLAS; with them it is not.
var Findings = []Finding{
	{"shared", gemm.LabShared, gemm.LabPacked, claim.Faster, 17235.6 / 13634.3},
	{"transposed", gemm.LabShared, gemm.LabTransposed, claim.Faster, 17235.6 / 11333.5},
	{"overpacked", gemm.LabPacked, gemm.LabTransposed, claim.Faster, 13634.3 / 11333.5},
	{"cublas", gemm.LabTransposed, gemm.LabLibrary, claim.Same, 11333.5 / 11484.9},
	{"tensor", gemm.LabTensor, gemm.LabLibrary, claim.Times(2127.59/899.045, 2127.59/899.045), 2127.59 / 899.045},
}

// Measured is a comparison of the time of Slow with that of Fast at one size.
type Measured struct {
	Slow, Fast compare.Record
	analysis.Comparison
}

// Compare returns the comparisons of the variants of two parts in float64 at all cubes where both were timed,
// interleaved, the
// smallest first.
func Compare(v *analysis.View, slow, fast gemm.Part) []Measured {
	rows := v.Rungs("f64")
	var out []Measured
	for _, p := range analysis.Problems(rows) {
		x, ok := analysis.At(rows, v.Playing(slow), p)
		y, too := analysis.At(rows, v.Playing(fast), p)
		if ok && too && p.Cube() && p.N >= leastSize && analysis.InTurn(x, y) {
			out = append(out, Measured{x, y, analysis.Contrast(x, y)})
		}
	}
	slices.SortFunc(out, func(x, y Measured) int { return cmp.Compare(x.Slow.N, y.Slow.N) })
	return out
}

// Judge returns what the comparisons say of the claim.
func (f Finding) Judge(all []Measured) claim.Cases {
	cases := claim.Cases{}
	for _, m := range all {
		cases.Add(f.Claimed.Judge(m.Lo, m.Hi), claim.Place{Problem: analysis.ProblemOf(m.Slow), Workers: 1})
	}
	return cases
}

// Sizes returns the problems at which a version of the lab can be compared with cuBLAS, the smallest first.
func Sizes(v *analysis.View) []analysis.Problem {
	var out []analysis.Problem
	for _, s := range Steps {
		for _, m := range Compare(v, s.Part, gemm.LabLibrary) {
			out = append(out, analysis.ProblemOf(m.Slow))
		}
	}
	slices.SortFunc(out, func(x, y analysis.Problem) int { return cmp.Compare(x.N, y.N) })
	return slices.Compact(out)
}
