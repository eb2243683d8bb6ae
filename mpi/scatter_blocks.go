package mpi

import (
	"slices"

	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
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
	l, err := t.placeGrid(func(s gemm.Shape, hosts []int, g plan.Grid) plan.Schedule {
		return plan.HostBlocks(s, plan.InOrder(g), hosts, hosts, 1)
	})
	if err != nil {
		return nil, err
	}
	if plan.Count(t.job.hosts) > 1 && l.Ranks() == t.world.Size() {
		x := &hostBlocks[T]{task: t, grid: l, bands: plan.Bands(t.shape, l.Grid),
			notifier: notifier[T]{host: t.job.host}}
		x.setHosts(t.job.hosts)
		return x, nil
	}
	return newJoined(t, l)
}

func scatterBlocksVariant() gemm.Variant {
	return variant(gemm.Variant{
		Name: "mpi/scatter-blocks",
		Doc: "a block of C per rank: its rows of A and columns of B in one Scatter, C in one Gather; " +
			"over several hosts in bands, once to each",
		Params: commonParams(gridParam()),
	}, types{newScatterBlocks[float32], newScatterBlocks[float64], newScatterBlocks[gf256.Elem]},
		gridWorkspace(func(s gemm.Shape, g plan.Grid, _ gemm.Params) float64 {
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
	rooted
	task       *task[T]
	notifier   notifier[T]
	grid       plan.Layout
	bands      int
	hosts      []int              // of the ranks; ranks of one host share blocks
	rows, cols [][]int            // by host, the rows and columns of the grid whose blocks it needs
	leaders    []int              // by host, its first rank
	blocks     [][]gemm.Matrix[T] // by step, the blocks of this host: of A in step 0, of a band of B in the others
	c          []gemm.Matrix[T]   // this rank's block, by band
}

// setHosts sets the hosts whose ranks share blocks.
func (x *hostBlocks[T]) setHosts(hosts []int) {
	x.hosts, x.leaders = hosts, plan.Leaders(hosts)
	x.rows, x.cols = x.grid.Needed(hosts)
}

func (x *hostBlocks[T]) own() int { return x.hosts[x.task.rank()] }

func (x *hostBlocks[T]) prepare() error {
	if err := x.share(); err != nil {
		return err
	}
	matrix := newMatrix[T]
	if x.notifier.window != nil {
		matrix = (&arena[T]{base: x.notifier.window.At(0)}).matrix
	}
	for step := range 1 + x.bands {
		x.blocks = append(x.blocks, nil)
		for _, s := range x.spans(x.own(), step) {
			b := x.source(step, s)
			if x.copied() {
				b = matrix(x.size(step, s))
			}
			x.blocks[step] = append(x.blocks[step], b)
		}
	}
	i, j, _ := x.grid.At(x.task.rank())
	rows := plan.Split(x.task.shape.M, x.grid.P, i)
	for band := range x.bands {
		if s := x.grid.Band(x.task.shape, x.bands, j, band); x.task.rank() == 0 {
			x.c = append(x.c, colsOf(rowsOf(x.task.c, rows), s))
		} else {
			x.c = append(x.c, newMatrix[T](rows.Len(), s.Len()))
		}
	}
	return nil
}

// share takes the memory that the ranks of a host share. If a host lacks it, each rank is on a host of its own.
func (x *hostBlocks[T]) share() error {
	ranks := x.task.world.Size()
	if plan.Count(x.hosts) == ranks {
		return nil
	}
	matrices, elements := 0, 0
	for step := range 1 + x.bands {
		for _, s := range x.spans(x.own(), step) {
			rows, cols := x.size(step, s)
			matrices, elements = matrices+1, elements+rows*cols
		}
	}
	bytes := sharedBytes[T](matrices, elements)
	lacking, err := x.task.job.lacksShared(ceil(bytes, x.notifier.host.Size()))
	if err != nil {
		return err
	}
	if !lacking {
		if x.notifier.host.Rank() > 0 {
			bytes = 0 // all of it is the first rank's
		}
		x.notifier.window, err = x.task.shareMemory(bytes)
	}
	if x.notifier.window == nil {
		x.setHosts(plan.UpTo(ranks))
	}
	return err
}

// copied reports whether this rank reads blocks from memory of its own or its host's. Otherwise it is rank 0
// without others on its host, which reads the operands.
func (x *hostBlocks[T]) copied() bool {
	return x.task.rank() > 0 || x.notifier.window != nil && x.notifier.host.Size() > 1
}

// spans returns the rows of A or the columns of B that a host receives in a step.
func (x *hostBlocks[T]) spans(host, step int) (out []plan.Span) {
	if step == 0 {
		for _, i := range x.rows[host] {
			out = append(out, plan.Split(x.task.shape.M, x.grid.P, i))
		}
		return out
	}
	for _, j := range x.cols[host] {
		out = append(out, x.grid.Band(x.task.shape, x.bands, j, step-1))
	}
	return out
}

func (x *hostBlocks[T]) size(step int, s plan.Span) (rows, cols int) {
	if step == 0 {
		return s.Len(), x.task.shape.K
	}
	return x.task.shape.K, s.Len()
}

// source returns a block of the operands, which rank 0 has.
func (x *hostBlocks[T]) source(step int, s plan.Span) gemm.Matrix[T] {
	switch {
	case x.task.rank() > 0:
		return gemm.Matrix[T]{}
	case step == 0:
		return rowsOf(x.task.a, s)
	}
	return colsOf(x.task.b, s)
}

// send starts to send the blocks of a step to all hosts, or to receive them; there are none after the last step.
func (x *hostBlocks[T]) send(prof *profile, step int) (f inflight[T], err error) {
	if step > x.bands {
		return f, nil
	}
	err = prof.during(distributing, func() error {
		for n, s := range x.spans(x.own(), step) {
			if s.Len() > 0 && x.copied() {
				x.receive(&f, step, s, x.blocks[step][n])
			}
		}
		if x.task.rank() > 0 {
			return f.err
		}
		for h, leader := range x.leaders[1:] {
			for _, s := range x.spans(h+1, step) {
				if s.Len() > 0 {
					f.add(comm.Isend(x.task.world, x.source(step, s), leader, tagB))
				}
			}
		}
		return f.err
	})
	return f, err
}

// receive copies a block on rank 0, starts to receive it on the first rank of another host, and waits for the
// notification on the others.
func (x *hostBlocks[T]) receive(f *inflight[T], step int, s plan.Span, block gemm.Matrix[T]) {
	switch x.task.rank() {
	case 0:
		comm.Copy(block, x.source(step, s))
		f.add(nil, x.notifier.send())
	case x.leaders[x.own()]:
		r, err := comm.Irecv(x.task.world, block, 0, tagB)
		if err == nil {
			r.Then(x.notifier.send)
		}
		f.add(r, err)
	default:
		f.add(x.notifier.receive())
	}
}

// receiveC starts to receive C of all other ranks, on rank 0.
func (x *hostBlocks[T]) receiveC(back *inflight[T]) error {
	for band := range x.bands {
		for rank := 1; rank < x.task.world.Size() && x.task.rank() == 0; rank++ {
			i, j, _ := x.grid.At(rank)
			rows, cols := plan.Split(x.task.shape.M, x.grid.P, i), x.grid.Band(x.task.shape, x.bands, j, band)
			if rows.Len() > 0 && cols.Len() > 0 {
				back.add(comm.Irecv(x.task.world, colsOf(rowsOf(x.task.c, rows), cols), rank, tagC))
			}
		}
	}
	return back.err
}

func (x *hostBlocks[T]) multiply(prof *profile) error {
	var back inflight[T] // the messages of C
	if err := x.receiveC(&back); err != nil {
		return err
	}
	first, err := x.send(prof, 0)
	if err != nil {
		return err
	}
	now, err := x.send(prof, 1)
	if err != nil {
		return err
	}
	now.requests = append(first.requests, now.requests...)
	i, j, _ := x.grid.At(x.task.rank())
	row, col := slices.Index(x.rows[x.own()], i), slices.Index(x.cols[x.own()], j)
	for band, c := range x.c {
		next, err := x.send(prof, band+2) // in flight while this band is multiplied
		if err != nil {
			return err
		}
		if err := x.task.wait(prof, distributing, now.requests...); err != nil {
			return err
		}
		now = next
		if c.Rows == 0 || c.Cols == 0 {
			continue
		}
		err = x.task.compute(prof, c, x.blocks[0][row], x.blocks[band+1][col], false,
			slices.Concat(next.requests, back.requests)...)
		if err == nil && x.task.rank() > 0 {
			err = x.task.sendBack(prof, c, &back.requests)
		}
		if err != nil {
			return err
		}
	}
	return prof.during(collecting, func() error { return x.notifier.wait(back.requests) })
}

func (x *hostBlocks[T]) plan() prediction {
	s := x.task.shape
	out := x.task.overGrid(x.grid.Grid, plan.HostBlocks(s, x.grid, x.task.job.hosts, x.hosts, x.bands),
		plan.BoundShared(s, x.hosts))
	out.rooted = true
	return out
}
