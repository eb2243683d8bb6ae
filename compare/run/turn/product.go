package turn

import (
	"context"
	"errors"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/verify"
	"gemm/internal/sample"
)

// problem is operands, and what verifies the result.
type problem interface {
	// Poison fills C with elements that no product has, and Restore fills it with what it has before the product.
	Poison()
	Restore()
	// Check verifies C.
	Check(limit verify.Limit) verify.Verdict
}

// multiplication is the product of a problem, of any element type.
type multiplication struct {
	problem
	// multiply computes the product that many times.
	multiply func(ctx context.Context, times int) error
	// stage places the operands where the product is computed; nil: in this process.
	stage func(ctx context.Context) (gemm.Run, error)
}

// multiplying returns the multiplication of a problem by call or, unless it is nil, by place.
func multiplying[P problem](of P, call func(ctx context.Context, of P, times int) error,
	place func(ctx context.Context, of P) (gemm.Run, error)) multiplication {
	m := multiplication{problem: of}
	m.multiply = func(ctx context.Context, times int) error { return call(ctx, of, times) }
	if place != nil {
		m.stage = func(ctx context.Context) (gemm.Run, error) { return place(ctx, of) }
	}
	return m
}

// drawIntegers draws the operands of the exact check, unless there are some that fit.
func (p *product) drawIntegers() {
	of := p.draw()
	p.integers = &of
}

// checkIntegers multiplies integers with the same shape and parameters as the timed product, and checks that the result
// is exact. An error that would be lost among the rounding errors, such as one missing term of a sum, shows here.
func (p *product) checkIntegers(ctx context.Context) (verdict verify.Verdict, err error) {
	if p.integers == nil {
		p.drawIntegers()
	}
	of := *p.integers
	p.integers = nil
	of.Poison()
	if of.stage != nil {
		err = of.computeStaged(ctx)
	} else {
		of.Restore()
		err = of.multiply(ctx, 1)
	}
	if err != nil {
		return verify.Verdict{}, err
	}
	onAllProcessors(func() { verdict = of.Check(verify.Limit{Kind: gemm.Componentwise}) })
	return verdict, nil
}

// computeStaged computes the product once on staged operands.
func (m multiplication) computeStaged(ctx context.Context) error {
	staged, err := m.stage(ctx)
	if err != nil {
		return err
	}
	if _, err = staged.Do(ctx); err == nil {
		err = staged.Collect(ctx)
	}
	return errors.Join(err, staged.Close())
}

// prepareProduct prepares one product, and not an iterated one.
func prepareProduct[T gemm.Element](t *candidate, m gemm.Multiplier[T], s *operandCache[T]) error {
	c, place := t.c, stager(m, t.c)
	call, err := caller(m, c)
	if err != nil {
		return err
	}
	workers := 1
	var touch func(c, a, b gemm.Matrix[T])
	if toucher, ok := m.(record.Toucher[T]); ok && c.Plain() {
		workers, touch = t.busy, toucher.Touch
	}
	timed, p := s.draw(t.b, c, workers, touch), verificationOf[T](c)
	p.assures = timed.verifier.Assures(p.limit)
	t.product.timed, t.product.verification = multiplying(timed, call, place), p
	t.product.draw = func() multiplication {
		return multiplying(s.drawIntegers(c, t.b.Seed, p.magnitude), call, place)
	}
	return nil
}

// repeat calls f that many times. It is inlined, with f.
func repeat(times int, f func() error) error {
	for range times {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// verificationOf returns what verifies an operation of the case.
func verificationOf[T gemm.Element](c plan.Case) verification {
	return verification{
		limit:     verify.Useful[T](verify.LimitOf[T](c.Variant, c.Shape, c.Resolved(), c.Alpha, c.Beta, true)),
		magnitude: verify.ExactIntegers[T](c.Variant, c.Shape, c.Resolved(), c.Alpha, c.Beta),
	}
}

// errNoGemmer: the case asks for more than C = A·B of a variant that has no more.
var errNoGemmer = errors.New("computes C = A·B only, without transposes, α and β: " +
	"choose a production variant such as serial/packed, and another type than gf256")

// stager returns how m stages the operation of the case; nil: it does not.
func stager[T gemm.Element](m gemm.Multiplier[T], c plan.Case) func(ctx context.Context, o operands[T]) (gemm.Run,
	error) {
	if c.Plain() {
		if s, ok := m.(gemm.Stager[T]); ok {
			return func(ctx context.Context, o operands[T]) (gemm.Run, error) {
				return s.Stage(ctx, o.C, o.A, o.B)
			}
		}
		return nil
	}
	g, ok := gemm.As[gemm.GemmStager[T]](m)
	if !ok {
		return nil
	}
	tA, tB := c.Transposes()
	return func(ctx context.Context, o operands[T]) (gemm.Run, error) {
		o.Restore()
		return g.StageGemm(ctx, tA, tB, gemm.FromFloat64[T](c.Alpha), o.A, o.B, gemm.FromFloat64[T](c.Beta), o.C)
	}
}

// caller returns how m computes the case a number of times, or why it cannot.
func caller[T gemm.Element](m gemm.Multiplier[T], c plan.Case) (func(ctx context.Context, o operands[T],
	times int) error,
	error) {
	if c.Plain() {
		return func(ctx context.Context, o operands[T], times int) error {
			return repeat(times, func() error { return m.Multiply(ctx, o.C, o.A, o.B) })
		}, nil
	}
	g, ok := gemm.As[gemm.Gemmer[T]](m)
	if !ok {
		return nil, gemm.Unavailablef("%s %w", c.Variant.Name, errNoGemmer)
	}
	tA, tB := c.Transposes()
	alpha, beta := gemm.FromFloat64[T](c.Alpha), gemm.FromFloat64[T](c.Beta)
	return func(ctx context.Context, o operands[T], times int) error {
		return repeat(times, func() error { return g.Gemm(ctx, tA, tB, alpha, o.A, o.B, beta, o.C) })
	}, nil
}

// callOverhead returns the time of a product of 1×1 matrices, the median of some batches; 0 if it fails.
func callOverhead[T gemm.Element](ctx context.Context, m gemm.Multiplier[T]) time.Duration {
	a, b, c := gemm.NewMatrix[T](1, 1), gemm.NewMatrix[T](1, 1), gemm.NewMatrix[T](1, 1)
	s := sample.Sampler{Inner: 100, Call: func(ctx context.Context, times int) (time.Duration, error) {
		start := time.Now()
		err := repeat(times, func() error { return m.Multiply(ctx, c, a, b) })
		return time.Since(start), err
	}}
	if s.Burst(ctx, sample.Budget{Reps: 10}) != nil {
		return 0
	}
	return time.Duration(sample.Summarize(s.Seconds).Median * float64(time.Second))
}
