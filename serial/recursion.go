package serial

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"gemm"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
)

// recursion is the common part of Strassen's and Winograd's algorithms. It halves m, n and k. A
// scheme multiplies the quarters with seven products in place of eight, each by recursion. If
// another level does not pay, a leaf computes the product; see divides.
//
// An odd dimension is peeled (Huss-Lederman, Jacobson, Johnson, Tsao and Turnbull, Implementation
// of Strassen's Algorithm for Matrix Multiplication, Supercomputing 1996). The scheme computes the
// even part, and the leaf adds the contribution of the last row, column or term, O(n²) operations
// per level. Peeling needs no workspace, unlike padding, and any shape divides down to the cutoff.
type recursion[T gemm.Float] struct {
	scheme scheme
	step   step[T]
	cutoff int
	leaf   leaf[T]

	products []combination    // of a scheme that is an algorithm
	engine   *block.Engine[T] // that folds their additions; nil if none is folded

	kernel kernel.Kernel[T]
	loop   Loop
	idle   block.Idle[descent[T]]
}

// descent is what one product at a time needs, kept from one to the next.
type descent[T gemm.Float] struct {
	*recursion[T]
	work  []T // the temporaries of all levels
	terms [3][2]block.Term[T]
	sums  []addition[T]
	tiles func(worker, lo, hi int) // r.addTiles, made once: a method value is an allocation
}

// take returns a descent for a product.
func (r *recursion[T]) take() *descent[T] {
	d := r.idle.Take()
	if d == nil {
		d = &descent[T]{recursion: r}
		d.tiles = d.addTiles
	}
	return d
}

// scheme describes seven products, their cost, and how errors grow. Temporaries and additions are
// those of one level with the half dimensions m, n and k.
type scheme struct {
	algorithm   algorithm             // nil: it is written out, and its additions never folded
	temporaries func(m, n, k int) int // elements
	sums        additions
	again       int // quarters of C that an addition finds in L2, from the one before
	// grown returns the growth of errors in a product whose seven products, of k terms, have g.
	grown func(g growth, k, u float64) growth
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
	if !divides(c.Rows, c.Cols, a.Cols, r.cutoff) {
		return r.leaf.Multiply(ctx, c, a, b)
	}
	d := r.take()
	err := d.multiply(ctx, c, a, b, d.room(c.Rows, c.Cols, a.Cols))
	r.idle.Give(d)
	return err
}

// Twofold is a multiplier that computes the sum of two products as one.
type Twofold[T gemm.Element] interface {
	gemm.Multiplier[T]
	// MultiplyTwo computes C = A₀·B₀ + A₁·B₁, with A₀ and A₁ m×k, B₀ and B₁ k×n and C m×n.
	// The error is an ErrShape or ctx's; C is then undefined.
	MultiplyTwo(ctx context.Context, c gemm.Matrix[T], a, b [2]gemm.Matrix[T]) error
}

