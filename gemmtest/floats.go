package gemmtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/half"
)

// numberKind returns the properties of a floating-point type.
func numberKind[T gemm.Number]() kind[T] {
	var sentinel T
	switch p := any(&sentinel).(type) {
	case *float32:
		*p = math.Float32frombits(0x7fc0dead)
	case *float64:
		*p = math.Float64frombits(0x7ff8_0000_dead_beef)
	case *half.F16:
		*p = half.FromBits[half.F16](0x7ead)
	case *half.BF16:
		*p = half.FromBits[half.BF16](0x7fed)
	}
	number := gemm.FromFloat64[T]
	return kind[T]{
		sentinel: sentinel,
		small:    func(i int) T { return number(float64(i%5 - 2)) },
		add:      func(a, b T) T { return number(gemm.ToFloat64(a) + gemm.ToFloat64(b)) },
		mul:      func(a, b T) T { return number(gemm.ToFloat64(a) * gemm.ToFloat64(b)) },
		product:  floatProduct[T],
		own: []named[T]{
			{"rounded", everyShape(rounded[T])},
			{"nonfinite", checkNonFinite[T]},
			{"gemm", checkGemm[T]},
			{"batches", checkBatches[T]},
		},
	}
}

// dot returns the sum of n products in float64, in which it is exact for small integers.
func dot[T gemm.Number](n int, a, b func(l int) T) (sum float64) {
	for l := range n {
		sum += gemm.ToFloat64(a(l)) * gemm.ToFloat64(b(l))
	}
	return sum
}

// widened returns the elements of m, row by row.
func widened[T gemm.Number](m gemm.Matrix[T]) []float64 {
	out := make([]float64, 0, m.Rows*m.Cols)
	for i := range m.Rows {
		for _, x := range m.Row(i) {
			out = append(out, gemm.ToFloat64(x))
		}
	}
	return out
}

// floatProduct returns A·B by the definition, with sums in float64, in which it is exact for small integers.
func floatProduct[T gemm.Number](a, b gemm.Matrix[T]) gemm.Matrix[T] {
	c, right, n := gemm.NewMatrix[T](a.Rows, b.Cols), widened(b), b.Cols
	sums := make([]float64, n)
	for i := range a.Rows {
		clear(sums)
		for l, x := range a.Row(i) {
			x := gemm.ToFloat64(x)
			for j, y := range right[l*n:][:n] {
				sums[j] += x * y
			}
		}
		for j, sum := range sums {
			c.Set(i, j, gemm.FromFloat64[T](sum))
		}
	}
	return c
}

// real draws numbers in (−1, 1) with full significands.
func real[T gemm.Number](rng *rand.Rand) func(i, j int) T {
	return func(int, int) T { return gemm.FromFloat64[T](2*rng.Float64() - 1) }
}

// precise is a product in higher precision, element (i, j) at i·cols+j.
type precise struct {
	rows, cols int
	hi, lo     []float64 // C = hi + lo
	abs        []float64 // |A||B|
	norms      float64   // max|A|·max|B|
	euclidean  float64   // max‖aᵢ‖₂·max‖bⱼ‖₂
}

// newPrecise computes A·B. Products of float32 are exact in float64, whose sums have twice the
// precision. For float64 the sums are pairs of float64 with about twice the precision (Ogita, Rump
// and Oishi, Accurate Sum and Dot Product, SIAM J. Sci. Comput. 26(6), 2005, algorithm 5.3).
func newPrecise[T gemm.Number](a, b gemm.Matrix[T]) precise {
	size := a.Rows * b.Cols
	p := precise{rows: a.Rows, cols: b.Cols, hi: make([]float64, size), lo: make([]float64, size),
		abs: make([]float64, size)}
	left, right, k, n := widened(a), widened(b), a.Cols, b.Cols
	for i := range a.Rows {
		hi, lo, abs := p.hi[i*n:][:n], p.lo[i*n:][:n], p.abs[i*n:][:n]
		for l, x := range left[i*k:][:k] {
			for j, y := range right[l*n:][:n] {
				product := float64(x * y) // not to be fused with the sum
				rest := math.FMA(x, y, -product)
				sum := hi[j] + product
				z := sum - hi[j]
				rest += (hi[j] - (sum - z)) + (product - z)
				hi[j], lo[j] = sum, lo[j]+rest
				abs[j] += math.Abs(product)
			}
		}
	}
	p.norms, p.euclidean = largest(a)*largest(b), longest(left, a.Rows, k, k, 1)*longest(right, n, k, 1, n)
	return p
}

// longest returns the largest Euclidean norm of vectors of k numbers. They are `next` apart, and their numbers `step`.
func longest(x []float64, vectors, k, next, step int) (norm float64) {
	for v := range vectors {
		var of float64
		for p := range k {
			of = math.Hypot(of, x[v*next+p*step])
		}
		norm = max(norm, of)
	}
	return norm
}

// largest returns max|m|.
func largest[T gemm.Number](m gemm.Matrix[T]) float64 {
	var most float64
	for i := range m.Rows {
		for _, x := range m.Row(i) {
			most = max(most, math.Abs(gemm.ToFloat64(x)))
		}
	}
	return most
}

