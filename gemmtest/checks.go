package gemmtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
)

// sizes are the values of each dimension; all combinations are tested.
var sizes = []int{0, 1, 2, 3, 5, 17}

// shapes are tested in addition: primes, powers of two and their neighbours, long and flat ones.
var shapes = [][3]int{
	{31, 37, 41}, {32, 32, 32}, {33, 31, 32}, {64, 64, 64}, {65, 63, 66}, {67, 1, 71},
	{1, 127, 3}, {127, 3, 1}, {2, 5, 129}, {1, 1, 300}, {61, 67, 0}, {100, 2, 2}, {2, 100, 7},
}

// shapes returns the shapes m, n, k that the suite multiplies. Under the race detector, which takes ten times as
// long, it is every third: what goroutines share depends little on the shape.
func (s Suite) shapes() [][3]int {
	all := slices.Clone(shapes)
	own := slices.Clone(s.Sizes)
	slices.Sort(own)
	for _, list := range [][]int{sizes, slices.Compact(own)} {
		for _, m := range list {
			for _, n := range list {
				for _, k := range list {
					all = append(all, [3]int{m, n, k})
				}
			}
		}
	}
	if !Raced {
		return all
	}
	var third [][3]int
	for i := 0; i < len(all); i += 3 {
		third = append(third, all[i])
	}
	return third
}

// call calls f and turns a panic into an error.
func call(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panicked: %v", p)
		}
	}()
	return f()
}

// product multiplies guarded copies of a and b and returns the fault, if any. check tests the result.
func product[T gemm.Element](u under[T], m, n, k int, gaps [3]int, a, b func(i, j int) T,
	check func(c gemm.Matrix[T]) error) error {
	ga, gb := newGuarded(u.kind, m, k, gaps[0], a), newGuarded(u.kind, k, n, gaps[1], b)
	gc := newGuarded(u.kind, m, n, gaps[2], func(int, int) T { return u.kind.sentinel })
	at := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%d×%d×%d, strides %d, %d, %d: %w", m, n, k, ga.Stride, gb.Stride, gc.Stride, err)
	}
	if err := call(func() error {
		return u.m.Multiply(context.Background(), gc.matrix(), ga.matrix(), gb.matrix())
	}); err != nil {
		return at(err)
	}
	return at(errors.Join(
		ga.changed("A", false), gb.changed("B", false), gc.changed("C", true),
		check(gc.matrix())))
}

// gaps are the guard zones between the rows of A, B and C.
var gaps = [][3]int{{0, 0, 0}, {3, 0, 1}, {1, 5, 2}}

// fieldKind is GF(2⁸).
func fieldKind() kind[gf256.Elem] {
	return kind[gf256.Elem]{
		sentinel: gf256.New(0xa5),
		small:    func(i int) gf256.Elem { return gf256.New(uint8(i)) },
		add:      gf256.Add,
		mul:      gf256.Mul,
		product:  fieldProduct,
	}
}

// drawn returns a function that draws elements with exact products: any elements of GF(2⁸), otherwise integers from −2
// to 2. Their sums stay below 2²⁴ in Strassen's and Winograd's algorithms too, up to six levels of recursion.
func drawn[T gemm.Element](kind kind[T], rng *rand.Rand) func(i, j int) T {
	return func(int, int) T { return kind.small(rng.IntN(256)) }
}

// tabulated returns the rows×cols matrix of the elements.
func tabulated[T gemm.Element](rows, cols int, element func(i, j int) T) gemm.Matrix[T] {
	m := gemm.NewMatrix[T](rows, cols)
	for i := range rows {
		for j := range cols {
			m.Set(i, j, element(i, j))
		}
	}
	return m
}

// fieldProduct returns A·B in GF(2⁸) by the definition.
func fieldProduct(a, b gemm.Matrix[gf256.Elem]) gemm.Matrix[gf256.Elem] {
	c := gemm.NewMatrix[gf256.Elem](a.Rows, b.Cols)
	for i := range a.Rows {
		sums := c.Row(i)
		for l, x := range a.Row(i) {
			for j, y := range b.Row(l) {
				sums[j] = gf256.Add(sums[j], gf256.Mul(x, y))
			}
		}
	}
	return c
}

