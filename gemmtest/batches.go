package gemmtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// batchCall computes an operation on batches.
type batchCall[T gemm.Number] func(ctx context.Context, op operation, a, b, c gemm.Batch[T]) error

// gemmCall computes a batch of one matrix.
func gemmCall[T gemm.Number](g gemm.Gemmer[T]) batchCall[T] {
	return func(ctx context.Context, op operation, a, b, c gemm.Batch[T]) error {
		number := gemm.FromFloat64[T]
		return g.Gemm(ctx, op.tA, op.tB, number(op.alpha), matrixOf(a), matrixOf(b), number(op.beta), matrixOf(c))
	}
}

// batchCalls returns how m computes batches: by a call, staged, or both.
func batchCalls[T gemm.Number](m any) map[string]batchCall[T] {
	number, calls := gemm.FromFloat64[T], map[string]batchCall[T]{}
	if g, ok := m.(gemm.BatchGemmer[T]); ok {
		calls["called"] = func(ctx context.Context, op operation, a, b, c gemm.Batch[T]) error {
			return g.GemmBatch(ctx, op.tA, op.tB, number(op.alpha), a, b, number(op.beta), c)
		}
	}
	if s, ok := m.(gemm.BatchStager[T]); ok {
		calls["staged"] = func(ctx context.Context, op operation, a, b, c gemm.Batch[T]) error {
			run, err := s.StageBatch(ctx, op.tA, op.tB, number(op.alpha), a, b, number(op.beta), c)
			if err != nil {
				return err
			}
			if _, err = run.Do(ctx); err == nil {
				err = run.Collect(ctx)
			}
			return errors.Join(err, run.Close())
		}
	}
	return calls
}