// MultiplyTwo implements Twofold. The two products are one: [A₀ A₁] times the rows of B₀ above the
// rows of B₁, whose quarters are halves of the matrices.
func (r *recursion[T]) MultiplyTwo(ctx context.Context, c gemm.Matrix[T], a, b [2]gemm.Matrix[T]) error {
	for i := range a {
		if err := gemm.CheckShapes(c, a[i], b[i]); err != nil {
			return err
		}
	}
	m, n, k := c.Rows, c.Cols, a[0].Cols
	if k != a[1].Cols {
		return fmt.Errorf("%w: A₀ is %v and A₁ %v, not as wide", gemm.ErrShape, a[0], a[1])
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// both leaves the rows×cols block of C at (i, j) to the leaf.
	both := func(i, j, rows, cols int) error {
		c := c.Slice(i, j, rows, cols)
		if err := r.leaf.Multiply(ctx, c, a[0].Slice(i, 0, rows, k), b[0].Slice(0, j, k, cols)); err != nil {
			return err
		}
		return r.leaf.accumulate(ctx, c, a[1].Slice(i, 0, rows, k), b[1].Slice(0, j, k, cols))
	}
	if !divides(m, n, 2*k, r.cutoff) {
		return both(0, 0, m, n)
	}
	h, w := m/2, n/2
	var x, y [4]gemm.Matrix[T]
	for i := range 4 {
		x[i], y[i] = a[i%2].Slice(i/2*h, 0, h, k), b[i/2].Slice(0, i%2*w, k, w)
	}
	d := r.take()
	err := d.level(ctx, quarters(c.Slice(0, 0, 2*h, 2*w)), x, y, d.room(m, n, 2*k))
	r.idle.Give(d)
	if err == nil && n > 2*w {
		err = both(0, 2*w, 2*h, 1)
	}
	if err == nil && m > 2*h {
		err = both(2*h, 0, 1, n)
	}
	return err
}

// room returns room for the temporaries of an m×n×k product.
func (r *descent[T]) room(m, n, k int) []T {
	if need := r.scheme.workspace(m, n, k, r.cutoff, r.engine != nil); need > cap(r.work) {
		r.work = make([]T, need)
		cpu.HugePages(unsafe.Pointer(unsafe.SliceData(r.work)), uintptr(need)*unsafe.Sizeof(r.work[0]))
	}
	return r.work[:cap(r.work)]
}

// level computes the quarters of C from the quarters of A and B, with temporaries from work.
func (r *descent[T]) level(ctx context.Context, c, a, b [4]gemm.Matrix[T], work []T) error {
	if r.engine != nil && !divides(c[0].Rows, c[0].Cols, a[0].Cols, r.cutoff) {
		return r.fold(ctx, c, a, b)
	}
	return r.step(r, ctx, c, a, b, work)
}

// multiply computes C = A·B with temporaries from work.
func (r *descent[T]) multiply(ctx context.Context, c, a, b gemm.Matrix[T], work []T) error {
	m, n, k := c.Rows, c.Cols, a.Cols
	if !divides(m, n, k, r.cutoff) {
		return r.leaf.Multiply(ctx, c, a, b)
	}
	m2, n2, k2 := m&^1, n&^1, k&^1
	even := c.Slice(0, 0, m2, n2)
	err := r.level(ctx, quarters(even), quarters(a.Slice(0, 0, m2, k2)), quarters(b.Slice(0, 0, k2, n2)), work)
	if err == nil && k > k2 { // the last term of every element
		err = r.leaf.accumulate(ctx, even, a.Slice(0, k2, m2, 1), b.Slice(k2, 0, 1, n2))
	}
	if err == nil && n > n2 {
		err = r.leaf.Multiply(ctx, c.Slice(0, n2, m2, 1), a.Slice(0, 0, m2, k), b.Slice(0, n2, k, 1))
	}
	if err == nil && m > m2 {
		err = r.leaf.Multiply(ctx, c.Slice(m2, 0, 1, n), a.Slice(m2, 0, 1, k), b)
	}
	return err
}

// lastLevel reports whether the halves of an m×n×k product are left to the leaf. Their
// additions can then be folded into it.
func lastLevel(m, n, k, cutoff int) bool { return !divides(m/2, n/2, k/2, cutoff) }

// divides reports whether an m×n×k product is halved. A level saves time in proportion to mnk, and
// costs time in proportion to mk + kn + mn. So it pays if the harmonic mean of m, n and k exceeds
// the cutoff, which is the break-even size of cubes (Higham, Exploiting Fast Matrix Multiplication
// Within the Level 3 BLAS, ACM TOMS 16(4), 1990, section 3).
func divides(m, n, k, cutoff int) bool {
	x, y, z := float64(m), float64(n), float64(k)
	return min(m, n, k) > 1 && 3*x*y*z > float64(cutoff)*(x*y+y*z+z*x)
}

// Undivided returns leaf if a recursion with the parameter cutoff does not halve the product once, and
// leaves all of it to the leaf. Otherwise it returns "".
func Undivided(s gemm.Shape, p gemm.Params, leaf string) string {
	if divides(s.M, s.N, s.K, p.Int("cutoff")) {
		return ""
	}
	return leaf
}

// fold computes C = A·B by the products of one level, the additions folded into the
// packing and the updates of the leaf.
func (r *descent[T]) fold(ctx context.Context, c, a, b [4]gemm.Matrix[T]) error {
	defer func() { r.terms = [3][2]block.Term[T]{} }() // lets go of the operands
	for _, p := range r.products {
		x, y, z := r.terms[0][:0], r.terms[1][:0], r.terms[2][:0]
		for _, q := range p.a {
			x = append(x, termOf(q, a))
		}
		for _, q := range p.b {
			y = append(y, termOf(q, b))
		}
		for _, q := range p.c {
			z = append(z, termOf(q, c))
		}
		if err := r.engine.Sum(ctx, c[0].Rows, c[0].Cols, a[0].Cols, x, y, z, p.fresh); err != nil {
			return err
		}
	}
	return nil
}

// termOf returns one of the quarters as a term of a sum.
func termOf[T gemm.Float](p part, quarters [4]gemm.Matrix[T]) block.Term[T] {
	x := quarters[p.quarter]
	return block.Term[T]{Data: x.Data, Stride: x.Stride, Sign: T(p.sign)}
}

// divideOnce is the step of a scheme that is an algorithm. It computes C = A·B by the products of
// one level, with three temporaries: a sum of A, a sum of B and a product.
func divideOnce[T gemm.Float](r *descent[T], ctx context.Context, c, a, b [4]gemm.Matrix[T], work []T) error {
	m, n, k := c[0].Rows, c[0].Cols, a[0].Cols
	s, work := temporary(work, m, k)
	t, work := temporary(work, k, n)
	p, work := temporary(work, m, n)
	for _, x := range r.products {
		to, others := p, x.c
		if x.fresh {
			to, others = c[x.c[0].quarter], x.c[1:]
		}
		if err := r.multiply(ctx, to, r.summed(s, a, x.a), r.summed(t, b, x.b), work); err != nil {
			return err
		}
		r.sums = r.sums[:0]
		for _, other := range others {
			z := c[other.quarter]
			r.sums = append(r.sums, addition[T]{z, z, T(other.sign), to})
		}
		r.addUp()
	}
	return nil
}

// summed returns a sum of quarters, in to if it has more than one.
func (r *descent[T]) summed(to gemm.Matrix[T], quarters [4]gemm.Matrix[T], parts []part) gemm.Matrix[T] {
	sum := quarters[parts[0].quarter]
	for _, p := range parts[1:] {
		r.add(addition[T]{to, sum, T(p.sign), quarters[p.quarter]})
		sum = to
	}
	return sum
}

// quarters returns the quarters 11, 12, 21 and 22 of a matrix of even dimensions.
func quarters[T gemm.Float](x gemm.Matrix[T]) (all [4]gemm.Matrix[T]) {
	rows, cols := x.Rows/2, x.Cols/2
	for i := range all {
		all[i] = x.Slice(i/2*rows, i%2*cols, rows, cols)
	}
	return all
}

// temporary returns a rows×cols matrix in the first elements of work, and the rest of work.
func temporary[T gemm.Float](work []T, rows, cols int) (gemm.Matrix[T], []T) {
	return gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: work[:rows*cols]}, work[rows*cols:]
}

