package verify

import (
	"fmt"
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
	// Limit returns the limit of a result from the limit of one product.
	Limit(product Limit) Limit
	// Check compares c with the result.
	Check(c gemm.Matrix[T], limit Limit) Verdict
	// Assures reports whether the limit is smaller than some element of the result.
	Assures(limit Limit) bool
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

// floatChain is the ChainVerifier of floating-point numbers.
type floatChain[T gemm.Float] struct {
	Chain[T]
	a, s, b gemm.Matrix[float64]
	finite  bool
	rows    []int // that are compared one by one
	whole   bool  // they are all rows
	exact   pairs // their elements
	signs   [][]float64
	probed  pairs // A_N times signs, a probe after the other

	sumS, sumB, mostS, mostB float64 // the largest column sums and magnitudes
	norm                     float64 // max|A|·σ₁·…·σ_N
}

func newFloatChain[T gemm.Float](c Chain[T], seed uint64) *floatChain[T] {
	n := c.A.Rows
	v := &floatChain[T]{Chain: c, a: widened(c.A, blas.NoTrans), s: widened(c.S, blas.NoTrans),
		b: widened(c.B, blas.NoTrans)}
	v.norm, v.mostS, v.mostB = maxAbs(v.a), maxAbs(v.s), maxAbs(v.b)
	v.finite = finite(v.norm, v.mostS, v.mostB)
	if !v.finite || n == 0 {
		return v
	}
	v.sumS, v.sumB = columnSum(v.s), columnSum(v.b)
	for i := range c.N {
		sum, _ := v.norms(i + 1)
		v.norm *= sum
	}
	v.whole = float64(c.N)*gemm.Cube(n).Terms() <= fullTerms || n <= chainRows
	if !v.whole {
		v.rows = sampleRows(n, chainRows, seed)
		v.probe(seed)
	} else {
		for i := range n {
			v.rows = append(v.rows, i)
		}
	}
	v.multiplyRows()
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
func (v *floatChain[T]) multiplyRows() {
	const block = 64 // columns of Sᵢ
	n := v.a.Rows
	x := newPairs(len(v.rows) * n)
	for r, i := range v.rows {
		copy(x.hi[r*n:], v.a.Row(i))
		for j, a := range v.a.Row(i) {
			x.abs[r*n+j] = math.Abs(a)
		}
	}
	for i := 1; i <= v.N; i++ {
		y := newPairs(len(x.hi))
		parallelFor((n+block-1)/block, len(v.rows)*n*block, func(from, to int) {
			var room [block]float64
			for first := from * block; first < min(to*block, n); first += block {
				s := room[:min(block, n-first)]
				for l := range n {
					v.factor(s, i, l, first)
					for r := range v.rows {
						for j, factor := range s {
							y.add(r*n+first+j, x, r*n+l, factor)
						}
					}
				}
			}
		})
		x = y
	}
	v.exact = x
}

// probe draws the probes and multiplies them with the chain.
func (v *floatChain[T]) probe(seed uint64) {
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
	for i := v.N; i > 0; i-- {
		times(func(s []float64, l int) { v.factor(s, i, l, 0) })
	}
	times(func(s []float64, l int) { copy(s, v.a.Row(l)) })
	v.probed = x
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
	for i := 1; i <= v.N; i++ {
		factor := 1.0
		if product.Kind == gemm.Normwise {
			sum, most := v.norms(i)
			factor = most / sum
		}
		logarithm += math.Log1p(product.Bound * factor)
	}
	return Limit{product.Kind, math.Expm1(logarithm)}
}

// Assures implements ChainVerifier.
func (v *floatChain[T]) Assures(limit Limit) bool {
	for x, hi := range v.exact.hi {
		if limit.Bound*v.scale(limit.Kind, v.exact.abs[x]) < math.Abs(hi) {
			return true
		}
	}
	return v.finite && len(v.exact.hi) == 0
}

// scale is the denominator of a normalised error.
func (v *floatChain[T]) scale(kind gemm.BoundKind, abs float64) float64 {
	if kind == gemm.Normwise {
		return v.norm
	}
	return abs
}

// Check implements ChainVerifier.
func (v *floatChain[T]) Check(c gemm.Matrix[T], limit Limit) Verdict {
	out := Verdict{Limit: limit}
	if !v.finite {
		out.Residual = math.NaN()
		out.Reason = "operands hold NaN or Inf: a result cannot be verified"
		return out
	}
	n, at := c.Cols, ""
	worst, x := largest(len(v.exact.hi), 1, func(x int) float64 {
		got := float64(c.At(v.rows[x/n], x%n))
		return relative(math.Abs((got-v.exact.hi[x])-v.exact.lo[x]), v.scale(limit.Kind, v.exact.abs[x]))
	})
	if !(worst <= 0) {
		i, j := v.rows[x/n], x%n
		at = fmt.Sprintf("element (%d, %d) is %g, want %g", i, j, float64(c.At(i, j)), v.exact.hi[x])
	}
	out.Residual = worst
	if !v.whole && !math.IsNaN(worst) {
		if r, row := v.compareProbes(c, limit.Kind); !(r <= worst) {
			out.Residual = r
			at = fmt.Sprintf("row %d differs from the product of the chain", row)
		}
	}
	out.Vacuous, out.Weak = !v.Assures(limit), v.weak(limit)
	if !out.OK() {
		out.Reason = out.exceeds(at)
	}
	return out
}

// weak reports whether one lost element of typical size passes. In a probe, the limit is of a whole matrix row.
func (v *floatChain[T]) weak(limit Limit) bool {
	typical, abs := 0.0, 0.0
	for x, hi := range v.exact.hi {
		typical += math.Abs(hi)
		abs += v.exact.abs[x]
	}
	if count := float64(len(v.exact.hi)); count > 0 {
		typical, abs = typical/count, abs/count
	}
	bound := limit.Bound
	if !v.whole {
		bound *= float64(v.a.Cols)
	}
	return len(v.exact.hi) > 0 && !(bound*v.scale(limit.Kind, abs) < typical)
}

// compareProbes returns the largest normalised error of a probe, and its matrix row.
func (v *floatChain[T]) compareProbes(c gemm.Matrix[T], kind gemm.BoundKind) (float64, int) {
	n := c.Cols
	return largest(n, chainProbes*n, func(i int) float64 {
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
			if kind == gemm.Normwise {
				scale = v.norm * float64(n)
			}
			r := relative(math.Abs((hi-v.probed.hi[x])+(lo-v.probed.lo[x])), scale)
			if math.IsNaN(r) {
				return r
			}
			most = math.Max(most, r)
		}
		return most
	})
}

// fieldChain is the ChainVerifier of GF(2⁸). The residual is the number of wrong elements of a small result, and of
// wrong rows of a large one.
type fieldChain struct {
	whole bool
	x     gemm.Matrix[gf256.Elem] // probes without a zero
	want  gemm.Matrix[gf256.Elem] // the result, or the result times x
}

func newFieldChain(c Chain[gf256.Elem], seed uint64) *fieldChain {
	n := c.A.Rows
	v := &fieldChain{whole: float64(c.N)*gemm.Cube(n).Terms() <= fullTerms}
	odd := gemm.NewMatrix[gf256.Elem](n, n)
	for i := range n {
		row := odd.Row(i)
		for j := range row {
			row[j] = gf256.Add(c.S.At(i, j), c.B.At(i, j))
		}
	}
	factors := [2]gemm.Matrix[gf256.Elem]{c.S, odd}
	if v.whole {
		v.want = c.A
		for i := 1; i <= c.N; i++ {
			v.want = fieldProduct(v.want, factors[i%2])
		}
		return v
	}
	v.x = fieldVectors(n, rand.New(rand.NewPCG(seed, 4)))
	v.want = v.x
	for i := c.N; i > 0; i-- {
		v.want = fieldProduct(factors[i%2], v.want)
	}
	v.want = fieldProduct(c.A, v.want)
	return v
}

// Limit implements ChainVerifier.
func (v *fieldChain) Limit(Limit) Limit { return Limit{Kind: gemm.Exact} }

// Assures implements ChainVerifier.
func (v *fieldChain) Assures(Limit) bool { return true }

// Check implements ChainVerifier.
func (v *fieldChain) Check(c gemm.Matrix[gf256.Elem], _ Limit) Verdict {
	if v.whole {
		return fieldVerdict(wrongElements(c, v.want), "elements", c)
	}
	return fieldVerdict(wrongRows(fieldProduct(c, v.x), v.want), "rows", c)
}
