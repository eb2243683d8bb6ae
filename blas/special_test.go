package blas

import (
	"math"
	"math/big"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
)

// TestSolveRange solves triangular systems for which α·B or the solution without α leaves the range, and compares with
// the solution by substitution in 2 400 bits.
func TestSolveRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 19))
	for typ, all := range map[string][]magnitudes{
		"f64": {{alpha: 1e-300, a: 1e-300, b: 1e-300}, {alpha: 1e300, a: 1e250, b: 1e200},
			{alpha: 1e-200, a: 1e-200, b: 1e200}, {alpha: 1e9, a: 1e300, b: 1e305}, {alpha: 3, a: 1e-300, b: 1e-305}},
		"f32": {{alpha: 1e-30, a: 1e-30, b: 1e-30}, {alpha: 1e30, a: 1e25, b: 1e20}, {alpha: 0.5, a: 1e-30, b: 1e-35}},
	} {
		for _, isComplex := range []bool{false, true} {
			name := typ
			if isComplex {
				name = "c" + map[string]string{"f64": "128", "f32": "64"}[typ]
			}
			for _, shape := range [][3]int{{1, 1}, {4, 3}, {6, 7}, {13, 12}, {17, 16}, {40, 33}, {70, 66}} {
				for _, g := range all {
					for range 4 {
						checkSolution(t, rng, drawRange(rng, "trsm", name, shape, g), name)
					}
				}
			}
		}
	}
}

// checkSolution makes the triangle well-conditioned and compares a column of X, or a row if A is on the right.
func checkSolution(t *testing.T, rng *rand.Rand, x *rangeCall, typ string) {
	t.Helper()
	k := order(x.s, x.m, x.n)
	x.d = blas.NonUnit
	for i := range k {
		for j := range k {
			if i != j {
				x.a[i*x.lda+j] /= complex(float64(4*k), 0)
			}
			if typ == "f32" || typ == "c64" {
				x.a[i*x.lda+j] = complex128(complex64(x.a[i*x.lda+j]))
			}
		}
	}
	got := x.run(Implementation{Workers: 1}, typ)
	v := rng.IntN(x.m + x.n - k)
	at := func(i int) int { // of element i of the vector
		if x.s == blas.Right {
			return v*x.ldb + i
		}
		return i*x.ldb + v
	}
	a := x.triangleOf()
	matrix := func(i, j int) (complex128, bool) {
		if x.s == blas.Right {
			i, j = j, i
		}
		return a(i, j)
	}
	_, upper := matrix(0, k-1)
	want, size := make([]bigComplex, k), 0.0
	for step := range k {
		i := step
		if upper {
			i = k - 1 - step
		}
		sum := bigOf(x.alpha).times(bigOf(x.b[at(i)]))
		for j := range k {
			if y, has := matrix(i, j); has && i != j {
				sum = sum.minus(bigOf(y).times(want[j]))
			}
		}
		y, _ := matrix(i, i)
		want[i] = sum.over(y)
		size = max(size, cmplx.Abs(want[i].value()))
	}
	bound, least := 1e-13*float64(k), 0x1p-1022
	if typ == "f32" || typ == "c64" {
		bound, least = 1e-5*float64(k), 0x1p-126
	}
	for i := range k {
		if y := got[at(i)]; !(cmplx.Abs(y-want[i].value()) <= bound*size+least) {
			t.Fatalf("%s %c %c %c %d×%d α=%v, A=%v: %d of vector %d is %v, want %v", typ, x.s, x.ul, x.tA, x.m, x.n, x.alpha,
				x.a[0], i, v, y, want[i].value())
		}
	}
}

// bigComplex is a complex number of 2 400 bits.
type bigComplex [2]*big.Float

func bigOf(x complex128) bigComplex {
	of := func(x float64) *big.Float { return new(big.Float).SetPrec(2400).SetFloat64(x) }
	return bigComplex{of(real(x)), of(imag(x))}
}

func (x bigComplex) value() complex128 {
	re, _ := x[0].Float64()
	im, _ := x[1].Float64()
	return complex(re, im)
}

func product(x, y *big.Float) *big.Float { return new(big.Float).Mul(x, y) }