// addition is Z = X + sign·Y; Z may be X or Y.
type addition[T gemm.Float] struct {
	z, x gemm.Matrix[T]
	sign T
	y    gemm.Matrix[T]
}

// Consecutive additions are done tile by tile. What one addition has read or written, the next
// finds in L2, which holds the tiles of this many matrices.
const (
	tileRows  = 8
	tileCols  = 512
	tilesHeld = 5
)

// add computes sums of matrices of one shape, one after the other.
func (r *descent[T]) add(sums ...addition[T]) {
	r.sums = append(r.sums[:0], sums...)
	r.addUp()
}

// addUp computes r.sums, if there are any.
func (r *descent[T]) addUp() {
	if len(r.sums) == 0 {
		return
	}
	defer clear(r.sums) // lets go of the operands
	r.loop.Run(r.loop.Workers(), (r.sums[0].z.Rows+tileRows-1)/tileRows, r.tiles)
}

// addTiles computes some rows of tiles of r.sums.
func (r *descent[T]) addTiles(_, lo, hi int) {
	z := &r.sums[0].z
	for i := lo * tileRows; i < min(hi*tileRows, z.Rows); i += tileRows {
		for j := 0; j < z.Cols; j += tileCols {
			for n := range r.sums {
				g := &r.sums[n]
				r.kernel.Add(min(tileRows, z.Rows-i), min(tileCols, z.Cols-j), g.z.Data[i*g.z.Stride+j:], g.z.Stride,
					g.x.Data[i*g.x.Stride+j:], g.x.Stride, g.sign, g.y.Data[i*g.y.Stride+j:], g.y.Stride)
			}
		}
	}
}

