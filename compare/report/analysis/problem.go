package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/compare"
)

// plain reports whether p is C = A·B of operands without gaps.
func (p Problem) plain() bool {
	return p.Label() == compare.Record{M: p.M, N: p.N, K: p.K}.Shape()
}

// OfOne returns the problem of one of so many threads or ranks where m grows with them.
func (p Problem) OfOne(count int) Problem {
	m := p.M / count
	if strings.HasPrefix(p.op, "t") { // A is stored in rows of m
		p.lda -= p.M - m
	}
	p.M, p.Threads = m, 1
	return p
}

// Problem is a case: what must be equal of two rows for their times to be compared.
type Problem struct {
	Type, op               string
	alpha, beta            float64
	M, N, K                int
	lda, ldb, ldc, Threads int
}

// ProblemOf returns the case of a row.
func ProblemOf(r compare.Record) Problem {
	return Problem{r.Type, r.Op, r.Alpha, r.Beta, r.M, r.N, r.K, r.LDA, r.LDB, r.LDC, max(r.Threads, 1)}
}

// Cube reports whether p is C = A·B with square operands.
func (p Problem) Cube() bool {
	return p.M == p.N && p.N == p.K && (p.op == "nn" || p.op == "") && p.alpha == 1 && p.beta == 0
}

// Compare orders points by work, then by shape.
func (p Problem) Compare(q Problem) int {
	return cmp.Or(
		cmp.Compare(float64(p.M)*float64(p.N)*float64(p.K), float64(q.M)*float64(q.N)*float64(q.K)),
		cmp.Compare(p.M, q.M), cmp.Compare(p.N, q.N), cmp.Compare(p.Threads, q.Threads),
		cmp.Compare(p.op, q.op), cmp.Compare(p.alpha, q.alpha), cmp.Compare(p.beta, q.beta),
		cmp.Compare(p.lda, q.lda), cmp.Compare(p.ldb, q.ldb), cmp.Compare(p.ldc, q.ldc))
}

// Label returns the shape of p, with what makes it more than a plain product.
func (p Problem) Label() string {
	text := compare.Record{M: p.M, N: p.N, K: p.K}.Shape()
	if p.op != "nn" && p.op != "" {
		text += " " + p.op
	}
	if p.alpha != 1 || p.beta != 0 {
		text += fmt.Sprintf(" α=%g β=%g", p.alpha, p.beta)
	}
	if p.lda > p.K || p.ldb > p.N || p.ldc > p.N {
		text += fmt.Sprintf(" ld %d,%d,%d", p.lda, p.ldb, p.ldc)
	}
	return text
}

// points returns the cases of rows, the smallest first.
func Problems(rows []compare.Record) []Problem {
	out := Distinct(rows, ProblemOf)
	slices.SortFunc(out, Problem.Compare)
	return out
}
