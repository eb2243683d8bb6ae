package gemmtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gemm"
)

// problem is a product whose result is exact and known.
type problem[T gemm.Element] struct{ a, b, want gemm.Matrix[T] }

// newProblem draws operands.
func newProblem[T gemm.Element](kind kind[T], rng *rand.Rand, m, n, k int) problem[T] {
	a, b := tabulated(m, k, drawn(kind, rng)), tabulated(k, n, drawn(kind, rng))
	return problem[T]{a, b, kind.product(a, b)}
}

// solve multiplies. busy is true if the multiplier refused with an ErrBusy that names the variant,
// and wrote nothing. It is an error if neither that holds nor the result is right.
func (p problem[T]) solve(u under[T], ctx context.Context) (busy bool, err error) {
	m, n, k := p.want.Rows, p.want.Cols, p.a.Cols
	c := newGuarded(u.kind, m, n, 1, func(int, int) T { return u.kind.sentinel })
	err = call(func() error { return u.m.Multiply(ctx, c.matrix(), p.a, p.b) })
	if errors.Is(err, gemm.ErrBusy) && strings.Contains(err.Error(), u.v.Name) {
		return true, c.changed("C", false)
	}
	if err == nil {
		err = errors.Join(c.changed("C", true), equal(c.matrix(), p.want))
	}
	if err != nil {
		err = fmt.Errorf("%d×%d×%d: %w", m, n, k, err)
	}
	return false, err
}

// hung is the time after which a few small products are considered to hang.
var hung = time.Minute

// inTime returns the error of f, or an error if f does not return in time.
func inTime(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- call(f) }()
	select {
	case err := <-done:
		return err
	case <-time.After(hung):
		return fmt.Errorf("does not return within %v", hung)
	}
}

// interrupted is a context that calls another function once, at the left-th check of the product.
type interrupted struct {
	context.Context
	left atomic.Int64
	do   func()
}

func (c *interrupted) Err() error {
	if c.left.Add(-1) == 0 {
		c.do()
	}
	return c.Context.Err()
}

// Countdown is a context that is cancelled after a number of calls of Err.
type Countdown struct {
	context.Context
	left atomic.Int64
}

// NewCountdown returns a context that is cancelled after the given number of checks.
func NewCountdown(ctx context.Context, checks int) *Countdown {
	c := &Countdown{Context: ctx}
	c.left.Store(int64(checks))
	return c
}

// Err implements context.Context.
func (c *Countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Left returns the number of checks that are left; it is negative after the cancellation.
func (c *Countdown) Left() int { return int(c.left.Load()) }

// CancelAt calls product with contexts that are cancelled at each of the first checks. The test fails
// unless the error is context.Canceled, after at most more further checks.
func CancelAt(t *testing.T, checks, more int, product func(ctx context.Context) error) {
	t.Helper()
	for left := range checks {
		ctx := NewCountdown(t.Context(), left)
		if err := product(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d checks: got %v", left, err)
		}
		if ctx.Left() < -more {
			t.Errorf("cancelled after %d checks: checked %d times more, want at most %d", left, -ctx.Left(), more)
		}
	}
}

// checkConcurrent calls the multiplier from several goroutines at the same time. Every product
// is right or refused with ErrBusy, none waits for another, and some are right.
func checkConcurrent[T gemm.Element](u under[T]) error {
	rng := rand.New(rand.NewPCG(13, 14))
	var problems []problem[T]
	// The last one is too large for the direct path of packed, with few elements of C, for which some variants
	// begin a loop each.
	shapes := [][3]int{{9, 8, 7}, {33, 21, 40}, {2, 90, 2900}}
	if u.s.Small {
		shapes = shapes[:2]
	}
	for _, s := range shapes {
		p := newProblem(u.kind, rng, s[0], s[1], s[2])
		busy, err := p.solve(u, context.Background())
		switch {
		case busy:
			return errors.New("is busy before the first product")
		case err != nil:
			return nil // the other checks find the fault of a single product
		}
		problems = append(problems, p)
	}
	return errors.Join(checkWithin(u, problems), checkStorm(u, problems))
}

// checkWithin starts products while another one is running, and waits for them within it.
func checkWithin[T gemm.Element](u under[T], problems []problem[T]) error {
	for _, outer := range problems {
		for checks := int64(1); checks <= 2; checks++ {
			var within error
			ctx := &interrupted{Context: context.Background()}
			ctx.left.Store(checks)
			ctx.do = func() {
				within = inTime(func() error {
					for _, inner := range problems {
						if _, err := inner.solve(u, context.Background()); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if _, err := outer.solve(u, ctx); err != nil || within != nil {
				return fmt.Errorf("products within a product of %d×%d×%d: %w", outer.want.Rows, outer.want.Cols, outer.a.Cols,
					errors.Join(err, within))
			}
		}
	}
	return nil
}

// checkStorm runs products on several goroutines without any synchronization.
func checkStorm[T gemm.Element](u under[T], problems []problem[T]) error {
	const goroutines, rounds = 4, 2
	var right atomic.Int64
	err := inTime(func() error {
		var all sync.WaitGroup
		errs := make([]error, goroutines)
		for g := range goroutines {
			all.Go(func() {
				for i := range rounds * len(problems) {
					busy, err := problems[(g+i)%len(problems)].solve(u, context.Background())
					if err != nil {
						errs[g] = err
						return
					}
					if !busy {
						right.Add(1)
					}
				}
			})
		}
		all.Wait()
		return errors.Join(errs...)
	})
	switch {
	case err != nil:
		return fmt.Errorf("%d goroutines: %w", goroutines, err)
	case right.Load() == 0:
		return fmt.Errorf("%d goroutines: every product was refused", goroutines)
	}
	return nil
}