// within returns an error if an element of c differs from p by more than the bound of the kind, and by the rounding of
// the element to half precision.
func within[T gemm.Number](c gemm.Matrix[T], p precise, kind gemm.BoundKind, bound float64) error {
	if err := conforms(c, gemm.Matrix[T]{Rows: p.rows, Cols: p.cols}); err != nil {
		return err
	}
	of, least := gemm.TypeOf[T](), gemm.ToFloat64(leastOf[T]())
	for i := range c.Rows {
		for j := range c.Cols {
			at := i*p.cols + j
			scale := p.abs[at]
			switch kind {
			case gemm.Normwise:
				scale = p.norms
			case gemm.Euclidean:
				scale = p.euclidean
			}
			got := gemm.ToFloat64(c.At(i, j))
			limit := bound * scale
			if of.IsHalf() {
				limit += max(of.UnitRoundoff*(math.Abs(p.hi[at])+limit), least/2)
			}
			if err := math.Abs((got - p.hi[at]) - p.lo[at]); !(err <= limit) {
				return fmt.Errorf("C(%d, %d) is %v, want %v: off by %.3g, the %s bound is %.3g", i, j, got, p.hi[at], err,
					kind, limit)
			}
		}
	}
	return nil
}

// leastOf returns the least number of half precision above 0; 0 for other types.
func leastOf[T gemm.Number]() (x T) {
	switch p := any(&x).(type) {
	case *half.F16:
		*p = half.FromBits[half.F16](1)
	case *half.BF16:
		*p = half.FromBits[half.BF16](1)
	}
	return x
}

// rounded compares a product of random numbers with a product in higher precision; the limit is the bound for random
// operands.
func rounded[T gemm.Number](u under[T], rng *rand.Rand, shape, gap [3]int) error {
	m, n, k := shape[0], shape[1], shape[2]
	a, b := tabulated(m, k, real[T](rng)), tabulated(k, n, real[T](rng))
	bound := u.v.BoundWith(gemm.TypeOf[T]().Name, u.p)
	limit := bound.Random(gemm.Shape{M: m, N: n, K: k}, u.p, gemm.TypeOf[T]().SumRoundoff)
	return product(u, m, n, k, gap, a.At, b.At, func(c gemm.Matrix[T]) error {
		return within(c, newPrecise(a, b), bound.Kind, limit)
	})
}

