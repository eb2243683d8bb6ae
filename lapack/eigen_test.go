package lapack

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// symmetric returns functions for the elements (i, j), i ≤ j, of symmetric matrices of order n.
func symmetric(n int) map[string]func(i, j int) float64 {
	rng := rand.New(rand.NewPCG(9, uint64(n)))
	values := mat.NewDiagDense(n, nil)
	var qr mat.QR
	qr.Factorize(mat.NewDense(n, n, filled(rng, n*n)))
	var q, product mat.Dense
	qr.QTo(&q)
	withValues := func(value func(i int) float64) func(i, j int) float64 {
		for i := range n {
			values.SetDiag(i, value(i))
		}
		product.Product(&q, values, q.T())
		return mat.DenseCopyOf(&product).At
	}
	tridiagonal := func(diagonal func(i int) float64, beside float64) func(i, j int) float64 {
		return func(i, j int) float64 {
			switch j - i {
			case 0:
				return diagonal(i)
			case 1:
				return beside
			}
			return 0
		}
	}
	random := mat.NewDense(n, n, filled(rng, n*n))
	wilkinson := func(i int) float64 { return math.Abs(float64(i%21) - 10) }
	return map[string]func(i, j int) float64{
		"random":    random.At,
		"zero":      func(i, j int) float64 { return 0 },
		"ones":      func(i, j int) float64 { return 1 },
		"identity":  tridiagonal(func(int) float64 { return 1 }, 0),
		"negative":  tridiagonal(func(int) float64 { return -3 }, 0),
		"diagonal":  tridiagonal(func(i int) float64 { return float64(i%7) - 3 }, 0),
		"Laplace":   tridiagonal(func(int) float64 { return 2 }, -1),
		"hollow":    tridiagonal(func(int) float64 { return 0 }, 1),
		"Wilkinson": tridiagonal(wilkinson, 1),
		"glued": func(i, j int) float64 {
			x := tridiagonal(wilkinson, 1)(i, j)
			if i != j && i%21 == 20 {
				x *= 1e-14
			}
			return x
		},
		"weak":      tridiagonal(func(i int) float64 { return float64(i % 3) }, 1e-15),
		"graded":    func(i, j int) float64 { return random.At(i, j) * math.Pow(10, -float64(i+j)/5) },
		"upwards":   func(i, j int) float64 { return random.At(i, j) * math.Pow(10, float64(i+j)/10) },
		"Hilbert":   func(i, j int) float64 { return 1 / float64(i+j+1) },
		"clustered": withValues(func(i int) float64 { return 1 + float64(i)*0x1p-52 }),
		"pairs":     withValues(func(i int) float64 { return float64(i / 2) }),
		"twofold":   withValues(func(i int) float64 { return float64(i%2)*2 - 1 }),
		"geometric": withValues(func(i int) float64 { return math.Pow(2, -float64(i)) }),
		"one":       withValues(func(i int) float64 { return float64(min(i, 1)) }),
		"large":     func(i, j int) float64 { return random.At(i, j) * 0x1p1018 },
		"small":     func(i, j int) float64 { return random.At(i, j) * 0x1p-900 },
		"border":    func(i, j int) float64 { return random.At(i, j) * 1e140 },
	}
}

// TestHard compares the values and vectors of symmetric matrices that are hard with gonum's and with their definition,
// and the singular values and vectors of their upper triangles.
func TestHard(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 21, 64, 130} {
		kinds := symmetric(n)
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				a, upper := mat.NewDense(n, n, nil), make([]float64, n*(n+2))
				for i := range n {
					for j := i; j < n; j++ {
						a.Set(i, j, kinds[name](i, j))
						a.Set(j, i, a.At(i, j))
						upper[i*(n+2)+j] = a.At(i, j)
					}
				}
				checkVectors(t, blas.Upper, n, a)
				checkVectors(t, blas.Lower, n, a)
				checkSVD(t, ours, [2]lapack.SVDJob{lapack.SVDAll, lapack.SVDStore}, n, n, upper)
			})
		}
	}
}

func checkVectors(t *testing.T, uplo blas.Uplo, n int, a *mat.Dense) {
	lda, tolerance := n+2, 4*float64(n+2)*0x1p-52
	var results, values [2][]float64
	for by, impl := range []lapack.Float64{gonum.Implementation{}, ours} {
		x, w, work := make([]float64, n*lda), make([]float64, n), make([]float64, 10*n)
		for i := range n {
			for j := range lda {
				x[i*lda+j] = math.NaN()
				if j < n && (i == j || (i < j) == (uplo == blas.Upper)) {
					x[i*lda+j] = a.At(i, j)
				}
			}
		}
		if !impl.Dsyev(lapack.EVCompute, uplo, n, x, lda, w, work, len(work)) {
			t.Fatalf("%c by %T: no convergence", uplo, impl)
		}
		results[by], values[by] = x, w
	}
	z, w := dense(n, n, results[1], lda), values[1]
	if !(math.IsNaN(results[1][n]) && math.IsNaN(results[1][n+1])) {
		t.Error("something outside of the matrix has changed")
	}
	orthonormal(t, "Z", z.T(), tolerance)
	size := max(mat.Max(a), -mat.Min(a))
	norm := size // the Frobenius norm, without overflow
	unit := mat.NewDense(n, n, nil)
	if size > 0 {
		unit.Scale(1/size, a)
		norm = size * mat.Norm(unit, 2)
	}
	var residual mat.Dense
	residual.Mul(unit, z)
	for j, value := range w {
		if !(math.Abs(value-values[0][j]) <= tolerance*norm) || j > 0 && w[j] < w[j-1] {
			t.Fatalf("value %d is %g, want %g", j, value, values[0][j])
		}
		for i := range n {
			if got := residual.At(i, j); !(math.Abs(got*size-z.At(i, j)*value) <= tolerance*norm) {
				t.Fatalf("vector %d: element %d is %g, want %g", j, i, got*size, z.At(i, j)*value)
			}
		}
	}
}

