package verify

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/half"
)

const (
	fullTerms    = 1 << 24 // terms up to which every element is compared
	fullElements = 1 << 22 // elements up to which every element is compared
	sampledRows  = 64      // rows of a large product, at most, whose elements are compared one by one
	sampled      = 256     // elements of these that the typical size is computed from
	tileRows     = 8       // of the elements compared one by one, whose sums are computed at once:
	tileCols     = 128     // 24 KiB of sums, which fit L1 with a row of B
	tileDepth    = 4       // terms of each that are read at once
)

// floatVerifier is the Verifier of floating-point products. It holds the operands as float64. For float32 and half
// precision this is exact, and float64 arithmetic has twice the precision. For float64, twice the precision is a pair
// of float64, a high and a low part (Dekker 1971; Ogita, Rump and Oishi, Accurate sum and dot product, 2005).
type floatVerifier[T gemm.Number] struct {
	a, b        gemm.Matrix[float64] // op(A), op(B)
	c0          gemm.Matrix[T]
	alpha, beta float64
	paired      bool       // arithmetic in pairs of float64
	rounding    float64    // u of the rounding of sums to half precision; 0 of other types
	normAB      float64    // |α|·max|A|·max|B| + |β|·max|C₀|
	norm        *big.Float // the same, where it is beyond the range
	// |α|·max‖aᵢ‖₂·max‖bⱼ‖₂ + |β|·max|C₀|
	normRC func() float64
	// What k products may lose by underflow before α multiplies them (Higham, equation 2.8). If |α|
	// > 1/u, a Gemmer multiplies an operand first, so the loss is as for α = 1/u.
	underflow  float64
	finite     bool
	outOfRange bool // see leavesRange
	seed       uint64

	elements []element           // compared one by one: all of C where it is small
	whole    bool                // elements is all of C
	blocks   map[int]*projection // by width of a probe

	// probes compares every element of a large product, by probes.
	probes func(c gemm.Matrix[T], limit Limit, typical float64) (r float64, row int, weak bool)
}

// element is the reference of element (i, j).
type element struct {
	i, j   int
	hi, lo float64 // value
	abs    float64 // (|α|·|A||B| + |β|·|C₀|)_ij
	exp    int     // all in units of 2^exp; 0 but of far operands
}

func newFloatVerifier[T gemm.Number](op Operation[T], seed uint64) *floatVerifier[T] {
	v := &floatVerifier[T]{
		a: widened(op.A, op.TransA), b: widened(op.B, op.TransB), c0: op.C0,
		alpha: rounded[T](op.Alpha), beta: rounded[T](op.Beta), seed: seed,
		paired: gemm.TypeOf[T]().Name == "f64",
		blocks: map[int]*projection{},
	}
	v.probes = v.checkProbes
	of := gemm.TypeOf[T]()
	enlarged := math.Min(math.Max(1, math.Abs(v.alpha)), 1/of.SumRoundoff)
	v.underflow = sumRange[T]().tiny * (enlarged*float64(v.a.Cols) + 2)
	if of.IsHalf() {
		v.rounding = of.UnitRoundoff
		v.underflow += rangeOf[T]().tiny / 2
	}
	maxA, maxB, maxC := maxAbs(v.a), maxAbs(v.b), 0.0
	if v.beta != 0 {
		maxC = maxAbs(v.c0)
	}
	if v.finite = finite(v.alpha, v.beta, maxA, maxB, maxC); v.finite {
		v.norm = magnitude(v.alpha, maxA, maxB)
		v.norm.Add(v.norm, magnitude(v.beta, maxC))
		v.normAB = v.normIn(0)
		v.normRC = sync.OnceValue(func() float64 {
			row, _ := longest(v.a, maxA)
			_, column := longest(v.b, maxB)
			return math.Abs(v.alpha)*row*column + math.Abs(v.beta)*maxC
		})
		v.outOfRange = v.leavesRange(maxA, maxB, maxC)
		v.reference()
	}
	return v
}