// checkNonFinite multiplies matrices of small integers that contain zeros, NaN and Inf.
func checkNonFinite[T gemm.Number](u under[T]) error {
	if u.s.NonFinite == Undefined {
		return nil
	}
	rng := rand.New(rand.NewPCG(9, 10))
	for _, shape := range [][3]int{{1, 1, 1}, {2, 3, 2}, {5, 7, 6}, {18, 17, 19}, {33, 34, 35}} {
		for draw := range 15 {
			m, n, k := shape[0], shape[1], shape[2]
			// With this probability, about half of the elements of C are finite.
			rare := 0.3 / float64(k)
			sprinkled := func(int, int) T {
				switch x := rng.Float64(); {
				case x < rare:
					return gemm.FromFloat64[T](math.NaN())
				case x < 2*rare:
					return gemm.FromFloat64[T](math.Inf(1))
				case x < 3*rare:
					return gemm.FromFloat64[T](math.Inf(-1))
				default:
					return gemm.FromFloat64[T](float64(rng.IntN(5) - 2))
				}
			}
			a, b := tabulated(m, k, sprinkled), tabulated(k, n, sprinkled)
			want := tabulated(m, n, func(i, j int) T {
				var sum float64
				for l := range k {
					if x := gemm.ToFloat64(a.At(i, l)); u.s.NonFinite != SkipsZeros || x != 0 {
						sum += x * gemm.ToFloat64(b.At(l, j))
					}
				}
				return gemm.FromFloat64[T](sum)
			})
			err := product(u, m, n, k, gaps[draw%len(gaps)], a.At, b.At, func(c gemm.Matrix[T]) error {
				return sameClass(c, want, u.s.NonFinite == Spreads)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sameClass returns an error unless c equals want, with NaN and Inf in the same places. If NaN and
// Inf may spread, it is enough that the elements that are not finite in want are not finite in c.
func sameClass[T gemm.Number](c, want gemm.Matrix[T], spreads bool) error {
	if err := conforms(c, want); err != nil {
		return err
	}
	for i := range c.Rows {
		for j := range c.Cols {
			got, wanted := gemm.ToFloat64(c.At(i, j)), gemm.ToFloat64(want.At(i, j))
			ok := got == wanted || math.IsNaN(got) && math.IsNaN(wanted)
			if spreads {
				// x − x is 0 for finite x only.
				ok = ok || got-got != 0
			}
			if !ok {
				return fmt.Errorf("C(%d, %d) is %v, want %v", i, j, got, wanted)
			}
		}
	}
	return nil
}

// checkGemm checks the whole BLAS operation if u has it, on small integers and powers of two, for
// which it is exact. The first shape has every combination of transposes and scalars; other shapes
// have every seventh one, each with another start.
func checkGemm[T gemm.Number](u under[T]) error {
	g, ok := u.m.(gemm.Gemmer[T])
	if !ok {
		return nil
	}
	rng := rand.New(rand.NewPCG(11, 12))
	var all [][3]int
	for i, shape := range u.s.shapes() {
		if i%5 == 0 || shape[0]*shape[1]*shape[2] == 0 && i%2 == 0 {
			all = append(all, shape)
		}
	}
	ops := combinations()
	for i, shape := range all {
		first, step := i%7, 7
		if i == 0 {
			step = 1
		}
		for at := first; at < len(ops); at += step {
			if err := batchOnce(u, gemmCall(g), rng, [4]int{1, shape[0], shape[1], shape[2]}, ops[at], 0); err != nil {
				return err
			}
		}
	}
	return errors.Join(gemmSpreads(u, g), gemmErrors(u, g, rng))
}

// operation is C = alpha·op(A)·op(B) + beta·C.
type operation struct {
	tA, tB      blas.Transpose
	alpha, beta float64
}

// combinations returns all operations that checkGemm checks.
func combinations() (all []operation) {
	for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans} {
		for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans} {
			for _, scalars := range [][2]float64{{1, 0}, {1, 1}, {-2, 0.5}, {0.5, -1}, {0, 2}, {0, 0}} {
				all = append(all, operation{tA, tB, scalars[0], scalars[1]})
			}
		}
	}
	return all
}

// stored returns the memory of an operand that is rows×cols after op.
func stored[T gemm.Element](kind kind[T], t blas.Transpose, rows, cols, gap int, op gemm.Matrix[T]) guarded[T] {
	if t == blas.NoTrans {
		return newGuarded(kind, rows, cols, gap, op.At)
	}
	return newGuarded(kind, cols, rows, gap, func(i, j int) T { return op.At(j, i) })
}

// gemmSpreads checks that a NaN in C stays NaN if β is not 0.
func gemmSpreads[T gemm.Number](u under[T], g gemm.Gemmer[T]) error {
	for _, alpha := range []float64{0, 1} {
		a, b, c := gemm.NewMatrix[T](3, 4), gemm.NewMatrix[T](4, 5), gemm.NewMatrix[T](3, 5)
		c.Set(1, 2, u.kind.sentinel)
		if err := g.Gemm(context.Background(), blas.NoTrans, blas.NoTrans, gemm.FromFloat64[T](alpha), a, b,
			gemm.FromFloat64[T](2), c); err != nil {
			return err
		}
		want := gemm.NewMatrix[T](3, 5)
		want.Set(1, 2, u.kind.sentinel)
		if err := sameClass(c, want, false); err != nil {
			return fmt.Errorf("α=%v, β=2, NaN in C: %w", alpha, err)
		}
	}
	return nil
}

// gemmErrors checks that op(A), op(B) and C that do not conform give ErrShape, that nothing is written, and that a
// cancelled context gives its error.
func gemmErrors[T gemm.Number](u under[T], g gemm.Gemmer[T], rng *rand.Rand) error {
	const m, n, k = 3, 4, 5
	zero, one := gemm.FromFloat64[T](0), gemm.FromFloat64[T](1)
	for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
		for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			a := stored(u.kind, tA, m, k, 0, tabulated(m, k, drawn(u.kind, rng)))
			b := stored(u.kind, tB, k, n, 0, tabulated(k, n, drawn(u.kind, rng)))
			c := newGuarded(u.kind, m, n, 0, drawn(u.kind, rng))
			turned := func(t blas.Transpose) blas.Transpose {
				if t == blas.NoTrans {
					return blas.Trans
				}
				return blas.NoTrans
			}
			short := c.matrix()
			short.Data = short.Data[:len(short.Data)-1]
			for name, f := range map[string]func() error{
				"A transposed": func() error {
					return g.Gemm(context.Background(), turned(tA), tB, one, a.matrix(), b.matrix(), one, c.matrix())
				},
				"B transposed": func() error {
					return g.Gemm(context.Background(), tA, turned(tB), one, a.matrix(), b.matrix(), one, c.matrix())
				},
				"C's data short": func() error {
					return g.Gemm(context.Background(), tA, tB, one, a.matrix(), b.matrix(), zero, short)
				},
			} {
				if err := call(f); !errors.Is(err, gemm.ErrShape) {
					return fmt.Errorf("%s against op %c%c: got %v, want ErrShape", name, tA, tB, err)
				}
				if err := errors.Join(a.changed("A", false), b.changed("B", false), c.changed("C", false)); err != nil {
					return fmt.Errorf("%s against op %c%c: %w", name, tA, tB, err)
				}
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := g.Gemm(ctx, tA, tB, one, a.matrix(), b.matrix(), one, c.matrix()); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("gemm with a cancelled context: got %v, want %v", err, context.Canceled)
			}
		}
	}
	return nil
}