// conforms returns an error unless c is well-formed and as large as want.
func conforms[T, S gemm.Element](c gemm.Matrix[T], want gemm.Matrix[S]) error {
	if c.Rows != want.Rows || c.Cols != want.Cols {
		return fmt.Errorf("the result is %v, want %v", c, want)
	}
	return c.Check()
}

// equal returns an error unless c is want; NaN is not equal to NaN.
func equal[T gemm.Element](c, want gemm.Matrix[T]) error {
	if err := conforms(c, want); err != nil {
		return err
	}
	for i := range c.Rows {
		for j := range c.Cols {
			if got := c.At(i, j); !same(got, want.At(i, j)) {
				return fmt.Errorf("C(%d, %d) is %v, want %v", i, j, got, want.At(i, j))
			}
		}
	}
	return nil
}

// everyShape returns a check of one multiplier with every shape and every gap between rows.
func everyShape[T gemm.Element](check func(u under[T], rng *rand.Rand, shape, gap [3]int) error) func(under[T]) error {
	return func(u under[T]) error {
		rng := rand.New(rand.NewPCG(1, 2))
		for i, shape := range u.s.shapes() {
			if err := check(u, rng, shape, gaps[i%len(gaps)]); err != nil {
				return err
			}
		}
		return nil
	}
}

// exact multiplies matrices of one shape whose product is exact.
func exact[T gemm.Element](u under[T], rng *rand.Rand, shape, gap [3]int) error {
	m, n, k := shape[0], shape[1], shape[2]
	a, b := tabulated(m, k, drawn(u.kind, rng)), tabulated(k, n, drawn(u.kind, rng))
	return product(u, m, n, k, gap, a.At, b.At, func(c gemm.Matrix[T]) error {
		return equal(c, u.kind.product(a, b))
	})
}

