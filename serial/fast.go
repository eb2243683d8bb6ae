package serial

import (
	"cmp"
	"context"
	"fmt"
	"unsafe"

	"gemm"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
)

// recursion is the common part of quadrants and of Strassen's and Winograd's algorithms. It halves m, n and k. A level
// multiplies the quarters with eight products, or with seven, each by recursion. If
// another level does not pay, a leaf computes the product; see divides.
//
// An odd dimension is peeled (Huss-Lederman, Jacobson, Johnson, Tsao and Turnbull, Implementation
// of Strassen's Algorithm for Matrix Multiplication, Supercomputing 1996). The level computes the
// even part, and the leaf adds the contribution of the last row, column or term, O(n²) operations
// per level. Peeling needs no workspace, unlike padding, and any shape divides down to the cutoff.
type recursion[T gemm.Float] struct {
	scheme scheme
	level  level[T]
	cutoff int
	leaf   leaf[T]
	engine *block.Engine[T] // of the leaf, if the last level folds its additions into it; otherwise nil
	loop   Loop
	idle   block.Idle[workspace[T]]
}

// level computes the quarters of C from the quarters of A and B. Its temporaries are the first elements
// of free; its products have the others.
type level[T gemm.Float] func(ctx context.Context, r *recursion[T], c, a, b quarters[T], d *adder[T], free []T) error

// quarters are the quarters 11, 12, 21 and 22 of a matrix.
type quarters[T gemm.Float] [4]gemm.Matrix[T]

// workspace is the memory of one product, kept for the next.
type workspace[T gemm.Float] struct {
	adder       *adder[T]
	temporaries []T // of all levels
}

// newRecursion returns a recursion that ends in the leaf.
func newRecursion[T gemm.Float](s scheme, level level[T], cutoff int, leaf leaf[T], loop Loop) *recursion[T] {
	r := &recursion[T]{scheme: s, level: level, cutoff: cutoff, leaf: leaf, loop: loop}
	if p, ok := leaf.(interface{ folding() *block.Engine[T] }); ok && s.folds {
		r.engine = p.folding()
	}
	return r
}

// take returns the workspace of an m×n×k product.
func (r *recursion[T]) take(m, n, k int) *workspace[T] {
	w := r.idle.Take()
	if w == nil {
		w = &workspace[T]{adder: newAdder[T](r.loop)}
	}
	if need := r.scheme.workspace(m, n, k, r.cutoff, r.engine != nil); need > cap(w.temporaries) {
		w.temporaries = make([]T, need)
		cpu.HugePages(unsafe.Pointer(unsafe.SliceData(w.temporaries)), uintptr(need)*unsafe.Sizeof(w.temporaries[0]))
	}
	return w
}

