package compare

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gemm"
	"gemm/gf256"
)

// Operation is the product that a result is checked against:
// C = α·op(A)·op(B) + β·C₀, with op(A) m×k, op(B) k×n and C₀ m×n.
type Operation[T gemm.Element] struct {
	TransA, TransB blas.Transpose
	Alpha, Beta    float64
	A, B           gemm.Matrix[T]
	C0             gemm.Matrix[T] // read only where Beta is not 0
}

// Limit is the error that a result may have: a bound of the kind given, without
// its operands. See gemm.Bound.
type Limit struct {
	Kind  gemm.BoundKind
	Bound float64
}

// Verdict is the outcome of a check.
type Verdict struct {
	Limit
	Residual float64 // the largest error found, normalised as Limit.Kind says
	Reason   string  // why it is not OK; empty where it is
	// Weak: the limit is so wide that an element that is lost would pass.
	Weak bool
	// Void: the limit is no smaller than any element, so that zeros would pass: it proves
	// nothing.
	Void bool
	// Note says what the check accepted or left open; empty where there is nothing to say.
	Note string
}

// exceeds says that the residual is above the bound, and where.
func (v Verdict) exceeds(at string) string {
	return fmt.Sprintf("residual %.3g exceeds the %s bound %.3g: %s", v.Residual, v.Kind, v.Bound, at)
}

// OK reports whether the result is within its limit. A residual of NaN is not.
func (v Verdict) OK() bool { return v.Residual <= v.Bound }

// Verifier checks results of one operation.
//
// Small products are compared element by element with a reference in twice the
// working precision. For large ones the reference is computed for some rows, those
// at the edges of tiles among them, and every element enters a probe: with x a vector of random signs
// on a block of w columns, C·x is compared with A·(B·x), both in twice the
// working precision (after Freivalds, Probabilistic machines can use less
// running time, 1977). Where every error obeys |ΔC_ij| ≤ d_ij, Hoeffding's
// inequality gives
//
//	|Σ_j ΔC_ij·x_j| ≤ λ·√(Σ_j d_ij²) ≤ λ·β·Σ_l |a_il|·‖b_l‖₂
//
// but for a probability of 1e-9 over all probes, which is √w times one
// element's limit where the worst case is w times it. w is chosen so that one
// lost element stands out four times over its probe's limit, but not so small that
// the probes take much longer than the rows; see floatVerifier.width.
//
// The work is shared by all processors, and its result is the same on any number.
type Verifier[T gemm.Element] interface {
	// Check compares c (m×n) with the operation's result.
	Check(c gemm.Matrix[T], limit Limit) Verdict
	// Finite reports whether all operands are: with NaN or Inf among them a
	// result cannot be verified, and Check says so.
	Finite() bool
	// Assures reports whether the limit is smaller than some element of the result: a check
	// with a wider one proves nothing.
	Assures(limit Limit) bool
}

// Unproven says of a product with k terms in the type that it has not been verified, since
// the limit does not assure it, and what to choose instead.
func (l Limit) Unproven(typ string, k int) string {
	text := fmt.Sprintf("not verified: the %s bound %.2g for k = %d in %s is larger than the result",
		l.Kind, l.Bound, k, typ)
	if typ == "f32" {
		return text + ": choose f64, or a variant with a smaller bound"
	}
	return text + ": where it does not cancel, choose a variant with a smaller bound"
}

const (
	fullTerms    = 1 << 24 // terms up to which every element is compared
	fullElements = 1 << 22 // elements up to which every element is compared
	probes       = 2       // vectors of random signs a result is multiplied with
	sampledRows  = 64      // rows of a large product, at most, whose elements are compared one by one
	sampled      = 256     // elements of those that the typical size is taken from
	minWidth     = 16      // columns of the narrowest probe
	dearest      = 4       // times the terms of the sampled rows that those of probes may be
	tileRows     = 8       // of the elements compared one by one, whose sums are computed at once:
	tileCols     = 128     // 24 KiB of them, beside a row of B in the nearest cache
	margin       = 4       // times its probe's limit by which a lost element stands out
	tileDepth    = 4       // terms of each that are read at once
	depth        = 64      // rows of B·x, at most, that several rows of A·(B·x) take before the next
	fieldProbes  = 16      // random vectors over GF(2⁸): a wrong row or column passes with probability 2⁻¹²⁷ at most
)

