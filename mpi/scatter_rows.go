package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
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
type scatterRows[T gemm.Element] struct{ *joined[T] }

func newScatterRows[T gemm.Element](t *task[T]) (product[T], error) {
	x, err := newJoined(t, plan.InOrder(plan.Grid{P: t.world.Size(), Q: 1, C: 1}))
	return &scatterRows[T]{x}, err
}

func (x *scatterRows[T]) plan() prediction {
	out := x.joined.plan()
	out.grid = plan.Grid{}
	out.schedule = plan.ScatterRows(x.task.shape, x.task.job.hosts)
	return out
}

func scatterRowsVariant() gemm.Variant {
	return variant(gemm.Variant{
		Name:   "mpi/scatter-rows",
		Doc:    "rows of A and all of B in one Scatter, rows of C in one Gather",
		Params: commonParams(),
	}, types{newScatterRows[float32], newScatterRows[float64], newScatterRows[gf256.Elem]},
		func(s gemm.Shape, ranks int, _ gemm.Params) float64 {
			return 2 * packedElements(s, plan.Grid{P: ranks, Q: 1, C: 1})
		})
}

// joined is a product whose operands are scattered in one call. The blocks of A and of B that a
// rank needs, padded to the same size on all ranks, are adjacent in the buffer: see plan.Buffers.
type joined[T gemm.Element] struct {
	rooted
	task        *task[T]
	buffers     plan.Buffers
	block       gemm.Shape // of a rank, padded
	ranks       *comm.Comm // of the grid; nil outside
	a, b, c     []T        // this rank's blocks
	sent, found []T        // on rank 0: all ranks' blocks of A and B, and of C
}

// packedElements returns the elements of the buffers of rank 0 in a joined product.
func packedElements(s gemm.Shape, g plan.Grid) float64 {
	block := plan.Buffers{Layout: plan.Layout{Grid: g}, Shape: s}.Block()
	m, n := float64(block.M), float64(block.N)
	return float64(g.Ranks()) * (m*float64(s.K) + float64(s.K)*n + m*n)
}

func newJoined[T gemm.Element](t *task[T], g plan.Layout) (*joined[T], error) {
	x := &joined[T]{task: t, buffers: plan.Buffers{Layout: g, Shape: t.shape}}
	x.block = x.buffers.Block()
	if t.rank() == 0 {
		err := fitsMemory[T](packedElements(t.shape, g.Grid), "the joined blocks of all ranks on rank 0")
		if err != nil {
			return x, err
		}
	}
	m, n, k := x.block.M, x.block.N, x.block.K
	// A call in the product would find that too late for the ranks to stay in step.
	if err := comm.Countable(max(m*k, k*n, m*n), "in a block for a rank", "use more ranks"); err != nil {
		return x, err
	}
	if t.rank() == 0 {
		x.sent = newMatrix[T](g.Ranks(), (m+n)*k).Data
		x.found = newMatrix[T](g.Ranks(), m*n).Data
	}
	if t.rank() < g.Ranks() {
		x.a, x.b, x.c = newMatrix[T](m, k).Data, newMatrix[T](k, n).Data, newMatrix[T](m, n).Data
	}
	return x, nil
}

func (x *joined[T]) prepare() (err error) {
	x.ranks, err = x.task.job.splits.First(x.buffers.Ranks())
	return err
}

func (x *joined[T]) multiply(prof *profile) error {
	if x.ranks == nil {
		return nil
	}
	err := prof.during(distributing, func() error {
		x.pack()
		return comm.ScatterJoined(x.ranks, 0, x.sent, x.a, x.b)
	})
	if err != nil {
		return err
	}
	rows, cols := x.buffers.Of(x.ranks.Rank())
	if n, k := x.block.N, x.block.K; rows.Len() > 0 && cols.Len() > 0 {
		a, b, c := of(x.a, rows.Len(), k, k), of(x.b, k, cols.Len(), n), of(x.c, rows.Len(), cols.Len(), n)
		if err := x.task.compute(prof, c, a, b, false); err != nil {
			return err
		}
	}
	return prof.during(collecting, func() error {
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

// pack copies the blocks of A and B of every rank into rank 0's buffer.
func (x *joined[T]) pack() {
	if x.task.rank() != 0 {
		return
	}
	m, n, k := x.block.M, x.block.N, x.block.K
	for rank := range x.buffers.Ranks() {
		rows, cols := x.buffers.Of(rank)
		part := x.sent[rank*(m+n)*k : (rank+1)*(m+n)*k]
		comm.Copy(of(part, rows.Len(), k, k), rowsOf(x.task.a, rows))
		for e := m * k; e < len(part) && cols.Len() > 0; e += n {
			row, col := x.buffers.InB(rank, e-m*k)
			copy(part[e:], x.task.b.Row(row)[col:cols.Hi])
		}
	}
}

// unpack copies the blocks of all ranks to C.
func (x *joined[T]) unpack() {
	if x.task.rank() != 0 {
		return
	}
	m, n := x.block.M, x.block.N
	for i := range x.task.c.Rows {
		row := x.task.c.Row(i)
		for j := 0; j < len(row); j += n {
			rank, e := x.buffers.InC(i, j)
			copy(row[j:min(j+n, len(row))], x.found[rank*m*n+e:])
		}
	}
}

func (x *joined[T]) plan() prediction {
	busy := 0
	for rank := range x.buffers.Ranks() {
		if rows, cols := x.buffers.Of(rank); rows.Len() > 0 && cols.Len() > 0 {
			busy++
		}
	}
	return prediction{
		schedule: plan.ScatterBlocks(x.task.shape, x.buffers.Layout, x.task.job.hosts),
		bound:    plan.BoundRooted(x.task.shape, x.buffers.Ranks(), true), rooted: true,
		grid: x.buffers.Grid, busy: busy, largest: x.block,
	}
}
