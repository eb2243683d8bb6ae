package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// cannon multiplies operands that are distributed over a square grid, by shifting blocks. The skew
// comes first: it shifts row i of A's blocks i places to the left, and column j of B's blocks j
// places up. Then every rank holds two blocks that belong together. It multiplies them, passes A's
// block to its left neighbour and B's block to the one above, and repeats that Q times (Cannon, A
// cellular computer to implement the Kalman filter algorithm, 1969). Only neighbours exchange
// messages, and the messages of a step are in flight while it is computed. The skew is a phase of
// its own, since operands could be kept skewed.
//
//	grid of 2×2        (0,0)      (0,1)      (1,0)      (1,1)
//	owns               A₀₀ B₀₀    A₀₁ B₀₁    A₁₀ B₁₀    A₁₁ B₁₁
//	skewed             A₀₀ B₀₀    A₀₁ B₁₁    A₁₁ B₁₀    A₁₀ B₀₁
//	after step 1       A₀₁ B₁₀    A₀₀ B₀₁    A₁₀ B₀₀    A₁₁ B₁₁
//
// Ranks beyond the largest square have no blocks. Under the schedule dynamic they help the others of
// their host: see crew. So 2 ranks are a grid of 1×1: rank 0 sends nothing, and rank 1 takes chunks
// of its product.
type cannon[T gemm.Element] struct {
	*task[T]
	grid plan.Grid
	*comm.Seat
	i, j   int
	a, b   gemm.Matrix[T]    // this rank's own
	as, bs [2]gemm.Matrix[T] // room for the blocks of a step and of the next
	c      gemm.Matrix[T]
}

func newCannon[T gemm.Element](t *task[T]) (product[T], error) {
	x := &cannon[T]{task: t, grid: plan.Square(t.world.Size())}
	rank := t.world.Rank()
	if rank >= x.grid.Ranks() {
		return x, nil
	}
	x.i, x.j, _ = x.grid.At(rank)
	return x, nil
}

// allocate takes the rank's matrices from take.
func (x *cannon[T]) allocate(take memory.Taker[T]) {
	q := x.grid.Q
	if x.Ranks == nil {
		return
	}
	m, n, k := plan.Split(x.shape.M, q, x.i).Len(), plan.Split(x.shape.N, q, x.j).Len(), ceil(x.shape.K, q)
	take(&x.a, m, x.depth(x.j))
	take(&x.b, x.depth(x.i), n)
	take(&x.c, m, n)
	for s := range x.as {
		if q > 1 {
			take(&x.as[s], m, k)
			take(&x.bs[s], k, n)
		}
	}
}

// depth returns the length of a block of k.
func (x *cannon[T]) depth(block int) int { return plan.Split(x.shape.K, x.grid.Q, block).Len() }

func (x *cannon[T]) place() (err error) {
	if x.Seat, err = x.job.seats.In(x.grid); err != nil {
		return err
	}
	if err = x.allocateShared(x.allocate); err != nil || x.Ranks == nil {
		return err
	}
	q := x.grid.Q
	err = comm.Spread(x.Ranks, x.task.a, func(rank int) []comm.Block {
		i, j, _ := x.grid.At(rank)
		return []comm.Block{{Rows: plan.Split(x.shape.M, q, i), Cols: plan.Split(x.shape.K, q, j)}}
	}, []gemm.Matrix[T]{x.a})
	if err != nil {
		return err
	}
	return comm.Spread(x.Ranks, x.task.b, func(rank int) []comm.Block {
		i, j, _ := x.grid.At(rank)
		return []comm.Block{{Rows: plan.Split(x.shape.K, q, i), Cols: plan.Split(x.shape.N, q, j)}}
	}, []gemm.Matrix[T]{x.b})
}

// room returns the places for the blocks of the step's k.
func (x *cannon[T]) room(step int) (a, b gemm.Matrix[T]) {
	k := x.depth((x.i + x.j + step) % x.grid.Q)
	return of(x.as[step%2].Data, x.c.Rows, k, k), of(x.bs[step%2].Data, k, x.c.Cols, x.c.Cols)
}

