package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"gemm"
)

// call holds the arguments of any routine of level 3; each reads those that it has.
type call[T element] struct {
	s             blas.Side
	ul            blas.Uplo
	tA, tB        blas.Transpose
	d             blas.Diag
	m, n, k       int
	alpha, beta   T
	a, b, c       []T
	lda, ldb, ldc int
}

// String leaves out the operands.
func (x call[T]) String() string {
	return fmt.Sprintf("%c %c %c %c %c m=%d n=%d k=%d α=%v β=%v lda=%d (%d) ldb=%d (%d) ldc=%d (%d)",
		max(x.s, '0'), max(x.ul, '0'), max(x.tA, '0'), max(x.tB, '0'), max(x.d, '0'), x.m, x.n, x.k, x.alpha, x.beta,
		x.lda, len(x.a), x.ldb, len(x.b), x.ldc, len(x.c))
}

// clone returns x with operands of its own.
func (x call[T]) clone() call[T] {
	x.a, x.b, x.c = slices.Clone(x.a), slices.Clone(x.b), slices.Clone(x.c)
	return x
}

// routines are the routines of level 3 of one implementation. The last three are for complex numbers; the scalars that
// are real numbers there have no imaginary part.
type routines[T element] struct {
	gemm  func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	symm  func(s blas.Side, ul blas.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	syrk  func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	syr2k func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	trmm  func(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)
	trsm  func(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)
	hemm  func(s blas.Side, ul blas.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	herk  func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	her2k func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
}

func doubles(x blas.Float64) routines[float64] {
	return routines[float64]{x.Dgemm, x.Dsymm, x.Dsyrk, x.Dsyr2k, x.Dtrmm, x.Dtrsm, nil, nil, nil}
}

func singles(x blas.Float32) routines[float32] {
	return routines[float32]{x.Sgemm, x.Ssymm, x.Ssyrk, x.Ssyr2k, x.Strmm, x.Strsm, nil, nil, nil}
}

var names = []string{"gemm", "symm", "syrk", "syr2k", "trmm", "trsm"}

// run calls a routine.
func (r routines[T]) run(name string, x call[T]) {
	switch name {
	case "gemm":
		r.gemm(x.tA, x.tB, x.m, x.n, x.k, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc)
	case "symm":
		r.symm(x.s, x.ul, x.m, x.n, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc)
	case "syrk":
		r.syrk(x.ul, x.tA, x.n, x.k, x.alpha, x.a, x.lda, x.beta, x.c, x.ldc)
	case "syr2k":
		r.syr2k(x.ul, x.tA, x.n, x.k, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc)
	case "trmm":
		r.trmm(x.s, x.ul, x.tA, x.d, x.m, x.n, x.alpha, x.a, x.lda, x.b, x.ldb)
	case "trsm":
		r.trsm(x.s, x.ul, x.tA, x.d, x.m, x.n, x.alpha, x.a, x.lda, x.b, x.ldb)
	case "hemm":
		r.hemm(x.s, x.ul, x.m, x.n, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc)
	case "herk":
		r.herk(x.ul, x.tA, x.n, x.k, x.alpha, x.a, x.lda, x.beta, x.c, x.ldc)
	case "her2k":
		r.her2k(x.ul, x.tA, x.n, x.k, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc)
	default:
		panic("blas: no routine " + name)
	}
}

func pick[E any](rng *rand.Rand, from ...E) E { return from[rng.IntN(len(from))] }

// draw draws everything but the operands and their leading dimensions. All scalars
// are powers of two, or zero.
func draw[T gemm.Float](rng *rand.Rand, m, n, k int) call[T] {
	transposes := []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}
	return call[T]{
		s: pick(rng, blas.Left, blas.Right), ul: pick(rng, blas.Upper, blas.Lower), d: pick(rng, blas.Unit, blas.NonUnit),
		tA: pick(rng, transposes...), tB: pick(rng, transposes...),
		m: m, n: n, k: k, alpha: pick[T](rng, 1, -1, 2, 0.5, 0), beta: pick[T](rng, 0, 1, -2, 0.5),
	}
}

// sentinel is the value of elements that a routine must not read. They lie between the rows of
// an operand, behind it, and in the triangle that is not used. A sum with one of them is wrong.
func sentinel[T gemm.Float]() T {
	var zero T
	if _, ok := any(zero).(float32); ok {
		return T(math.Float32frombits(0x7fc12345))
	}
	return T(math.Float64frombits(0x7ff8_1234_5678_9abc))
}

// operand returns a rows×cols matrix of the given elements. Where element returns false there is
// a sentinel; up to 3 sentinels lie between the rows and 5 behind the last.
func operand[T gemm.Float](rng *rand.Rand, rows, cols int, element func(i, j int) (T, bool)) ([]T, int) {
	ld := max(1, cols) + rng.IntN(4)
	data := make([]T, max(0, (rows-1)*ld+cols)+rng.IntN(2)*5)
	for i := range data {
		data[i] = sentinel[T]()
	}
	for i := range rows {
		for j := range cols {
			if x, ok := element(i, j); ok {
				data[i*ld+j] = x
			}
		}
	}
	return data, ld
}

// full draws small integers.
func full[T gemm.Float](rng *rand.Rand) func(i, j int) (T, bool) {
	return func(int, int) (T, bool) { return T(rng.IntN(11) - 5), true }
}

// one limits element to a triangle, without the diagonal where d is Unit.
func one[T gemm.Float](ul blas.Uplo, d blas.Diag, element func(i, j int) (T, bool)) func(i, j int) (T, bool) {
	return func(i, j int) (T, bool) {
		if i == j && d == blas.Unit || i < j && ul == blas.Lower || i > j && ul == blas.Upper {
			return 0, false
		}
		return element(i, j)
	}
}

// dense is a matrix by its elements, of which it has those in [0, cols) of a row
// that has reports.
type dense[T gemm.Float] struct {
	at  func(i, j int) T
	has func(i, j int) bool
}

func always(int, int) bool { return true }

// plain returns op of what is stored in data.
func plain[T gemm.Float](t blas.Transpose, data []T, ld int) dense[T] {
	if t != blas.NoTrans {
		return dense[T]{func(i, j int) T { return data[j*ld+i] }, always}
	}
	return dense[T]{func(i, j int) T { return data[i*ld+j] }, always}
}

// special returns op of the triangular matrix that is stored in data, or the
// symmetric one.
func special[T gemm.Float](ul blas.Uplo, t blas.Transpose, d blas.Diag, data []T, ld int, symmetric bool) dense[T] {
	inside := func(i, j int) bool { return i == j || (i < j) == (ul == blas.Upper) }
	m := dense[T]{
		at: func(i, j int) T {
			switch {
			case !inside(i, j):
				return data[j*ld+i]
			case i == j && d == blas.Unit:
				return 1
			default:
				return data[i*ld+j]
			}
		},
		has: func(i, j int) bool { return symmetric || inside(i, j) },
	}
	if t != blas.NoTrans {
		return m.t()
	}
	return m
}

func (x dense[T]) t() dense[T] {
	return dense[T]{func(i, j int) T { return x.at(j, i) }, func(i, j int) bool { return x.has(j, i) }}
}

// times returns the product of a, m×k, and b, k×n, by rows. Terms that one of them
// does not have are left out.
func times[T gemm.Float](a, b dense[T], m, n, k int) []T {
	right, has := make([]T, k*n), make([]bool, k*n)
	for l := range k {
		for j := range n {
			if has[l*n+j] = b.has(l, j); has[l*n+j] {
				right[l*n+j] = b.at(l, j)
			}
		}
	}
	product := make([]T, m*n)
	for i := range m {
		sums := product[i*n:][:n]
		for l := range k {
			if !a.has(i, l) {
				continue
			}
			x, has := a.at(i, l), has[l*n:]
			for j, y := range right[l*n:][:n] {
				if has[j] {
					sums[j] += x * y
				}
			}
		}
	}
	return product
}

// update computes C ← α·X + β·C for the elements (i, j) for which has returns true. As in the
// BLAS standard, α = 0 does not read X and β = 0 does not read C.
func update[T gemm.Float](m, n int, alpha T, x []T, beta T, c []T, ldc int, has func(i, j int) bool) {
	for i := range m {
		for j := range n {
			if !has(i, j) {
				continue
			}
			var sum T
			if alpha != 0 {
				sum = alpha * x[i*n+j]
			}
			if beta != 0 {
				sum += beta * c[i*ldc+j]
			}
			c[i*ldc+j] = sum
		}
	}
}

// prepared returns the call with operands of small integers. For trsm, prepared chooses the
// solution, which it returns too, and computes the right-hand side from it. The diagonal has
// powers of two, so that every step of the solver is exact.
func prepared[T gemm.Float](rng *rand.Rand, name string, x call[T]) (_ call[T], solution []T) {
	k := order(x.s, x.m, x.n)
	square := func(element func(i, j int) (T, bool)) { x.a, x.lda = operand(rng, k, k, one(x.ul, x.d, element)) }
	result := func(m, n int, element func(i, j int) (T, bool)) {
		if x.beta == 0 {
			element = func(int, int) (T, bool) { return 0, false }
		}
		x.c, x.ldc = operand(rng, m, n, element)
	}
	switch name {
	case "gemm":
		rows, cols := ordered(x.tA, x.m, x.k)
		x.a, x.lda = operand(rng, rows, cols, full[T](rng))
		rows, cols = ordered(x.tB, x.k, x.n)
		x.b, x.ldb = operand(rng, rows, cols, full[T](rng))
		result(x.m, x.n, full[T](rng))
	case "symm":
		x.d = blas.NonUnit
		square(full[T](rng))
		x.b, x.ldb = operand(rng, x.m, x.n, full[T](rng))
		result(x.m, x.n, full[T](rng))
	case "syrk", "syr2k":
		rows, cols := ordered(x.tA, x.n, x.k)
		x.a, x.lda = operand(rng, rows, cols, full[T](rng))
		x.b, x.ldb = operand(rng, rows, cols, full[T](rng))
		result(x.n, x.n, one(x.ul, blas.NonUnit, full[T](rng)))
	case "trmm":
		square(full[T](rng))
		x.b, x.ldb = operand(rng, x.m, x.n, full[T](rng))
	case "trsm":
		square(func(i, j int) (T, bool) {
			if i == j {
				return pick[T](rng, 1, -1, 2, 0.5), true
			}
			return T(rng.IntN(5) - 2), true
		})
		x.b, x.ldb = operand(rng, x.m, x.n, full[T](rng))
		solution = slices.Clone(x.b)
		if x.alpha == 0 {
			update(x.m, x.n, 0, nil, 0, solution, x.ldb, always)
			break
		}
		backwards := x
		backwards.alpha = 1 / x.alpha
		x.b = reference("trmm", backwards).b
	default:
		panic("blas: no routine " + name)
	}
	return x, solution
}

// reference returns the call as the routine must leave it, trsm aside, by the
// definition of each element.
func reference[T gemm.Float](name string, x call[T]) call[T] {
	x = x.clone()
	inside := func(i, j int) bool { return i == j || (i < j) == (x.ul == blas.Upper) }
	side := func(a, b dense[T]) []T {
		if x.s == blas.Right {
			return times(b, a, x.m, x.n, x.n)
		}
		return times(a, b, x.m, x.n, x.m)
	}
	switch name {
	case "gemm":
		a, b := plain(x.tA, x.a, x.lda), plain(x.tB, x.b, x.ldb)
		update(x.m, x.n, x.alpha, times(a, b, x.m, x.n, x.k), x.beta, x.c, x.ldc, always)
	case "symm":
		a := special(x.ul, blas.NoTrans, blas.NonUnit, x.a, x.lda, true)
		update(x.m, x.n, x.alpha, side(a, plain(blas.NoTrans, x.b, x.ldb)), x.beta, x.c, x.ldc, always)
	case "syrk":
		a := plain(x.tA, x.a, x.lda)
		update(x.n, x.n, x.alpha, times(a, a.t(), x.n, x.n, x.k), x.beta, x.c, x.ldc, inside)
	case "syr2k":
		a, b := plain(x.tA, x.a, x.lda), plain(x.tA, x.b, x.ldb)
		product := times(a, b.t(), x.n, x.n, x.k)
		for at, y := range times(b, a.t(), x.n, x.n, x.k) {
			product[at] += y
		}
		update(x.n, x.n, x.alpha, product, x.beta, x.c, x.ldc, inside)
	case "trmm":
		a := special(x.ul, x.tA, x.d, x.a, x.lda, false)
		update(x.m, x.n, x.alpha, side(a, plain(blas.NoTrans, x.b, x.ldb)), 0, x.b, x.ldb, always)
	default:
		panic("blas: no reference of " + name)
	}
	return x
}

// expected returns a call with operands, and the same as it must be afterwards.
func expected[T gemm.Float](rng *rand.Rand, name string, x call[T]) (before, after call[T]) {
	before, solution := prepared(rng, name, x)
	if name != "trsm" {
		return before, reference(name, before)
	}
	after = before.clone()
	after.b = solution
	return before, after
}

// same reports whether two numbers are equal, zeros of both signs included, or are
// NaNs of the same bits.
func same[T gemm.Float](x, y T) bool {
	if x == y {
		return true
	}
	switch x := any(x).(type) {
	case float32:
		return math.Float32bits(x) == math.Float32bits(any(y).(float32))
	default:
		return math.Float64bits(x.(float64)) == math.Float64bits(any(y).(float64))
	}
}

// differ returns where the operands of two calls are not the same, or "".
func differ[T gemm.Float](got, want call[T]) string {
	for _, o := range []struct {
		name      string
		got, want []T
		ld        int
	}{{"A", got.a, want.a, got.lda}, {"B", got.b, want.b, got.ldb}, {"C", got.c, want.c, got.ldc}} {
		for i := range o.got {
			if !same(o.got[i], o.want[i]) {
				return fmt.Sprintf("%s(%d, %d) is %v, want %v", o.name, i/o.ld, i%o.ld, o.got[i], o.want[i])
			}
		}
	}
	return ""
}

// check calls the routine with random operands and compares exactly.
func check[T gemm.Float](t *testing.T, r routines[T], rng *rand.Rand, name string, m, n, k int) {
	t.Helper()
	got, want := expected(rng, name, draw[T](rng, m, n, k))
	r.run(name, got)
	if where := differ(got, want); where != "" {
		t.Fatalf("%s %v: %s", name, got, where)
	}
}

// TestExact multiplies small integers, for which every routine is exact. It checks every element
// of every operand, also between the rows, in the other triangle and on a unit diagonal.
func TestExact(t *testing.T) {
	sizes := []int{1, 2, 3, 4, 5, 7, corner - 1, corner, corner + 1, 2*corner + 3}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 25 {
				check(t, doubles(impl), rng, name, pick(rng, sizes...), pick(rng, sizes...), pick(rng, sizes...))
				check(t, singles(impl), rng, name, pick(rng, sizes...), pick(rng, sizes...), pick(rng, sizes...))
			}
			check(t, doubles(impl), rng, name, strip+3, 41, 9)
			check(t, singles(impl), rng, name, 38, strip+5, 40)
			check(t, doubles(impl), rng, name, 100, 170, 0)
			check(t, doubles(impl), rng, name, 170, 100, 150)
			check(t, singles(impl), rng, name, 100, 170, 80)
		})
	}
}

