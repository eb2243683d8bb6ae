package blas

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	fp16 "gemm/half"
	"gemm/internal/block"
)

// vectorRange has the routines of levels 1 and 2 for T, and of level 1 for complex numbers C, and what is compared.
type vectorRange[T gemm.Float, C anyComplex] struct {
	dot        func(n int, x []T, incX int, y []T, incY int) T
	axpy       func(n int, alpha T, x []T, incX int, y []T, incY int)
	scal       func(n int, alpha T, x []T, incX int)
	asum, nrm2 func(n int, x []T, incX int) T
	rot        func(n int, x []T, incX int, y []T, incY int, c, s T)
	dotu, dotc func(n int, x []C, incX int, y []C, incY int) C
	axpyz      func(n int, alpha C, x []C, incX int, y []C, incY int)
	scalz      func(n int, alpha C, x []C, incX int)
	level2     vectorRoutines[T]

	*testing.T
	rng               *rand.Rand
	unit, least, most float64 // rounding, and normal numbers
	checked           map[string]int
}

// TestVectorRange is TestRange for levels 1 and 2.
func TestVectorRange(t *testing.T) {
	rng, b := rand.New(rand.NewPCG(18, 20)), Implementation{}
	t.Run("f64", func(t *testing.T) {
		testVectorRange(&vectorRange[float64, complex128]{b.Ddot, b.Daxpy, b.Dscal, b.Dasum, b.Dnrm2, b.Drot, b.Zdotu,
			b.Zdotc, b.Zaxpy, b.Zscal, doubleRoutines(b), t, rng, 0x1p-53, 0x1p-1022, math.MaxFloat64,
			map[string]int{}}, doubleMagnitudes)
	})
	t.Run("f32", func(t *testing.T) {
		testVectorRange(&vectorRange[float32, complex64]{b.Sdot, b.Saxpy, b.Sscal, b.Sasum, b.Snrm2, b.Srot, b.Cdotu,
			b.Cdotc, b.Caxpy, b.Cscal, singleRoutines(b), t, rng, 0x1p-24, 0x1p-126, math.MaxFloat32, map[string]int{}},
			singleMagnitudes)
	})
}

func testVectorRange[T gemm.Float, C anyComplex](r *vectorRange[T, C], all []magnitudes) {
	for _, g := range all {
		for _, n := range []int{1, 2, 3, 5, 8, 13, 19, 20, 33, 67, 130} {
			for _, inc := range []int{1, -2} {
				r.level1(g, n, inc)
				for op := gemv; op <= trsv; op++ {
					r.vectors(g, op, n, inc)
				}
			}
		}
	}
	for name, n := range r.checked {
		if n < 60 || len(r.checked) != 10+7 {
			r.Errorf("%s: %d results compared, of %d routines", name, n, len(r.checked))
		}
	}
}

// product3 is three factors of a term.
type product3 [3]complex128

func real128[T gemm.Float](x T) complex128 { return complex(float64(x), 0) }

// sum compares a result with a sum of terms. Underflow may lose 2^lost of the least number for each.
func (r *vectorRange[T, C]) sum(name string, got complex128, lost int, terms ...product3) {
	r.Helper()
	o := newOracle()
	for _, x := range terms {
		o.add(x[0], x[1], x[2])
	}
	ok, err := o.check(got, len(terms), lost, r.least > 0x1p-1000)
	if err != nil {
		r.Fatalf("%s: %v", name, err)
	}
	if ok {
		r.checked[name]++
	}
}

// numbers returns n numbers of a magnitude, of which every third has another one, if that is not 0.
func (r *vectorRange[T, C]) numbers(n int, size, other float64) []T {
	out := make([]T, n)
	for i := range out {
		of := size
		if i%3 == 1 && other != 0 {
			of = other
		}
		out[i] = T(pick(r.rng, -of, of) * (r.rng.Float64() + 0.5))
	}
	return out
}

