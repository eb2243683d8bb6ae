package mpi

import (
	"slices"

	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// newScatterBlocks is scatter-rows with blocks of C in place of rows. The ranks are a grid of P×Q.
// Rank (i, j) needs only block i of the rows of A and block j of the columns of B; unless Q is 1,
// that is less than all of B. Blocks are copied row by row into the buffer and out of it.
//
//	buffer of rank 0   A₀ B₀  A₀ B₁  A₁ B₀  A₁ B₁
//	rank                 0      1      2      3      (a grid of 2×2)
//	after Scatter      A₀ B₀  A₀ B₁  A₁ B₀  A₁ B₁
//	computes            C₀₀    C₀₁    C₁₀    C₁₁
//
// Over several hosts, blocks are messages in place of one Scatter: see hostBlocks.
func newScatterBlocks[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := gridOf(t.params, t.world.Size(), t.shape)
	if err != nil {
		return nil, err
	}
	l := t.lay(g, plan.BlocksFlow)
	if plan.Count(t.job.hosts) > 1 && g.Ranks() == t.world.Size() {
		return &hostBlocks[T]{task: t, grid: l, bands: plan.Bands(t.shape, g)}, nil
	}
	j, err := newJoined(t, l)
	return &j, err
}

func scatterBlocksVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/scatter-blocks",
		Parts:  []gemm.Part{gemm.Course, gemm.ReportBlocks},
		Advice: []gemm.Advice{{Item: "M2", Over: "mpi/scatter-rows"}},
		Doc: "a block of C per rank: its rows of A and columns of B in one Scatter, C in one Gather; " +
			"over several hosts in bands, once to each",
		Params: commonParams(gridParam()),
	}
	v = types{newScatterBlocks[float32], newScatterBlocks[float64], newScatterBlocks[gf256.Elem]}.of(v)
	return variant(v, gridWorkspace(func(s gemm.Shape, g plan.Grid, _ gemm.Params) float64 {
		return 2 * packedElements(s, g)
	}))
}

// hostBlocks is scatter-blocks over several hosts. Rank 0 sends the first rank of each host the blocks of
// A and B that the host needs, each once, and the ranks of the host share them. The grid is laid on the hosts
// so that these are few. The columns of a block are sent in bands. A band of C is computed while the next
// band of B is under way, and returns against the stream of B: a link carries both directions at the same time.
//
//	2×2, hosts 0 0 1 1        to rank 2, for rank 3 too        back
//	step 0                    A₁
//	step 1                    band 0 of B₀ and of B₁
//	step 2                    band 1 of B₀ and of B₁
//	step 3                    band 2 of B₀ and of B₁           band 0 of C₁₀ and of C₁₁
//
// If a host lacks the memory to share, each rank has blocks of its own, as if it were on a host of its own.
type hostBlocks[T gemm.Element] struct {
	*task[T]
	notices[T]
	grid       plan.Layout
	bands      int
	hosts      []int              // of the ranks, which share blocks
	rows, cols [][]int            // by host, the rows and columns of the grid whose blocks it needs
	heads      []int              // by host, its first rank
	blocks     [][]gemm.Matrix[T] // by step, those of this host: of A in step 0, of a band of B in the others
	c          []gemm.Matrix[T]   // this rank's block, by band
}

func (x *hostBlocks[T]) place() error {
	if err := x.share(); err != nil {
		return err
	}
	rank := x.world.Rank()
	h := x.hosts[rank]
	take := memory.Matrix[T]
	if x.window != nil {
		arena := memory.Arena[T]{Base: x.window.At(0)}
		take = arena.Matrix
	}
	for step := range 1 + x.bands {
		x.blocks = append(x.blocks, nil)
		for _, s := range x.spans(h, step) {
			b := x.source(step, s)
			if x.copied() {
				b = take(x.size(step, s))
			}
			x.blocks[step] = append(x.blocks[step], b)
		}
	}
	i, j, _ := x.grid.At(rank)
	rows := plan.Split(x.shape.M, x.grid.P, i)
	for p := range x.bands {
		if s := x.grid.Band(x.shape, x.bands, j, p); rank == 0 {
			x.c = append(x.c, colsOf(rowsOf(x.task.c, rows), s))
		} else {
			x.c = append(x.c, memory.Matrix[T](rows.Len(), s.Len()))
		}
	}
	return nil
}

