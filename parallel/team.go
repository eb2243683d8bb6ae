package parallel

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"unsafe"

	"gemm"
	"gemm/internal/busy"
	"gemm/pool"
	"gemm/serial"
)

// team is the workers of a variant and the schedule of its loops.
type team struct {
	variant  string
	pool     *pool.Pool
	schedule pool.Schedule
	product  busy.Flag // of a variant with a schedule, which serves one loop at a time
}

// newTeam returns the team of resolved parameters. A variant without a schedule has none.
func newTeam(variant string, p gemm.Params) (*team, error) {
	t := &team{variant: variant}
	var err error
	if t.pool, err = pool.NewPinned(p.Int("threads"), p.Text("affinity")); err != nil {
		return nil, err
	}
	if name, ok := p["schedule"]; ok {
		if t.schedule, err = pool.NewSchedule(name.(string), p.Int("chunk")); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// loop runs body over [0, n) under the team's schedule.
func (t *team) loop(ctx context.Context, n int, body func(worker, lo, hi int)) error {
	return t.pool.For(ctx, n, t.schedule, body)
}

// pieces is loop for a body that does not check ctx. An index costs cost multiply-adds. The body is
// called for pieces of a chunk, and ctx is checked between them.
func (t *team) pieces(ctx context.Context, n, cost int, body func(worker, lo, hi int)) error {
	err := t.loop(ctx, n, cancellable(ctx, cost, body))
	return cmp.Or(err, ctx.Err())
}

// patience is the number of multiply-adds between two checks of a context: some 10 ms if they are atomic.
const patience = 1 << 20

// cancellable returns a body that divides each chunk into pieces of about patience multiply-adds, checks
// ctx before each, and calls body for it.
func cancellable(ctx context.Context, cost int, body func(worker, lo, hi int)) func(worker, lo, hi int) {
	piece := max(1, patience/max(1, cost))
	return func(worker, lo, hi int) {
		for ; lo < hi && ctx.Err() == nil; lo += piece {
			body(worker, lo, min(lo+piece, hi))
		}
	}
}

// settle computes a product as often as an auto schedule takes to choose, and at
// least once. The error is an ErrBusy where the team has another product.
func (t *team) settle(product func() error) error {
	if err := t.product.Enter(t.variant); err != nil {
		return err
	}
	defer t.product.Leave()
	for {
		a, learns := t.schedule.(*pool.Auto)
		if learns {
			a.Forget()
		}
		if err := product(); err != nil || !learns || a.Settled() {
			return err
		}
	}
}

// workers calls body once for each worker, on that worker where all are free.
func (t *team) workers(ctx context.Context, body func(worker int)) error {
	return t.pool.For(ctx, t.pool.Workers(), pool.Static(0), func(_, lo, hi int) {
		for w := lo; w < hi; w++ {
			body(w)
		}
	})
}

// Resolved implements gemm.Explainer: the schedule and the chunk as they were run, and where the workers were.
func (t *team) Resolved() gemm.Params {
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

// touch writes a zero to each page of m, which holds zeros and has not been accessed. The matrix rows are divided as by
// pool.Static(0). The system places a page on the NUMA node of the processor that accesses it first.
func touch[T gemm.Element](t *team, m gemm.Matrix[T]) {
	var zero T
	page := max(1, 4096/int(unsafe.Sizeof(zero)))
	// The context is never cancelled and the body does not panic: there is no error.
	_ = t.pool.For(context.Background(), m.Rows, pool.Static(0), func(_, lo, hi int) {
		for i := lo * m.Stride; i < min(hi*m.Stride, len(m.Data)); i += page {
			m.Data[i] = zero
		}
	})
}

// toucher has the workers touch the operands first. Each worker touches equal parts of the rows of
// C, A and B. Under a static schedule of rows, its parts of C and A are those that it uses. Under
// other schedules that is not known in advance, but the pages are spread over the nodes.
type toucher[T gemm.Element] struct{ *team }

// Touch writes zeros to operands of zeros that nobody has accessed.
func (t toucher[T]) Touch(c, a, b gemm.Matrix[T]) {
	for _, m := range []gemm.Matrix[T]{c, a, b} {
		touch(t.team, m)
	}
}

// product computes C = A·B by f, which is called for operands that conform and of which no
// dimension is 0. Others are done at once, however large their other dimensions are.
func (t toucher[T]) product(ctx context.Context, c, a, b gemm.Matrix[T], f func() error) error {
	if err := cmp.Or(gemm.CheckShapes(c, a, b), ctx.Err()); err != nil {
		return err
	}
	switch {
	case c.Rows == 0 || c.Cols == 0:
		return nil
	case a.Cols == 0:
		return zero(ctx, t.team, c)
	}
	return t.settle(f)
}

// teamCan are the optional interfaces of every multiplier on a team.
const teamCan = gemm.Touches | gemm.Explains

// onTeam returns the constructor of the variant called name, of which form makes one for a team.
func onTeam[T gemm.Element](name string,
	form func(t toucher[T], p gemm.Params) (gemm.Multiplier[T], error)) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		t, err := newTeam(name, p)
		if err != nil {
			return nil, err
		}
		return form(toucher[T]{t}, p)
	}
}

// zero writes zeros to all of c.
func zero[T gemm.Element](ctx context.Context, t *team, c gemm.Matrix[T]) error {
	err := t.pool.For(ctx, c.Rows, pool.Static(0), cancellable(ctx, c.Cols, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			clear(c.Row(i))
		}
	}))
	return cmp.Or(err, ctx.Err())
}