// workspace returns the elements of the temporaries of all levels, the last without where its additions are folded. One
// level's are a quarter of the operands, at most; all together a third.
func (s scheme) workspace(m, n, k, cutoff int, fold bool) int {
	need := 0
	for divides(m, n, k, cutoff) && !(fold && lastLevel(m, n, k, cutoff)) {
		m, n, k = m/2, n/2, k/2
		need += s.temporaries(m, n, k)
	}
	return need
}

// folds reports whether the scheme's additions are folded into the leaf: packed is the
// one that they can be folded into.
func (s scheme) folds(leaf string) bool { return s.algorithm != nil && leaf == foldingLeaf }

// foldingLeaf is the name of packed.
const foldingLeaf = "serial/packed"

// leafPart is one kind of product that the leaf of a recursion computes.
type leafPart struct {
	times, zeroed float64 // how often, and the elements made zero before
	size
	gemm.Model
}

// model predicts the cost of the recursion, level by level: the additions, the peeled parts and the leaves. leaf is the
// model of the leaf. folded is the workspace of a product that additions are folded into; nil: none are.
func (s scheme) model(shape gemm.Shape, cutoff int, leaf func(gemm.Shape) gemm.Model,
	folded func(m, n, k int) int) gemm.Model {
	whole := sizeOf(shape)
	if whole.terms == 0 {
		return whole.model(0, nil)
	}
	m, n, k := shape.M, shape.N, shape.K
	var parts []leafPart
	products := 1.0            // of this level
	sums, moved := 0.0, 0.0    // elements that are added so far, and that are moved for it
	again := 0.0               // those of moved that L2 has
	largest, zeros := 0.0, 1.0 // workspace of a leaf; share of its C that is made zero before
	count := func(times, zeroed float64, m, n, k int) {
		part := gemm.Shape{M: m, N: n, K: k}
		model := leaf(part)
		largest = max(largest, model.Workspace)
		parts = append(parts, leafPart{times, zeroed, sizeOf(part), model})
	}
	workspace := s.workspace(m, n, k, cutoff, folded != nil)
	for divides(m, n, k, cutoff) {
		last := lastLevel(m, n, k, cutoff)
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
		half := sizeOf(gemm.Shape{M: m, N: n, K: k})
		sums += products * s.sums.elements(half)
		if folded != nil && last {
			// One more term is read as it is packed, one more quarter of C read and written.
			moved += products * (s.sums.elements(half) + float64(s.sums.c)*half.c)
			largest, zeros = max(largest, float64(folded(m, n, k))), 0
		} else {
			// A sum reads two elements, and writes one after reading its line.
			moved += 4 * products * s.sums.elements(half)
			again += products * float64(s.again) * half.c
		}
		products *= 7
	}
	count(products, zeros*float64(m)*float64(n), m, n, k)

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
		traffic := moved
		if cache >= tilesHeld*tileRows*tileCols {
			traffic -= again
		}
		for _, part := range parts {
			traffic += part.times * part.Traffic(cache, line)
		}
		return max(traffic, whole.once())
	}
	return model
}

