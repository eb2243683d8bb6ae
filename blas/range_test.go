package blas

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// The routines at the ends of the range: α and operands for which α·A, α·B or A·B overflows or underflows, although the
// result is far from both. The shapes are around every change of the algorithm. The oracle sums in 2 400 bits.

// magnitudes are of α and of the elements of A and B. Every third row of A, or column of B, has others or otherB, if
// not 0.
type magnitudes struct{ alpha, a, b, others, otherB float64 }

var doubleMagnitudes = []magnitudes{
	{alpha: 1e-300, a: 1e-30, b: 1e300}, {alpha: 1e300, a: 1e30, b: 1e-300}, {alpha: 1e-200, a: 1e200, b: 1e200},
	{alpha: 1e300, a: 1e-200, b: 1e-200}, {alpha: 1e-300, a: 1e200, b: 1e200}, {alpha: 1e200, a: 1e200, b: 1e-300},
	{alpha: 1e200, a: 1e-300, b: 1e200}, {alpha: -1e-200, a: 1e300, b: 1e-300}, {alpha: 1e-9, a: 1e160, b: 1e150},
	{alpha: 1e9, a: 1e300, b: 1e-280}, {alpha: 0.75, a: 1e-140, b: 1e-140}, {alpha: 1e-6, a: 1e-305, b: 1e300},
	{alpha: 1e6, a: 1e303, b: 1e-305}, {alpha: 5e-324, a: 1e300, b: 1e300}, {alpha: 1e-250, a: 1e200, b: 1e200},
	{alpha: 1e-200, a: 1e150, b: 1e150, others: 1e-290},
	{alpha: 1e-200, a: 1e300, b: 1e150, others: 1e-10, otherB: 1e-280},
	{alpha: 1e250, a: 1e-100, b: 1e-200, others: 1e-250, otherB: 1e-150},
	{alpha: 1e-280, a: 1e290, b: 1e250, others: 1e-300, otherB: 1e-290},
	{alpha: 1e280, a: 1e-150, b: 1e-300, others: 1e300, otherB: 1e-20},
	{alpha: 1e10, a: 1e-310, b: 1}, {alpha: 2, a: 1e-161, b: 1e160},
	{alpha: 1, a: 1e-310, b: 1e300, others: 1e10, otherB: 1e-310},
}

var singleMagnitudes = []magnitudes{
	{alpha: 1e25, a: 1e-25, b: 1e-25}, {alpha: 1e-25, a: 1e25, b: 1e25}, {alpha: 1e30, a: 1e30, b: 1e-35},
	{alpha: 1e30, a: 1e-35, b: 1e30}, {alpha: -1e30, a: 1e-30, b: 1e-30}, {alpha: 0.5, a: 1e-10, b: 1e10},
	{alpha: 1e-28, a: 1e36, b: 1e18, others: 1e-20, otherB: 1e-30},
	{alpha: 1e10, a: 1e-40, b: 1}, {alpha: 2, a: 1e-22, b: 1e21},
	{alpha: 1, a: 1e-40, b: 1e30, others: 1e10, otherB: 1e-40},
}

// rangeCall is a call of any routine of level 3, in any of the four types.
type rangeCall struct {
	name string
	call[complex128]
}

// runAs returns what a routine writes.
func runAs[T element](x *rangeCall, r routines[T], of func(x complex128) T, back func(x T) complex128) []complex128 {
	y := as(x.call, of)
	if x.name == "gemm" && x.m%2 == 0 { // the function, which computes with the same code
		r.gemm = func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
			ldc int) {
			rowsA, colsA := ordered(tA, m, k)
			rowsB, colsB := ordered(tB, k, n)
			if err := Gemm(tA, tB, alpha, gemm.Matrix[T]{Rows: rowsA, Cols: colsA, Stride: lda, Data: a},
				gemm.Matrix[T]{Rows: rowsB, Cols: colsB, Stride: ldb, Data: b}, beta,
				gemm.Matrix[T]{Rows: m, Cols: n, Stride: ldc, Data: c}); err != nil {
				panic(err)
			}
		}
	}
	r.run(x.name, y)
	from := y.c
	if x.inPlace() {
		from = y.b
	}
	out := make([]complex128, len(from))
	for i, v := range from {
		out[i] = back(v)
	}
	return out
}

