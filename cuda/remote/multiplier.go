package remote

import (
	"context"
	"sync"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cuda"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/block"
	"gemm/internal/timeline"
)

// Backend is the backend of variants of the family cuda whose products the worker computes. Each multiplier has a
// process of its own, which the first product starts. It is an io.Closer, which ends the process.
type Backend struct{ Worker *Worker }

// F32 implements cuda.Backend.
func (b Backend) F32(name string, p gemm.Params) (gemm.Multiplier[float32], error) {
	return ofNumbers(b.Worker, name, p, rescale[float32]), nil
}

// F64 implements cuda.Backend.
func (b Backend) F64(name string, p gemm.Params) (gemm.Multiplier[float64], error) {
	return ofNumbers(b.Worker, name, p, rescale[float64]), nil
}

// F16 implements cuda.Backend.
func (b Backend) F16(name string, p gemm.Params) (gemm.Multiplier[half.F16], error) {
	return ofNumbers[half.F16](b.Worker, name, p, nil), nil
}

// BF16 implements cuda.Backend.
func (b Backend) BF16(name string, p gemm.Params) (gemm.Multiplier[half.BF16], error) {
	return ofNumbers[half.BF16](b.Worker, name, p, nil), nil
}

// ofNumbers returns a multiplier in floating point, which is a gemm.Gemmer if the algorithm has more than products.
func ofNumbers[T gemm.Number](w *Worker, name string, p gemm.Params, rescale rescaling[T]) gemm.Multiplier[T] {
	m := newMultiplier[T](w, name, p)
	if cuda.IsTorch(name) {
		return m
	}
	return gemmer[T]{m, rescale}
}

// GF256 implements cuda.Backend.
func (b Backend) GF256(name string, p gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
	return newMultiplier[gf256.Elem](b.Worker, name, p), nil
}

// multiplier computes the products of a variant in a process of its own. Several goroutines may call it: the worker
// queues products, or computes them at the same time.
type multiplier[T gemm.Element] struct {
	variant string
	params  gemm.Params
	*session
}

// session is the process of a multiplier.
type session struct {
	worker *Worker

	mu   sync.Mutex
	with *process // nil: not started yet
	err  error    // why it could not be started
}

func newMultiplier[T gemm.Element](w *Worker, name string, p gemm.Params) *multiplier[T] {
	return &multiplier[T]{cuda.Family + "/" + name, p, &session{worker: w}}
}

// started returns the process, which it starts if that has not been done.
func (s *session) started() (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.with != nil || s.err != nil {
		return s.with, s.err
	}
	s.with, s.err = s.worker.started()
	return s.with, s.err
}

// Close implements io.Closer: it ends the process, if it was started, and frees the memory of Allocate. No product may
// be under way.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.with == nil {
		return nil
	}
	return s.with.Close()
}

// The number of products at the same time: one for each stage and one on its way. The bytes of all rows of the
// operands of one, large enough that a request (0.1 ms) takes little of the time of the copies.
const (
	inFlight = 4
	buffer   = 32 << 20
)

// InFlight returns how many products are computed at the same time, if as many goroutines call Multiply.
func (s *session) InFlight() int { return inFlight }

// Buffer returns how many bytes the matrix rows of B and C of a product should have together.
func (s *session) Buffer() int { return buffer }

// allocate returns memory that the GPU copies from and to by itself, until Close.
func (m *multiplier[T]) Allocate(n int) ([]T, error) {
	w, err := m.started()
	if err != nil {
		return nil, err
	}
	return allocate[T](context.Background(), w, m.variant, m.params, n)
}

func (m *multiplier[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return m.product(ctx, 1, a, b, 0, c)
}

// product computes C ← α·A·B + β·C.
func (m *multiplier[T]) product(ctx context.Context, alpha float64, a, b gemm.Matrix[T], beta float64,
	c gemm.Matrix[T]) error {
	w, err := m.started()
	if err != nil {
		return err
	}
	begin := time.Now()
	stages, err := compute(ctx, w,
		product[T]{Variant: m.variant, Params: m.params, Alpha: alpha, Beta: beta, A: a, B: b, C: c})
	if line := timeline.Of(ctx); line != nil {
		line.SetActivity(activity(stages, begin))
	}
	return err
}

// activity returns the stages of a product that began at the time.
func activity(stages []timeline.Stage, begin time.Time) (a timeline.Activity) {
	since := func(nanoseconds int64) float64 { return time.Unix(0, nanoseconds).Sub(begin.Round(0)).Seconds() }
	for i, s := range stages {
		a.Lanes = append(a.Lanes, s.Name)
		a.Phases = append(a.Phases, timeline.Phase{Lane: i, Name: s.Name, Begin: since(s.Begin), End: since(s.End)})
	}
	return a
}

// gemmer is a multiplier in floating point.
type gemmer[T gemm.Number] struct {
	*multiplier[T]
	// rescale is Rescale of package block; nil: the type has no α that needs it.
	rescale rescaling[T]
}

// rescaling returns operands of the same product with a moderate α.
type rescaling[T gemm.Number] func(ctx context.Context, alpha T, a, b gemm.Matrix[T]) (T, gemm.Matrix[T],
	gemm.Matrix[T], error)

// Gemm implements gemm.Gemmer of operands that are not transposed.
func (m gemmer[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	if tA != blas.NoTrans || tB != blas.NoTrans {
		return gemm.Unavailablef("%s takes operands that are not transposed", m.variant)
	}
	if m.rescale != nil {
		var err error
		if alpha, a, b, err = m.rescale(ctx, alpha, a, b); err != nil {
			return err
		}
	}
	return m.product(ctx, gemm.ToFloat64(alpha), a, b, gemm.ToFloat64(beta), c)
}

// rescale is a rescaling of f32 and f64.
func rescale[T gemm.Float](ctx context.Context, alpha T, a, b gemm.Matrix[T]) (T, gemm.Matrix[T], gemm.Matrix[T],
	error) {
	left := block.View[T]{Data: a.Data, Row: a.Stride, Col: 1}
	right := block.View[T]{Data: b.Data, Row: b.Stride, Col: 1}
	alpha, left, right, err := block.Rescale(ctx, a.Rows, b.Cols, a.Cols, alpha, left, right)
	a.Data, a.Stride, b.Data, b.Stride = left.Data, left.Row, right.Data, right.Row
	return alpha, a, b, err
}
