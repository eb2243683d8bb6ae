package lapack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/lapack/testlapack"
	"gonum.org/v1/gonum/mat"

	fast "gemm/blas"
)

// ours computes matrices of any order by this package.
var ours = Implementation{least: 1}

// TestGonums runs gonum's own tests.
func TestGonums(t *testing.T) {
	if testing.Short() {
		t.Skip("gonum's tests run without -short")
	}
	defer blas64.Use(blas64.Implementation())
	blas64.Use(fast.Implementation{})
	t.Run("Dgecon", func(t *testing.T) { testlapack.DgeconTest(t, ours) })
	t.Run("Dpocon", func(t *testing.T) { testlapack.DpoconTest(t, ours) })
	t.Run("Dtrcon", func(t *testing.T) { testlapack.DtrconTest(t, ours) })
	t.Run("Dgesvd", func(t *testing.T) { testlapack.DgesvdTest(t, ours, 1e-13) })
	t.Run("Dsyev", func(t *testing.T) { testlapack.DsyevTest(t, ours) })
	t.Run("Dgeev", func(t *testing.T) { testlapack.DgeevTest(t, ours) })
	t.Run("Dgetrf", func(t *testing.T) { testlapack.DgetrfTest(t, ours) })
	t.Run("Dgetri", func(t *testing.T) { testlapack.DgetriTest(t, ours) })
	t.Run("Dgetrs", func(t *testing.T) { testlapack.DgetrsTest(t, ours) })
	t.Run("Dpotrf", func(t *testing.T) { testlapack.DpotrfTest(t, ours) })
	t.Run("Dpotri", func(t *testing.T) { testlapack.DpotriTest(t, ours) })
	t.Run("Dtrtri", func(t *testing.T) { testlapack.DtrtriTest(t, ours) })
	t.Run("Dgeqrf", func(t *testing.T) { testlapack.DgeqrfTest(t, ours) })
	t.Run("Dgelqf", func(t *testing.T) { testlapack.DgelqfTest(t, ours) })
	t.Run("Dorgqr", func(t *testing.T) { testlapack.DorgqrTest(t, ours) })
	t.Run("Dorglq", func(t *testing.T) { testlapack.DorglqTest(t, ours) })
	t.Run("Dormqr", func(t *testing.T) { testlapack.DormqrTest(t, ours) })
	t.Run("Dormlq", func(t *testing.T) { testlapack.DormlqTest(t, ours) })
	t.Run("Dgels", func(t *testing.T) { testlapack.DgelsTest(t, ours) })
}

// TestSVD compares shapes and jobs with gonum: the singular values, that vectors are orthonormal, and the product.
func TestSVD(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][2]int{{40, 40}, {33, 50}, {50, 33}, {200, 65}, {65, 200}, {150, 140}, {300, 260}} {
		m, n := shape[0], shape[1]
		for _, jobs := range [][2]lapack.SVDJob{
			{lapack.SVDAll, lapack.SVDAll}, {lapack.SVDStore, lapack.SVDStore}, {lapack.SVDAll, lapack.SVDNone},
			{lapack.SVDNone, lapack.SVDStore}, {lapack.SVDStore, lapack.SVDAll},
		} {
			for _, workers := range []int{1, 3} {
				t.Run(fmt.Sprintf("%dx%d/%c%c/%d", m, n, jobs[0], jobs[1], workers), func(t *testing.T) {
					checkSVD(t, Implementation{Workers: workers, least: 1}, jobs, m, n, filled(rng, m*(n+2)))
				})
			}
		}
	}
}

// checkSVD overwrites a, whose leading dimension is n+2.
func checkSVD(t *testing.T, impl Implementation, jobs [2]lapack.SVDJob, m, n int, a []float64) {
	k, rng := min(m, n), rand.New(rand.NewPCG(1, 1))
	_, colsU := wanted(jobs[0], m, k)
	_, rowsVT := wanted(jobs[1], n, k)
	original := append([]float64(nil), a...)
	ldu, ldvt := max(1, colsU+1), n+3
	u, vt := filled(rng, m*ldu), filled(rng, max(1, rowsVT)*ldvt)
	s, work := make([]float64, k), make([]float64, 10*(m+n))
	if !impl.Dgesvd(jobs[0], jobs[1], m, n, a, n+2, s, u, ldu, vt, ldvt, work, len(work)) {
		t.Fatal("it did not converge")
	}
	want, none := make([]float64, k), make([]float64, 1)
	b := append([]float64(nil), original...)
	if !(gonum.Implementation{}).Dgesvd(lapack.SVDNone, lapack.SVDNone, m, n, b, n+2, want, none, 1, none, n, work,
		len(work)) {
		t.Fatal("gonum did not converge")
	}
	const tolerance = 1e-12
	for i := range s {
		if !(math.Abs(s[i]-want[i]) <= tolerance*want[0]) {
			t.Fatalf("singular value %d is %g, want %g", i, s[i], want[i])
		}
	}
	left, right := dense(m, colsU, u, ldu), dense(rowsVT, n, vt, ldvt)
	if left != nil {
		orthonormal(t, "U", left.T(), tolerance)
	}
	if right != nil {
		orthonormal(t, "Vᵀ", right, tolerance)
	}
	if left == nil || right == nil {
		return
	}
	var scaled, product mat.Dense
	scaled.Mul(left.Slice(0, m, 0, k), mat.NewDiagDense(k, s))
	product.Mul(&scaled, right.Slice(0, k, 0, n))
	for i := range m {
		for j := range n {
			if got, want := product.At(i, j), original[i*(n+2)+j]; !(math.Abs(got-want) <= tolerance*s[0]) {
				t.Fatalf("element (%d, %d) of the product is %g, want %g", i, j, got, want)
			}
		}
	}
}

