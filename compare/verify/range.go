package verify

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"gemm"
)

// Far operands are operands whose products leave the range of the element type. They are too large,
// or they are too small and α enlarges the rest. The reference is summed term by term, each term
// with its own exponent, so nothing overflows or underflows in it. This takes twenty times longer
// than sums of float64. There are no probes: of a large product, only some rows are compared.
const scaledTerms = 1 << 26 // most terms of the compared rows of a large product; at least one row is compared

// numberRange is the range of a type: the largest finite number, and the least above 0. As exponents of two, numbers
// are below 2^top, and numbers of at least 2^bottom are not rounded to a multiple of the least number.
type numberRange struct {
	most, tiny  float64
	top, bottom int
}

var single = numberRange{math.MaxFloat32, math.SmallestNonzeroFloat32, 128, -126}

func rangeOf[T gemm.Element]() numberRange {
	return gemm.ByType(gemm.TypeOf[T]().Name, numberRange{math.MaxFloat64, math.SmallestNonzeroFloat64, 1024, -1022},
		single, numberRange{65504, 0x1p-24, 16, -14}, numberRange{0x1.fep127, 0x1p-133, 128, -126}, numberRange{})
}

func sumRange[T gemm.Element]() numberRange {
	if gemm.TypeOf[T]().IsHalf() {
		return single
	}
	return rangeOf[T]()
}

// Normal reports whether T has all numbers from least to most without overflow or the loss of digits by underflow.
func Normal[T gemm.Element](least, most float64) bool {
	of := rangeOf[T]()
	return exponent(least) > of.bottom && most <= of.most
}

// exponent returns the smallest e with |x| < 2^e. For 0 it is far below all others.
func exponent(x float64) int {
	if x == 0 {
		return math.MinInt32
	}
	_, e := math.Frexp(x)
	return e
}

// leavesRange reports whether the operands are far. The largest magnitudes of A, B and C₀ are given.
func (v *floatVerifier[T]) leavesRange(maxA, maxB, maxC float64) bool {
	if maxA == 0 || maxB == 0 || v.alpha == 0 || v.a.Cols == 0 {
		maxA, maxB = 0, 0
	}
	if gemm.TypeOf[T]().IsHalf() { // whose elements are numbers that float64 multiplies in its range
		sum := maxA * maxB * float64(v.a.Cols)
		return sum > single.most || math.Abs(v.alpha)*sum+math.Abs(v.beta)*maxC > rangeOf[T]().most
	}
	const spare = 24 // sums of operands and of products in fast algorithms are larger
	of := rangeOf[T]()
	top, bottom := of.top, of.bottom
	if v.beta != 0 && maxC != 0 && exponent(v.beta)+exponent(maxC)+spare > top {
		return true
	}
	if maxA == 0 {
		return false
	}
	sums := exponent(maxA) + exponent(maxB) + exponent(float64(v.a.Cols))
	if sums+max(0, exponent(v.alpha))+spare > top {
		return true
	}
	// The smallest products, or parts of them, are below the range of T, and α scales them into it.
	// Products of float32 are exact in float64.
	const rest = 64
	return v.paired && math.Abs(v.alpha)*gemm.TypeOf[T]().UnitRoundoff > 1 &&
		minExponent(v.a)+minExponent(v.b)-rest < bottom
}

// minExponent returns the exponent of the least magnitude in m but 0; m has elements.
func minExponent(m gemm.Matrix[float64]) int {
	least, _ := largest(m.Rows, m.Cols, func(i int) float64 {
		most := 0.0 // the exponents are below 1100
		for _, x := range m.Row(i) {
			if x != 0 {
				most = max(most, float64(2000-exponent(x)))
			}
		}
		return most
	})
	return 2000 - int(least)
}

// scaledElement returns the reference of an element of far operands.
func (v *floatVerifier[T]) scaledElement(i, j int) element {
	row := v.a.Row(i)
	n := len(row)
	if v.alpha == 0 {
		n = 0
	}
	var c0 float64
	if v.beta != 0 {
		c0 = gemm.ToFloat64(v.c0.At(i, j))
	}
	// What the terms are a multiple of: of their largest.
	unit := exponentOf(v.beta, c0)
	for l := range n {
		unit = max(unit, exponentOf(v.alpha, row[l], v.b.At(l, j)))
	}
	e := element{i: i, j: j, exp: unit}
	if unit == math.MinInt32 {
		e.exp = 0
		return e
	}
	for l := range n {
		e.add(unit, v.alpha, row[l], v.b.At(l, j))
	}
	e.add(unit, v.beta, c0, 1)
	return e
}

// exponentOf returns the sum of the exponents of numbers, of which none is 0.
func exponentOf(numbers ...float64) int {
	sum := 0
	for _, x := range numbers {
		if x == 0 {
			return math.MinInt32
		}
		sum += exponent(x)
	}
	return sum
}

