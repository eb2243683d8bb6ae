package plan

import (
	"math"
	"slices"

	"gemm"
)

// Touched returns the smallest number of elements of A, B and C together that a given fraction f ≤ 1 of the m·n·k terms
// needs. Terms that need x, y and z elements of the three operands are at most √(xyz) in number (Loomis and Whitney).
// In addition, an element of the largest operand (m·n, for m ≥ n ≥ k) is in k terms only, and so on; so at least the
// fraction f of each operand is needed. The smallest x + y + z under these constraints is
//
//	f·(mn + mk) + nk          if n/m ≤ f
//	2·√(mnk²·f) + mn·f        if k²/mn ≤ f ≤ n/m
//	3·(mnk·f)^(2/3)           if f ≤ k²/mn
//
// For f = 1/P it is D in Al Daas, Ballard, Grigori, Kumar and Rouse, Brief Announcement: Tight
// Memory-Independent Parallel Matrix Multiplication Communication Lower Bounds, SPAA 2022 (proofs:
// arXiv 2205.13407). Their proof holds for every fraction.
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

// BoundDistributed returns a lower bound on the elements that some rank sends and receives:
//
//	Touched(1/P) − (mn + mk + nk)/P
//
// It holds if no element is on two ranks at the beginning or at the end, and if all ranks have equal numbers of terms
// or equal parts of the operands. Then some rank has at most 1/P of the operands and at least 1/P of the terms. It must
// receive what it needs of A and B beyond its part, and send what it adds to C beyond its part. P is the number of
// ranks with work. If neither terms nor operands divide evenly, a product can stay below the bound.
func BoundDistributed(s gemm.Shape, ranks int) float64 {
	share := 1 / float64(ranks)
	return max(0, Touched(s, share)-share*s.Elements())
}

// BoundRooted returns a lower bound on the elements that rank 0 sends and receives, if it has both operands at the
// beginning and all of C at the end. The terms are divided evenly over all ranks, or over all except rank 0.
//
// The other ranks have nothing at the beginning. So rank 0 sends each element of A and B that their terms need at least
// once, and for each element of C that they add to it receives at least one. The bound is what these terms touch:
// Touched(1 − 1/P) if rank 0 computes its share, and all three operands if it computes nothing. A single rank sends
// nothing. P is the number of ranks with work. If rank 0 has more than 1/P of the terms, because rows divide unevenly,
// it can stay below the bound.
func BoundRooted(s gemm.Shape, ranks int, works bool) float64 {
	switch {
	case ranks == 1:
		return 0
	case works:
		return Touched(s, 1-1/float64(ranks))
	default:
		return s.Elements()
	}
}

// BoundShared returns BoundRooted for ranks that read in place what rank 0 has, if they are on its host: what rank 0
// sends and receives for the terms of the ranks on other hosts. hosts are the hosts of the ranks; all ranks compute.
func BoundShared(s gemm.Shape, hosts []int) float64 {
	away := 0
	for _, h := range hosts {
		if h != hosts[0] {
			away++
		}
	}
	return Touched(s, float64(away)/float64(len(hosts)))
}