// dense returns the matrix, or nil if it has no elements.
func dense(rows, cols int, data []float64, ld int) *mat.Dense {
	if rows == 0 || cols == 0 {
		return nil
	}
	x := mat.NewDense(rows, cols, nil)
	for i := range rows {
		x.SetRow(i, data[i*ld:][:cols])
	}
	return x
}

// orthonormal checks that the rows of x are.
func orthonormal(t *testing.T, name string, x mat.Matrix, tolerance float64) {
	t.Helper()
	var product mat.Dense
	product.Mul(x, x.T())
	rows, _ := x.Dims()
	for i := range rows {
		for j := range rows {
			want := 0.0
			if i == j {
				want = 1
			}
			if !(math.Abs(product.At(i, j)-want) <= tolerance) {
				t.Fatalf("%s: vectors %d and %d have the product %g", name, i, j, product.At(i, j))
			}
		}
	}
}

func filled(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// TestCondition compares estimates with gonum's for matrices that are well conditioned, singular, nearly so, and so far
// from 1 that solutions overflow.
func TestCondition(t *testing.T) {
	const n, lda = 60, 63
	rng := rand.New(rand.NewPCG(3, 4))
	for name, scale := range map[string]func(i int) float64{
		"plain":    func(int) float64 { return 1 },
		"graded":   func(i int) float64 { return math.Pow(10, -float64(i)/4) },
		"singular": func(i int) float64 { return float64(min(i, 1)) },
		"overflow": func(i int) float64 { return math.Pow(10, float64(i%2)*-300) },
		"nan":      func(i int) float64 { return []float64{math.NaN(), 1}[min(i, 1)] },
	} {
		t.Run(name, func(t *testing.T) {
			a := make([]float64, n*lda)
			for i := range n {
				for j := range n {
					a[i*lda+j] = rng.NormFloat64() * scale(i)
				}
				a[i*lda+i] += 10 * scale(i)
			}
			for _, norm := range []lapack.MatrixNorm{lapack.MaxColumnSum, lapack.MaxRowSum} {
				compareConditions(t, norm, n, a, lda)
			}
		})
	}
}

// compareConditions takes a as the triangles of a decomposition.
func compareConditions(t *testing.T, norm lapack.MatrixNorm, n int, a []float64, lda int) {
	theirs, impl := gonum.Implementation{}, ours
	work, iwork := make([]float64, 4*n), make([]int, n)
	same := func(routine string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-10*want) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s: %g, gonum has %g", routine, got, want)
		}
	}
	anorm := theirs.Dlange(norm, n, n, a, lda, work)
	for _, x := range []float64{anorm, 0, math.Inf(1)} {
		same("Dgecon", impl.Dgecon(norm, n, a, lda, x, work, iwork), theirs.Dgecon(norm, n, a, lda, x, work, iwork))
	}
	for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
		same("Dpocon", impl.Dpocon(uplo, n, a, lda, anorm, work, iwork),
			theirs.Dpocon(uplo, n, a, lda, anorm, work, iwork))
		for _, diag := range []blas.Diag{blas.Unit, blas.NonUnit} {
			same("Dtrcon", impl.Dtrcon(norm, uplo, diag, n, a, lda, work, iwork),
				theirs.Dtrcon(norm, uplo, diag, n, a, lda, work, iwork))
		}
	}
}

