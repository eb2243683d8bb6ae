package serial

import (
	"context"

	"gemm"
	"gemm/internal/block"
)

// strassen halves all three dimensions at once. It computes the four quarters of C from seven products in place of
// eight (Strassen, Gaussian Elimination is not Optimal, Numerische Mathematik 13, 1969):
//
//	M₁ = (A₁₁ + A₂₂)·(B₁₁ + B₂₂)      M₅ = (A₁₁ + A₁₂)·B₂₂
//	M₂ = (A₂₁ + A₂₂)·B₁₁              M₆ = (A₂₁ − A₁₁)·(B₁₁ + B₁₂)
//	M₃ = A₁₁·(B₁₂ − B₂₂)              M₇ = (A₁₂ − A₂₂)·(B₂₁ + B₂₂)
//	M₄ = A₂₂·(B₂₁ − B₁₁)
//
//	C₁₁ = M₁ + M₄ − M₅ + M₇           C₁₂ = M₃ + M₅
//	C₂₁ = M₂ + M₄                     C₂₂ = M₁ − M₂ + M₃ + M₆
//
// The list has the order of computation, in which every quarter of C is first set and then added to.
//
// A level saves an eighth of the multiplications and pays with 18 additions of
// quarters, five of A, five of B and eight of C. For n = 2^ℓ·n₀ that makes
//
//	7^ℓ·(2n₀³ + 6n₀²) − 6n²
//
// operations. With n₀ = 1 the exponent is log₂ 7 ≈ 2.81. The price is additions, which mostly move memory: (4·18 −
// 3)·(n/2)² elements per level if the quarters do not fit in cache (three products that are added to two quarters are
// read once). So the recursion ends at the cutoff, from which the leaf is faster.
//
// If the leaf is packed, the additions of the last level are folded into it. Its packing reads and writes every element
// of A and B anyway, and forms the sums on the way. A product is added to quarters of C while a cache has it (Huang,
// Smith, Henry and van de Geijn, Strassen's Algorithm Reloaded, SC16; see block.Engine.Sum). The remaining traffic is
// one element for each further term of a sum, and two for each further quarter of C: 26·(n/2)² in place of 69·(n/2)².
// The levels above keep temporaries. To fold two levels at once, as 49 products of sums of up to four blocks (Huang,
// Rice, Matthews and van de Geijn, IPDPS 2017), was slower by 3 to 7 % at n = 3072 to 6144: it streams all operands for
// every product, while the recursion stays in its temporaries.
//
// The workspace of a level is a sum of A, a sum of B and a product, each the size of a quarter: at
// most (mk + kn + mn)/3 elements in all. The folded level has only the product.
//
// The error is bounded by norms only: with k = 2^ℓ·k₀
//
//	|Ĉ − C| ≤ [12^ℓ·(k₀² + 5k₀) − 5k]·u·max|A|·max|B| + O(u²)
//
// (Higham, 2nd ed., theorem 23.2; Brent 1970). A classical product has k² in place of the bracket.
// An element of C that is small compared with max|A|·max|B| may have no correct digit. Inf or NaN
// in A or B spreads to quarters that do not contain it, and Inf − Inf makes NaN.
var strassen = [7]step{
	{a: sum{x12, -x22}, b: sum{x21, x22}, set: x11},           // M₇
	{a: sum{x21, -x11}, b: sum{x11, x12}, set: x22},           // M₆
	{a: sum{x11, x22}, b: sum{x11, x22}, add: sum{x11, x22}},  // M₁
	{a: sum{x21, x22}, b: sum{x11}, set: x21, add: sum{-x22}}, // M₂
	{a: sum{x22}, b: sum{x21, -x11}, add: sum{x11, x21}},      // M₄
	{a: sum{x11}, b: sum{x12, -x22}, set: x12, add: sum{x22}}, // M₃
	{a: sum{x11, x12}, b: sum{x22}, add: sum{x12, -x11}},      // M₅
}