func (x bigComplex) times(y bigComplex) bigComplex {
	re, im := product(x[0], y[0]), product(x[0], y[1])
	return bigComplex{re.Sub(re, product(x[1], y[1])), im.Add(im, product(x[1], y[0]))}
}

func (x bigComplex) minus(y bigComplex) bigComplex {
	return bigComplex{new(big.Float).Sub(x[0], y[0]), new(big.Float).Sub(x[1], y[1])}
}

func (x bigComplex) over(z complex128) bigComplex {
	y := bigOf(z)
	norm := product(y[0], y[0])
	norm.Add(norm, product(y[1], y[1]))
	out := x.times(bigComplex{y[0], y[1].Neg(y[1])})
	return bigComplex{out[0].Quo(out[0], norm), out[1].Quo(out[1], norm)}
}

// TestImaginaryDiagonal checks that the imaginary parts on the diagonal of a Hermitian matrix are not read, and that
// they are 0 in a result.
func TestImaginaryDiagonal(t *testing.T) {
	const k = 3
	rng := rand.New(rand.NewPCG(19, 1))
	for _, n := range []int{1, 3, onDiagonal, onDiagonal + 1, 2*onDiagonal + 3} {
		for i := range 48 {
			x := call[complex128]{s: pick(rng, blas.Left, blas.Right), ul: pick(rng, blas.Upper, blas.Lower),
				tA: pick(rng, NoTrans, ConjTrans), m: n, n: n, k: pick(rng, k, k, 0),
				alpha: pick(rng, 1, 2, complex(0, 0)),
				beta:  pick(rng, 0, 1, complex(-2, 0)), lda: n + k, ldb: n + k, ldc: n}
			name := []string{"herk", "her2k", "hemm"}[i%3]
			x.a, x.b = filledComplex(rng, x.lda*x.lda), filledComplex(rng, x.lda*x.lda)
			x.c = filledComplex(rng, n*n)
			set := func(im float64) call[complex128] {
				y := x.clone()
				diagonal, ld := y.c, y.ldc
				if name == "hemm" {
					diagonal, ld = y.a, y.lda
				}
				for i := range n {
					diagonal[i*ld+i] = complex(real(diagonal[i*ld+i]), im)
				}
				return y
			}
			got, want := set(math.NaN()), set(0)
			got32, want32 := runSingle(got, name).c, runSingle(want, name).c
			complexDoubles(Implementation{Workers: 1}).run(name, got)
			complexDoubles(Implementation{Workers: 1}).run(name, want)
			if name != "hemm" && (x.alpha == 0 || x.k == 0) && x.beta == 1 {
				continue // C is not written
			}
			if !slices.Equal(got.c, want.c) || !slices.Equal(got32, want32) {
				t.Fatalf("%s %c %c n=%d k=%d α=%v β=%v: a NaN on the diagonal is read", name, x.ul, x.tA, n, x.k,
					x.alpha, x.beta)
			}
			for i := 0; name != "hemm" && i < n; i++ {
				if imag(got.c[i*n+i]) != 0 || imag(got32[i*n+i]) != 0 {
					t.Fatalf("%s n=%d: the diagonal has %v and %v", name, n, got.c[i*n+i], got32[i*n+i])
				}
			}
		}
	}
}

// TestRealScalars multiplies numbers with one infinite part by scalars without an imaginary part: the other part stays
// finite.
func TestRealScalars(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 2))
	inf := math.Inf(1)
	for _, n := range []int{1, 2, 8, 9, 20, 70} {
		for i := range 90 {
			name := append([]string{"gemm"}, complexNames[:6]...)[i%7]
			x := &rangeCall{name, call[complex128]{s: pick(rng, blas.Left, blas.Right),
				ul: pick(rng, blas.Upper, blas.Lower), tA: NoTrans,
				tB: pick(rng, NoTrans, Trans), m: n, n: n, k: n, alpha: pick(rng, 0, 1, complex(1e-30, 0)),
				beta: pick(rng, 1, complex(-2, 0)), lda: n, ldb: n, ldc: n}}
			if name == "gemm" {
				x.tA = pick(rng, NoTrans, Trans, ConjTrans)
			}
			x.a, x.b = filledComplex(rng, n*n), filledComplex(rng, n*n)
			x.c = filledComplex(rng, n*n)
			row, col := n-1, 0
			if x.ul == blas.Upper {
				row, col = 0, n-1
			}
			for part, old := range []complex128{complex(1, inf), complex(inf, 1)} {
				if part == 0 && name[0] == 'h' && n == 1 {
					continue // on the diagonal
				}
				x.c[row*n+col] = old
				for _, typ := range []string{"c128", "c64"} {
					y := x.run(Implementation{Workers: 1}, typ)[row*n+col]
					finite, infinite := real(y), imag(y)
					if part == 1 {
						finite, infinite = infinite, finite
					}
					if !(math.Abs(finite) < 1e3) || infinite != real(x.beta)*inf {
						t.Fatalf("%s %s %c %c n=%d: α=%v, β=%v and C=%v give %v", typ, name, x.tA, x.tB, n, x.alpha, x.beta, old, y)
					}
				}
			}
		}
	}
}