// TestNarrow multiplies with a C of few columns, about the limits of multiplyNarrow, and with a C of one row, which is
// computed as a column.
func TestNarrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	for range 8 {
		check(t, doubles(impl), rng, "gemm", 1, 50, 5000)
		check(t, singles(impl), rng, "gemm", 1, 200, 129)
	}
	for _, m := range []int{3, 1025} {
		for range 4 {
			check(t, doubles(impl), rng, "gemm", m, narrow+rng.IntN(2), tall-rng.IntN(2))
			check(t, singles(impl), rng, "gemm", m, 1+rng.IntN(9), tall+rng.IntN(9))
		}
	}
}

// TestSparse multiplies with an A of few elements that are not zero. If they meet Inf in B, no zero may be skipped.
func TestSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(60, 61))
	for round := range 16 {
		x := draw[float64](rng, 160, 260, 170)
		x.alpha, x.tB = 1, blas.NoTrans
		got, _ := prepared(rng, "gemm", x)
		for i, x := range got.a {
			if x == x && rng.IntN(60) > 0 {
				got.a[i] = 0
			}
		}
		if round%4 == 0 {
			got.b[5] = math.Inf(1)
		}
		want := reference("gemm", got)
		doubles(impl).run("gemm", got)
		if where := differ(got, want); where != "" {
			t.Fatalf("%v: %s", got, where)
		}
	}
}