// checkBatches checks the batches of a multiplier that has them: small and ragged products, 1 and 1000 of them,
// transposes, scalars, gaps between rows and matrices, and that faulty batches are refused.
func checkBatches[T gemm.Number](u under[T]) error {
	spaces := []int{-1, 0, 5}
	if Raced { // what goroutines share does not depend on it
		spaces = spaces[2:]
	}
	rng := rand.New(rand.NewPCG(15, 16))
	for name, call := range batchCalls[T](u.m) {
		if !u.hasDefaults() {
			x := gemm.NewBatch[T](2, 3, 3)
			plain := operation{blas.NoTrans, blas.NoTrans, 1, 0}
			err := call(context.Background(), plain, x, x, gemm.NewBatch[T](2, 3, 3))
			if errors.Is(err, gemm.ErrUnavailable) {
				continue // there are no batches with these parameters
			}
		}
		for at, op := range combinations() {
			for i, shape := range [][4]int{{3, 3, 5, 4}, {1, 2, 1, 3}, {1000, 4, 4, 4}, {7, 33, 17, 65},
				{2, 130, 66, 9}, {3, 0, 2, 2}, {3, 2, 3, 0}} {
				if i > 0 && (at+i)%9 != 0 { // the first shape has all operations
					continue
				}
				for _, space := range spaces {
					if err := batchOnce(u, call, rng, shape, op, space); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
				}
			}
		}
		if err := batchErrors(u, call, rng); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// hasDefaults reports whether the parameters of the variant are its defaults.
func (u under[T]) hasDefaults() bool {
	defaults, err := u.v.Resolve(nil)
	return err == nil && defaults.String() == u.p.String()
}

// batchOnce checks one batch, of shape[0] products. A variant may refuse all but C = A·B.
func batchOnce[T gemm.Number](u under[T], compute batchCall[T], rng *rand.Rand, shape [4]int, op operation,
	space int) error {
	count, m, n, k := shape[0], shape[1], shape[2], shape[3]
	draw := drawn(u.kind, rng)
	old := func(int, int, int) T { return u.kind.sentinel }
	if op.beta != 0 {
		old = func(_, i, j int) T { return draw(i, j) }
	}
	var as, bs []gemm.Matrix[T] // op(A) and op(B) as they should be read
	for range count {
		as, bs = append(as, tabulated(m, k, draw)), append(bs, tabulated(k, n, draw))
	}
	operand := func(of []gemm.Matrix[T], t blas.Transpose, rows, cols, gap int) guarded[T] {
		element := func(x, i, j int) T { return of[x].At(i, j) }
		if t != blas.NoTrans {
			rows, cols = cols, rows
			element = func(x, i, j int) T { return of[x].At(j, i) }
		}
		if op.alpha == 0 {
			element = func(int, int, int) T { return u.kind.sentinel }
		}
		return newGuardedBatch(u.kind, count, rows, cols, gap, space, element)
	}
	a, b := operand(as, op.tA, m, k, 2), operand(bs, op.tB, k, n, 1)
	c := newGuardedBatch(u.kind, count, m, n, 3, space, old)
	was := gemm.Batch[T]{Count: count, Step: c.Step, Rows: m, Cols: n, Stride: c.Stride,
		Data: c.was[guard:]}
	err := call(func() error { return compute(context.Background(), op, a.Batch, b.Batch, c.Batch) })
	plain := op.tA == blas.NoTrans && op.tB == blas.NoTrans && op.alpha == 1 && op.beta == 0
	if errors.Is(err, gemm.ErrUnavailable) && !plain {
		return c.changed("C", false)
	}
	if err == nil {
		err = errors.Join(a.changed("A", false), b.changed("B", false), c.changed("C", true))
	}
	for x := 0; x < count && err == nil; x++ {
		want := tabulated(m, n, func(i, j int) T {
			sum := op.alpha * dot(k, func(l int) T { return as[x].At(i, l) }, func(l int) T { return bs[x].At(l, j) })
			if op.beta != 0 {
				sum += op.beta * gemm.ToFloat64(was.Nth(x).At(i, j))
			}
			return gemm.FromFloat64[T](sum)
		})
		err = equal(c.Nth(x), want)
	}
	if err != nil {
		return fmt.Errorf("a batch of %d of %d×%d×%d, op %c%c, α=%v, β=%v, steps %d, %d, %d: %w", count, m, n, k,
			op.tA, op.tB, op.alpha, op.beta, a.Step, b.Step, c.Step, err)
	}
	return nil
}

// batchErrors checks that faulty batches give ErrShape, and a cancelled context its error, and that nothing is written.
func batchErrors[T gemm.Number](u under[T], compute batchCall[T], rng *rand.Rand) error {
	draw := drawn(u.kind, rng)
	batch := func(rows, cols int) guarded[T] {
		return newGuardedBatch(u.kind, 3, rows, cols, 1, 2, func(_, i, j int) T { return draw(i, j) })
	}
	a, b, c := batch(3, 4), batch(4, 5), batch(3, 5)
	plain := operation{blas.NoTrans, blas.NoTrans, 1, 0}
	for name, spoil := range map[string]func(x *gemm.Batch[T]){
		"count 0":        func(x *gemm.Batch[T]) { x.Count = 0 },
		"count -1":       func(x *gemm.Batch[T]) { x.Count = -1 },
		"another count":  func(x *gemm.Batch[T]) { x.Count = 2 },
		"step 0":         func(x *gemm.Batch[T]) { x.Step = 0 },
		"a step below 0": func(x *gemm.Batch[T]) { x.Step = -x.Step },
		"a short step":   func(x *gemm.Batch[T]) { x.Step = (x.Rows-1)*x.Stride + x.Cols - 1 },
		"short data":     func(x *gemm.Batch[T]) { x.Data = x.Data[:(x.Count-1)*x.Step+(x.Rows-1)*x.Stride+x.Cols-1] },
		"a short stride": func(x *gemm.Batch[T]) { x.Stride = x.Cols - 1 },
		"another shape":  func(x *gemm.Batch[T]) { x.Rows++ },
	} {
		for i := range 3 {
			of := [3]gemm.Batch[T]{a.Batch, b.Batch, c.Batch}
			spoil(&of[i])
			err := call(func() error { return compute(context.Background(), plain, of[0], of[1], of[2]) })
			if !errors.Is(err, gemm.ErrShape) {
				return fmt.Errorf("%s of batch %c: got %v, want ErrShape", name, "ABC"[i], err)
			}
			if err := c.changed("C", false); err != nil {
				return fmt.Errorf("%s of batch %c: %w", name, "ABC"[i], err)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := compute(ctx, plain, a.Batch, b.Batch, c.Batch); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a batch with a cancelled context: got %v, want %v", err, context.Canceled)
	}
	return nil
}