// TestConditionAtTheEndsOfTheRange takes multiples of the identity matrix: the condition number is 1, although its
// factors are near the ends of the range.
func TestConditionAtTheEndsOfTheRange(t *testing.T) {
	for _, n := range []int{1, 2, 7, 63, 64, 100} {
		for _, d := range []float64{math.MaxFloat64, math.MaxFloat64 / 3, 0x1p1023, 0x1p-1021, 3e-308, 1e-300, -1e300} {
			a, work, iwork := make([]float64, n*n), make([]float64, 4*n), make([]int, n)
			got := map[string]float64{}
			for _, norm := range []lapack.MatrixNorm{lapack.MaxColumnSum, lapack.MaxRowSum} {
				for i := range n {
					a[i*n+i] = d
				}
				got["Dgecon"] = Implementation{}.Dgecon(norm, n, a, n, math.Abs(d), work, iwork)
				for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
					got["Dtrcon"] = Implementation{}.Dtrcon(norm, uplo, blas.NonUnit, n, a, n, work, iwork)
					for i := range n {
						a[i*n+i] = math.Sqrt(math.Abs(d))
					}
					got["Dpocon"] = Implementation{}.Dpocon(uplo, n, a, n, math.Abs(d), work, iwork)
					for i := range n {
						a[i*n+i] = d
					}
				}
				for routine, x := range got {
					if !(math.Abs(x-1) <= 1e-10) {
						t.Errorf("%s, n=%d, %g·I: %g, want 1", routine, n, d, x)
					}
				}
			}
		}
	}
}

// TestDecompositions compares results with gonum's, in shapes around the blocks and the limits of small matrices. What
// is outside of a matrix must not change.
func TestDecompositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, shape := range [][2]int{{1, 1}, {2, 3}, {5, 4}, {10, 10}, {16, 16}, {17, 15}, {17, 17}, {20, 300}, {33, 33},
		{300, 20}, {40, 64}, {64, 40}, {65, 65}, {97, 97}, {130, 70}, {70, 130}, {269, 258}, {4, 400}, {400, 3}} {
		m, n := shape[0], shape[1]
		k, lda := min(m, n), n+3
		a := filled(rng, m*lda)
		for i := range k {
			a[i*lda+i] += 3 // so that small differences stay small
		}
		for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
			compare(t, "Dtrtri", m, n, k, lda, a, func(by lapack.Float64, a, _ []float64, _ []int) bool {
				for i := range k {
					a[i*lda+i] *= float64(10 * k)
				}
				return by.Dtrtri(uplo, blas.NonUnit, k, a, lda) && by.Dtrtri(uplo, blas.Unit, k/2, a, lda)
			})
			compare(t, "Dpotrf", m, n, k, lda, a, func(by lapack.Float64, a, _ []float64, _ []int) bool {
				for i := range k {
					a[i*lda+i] = float64(10 * k)
				}
				return by.Dpotrf(uplo, k, a, lda) && by.Dpotri(uplo, k, a, lda)
			})
		}
		compare(t, "Dgetrf", m, n, k, lda, a, func(by lapack.Float64, a, _ []float64, ipiv []int) bool {
			return by.Dgetrf(m, n, a, lda, ipiv)
		})
		compare(t, "Dgetri", m, n, k, lda, a, func(by lapack.Float64, a, work []float64, ipiv []int) bool {
			defer clear(work)
			return by.Dgetrf(k, k, a, lda, ipiv) && by.Dgetri(k, a, lda, ipiv, work, len(work))
		})
		for _, rows := range []bool{false, true} {
			for _, side := range []blas.Side{blas.Left, blas.Right} {
				for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
					compare(t, fmt.Sprint(rows, side, trans), m, n, k, lda, a, orthogonal(rows, side, trans, m, n, lda))
				}
			}
		}
	}
}

// orthogonal decomposes an m×n matrix by rows or columns, multiplies a matrix by Q, and computes Q.
func orthogonal(rows bool, side blas.Side, trans blas.Transpose, m, n, lda int) func(by lapack.Float64,
	a, work []float64, _ []int) bool {
	return func(by lapack.Float64, a, work []float64, _ []int) bool {
		k := min(m, n)
		tau, c := make([]float64, k), work[len(work)/2:]
		work = work[:len(work)/2]
		order := m
		if rows {
			order = n
		}
		const other = 21
		r, s := order, other
		if side == blas.Right {
			r, s = s, r
		}
		if rows {
			by.Dgelqf(m, n, a, lda, tau, work, len(work))
			by.Dormlq(side, trans, r, s, k, a, lda, tau, c, s, work, len(work))
			by.Dorglq(k, n, k, a, lda, tau, work, len(work))
		} else {
			by.Dgeqrf(m, n, a, lda, tau, work, len(work))
			by.Dormqr(side, trans, r, s, k, a, lda, tau, c, s, work, len(work))
			by.Dorgqr(m, k, k, a, lda, tau, work, len(work))
		}
		clear(work)
		return true
	}
}