// TestTriangularZeros multiplies and solves with NaN where the other operand is 0, on both sides. The NaN is in every
// element that depends on it.
func TestTriangularZeros(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	nan := cmplx.NaN()
	for _, n := range []int{1, 3, 6, 13, 17, 40, 70} {
		for i := range 64 {
			x := &rangeCall{pick(rng, "trmm", "trsm"), call[complex128]{s: pick(rng, blas.Left, blas.Right),
				ul: pick(rng, blas.Upper, blas.Lower), tA: pick(rng, NoTrans, Trans, ConjTrans),
				d: pick(rng, blas.Unit, blas.NonUnit), m: n, n: n, alpha: pick(rng, 1, 2, complex(1e-20, 0)), lda: n,
				ldb: n}}
			x.a, x.b = make([]complex128, n*n), make([]complex128, n*n)
			row, col := rng.IntN(n), rng.IntN(n)
			if i%2 == 0 {
				for i := range x.a {
					x.a[i] = nan
				}
			} else {
				for i := range n {
					x.a[i*n+i] = 1
				}
				x.b[row*n+col] = nan
			}
			a, b := x.triangleOf(), op(NoTrans, x.b, n)
			if x.s == blas.Right {
				a, b = b, a
			}
			for _, typ := range []string{"f64", "f32", "c128", "c64"} {
				got := x.run(Implementation{Workers: 1}, typ)
				for at, y := range got {
					want := false
					for l := range n {
						p, has := a(at/n, l)
						q, also := b(l, at%n)
						want = want || has && also && (p != p || q != q)
					}
					if nan := real(y) != real(y); nan != want {
						t.Fatalf("%s %s %c %c %c %c n=%d, case %d: B(%d, %d) is %v, NaN is %v", typ, x.name, x.s, x.ul, x.tA, x.d,
							n, i%2, at/n, at%n, y, want)
					}
				}
			}
		}
	}
}

// TestVectorZeros multiplies zeros by NaN in gemv, ger and syr, with vectors in both directions.
func TestVectorZeros(t *testing.T) {
	for _, n := range []int{1, 3, 9} {
		for _, inc := range []int{1, -2} {
			a, x, y, nan := make([]float64, n*n), make([]float64, 2*n), make([]float64, 2*n), make([]float64, 2*n)
			for i := range nan {
				nan[i] = math.NaN()
			}
			impl.Dger(n, n, 1, x, inc, nan, inc, a, n)
			c, z := make([]float64, n*n), make([]float64, 2*n)
			elements(z, n, inc, n-1, n)[0] = math.NaN()
			if impl.Dsyr(blas.Upper, n, 1, z, inc, c, n); c[n-1] == c[n-1] {
				t.Errorf("n=%d, increment %d: 0·NaN is %v in syr", n, inc, c[n-1])
			}
			for _, tA := range []blas.Transpose{NoTrans, Trans} {
				impl.Dgemv(tA, n, n, 1, make([]float64, n*n), n, nan, inc, 0, y, inc)
				if a[0] == a[0] || elements(y, n, inc, 0, 1)[0] == 0 {
					t.Errorf("n=%d, increment %d: 0·NaN is %v in ger and %v in gemv", n, inc, a[0], y[0])
				}
			}
		}
	}
}
