package serial

import (
	"math"
	"slices"

	"gemm"
)

// algorithm computes the quarters of C from products of sums of quarters of A and B,
// in this order. The signs are those with which the quarters 11, 12, 21 and 22 enter
// the two sums, and with which the product is added to those of C.
type algorithm []struct{ a, b, c [4]int }

// combination is a product of an algorithm, of one level or of more at once.
type combination struct {
	a, b []part // the sums, which begin with a sign of 1
	c    []part // what the product is added to
	// fresh says that nothing was added to the first of c before.
	fresh bool
}

// part is one of 2^ℓ×2^ℓ blocks of an operand, with its sign.
type part struct{ row, column, sign int }

// combine returns the products of an algorithm that divides so many levels at once:
// its tensor power, with sums of more terms in place of sums of sums (Huang, Rice,
// Matthews and van de Geijn, Generating Families of Practical Fast Matrix
// Multiplication Algorithms, IPDPS 2017). Of an algorithm it wants that every sum has
// a sign of 1, and that no product is the first in two quarters of C.
func (a algorithm) combine(levels int) []combination {
	whole := []part{{0, 0, 1}}
	all := []combination{{a: whole, b: whole, c: whole}}
	for range levels {
		var finer []combination
		for _, x := range all {
			for _, y := range a {
				finer = append(finer, combination{a: divided(x.a, y.a), b: divided(x.b, y.b), c: divided(x.c, y.c)})
			}
		}
		all = finer
	}
	met := map[[2]int]bool{}
	positive := func(p, q part) int { return q.sign - p.sign }
	for i := range all {
		x := &all[i]
		slices.SortStableFunc(x.a, positive)
		slices.SortStableFunc(x.b, positive)
		for j, p := range x.c {
			if at := [2]int{p.row, p.column}; !met[at] {
				met[at], x.fresh = true, true
				x.c[0], x.c[j] = p, x.c[0]
			}
		}
	}
	return all
}

// divided returns the quarters of all parts that enter with a sign.
func divided(parts []part, signs [4]int) []part {
	var finer []part
	for _, p := range parts {
		for quarter, sign := range signs {
			if sign != 0 {
				finer = append(finer, part{2*p.row + quarter/2, 2*p.column + quarter%2, p.sign * sign})
			}
		}
	}
	return finer
}

// of returns the part of x, which has grid×grid of them.
func of[T gemm.Float](p part, x gemm.Matrix[T], grid int) gemm.Matrix[T] {
	rows, cols := x.Rows/grid, x.Cols/grid
	return x.Slice(p.row*rows, p.column*cols, rows, cols)
}

// additions counts those of blocks of A, of B and of C.
type additions struct{ a, b, c int }

// additionsOf returns the additions that go with the products.
func additionsOf(products []combination) additions {
	var n additions
	for _, x := range products {
		n.a, n.b, n.c = n.a+len(x.a)-1, n.b+len(x.b)-1, n.c+len(x.c)
		if x.fresh {
			n.c--
		}
	}
	return n
}

// grown returns how the errors have grown in what is computed by these products of k
// terms each, whose errors are g. For max|A| = max|B| = 1:
//
//   - A sum of s blocks is formed one by one: it is at most s, and its terms are
//     rounded s−1 times, the first two, s−2, …, once. ρ is what that makes of all.
//   - The product of two sums, of s and t blocks, has the error ε of a product times
//     (s+ρ)(t+τ), the largest that the operands can be, and differs by the roundings of
//     the sums by k·((s+ρ)(t+τ) − st).
//   - A block of C is the sum of the products so far. Each addition rounds it: by u
//     times what it is, which is at most k times the number of products of a block of A
//     and one of B that have not cancelled, and what was wrong before.
//   - A rounding in a product enters C with st times the weight that it has there, one
//     of a sum with st at most, and one of an addition with what is rounded.
func grown(products []combination, g growth, k, u float64) growth {
	type pair struct{ aRow, aColumn, bRow, bColumn int }
	type sum struct {
		worst, first float64
		terms        map[pair]int // products of blocks, and how often they are in the sum
	}
	blocks := map[[2]int]*sum{}
	var all growth
	for _, x := range products {
		s, t := float64(len(x.a)), float64(len(x.b))
		rho, rho1 := chain(len(x.a), u)
		tau, tau1 := chain(len(x.b), u)
		more := rho*t + s*tau + rho*tau // (s+ρ)(t+τ) − st
		worst := (s*t+more)*g.worst + k*more
		first := s*t*g.first + k*(rho1*t+s*tau1)
		all.weight = max(all.weight, s*t*g.weight)
		for i, c := range x.c {
			at := [2]int{c.row, c.column}
			if x.fresh && i == 0 {
				blocks[at] = &sum{terms: map[pair]int{}}
			}
			to, size := blocks[at], 0.0
			for _, a := range x.a {
				for _, b := range x.b {
					to.terms[pair{a.row, a.column, b.row, b.column}] += a.sign * b.sign * c.sign
				}
			}
			for _, times := range to.terms {
				size += k * math.Abs(float64(times))
			}
			to.worst, to.first = to.worst+worst, to.first+first
			if !x.fresh || i > 0 {
				to.worst, to.first = to.worst*(1+u)+size*u, to.first+size
			}
			all = growth{max(all.worst, to.worst), max(all.first, to.first), max(all.weight, size)}
		}
	}
	return all
}

// chain returns the sum of the relative errors of the terms of a sum that is formed
// one by one, and its first-order part over u.
func chain(terms int, u float64) (all, first float64) {
	for i := range terms {
		times := float64(terms - max(i, 1))
		all, first = all+rounding(times, u), first+times
	}
	return all, first
}
