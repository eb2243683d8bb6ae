package plan

import (
	"math"
	"slices"

	"gemm"
)

// Touched returns the fewest elements of A, B and C together that a set with that
// fraction f ≤ 1 of the m·n·k terms can need. By Loomis and Whitney, a set that needs x,
// y and z elements of the three has at most √(xyz) terms, and since an element of the
// largest operand, of m·n for m ≥ n ≥ k, is in k terms, and so on, the set needs at least
// the fraction f of each operand. The least x + y + z under these constraints is
//
//	f·(mn + mk) + nk          where n/m ≤ f
//	2·√(mnk²·f) + mn·f        where k²/mn ≤ f ≤ n/m
//	3·(mnk·f)^(2/3)           where f ≤ k²/mn
//
// with f = 1/P the D of Al Daas, Ballard, Grigori, Kumar and Rouse, Brief Announcement:
// Tight Memory-Independent Parallel Matrix Multiplication Communication Lower Bounds,
// SPAA 2022; with proofs, arXiv 2205.13407. Their proof uses nothing of 1/P but that it
// is a fraction of the terms.
func Touched(s gemm.Shape, fraction float64) float64 {
	d := []float64{float64(s.M), float64(s.N), float64(s.K)}
	slices.Sort(d)
	k, n, m := d[0], d[1], d[2]
	switch {
	case k == 0:
		return 0
	case fraction*m >= n:
		return fraction*(m*n+m*k) + n*k
	case fraction*m*n >= k*k:
		return 2*k*math.Sqrt(m*n*fraction) + m*n*fraction
	default:
		side := math.Cbrt(m * n * k * fraction)
		return 3 * side * side
	}
}

// BoundSpread returns a lower bound on the elements that some rank sends and receives
// where no element is on two ranks at first, or at last, and either all ranks compute
// equally many terms or all have equal parts of the operands:
//
//	Touched(1/P) − (mn + mk + nk)/P
//
// for some rank has at most 1/P of the operands and at least 1/P of the terms: what it
// needs of A and B beyond its part it has to receive, what it adds to C beyond it, to
// send. The ranks are those that take part. Where neither terms nor operands divide
// evenly, a product can stay below the bound.
func BoundSpread(s gemm.Shape, ranks int) float64 {
	share := 1 / float64(ranks)
	return max(0, Touched(s, share)-share*elements(s))
}

// BoundRooted returns a lower bound on the elements that rank 0 sends and receives where
// it has both operands at first and all of C at last, and the terms are shared out evenly
// over all ranks, or over all but 0.
//
// The other ranks have nothing at first: each element of A and B that one of their terms
// needs leaves rank 0 at least once, and to each element of C that one of them adds to,
// something comes back. So rank 0 sends and receives at least what their terms touch
// together: Touched(1 − 1/P) where rank 0 computes its share, and all three operands
// where it computes none. Alone it has nothing to send. The ranks are those that take
// part; where rank 0 has more than 1/P of the terms, as rows that divide unevenly may
// give it, it can stay below the bound.
func BoundRooted(s gemm.Shape, ranks int, works bool) float64 {
	switch {
	case ranks == 1 || empty(s):
		return 0
	case works:
		return Touched(s, 1-1/float64(ranks))
	default:
		return elements(s)
	}
}

// elements returns the number of elements of A, B and C together.
func elements(s gemm.Shape) float64 {
	m, n, k := float64(s.M), float64(s.N), float64(s.K)
	return m*n + m*k + n*k
}