// processors is the number of goroutines that can run at once when the program
// begins; measuring a serial variant lowers it for a while.
var processors = runtime.GOMAXPROCS(0)

// The parameters of the variants.

// mostThreads is the most workers of a variant. Each has a workspace, so that many more would
// take all memory before the first product.
const mostThreads = 1 << 14

// teamParams returns the parameters of every variant.
func teamParams() []gemm.Param {
	return []gemm.Param{
		{Name: "threads", Default: processors, Min: 1, Max: mostThreads,
			Doc: "number of workers; more workers than processors take turns"},
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

// ikj is the local variant by default.
const ikj = "serial/ikj"

// localParams returns the parameters of variants whose chunks are products.
func localParams(loop string) []gemm.Param {
	var names []string
	for _, v := range locals() {
		names = append(names, v.Name)
	}
	return append(scheduleParams(loop),
		gemm.Param{Name: "local", Default: ikj, Choices: names, Doc: "variant that computes a chunk, with its defaults"},
	)
}

// locals returns the variants that can compute a chunk: the classical serial ones, but
// for gonum, which would begin goroutines of its own, and studies, whose best setting is a rung.
func locals() []gemm.Variant {
	return slices.DeleteFunc(serial.Variants(), func(v gemm.Variant) bool {
		return v.Bound.Kind != gemm.Componentwise || v.Role == gemm.Baseline || v.Role == gemm.Study
	})
}

// localVariant returns the variant of the parameter local, which the parameter's check has found to be one.
func localVariant(p gemm.Params) gemm.Variant {
	v, err := gemm.Lookup(locals(), p.Text("local"))
	if err != nil {
		panic(err)
	}
	return v
}

// newLocals returns a multiplier for each worker: one serves one product at a time.
func newLocals[T gemm.Element](p gemm.Params) ([]gemm.Multiplier[T], error) {
	out := make([]gemm.Multiplier[T], p.Int("threads"))
	for w := range out {
		var err error
		if out[w], err = gemm.New[T](localVariant(p), nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// localModel is the model of a product of whole shape. Workers compute parts by the local variant, each of part shape.
// Operations and accesses are those of the whole product; each worker has the workspace of a part.
func localModel(p gemm.Params, whole, part [3]int) gemm.Model {
	v := localVariant(p)
	resolved, err := v.Resolve(nil)
	if err != nil {
		panic(err) // defaults are values that parameters can have
	}
	out := v.Model(gemm.Shape{M: whole[0], N: whole[1], K: whole[2]}, resolved)
	out.Workspace = float64(p.Int("threads")) * v.Model(gemm.Shape{M: part[0], N: part[1], K: part[2]}, resolved).Workspace
	return out
}

// ikjModel is the model of the loops of ikj.
func ikjModel(s gemm.Shape, _ gemm.Params) gemm.Model {
	return localVariant(gemm.Params{"local": ikj}).Model(s, nil)
}

// times returns how many times index i of n is computed under an artificial load: 1 for the first
// index, 1+load for the last, and in proportion between them.
func times(i, n, load int) int {
	if n < 2 {
		return 1 + load
	}
	return 1 + (2*load*i+n-1)/(2*(n-1))
}