// compare calls a routine of gonum and of this package with copies of an m×n matrix.
func compare(t *testing.T, name string, m, n, k, lda int, a []float64,
	routine func(by lapack.Float64, a, work []float64, ipiv []int) bool) {
	t.Helper()
	var results [2][]float64
	var pivots [2][]int
	for i, by := range []lapack.Float64{gonum.Implementation{}, Implementation{Workers: 1}} {
		x, work, ipiv := append([]float64(nil), a...), filled(rand.New(rand.NewPCG(1, 1)), 200*(m+n)), make([]int, k)
		if !routine(by, x, work, ipiv) {
			t.Fatalf("%s of %d×%d by %T: false", name, m, n, by)
		}
		results[i], pivots[i] = append(x, work...), ipiv
	}
	if !slices.Equal(pivots[0], pivots[1]) {
		t.Errorf("%s of %d×%d: other pivots", name, m, n)
	}
	for i, want := range results[0] {
		outside := i < len(a) && (i%lda >= n || k < m && name == "Dgetri" && i/lda >= k)
		if got := results[1][i]; !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) || outside && got != a[i] {
			t.Fatalf("%s of %d×%d: element %d is %g, gonum has %g", name, m, n, i, got, want)
		}
	}
}

// TestSpecialValues decomposes matrices with pivots whose reciprocals are no normal numbers, with 0 and NaN.
func TestSpecialValues(t *testing.T) {
	for _, n := range []int{1, 3, 14, 40, 150} {
		a, ipiv := make([]float64, n*n), make([]int, n)
		for _, pivot := range []float64{0x1p-1060, 3 * 0x1p-1073, 0x1.8p1023, 0x1p-1022, 0, math.NaN(), math.Inf(1)} {
			for i := range n {
				clear(a[i*n:][:n])
				a[i*n+i], a[i*n] = pivot, pivot/2
			}
			a[0] = pivot
			if ok := (Implementation{}).Dgetrf(n, n, a, n, ipiv); ok != (pivot != 0) {
				t.Errorf("Dgetrf, n=%d, pivot %g: %t", n, pivot, ok)
			}
			for i := 1; i < n && pivot-pivot == 0 && pivot != 0; i++ {
				if got, want := a[i*n], pivot/2/pivot; got != want || a[i*n+i] != pivot || ipiv[i] != i {
					t.Fatalf("Dgetrf, n=%d, pivot %g, row %d: %g, want %g", n, pivot, i, got, want)
				}
			}
			for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
				for _, at := range []int{0, n / 2, n - 1} {
					clear(a)
					for i := range n {
						a[i*n+i] = 0x1p-1070
					}
					a[at*n+at] = pivot
					if ok := (Implementation{}).Dpotrf(uplo, n, a, n); ok != (pivot > 0) {
						t.Errorf("Dpotrf, n=%d, element %d is %g: %t", n, at, pivot, ok)
					}
				}
			}
		}
	}
}

// TestPanics checks that arguments that are wrong panic as gonum's routines do.
func TestPanics(t *testing.T) {
	const n = 130
	a, work, iwork := make([]float64, n*n), make([]float64, 10*n), make([]int, n)
	for name, call := range map[string]func(){
		"short a":    func() { Implementation{}.Dgecon(lapack.MaxRowSum, n, a[1:], n, 1, work, iwork) },
		"short work": func() { Implementation{}.Dpocon(blas.Upper, n, a, n, 1, work[:3*n-1], iwork) },
		"diagonal":   func() { Implementation{}.Dtrcon(lapack.MaxRowSum, blas.Upper, 'x', n, a, n, work, iwork) },
		"short u": func() {
			Implementation{}.Dgesvd(lapack.SVDAll, lapack.SVDAll, n, n, a, n, work, a[1:], n, a, n, work, len(work))
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
}

// BenchmarkMat compares decompositions of package mat with gonum's LAPACK, both with our BLAS.
func BenchmarkMat(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	defer blas64.Use(blas64.Implementation())
	defer lapack64.Use(gonum.Implementation{})
	blas64.Use(fast.Implementation{})
	for _, n := range []int{64, 128, 512} {
		x := mat.NewDense(n, n, filled(rng, n*n))
		for name, call := range map[string]func(){
			"LU":       func() { new(mat.LU).Factorize(x) },
			"QR":       func() { new(mat.QR).Factorize(x) },
			"SVD":      func() { new(mat.SVD).Factorize(x, mat.SVDThin) },
			"EigenSym": func() { new(mat.EigenSym).Factorize(mat.NewSymDense(n, x.RawMatrix().Data), true) },
			"Eigen":    func() { new(mat.Eigen).Factorize(x, mat.EigenRight) },
		} {
			for by, impl := range map[string]lapack.Float64{"gonum": gonum.Implementation{}, "gemm": Implementation{}} {
				b.Run(fmt.Sprintf("%s/n=%d/by=%s", name, n, by), func(b *testing.B) {
					lapack64.Use(impl)
					for b.Loop() {
						call()
					}
				})
			}
		}
	}
}