// pairs returns complex numbers with these parts.
func (r *vectorRange[T, C]) pairs(x []T) []C {
	out := make([]C, len(x)/2)
	for i := range out {
		out[i] = C(complex(float64(x[2*i]), float64(x[2*i+1])))
	}
	return out
}

func (r *vectorRange[T, C]) level1(g magnitudes, n, inc int) {
	length := 2 * ((n-1)*magnitude(inc) + 1)
	x, y := r.numbers(length, g.a, g.others), r.numbers(length, g.b, g.otherB)
	u := r.numbers(length, min(math.Abs(g.alpha)*g.a, 1e30), 0)
	z, w, v, scalars := r.pairs(x), r.pairs(y), r.pairs(u), r.numbers(2, g.alpha, 0)
	alpha, beta, gamma := scalars[0], scalars[1], r.pairs(scalars)[0]
	var dot, dotu, dotc, asum []product3
	squares := newOracle()
	for i := range n {
		i := first(n, inc) + i*inc
		dot = append(dot, product3{1, real128(x[i]), real128(y[i])})
		dotu = append(dotu, product3{1, complex128(z[i]), complex128(w[i])})
		dotc = append(dotc, product3{1, conj(complex128(z[i])), complex128(w[i])})
		asum = append(asum, product3{1, 1, real128(max(x[i], -x[i]))})
		squares.add(1, real128(x[i]), real128(x[i]))
	}
	r.sum("dot", real128(r.dot(n, x, inc, y, inc)), 0, dot...)
	r.sum("dotu", complex128(r.dotu(n, z, inc, w, inc)), 0, dotu...)
	r.sum("dotc", complex128(r.dotc(n, z, inc, w, inc)), 0, dotc...)
	r.sum("asum", real128(r.asum(n, x, magnitude(inc))), 0, asum...)
	norm, _ := new(big.Float).Sqrt(squares.sum[0]).Float64()
	if got := float64(r.nrm2(n, x, magnitude(inc))); norm < r.most {
		r.checked["nrm2"]++
		if !(math.Abs(got-norm) <= float64(n+8)*r.unit*norm+4*r.unit*r.least) {
			r.Fatalf("nrm2 of %d numbers %g is %g, want %g", n, g.a, got, norm)
		}
	}
	added, addedz, scaled := slices.Clone(u), slices.Clone(v), slices.Clone(x)
	r.axpy(n, alpha, x, inc, added, inc)
	r.axpyz(n, gamma, z, inc, addedz, inc)
	r.scal(n, alpha, scaled, magnitude(inc))
	scaledz := slices.Clone(z)
	r.scalz(n, gamma, scaledz, magnitude(inc))
	left, right := slices.Clone(x), slices.Clone(y)
	r.rot(n, left, inc, right, inc, alpha, beta)
	for range 4 {
		i := first(n, inc) + r.rng.IntN(n)*inc
		c, s, x, y := real128(alpha), real128(beta), real128(x[i]), real128(y[i])
		r.sum("axpy", real128(added[i]), 0, product3{1, c, x}, product3{1, 1, real128(u[i])})
		r.sum("axpyz", complex128(addedz[i]), 0, product3{1, complex128(gamma), complex128(z[i])},
			product3{1, 1, complex128(v[i])})
		r.sum("scalz", complex128(scaledz[i]), 0, product3{1, complex128(gamma), complex128(z[i])})
		r.sum("scal", real128(scaled[i]), 0, product3{1, c, x})
		r.sum("rot", real128(left[i]), 0, product3{1, c, x}, product3{1, s, y})
		r.sum("rot", real128(right[i]), 0, product3{1, c, y}, product3{-1, s, x})
	}
}