// checkShapeErrors checks that malformed operands, and operands that do not conform, give ErrShape, and that nothing is
// written.
func checkShapeErrors[T gemm.Element](u under[T]) error {
	type operands [3]gemm.Matrix[T] // C, A, B
	short := func(m gemm.Matrix[T]) []T { return m.Data[:(m.Rows-1)*m.Stride+m.Cols-1] }
	spoil := map[string]func(*operands){
		"C has a row too many":       func(o *operands) { o[0].Rows++ },
		"C has a row too few":        func(o *operands) { o[0].Rows-- },
		"C has a column too few":     func(o *operands) { o[0].Cols-- },
		"A has a column too few":     func(o *operands) { o[1].Cols-- },
		"B has a row too few":        func(o *operands) { o[2].Rows-- },
		"B has a column too few":     func(o *operands) { o[2].Cols-- },
		"C is empty":                 func(o *operands) { o[0] = gemm.Matrix[T]{} },
		"A has negative rows":        func(o *operands) { o[1].Rows, o[0].Rows = -1, -1 },
		"B has negative columns":     func(o *operands) { o[2].Cols, o[0].Cols = -1, -1 },
		"the inner size is negative": func(o *operands) { o[1].Cols, o[2].Rows = -1, -1 },
		"C's stride is too small":    func(o *operands) { o[0].Stride = o[0].Cols - 1 },
		"A's stride is too small":    func(o *operands) { o[1].Stride = o[1].Cols - 1 },
		"B's stride is too small":    func(o *operands) { o[2].Stride = o[2].Cols - 1 },
		"C's stride is huge":         func(o *operands) { o[0].Stride = math.MaxInt },
		"A's stride is huge":         func(o *operands) { o[1].Stride = math.MaxInt/2 + 1 },
		"B's stride is huge":         func(o *operands) { o[2].Stride = math.MaxInt/2 + 1 },
		"C's data are short":         func(o *operands) { o[0].Data = short(o[0]) },
		"A's data are short":         func(o *operands) { o[1].Data = short(o[1]) },
		"B's data are short":         func(o *operands) { o[2].Data = short(o[2]) },
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, name := range slices.Sorted(maps.Keys(spoil)) {
		const m, n, k = 4, 5, 3
		c := newGuarded(u.kind, m, n, 2, func(int, int) T { return u.kind.sentinel })
		a, b := newGuarded(u.kind, m, k, 2, drawn(u.kind, rng)), newGuarded(u.kind, k, n, 2, drawn(u.kind, rng))
		o := operands{c.matrix(), a.matrix(), b.matrix()}
		spoil[name](&o)
		err := call(func() error { return u.m.Multiply(context.Background(), o[0], o[1], o[2]) })
		if !errors.Is(err, gemm.ErrShape) {
			return fmt.Errorf("%s: got %v, want ErrShape", name, err)
		}
		if err := errors.Join(c.changed("C", false), a.changed("A", false), b.changed("B", false)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkOverlap checks that a C that overlaps A or B gives ErrOverlap, that nothing is written, and that blocks of one
// matrix are multiplied.
func checkOverlap[T gemm.Element](u under[T]) error {
	rng := rand.New(rand.NewPCG(3, 5))
	const n = 9
	all := newGuarded(u.kind, 3*n, 3*n, 1, drawn(u.kind, rng))
	block := func(i, j int) gemm.Matrix[T] { return all.matrix().Slice(i, j, n, n) }
	for name, x := range map[string][3]gemm.Matrix[T]{
		"C is A": {block(0, 0), block(0, 0), block(n, n)}, "C is B": {block(0, 0), block(n, n), block(0, 0)},
		"a corner of C is in A": {block(n-1, n-1), block(0, 0), block(2*n, 2*n)},
	} {
		err := call(func() error { return u.m.Multiply(context.Background(), x[0], x[1], x[2]) })
		if !errors.Is(err, gemm.ErrOverlap) {
			return fmt.Errorf("%s: got %v, want ErrOverlap", name, err)
		}
		if err := all.changed("a matrix of blocks", false); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	err := call(func() error { return u.m.Multiply(context.Background(), block(0, n), block(0, 0), block(n, n)) })
	if err != nil {
		return fmt.Errorf("blocks of one matrix: %w", err)
	}
	return nil
}

// checkCancelled checks that a cancelled context gives the context's error, and the next context a product.
func checkCancelled[T gemm.Element](u under[T]) error {
	rng := rand.New(rand.NewPCG(5, 6))
	const m, n, k = 9, 8, 7
	c := newGuarded(u.kind, m, n, 1, func(int, int) T { return u.kind.sentinel })
	a, b := newGuarded(u.kind, m, k, 1, drawn(u.kind, rng)), newGuarded(u.kind, k, n, 1, drawn(u.kind, rng))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := call(func() error { return u.m.Multiply(ctx, c.matrix(), a.matrix(), b.matrix()) })
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("got %v from a cancelled context, want %v", err, context.Canceled)
	}
	if err := errors.Join(c.changed("C", true), a.changed("A", false), b.changed("B", false)); err != nil {
		return err
	}
	return exact(u, rng, [3]int{m, n, k}, [3]int{})
}

// checkEmpty checks that products without elements return at once, whatever their other dimensions are. A loop over
// such a dimension would not end.
func checkEmpty[T gemm.Element](u under[T]) error {
	const long = math.MaxInt >> 8
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, shape := range [][3]int{{long, 0, 0}, {0, long, 0}, {0, 0, long}} {
		m, n, k := shape[0], shape[1], shape[2]
		empty := func(rows, cols int) gemm.Matrix[T] { return gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols} }
		a, b, c := empty(m, k), empty(k, n), empty(m, n)
		at := func(what string, got error) error { return fmt.Errorf("%d×%d×%d%s: %w", m, n, k, what, got) }
		if err := inTime(func() error { return u.m.Multiply(context.Background(), c, a, b) }); err != nil {
			return at("", err)
		}
		if err := inTime(func() error { return u.m.Multiply(ctx, c, a, b) }); !errors.Is(err, context.Canceled) {
			return at(" with a cancelled context", cmp.Or(err, errors.New("got no error")))
		}
		for _, t := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			if err := inTime(func() error { return emptyGemm(u.m, t, a, b, c) }); err != nil {
				return at(fmt.Sprintf(", op %c%[1]c, α=2, β=3", t), err)
			}
		}
	}
	return nil
}

// emptyGemm computes C ← 2·op(A)·op(B) + 3·C if the multiplier is a Gemmer.
func emptyGemm[T gemm.Element](m gemm.Multiplier[T], t blas.Transpose, a, b, c gemm.Matrix[T]) error {
	if t != blas.NoTrans {
		a.Rows, a.Cols, a.Stride = a.Cols, a.Rows, a.Rows
		b.Rows, b.Cols, b.Stride = b.Cols, b.Rows, b.Rows
	}
	g, ok := gemm.As[gemm.Gemmer[T]](m)
	if !ok {
		return nil
	}
	return g.Gemm(context.Background(), t, t, gemm.FromFloat64[T](2), a, b, gemm.FromFloat64[T](3), c)
}

// checkPolled checks that a multiplier checks its context in the middle of a product, for matrices of
// all proportions: checks at the beginning and at the end are not enough. The products are not much
// larger than the work of the simplest loops between two checks.
func checkPolled[T gemm.Element](u under[T]) error {
	if u.s.OneCall {
		return nil
	}
	const few = 3 // checks before the loop, for the whole product and for a part
	for _, shape := range [][3]int{{1, 1 << 12, 1 << 12}, {1 << 11, 1 << 11, 1}, {1 << 8, 1 << 8, 1 << 7}} {
		m, n, k := shape[0], shape[1], shape[2]
		a, b, c := gemm.NewMatrix[T](m, k), gemm.NewMatrix[T](k, n), gemm.NewMatrix[T](m, n)
		ctx := NewCountdown(context.Background(), few)
		err := call(func() error { return u.m.Multiply(ctx, c, a, b) })
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%d×%d×%d: got %v from a context that was cancelled at check %d, want %v", m, n, k, err, few+1,
				context.Canceled)
		}
	}
	return nil
}