// TestVectorsOfNaN compares the outcome of matrices with NaN and Inf with gonum's.
func TestVectorsOfNaN(t *testing.T) {
	const n = 40
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var ok [2]bool
		var values [2][]float64
		for by, impl := range []lapack.Float64{gonum.Implementation{}, ours} {
			a, w, work := filled(rand.New(rand.NewPCG(1, 1)), n*n), make([]float64, n), make([]float64, 10*n)
			a[3*n+5] = x
			ok[by] = impl.Dsyev(lapack.EVCompute, blas.Upper, n, a, n, w, work, len(work))
			values[by] = append(w, a...)
		}
		if same := slices.EqualFunc(values[0], values[1], func(a, b float64) bool {
			return a == b || math.IsNaN(a) && math.IsNaN(b)
		}); !same || ok[0] != ok[1] {
			t.Errorf("%g: not as gonum", x)
		}
	}
}

// TestGeneral compares eigenvalues and right and left eigenvectors of matrices that are not symmetric with their
// definition.
func TestGeneral(t *testing.T) {
	const n, lda = 160, 163
	rng := rand.New(rand.NewPCG(5, 5))
	random := filled(rng, n*n)
	for name, element := range map[string]func(i, j int) float64{
		"random":   func(i, j int) float64 { return random[i*n+j] },
		"zero":     func(i, j int) float64 { return 0 },
		"identity": func(i, j int) float64 { return float64(max(0, 1-(i-j)*(i-j))) },
		"cyclic":   func(i, j int) float64 { return float64(max(0, 1-(i-(j+1)%n)*(i-(j+1)%n))) },
		"Jordan":   func(i, j int) float64 { return max(0, 1-math.Abs(float64(j-i)-0.5)) },
		"Frank":    func(i, j int) float64 { return float64((n - max(i, j)) * min(1, max(0, j-i+2))) },
		"upper":    func(i, j int) float64 { return random[i*n+j] * float64(min(1, max(0, j-i+1))) },
		"blocks":   func(i, j int) float64 { return random[i*n+j] * float64(max(0, 1-(i/70-j/70)*(i/70-j/70))) },
		"skew":     func(i, j int) float64 { return random[min(i, j)*n+max(i, j)] * float64(cmp.Compare(i, j)) },
		"graded":   func(i, j int) float64 { return random[i*n+j] * math.Pow(10, float64(j-i)/20) },
		"large":    func(i, j int) float64 { return random[i*n+j] * 1e200 },
	} {
		t.Run(name, func(t *testing.T) {
			a, size := mat.NewDense(n, n, nil), 0.0
			for i := range n {
				for j := range n {
					a.Set(i, j, element(i, j))
					size = max(size, math.Abs(element(i, j)))
				}
			}
			a.Scale(1/max(size, 0x1p-1000), a)
			x, work := make([]float64, n*lda), make([]float64, 4*n)
			wr, wi, vl, vr := make([]float64, n), make([]float64, n), make([]float64, n*lda), make([]float64, n*lda)
			for i := range n {
				for j := range n {
					x[i*lda+j] = a.At(i, j) * size
				}
			}
			first := Implementation{}.Dgeev(lapack.LeftEVCompute, lapack.RightEVCompute, n, x, lda, wr, wi, vl, lda, vr,
				lda, work, len(work))
			if first != 0 {
				t.Fatalf("%d values have not converged", first)
			}
			values := mat.NewDense(n, n, nil)
			for i := range n {
				values.Set(i, i, wr[i]/max(size, 0x1p-1000))
				if wi[i] != 0 {
					values.Set(i, i+cmp.Compare(wi[i], 0), wi[i]/size)
				}
			}
			for side, v := range map[string]*mat.Dense{"left": dense(n, n, vl, lda), "right": dense(n, n, vr, lda)} {
				by := a.T()
				if side == "right" {
					by = a
				}
				var left, right mat.Dense
				left.Mul(by, v)
				if side == "right" {
					right.Mul(v, values)
				} else {
					right.Mul(v, values.T())
				}
				left.Sub(&left, &right)
				if worst := mat.Norm(&left, 2); !(worst <= 20*n*0x1p-52*mat.Norm(a, 2)) {
					t.Errorf("%s vectors: residual %g", side, worst/mat.Norm(a, 2))
				}
			}
		})
	}
}