// step is a product of two sums of quarters. The quarter set of C, if it is not 0, becomes the product. The
// product is added to the quarters add.
type step struct {
	a, b sum
	set  quarter
	add  sum
}

// sum is a sum of one or two quarters. In an operand, the first has no minus sign.
type sum []quarter

// quarter is a quarter of a matrix; −x is subtracted.
type quarter int

const (
	x11 quarter = iota + 1
	x12
	x21
	x22
)

// index returns the position in quarters, and sign ±1.
func (q quarter) index() int { return int(max(q, -q)) - 1 }
func (q quarter) sign() int {
	if q < 0 {
		return -1
	}
	return 1
}

// strassenLevel computes a level with three temporaries: a sum of A, a sum of B and a product.
func strassenLevel[T gemm.Float](ctx context.Context, r *recursion[T], c, a, b quarters[T], d *adder[T],
	free []T) error {
	m, n, k := c[0].Rows, c[0].Cols, a[0].Cols
	if r.engine != nil && !divides(m, n, k, r.cutoff) {
		return strassenFolded(ctx, r.engine, c, a, b)
	}
	left, free := temporary(free, m, k)
	right, free := temporary(free, k, n)
	spare, free := temporary(free, m, n)
	for _, x := range strassen {
		p := spare
		if x.set != 0 {
			p = c[x.set.index()]
		}
		if err := r.multiply(ctx, p, d.operand(left, a, x.a), d.operand(right, b, x.b), d, free); err != nil {
			return err
		}
		var sums [2]addition[T]
		for i, q := range x.add {
			z := c[q.index()]
			sums[i] = addition[T]{z, z, T(q.sign()), p}
		}
		d.add(sums[:len(x.add)]...)
	}
	return nil
}

// operand returns a sum of quarters: the quarter if there is one, otherwise to.
func (d *adder[T]) operand(to gemm.Matrix[T], x quarters[T], s sum) gemm.Matrix[T] {
	if len(s) == 1 {
		return x[s[0].index()]
	}
	d.add(addition[T]{to, x[s[0].index()], T(s[1].sign()), x[s[1].index()]})
	return to
}

// strassenFolded computes a level whose additions are folded into the packing and the updates of the engine.
func strassenFolded[T gemm.Float](ctx context.Context, e *block.Engine[T], c, a, b quarters[T]) error {
	for _, x := range strassen {
		var left, right, to [3]block.Term[T]
		targets := to[:0]
		if x.set != 0 {
			targets = terms(targets, c, sum{x.set})
		}
		err := e.Sum(ctx, c[0].Rows, c[0].Cols, a[0].Cols, terms(left[:0], a, x.a), terms(right[:0], b, x.b),
			terms(targets, c, x.add), x.set != 0)
		if err != nil {
			return err
		}
	}
	return nil
}

// terms appends quarters as terms of a sum.
func terms[T gemm.Float](to []block.Term[T], x quarters[T], s sum) []block.Term[T] {
	for _, q := range s {
		m := x[q.index()]
		to = append(to, block.Term[T]{Data: m.Data, Stride: m.Stride, Sign: T(q.sign())})
	}
	return to
}

var strassenScheme = scheme{
	products:    7,
	folds:       true,
	temporaries: func(m, n, k int) int { return m*k + k*n + m*n },
	a:           5, b: 5, c: 8,
	again:   3, // of M₁, M₄ and M₅
	grown:   strassenGrown,
	untuned: strassenCutoff,
}

func strassenVariant() gemm.Variant {
	return fastVariant("serial/strassen", foldingLeaf,
		"Strassen's algorithm: seven products of halves in place of eight, 18 additions, down to the cutoff",
		strassenScheme, strassenLevel[float32], strassenLevel[float64])
}

// NewStrassen returns serial/strassen with the leaf packed, on the workers of a loop.
func NewStrassen[T gemm.Float](loop Loop, cutoff int) Twofold[T] {
	return newRecursion(strassenScheme, strassenLevel[T], cutoff, Packed[T]{block.Host[T](loop)}, loop)
}
