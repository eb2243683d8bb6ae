package mpi

import (
	"slices"
	"unsafe"

	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// scatterRows is p2p-rows with one call in place of two per worker. Rank 0 puts into one buffer,
// for each rank, its rows of A followed by all of B. One Scatter of a combined type sends them all,
// and one Gather returns the rows of C. The rows are padded to the same number on all ranks. MPI
// forbids a Scatter to read one location for two ranks, so the buffer has k·(m + P·n) elements.
//
//	buffer of rank 0   A₀ B A₁ B A₂ B
//	rank                 0         1         2
//	after Scatter      A₀ B      A₁ B      A₂ B
//	after Gather       C₀ C₁ C₂   ·          ·
type scatterRows[T gemm.Element] struct{ joined[T] }

func newScatterRows[T gemm.Element](t *task[T]) (product[T], error) {
	j, err := newJoined(t, plan.InOrder(plan.Grid{P: t.world.Size(), Q: 1, C: 1}), false)
	return &scatterRows[T]{j}, err
}

func (x *scatterRows[T]) plan() prediction {
	out := x.joined.plan()
	out.grid = plan.Grid{}
	out.schedule = plan.ScatterRows(x.shape, x.job.hosts)
	return out
}

func scatterRowsVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/scatter-rows",
		Doc:    "rows of A and all of B in one Scatter, rows of C in one Gather",
		Params: commonParams(),
	}
	v = types{newScatterRows[float32], newScatterRows[float64], newScatterRows[gf256.Elem]}.of(v)
	return variant(v, func(s gemm.Shape, ranks int, _ gemm.Params) float64 {
		return 2 * packedElements(s, plan.Grid{P: ranks, Q: 1, C: 1})
	})
}

// joined is a product whose operands are scattered in one call. The blocks of A and of B that a
// rank needs, padded to the same size on all ranks, are adjacent in the buffer. If the ranks of a
// host share their blocks, the first of them receives the blocks of all, each once.
type joined[T gemm.Element] struct {
	*task[T]
	grid        plan.Layout
	ranks       *comm.Comm   // of the grid; nil outside
	heads       *comm.Comm   // the ranks that receive blocks; nil elsewhere
	hosts       []int        // of the ranks of the grid: which share blocks; one a rank if none does
	window      *comm.Shared // with the blocks of A and B of a host; nil: none are shared
	m, n        int          // rows and columns of a padded block of C
	rows, cols  [][]int      // by host, the rows and columns of the grid whose blocks it needs
	a, b, c     []T          // the blocks of A and B of this host, and this rank's block of C
	sent, found []T          // on rank 0: all hosts' blocks of A and B, and all ranks' blocks of C
}

// packedElements returns the elements of the buffers of rank 0 in a joined product.
func packedElements(s gemm.Shape, g plan.Grid) float64 {
	m, n := float64(ceil(s.M, g.P)), float64(ceil(s.N, g.Q))
	return float64(g.Ranks()) * (m*float64(s.K) + float64(s.K)*n + m*n)
}

func ceil(n, parts int) int { return (n + parts - 1) / parts }

func newJoined[T gemm.Element](t *task[T], g plan.Layout, share bool) (joined[T], error) {
	j := joined[T]{task: t, grid: g, m: ceil(t.shape.M, g.P), n: ceil(t.shape.N, g.Q)}
	j.hosts = plan.InOrder(g.Grid).Order
	if n := plan.Count(t.job.hosts); share && 1 < n && n < g.Ranks() && g.Ranks() == t.world.Size() {
		j.hosts = t.job.hosts
	}
	rank := t.world.Rank()
	if rank == 0 {
		err := memory.Room[T](packedElements(t.shape, g.Grid), "the joined blocks of all ranks on rank 0")
		if err != nil {
			return j, err
		}
	}
	// What a call in the product would find, too late for the ranks to stay in step.
	j.rows, j.cols = g.Needed(j.hosts)
	if err := comm.Countable(max(j.blocks(j.rows)*j.m*t.shape.K, j.blocks(j.cols)*t.shape.K*j.n, j.m*j.n),
		"in the blocks for a rank", "use more ranks"); err != nil {
		return j, err
	}
	if rank < g.Ranks() {
		j.c = memory.Matrix[T](j.m, j.n).Data
	}
	return j, nil
}

// blocks returns how many blocks a host needs at most.
func (x *joined[T]) blocks(of [][]int) int {
	most := 0
	for _, blocks := range of {
		most = max(most, len(blocks))
	}
	return most
}

func (x *joined[T]) place() (err error) {
	if x.ranks, err = x.job.seats.First(x.grid.Ranks()); err != nil {
		return err
	}
	x.heads = x.ranks
	if plan.Count(x.hosts) < len(x.hosts) {
		if err = x.share(); err != nil {
			return err
		}
	}
	if x.heads == nil {
		return nil
	}
	// Of a host with fewer blocks than another, the last ones are padding.
	a, b := x.blocks(x.rows)*x.m, x.blocks(x.cols)*x.n
	if x.world.Rank() == 0 {
		x.sent = memory.Matrix[T](plan.Count(x.hosts), (a+b)*x.shape.K).Data
		x.found = memory.Matrix[T](x.grid.Ranks(), x.m*x.n).Data
	}
	if x.window == nil {
		x.a, x.b = memory.Matrix[T](a, x.shape.K).Data, memory.Matrix[T](x.shape.K, b).Data
	}
	return nil
}