// skew returns the blocks that this rank multiplies first.
func (x *cannon[T]) skew() (a, b gemm.Matrix[T], err error) {
	a, b = x.a, x.b
	first, second := x.room(0)
	if x.i > 0 {
		from, to, err := x.Layer.Shift(x.i, 0)
		if err == nil {
			err = comm.Sendrecv(x.Layer.All, x.a, to, first, from, tagA)
		}
		if err != nil {
			return a, b, err
		}
		a = first
	}
	if x.j > 0 {
		from, to, err := x.Layer.Shift(0, x.j)
		if err == nil {
			err = comm.Sendrecv(x.Layer.All, x.b, to, second, from, tagB)
		}
		if err != nil {
			return a, b, err
		}
		b = second
	}
	return a, b, nil
}

// pass starts to send the blocks of this step, and to receive those of the next.
func (x *cannon[T]) pass(a, b, nextA, nextB gemm.Matrix[T]) ([]*comm.Request, error) {
	fromRight, toLeft, err := x.Layer.Shift(1, 0)
	if err != nil {
		return nil, err
	}
	fromBelow, toAbove, err := x.Layer.Shift(0, 1)
	if err != nil {
		return nil, err
	}
	var under []*comm.Request
	for _, begin := range []func() (*comm.Request, error){
		func() (*comm.Request, error) { return comm.Irecv(x.Layer.All, nextA, fromRight, tagA) },
		func() (*comm.Request, error) { return comm.Irecv(x.Layer.All, nextB, fromBelow, tagB) },
		func() (*comm.Request, error) { return comm.Isend(x.Layer.All, a, toLeft, tagA) },
		func() (*comm.Request, error) { return comm.Isend(x.Layer.All, b, toAbove, tagB) },
	} {
		r, err := begin()
		if err != nil {
			return under, err
		}
		under = append(under, r)
	}
	return under, nil
}

func (x *cannon[T]) multiply(k *clock) error {
	if x.Ranks == nil {
		return x.finish(k)
	}
	var a, b gemm.Matrix[T]
	err := k.during(skewing, func() (err error) {
		a, b, err = x.skew()
		return err
	})
	if err != nil {
		return err
	}
	k.skewed = *x.world.Traffic()
	for step := range x.grid.Q {
		var nextA, nextB gemm.Matrix[T]
		var under []*comm.Request
		if step+1 < x.grid.Q {
			nextA, nextB = x.room(step + 1)
			err := k.during(communicating, func() (err error) {
				under, err = x.pass(a, b, nextA, nextB)
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := x.compute(k, x.c, a, b, step > 0, under...); err != nil {
			return err
		}
		if err := x.wait(k, communicating, under...); err != nil {
			return err
		}
		a, b = nextA, nextB
	}
	return x.finish(k)
}

func (x *cannon[T]) collect() error {
	if x.Ranks == nil {
		return nil
	}
	return x.uniteBlocks(x.Ranks, x.grid, x.c)
}

func (x *cannon[T]) plan() prediction {
	ranks := x.world.Size()
	steps, skew := plan.Cannon(x.shape, ranks, x.grid)
	return prediction{
		traffic: steps, skew: skew, bound: plan.BoundSpread(x.shape, x.grid.Ranks()),
		grid: x.grid, busy: plan.Busy(x.grid, x.shape), steps: x.grid.Q, overlapped: true,
		largest: gemm.Shape{M: ceil(x.shape.M, x.grid.P), N: ceil(x.shape.N, x.grid.Q), K: x.shape.K},
	}
}

func cannonVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/cannon",
		Doc:    "distributed operands on a square grid: blocks are shifted to neighbours, overlapped with the products",
		Params: commonParams(scheduleParam()),
	}
	v = types{newCannon[float32], newCannon[float64], newCannon[gf256.Elem]}.of(v)
	return variant(v, func(s gemm.Shape, ranks int, _ gemm.Params) float64 {
		return 3*float64(s.K)*float64(s.M+s.N) + float64(s.M)*float64(s.N)
	})
}