// NewVerifier prepares the check of results of op. seed draws the probes.
func NewVerifier[T gemm.Element](op Operation[T], seed uint64) Verifier[T] {
	var v any
	switch op := any(op).(type) {
	case Operation[float32]:
		v = newFloatVerifier(op, seed)
	case Operation[float64]:
		v = newFloatVerifier(op, seed)
	case Operation[gf256.Elem]:
		v = newFieldVerifier(op, seed)
	}
	return v.(Verifier[T])
}

// floatVerifier is the Verifier of floating-point products. The operands are
// held as float64: those of float32 are exact in it, and its arithmetic is twice
// their precision; for float64 twice the precision is a pair of float64, high
// and low part (Dekker 1971; Ogita, Rump and Oishi, Accurate sum and dot
// product, 2005).
type floatVerifier[T gemm.Float] struct {
	a, b        gemm.Matrix[float64] // op(A), op(B)
	c0          gemm.Matrix[T]
	alpha, beta float64
	paired      bool    // arithmetic in pairs of float64
	normAB      float64 // |α|·max|A|·max|B| + |β|·max|C₀|
	norm        scaled  // the same, where it is beyond the range
	// What k products, which α multiplies, may lose by underflow (Higham, equation 2.8).
	// A Gemmer has an |α| above 1/u multiply an operand: what is lost is that of 1/u.
	underflow float64
	finite    bool
	far       bool // see isFar
	seed      uint64

	elements []element           // compared one by one: all of C where it is small
	whole    bool                // elements is all of C
	blocks   map[int]*projection // by width of a probe
}

// element is the reference of element (i, j).
type element struct {
	i, j   int
	hi, lo float64 // value
	abs    float64 // (|α|·|A||B| + |β|·|C₀|)_ij
	exp    int     // all in units of 2^exp; 0 but of far operands
}

// projection is the reference of the probes of one width: row by row, probe by
// probe, block by block.
type projection struct {
	width, blocks int
	signs         [][]float64 // a probe
	hi, lo        []float64   // (A·B·x)
	abs           []float64   // Σ_l |a_il|·‖b_l‖₂; nil until it is needed
}

func newFloatVerifier[T gemm.Float](op Operation[T], seed uint64) *floatVerifier[T] {
	v := &floatVerifier[T]{
		a: widened(op.A, op.TransA), b: widened(op.B, op.TransB), c0: op.C0,
		alpha: float64(T(op.Alpha)), beta: float64(T(op.Beta)), seed: seed,
		paired: gemm.TypeName[T]() == "f64",
		blocks: map[int]*projection{},
	}
	_, tiny := largestOf[T]()
	enlarged := math.Min(math.Max(1, math.Abs(v.alpha)), 1/gemm.UnitRoundoff[T]())
	v.underflow = tiny * (enlarged*float64(v.a.Cols) + 2)
	maxA, maxB, maxC := maxAbs(v.a), maxAbs(v.b), 0.0
	v.norm = magnitude(v.alpha, maxA, maxB)
	if v.beta != 0 {
		maxC = maxAbs(v.c0)
		v.norm = v.norm.plus(magnitude(v.beta, maxC))
	}
	v.finite = true
	for _, most := range []float64{maxA, maxB, maxC} {
		v.finite = v.finite && !math.IsNaN(most) && !math.IsInf(most, 0)
	}
	if v.finite {
		v.normAB = math.Ldexp(v.norm.x, v.norm.exp)
		v.far = v.isFar(maxA, maxB, maxC)
		v.reference()
	}
	return v
}

// Finite implements Verifier.
func (v *floatVerifier[T]) Finite() bool { return v.finite }

