package verify

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"gemm"
	"gemm/roundoff"
)

const (
	probes       = 2  // vectors of random signs a result is multiplied with
	minWidth     = 16 // columns of the narrowest probe
	maxProbeCost = 4  // terms of probes at most, in multiples of the terms of the sampled rows
	margin       = 4  // times its probe's limit by which a lost element stands out
	depth        = 64 // rows of B·x, at most, that several rows of A·(B·x) take before the next
)

// projection is the reference of the probes of one width: row by row, probe by probe, block by block.
type projection struct {
	width, blocks int
	signs         [][]float64 // a probe
	hi, lo        []float64   // (A·B·x)
	abs           []float64   // Σ_l |a_il|·‖b_l‖₂; nil until it is needed
}

// confidence is Hoeffding's λ for all sums of probes of the given width.
func (v *floatVerifier[T]) confidence(width int) float64 {
	blocks := (v.b.Cols + width - 1) / width
	return roundoff.Confidence(float64(probes * v.a.Rows * blocks))
}

// width returns the widest probe, a power of two or all columns, in which a lost element of the typical size shows.
//
// Probes of width w sum probes·m·k·n/w terms, the sampled rows sum sampledRows·k·n. If the arithmetic is much coarser
// than its type, such as TF32, w would be so small that the probes took longer than everything else. So w is not chosen
// below probes·m/(maxProbeCost·sampledRows) columns. A wider probe is just as sound: it compares every error with a
// limit that no right result exceeds. If a lost element is below the limit, Check says Weak. The product of integers,
// which is exact and has probes over all columns, still finds such an element.
func (v *floatVerifier[T]) width(bound, typical float64) int {
	n := v.b.Cols
	width := minWidth
	for width < n && (maxProbeCost*sampledRows*width < probes*v.a.Rows ||
		margin*v.confidence(2*width)*math.Sqrt(float64(2*width))*bound <= typical) {
		width *= 2
	}
	return min(width, n)
}

// projection returns the reference of probes of the given width, with the scales of a componentwise check where wanted.
func (v *floatVerifier[T]) projection(width int, scales bool) *projection {
	p := v.blocks[width]
	if p != nil && (p.abs != nil || !scales) {
		return p
	}
	m, k, n := v.a.Rows, v.a.Cols, v.b.Cols
	p = &projection{width: width, blocks: (n + width - 1) / width}
	rng := rand.New(rand.NewPCG(v.seed, 2))
	for range probes {
		p.signs = append(p.signs, signs(n, rng))
	}
	sums := probes * p.blocks
	p.hi, p.lo = make([]float64, m*sums), make([]float64, m*sums)
	bxHi, bxLo := make([]float64, k*sums), make([]float64, k*sums)
	parallelFor(k, 2*probes*n, func(from, to int) {
		for l := from; l < to; l++ {
			v.signedSums(p, v.b.Row(l), bxHi[l*sums:], bxLo[l*sums:])
		}
	})
	parallelFor(m, sums*k, func(from, to int) {
		for l0 := 0; l0 < k; l0 += depth {
			for i := from; i < to; i++ {
				hi, lo := p.hi[i*sums:(i+1)*sums], p.lo[i*sums:(i+1)*sums]
				for l, a := range v.a.Row(i)[l0:min(l0+depth, k)] {
					at := (l0 + l) * sums
					v.addScaled(hi, lo, a, bxHi[at:at+sums], bxLo[at:at+sums])
				}
			}
		}
		if v.alpha != 1 {
			hi, lo := p.hi[from*sums:to*sums], p.lo[from*sums:to*sums]
			for s := range hi {
				h, t := twoProd(v.alpha, hi[s])
				hi[s], lo[s] = h, t+v.alpha*lo[s]
			}
		}
		if v.beta != 0 {
			row, hi, lo := make([]float64, n), make([]float64, sums), make([]float64, sums)
			for i := from; i < to; i++ {
				widen(row, v.c0.Row(i))
				v.signedSums(p, row, hi, lo)
				v.addScaled(p.hi[i*sums:(i+1)*sums], p.lo[i*sums:(i+1)*sums], v.beta, hi, lo)
			}
		}
	})
	if scales {
		p.abs = v.scales(p)
	}
	v.blocks[width] = p
	return p
}