// run returns what the routine writes.
func (x *rangeCall) run(i Implementation, typ string) []complex128 {
	switch typ {
	case "f64":
		return runAs(x, doubles(i), func(x complex128) float64 { return real(x) },
			func(x float64) complex128 { return complex(x, 0) })
	case "f32":
		return runAs(x, singles(i), func(x complex128) float32 { return float32(real(x)) },
			func(x float32) complex128 { return complex(float64(x), 0) })
	case "c128":
		same := func(x complex128) complex128 { return x }
		return runAs(x, complexDoubles(i), same, same)
	}
	return runAs(x, complexSingles(i), func(x complex128) complex64 { return complex64(x) },
		func(x complex64) complex128 { return complex128(x) })
}

func (x *rangeCall) inPlace() bool { return x.name == "trmm" || x.name == "trsm" }
func (x *rangeCall) isRank() bool {
	return slices.Contains([]string{"syrk", "herk", "syr2k", "her2k"}, x.name)
}

// factor returns an element of a matrix, and whether there is one.
type factor func(i, j int) (complex128, bool)

func conj(x complex128) complex128 { return complex(real(x), -imag(x)) }

// op returns the elements of op(X).
func op(t blas.Transpose, x []complex128, ld int) factor {
	return func(i, j int) (complex128, bool) {
		switch t {
		case Trans:
			return x[j*ld+i], true
		case ConjTrans:
			return conj(x[j*ld+i]), true
		}
		return x[i*ld+j], true
	}
}

// triangleOf returns the elements of op of a triangular matrix, or of a symmetric or Hermitian one.
func (x *rangeCall) triangleOf() factor {
	inside := func(i, j int) bool { return i == j || (i < j) == (x.ul == blas.Upper) }
	return func(i, j int) (complex128, bool) {
		switch {
		case x.name == "hemm" && i == j:
			return complex(real(x.a[i*x.lda+i]), 0), true
		case x.name == "hemm" && !inside(i, j):
			return conj(x.a[j*x.lda+i]), true
		case x.name == "symm" && !inside(i, j):
			return x.a[j*x.lda+i], true
		case x.name == "hemm" || x.name == "symm":
			return x.a[i*x.lda+j], true
		}
		if x.tA != NoTrans {
			i, j = j, i
		}
		y := x.a[i*x.lda+j]
		if x.tA == ConjTrans {
			y = conj(y)
		}
		if i == j && x.d == blas.Unit {
			y = 1
		}
		return y, inside(i, j)
	}
}

// sumOf is a sum of k products of two factors, times α.
type sumOf struct {
	alpha complex128
	a, b  factor
	k     int
}

// definition returns the products of which the routine is the sum.
func (x *rangeCall) definition() []sumOf {
	a, b, mark := op(x.tA, x.a, x.lda), op(NoTrans, x.b, x.ldb), Trans
	switch x.name {
	case "gemm":
		return []sumOf{{x.alpha, a, op(x.tB, x.b, x.ldb), x.k}}
	case "symm", "hemm", "trmm":
		if x.s == blas.Left {
			return []sumOf{{x.alpha, x.triangleOf(), b, x.m}}
		}
		return []sumOf{{x.alpha, b, x.triangleOf(), x.n}}
	}
	other := x.alpha
	if x.name == "herk" || x.name == "her2k" {
		mark, other = ConjTrans, conj(other)
	}
	turned := func(e factor) factor {
		return func(i, j int) (complex128, bool) {
			y, ok := e(j, i)
			if mark == ConjTrans {
				y = conj(y)
			}
			return y, ok
		}
	}
	if x.name == "syrk" || x.name == "herk" {
		return []sumOf{{x.alpha, a, turned(a), x.k}}
	}
	b = op(x.tA, x.b, x.ldb)
	return []sumOf{{x.alpha, a, turned(b), x.k}, {other, b, turned(a), x.k}}
}

// oracle sums the parts of an element, and the magnitudes of all terms.
type oracle struct{ sum, size [2]*big.Float }

func newOracle() oracle {
	zero := func() *big.Float { return new(big.Float).SetPrec(2400) }
	return oracle{[2]*big.Float{zero(), zero()}, [2]*big.Float{zero(), zero()}}
}