// bound returns the bound on the error of the recursion. It is normwise: for an element of C, compared with
// max|A|·max|B|. There is no componentwise bound, since the differences of the schemes cancel (Higham,
// 2nd ed., section 23.2.2).
//
// Worst follows the rounding errors through the recursion, to all orders, beginning with k·γ_k of the
// leaf. Its first-order part is
//
//	F = first(first(…(k₀²)…))
//
// for a leaf of k₀ terms. A peeled term adds its product and one rounding of an element of C, which is at
// most k. The peeled rows and columns of C are classical products.
//
// Random: to first order, the error of an element is Σ w_i·δ_i over all roundings δ_i, with Σ|w_i| ≤ F.
// Every |w_i| is at most W, the largest weight, so Σ w_i² ≤ W·F. If the δ_i are independent with mean
// zero and |δ_i| ≤ u, Hoeffding's inequality gives |Σ w_i·δ_i| ≤ λ·u·√(W·F), except with a probability
// of 2·exp(−λ²/2) per element. The higher orders of Worst are added.
func (s scheme) bound() gemm.Bound {
	return gemm.Bound{
		Kind: gemm.Normwise,
		Worst: func(shape gemm.Shape, p gemm.Params, u float64) float64 {
			return s.growth(shape.M, shape.N, shape.K, p.Int("cutoff"), u).worst
		},
		Random: func(shape gemm.Shape, p gemm.Params, u float64) float64 {
			g := s.growth(shape.M, shape.N, shape.K, p.Int("cutoff"), u)
			lambda := gemm.Confidence(float64(shape.M) * float64(shape.N))
			higher := max(0, g.worst-u*g.first)
			return math.Min(g.worst, lambda*u*math.Sqrt(g.weight*g.first)+higher)
		},
		Largest: func(shape gemm.Shape, p gemm.Params) float64 {
			// A rounding enters with the weight of the number that is rounded.
			return s.growth(shape.M, shape.N, shape.K, p.Int("cutoff"), 0).weight
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
	if !divides(m, n, k, cutoff) {
		return classical
	}
	g := s.grown(s.growth(m/2, n/2, k/2, cutoff, u), float64(k/2), u)
	if k%2 != 0 {
		g = growth{(g.worst+u)*(1+u) + terms*u, g.first + 1 + terms, max(g.weight, terms)}
	}
	if m%2 != 0 || n%2 != 0 {
		g = growth{max(g.worst, classical.worst), max(g.first, classical.first), max(g.weight, terms)}
	}
	return g
}

// rounding returns (1+u)^times − 1, the relative error of the given number of roundings.
func rounding(times, u float64) float64 { return math.Expm1(times * math.Log1p(u)) }

// step computes the quarters of C from the quarters of A and B, with temporaries from work.
type step[T gemm.Float] func(r *descent[T], ctx context.Context, c, a, b [4]gemm.Matrix[T], work []T) error

// newRecursion returns a recursion that ends in the leaf.
func newRecursion[T gemm.Float](s scheme, step step[T], cutoff int, leaf leaf[T], loop Loop) *recursion[T] {
	r := &recursion[T]{
		scheme: s, step: step, cutoff: cutoff, leaf: leaf,
		products: s.algorithm.products(), kernel: kernel.Best[T](), loop: loop,
	}
	if p, ok := leaf.(interface{ folding() *block.Engine[T] }); ok && s.algorithm != nil {
		r.engine = p.folding()
	}
	return r
}

// meanParam describes the cutoff of a recursion; untuned is its default on a host that was not tuned.
func meanParam(untuned int) gemm.Param {
	return cutoffParam(tunedCutoff(untuned), "harmonic mean of m, n and k of products that are not halved any more")
}

// recursionVariant describes a serial recursion, which changes one thing of parent. Its parameters
// are the cutoff and the leaf.
func recursionVariant(name, parent, doc string, parts []gemm.Part, s scheme, untuned int,
	f32 step[float32], f64 step[float64]) gemm.Variant {
	return gemm.Variant{
		Name:   name,
		Parent: parent,
		Class:  gemm.Fast,
		Leaf:   foldingLeaf,
		Parts:  parts,
		Doc:    doc,
		Params: []gemm.Param{
			meanParam(untuned),
			leafParam(foldingLeaf),
		},
		Model: func(shape gemm.Shape, p gemm.Params) gemm.Model {
			leaf := leafVariant(p.Text("leaf"))
			params, err := leaf.Resolve(nil)
			if err != nil {
				panic(err) // the defaults of a variant are valid
			}
			var folded func(m, n, k int) int
			if s.folds(p.Text("leaf")) {
				folded = sumWorkspace(block.Serial)
			}
			return s.model(shape, p.Int("cutoff"), func(s gemm.Shape) gemm.Model { return leaf.Model(s, params) }, folded)
		},
		Ran:   func(s gemm.Shape, p gemm.Params) string { return Undivided(s, p, p.Text("leaf")) },
		Bound: s.bound(),
		F32:   newSerial(s, f32),
		F64:   newSerial(s, f64),
	}
}

// newSerial returns the constructor of a serial recursion.
func newSerial[T gemm.Float](s scheme, step step[T]) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		leaf, err := newLeaf[T](p.Text("leaf"))
		if err != nil {
			return nil, err
		}
		return newRecursion(s, step, p.Int("cutoff"), leaf, block.Serial), nil
	}
}

// sumWorkspace returns the workspace of products of sums, in elements of the type that has more.
func sumWorkspace(loop Loop) func(m, n, k int) int {
	f64, f32 := block.Host[float64](loop), block.Host[float32](loop)
	return func(m, n, k int) int { return max(f64.SumWorkspace(m, n, k), f32.SumWorkspace(m, n, k)) }
}
