package blas

import (
	"fmt"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// complexCall holds the arguments of any of the routines; each reads those that it has.
type complexCall struct {
	s             blas.Side
	ul            blas.Uplo
	t             blas.Transpose
	d             blas.Diag
	m, n          int
	alpha, beta   complex128
	a, b, c       []complex128
	lda, ldb, ldc int
}

// complexNames are the routines besides gemm.
var complexNames = []string{"hemm", "symm", "herk", "syrk", "her2k", "syr2k", "trmm", "trsm"}

// run calls a routine for complex128.
func (x complexCall) run(by blas.Complex128, name string) {
	switch name {
	case "hemm":
		by.Zhemm(x.s, x.ul, x.m, x.n, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc)
	case "symm":
		by.Zsymm(x.s, x.ul, x.m, x.n, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc)
	case "herk":
		by.Zherk(x.ul, x.t, x.n, x.m, real(x.alpha), x.a, x.lda, real(x.beta), x.c, x.ldc)
	case "syrk":
		by.Zsyrk(x.ul, x.t, x.n, x.m, x.alpha, x.a, x.lda, x.beta, x.c, x.ldc)
	case "her2k":
		by.Zher2k(x.ul, x.t, x.n, x.m, x.alpha, x.a, x.lda, x.b, x.ldb, real(x.beta), x.c, x.ldc)
	case "syr2k":
		by.Zsyr2k(x.ul, x.t, x.n, x.m, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc)
	case "trmm":
		by.Ztrmm(x.s, x.ul, x.t, x.d, x.m, x.n, x.alpha, x.a, x.lda, x.b, x.ldb)
	case "trsm":
		by.Ztrsm(x.s, x.ul, x.t, x.d, x.m, x.n, x.alpha, x.a, x.lda, x.b, x.ldb)
	}
}

// runSingle calls a routine for complex64, and returns what it wrote.
func (x complexCall) runSingle(by blas.Complex64, name string) (b, c []complex64) {
	a, b, c := narrowed(x.a), narrowed(x.b), narrowed(x.c)
	alpha, beta := complex64(x.alpha), complex64(x.beta)
	switch name {
	case "hemm":
		by.Chemm(x.s, x.ul, x.m, x.n, alpha, a, x.lda, b, x.ldb, beta, c, x.ldc)
	case "symm":
		by.Csymm(x.s, x.ul, x.m, x.n, alpha, a, x.lda, b, x.ldb, beta, c, x.ldc)
	case "herk":
		by.Cherk(x.ul, x.t, x.n, x.m, real(alpha), a, x.lda, real(beta), c, x.ldc)
	case "syrk":
		by.Csyrk(x.ul, x.t, x.n, x.m, alpha, a, x.lda, beta, c, x.ldc)
	case "her2k":
		by.Cher2k(x.ul, x.t, x.n, x.m, alpha, a, x.lda, b, x.ldb, real(beta), c, x.ldc)
	case "syr2k":
		by.Csyr2k(x.ul, x.t, x.n, x.m, alpha, a, x.lda, b, x.ldb, beta, c, x.ldc)
	case "trmm":
		by.Ctrmm(x.s, x.ul, x.t, x.d, x.m, x.n, alpha, a, x.lda, b, x.ldb)
	case "trsm":
		by.Ctrsm(x.s, x.ul, x.t, x.d, x.m, x.n, alpha, a, x.lda, b, x.ldb)
	}
	return b, c
}

// complexCalls returns calls with all flags of a routine, for matrices that are divided.
func complexCalls(rng *rand.Rand, name string) (calls []complexCall) {
	trans := map[string][]blas.Transpose{"herk": {NoTrans, ConjTrans}, "her2k": {NoTrans, ConjTrans},
		"syrk": {NoTrans, Trans}, "syr2k": {NoTrans, Trans}, "trmm": {NoTrans, Trans, ConjTrans}}
	trans["trsm"] = trans["trmm"]
	for _, s := range []blas.Side{blas.Left, blas.Right} {
		for _, ul := range []blas.Uplo{blas.Upper, blas.Lower} {
			for i, t := range append(trans[name], 0)[:max(1, len(trans[name]))] {
				x := complexCall{s: s, ul: ul, t: t, d: [2]blas.Diag{blas.Unit, blas.NonUnit}[i%2], m: 90, n: 84,
					alpha: complex(0.5, -0.25), beta: [2]complex128{0, complex(-0.5, 1)}[i%2],
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
			want, got := x, x
			want.b, want.c = slices.Clone(x.b), slices.Clone(x.c)
			got.b, got.c = slices.Clone(x.b), slices.Clone(x.c)
			want.run(gonum.Implementation{}, name)
			got.run(Implementation{Workers: 2}, name)
			b32, c32 := x.runSingle(Implementation{Workers: 1}, name)
			for which, pair := range map[string][3]any{"B": {got.b, want.b, b32}, "C": {got.c, want.c, c32}} {
				got, want, single := pair[0].([]complex128), pair[1].([]complex128), pair[2].([]complex64)
				for i := range want {
					bound := 1e-12 * (1 + cmplx.Abs(want[i]))
					if !(cmplx.Abs(got[i]-want[i]) <= bound) ||
						!(cmplx.Abs(complex128(single[i])-want[i]) <= 1e8*bound) {
						t.Fatalf("%s %c %c %c: element %d of %s is %v and %v, want %v", name, x.s, x.ul,
							max('0', x.t), i, which, got[i], single[i], want[i])
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
			for i, change := range []func(x *complexCall){
				func(x *complexCall) { x.ul, x.s = 'x', 'x' },
				func(x *complexCall) { x.t, x.s = 'x', 'x' },
				func(x *complexCall) { x.m = -1 },
				func(x *complexCall) { x.n = -1 },
				func(x *complexCall) { x.lda = 1 },
				func(x *complexCall) { x.ldb, x.ldc = 1, 1 },
				func(x *complexCall) { x.a = x.a[:20] },
				func(x *complexCall) { x.b, x.c = x.b[:20], x.c[:20] },
				func(x *complexCall) { x.b = nil },
				func(x *complexCall) { x.b, x.ldb = nil, 0 },
			} {
				bad := x
				change(&bad)
				said := func(by blas.Complex128) (out string) {
					defer func() { out = fmt.Sprint(recover()) }()
					bad.run(by, name)
					return ""
				}
				if got, want := said(impl), said(gonum.Implementation{}); got != want {
					t.Errorf("%s, change %d: panicked with %q, gonum with %q", name, i, got, want)
				}
			}
		}
	}
}
