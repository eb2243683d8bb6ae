package serial

import (
	"context"
	"math"

	"gemm"
)

// recursion is what the algorithms of Strassen and Winograd share. It halves m, n
// and k, multiplies the quarters by a scheme that needs seven products in place
// of eight, each by recursion, and ends in a leaf as soon as one of m, n and k is
// not above the cutoff.
//
// An odd dimension is peeled (Huss-Lederman, Jacobson, Johnson, Tsao and
// Turnbull, Implementation of Strassen's Algorithm for Matrix Multiplication,
// Supercomputing 1996): the scheme computes the even part, and the leaf adds what
// the last row, column or term is worth, O(n²) operations a level. That takes no
// workspace, which padding would, and any shape divides down to the cutoff.
type recursion[T gemm.Float] struct {
	scheme scheme
	step   func(r *recursion[T], ctx context.Context, c, a, b gemm.Matrix[T], work []T) error
	cutoff int
	leaf   accumulator[T]
	work   []T // the temporaries of all levels, kept from one product to the next
}

// scheme is what a scheme of seven products costs and how its errors grow. The
// temporaries and additions are those of one level, with half dimensions m, n, k.
type scheme struct {
	temporaries func(m, n, k int) int // elements
	sumsA       int                   // additions of quarters of A
	sumsB       int                   // … of B
	sumsC       int                   // … of C
	// error is the bound ε(2k) on |Ĉ − C|, for max|A| = max|B| = 1, of a product
	// whose seven products have the bound ε(k) = e.
	error func(e, k, u float64) float64
	// first is its first-order part: ε(2k)/u for e/u.
	first func(e, k float64) float64
	// weight is the largest factor with which one rounding error enters an element
	// of C, given that of the seven products.
	weight func(w, k float64) float64
}

// Multiply implements gemm.Multiplier.
func (r *recursion[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.Rows == 0 || c.Cols == 0 || a.Cols == 0 {
		zero(c)
		return nil
	}
	if need := r.scheme.workspace(c.Rows, c.Cols, a.Cols, r.cutoff); need > cap(r.work) {
		r.work = make([]T, need)
	}
	return r.multiply(ctx, c, a, b, r.work[:cap(r.work)])
}

// multiply computes C = A·B with temporaries from work.
func (r *recursion[T]) multiply(ctx context.Context, c, a, b gemm.Matrix[T], work []T) error {
	m, n, k := c.Rows, c.Cols, a.Cols
	if min(m, n, k) <= r.cutoff {
		zero(c)
		return r.leaf.accumulate(ctx, c, a, b)
	}
	m2, n2, k2 := m&^1, n&^1, k&^1
	err := r.step(r, ctx, c.Slice(0, 0, m2, n2), a.Slice(0, 0, m2, k2), b.Slice(0, 0, k2, n2), work)
	if err == nil && k > k2 { // the last term of every element
		err = r.leaf.accumulate(ctx, c.Slice(0, 0, m2, n2), a.Slice(0, k2, m2, 1), b.Slice(k2, 0, 1, n2))
	}
	if err == nil && n > n2 {
		column := c.Slice(0, n2, m2, 1)
		zero(column)
		err = r.leaf.accumulate(ctx, column, a.Slice(0, 0, m2, k), b.Slice(0, n2, k, 1))
	}
	if err == nil && m > m2 {
		row := c.Slice(m2, 0, 1, n)
		zero(row)
		err = r.leaf.accumulate(ctx, row, a.Slice(m2, 0, 1, k), b)
	}
	return err
}

// quarters returns the four quarters of a matrix of even dimensions.
func quarters[T gemm.Float](x gemm.Matrix[T]) (x11, x12, x21, x22 gemm.Matrix[T]) {
	m, n := x.Rows/2, x.Cols/2
	return x.Slice(0, 0, m, n), x.Slice(0, n, m, n), x.Slice(m, 0, m, n), x.Slice(m, n, m, n)
}

// temporary returns a rows×cols matrix in the first elements of work, and the rest
// of work.
func temporary[T gemm.Float](work []T, rows, cols int) (gemm.Matrix[T], []T) {
	return gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: work[:rows*cols]}, work[rows*cols:]
}

// add computes Z = X + Y; Z may be X or Y.
func add[T gemm.Float](z, x, y gemm.Matrix[T]) {
	for i := range z.Rows {
		to, from, also := z.Row(i), x.Row(i)[:z.Cols], y.Row(i)[:z.Cols]
		for j := range to {
			to[j] = from[j] + also[j]
		}
	}
}

// subtract computes Z = X − Y; Z may be X or Y.
func subtract[T gemm.Float](z, x, y gemm.Matrix[T]) {
	for i := range z.Rows {
		to, from, less := z.Row(i), x.Row(i)[:z.Cols], y.Row(i)[:z.Cols]
		for j := range to {
			to[j] = from[j] - less[j]
		}
	}
}

// workspace returns the elements of the temporaries of all levels. One level's
// are a quarter of the operands, at most; all together a third.
func (s scheme) workspace(m, n, k, cutoff int) int {
	need := 0
	for min(m, n, k) > cutoff {
		m, n, k = m/2, n/2, k/2
		need += s.temporaries(m, n, k)
	}
	return need
}