// vectors compares a routine of level 2. op(A)·z = x of a solution z is compared with the right-hand side x.
func (r *vectorRange[T, C]) vectors(g magnitudes, op vectorRoutine, n, inc int) {
	v := matrixVector[T]{op: op, ul: pick(r.rng, blas.Upper, blas.Lower), tA: NoTrans, d: blas.NonUnit, m: n, n: n,
		lda: n + 2, alpha: r.numbers(1, g.alpha, 0)[0], beta: T(pick(r.rng, 0, 1, g.alpha, 1/g.alpha)), incX: 1,
		incY: inc}
	if op < symv {
		v.m = pick(r.rng, n, 1, 7, 40)
	}
	if op == gemv || op >= trmv {
		v.tA, v.d = pick(r.rng, NoTrans, Trans), pick(r.rng, blas.Unit, blas.NonUnit)
	}
	if op == syr {
		g.a, v.incX = g.b, inc
	}
	term, _ := new(big.Float).Mul(exactly(math.Abs(g.alpha)), new(big.Float).Mul(exactly(g.a), exactly(g.b))).Float64()
	term = min(term, 1e30)
	a, y, others := term, g.a, 0.0
	switch {
	case op == gemv || op == symv:
		if a, y, others = g.a, term/math.Abs(float64(v.beta)), g.others; !(y < r.most/4 && y > r.least*4) {
			v.beta, y = 1, term
		}
	case op >= trmv:
		v.alpha, a, y, others = 1, g.a, g.b, g.others
	}
	inside := func(x float64) bool { return x > r.least*0x1p26 && x < r.most*0x1p-26 || x == 0 }
	switch { // as package blas says
	case op < trmv && block.IsModerate(v.alpha) && !(inside(g.b) && inside(g.otherB) && inside(g.a)),
		op == trsv && (g.others+g.otherB != 0 || v.d == blas.Unit || !inside(g.b/g.a) || g.b/g.a == 0):
		return
	}
	rows, cols := ordered(v.tA, v.m, v.n)
	v.a = r.numbers(v.m*v.lda, a, others)
	v.x = r.numbers((cols-1)*magnitude(v.incX)+1, g.b, g.otherB)
	v.y = r.numbers((rows-1)*magnitude(v.incY)+1, y, 0)
	if op == trsv {
		for i := range v.a {
			if i/v.lda != i%v.lda {
				v.a[i] /= T(2 * n)
			}
		}
	}
	if op == syr {
		v.y = v.x
	}
	was := v
	was.a, was.y = slices.Clone(v.a), slices.Clone(v.y)
	r.level2.run(v)
	at := func(i, j int) complex128 { // of op(A)
		if v.tA != NoTrans {
			i, j = j, i
		}
		switch outside := i != j && (i < j) != (v.ul == blas.Upper); {
		case op == symv && outside:
			i, j = j, i
		case op >= trmv && outside:
			return 0
		case op >= trmv && i == j && v.d == blas.Unit:
			return 1
		}
		return real128(was.a[i*v.lda+j])
	}
	x := func(i int) complex128 { return real128(v.x[first(cols, v.incX)+i*v.incX]) }
	of := func(y []T, i int) complex128 { return real128(y[first(rows, v.incY)+i*v.incY]) }
	name, alpha := fmt.Sprintf("routine %d", op), real128(v.alpha)
	for range 4 {
		i, j := r.rng.IntN(rows), r.rng.IntN(cols)
		if op >= symv && (i < j) != (v.ul == blas.Upper) {
			i, j = j, i
		}
		switch op {
		case ger, syr, syr2:
			terms := []product3{{alpha, of(was.y, i), x(j)}, {1, 1, real128(was.a[i*v.lda+j])}}
			if op == syr2 {
				terms = append(terms, product3{alpha, x(i), of(was.y, j)})
			}
			r.sum(name, real128(v.a[i*v.lda+j]), margin, terms...)
			continue
		}
		got, before, terms := of(v.y, i), of(was.y, i), []product3(nil)
		if op < trmv {
			terms = append(terms, product3{1, real128(v.beta), before})
		}
		for l := range cols {
			factor := func() complex128 {
				switch op {
				case trmv:
					return of(was.y, l)
				case trsv:
					return of(v.y, l)
				}
				return x(l)
			}()
			terms = append(terms, product3{alpha, at(i, l), factor})
		}
		if op == trsv {
			got = before
		}
		r.sum(name, got, margin, terms...)
	}
}