// reference computes the elements that are compared one by one.
func (v *floatVerifier[T]) reference() {
	m, k, n := v.a.Rows, v.a.Cols, v.b.Cols
	v.whole = float64(m)*float64(n) <= fullElements && float64(m)*float64(n)*float64(k) <= fullTerms
	if m == 0 || n == 0 {
		return
	}
	rows := make([]int, m)
	for i := range rows {
		rows[i] = i
	}
	count := min(sampledRows, max(1, fullElements/max(1, n)))
	if v.far {
		count = v.farRows(count)
	}
	if !v.whole && count < m {
		rows = sampleRows(m, count, v.seed)
	}
	v.elements = make([]element, len(rows)*n)
	if v.far {
		const steps = 50 // operations of a term
		share(len(v.elements), steps*k, func(from, to int) {
			for x := from; x < to; x++ {
				v.elements[x] = v.farElement(rows[x/n], x%n)
			}
		})
		return
	}
	down, across := (len(rows)+tileRows-1)/tileRows, (n+tileCols-1)/tileCols
	share(down*across, tileRows*tileCols*k, func(from, to int) {
		for tile := from; tile < to; tile++ { // those of the same columns one after the other
			v.tile(rows, tile%down*tileRows, tile/down*tileCols)
		}
	})
}

// tile computes the elements of a tile, which begins at column j0 and at place r0 of rows.
func (v *floatVerifier[T]) tile(rows []int, r0, j0 int) {
	n := v.b.Cols
	chosen, cols := rows[r0:min(r0+tileRows, len(rows))], min(tileCols, n-j0)
	var hi, lo, abs [tileRows][tileCols]float64
	add, k := addExact, v.a.Cols
	if v.paired {
		add = addPairs
	}
	for l := 0; l < k; l += tileDepth {
		var b [tileDepth][]float64
		for t := range b {
			b[t] = v.b.Row(min(l+t, k-1))[j0 : j0+cols]
		}
		for r, i := range chosen {
			var a [tileDepth]float64 // 0 after the last: 0·b changes no sum
			copy(a[:], v.a.Row(i)[l:])
			add(&hi[r], &lo[r], &abs[r], a, &b)
		}
	}
	for r, i := range chosen {
		for j := range cols {
			v.elements[(r0+r)*n+j0+j] = v.finish(i, j0+j, hi[r][j], lo[r][j], abs[r][j])
		}
	}
}