// add adds x·y·z: eight products of parts.
func (o *oracle) add(x, y, z complex128) {
	parts := [3][2]float64{{real(x), imag(x)}, {real(y), imag(y)}, {real(z), imag(z)}}
	for mask := range 8 {
		p, q, r := parts[0][mask&1], parts[1][mask>>1&1], parts[2][mask>>2]
		if p == 0 || q == 0 || r == 0 {
			continue
		}
		powers := bits.OnesCount(uint(mask))
		term := new(big.Float).SetPrec(160).SetFloat64(p)
		term.Mul(term.Mul(term, big.NewFloat(q)), big.NewFloat(r))
		part := powers % 2
		o.size[part].Add(o.size[part], new(big.Float).Abs(term))
		if powers >= 2 {
			term.Neg(term)
		}
		o.sum[part].Add(o.sum[part], term)
	}
}

// check compares an element. Underflow may add 2^margin of the least number for each term. If the terms come near to
// overflow, it reports false.
func (o *oracle) check(got complex128, terms, margin int, single bool) (checked bool, err error) {
	unit, least, most := 0x1p-53, 0x1p-1074, math.MaxFloat64
	if single {
		unit, least, most = 0x1p-24, 0x1p-149, math.MaxFloat32
	}
	for part, x := range [2]float64{real(got), imag(got)} {
		size, _ := o.size[part].Float64()
		want, _ := o.sum[part].Float64()
		if size > most/(1<<25) {
			return false, nil
		}
		bound := 8*float64(terms+8)*unit*size + math.Ldexp(8*float64(terms+1)*least, margin)
		if !(math.Abs(x-want) <= bound) {
			return true, fmt.Errorf("part %d is %g, want %g within %g", part, x, want, bound)
		}
	}
	return true, nil
}

const margin = 24 // of block

// rangeShapes are around every change: few and one more, corners and one more, blocks and one more, threads.
var rangeShapes = [][3]int{{1, 1, 1}, {4, 4, 4}, {3, 5, 2}, {7, 7, 7}, {8, 8, 8}, {9, 8, 8}, {12, 6, 13}, {16, 17, 5},
	{33, 20, 40}, {65, 66, 9}, {5, 64, 257}, {30, 513, 20}, {90, 90, 90}, {20, 1030, 3}, {515, 33, 9}, {160, 160, 140}}

// drawRange returns a call with operands of the given magnitudes. Elements that a routine must not read are NaN.
func drawRange(rng *rand.Rand, name, typ string, shape [3]int, g magnitudes) *rangeCall {
	isComplex := typ[0] == 'c'
	all := []blas.Transpose{NoTrans, Trans, ConjTrans}
	x := &rangeCall{name, call[complex128]{s: pick(rng, blas.Left, blas.Right), ul: pick(rng, blas.Upper, blas.Lower),
		tA: pick(rng, all...), tB: pick(rng, all...), d: pick(rng, blas.Unit, blas.NonUnit), m: shape[0], n: shape[1],
		k: shape[2]}}
	number := func(size float64) complex128 {
		part := func() float64 { return size * (rng.Float64() + 0.5) * pick(rng, -1.0, 1) }
		y := complex(part(), 0)
		if isComplex {
			y = complex(real(y), part())
		}
		if typ == "f32" || typ == "c64" {
			y = complex128(complex64(y))
		}
		return y
	}
	matrix := func(rows, cols, ld int, size func(i, j int) float64) []complex128 {
		out := make([]complex128, max(0, rows-1)*ld+cols)
		for i := range out {
			out[i] = number(size(i/ld, i%ld))
		}
		return out
	}
	x.alpha = number(g.alpha)
	rowsA, colsA := ordered(x.tA, x.m, x.k)
	rowsB, colsB := ordered(x.tB, x.k, x.n)
	rowsC := x.m
	switch {
	case x.isRank():
		x.tA = pick(rng, NoTrans, Trans)
		if name[0] == 'h' {
			x.tA, x.alpha = pick(rng, NoTrans, ConjTrans), complex(real(x.alpha), imag(x.alpha)*float64(len(name)-4))
		}
		rowsA, colsA = ordered(x.tA, x.n, x.k)
		rowsB, colsB, rowsC = rowsA, colsA, x.n
	case name != "gemm":
		rowsA, colsA, rowsB, colsB = order(x.s, x.m, x.n), order(x.s, x.m, x.n), x.m, x.n
	}
	x.lda, x.ldb, x.ldc = colsA+1, colsB+2, x.n+3
	x.a = matrix(rowsA, colsA, x.lda, func(i, _ int) float64 {
		if i%3 == 1 && g.others != 0 {
			return g.others
		}
		return g.a
	})
	x.b = matrix(rowsB, colsB, x.ldb, func(_, j int) float64 {
		if j%3 == 1 && g.otherB != 0 {
			return g.otherB
		}
		return g.b
	})
	third, _ := new(big.Float).Mul(exactly(g.alpha), new(big.Float).Mul(exactly(g.a), exactly(g.b))).Float64()
	least, old := 1e-305, min(math.Abs(third), 1e30)
	if typ == "f32" || typ == "c64" {
		least = 1e-35
	}
	if math.Abs(third) < 1e30 {
		x.beta = number(1)
		if beta := pick(rng, 1, g.alpha, 1/g.alpha); old/math.Abs(beta) > least && old/math.Abs(beta) < 1/least {
			x.beta, old = number(beta), old/math.Abs(beta)
		}
	}
	if name[0] == 'h' && x.isRank() {
		x.beta = complex(real(x.beta), 0)
	}
	x.c = matrix(rowsC, x.n, x.ldc, func(int, int) float64 { return old })
	return x
}