// FuzzExact is TestExact for any shape.
func FuzzExact(f *testing.F) {
	for i := range names {
		f.Add(uint8(i), true, uint8(40), uint8(70), uint8(9), uint64(i))
		f.Add(uint8(i), false, uint8(3), uint8(100), uint8(0), uint64(i))
	}
	f.Fuzz(func(t *testing.T, routine uint8, double bool, m, n, k uint8, seed uint64) {
		rng, name := rand.New(rand.NewPCG(seed, 3)), names[int(routine)%len(names)]
		if double {
			check(t, doubles(impl), rng, name, int(m), int(n), int(k))
		} else {
			check(t, singles(impl), rng, name, int(m), int(n), int(k))
		}
	})
}

// outcome returns what a routine panics with, nil if it does not.
func outcome[T element](r routines[T], name string, x call[T]) (recovered any) {
	defer func() { recovered = recover() }()
	r.run(name, x)
	return nil
}

// testArguments calls both implementations with arguments many of which are wrong:
// they must panic with the same values or compute the same.
func testArguments[T gemm.Float](t *testing.T, ours, theirs routines[T]) {
	for _, name := range names {
		rng := rand.New(rand.NewPCG(4, 5))
		panics := map[any]int{}
		for range 4000 {
			x := draw[T](rng, pick(rng, -1, 0, 1, 2, 3), pick(rng, -1, 0, 1, 2, 3), pick(rng, -1, 0, 1, 2, 3))
			for _, spoil := range []func(){
				func() { x.s = 'x' }, func() { x.ul = blas.All }, func() { x.d = 0 }, func() { x.tA = 0 }, func() { x.tB = 'n' },
			} {
				if rng.IntN(20) == 0 {
					spoil()
				}
			}
			for _, data := range []struct {
				x  *[]T
				ld *int
			}{{&x.a, &x.lda}, {&x.b, &x.ldb}, {&x.c, &x.ldc}} {
				*data.ld = pick(rng, 0, 1, 2, 3, 3, 4, 4)
				*data.x = make([]T, pick(rng, 0, 1, 3, 7, 9, 11, 12, 12, 12, 12))
				for i := range *data.x {
					(*data.x)[i] = T(pick(rng, -2, -1, 1, 2))
				}
			}
			got, want := x.clone(), x.clone()
			gotPanic, wantPanic := outcome(ours, name, got), outcome(theirs, name, want)
			if gotPanic != wantPanic {
				t.Fatalf("%s %v: panics with %v, gonum with %v", name, x, gotPanic, wantPanic)
			}
			if where := differ(got, want); where != "" {
				t.Fatalf("%s %v: %s, by gonum", name, x, where)
			}
			panics[wantPanic]++
		}
		// Side or transpose, triangle, dimensions, leading dimensions and lengths.
		if len(panics) < 7 || panics[nil] < 50 {
			t.Errorf("%s: only these outcomes were met: %v", name, panics)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Run("f64", func(t *testing.T) { testArguments(t, doubles(impl), doubles(gonum.Implementation{})) })
	t.Run("f32", func(t *testing.T) { testArguments(t, singles(impl), singles(gonum.Implementation{})) })
}