// sampleRows returns that many of m rows, in order: the last, those on both sides
// of the last edges of tiles and blocks of the usual sizes, and random ones.
func sampleRows(m, count int, seed uint64) []int {
	chosen := map[int]bool{m - 1: true}
	for _, size := range []int{2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512} {
		for _, i := range []int{m/size*size - 1, m / size * size} {
			if i > 0 && i < m && len(chosen) < count/2 {
				chosen[i] = true
			}
		}
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for len(chosen) < count {
		chosen[rng.IntN(m)] = true
	}
	return slices.Sorted(maps.Keys(chosen))
}

// addExact adds a[t]·b[t][j], which are exact, of 24 bits by 24, to hi[j], one after the
// other, and their magnitudes to abs[j].
func addExact(hi, _, abs *[tileCols]float64, a [tileDepth]float64, b *[tileDepth][]float64) {
	b0 := b[0][:min(len(b[0]), tileCols)]
	b1, b2, b3 := b[1][:len(b0)], b[2][:len(b0)], b[3][:len(b0)]
	for j, x := range b0 {
		p, q, r, s := a[0]*x, a[1]*b1[j], a[2]*b2[j], a[3]*b3[j]
		hi[j] = hi[j] + p + q + r + s
		abs[j] = abs[j] + math.Abs(p) + math.Abs(q) + math.Abs(r) + math.Abs(s)
	}
}

// addPairs adds a[t]·b[t][j] to the pair (hi[j], lo[j]), one after the other, and their
// magnitudes to abs[j].
func addPairs(hi, lo, abs *[tileCols]float64, a [tileDepth]float64, b *[tileDepth][]float64) {
	b0 := b[0][:min(len(b[0]), tileCols)]
	b1, b2, b3 := b[1][:len(b0)], b[2][:len(b0)], b[3][:len(b0)]
	for j, x := range b0 {
		p, e := twoProd(a[0], x)
		h, t := twoSum(hi[j], p)
		low, sum := lo[j]+(t+e), abs[j]+math.Abs(p)
		p, e = twoProd(a[1], b1[j])
		h, t = twoSum(h, p)
		low, sum = low+(t+e), sum+math.Abs(p)
		p, e = twoProd(a[2], b2[j])
		h, t = twoSum(h, p)
		low, sum = low+(t+e), sum+math.Abs(p)
		p, e = twoProd(a[3], b3[j])
		h, t = twoSum(h, p)
		hi[j], lo[j], abs[j] = h, low+(t+e), sum+math.Abs(p)
	}
}

// finish applies α and β to the sum of element (i, j).
func (v *floatVerifier[T]) finish(i, j int, hi, lo, abs float64) element {
	e := element{i: i, j: j, hi: hi, lo: lo, abs: math.Abs(v.alpha) * abs}
	if v.alpha != 1 {
		p, t := twoProd(v.alpha, hi)
		e.hi, e.lo = p, t+v.alpha*lo
	}
	if v.beta != 0 {
		c := float64(v.c0.At(i, j))
		p, t := twoProd(v.beta, c)
		s, r := twoSum(e.hi, p)
		e.hi, e.lo = s, e.lo+r+t
		e.abs += math.Abs(p)
	}
	return e
}

// Check implements Verifier.
func (v *floatVerifier[T]) Check(c gemm.Matrix[T], limit Limit) Verdict {
	out := Verdict{Limit: limit}
	if !v.finite {
		out.Residual = math.NaN()
		out.Reason = "operands hold NaN or Inf: a result cannot be verified"
		return out
	}
	if v.far {
		return v.checkFar(c, limit)
	}
	out.Void = !v.Assures(limit)
	at := ""
	if r, x := v.compare(c, limit.Kind); !(r <= 0) {
		e := v.elements[x]
		out.Residual = r
		at = fmt.Sprintf("element (%d, %d) is %g, want %g", e.i, e.j, float64(c.At(e.i, e.j)), e.hi+e.lo)
	}
	typical := v.typical(limit.Kind)
	if v.whole {
		out.Weak = !(limit.Bound < typical)
	} else if !math.IsNaN(out.Residual) {
		width := v.width(limit.Bound, typical)
		out.Weak = !(v.confidence(width)*math.Sqrt(float64(width))*limit.Bound < typical)
		p := v.projection(width, limit.Kind == gemm.Componentwise)
		r, row := v.probe(c, p, limit.Kind)
		if !(r <= out.Residual) {
			out.Residual = r
			at = fmt.Sprintf("row %d differs from A·B", row)
		}
	}
	if !out.OK() {
		out.Reason = out.exceeds(at)
	}
	return out
}

// compare returns the largest normalised error of the elements that are compared one by
// one, and the place of the first that has it.
func (v *floatVerifier[T]) compare(c gemm.Matrix[T], kind gemm.BoundKind) (float64, int) {
	return largest(len(v.elements), 1, func(x int) float64 {
		e := &v.elements[x]
		return v.normalised(math.Abs((float64(c.At(e.i, e.j))-e.hi)-e.lo), v.scale(kind, e.abs), v.underflow)
	})
}

// Assures implements Verifier.
func (v *floatVerifier[T]) Assures(limit Limit) bool {
	zeros := true // all elements, and nothing else passes
	for x := range v.elements {
		e := &v.elements[x]
		scale := v.scale(limit.Kind, e.abs)
		if v.far && limit.Kind == gemm.Normwise {
			scale = math.Ldexp(v.norm.x, v.norm.exp-e.exp)
		}
		if limit.Bound*scale+math.Ldexp(v.underflow, -e.exp) < math.Abs(e.hi+e.lo) {
			return true
		}
		zeros = zeros && scale == 0
	}
	return v.finite && zeros
}

// scale is what an error is measured against.
func (v *floatVerifier[T]) scale(kind gemm.BoundKind, abs float64) float64 {
	if kind == gemm.Normwise {
		return v.normAB
	}
	return abs
}

// normalised returns the error over its scale, 0 where both are 0, and NaN where either is
// or where the scale is infinite: every error would be small beside that.
func (v *floatVerifier[T]) normalised(err, scale, underflow float64) float64 {
	if math.IsNaN(err) || math.IsNaN(scale) || math.IsInf(scale, 0) {
		return math.NaN()
	}
	err = math.Max(0, err-underflow)
	if err == 0 {
		return 0
	}
	return err / scale
}

// typical returns the median magnitude of the elements over their scale: the
// residual of an element that is lost.
func (v *floatVerifier[T]) typical(kind gemm.BoundKind) float64 {
	var sizes []float64
	for step, i := max(1, len(v.elements)/sampled), 0; i < len(v.elements); i += step {
		e := v.elements[i]
		if s := v.scale(kind, e.abs); s > 0 {
			sizes = append(sizes, math.Abs(e.hi)/s)
		}
	}
	if len(sizes) == 0 {
		return math.Inf(1) // C is zero: every error is infinite
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// confidence is Hoeffding's λ for all sums of probes of the given width.
func (v *floatVerifier[T]) confidence(width int) float64 {
	blocks := (v.b.Cols + width - 1) / width
	return gemm.Confidence(float64(probes * v.a.Rows * blocks))
}

// width returns the widest probe, a power of two or all columns, in which a lost
// element of the typical size stands out.
//
// Probes of width w sum probes·m·k·n/w terms, the sampled rows sampledRows·k·n. The bound
// of an arithmetic much coarser than its type, such as TF32's, would have w so small that
// the probes took longer than all the rest: below probes·m/(dearest·sampledRows) columns
// it is not chosen. A probe of more columns than asked for is as sound: it holds every
// error to a limit that no right result exceeds, and Check says Weak where a lost element
// is below it. The product of integers, which is exact and has probes over all columns,
// sees that element still.
func (v *floatVerifier[T]) width(bound, typical float64) int {
	n := v.b.Cols
	width := minWidth
	for width < n && (dearest*sampledRows*width < probes*v.a.Rows ||
		margin*v.confidence(2*width)*math.Sqrt(float64(2*width))*bound <= typical) {
		width *= 2
	}
	return min(width, n)
}

// projection returns the reference of probes of the given width, with the
// scales of a componentwise check where wanted.
func (v *floatVerifier[T]) projection(width int, scales bool) *projection {
	p := v.blocks[width]
	if p != nil && (p.abs != nil || !scales) {
		return p
	}
	m, k, n := v.a.Rows, v.a.Cols, v.b.Cols
	p = &projection{width: width, blocks: (n + width - 1) / width}
	rng := rand.New(rand.NewPCG(v.seed, 2))
	for range probes {
		signs := make([]float64, n)
		for j := range signs {
			signs[j] = float64(2*rng.IntN(2) - 1)
		}
		p.signs = append(p.signs, signs)
	}
	sums := probes * p.blocks
	p.hi, p.lo = make([]float64, m*sums), make([]float64, m*sums)
	bxHi, bxLo := make([]float64, k*sums), make([]float64, k*sums)
	share(k, 2*probes*n, func(from, to int) {
		for l := from; l < to; l++ {
			v.signedSums(p, v.b.Row(l), bxHi[l*sums:], bxLo[l*sums:])
		}
	})
	share(m, sums*k, func(from, to int) {
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
	share(k, n, func(from, to int) {
		for l := from; l < to; l++ {
			norms(v.b.Row(l), b[l*p.blocks:])
		}
	})
	abs := make([]float64, m*p.blocks)
	share(m, p.blocks*k, func(from, to int) {
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
	if sum >= 0x1p-900 && sum <= math.MaxFloat64 { // what underflowed is nothing beside it
		return math.Sqrt(sum)
	}
	return blas64.Nrm2(blas64.Vector{N: len(x), Inc: 1, Data: x})
}

// signedSums writes the sums of row over each block, signed by each probe, in
// the order of a projection.
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

// probe returns the largest normalised difference between c and p, and its row.
func (v *floatVerifier[T]) probe(c gemm.Matrix[T], p *projection, kind gemm.BoundKind) (float64, int) {
	sums := probes * p.blocks
	confidence := v.confidence(p.width)
	errs := make([]float64, c.Rows*sums)
	share(c.Rows, 2*probes*c.Cols, func(from, to int) {
		row, hi, lo := make([]float64, c.Cols), make([]float64, sums), make([]float64, sums)
		for i := from; i < to; i++ {
			widen(row, c.Row(i))
			v.signedSums(p, row, hi, lo)
			for s := range sums {
				err := math.Abs((hi[s] - p.hi[i*sums+s]) + (lo[s] - p.lo[i*sums+s]))
				scale := v.normAB * math.Sqrt(float64(p.width))
				if kind == gemm.Componentwise {
					scale = p.abs[i*p.blocks+s%p.blocks]
				}
				errs[i*sums+s] = v.normalised(err, confidence*scale, float64(p.width)*v.underflow)
			}
		}
	})
	worst, x := largest(len(errs), 1, func(x int) float64 { return errs[x] })
	return worst, x / max(1, sums)
}

// twoSum returns s = fl(a + b) and the error e with a + b = s + e (Knuth).
func twoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, (a - (s - t)) + (b - t)
}

// twoProd returns p = fl(a·b) and the error e with a·b = p + e.
func twoProd(a, b float64) (p, e float64) {
	p = a * b
	return p, math.FMA(a, b, -p)
}

// isEmpty reports whether m has no elements, however many rows or columns it has.
func isEmpty[T gemm.Element](m gemm.Matrix[T]) bool { return m.Rows == 0 || m.Cols == 0 }

// widened returns op(m) in float64, sharing m's data where that is possible.
func widened[T gemm.Float](m gemm.Matrix[T], trans blas.Transpose) gemm.Matrix[float64] {
	if isEmpty(m) && trans == blas.NoTrans {
		return gemm.NewMatrix[float64](m.Rows, m.Cols)
	}
	if isEmpty(m) {
		return gemm.NewMatrix[float64](m.Cols, m.Rows)
	}
	if trans == blas.NoTrans {
		if same, ok := any(m).(gemm.Matrix[float64]); ok {
			return same
		}
		w := gemm.NewMatrix[float64](m.Rows, m.Cols)
		share(m.Rows, m.Cols, func(from, to int) {
			for i := from; i < to; i++ {
				widen(w.Row(i), m.Row(i))
			}
		})
		return w
	}
	w := gemm.NewMatrix[float64](m.Cols, m.Rows)
	share(m.Rows, m.Cols, func(from, to int) {
		for j := range m.Cols {
			row := w.Row(j)
			for i := from; i < to; i++ {
				row[i] = float64(m.At(i, j))
			}
		}
	})
	return w
}

// widen writes row to w.
func widen[T gemm.Float](w []float64, row []T) {
	for j, x := range row {
		w[j] = float64(x)
	}
}

// maxAbs returns the largest magnitude in m, NaN where there is a NaN.
func maxAbs[T gemm.Float](m gemm.Matrix[T]) float64 {
	if isEmpty(m) {
		return 0
	}
	all, _ := largest(m.Rows, m.Cols, func(i int) float64 {
		var most float64
		for _, x := range m.Row(i) {
			if a := math.Abs(float64(x)); !(a <= most) {
				if math.IsNaN(a) {
					return a
				}
				most = a
			}
		}
		return most
	})
	return all
}

// largest returns the largest of f(0) … f(n−1), none of which is negative, or the first
// NaN, and the place of the first that is it; 0 and 0 where n is 0. A call of f is cost
// operations.
func largest(n, cost int, f func(int) float64) (float64, int) {
	var lock sync.Mutex
	worst, at := 0.0, 0
	share(n, cost, func(from, to int) {
		most, where := 0.0, from
		for i := from; i < to; i++ {
			if x := f(i); !(x <= most) {
				most, where = x, i
				if math.IsNaN(x) {
					break
				}
			}
		}
		lock.Lock()
		defer lock.Unlock()
		first := where < at
		switch {
		case math.IsNaN(worst):
			first = first && math.IsNaN(most)
		case most < worst:
			first = false
		case most > worst || math.IsNaN(most):
			first = true
		}
		if first {
			worst, at = most, where
		}
	})
	return worst, at
}

// share calls f for parts of 0 … n−1 that follow one another, from up to but not
// including to, on all processors, and returns when all are done. One of n is cost
// operations: little work is done by the caller.
func share(n, cost int, f func(from, to int)) {
	const least = 1 << 16 // operations of a part, so that starting it costs nothing beside
	workers := runtime.GOMAXPROCS(0)
	part := max(1, least/max(1, cost))
	// A part of many rows reads the other operand less often; several parts a worker are
	// done together although some processors are slower.
	part = max(part, min(32, n/(4*workers)))
	var taken atomic.Int64
	work := func() {
		for {
			to := int(taken.Add(int64(part)))
			if to-part >= n {
				return
			}
			f(to-part, min(to, n))
		}
	}
	var wait sync.WaitGroup
	for range min(workers, (n+part-1)/part) - 1 {
		wait.Go(work)
	}
	work()
	wait.Wait()
}

// fieldVerifier is the Verifier of products over GF(2⁸), which are exact: the
// residual counts what is wrong, elements of a small product, columns of a wide one and
// rows of another large one.
type fieldVerifier struct {
	a, b  gemm.Matrix[gf256.Elem]
	exact gemm.Matrix[gf256.Elem] // A·B of a small product
	whole bool
	// The probes, random vectors without a zero, so that one wrong element is always seen.
	y, ya []multiples             // of a wide product: Y, of as many columns as C has rows, and Y·A
	x     gemm.Matrix[gf256.Elem] // of another: n×fieldProbes
	abx   gemm.Matrix[gf256.Elem] // A·(B·x)
}

func newFieldVerifier(op Operation[gf256.Elem], seed uint64) *fieldVerifier {
	v := &fieldVerifier{a: op.A, b: op.B}
	m, k, n := v.a.Rows, v.a.Cols, v.b.Cols
	v.whole = float64(m)*float64(n) <= fullElements && float64(m)*float64(n)*float64(k) <= fullTerms
	if v.whole {
		v.exact = fieldProduct(v.a, v.b)
		return v
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	vectors := func(n int) gemm.Matrix[gf256.Elem] {
		x := gemm.NewMatrix[gf256.Elem](n, fieldProbes)
		for i := range x.Data {
			x.Data[i] = gf256.New(uint8(1 + rng.IntN(255)))
		}
		return x
	}
	if n >= m+k {
		y, transposed := vectors(m), gemm.NewMatrix[gf256.Elem](k, m)
		for i := range m {
			for l, x := range v.a.Row(i) {
				transposed.Set(l, i, x)
			}
		}
		v.y, v.ya = multiplesOf(y), multiplesOf(fieldProduct(transposed, y))
		return v
	}
	v.x = vectors(n)
	v.abx = fieldProduct(v.a, fieldProduct(v.b, v.x))
	return v
}

// multiples are a vector of fieldProbes elements times each element of GF(2⁸), eight
// elements in a word.
type multiples [256][fieldProbes / 8]uint64

// multiplesOf returns those of the rows of x.
func multiplesOf(x gemm.Matrix[gf256.Elem]) []multiples {
	tables := make([]multiples, x.Rows)
	for i := range tables {
		t := &tables[i]
		for bit := range 8 {
			for j, element := range x.Row(i) {
				t[1<<bit][j/8] |= uint64(gf256.Mul(element, gf256.New(1<<bit)).Byte()) << (j % 8 * 8)
			}
		}
		for f := 1; f < 256; f++ { // the sum of those of its lowest bit and of the others
			for w := range t[f] {
				t[f][w] = t[f&-f][w] ^ t[f&(f-1)][w]
			}
		}
	}
	return tables
}

// addProbed adds to the sums, one for each column of x from the given one on, the products of
// the vectors of the tables and the elements of their rows of x.
func addProbed(sums [][fieldProbes / 8]uint64, tables []multiples, x gemm.Matrix[gf256.Elem], from int) {
	for l := range tables {
		t := &tables[l]
		for j, element := range x.Row(l)[from : from+len(sums)] {
			product := &t[element.Byte()]
			for w := range product {
				sums[j][w] ^= product[w]
			}
		}
	}
}

// wrongColumns returns how many columns of c differ from those of A·B by Y·C = (Y·A)·B.
func (v *fieldVerifier) wrongColumns(c gemm.Matrix[gf256.Elem]) int {
	const block = 1 << 13 // columns, whose sums stay in cache
	var wrong atomic.Int64
	share((c.Cols+block-1)/block, (v.a.Rows+v.a.Cols)*block, func(from, to int) {
		for first := from * block; first < min(to*block, c.Cols); first += block {
			sums := make([][fieldProbes / 8]uint64, min(block, c.Cols-first))
			addProbed(sums, v.y, c, first)
			addProbed(sums, v.ya, v.b, first)
			for _, sum := range sums {
				if sum != [fieldProbes / 8]uint64{} { // what is added twice is gone
					wrong.Add(1)
				}
			}
		}
	})
	return int(wrong.Load())
}

// Finite implements Verifier.
func (v *fieldVerifier) Finite() bool { return true }

// Assures implements Verifier: the check is exact.
func (v *fieldVerifier) Assures(Limit) bool { return true }

// Check implements Verifier.
func (v *fieldVerifier) Check(c gemm.Matrix[gf256.Elem], limit Limit) Verdict {
	got, want, what := c, v.exact, "elements"
	wrong := 0
	switch {
	case v.y != nil:
		wrong, want, what = v.wrongColumns(c), gemm.Matrix[gf256.Elem]{}, "columns"
	case !v.whole:
		got, want, what = fieldProduct(c, v.x), v.abx, "rows"
	case isEmpty(c):
		want = gemm.Matrix[gf256.Elem]{}
	}
	for i := range want.Rows {
		differ := 0
		for j, x := range want.Row(i) {
			if got.At(i, j) != x {
				differ++
			}
		}
		if !v.whole {
			differ = min(differ, 1)
		}
		wrong += differ
	}
	out := Verdict{Limit: Limit{Kind: gemm.Exact}, Residual: float64(wrong)}
	if wrong > 0 {
		out.Reason = fmt.Sprintf("%d %s of %v are wrong", wrong, what, c)
	}
	return out
}

// fieldProduct returns A·B by way of a table of the 256 multiples of each row
// element, apart from the implementations that it checks.
func fieldProduct(a, b gemm.Matrix[gf256.Elem]) gemm.Matrix[gf256.Elem] {
	c := gemm.NewMatrix[gf256.Elem](a.Rows, b.Cols)
	if isEmpty(c) || isEmpty(a) {
		return c
	}
	var table [256][256]gf256.Elem
	for x := range 256 {
		for y := range 256 {
			table[x][y] = gf256.Mul(gf256.New(uint8(x)), gf256.New(uint8(y)))
		}
	}
	share(a.Rows, a.Cols*b.Cols, func(from, to int) {
		for i := from; i < to; i++ {
			row := c.Row(i)
			for l, x := range a.Row(i) {
				multiples := &table[x.Byte()]
				for j, y := range b.Row(l) {
					row[j] = gf256.Add(row[j], multiples[y.Byte()])
				}
			}
		}
	})
	return c
}

// LimitOf returns the limit of v's results for the operation's shape: the random
// bound for the operands that measuring draws, the worst-case one otherwise.
func LimitOf[T gemm.Element](v gemm.Variant, m, n, k int, p gemm.Params, alpha, beta float64, random bool) Limit {
	if gemm.TypeName[T]() == "gf256" {
		return Limit{Kind: gemm.Exact}
	}
	bound, u := v.BoundWith(p), gemm.UnitRoundoff[T]()
	limit := bound.Worst
	if random {
		limit = bound.Random
	}
	x := limit(m, n, k, p, u)
	if alpha != 1 || beta != 0 {
		// The roundings of α·(…), β·C and their sum, of what the product is at most.
		most := 1.0
		if bound.Kind == gemm.Normwise {
			most = math.Max(1, float64(k))
		}
		x += gemm.Gamma(3, u) * (most + x)
	}
	return Limit{Kind: bound.Kind, Bound: x}
}