// share takes the memory that the ranks of a host share.
func (x *hostBlocks[T]) share() error {
	own := plan.InOrder(x.grid.Grid).Order // each rank on a host of its own
	x.on(x.job.hosts)
	if plan.Count(x.hosts) == len(own) {
		return nil
	}
	x.host = x.job.host
	matrices, elements := 0, 0
	for step := range 1 + x.bands {
		for _, s := range x.spans(x.hosts[x.world.Rank()], step) {
			rows, cols := x.size(step, s)
			matrices, elements = matrices+1, elements+rows*cols
		}
	}
	bytes := memory.Bytes[T](matrices, elements)
	cramped, err := x.job.cramped(ceil(bytes, x.host.Size()))
	if err != nil {
		return err
	}
	if !cramped {
		if x.host.Rank() > 0 {
			bytes = 0 // all of it is the first rank's
		}
		if x.window, err = x.job.shared(x.host, bytes); err != nil {
			return err
		}
	}
	if x.window == nil {
		x.on(own)
	}
	return nil
}

// on sets the hosts whose ranks share blocks.
func (x *hostBlocks[T]) on(hosts []int) {
	x.hosts, x.heads = hosts, make([]int, plan.Count(hosts))
	for h := range x.heads {
		x.heads[h] = slices.Index(hosts, h)
	}
	x.rows, x.cols = x.grid.Needed(hosts)
}

// copied reports whether this rank reads blocks from memory of its own or its host's. Otherwise it is rank 0
// without others on its host, which reads the operands.
func (x *hostBlocks[T]) copied() bool {
	return x.world.Rank() > 0 || x.window != nil && x.host.Size() > 1
}

// spans returns the rows of A or the columns of B that a host receives in a step.
func (x *hostBlocks[T]) spans(host, step int) (out []plan.Span) {
	if step == 0 {
		for _, i := range x.rows[host] {
			out = append(out, plan.Split(x.shape.M, x.grid.P, i))
		}
		return out
	}
	for _, j := range x.cols[host] {
		out = append(out, x.grid.Band(x.shape, x.bands, j, step-1))
	}
	return out
}

// size returns the rows and columns of a block of a step.
func (x *hostBlocks[T]) size(step int, s plan.Span) (rows, cols int) {
	if step == 0 {
		return s.Len(), x.shape.K
	}
	return x.shape.K, s.Len()
}

// source returns a block of the operands, which rank 0 has.
func (x *hostBlocks[T]) source(step int, s plan.Span) gemm.Matrix[T] {
	switch {
	case x.world.Rank() > 0:
		return gemm.Matrix[T]{}
	case step == 0:
		return rowsOf(x.task.a, s)
	}
	return colsOf(x.task.b, s)
}

