package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// cannon multiplies operands that are distributed over a grid, by shifting blocks. The skew comes first: row i of the
// grid gets A's blocks from i places farther right, and column j B's blocks from j places farther down. Then every rank
// holds two blocks that belong together. It multiplies them, passes A's block to its left neighbour and B's block to
// the one above, and repeats that for all blocks of k (Cannon, A cellular computer to implement the Kalman filter
// algorithm, 1969). Only neighbours exchange messages, and the messages of a step are in flight while it is computed.
// The skew is a phase of its own, since operands could be kept skewed.
//
//	grid of 2×2        (0,0)      (0,1)      (1,0)      (1,1)
//	owns               A₀₀ B₀₀    A₀₁ B₀₁    A₁₀ B₁₀    A₁₁ B₁₁
//	skewed             A₀₀ B₀₀    A₀₁ B₁₁    A₁₁ B₁₀    A₁₀ B₀₁
//	after step 1       A₀₁ B₁₀    A₀₀ B₀₁    A₁₀ B₀₀    A₁₁ B₁₁
//
// On a grid of P×Q that is not square, k has lcm(P, Q) blocks, and the last column and row get theirs from the owners;
// see plan.Shifts for the block of each rank in each step, and the source. A rank does not receive a block that it
// owns. Ranks beyond the grid have no blocks. Under the schedule dynamic they steal work on their host: see stealing.
//
// With exchange=evenodd, blocks move between the steps by blocking calls, and nothing overlaps. Send may return only
// when the other rank receives. If all ranks of a row sent first, each would wait for the next one. So ranks in even
// columns send first, and ranks in odd columns receive first; of B the same with rows. If Q is odd, the even columns 0
// and Q−1 are neighbours, but the message from Q−1 to Q−2 completes, and then Q−1 receives. The skew stays
// non-blocking: over an even distance, ranks in even columns would wait for each other.
type cannon[T gemm.Element] struct {
	task     *task[T]
	own      *distributed[T] // its panels are the blocks of k
	shifts   plan.Shifts
	blocking bool // Send and Recv between steps
}

// The values of the parameter exchange.
const (
	overlap = "overlap"
	evenOdd = "evenodd"
)

func newCannon[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := t.placeGrid(func(s gemm.Shape, hosts []int, g plan.Grid) plan.Schedule {
		steps, skew := plan.Cannon(s, hosts, g)
		return skew.Then(steps)
	})
	if err != nil {
		return nil, err
	}
	shifts := plan.Shifts{Grid: g.Grid, K: t.shape.K}
	return &cannon[T]{t, newDistributed(t, g, shifts.Panels(), 2), shifts,
		t.params.Text("exchange") == evenOdd}, nil
}

func (x *cannon[T]) prepare() error {
	return x.own.prepare(func(int) []plan.Panel { return x.own.panels })
}

func (x *cannon[T]) multiply(prof *profile) error {
	if !x.own.inside {
		return x.task.stealing.finish(prof)
	}
	now, err := x.shift(prof, skewing, 0, pair[T]{})
	if err == nil {
		err = prof.during(skewing, func() error { return waitAll(now.requests) })
	}
	if err != nil {
		return err
	}
	prof.skewed = *x.task.world.Traffic()
	for step := range x.shifts.Steps() {
		var next inflight[T]
		if !x.blocking {
			next, err = x.shift(prof, communicating, step+1, now.pairs[0]) // in flight while this step is multiplied
		}
		if err == nil {
			err = x.task.computeStep(prof, x.own.c, now.pairs, step > 0, next.requests)
		}
		if err == nil && x.blocking {
			next, err = x.shift(prof, communicating, step+1, now.pairs[0])
		}
		if err != nil {
			return err
		}
		if err := x.task.wait(prof, communicating, next.requests...); err != nil {
			return err
		}
		now = next
	}
	return x.task.stealing.finish(prof)
}