func (r *recursion[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := cmp.Or(gemm.CheckShapes(c, a, b), ctx.Err()); err != nil {
		return err
	}
	if c.Rows == 0 || c.Cols == 0 || a.Cols == 0 {
		Zero(c)
		return nil
	}
	w := r.take(c.Rows, c.Cols, a.Cols)
	err := r.multiply(ctx, c, a, b, w.adder, w.temporaries)
	r.idle.Give(w)
	return err
}

// multiply computes C = A·B with temporaries from free. No dimension is 0.
func (r *recursion[T]) multiply(ctx context.Context, c, a, b gemm.Matrix[T], d *adder[T], free []T) error {
	m, n, k := c.Rows, c.Cols, a.Cols
	if !divides(m, n, k, r.cutoff) {
		return r.leaf.Multiply(ctx, c, a, b)
	}
	m2, n2, k2 := m&^1, n&^1, k&^1
	even := c.Slice(0, 0, m2, n2)
	err := r.level(ctx, r, quartersOf(even), quartersOf(a.Slice(0, 0, m2, k2)), quartersOf(b.Slice(0, 0, k2, n2)),
		d, free)
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

// Twofold is a multiplier that computes the sum of two products as one.
type Twofold[T gemm.Element] interface {
	gemm.Multiplier[T]
	// MultiplyTwo computes C = A₀·B₀ + A₁·B₁, with A₀ and A₁ m×k, B₀ and B₁ k×n and C m×n.
	// The error is an ErrShape or ctx.Err(); C is then undefined.
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
	if m == 0 || n == 0 || k == 0 {
		Zero(c)
		return nil
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
	var x, y quarters[T]
	for i := range 4 {
		x[i], y[i] = a[i%2].Slice(i/2*h, 0, h, k), b[i/2].Slice(0, i%2*w, k, w)
	}
	space := r.take(m, n, 2*k)
	err := r.level(ctx, r, quartersOf(c.Slice(0, 0, 2*h, 2*w)), x, y, space.adder, space.temporaries)
	r.idle.Give(space)
	if err == nil && n > 2*w {
		err = both(0, 2*w, 2*h, 1)
	}
	if err == nil && m > 2*h {
		err = both(2*h, 0, 1, n)
	}
	return err
}

// quartersOf returns the quarters of a matrix of even dimensions.
func quartersOf[T gemm.Float](x gemm.Matrix[T]) (all quarters[T]) {
	rows, cols := x.Rows/2, x.Cols/2
	for i := range all {
		all[i] = x.Slice(i/2*rows, i%2*cols, rows, cols)
	}
	return all
}

// temporary returns a rows×cols matrix in the first elements of free, and the rest of free.
func temporary[T gemm.Float](free []T, rows, cols int) (gemm.Matrix[T], []T) {
	return gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: free[:rows*cols]}, free[rows*cols:]
}

// adder adds matrices on the workers of a loop. Consecutive additions are done tile by tile. What one
// addition has read or written, the next finds in L2, which holds the tiles of tilesHeld matrices.
type adder[T gemm.Float] struct {
	kernel kernel.Kernel[T]
	loop   Loop
	sums   []addition[T]            // of the call
	tiles  func(worker, lo, hi int) // addTiles, made once: a method value is an allocation
}

// addition is Z = X + sign·Y; Z may be X or Y.
type addition[T gemm.Float] struct {
	z, x gemm.Matrix[T]
	sign T
	y    gemm.Matrix[T]
}

const (
	tileRows  = 8
	tileCols  = 512
	tilesHeld = 5
)

func newAdder[T gemm.Float](loop Loop) *adder[T] {
	d := &adder[T]{kernel: kernel.Best[T](), loop: loop}
	d.tiles = d.addTiles
	return d
}

// add computes sums of matrices of one shape, one after the other. There may be none.
func (d *adder[T]) add(sums ...addition[T]) {
	if len(sums) == 0 {
		return
	}
	d.sums = append(d.sums[:0], sums...)
	d.loop.Run(d.loop.Workers(), (sums[0].z.Rows+tileRows-1)/tileRows, d.tiles)
	clear(d.sums) // releases the operands
}

// addTiles computes some rows of tiles of the sums.
func (d *adder[T]) addTiles(_, lo, hi int) {
	z := &d.sums[0].z
	for i := lo * tileRows; i < min(hi*tileRows, z.Rows); i += tileRows {
		for j := 0; j < z.Cols; j += tileCols {
			for n := range d.sums {
				g := &d.sums[n]
				d.kernel.Add(min(tileRows, z.Rows-i), min(tileCols, z.Cols-j), g.z.Data[i*g.z.Stride+j:], g.z.Stride,
					g.x.Data[i*g.x.Stride+j:], g.x.Stride, g.sign, g.y.Data[i*g.y.Stride+j:], g.y.Stride)
			}
		}
	}
}

// meanDoc describes the cutoff of recursions that halve m, n and k at once.
const meanDoc = "harmonic mean of m, n and k of products that are not halved any more"

// fastVariant describes a serial recursion, which changes one thing of parent. Its parameters
// are the cutoff and the leaf.
func fastVariant(name, parent, doc string, s scheme, f32 level[float32], f64 level[float64]) gemm.Variant {
	return gemm.Variant{
		Name:   name,
		Parent: parent,
		Class:  gemm.Fast,
		Leaf:   foldingLeaf,
		Doc:    doc,
		Params: []gemm.Param{
			cutoffParam(tunedCutoff(s.untuned()), meanDoc),
			leafParam(foldingLeaf),
		},
		Model: s.serialModel,
		Ran:   func(s gemm.Shape, p gemm.Params) string { return Undivided(s, p.Int("cutoff"), p.Text("leaf")) },
		Bound: s.bound(func(p gemm.Params) int { return p.Int("cutoff") }),
		F32:   newFast(s, f32),
		F64:   newFast(s, f64),
	}
}

// newFast returns the constructor of a serial recursion.
func newFast[T gemm.Float](s scheme, level level[T]) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		leaf, err := newLeaf[T](p.Text("leaf"))
		if err != nil {
			return nil, err
		}
		return newRecursion(s, level, p.Int("cutoff"), leaf, block.Serial), nil
	}
}
