package verify

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
)

const (
	chainRows   = 4 // matrix rows of a large result whose elements are compared one by one
	chainProbes = 3 // vectors of random signs that a large result is multiplied with
)

// ChainVerifier checks results of a Chain.
//
// If each product obeys |fl(X·S) − X·S| ≤ β·|X||S| componentwise, and the additions are exact, then by induction
//
//	|Âᵢ − Aᵢ| ≤ |Âᵢ − Âᵢ₋₁Sᵢ| + |Âᵢ₋₁ − Aᵢ₋₁||Sᵢ| ≤ ((1 + β)ⁱ − 1)·|A||S₁|…|Sᵢ|,
//
// since |Âᵢ₋₁| ≤ (1 + β)ⁱ⁻¹·|A||S₁|…|Sᵢ₋₁|. For variants with a normwise bound, |fl(X·S) − X·S| ≤ β·max|X|·max|S|. Let
// σᵢ be at least the largest column sum of |Sᵢ|, and μᵢ at least max|Sᵢ|. Then max|Âᵢ| ≤ (σᵢ + β·μᵢ)·max|Âᵢ₋₁|, and
//
//	max|Â_N − A_N| ≤ (∏(1 + β·μᵢ/σᵢ) − 1)·max|A|·σ₁·…·σ_N.
//
// The random bound of a product holds with a probability of at least 1 − 1e-9, of N products with 1 − N·1e-9.
//
// A small result is compared element by element, a large one in some matrix rows, with a reference in pairs of float64.
// In addition every element of a large one enters probes: C·x is compared with A·(S₁·(…·(S_N·x))), which takes N + 1
// products of a matrix and a vector, where x has random signs (Freivalds). If every error obeys |ΔC_ij| ≤ d_ij, then
// |ΔC·x|_i ≤ Σ_j d_ij = β_N·(|A||S₁|…|S_N|·1)_i in the worst case. Results over GF(2⁸) are exact.
type ChainVerifier[T gemm.Element] interface {
	Verifier[T]

	// Limit returns the limit of a result from the limit of one product.
	Limit(product Limit) Limit
}

// NewChain prepares the check of results of the chain. seed draws the probes.
func NewChain[T gemm.Element](c Chain[T], seed uint64) ChainVerifier[T] {
	var v any
	switch c := any(c).(type) {
	case Chain[float32]:
		v = newFloatChain(c, seed)
	case Chain[float64]:
		v = newFloatChain(c, seed)
	case Chain[gf256.Elem]:
		v = newFieldChain(c, seed)
	}
	return v.(ChainVerifier[T])
}

// pairs are numbers, the sums of a high and a low part each, and bounds of their magnitudes: the same sums of absolute
// values.
type pairs struct{ hi, lo, abs []float64 }

func newPairs(n int) pairs { return pairs{make([]float64, n), make([]float64, n), make([]float64, n)} }

// add adds the product of x at i and s to p at j.
func (p pairs) add(j int, x pairs, i int, s float64) {
	product, e := twoProd(x.hi[i], s)
	sum, t := twoSum(p.hi[j], product)
	p.hi[j] = sum
	p.lo[j] += t + (e + x.lo[i]*s)
	p.abs[j] += x.abs[i] * math.Abs(s)
}

// floatChain is the ChainVerifier of floating-point numbers. Its floatVerifier has A and B of the chain, and the
// elements of the result.
type floatChain[T gemm.Float] struct {
	*floatVerifier[T]
	s      gemm.Matrix[float64]
	steps  int
	signs  [][]float64
	probed pairs // A_N times signs, a probe after the other

	sumS, sumB, mostS, mostB float64 // the largest column sums and magnitudes
}

func newFloatChain[T gemm.Float](c Chain[T], seed uint64) *floatChain[T] {
	n := c.A.Rows
	v := &floatChain[T]{s: widened(c.S, blas.NoTrans), steps: c.N,
		floatVerifier: &floatVerifier[T]{a: widened(c.A, blas.NoTrans), b: widened(c.B, blas.NoTrans)}}
	v.normAB, v.mostS, v.mostB = maxAbs(v.a), maxAbs(v.s), maxAbs(v.b)
	v.finite = finite(v.normAB, v.mostS, v.mostB)
	v.whole = float64(c.N)*gemm.Cube(n).Terms() <= fullTerms || n <= chainRows
	if !v.finite || n == 0 {
		return v
	}
	v.sumS, v.sumB = columnSum(v.s), columnSum(v.b)
	for i := range c.N {
		sum, _ := v.norms(i + 1)
		v.normAB *= sum // max|A|·σ₁·…·σ_N in the end
	}
	rows := n
	if !v.whole {
		rows = chainRows
		v.drawProbes(seed)
	}
	v.multiplyRows(sampleRows(n, rows, seed))
	return v
}

// factor writes the columns from j on of row l of Sᵢ, which are exact, to s.
func (v *floatChain[T]) factor(s []float64, i, l, j int) {
	first, step := v.s.Row(l)[j:j+len(s)], v.b.Row(l)[j:j+len(s)]
	for x := range s {
		s[x] = first[x] + float64(i)*step[x]
	}
}

