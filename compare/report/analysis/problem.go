package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
)

// plain reports whether p is C = A·B of operands without gaps.
func (p Problem) plain() bool {
	return p.Label() == p.Shape.Label()
}

// OfOne returns the problem of one thread or rank, if m grows with the given number of them.
func (p Problem) OfOne(count int) Problem {
	m := p.M / count
	if strings.HasPrefix(p.Op, "t") { // A is stored in rows of m
		p.LDA -= p.M - m
	}
	p.M, p.Threads = m, 1
	return p
}

// Problem is a case: what must be equal of two rows for their times to be compared.
type Problem struct {
	compare.Problem
	Threads int
}

// ProblemOf returns the case of a row.
func ProblemOf(r compare.Record) Problem { return Problem{r.Problem, max(r.Threads, 1)} }

// String returns all that p consists of.
func (p Problem) String() string { return fmt.Sprint(p.Problem, " ", p.Threads) }

// Cube reports whether p is C = A·B with square operands.
func (p Problem) Cube() bool {
	return p.IsCube() && (p.Op == "nn" || p.Op == "") && p.Alpha == 1 && p.Beta == 0
}

// Compare orders points by work, then by shape.
func (p Problem) Compare(q Problem) int {
	return cmp.Or(
		p.Shape.Compare(q.Shape), cmp.Compare(p.Threads, q.Threads),
		cmp.Compare(p.Op, q.Op), cmp.Compare(p.Alpha, q.Alpha), cmp.Compare(p.Beta, q.Beta),
		cmp.Compare(p.LDA, q.LDA), cmp.Compare(p.LDB, q.LDB), cmp.Compare(p.LDC, q.LDC))
}

// Label returns the shape of p, with what makes it more than a plain product.
func (p Problem) Label() string {
	text := p.Shape.Label()
	if p.Op != "nn" && p.Op != "" {
		text += " " + p.Op
	}
	if p.Alpha != 1 || p.Beta != 0 {
		text += fmt.Sprintf(" α=%g β=%g", p.Alpha, p.Beta)
	}
	if p.LDA > p.K || p.LDB > p.N || p.LDC > p.N {
		text += fmt.Sprintf(" ld %d,%d,%d", p.LDA, p.LDB, p.LDC)
	}
	return text
}

// Problems returns the problems of rows, the smallest first.
func Problems(rows []compare.Record) []Problem {
	out := Distinct(rows, ProblemOf)
	slices.SortFunc(out, Problem.Compare)
	return out
}

// plainOf returns the plain product of a type and shape on the given number of threads.
func plainOf(typ string, s gemm.Shape, threads int) Problem {
	return Problem{compare.Problem{Type: typ, Op: "nn", Alpha: 1, Shape: s, LDA: s.K, LDB: s.N, LDC: s.N}, threads}
}

// CubesFirst returns the problems of rows, cubes before other shapes.
func CubesFirst(rows []compare.Record) []Problem {
	out := Problems(rows)
	slices.SortStableFunc(out, func(x, y Problem) int {
		switch {
		case x.Cube() == y.Cube():
			return 0
		case x.Cube():
			return -1
		}
		return 1
	})
	return out
}

// shapeOf returns the plain product of a type and shape.
func shapeOf(typ string, m, n, k int) Problem { return plainOf(typ, gemm.Shape{M: m, N: n, K: k}, 1) }

func cubeOf(typ string, n int) Problem { return shapeOf(typ, n, n, n) }
