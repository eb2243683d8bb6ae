package tune

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/verify"
	"gemm/internal/block"
	"gemm/internal/sample"
)

// workload is a product with which implementations are verified and measured.
type workload[T gemm.Float] struct {
	gemm.Shape
	verify.Operands[T]
	verifier verify.Verifier[T]
	limit    verify.Limit
	viewA    block.View[T]
	viewB    block.View[T]
}

// newWorkload returns a product of the shape, with A stored transposed or not. Results may have the error bound of v
// with the parameters.
func newWorkload[T gemm.Float](s gemm.Shape, trans blas.Transpose, v gemm.Variant,
	p gemm.Params) (*workload[T], error) {
	p, err := v.Resolve(p)
	if err != nil {
		return nil, err
	}
	l := verify.Layout{Shape: s, TransA: trans, TransB: blas.NoTrans, Alpha: 1, LDA: s.K, LDB: s.N, LDC: s.N}
	if trans != blas.NoTrans {
		l.LDA = s.M
	}
	w := &workload[T]{
		Shape: s, Operands: verify.Draw[T](l, 1, nil),
		limit: verify.LimitOf[T](v, s, p, 1, 0, true),
	}
	w.verifier = verify.New(w.Operation, 1)
	w.viewA = block.View[T]{Data: w.A.Data, Row: w.A.Stride, Col: 1}
	if trans != blas.NoTrans {
		w.viewA.Row, w.viewA.Col = 1, w.A.Stride
	}
	w.viewB = block.View[T]{Data: w.B.Data, Row: w.B.Stride, Col: 1}
	return w, nil
}

// newCube returns the product of n×n matrices, with the error bound of the packed product.
func newCube[T gemm.Float](n int) (*workload[T], error) {
	return newWorkload[T](gemm.Cube(n), blas.NoTrans, variant("serial/packed"), nil)
}

func (w *workload[T]) check() error {
	if verdict := w.verifier.Check(w.C, w.limit); !verdict.OK() {
		return fmt.Errorf("a product of %s is wrong: %s", w.Shape, verdict.Reason)
	}
	return nil
}

// by returns a function that computes the product with a multiplier.
func (w *workload[T]) by(m gemm.Multiplier[T]) func(ctx context.Context) error {
	return func(ctx context.Context) error { return m.Multiply(ctx, w.C, w.A, w.B) }
}

// on returns a function that computes the product with an engine.
func (w *workload[T]) on(e *block.Engine[T]) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return e.Gemm(ctx, w.M, w.N, w.K, 1, w.viewA, w.viewB, 0, block.View[T]{Data: w.C.Data, Row: w.C.Stride, Col: 1})
	}
}

// plan returns how an engine computes the product.
func (w *workload[T]) plan(e *block.Engine[T]) block.Plan {
	return e.Plan(w.M, w.N, w.K, w.viewA, w.viewB)
}

// pairing describes the comparison of a candidate with the incumbent.
type pairing struct {
	pairs  int       // least number of pairs of samples, if the time is enough
	most   int       // most pairs; fewer if the ratio is known to 1 % before
	giveUp int       // pairs after which a slower candidate is given up; 0: never
	until  time.Time // no pair begins later
}

// before returns r with the time at which it ends.
func (r pairing) before(until time.Time) pairing {
	r.until = until
	return r
}

// enough reports whether there are enough pairs. The decision does not depend on which of the two is faster: a pairing
// that stops as soon as one is faster would find a faster one by chance. A slower candidate is given up early.
func (r pairing) enough(ratios []float64) bool {
	if len(ratios) == r.giveUp {
		return !(sample.Summarize(ratios).Median > 1)
	}
	if len(ratios) < r.pairs {
		return false
	}
	s := sample.Summarize(ratios)
	return len(ratios) >= r.most || s.Hi-s.Lo <= 0.02*s.Median
}

// Gain is the outcome of a comparison: the factor by which the candidate is faster than the incumbent.
type Gain struct {
	Ratio record.Number `json:"ratio"` // the incumbent's time over the candidate's; null without samples
	CI    *[2]float64   `json:"ci"`    // 95 % interval of the ratio; null if there are too few pairs
	Pairs int           `json:"pairs"`
}

// realGain is the least gain for a change of a setting. The whole interval must be above it.
const realGain = 1.005

func (g Gain) faster() bool { return g.CI != nil && g.CI[0] >= realGain }

func (g Gain) slower() bool { return g.CI != nil && g.CI[1] < 1 }

// comparePairs verifies two implementations of w, and compares them by pairs of samples.
func comparePairs[T gemm.Float](ctx context.Context, r pairing, w *workload[T],
	incumbent, candidate func(ctx context.Context) error) (Gain, error) {
	samplers := [2]sample.Sampler{{Call: sample.Timed(incumbent)}, {Call: sample.Timed(candidate)}}
	for i := range samplers {
		w.Poison()
		if _, err := samplers[i].Warm(ctx); err != nil {
			return Gain{}, err
		}
		if err := w.check(); err != nil {
			return Gain{}, err
		}
	}
	ratios, err := sample.Pairs(ctx, &samplers[0], &samplers[1], r.until, r.enough)
	if err != nil {
		return Gain{}, err
	}
	s := sample.Summarize(ratios)
	g := Gain{Ratio: record.Number(s.Median), Pairs: len(ratios)}
	if s.Bounded() {
		g.CI = &[2]float64{s.Lo, s.Hi}
	}
	return g, nil
}

// axis is one of the block sizes, with its possible values.
type axis struct {
	name   string
	of     func(b *block.Blocking) *int
	step   int // sizes are multiples of it
	length int // length of the divided dimension, if it is measured
}

// even returns the size of the pieces of the dimension if blocks have the given size: the engine makes all pieces of
// nearly the same size.
func (a axis) even(size int) int {
	count := (a.length + size - 1) / size
	return ((a.length+count-1)/count + a.step - 1) / a.step * a.step
}

// neighbours are the values that descend tries for a size, as multiples of it.
var neighbours = []float64{math.Sqrt2, math.Sqrt2 / 2, 2, 0.5}

// descend improves the blocking by coordinate descent. For one size after the other it tries values near the best known
// one, and keeps a value if better says that it is faster. It ends if no size changes, or if better returns an error.
// It does not try a blocking twice, one with the same pieces as the best one, nor a size that is more than four times
// the start's or less than a quarter of it.
func descend(start block.Blocking, axes []axis,
	better func(a axis, incumbent, candidate block.Blocking) (bool, error)) (block.Blocking, error) {
	best := start
	var tried []block.Blocking
	for changed := true; changed; {
		changed = false
		for _, a := range axes {
			centre := *a.of(&best)
			for _, factor := range neighbours {
				candidate := best
				size, first := a.even(max(1, int(float64(centre)*factor))), *a.of(&start)
				*a.of(&candidate) = size
				if size < first/4 || size > 4*first || size == a.even(*a.of(&best)) || slices.Contains(tried, candidate) {
					continue
				}
				tried = append(tried, candidate)
				ok, err := better(a, best, candidate)
				if err != nil {
					return best, err
				}
				if ok {
					best, changed = candidate, true
				}
			}
		}
	}
	return best, nil
}