// TestHalfRange is TestRange for Gemm in half precision: sums of a·b, α and β·c are in float32, which holds all of F16.
// Larger results than the largest number are infinite.
func TestHalfRange(t *testing.T) {
	testHalfRange[fp16.F16](t, 0x1p-11, 0x1p-24, 65504, []magnitudes{{alpha: 1, a: 200, b: 100},
		{alpha: 1, a: 1e-4, b: 1e-4}, {alpha: 6e4, a: 1e-7, b: 1e-3}, {alpha: 1e-7, a: 4e4, b: 4e4},
		{alpha: 6e4, a: 1e-6, b: 4e4, others: 1e-3},
		{alpha: 1e-3, a: 4e4, b: 1e-3, otherB: 6e-8}})
	testHalfRange[fp16.BF16](t, 0x1p-8, 0x1p-133, 0x1.fep+127, []magnitudes{{alpha: 1, a: 1e19, b: 1e18},
		{alpha: 1, a: 1e-20, b: 1e-19}, {alpha: 1e30, a: 1e-35, b: 1e5}, {alpha: 1e-10, a: 1e-20, b: 1e-8},
		{alpha: 1, a: 1e38, b: 1e-38, others: 1e-40}, {alpha: -1e-39, a: 1e25, b: 1e9},
		{alpha: 1e20, a: 1e10, b: 1e10}})
}

func testHalfRange[T fp16.Float](t *testing.T, unit, least, most float64, all []magnitudes) {
	rng, infinite := rand.New(rand.NewPCG(18, 21)), 0
	for _, g := range all {
		for _, shape := range [][3]int{{1, 1, 1}, {7, 9, 3}, {33, 40, 65}, {70, 20, 300}} {
			m, n, k := shape[0], shape[1], shape[2]
			matrix := func(rows, cols int, size, other float64) gemm.Matrix[T] {
				x := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols + 1, Data: make([]T, rows*(cols+1))}
				for i := range x.Data {
					of := size
					if i%3 == 1 && other != 0 {
						of = other
					}
					x.Data[i] = fp16.From[T](float32(pick(rng, -of, of) * (rng.Float64() + 0.5)))
				}
				return x
			}
			of := func(x gemm.Matrix[T], i, j int) complex128 { return real128(x.Data[i*x.Stride+j].Float32()) }
			term := min(math.Abs(g.alpha)*g.a*g.b, most/2)
			a, b, c := matrix(m, k, g.a, g.others), matrix(k, n, g.b, g.otherB), matrix(m, n, term, 0)
			was, alpha, beta := c, fp16.From[T](float32(g.alpha)), fp16.From[T](float32(pick(rng, 0, 1, -0.5)))
			was.Data = slices.Clone(c.Data)
			if err := Gemm(NoTrans, NoTrans, alpha, a, b, beta, c); err != nil {
				t.Fatal(err)
			}
			for range 6 {
				i, j, o := rng.IntN(m), rng.IntN(n), newOracle()
				o.add(1, real128(beta.Float32()), of(was, i, j))
				for l := range k {
					o.add(real128(alpha.Float32()), of(a, i, l), of(b, l, j))
				}
				want, _ := o.sum[0].Float64()
				size, _ := o.size[0].Float64()
				scale := max(1, math.Abs(float64(alpha.Float32())))
				bound := 4*float64(k+4)*(0x1p-24*size+0x1p-149*scale) + unit*math.Abs(want) + least/2
				got := real(of(c, i, j))
				right, over := math.Abs(got-want) <= bound, math.IsInf(got, int(math.Copysign(1, want)))
				if math.Abs(want)-bound > most*(1+unit) {
					right = over
					infinite++
				}
				if !right && !(over && math.Abs(want)+bound > most) {
					t.Errorf("%T, %v, %v: element is %g, want %g within %g", alpha, g, shape, got, want, bound)
				}
			}
		}
	}
	if infinite == 0 {
		t.Errorf("%T: no result is infinite", *new(T))
	}
}