// model predicts the costs of the recursion: those of the additions, the peeled
// parts and the leaves, level by level.
func (s scheme) model(m, n, k int, p gemm.Params) gemm.Model {
	cutoff, leaf := p.Int("cutoff"), leafVariant(p.Text("leaf"))
	leafParams, err := leaf.Resolve(nil)
	if err != nil {
		panic(err) // the defaults of a variant are valid
	}
	if sizeOf(m, n, k).terms == 0 {
		return sizeOf(m, n, k).model(0, nil)
	}
	// part is one kind of product that the leaf computes.
	type part struct {
		times, zeroed float64 // how often, and the elements made zero before
		size
		gemm.Model
	}
	var parts []part
	products, sums := 1.0, 0.0 // of this level; additions so far
	largest := 0.0             // workspace of a leaf
	count := func(times, zeroed float64, m, n, k int) {
		model := leaf.Model(m, n, k, leafParams)
		largest = max(largest, model.Workspace)
		parts = append(parts, part{times, zeroed, sizeOf(m, n, k), model})
	}
	workspace := s.workspace(m, n, k, cutoff)
	whole := sizeOf(m, n, k)
	for min(m, n, k) > cutoff {
		m2, n2, k2 := m&^1, n&^1, k&^1
		if k > k2 {
			count(products, 0, m2, n2, 1)
		}
		if n > n2 {
			count(products, float64(m2), m2, 1, k)
		}
		if m > m2 {
			count(products, float64(n), 1, n, k)
		}
		m, n, k = m/2, n/2, k/2
		half := sizeOf(m, n, k)
		sums += products * (float64(s.sumsA)*half.a + float64(s.sumsB)*half.b + float64(s.sumsC)*half.c)
		products *= 7
	}
	count(products, float64(m)*float64(n), m, n, k)

	model := gemm.Model{Flops: sums, Accesses: 3 * sums, Workspace: float64(workspace) + largest}
	for _, part := range parts {
		model.Flops += part.times * part.Flops
		// A leaf's own model makes all of its C zero.
		model.Accesses += part.times * (part.Accesses - part.c + part.zeroed)
	}
	model.Traffic = func(cache, line float64) float64 {
		if whole.a+whole.b+whole.c+float64(workspace) <= cache {
			return whole.once()
		}
		// A sum reads two elements, and writes one after reading its line.
		traffic := 4 * sums
		for _, part := range parts {
			traffic += part.times * part.Traffic(cache, line)
		}
		return max(traffic, whole.once())
	}
	return model
}

// bound returns the bound on the error of the recursion, normwise: of an element
// of C against max|A|·max|B|. The differences of the schemes cancel, so that there
// is none componentwise (Higham, 2nd ed., section 23.2.2).
//
// Worst follows the rounding errors through the recursion, to all orders, from
// the leaf's k·γ_k up; its first-order part is
//
//	F = first(first(…(k₀²)…))
//
// for a leaf of k₀ terms. A peeled term adds its product, and one rounding of an
// element of C, which is at most k; the peeled rows and columns of C are classical
// products.
//
// Random: to first order the error of an element is Σ w_i·δ_i over all roundings
// δ_i, with Σ|w_i| ≤ F and every |w_i| ≤ W, the largest weight, so that
// Σ w_i² ≤ W·F. With δ_i independent, of mean zero and |δ_i| ≤ u, Hoeffding's
// inequality gives |Σ w_i·δ_i| ≤ λ·u·√(W·F) but for a probability of
// 2·exp(−λ²/2) an element; what is left of Worst, its higher orders, is added.
func (s scheme) bound() gemm.Bound {
	return gemm.Bound{
		Kind: gemm.Normwise,
		Worst: func(m, n, k int, p gemm.Params, u float64) float64 {
			return s.growth(m, n, k, p.Int("cutoff"), u).worst
		},
		Random: func(m, n, k int, p gemm.Params, u float64) float64 {
			g := s.growth(m, n, k, p.Int("cutoff"), u)
			lambda := gemm.Confidence(float64(m) * float64(n))
			higher := max(0, g.worst-u*g.first)
			return math.Min(g.worst, lambda*u*math.Sqrt(g.weight*g.first)+higher)
		},
		Largest: func(m, n, k int, p gemm.Params) float64 {
			// A rounding enters with the weight of the number that is rounded.
			return s.growth(m, n, k, p.Int("cutoff"), 0).weight
		},
	}
}

// growth is how the errors of a product have grown, for max|A| = max|B| = 1.
type growth struct {
	worst  float64 // bound on |Ĉ − C|
	first  float64 // its first-order part, over u
	weight float64 // bound on the weight of one rounding
}

// growth returns the growth of errors in an m×n×k product.
func (s scheme) growth(m, n, k, cutoff int, u float64) growth {
	terms := float64(k)
	classical := growth{worst: terms * gemm.Gamma(terms, u), first: terms * terms, weight: terms}
	if min(m, n, k) <= cutoff {
		return classical
	}
	g, half := s.growth(m/2, n/2, k/2, cutoff, u), float64(k/2)
	g = growth{s.error(g.worst, half, u), s.first(g.first, half), s.weight(g.weight, half)}
	if k%2 != 0 {
		g = growth{(g.worst+u)*(1+u) + terms*u, g.first + 1 + terms, max(g.weight, terms)}
	}
	if m%2 != 0 || n%2 != 0 {
		g = growth{max(g.worst, classical.worst), max(g.first, classical.first), max(g.weight, terms)}
	}
	return g
}

// rounding returns (1+u)^times − 1, the relative error of so many roundings.
func rounding(times, u float64) float64 { return math.Expm1(times * math.Log1p(u)) }

// newRecursion returns the constructor of a recursion.
func newRecursion[T gemm.Float](s scheme, step func(r *recursion[T], ctx context.Context, c, a, b gemm.Matrix[T], work []T) error) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		leaf, err := newLeaf[T](p.Text("leaf"))
		if err != nil {
			return nil, err
		}
		return &recursion[T]{scheme: s, step: step, cutoff: p.Int("cutoff"), leaf: leaf}, nil
	}
}
