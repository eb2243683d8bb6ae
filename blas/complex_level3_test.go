package blas

import (
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// complexNames are the routines besides gemm.
var complexNames = []string{"hemm", "symm", "herk", "syrk", "her2k", "syr2k", "trmm", "trsm"}

func complexDoubles(x blas.Complex128) routines[complex128] {
	return routines[complex128]{x.Zgemm, x.Zsymm, x.Zsyrk, x.Zsyr2k, x.Ztrmm, x.Ztrsm, x.Zhemm,
		func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, beta complex128,
			c []complex128, ldc int) {
			x.Zherk(ul, t, n, k, real(alpha), a, lda, real(beta), c, ldc)
		},
		func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, b []complex128,
			ldb int,
			beta complex128, c []complex128, ldc int) {
			x.Zher2k(ul, t, n, k, alpha, a, lda, b, ldb, real(beta), c, ldc)
		}}
}

func complexSingles(x blas.Complex64) routines[complex64] {
	return routines[complex64]{x.Cgemm, x.Csymm, x.Csyrk, x.Csyr2k, x.Ctrmm, x.Ctrsm, x.Chemm,
		func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, beta complex64,
			c []complex64, ldc int) {
			x.Cherk(ul, t, n, k, real(alpha), a, lda, real(beta), c, ldc)
		},
		func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
			beta complex64, c []complex64, ldc int) {
			x.Cher2k(ul, t, n, k, alpha, a, lda, b, ldb, real(beta), c, ldc)
		}}
}

// as returns x with elements of another type.
func as[T element](x call[complex128], of func(x complex128) T) call[T] {
	all := func(from []complex128) []T {
		to := make([]T, len(from))
		for i, v := range from {
			to[i] = of(v)
		}
		return to
	}
	return call[T]{x.s, x.ul, x.tA, x.tB, x.d, x.m, x.n, x.k, of(x.alpha), of(x.beta), all(x.a), all(x.b), all(x.c),
		x.lda, x.ldb, x.ldc}
}

// runSingle returns x after a routine for complex64.
func runSingle(x call[complex128], name string) call[complex64] {
	y := as(x, func(x complex128) complex64 { return complex64(x) })
	complexSingles(Implementation{Workers: 1}).run(name, y)
	return y
}

// complexCalls returns calls with all flags of a routine, for matrices that are divided.
func complexCalls(rng *rand.Rand, name string) (calls []call[complex128]) {
	trans := map[string][]blas.Transpose{"herk": {NoTrans, ConjTrans}, "her2k": {NoTrans, ConjTrans},
		"syrk": {NoTrans, Trans}, "syr2k": {NoTrans, Trans}, "trmm": {NoTrans, Trans, ConjTrans}}
	trans["trsm"] = trans["trmm"]
	for _, s := range []blas.Side{blas.Left, blas.Right} {
		for _, ul := range []blas.Uplo{blas.Upper, blas.Lower} {
			for i, t := range append(trans[name], 0)[:max(1, len(trans[name]))] {
				x := call[complex128]{s: s, ul: ul, tA: t, d: [2]blas.Diag{blas.Unit, blas.NonUnit}[i%2], m: 90,
					n: 84, k: 90, alpha: complex(0.5, -0.25), beta: [2]complex128{0, complex(-0.5, 1)}[i%2],
					lda: 93, ldb: 92, ldc: 86}
				x.a, x.b = filledComplex(rng, 92*x.lda), filledComplex(rng, 92*x.ldb)
				x.c = filledComplex(rng, 92*x.ldc)
				for i := range 90 { // the triangle has an inverse that is not large
					for j := range 90 {
						x.a[i*x.lda+j] /= 90
					}
					x.a[i*x.lda+i] += 2
				}
				calls = append(calls, x)
			}
		}
	}
	return calls
}

// TestComplexLevel3 compares the routines with gonum's. Elements that are not of the result must stay.
func TestComplexLevel3(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, name := range complexNames {
		for _, x := range complexCalls(rng, name) {
			want, got, single := x.clone(), x.clone(), runSingle(x, name)
			complexDoubles(gonum.Implementation{}).run(name, want)
			complexDoubles(Implementation{Workers: 2}).run(name, got)
			for which, pair := range map[string][3]any{"B": {got.b, want.b, single.b}, "C": {got.c, want.c, single.c}} {
				got, want, single := pair[0].([]complex128), pair[1].([]complex128), pair[2].([]complex64)
				for i := range want {
					bound := 1e-12 * (1 + cmplx.Abs(want[i]))
					if !(cmplx.Abs(got[i]-want[i]) <= bound) ||
						!(cmplx.Abs(complex128(single[i])-want[i]) <= 1e8*bound) {
						t.Fatalf("%s %c %c %c: element %d of %s is %v and %v, want %v", name, x.s, x.ul,
							max('0', x.tA), i, which, got[i], single[i], want[i])
					}
				}
			}
		}
	}
}

// TestComplexLevel3Refuses compares the panics of bad arguments with gonum's.
func TestComplexLevel3Refuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 8))
	for _, name := range complexNames {
		for _, x := range complexCalls(rng, name) {
			for i, change := range []func(x *call[complex128]){
				func(x *call[complex128]) { x.ul, x.s = 'x', 'x' },
				func(x *call[complex128]) { x.tA, x.s = 'x', 'x' },
				func(x *call[complex128]) { x.m, x.k = -1, -1 },
				func(x *call[complex128]) { x.n = -1 },
				func(x *call[complex128]) { x.lda = 1 },
				func(x *call[complex128]) { x.ldb, x.ldc = 1, 1 },
				func(x *call[complex128]) { x.a = x.a[:20] },
				func(x *call[complex128]) { x.b, x.c = x.b[:20], x.c[:20] },
				func(x *call[complex128]) { x.b = nil },
				func(x *call[complex128]) { x.b, x.ldb = nil, 0 },
			} {
				bad := x
				change(&bad)
				got := outcome(complexDoubles(impl), name, bad)
				if want := outcome(complexDoubles(gonum.Implementation{}), name, bad); got != want {
					t.Errorf("%s, change %d: panicked with %v, gonum with %v", name, i, got, want)
				}
			}
		}
	}
}