func exactly(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }

// TestRange compares some elements of every routine with the oracle.
func TestRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 18))
	for typ, all := range map[string][]magnitudes{"f64": doubleMagnitudes, "c128": doubleMagnitudes,
		"f32": singleMagnitudes, "c64": singleMagnitudes} {
		routines := names
		if typ[0] == 'c' {
			routines = append([]string{"gemm"}, complexNames...)
		}
		for _, name := range routines {
			if name == "trsm" {
				continue // TestSolveRange
			}
			t.Run(typ+"/"+name, func(t *testing.T) {
				checked := 0
				for _, shape := range rangeShapes {
					for index, g := range all {
						// Spread operands take the slow way; large shapes take their turns.
						size := terms(shape[0], shape[1], shape[2])
						if size > 1<<13 && (g.others != 0 || index%5 != shape[1]%5) || shape[1] > 600 && name != "gemm" {
							continue
						}
						x := drawRange(rng, name, typ, shape, g)
						checked += checkRange(t, rng, x, typ)
					}
				}
				if checked < 100 {
					t.Errorf("%d elements compared", checked)
				}
			})
		}
	}
}

// checkRange compares some elements, and returns how many.
func checkRange(t *testing.T, rng *rand.Rand, x *rangeCall, typ string) (checked int) {
	t.Helper()
	got, ld, before := x.run(Implementation{Workers: 1 + rng.IntN(2)}, typ), x.ldc, x.c
	rows := x.m
	if x.inPlace() {
		ld, before = x.ldb, x.b
	}
	if x.isRank() {
		rows = x.n
	}
	for range 4 {
		i, j := rng.IntN(rows), rng.IntN(x.n)
		if x.isRank() && (i < j) != (x.ul == blas.Upper) {
			i, j = j, i
		}
		o, terms := newOracle(), 1
		for _, sum := range x.definition() {
			for l := range sum.k {
				p, has := sum.a(i, l)
				q, also := sum.b(l, j)
				if has && also {
					o.add(sum.alpha, p, q)
				}
			}
			terms += sum.k
		}
		if !x.inPlace() {
			old := before[i*ld+j]
			if i == j && (x.name == "herk" || x.name == "her2k") {
				old = complex(real(old), 0)
			}
			o.add(1, x.beta, old)
		}
		ok, err := o.check(got[i*ld+j], terms, margin, typ == "f32" || typ == "c64")
		if err != nil {
			t.Fatalf("%s %c %c %c %c %c %d×%d×%d α=%v β=%v: element (%d, %d): %v", x.name, max('0', x.s), max('0', x.ul),
				max('0', x.tA), max('0', x.tB), max('0', x.d), x.m, x.n, x.k, x.alpha, x.beta, i, j, err)
		}
		if ok {
			checked++
		}
	}
	return checked
}
