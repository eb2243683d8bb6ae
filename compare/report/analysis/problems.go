package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"gemm"
	"gemm/compare/record"
)

// Problem is a case: what must be equal of two rows for their times to be compared.
type Problem struct {
	record.Problem
	Threads int
}

// ProblemOf returns the case of a row.
func ProblemOf(r record.Record) Problem { return Problem{r.Problem, max(r.Threads, 1)} }

// String returns all that p consists of.
func (p Problem) String() string { return fmt.Sprint(p.Problem, " ", p.Threads) }

// Cube reports whether p is C = A·B with square operands.
func (p Problem) Cube() bool {
	return p.IsCube() && p.Batch == 0 && (p.Op == "nn" || p.Op == "") && p.Alpha == 1 && p.Beta == 0
}

// Compare orders points by work, then by shape.
func (p Problem) Compare(q Problem) int {
	return cmp.Or(
		p.Shape.Compare(q.Shape), cmp.Compare(p.Batch, q.Batch), cmp.Compare(p.Threads, q.Threads),
		cmp.Compare(p.Op, q.Op), cmp.Compare(p.Alpha, q.Alpha), cmp.Compare(p.Beta, q.Beta),
		cmp.Compare(p.LDA, q.LDA), cmp.Compare(p.LDB, q.LDB), cmp.Compare(p.LDC, q.LDC))
}

// Label returns the shape of p, with what makes it more than a plain product.
func (p Problem) Label() string {
	text := p.Problem.Label()
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
func Problems(rows []record.Record) []Problem {
	out := Distinct(rows, ProblemOf)
	slices.SortFunc(out, Problem.Compare)
	return out
}

// plainOf returns the plain product of a type and shape on the given number of threads.
func plainOf(typ string, s gemm.Shape, threads int) Problem {
	return Problem{record.Problem{Type: typ, Op: "nn", Alpha: 1, Shape: s, LDA: s.K, LDB: s.N, LDC: s.N}, threads}
}

// OnOneThread returns the problem of a row as on one thread.
func OnOneThread(r record.Record) Problem {
	p := ProblemOf(r)
	p.Threads = 1
	return p
}

// Plain reports whether p is C = A·B of operands without gaps.
func (p Problem) Plain() bool {
	return p.Label() == p.Shape.Label()
}