// finite reports whether none of the numbers is NaN or infinite.
func finite(numbers ...float64) bool {
	return !slices.ContainsFunc(numbers, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// rounded returns x as T has it.
func rounded[T gemm.Number](x float64) float64 { return gemm.ToFloat64(gemm.FromFloat64[T](x)) }

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
	if v.outOfRange {
		count = max(1, min(count, scaledTerms/(max(1, n)*max(1, k))))
	}
	if !v.whole && count < m {
		rows = sampleRows(m, count, v.seed)
	}
	v.elements = make([]element, len(rows)*n)
	if v.outOfRange {
		const steps = 50 // operations of a term
		parallelFor(len(v.elements), steps*k, func(from, to int) {
			for x := from; x < to; x++ {
				v.elements[x] = v.scaledElement(rows[x/n], x%n)
			}
		})
		return
	}
	down, across := (len(rows)+tileRows-1)/tileRows, (n+tileCols-1)/tileCols
	parallelFor(down*across, tileRows*tileCols*k, func(from, to int) {
		for tile := from; tile < to; tile++ { // tiles of the same columns one after the other
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

// sampleRows returns count of m rows, ascending: the last row, rows on both sides of the edges of
// the usual tiles and blocks, and random rows.
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

// addPairs adds a[t]·b[t][j] to the pair (hi[j], lo[j]), one after the other, and their magnitudes to abs[j].
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
		c := gemm.ToFloat64(v.c0.At(i, j))
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
	if v.outOfRange && limit.Kind == gemm.Euclidean { // whose norms may be beyond the range
		return Verdict{Limit: limit, Vacuous: true}
	}
	if v.outOfRange {
		return v.checkOutOfRange(c, limit)
	}
	out.Vacuous = !v.Assures(limit)
	at := ""
	if r, x := v.compare(c, limit); !(r <= 0) {
		e := &v.elements[x]
		out.Residual = r
		at = fmt.Sprintf("element (%d, %d) is %g, want %g", e.i, e.j, gemm.ToFloat64(c.At(e.i, e.j)), v.value(e, limit))
	}
	typical := v.typical(limit)
	out.Weak = !(limit.Bound < typical)
	if !v.whole && !math.IsNaN(out.Residual) {
		r, row, weak := v.probes(c, limit, typical)
		if out.Weak = weak; !(r <= out.Residual) {
			out.Residual = r
			at = fmt.Sprintf("row %d differs from the product", row)
		}
	}
	if !out.OK() {
		out.Reason = out.exceeds(at)
	}
	return out
}

// checkProbes returns the largest normalised error of a probe, its matrix row, and whether one lost element of the
// typical size passes.
func (v *floatVerifier[T]) checkProbes(c gemm.Matrix[T], limit Limit, typical float64) (r float64, row int, weak bool) {
	bound := limit.Bound
	if v.isExact(limit) { // elements are rounded, by a part of themselves
		bound, typical = v.rounding, 1
	}
	width := v.width(bound, typical)
	r, row = v.probe(c, v.projection(width, limit.Kind == gemm.Componentwise), limit)
	return r, row, !(v.confidence(width)*math.Sqrt(float64(width))*bound < typical)
}

// compare returns the largest normalised error of the elements that are compared one by
// one, and the place of the first that has it.
func (v *floatVerifier[T]) compare(c gemm.Matrix[T], limit Limit) (float64, int) {
	exact := v.isExact(limit)
	return largest(len(v.elements), 1, func(x int) float64 {
		e := &v.elements[x]
		got := gemm.ToFloat64(c.At(e.i, e.j))
		if exact {
			return relative(math.Abs(got-v.value(e, limit)), e.abs)
		}
		return relative(math.Max(0, math.Abs((got-e.hi)-e.lo)-v.underflow), v.scale(limit, e))
	})
}

// isExact reports whether the limit is for sums that are exact but are rounded to half precision.
func (v *floatVerifier[T]) isExact(limit Limit) bool { return v.rounding > 0 && limit.Bound == 0 }

// value returns what the element should be.
func (v *floatVerifier[T]) value(e *element, limit Limit) float64 {
	if v.isExact(limit) {
		return rounded[T](e.hi + e.lo)
	}
	return e.hi + e.lo
}

// Assures implements Verifier.
func (v *floatVerifier[T]) Assures(limit Limit) bool {
	zeros := true // all elements, and nothing else passes
	for x := range v.elements {
		e := &v.elements[x]
		scale := v.scale(limit, e)
		if v.outOfRange && limit.Kind == gemm.Normwise {
			scale = v.normIn(e.exp)
		}
		if limit.Bound*scale+math.Ldexp(v.underflow, -e.exp) < math.Abs(e.hi+e.lo) {
			return true
		}
		zeros = zeros && scale == 0
	}
	return v.finite && zeros
}

// scale is the denominator of the normalised error of an element. In half precision, the part u of the bound is for the
// rounding of the element, and is measured against that.
func (v *floatVerifier[T]) scale(limit Limit, e *element) float64 {
	scale := e.abs
	switch limit.Kind {
	case gemm.Normwise:
		return v.normAB
	case gemm.Euclidean:
		scale = v.normRC()
	}
	if v.rounding == 0 || limit.Bound == 0 {
		return scale
	}
	part := math.Min(1, v.rounding/limit.Bound)
	return part*math.Abs(e.hi+e.lo) + (1-part)*scale
}

// relative returns the error over its scale. It is 0 if both are 0, and NaN if one of them is NaN or if the scale is
// infinite, since every error would be small compared with that.
func relative(err, scale float64) float64 {
	switch {
	case math.IsNaN(err) || math.IsNaN(scale) || math.IsInf(scale, 0):
		return math.NaN()
	case err == 0:
		return 0
	}
	return err / scale
}

// typical returns the median magnitude of the elements over their scale: the residual of an element that is lost.
func (v *floatVerifier[T]) typical(limit Limit) float64 {
	var sizes []float64
	for step, i := max(1, len(v.elements)/sampled), 0; i < len(v.elements); i += step {
		e := &v.elements[i]
		if s := v.scale(limit, e); s > 0 {
			sizes = append(sizes, math.Abs(e.hi)/s)
		}
	}
	if len(sizes) == 0 {
		return math.Inf(1) // C is zero: every error is infinite
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// twoSum returns s = fl(a + b) and the error e with a + b = s + e (Knuth).
func twoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, (a - (s - t)) + (b - t)
}

// twoProd returns p = fl(a·b) and the error e with a·b = p + e.
func twoProd(a, b float64) (p, e float64) {
	p = float64(a * b) // the conversion: a sum that uses p must not fuse with the product
	return p, math.FMA(a, b, -p)
}

// isEmpty reports whether m has no elements, however many rows or columns it has.
func isEmpty[T gemm.Element](m gemm.Matrix[T]) bool { return m.Rows == 0 || m.Cols == 0 }

// widened returns op(m) in float64, sharing m's data if that is possible.
func widened[T gemm.Number](m gemm.Matrix[T], trans blas.Transpose) gemm.Matrix[float64] {
	if same, ok := any(m).(gemm.Matrix[float64]); ok && trans == blas.NoTrans && !isEmpty(m) {
		return same
	}
	rows, cols := m.Rows, m.Cols
	if trans != blas.NoTrans {
		rows, cols = cols, rows
	}
	w := gemm.NewMatrix[float64](rows, cols)
	if isEmpty(m) {
		return w
	}
	parallelFor(m.Rows, m.Cols, func(from, to int) {
		if trans == blas.NoTrans {
			for i := from; i < to; i++ {
				widen(w.Row(i), m.Row(i))
			}
			return
		}
		for j := range m.Cols {
			row := w.Row(j)
			for i := from; i < to; i++ {
				row[i] = gemm.ToFloat64(m.At(i, j))
			}
		}
	})
	return w
}

// widen writes row to w.
func widen[T gemm.Number](w []float64, row []T) {
	switch row := any(row).(type) {
	case []float64:
		copy(w, row)
	case []float32:
		for j, x := range row {
			w[j] = float64(x)
		}
	case []half.F16:
		widenHalf(w, row)
	case []half.BF16:
		widenHalf(w, row)
	}
}

func widenHalf[T half.Float](w []float64, row []T) {
	for j, x := range row {
		w[j] = float64(x.Float32())
	}
}

// maxAbs returns the largest magnitude in m, NaN if there is a NaN.
func maxAbs[T gemm.Number](m gemm.Matrix[T]) float64 {
	if isEmpty(m) {
		return 0
	}
	all, _ := largest(m.Rows, m.Cols, func(i int) float64 {
		row, ok := any(m.Row(i)).([]float64)
		if !ok {
			row = make([]float64, m.Cols)
			widen(row, m.Row(i))
		}
		return most(row)
	})
	return all
}

// most returns the largest magnitude of the row, NaN if there is a NaN.
func most(row []float64) (most float64) {
	for _, x := range row {
		if a := math.Abs(x); !(a <= most) {
			if math.IsNaN(a) {
				return a
			}
			most = a
		}
	}
	return most
}