// multiplyRows computes the elements of rows, all rows at once in every step.
func (v *floatChain[T]) multiplyRows(rows []int) {
	const block = 64 // columns of Sᵢ
	n := v.a.Rows
	x := newPairs(len(rows) * n)
	for r, i := range rows {
		copy(x.hi[r*n:], v.a.Row(i))
		for j, a := range v.a.Row(i) {
			x.abs[r*n+j] = math.Abs(a)
		}
	}
	for i := 1; i <= v.steps; i++ {
		y := newPairs(len(x.hi))
		parallelFor((n+block-1)/block, len(rows)*n*block, func(from, to int) {
			var room [block]float64
			for first := from * block; first < min(to*block, n); first += block {
				s := room[:min(block, n-first)]
				for l := range n {
					v.factor(s, i, l, first)
					for r := range rows {
						for j, factor := range s {
							y.add(r*n+first+j, x, r*n+l, factor)
						}
					}
				}
			}
		})
		x = y
	}
	for r, i := range rows {
		for j := range n {
			v.elements = append(v.elements, element{i: i, j: j, hi: x.hi[r*n+j], lo: x.lo[r*n+j], abs: x.abs[r*n+j]})
		}
	}
}

func (v *floatChain[T]) drawProbes(seed uint64) {
	n := v.a.Rows
	rng := rand.New(rand.NewPCG(seed, 4))
	x := newPairs(chainProbes * n)
	for q := range chainProbes {
		probe := x.hi[q*n : (q+1)*n]
		copy(probe, signs(n, rng))
		for j := range probe {
			x.abs[q*n+j] = 1
		}
		v.signs = append(v.signs, probe)
	}
	times := func(row func(s []float64, l int)) {
		y := newPairs(len(x.hi))
		parallelFor(n, chainProbes*n, func(from, to int) {
			s := make([]float64, n)
			for l := from; l < to; l++ {
				row(s, l)
				for q := range chainProbes {
					for j, factor := range s {
						y.add(q*n+l, x, q*n+j, factor)
					}
				}
			}
		})
		x = y
	}
	for i := v.steps; i > 0; i-- {
		times(func(s []float64, l int) { v.factor(s, i, l, 0) })
	}
	times(func(s []float64, l int) { copy(s, v.a.Row(l)) })
	v.probed, v.probes = x, v.compareProbes
}

// norms returns σ and μ of step i.
func (v *floatChain[T]) norms(i int) (sum, most float64) {
	return v.sumS + float64(i)*v.sumB, v.mostS + float64(i)*v.mostB
}

// columnSum returns the largest sum of the magnitudes of a column.
func columnSum(m gemm.Matrix[float64]) float64 {
	sums := make([]float64, m.Cols)
	for i := range m.Rows {
		for j, x := range m.Row(i) {
			sums[j] += math.Abs(x)
		}
	}
	return most(sums)
}

// Limit implements ChainVerifier.
func (v *floatChain[T]) Limit(product Limit) Limit {
	logarithm := 0.0
	for i := 1; i <= v.steps; i++ {
		factor := 1.0
		if product.Kind == gemm.Normwise {
			sum, most := v.norms(i)
			factor = most / sum
		}
		logarithm += math.Log1p(product.Bound * factor)
	}
	return Limit{product.Kind, math.Expm1(logarithm)}
}

// compareProbes returns the largest normalised error of a probe, its matrix row, and whether one lost element of
// typical size passes: the limit is of a whole matrix row.
func (v *floatChain[T]) compareProbes(c gemm.Matrix[T], limit Limit, typical float64) (r float64, row int, weak bool) {
	n := c.Cols
	r, row = largest(n, chainProbes*n, func(i int) float64 {
		most, elements := 0.0, c.Row(i)
		for q, signs := range v.signs {
			var hi, lo float64
			for j, sign := range signs {
				s, t := twoSum(hi, sign*float64(elements[j]))
				hi = s
				lo += t
			}
			x := q*n + i
			scale := v.probed.abs[x]
			if limit.Kind == gemm.Normwise {
				scale = v.normAB * float64(n)
			}
			r := relative(math.Abs((hi-v.probed.hi[x])+(lo-v.probed.lo[x])), scale)
			if math.IsNaN(r) {
				return r
			}
			most = math.Max(most, r)
		}
		return most
	})
	return r, row, !(limit.Bound*float64(n) < typical)
}

type fieldChain struct{ *fieldVerifier }

func newFieldChain(c Chain[gf256.Elem], seed uint64) fieldChain {
	n := c.A.Rows
	v := &fieldVerifier{whole: float64(c.N)*gemm.Cube(n).Terms() <= fullTerms}
	odd := gemm.NewMatrix[gf256.Elem](n, n)
	for i := range n {
		row := odd.Row(i)
		for j := range row {
			row[j] = gf256.Add(c.S.At(i, j), c.B.At(i, j))
		}
	}
	factors := [2]gemm.Matrix[gf256.Elem]{c.S, odd}
	if v.whole {
		v.exact = c.A
		for i := 1; i <= c.N; i++ {
			v.exact = fieldProduct(v.exact, factors[i%2])
		}
		return fieldChain{v}
	}
	v.x = fieldVectors(n, rand.New(rand.NewPCG(seed, 4)))
	v.abx = v.x
	for i := c.N; i > 0; i-- {
		v.abx = fieldProduct(factors[i%2], v.abx)
	}
	v.abx = fieldProduct(c.A, v.abx)
	return fieldChain{v}
}

// Limit implements ChainVerifier.
func (fieldChain) Limit(Limit) Limit { return Limit{Kind: gemm.Exact} }
