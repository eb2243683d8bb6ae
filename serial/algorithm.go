package serial

import "math"

// algorithm is a list of products, in this order. Each is a sum of quarters of A times a sum of
// quarters of B, and is added to quarters of C. The signs say how the quarters 11, 12, 21 and 22
// enter the two sums, and how the product is added to the quarters of C.
//
// Every sum contains a sign of 1. No product is the first one of two quarters of C.
type algorithm []struct{ a, b, c [4]int }

// combination is a product of an algorithm.
type combination struct {
	a, b []part // the sums, which begin with a sign of 1
	c    []part // what the product is added to
	// fresh says that nothing was added to the first of c before.
	fresh bool
}

// part is a quarter of an operand, 0 to 3 for 11, 12, 21 and 22, with its sign.
type part struct{ quarter, sign int }

// products returns the products of the algorithm.
func (a algorithm) products() []combination {
	var all []combination
	var met [4]bool
	for _, signs := range a {
		x := combination{a: parts(signs.a), b: parts(signs.b), c: parts(signs.c)}
		for j, p := range x.c {
			if !met[p.quarter] {
				met[p.quarter], x.fresh = true, true
				x.c[0], x.c[j] = p, x.c[0]
			}
		}
		all = append(all, x)
	}
	return all
}

// parts returns the quarters that enter with a sign, those with 1 first.
func parts(signs [4]int) []part {
	var all []part
	for _, sign := range []int{1, -1} {
		for quarter, s := range signs {
			if s == sign {
				all = append(all, part{quarter, sign})
			}
		}
	}
	return all
}

// additions counts the additions of quarters of A, of B and of C.
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

// elements returns the number of elements that are added, for quarters of that size.
func (n additions) elements(s size) float64 {
	return float64(n.a)*s.a + float64(n.b)*s.b + float64(n.c)*s.c
}

// grown returns how the errors have grown in what is computed by these products of k
// terms each, whose errors are g. For max|A| = max|B| = 1:
//
//   - A sum of s quarters is at most s, and each of them is rounded s − 1 times at
//     most. ρ is what that makes of all.
//   - The product of two sums, of s and t quarters, has the error ε of a product times
//     (s+ρ)(t+τ), the largest that the operands can be, and differs by the roundings of
//     the sums by k·((s+ρ)(t+τ) − st).
//   - A quarter of C is the sum of the products so far. Each addition rounds it: by u
//     times what it is, which is at most k times the number of products of a quarter of
//     A and one of B that have not cancelled, and what was wrong before.
//   - A rounding in a product enters C with st times the weight that it has there, one
//     of a sum with st at most, and one of an addition with what is rounded.
func grown(products []combination, g growth, k, u float64) growth {
	var quarters [4]struct {
		worst, first float64
		terms        [4][4]int // how often a product of quarters is in the sum
	}
	var all growth
	for _, x := range products {
		s, t := float64(len(x.a)), float64(len(x.b))
		rho, tau := s*rounding(s-1, u), t*rounding(t-1, u)
		more := rho*t + s*tau + rho*tau // (s+ρ)(t+τ) − st
		worst := (s*t+more)*g.worst + k*more
		first := s*t*g.first + k*s*t*(s+t-2)
		all.weight = max(all.weight, s*t*g.weight)
		for i, c := range x.c {
			to, size := &quarters[c.quarter], 0.0
			for _, a := range x.a {
				for _, b := range x.b {
					to.terms[a.quarter][b.quarter] += a.sign * b.sign * c.sign
				}
			}
			for _, row := range to.terms {
				for _, times := range row {
					size += k * math.Abs(float64(times))
				}
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