// shift moves blocks before a step, or starts to: this rank receives the blocks that it does not own, and sends those
// that others get from it. last has the blocks of the step before; before the first step there are none.
func (x *cannon[T]) shift(prof *profile, phase string, step int, last pair[T]) (f inflight[T], err error) {
	if step == x.shifts.Steps() {
		return f, nil
	}
	i, j, ranks, s := x.own.i, x.own.j, x.own.ranks, x.shifts
	p := x.own.pair(s.Block(i, j, step), step%2)
	f.pairs = []pair[T]{p}
	inRow := side[T]{ranks: ranks.Row, at: j, tag: tagA, own: x.own.a, to: p.a, last: last.a,
		from:  func(j int) int { return s.FromA(i, j, step) },
		block: func(j int) int { return s.Block(i, j, step) }}
	inCol := side[T]{ranks: ranks.Col, at: i, tag: tagB, own: x.own.b, to: p.b, last: last.b,
		from:  func(i int) int { return s.FromB(i, j, step) },
		block: func(i int) int { return s.Block(i, j, step) }}
	err = prof.during(phase, func() error {
		inRow.move(&f, x.blocking && step > 0)
		inCol.move(&f, x.blocking && step > 0)
		return f.err
	})
	return f, err
}

// side is this rank's row of the grid, along which blocks of A move before a step, or its column with blocks of B.
type side[T gemm.Element] struct {
	ranks    *comm.Comm
	at, tag  int                  // the place of this rank
	own      []gemm.Matrix[T]     // by block
	to, last gemm.Matrix[T]       // this rank's block of this step, and of the step before
	from     func(at int) int     // the place that a place gets its block from
	block    func(at int) (n int) // the block of a place
}

// move exchanges blocks, or starts to.
func (x side[T]) move(f *inflight[T], blocking bool) {
	send := func() {
		for to := range x.ranks.Size() {
			if to == x.at || x.from(to) != x.at {
				continue
			}
			m := x.last
			if block := x.block(to); block%x.ranks.Size() == x.at {
				m = x.own[block]
			}
			switch {
			case m.Rows == 0 || m.Cols == 0:
			case blocking:
				f.add(nil, comm.Send(x.ranks, m, to, x.tag))
			default:
				f.add(comm.Isend(x.ranks, m, to, x.tag))
			}
		}
	}
	if blocking && x.at%2 == 0 {
		send()
	}
	switch from := x.from(x.at); {
	case from == x.at || x.to.Rows == 0 || x.to.Cols == 0:
	case blocking:
		f.add(nil, comm.Recv(x.ranks, x.to, from, x.tag))
	default:
		f.add(comm.Irecv(x.ranks, x.to, from, x.tag))
	}
	if !blocking || x.at%2 != 0 {
		send()
	}
}

func (x *cannon[T]) collect() error { return x.own.gather() }

func (x *cannon[T]) plan() prediction {
	steps, skew := plan.Cannon(x.task.shape, x.own.hosts(), x.own.grid.Grid)
	for i := range steps.Steps {
		steps.Steps[i].Ahead = steps.Steps[i].Ahead && !x.blocking
	}
	out := x.own.predict(steps)
	out.skew = x.own.grid.ByRank(skew)
	return out
}

func cannonVariant() gemm.Variant {
	return variant(gemm.Variant{
		Name:   "mpi/cannon",
		Spread: true,
		Doc:    "distributed operands on a grid: blocks are shifted to neighbours, overlapped with the products",
		Params: commonParams(scheduleParam(), gridParam(), gemm.Param{
			Name: "exchange", Default: overlap, Choices: []string{overlap, evenOdd},
			Doc: "overlap: messages are in flight while a step is computed; evenodd: blocking Send and Recv between " +
				"steps, even places send first"}),
	}, types{newCannon[float32], newCannon[float64], newCannon[gf256.Elem]},
		gridWorkspace(func(s gemm.Shape, g plan.Grid, _ gemm.Params) float64 {
			m, n, k := float64(s.M), float64(s.N), float64(s.K)
			// The operands, and on each rank two blocks of each at a time.
			deepest := 2 * float64((plan.Shifts{Grid: g, K: s.K}).Depth(0).Len())
			return m*k + k*n + m*n + deepest*(float64(g.Q)*m+float64(g.P)*n)
		}))
}