// share takes the memory for the blocks that the ranks of a host share. Without that memory each rank has
// its own.
func (x *joined[T]) share() error {
	a, b := x.blocks(x.rows)*x.m, x.blocks(x.cols)*x.n
	bytes, local := memory.Bytes[T](2, (a+b)*x.shape.K), x.job.host.Size()
	cramped, err := x.job.cramped((bytes + local - 1) / local)
	if err != nil {
		return err
	}
	if !cramped {
		if x.job.host.Rank() > 0 {
			bytes = 0
		}
		if x.window, err = x.job.shared(x.job.host, bytes); err != nil {
			return err
		}
	}
	if x.window == nil {
		x.hosts = plan.InOrder(x.grid.Grid).Order
		x.rows, x.cols = x.grid.Needed(x.hosts)
		return nil
	}
	arena := memory.Arena[T]{Base: x.window.At(0)}
	if x.job.host.Rank() == 0 {
		x.a, x.b = arena.Matrix(a, x.shape.K).Data, arena.Matrix(x.shape.K, b).Data
	} else {
		at := []uintptr{arena.Reserve(a, x.shape.K), arena.Reserve(x.shape.K, b)}
		x.a = unsafe.Slice((*T)(unsafe.Add(arena.Base, at[0])), a*x.shape.K)
		x.b = unsafe.Slice((*T)(unsafe.Add(arena.Base, at[1])), b*x.shape.K)
	}
	x.heads, err = x.job.seats.Heads(x.hosts)
	return err
}

func (x *joined[T]) close() error {
	if x.window == nil {
		return nil
	}
	return x.window.Free()
}

// block returns the rows and columns of C of the rank at (i, j), without padding.
func (x *joined[T]) block(rank int) (rows, cols plan.Span) {
	i, j, _ := x.grid.At(rank)
	return cut(x.shape.M, x.m, i), cut(x.shape.N, x.n, j)
}

// cut returns part i of n indices in parts of the given size; the last ones have fewer, or none.
func cut(n, size, i int) plan.Span { return plan.Span{Lo: min(n, i*size), Hi: min(n, (i+1)*size)} }

func (x *joined[T]) multiply(k *clock) error {
	if x.ranks == nil {
		return nil
	}
	err := k.during(distributing, func() error {
		x.pack()
		if x.heads != nil {
			if err := comm.ScatterJoined(x.heads, 0, x.sent, x.a, x.b); err != nil {
				return err
			}
		}
		if x.window != nil {
			return x.window.Ready()
		}
		return nil
	})
	if err != nil {
		return err
	}
	rank := x.ranks.Rank()
	rows, cols := x.block(rank)
	if rows.Len() > 0 && cols.Len() > 0 {
		i, j, _ := x.grid.At(rank)
		row, col := slices.Index(x.rows[x.hosts[rank]], i), slices.Index(x.cols[x.hosts[rank]], j)
		a := of(x.a[row*x.m*x.shape.K:], rows.Len(), x.shape.K, x.shape.K)
		b := of(x.b[col*x.shape.K*x.n:], x.shape.K, cols.Len(), x.n)
		if err := x.compute(k, of(x.c, rows.Len(), cols.Len(), x.n), a, b, false); err != nil {
			return err
		}
	}
	return k.during(collecting, func() error {
		if err := comm.Gather(x.ranks, 0, x.c, x.found); err != nil {
			return err
		}
		x.unpack()
		return nil
	})
}

// of returns a matrix that begins with the first element of data.
func of[T gemm.Element](data []T, rows, cols, stride int) gemm.Matrix[T] {
	return gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

// pack copies the blocks of A and B of every host into rank 0's buffer.
func (x *joined[T]) pack() {
	if x.world.Rank() != 0 {
		return
	}
	a, b := x.blocks(x.rows)*x.m*x.shape.K, x.blocks(x.cols)*x.shape.K*x.n
	for h := range x.rows {
		part := x.sent[h*(a+b) : (h+1)*(a+b)]
		for n, i := range x.rows[h] {
			rows := cut(x.shape.M, x.m, i)
			memory.Copy(of(part[n*x.m*x.shape.K:], rows.Len(), x.shape.K, x.shape.K), rowsOf(x.task.a, rows))
		}
		for n, j := range x.cols[h] {
			cols := cut(x.shape.N, x.n, j)
			memory.Copy(of(part[a+n*x.shape.K*x.n:], x.shape.K, cols.Len(), x.n), colsOf(x.task.b, cols))
		}
	}
}

// unpack copies the blocks of C of every rank to where they belong.
func (x *joined[T]) unpack() {
	if x.world.Rank() != 0 {
		return
	}
	for rank := range x.grid.Ranks() {
		rows, cols := x.block(rank)
		part := x.found[rank*x.m*x.n:]
		memory.Copy(colsOf(rowsOf(x.task.c, rows), cols), of(part, rows.Len(), cols.Len(), x.n))
	}
}

func (x *joined[T]) collect() error { return nil }

func (x *joined[T]) plan() prediction {
	busy := 0
	for rank := range x.grid.Ranks() {
		if rows, cols := x.block(rank); rows.Len() > 0 && cols.Len() > 0 {
			busy++
		}
	}
	return prediction{
		schedule: plan.ScatterBlocks(x.shape, x.grid, x.job.hosts, x.hosts),
		bound:    plan.BoundShared(x.shape, x.hosts), rooted: true,
		grid: x.grid.Grid, busy: busy, largest: gemm.Shape{M: x.m, N: x.n, K: x.shape.K},
	}
}