// add adds factor·x·y, in units of 2^unit.
func (e *element) add(unit int, factor, x, y float64) {
	if factor == 0 || x == 0 || y == 0 {
		return
	}
	f, ef := math.Frexp(factor)
	x, ex := math.Frexp(x)
	y, ey := math.Frexp(y)
	p, r := twoProd(x, y)
	q, s := twoProd(f, p)
	s += f * r
	down := ef + ex + ey - unit // 0 or less
	q, s = math.Ldexp(q, down), math.Ldexp(s, down)
	h, t := twoSum(e.hi, q)
	e.hi, e.lo, e.abs = h, e.lo+(t+s), e.abs+math.Abs(q)
}

// compareScaled returns the normalised error of an element of a product of far operands, and whether the
// element is not finite, as the arithmetic of T permits there.
func (v *floatVerifier[T]) compareScaled(e *element, got float64, limit Limit) (residual float64, overflow bool) {
	if math.IsNaN(got) || math.IsInf(got, 0) {
		if v.mayOverflow(e, got, limit) {
			return 0, true
		}
		return math.Inf(1), false
	}
	// All in units in which the largest of them is about 1.
	unit := e.exp + exponent(e.abs)
	if e.abs == 0 {
		unit = 0
	}
	unit = max(unit, exponent(got))
	down := e.exp - unit
	err := math.Abs((math.Ldexp(got, -unit) - math.Ldexp(e.hi, down)) - math.Ldexp(e.lo, down))
	scale := math.Ldexp(v.scale(limit, e), down)
	if limit.Kind == gemm.Normwise {
		scale = v.normIn(unit)
		if math.IsInf(scale, 0) { // of so large numbers this one has no digit
			return 0, false
		}
	}
	return relative(math.Max(0, err-math.Ldexp(v.underflow, -unit)), scale), false
}

// mayOverflow reports whether a sum in T may be got, which is infinite or NaN, although the element is not. The largest
// partial sum is of the positive terms alone, or of the negative ones; if both overflow, NaN is possible. Terms
// count before the multiplication by α, as far as Gemmers apply α to sums.
func (v *floatVerifier[T]) mayOverflow(e *element, got float64, limit Limit) bool {
	most := sumRange[T]().most
	u := gemm.TypeOf[T]().SumRoundoff
	if limit.Kind == gemm.Normwise { // an algorithm whose sums are of other terms
		weight := math.Min(math.Max(1, limit.Bound/u), 0x1p900)
		return exponent(weight)+v.norm.MantExp(nil)+1 >= exponent(most)
	}
	reached := math.Ldexp(most, -e.exp) / (1 + math.Min(limit.Bound, 1)) // in units of e
	if a := math.Abs(v.alpha); a > 0 && a < 1 {
		reached *= math.Max(a, u)
	}
	value := e.hi + e.lo
	positive, negative := (e.abs+value)/2 >= reached, (e.abs-value)/2 >= reached
	if gemm.TypeOf[T]().IsHalf() && !math.IsNaN(got) { // the sum may be in range and its rounding not
		last := math.Ldexp(rangeOf[T]().most, -e.exp) - math.Min(limit.Bound, 1)*e.abs
		positive, negative = positive || value >= last, negative || -value >= last
	}
	switch {
	case math.IsNaN(got):
		return positive && negative
	case got > 0:
		return positive
	default:
		return negative
	}
}

// checkOutOfRange is Check for far operands.
func (v *floatVerifier[T]) checkOutOfRange(c gemm.Matrix[T], limit Limit) Verdict {
	out := Verdict{Limit: limit, Vacuous: !v.Assures(limit)}
	overflows := 0
	for x := range v.elements {
		e := &v.elements[x]
		got := gemm.ToFloat64(c.At(e.i, e.j))
		r, overflow := v.compareScaled(e, got, limit)
		if overflow {
			overflows++
		}
		if !(r <= out.Residual) {
			out.Residual = r
			out.Reason = fmt.Sprintf("element (%d, %d) is %g, want %s", e.i, e.j, got, e)
			if math.IsNaN(r) {
				break
			}
		}
	}
	if out.OK() {
		out.Reason = ""
	} else {
		out.Reason = out.exceeds(out.Reason)
	}
	var notes []string
	typ := gemm.TypeOf[T]().Name
	if !v.whole {
		out.Weak = true
		rows := len(v.elements) / max(1, v.b.Cols)
		notes = append(notes, fmt.Sprintf("%d of %d rows were compared: products leave the range of %s", rows, v.a.Rows, typ))
	}
	if overflows > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d elements overflow the range of %s", overflows, len(v.elements), typ))
	}
	out.Note = strings.Join(notes, "; ")
	return out
}

// String returns the value of the element.
func (e *element) String() string {
	return new(big.Float).SetMantExp(big.NewFloat(e.hi+e.lo), e.exp).Text('g', 6)
}

// magnitude returns the product of the magnitudes of finite numbers.
func magnitude(numbers ...float64) *big.Float {
	out := big.NewFloat(1)
	for _, x := range numbers {
		out.Mul(out, big.NewFloat(math.Abs(x)))
	}
	return out
}

// normIn returns the norm of a normwise check in units of 2^unit.
func (v *floatVerifier[T]) normIn(unit int) float64 {
	x, _ := new(big.Float).SetMantExp(v.norm, -unit).Float64()
	return x
}
