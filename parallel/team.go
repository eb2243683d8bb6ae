package parallel

import (
	"cmp"
	"context"
	"unsafe"

	"gemm"
	"gemm/internal/cpu"
	"gemm/pool"
)

// team is the workers of a variant and the schedule of its loops.
type team[T gemm.Element] struct {
	variant  string
	pool     *pool.Pool
	schedule pool.Schedule  // nil: the variant divides no loop
	product  gemm.Exclusive // of a variant with a schedule, which serves one loop at a time
}

// onTeam returns the constructor of the variant called name, whose multiplier newOn makes for a team.
func onTeam[T gemm.Element](name string,
	newOn func(t *team[T], p gemm.Params) (gemm.Multiplier[T], error)) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		t := &team[T]{variant: name}
		var err error
		if t.pool, err = pool.NewPinned(p.Int("threads"), p.Text("affinity")); err != nil {
			return nil, err
		}
		if schedule, ok := p["schedule"]; ok {
			if t.schedule, err = pool.NewSchedule(schedule.(string), p.Int("chunk")); err != nil {
				return nil, err
			}
		}
		return newOn(t, p)
	}
}

// loops computes C = A·B by loops of a team, for operands without a dimension of 0.
type loops[T gemm.Element] func(ctx context.Context, t *team[T], c, a, b gemm.Matrix[T]) error

// loopsTeam is a team with the loops of a variant.
type loopsTeam[T gemm.Element] struct {
	*team[T]
	loops loops[T]
}

func (x loopsTeam[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return x.multiply(ctx, c, a, b, func() error { return x.loops(ctx, x.team, c, a, b) })
}

// loopsOnTeam is onTeam for a variant that has nothing but loops.
func loopsOnTeam[T gemm.Element](name string, l loops[T]) func(gemm.Params) (gemm.Multiplier[T], error) {
	return onTeam(name, func(t *team[T], _ gemm.Params) (gemm.Multiplier[T], error) { return loopsTeam[T]{t, l}, nil })
}

// multiply computes C = A·B by loops, which runs loops of the team for operands that conform and have no dimension
// of 0, and need not return the error of ctx. Other products end at once, however large their other dimensions are.
// With the schedule auto, loops is repeated until the schedule is chosen. The error is an ErrBusy if the team computes
// another product.
func (t *team[T]) multiply(ctx context.Context, c, a, b gemm.Matrix[T], loops func() error) error {
	if err := cmp.Or(gemm.CheckShapes(c, a, b), ctx.Err()); err != nil {
		return err
	}
	switch {
	case c.Rows == 0 || c.Cols == 0:
		return nil
	case a.Cols == 0:
		return t.zero(ctx, c)
	}
	if err := t.product.Enter(t.variant); err != nil {
		return err
	}
	defer t.product.Leave()
	for {
		auto, ok := t.schedule.(*pool.Auto)
		if ok {
			auto.Forget()
		}
		if err := cmp.Or(loops(), ctx.Err()); err != nil || !ok || auto.Decided() {
			return err
		}
	}
}

// loop runs body over [0, n) under the team's schedule.
func (t *team[T]) loop(ctx context.Context, n int, body func(worker, lo, hi int)) error {
	return t.pool.For(ctx, n, t.schedule, body)
}

// pieces is loop for a body that does not check ctx. An index costs cost multiply-adds. The body is
// called for pieces of a chunk, and ctx is checked between them.
func (t *team[T]) pieces(ctx context.Context, n, cost int, body func(worker, lo, hi int)) error {
	return t.loop(ctx, n, inPieces(ctx, cost, body))
}

// pieceTerms is the number of multiply-adds between two checks of a context: some 10 ms if they are atomic.
const pieceTerms = 1 << 20

// inPieces returns a body that divides each chunk into pieces of about pieceTerms multiply-adds, checks
// ctx before each, and calls body for it.
func inPieces(ctx context.Context, cost int, body func(worker, lo, hi int)) func(worker, lo, hi int) {
	piece := max(1, pieceTerms/max(1, cost))
	return func(worker, lo, hi int) {
		for ; lo < hi && ctx.Err() == nil; lo += piece {
			body(worker, lo, min(lo+piece, hi))
		}
	}
}

func (t *team[T]) zero(ctx context.Context, c gemm.Matrix[T]) error {
	err := t.pool.For(ctx, c.Rows, pool.Static(0), inPieces(ctx, c.Cols, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			clear(c.Row(i))
		}
	}))
	return cmp.Or(err, ctx.Err())
}

// Touch implements record.Toucher. Each worker touches equal parts of the rows of C, A and B, divided as by
// pool.Static(0). Under a static schedule of rows, its parts of C and A are the ones that it uses. Under
// other schedules that is not known in advance, but the pages are spread over the nodes.
func (t *team[T]) Touch(c, a, b gemm.Matrix[T]) {
	var zero T
	page := max(1, 4096/int(unsafe.Sizeof(zero)))
	for _, m := range []gemm.Matrix[T]{c, a, b} {
		// The context is never cancelled and the body does not panic: there is no error.
		_ = t.pool.For(context.Background(), m.Rows, pool.Static(0), func(_, lo, hi int) {
			for i := lo * m.Stride; i < min(hi*m.Stride, len(m.Data)); i += page {
				m.Data[i] = zero
			}
		})
	}
}

// Resolved implements gemm.Explainer: the schedule and the chunk as they were run, and the processors of the workers.
func (t *team[T]) Resolved() gemm.Params {
	out := gemm.Params{}
	switch s := t.schedule.(type) {
	case *pool.Auto:
		if name, chunk := s.Chosen(); name != "" {
			out["schedule"], out["chunk"] = name, chunk
		}
	case pool.Dynamic:
		out["schedule"], out["chunk"] = "dynamic", int(s)
	case pool.Guided:
		out["chunk"] = int(s)
	}
	if placement := t.pool.Placement(); placement != "" {
		out["placement"] = placement
	}
	return out
}

// teamCan are the optional interfaces of every multiplier on a team.
const teamCan = gemm.Touches | gemm.Explains

// processors is the number of goroutines that can run at once when the program
// begins; measuring a serial variant lowers it for a while.
var processors = cpu.Workers()

// mostThreads is the most workers of a variant. Each has a workspace, so that many more would
// take all memory before the first product.
const mostThreads = 1 << 14

// teamParams returns the parameters of every variant.
func teamParams() []gemm.Param {
	return []gemm.Param{
		{Name: "threads", Default: processors, Min: 1, Max: mostThreads,
			Doc: "number of workers; more workers than processors share them"},
		{Name: "affinity", Default: "none", Choices: pool.Affinities(),
			Doc: "placement of workers: none leaves it to the system, close uses neighbouring processors, spread uses distant ones"},
	}
}

// scheduleParams returns the parameters of variants that divide a loop.
func scheduleParams(loop string) []gemm.Param {
	return append(teamParams(),
		gemm.Param{Name: "schedule", Default: "static", Choices: pool.Schedules(),
			Doc: "how the " + loop + " are divided, as in OpenMP; auto measures which is best"},
		gemm.Param{Name: "chunk", Default: 0,
			Doc: "chunk size; 0: for static one chunk per worker, for dynamic and guided 1"},
	)
}