// checkModel checks that predictions are possible: an algorithm accesses each operand at least once, and a larger cache
// does not increase the traffic.
func checkModel[T gemm.Element](u under[T]) error {
	if u.v.Model == nil {
		return errors.New("there is no model")
	}
	for _, shape := range append(u.s.shapes(), [3]int{1000, 1000, 1000}, [3]int{5000, 300, 2000}) {
		m, n, k := shape[0], shape[1], shape[2]
		at := func(format string, args ...any) error {
			return fmt.Errorf("%d×%d×%d: %s", m, n, k, fmt.Sprintf(format, args...))
		}
		model := u.v.Model(gemm.Shape{M: m, N: n, K: k}, u.p)
		least := 0.0 // elements of the operands
		if m > 0 && n > 0 {
			least = float64(m)*float64(k) + float64(k)*float64(n) + float64(m)*float64(n)
		}
		for name, x := range map[string]float64{"flops": model.Flops, "workspace": model.Workspace} {
			if !(x >= 0) || math.IsInf(x, 0) {
				return at("%s are %v", name, x)
			}
		}
		if !(model.Accesses >= least) || math.IsInf(model.Accesses, 0) {
			return at("%v accesses to %v elements", model.Accesses, least)
		}
		before := math.Inf(1)
		for cache := 64.0; model.Traffic != nil && cache <= 1<<32; cache *= 4 {
			traffic := model.Traffic(cache, 8)
			if !(traffic >= least) || !(traffic <= before) {
				return at("traffic with a cache of %v elements is %v, with a quarter of it %v; the operands have %v elements",
					cache, traffic, before, least)
			}
			before = traffic
		}
		if gemm.TypeOf[T]().IsField() {
			continue // exact: there is no rounding to bound
		}
		roundoff := 0x1p-24
		worst, random := u.v.BoundWith(gemm.TypeOf[T]().Name, u.p).Worst(gemm.Shape{M: m, N: n, K: k}, u.p, roundoff),
			u.v.BoundWith(gemm.TypeOf[T]().Name, u.p).Random(gemm.Shape{M: m, N: n, K: k}, u.p, roundoff)
		if !(worst >= random) || !(random >= 0) {
			return at("the worst-case bound is %v, the bound for random operands %v", worst, random)
		}
	}
	return nil
}