// scales returns |α|·Σ_l |a_il|·‖b_l‖₂ + |β|·‖c₀_i‖₂ of every row and block.
func (v *floatVerifier[T]) scales(p *projection) []float64 {
	m, k, n := v.a.Rows, v.a.Cols, v.b.Cols
	norms := func(row []float64, out []float64) {
		for block := range p.blocks {
			out[block] = norm(row[block*p.width : min((block+1)*p.width, len(row))])
		}
	}
	b := make([]float64, k*p.blocks)
	parallelFor(k, n, func(from, to int) {
		for l := from; l < to; l++ {
			norms(v.b.Row(l), b[l*p.blocks:])
		}
	})
	abs := make([]float64, m*p.blocks)
	parallelFor(m, p.blocks*k, func(from, to int) {
		for l0 := 0; l0 < k; l0 += depth {
			for i := from; i < to; i++ {
				out := abs[i*p.blocks : (i+1)*p.blocks]
				for l, a := range v.a.Row(i)[l0:min(l0+depth, k)] {
					a, at := math.Abs(a), (l0+l)*p.blocks
					for block, x := range b[at : at+p.blocks] {
						out[block] += a * x
					}
				}
			}
		}
		for x := range abs[from*p.blocks : to*p.blocks] {
			abs[from*p.blocks+x] *= math.Abs(v.alpha)
		}
		if v.beta != 0 {
			row, extra := make([]float64, n), make([]float64, p.blocks)
			for i := from; i < to; i++ {
				widen(row, v.c0.Row(i))
				norms(row, extra)
				for block, x := range extra {
					abs[i*p.blocks+block] += math.Abs(v.beta) * x
				}
			}
		}
	})
	return abs
}

// norm returns ‖x‖₂, whose squares may be beyond the range of float64.
func norm(x []float64) float64 {
	var sum float64
	for _, x := range x {
		sum += x * x
	}
	if sum >= 0x1p-900 && sum <= math.MaxFloat64 { // then what underflowed is negligible
		return math.Sqrt(sum)
	}
	return blas64.Nrm2(blas64.Vector{N: len(x), Inc: 1, Data: x})
}

// longest returns the largest norms of a row and of a column of m, whose largest magnitude is most.
func longest(m gemm.Matrix[float64], most float64) (row, column float64) {
	if isEmpty(m) || most == 0 {
		return 0, 0
	}
	columns := make([]float64, m.Cols) // the squares of norms, in units of most²
	for i := range m.Rows {
		square := 0.0
		for j, x := range m.Row(i) {
			x = (x / most) * (x / most)
			square += x
			columns[j] += x
		}
		row = max(row, square)
	}
	return most * math.Sqrt(row), most * math.Sqrt(slices.Max(columns))
}

// signedSums writes the sums of row over each block, signed by each probe, in the order of a projection.
func (v *floatVerifier[T]) signedSums(p *projection, row, hi, lo []float64) {
	for q, signs := range p.signs {
		for block := range p.blocks {
			from, to := block*p.width, min((block+1)*p.width, len(row))
			var h, l float64
			for j := from; j < to; j++ {
				s, t := twoSum(h, signs[j]*row[j])
				h = s
				l += t
			}
			hi[q*p.blocks+block], lo[q*p.blocks+block] = h, l
		}
	}
}

// addScaled adds a·(xHi + xLo) to the pairs (hi, lo).
func (v *floatVerifier[T]) addScaled(hi, lo []float64, a float64, xHi, xLo []float64) {
	hi, lo, xLo = hi[:len(xHi)], lo[:len(xHi)], xLo[:len(xHi)]
	if !v.paired {
		for s, x := range xHi {
			hi[s] += a * x
		}
		return
	}
	for s, x := range xHi {
		p, e := twoProd(a, x)
		h, t := twoSum(hi[s], p)
		hi[s] = h
		lo[s] += t + (e + a*xLo[s])
	}
}

// roundings returns the norm of what the rounding of integers to half precision may have changed. Integers below 1/u
// are not rounded; 1/u may be the next one, rounded to even.
func (v *floatVerifier[T]) roundings(row []float64) float64 {
	var sum float64
	for _, x := range row {
		if math.Abs(x) >= 1/v.rounding {
			sum += x * x
		}
	}
	return v.rounding / (1 - v.rounding) * math.Sqrt(sum)
}

// probe returns the largest normalised difference between c and p, and its row.
func (v *floatVerifier[T]) probe(c gemm.Matrix[T], p *projection, limit Limit) (float64, int) {
	sums, exact := probes*p.blocks, v.isExact(limit)
	confidence := v.confidence(p.width)
	errs := make([]float64, c.Rows*sums)
	parallelFor(c.Rows, 2*probes*c.Cols, func(from, to int) {
		row, hi, lo := make([]float64, c.Cols), make([]float64, sums), make([]float64, sums)
		for i := from; i < to; i++ {
			widen(row, c.Row(i))
			v.signedSums(p, row, hi, lo)
			for s := range sums {
				err := math.Abs((hi[s] - p.hi[i*sums+s]) + (lo[s] - p.lo[i*sums+s]))
				scale, lost := v.normAB, float64(p.width)*v.underflow
				if limit.Kind == gemm.Euclidean {
					scale = v.normRC()
				}
				scale *= math.Sqrt(float64(p.width))
				block := s % p.blocks
				if limit.Kind == gemm.Componentwise {
					scale = p.abs[i*p.blocks+block]
				}
				if exact {
					lost = confidence * v.roundings(row[block*p.width:min((block+1)*p.width, len(row))])
				}
				errs[i*sums+s] = relative(math.Max(0, err-lost), confidence*scale)
			}
		}
	})
	worst, x := largest(len(errs), 1, func(x int) float64 { return errs[x] })
	return worst, x / max(1, sums)
}