// begin begins to bring the blocks of a step to all hosts; none behind the last.
func (x *hostBlocks[T]) begin(k *clock, step int) (under []*comm.Request, err error) {
	if step > x.bands {
		return nil, nil
	}
	add := func(r *comm.Request, err error) error {
		under = append(under, r)
		return err
	}
	err = k.during(distributing, func() error {
		rank := x.world.Rank()
		h := x.hosts[rank]
		for n, s := range x.spans(h, step) {
			block, err := x.blocks[step][n], error(nil)
			switch {
			case s.Len() == 0 || !x.copied():
			case rank == 0:
				memory.Copy(block, x.source(step, s))
				err = x.tell()
			case rank == x.heads[h]:
				var r *comm.Request
				if r, err = comm.Irecv(x.world, block, 0, tagB); err == nil {
					err = add(r.Then(x.tell), nil)
				}
			default:
				err = add(x.hear())
			}
			if err != nil {
				return err
			}
		}
		if rank > 0 {
			return nil
		}
		for h, head := range x.heads[1:] {
			for _, s := range x.spans(h+1, step) {
				if s.Len() == 0 {
					continue
				}
				if err := add(comm.Isend(x.world, x.source(step, s), head, tagB)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return under, err
}

// expect begins to receive C of all other ranks, on rank 0.
func (x *hostBlocks[T]) expect() (under []*comm.Request, err error) {
	for p := range x.bands {
		for rank := 1; rank < x.world.Size() && x.world.Rank() == 0; rank++ {
			i, j, _ := x.grid.At(rank)
			rows, cols := plan.Split(x.shape.M, x.grid.P, i), x.grid.Band(x.shape, x.bands, j, p)
			if rows.Len() == 0 || cols.Len() == 0 {
				continue
			}
			r, err := comm.Irecv(x.world, colsOf(rowsOf(x.task.c, rows), cols), rank, tagC)
			if err != nil {
				return under, err
			}
			under = append(under, r)
		}
	}
	return under, nil
}

func (x *hostBlocks[T]) multiply(k *clock) error {
	back, err := x.expect()
	if err != nil {
		return err
	}
	here, err := x.begin(k, 0)
	if err != nil {
		return err
	}
	first, err := x.begin(k, 1)
	if err != nil {
		return err
	}
	here = append(here, first...)
	rank := x.world.Rank()
	i, j, _ := x.grid.At(rank)
	row, col := slices.Index(x.rows[x.hosts[rank]], i), slices.Index(x.cols[x.hosts[rank]], j)
	for p, c := range x.c {
		next, err := x.begin(k, p+2)
		if err != nil {
			return err
		}
		if err := x.wait(k, distributing, here...); err != nil {
			return err
		}
		here = next
		if c.Rows == 0 || c.Cols == 0 {
			continue
		}
		err = x.compute(k, c, x.blocks[0][row], x.blocks[p+1][col], false, slices.Concat(next, back)...)
		if err != nil {
			return err
		}
		if rank == 0 {
			continue
		}
		if err := x.giveBack(k, c, &back); err != nil {
			return err
		}
	}
	return k.during(collecting, func() error {
		if err := x.end(); err != nil {
			return err
		}
		return waitAll(back)
	})
}

func (x *hostBlocks[T]) close() error { return x.free() }

func (x *hostBlocks[T]) plan() prediction {
	hosts := x.hosts
	if hosts == nil {
		hosts = x.job.hosts
	}
	out := x.overGrid(x.grid, plan.HostBlocks(x.shape, x.grid, x.job.hosts, hosts, x.bands),
		plan.BoundShared(x.shape, hosts))
	out.rooted = true
	return out
}

// notices tell the other ranks of a host that data is in the memory that they share.
type notices[T gemm.Element] struct {
	host   *comm.Comm
	window *comm.Shared // nil: nothing is shared
	told   []*comm.Request
}

// tell tells the other ranks of this host that data is there.
func (x *notices[T]) tell() error {
	if x.window == nil {
		return nil
	}
	if err := x.window.Sync(); err != nil {
		return err
	}
	for r := 1; r < x.host.Size(); r++ {
		q, err := comm.Isend(x.host, gemm.NewMatrix[T](1, 1), r, tagB)
		if err != nil {
			return err
		}
		x.told = append(x.told, q)
	}
	return nil
}

// hear begins to wait for the next notice of the first rank of this host.
func (x *notices[T]) hear() (*comm.Request, error) {
	r, err := comm.Irecv(x.host, gemm.NewMatrix[T](1, 1), 0, tagB)
	if err != nil {
		return nil, err
	}
	return r.Then(x.window.Sync), nil
}

// end waits until all have been told.
func (x *notices[T]) end() error {
	told := x.told
	x.told = nil
	return waitAll(told)
}

// free frees the memory. All ranks call it.
func (x *notices[T]) free() error {
	if x.window == nil {
		return nil
	}
	return x.window.Free()
}
