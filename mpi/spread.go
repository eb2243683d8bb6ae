package mpi

import (
	"gemm"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// area is a block of a matrix: rows and columns.
type area struct{ rows, cols plan.Span }

func (x area) empty() bool { return x.rows.Len() == 0 || x.cols.Len() == 0 }

// in returns the block of m.
func in[T gemm.Element](m gemm.Matrix[T], x area) gemm.Matrix[T] {
	return m.Slice(x.rows.Lo, x.cols.Lo, x.rows.Len(), x.cols.Len())
}

// spread sends the blocks of rank 0's matrix to the ranks of c that own them: owned
// returns those of a rank, and mine are this one's.
func spread[T gemm.Element](c *comm.Comm, all gemm.Matrix[T], owned func(rank int) []area, mine []gemm.Matrix[T]) error {
	return move(c, owned, func(rank, i int, x area) error {
		switch c.Rank() {
		case rank:
			if rank == 0 {
				copyTo(mine[i], in(all, x))
				return nil
			}
			return comm.Recv(c, mine[i], 0, i)
		case 0:
			return comm.Send(c, in(all, x), rank, i)
		}
		return nil
	})
}

// unite is the reverse of spread.
func unite[T gemm.Element](c *comm.Comm, all gemm.Matrix[T], owned func(rank int) []area, mine []gemm.Matrix[T]) error {
	return move(c, owned, func(rank, i int, x area) error {
		switch c.Rank() {
		case rank:
			if rank == 0 {
				copyTo(in(all, x), mine[i])
				return nil
			}
			return comm.Send(c, mine[i], 0, i)
		case 0:
			return comm.Recv(c, in(all, x), rank, i)
		}
		return nil
	})
}

// uniteBlocks brings the blocks of C, which the ranks of c own over a grid, to rank 0.
func (t *task[T]) uniteBlocks(c *comm.Comm, g plan.Grid, mine gemm.Matrix[T]) error {
	return unite(c, t.c, func(rank int) []area {
		i, j, _ := g.At(rank)
		return []area{{plan.Split(t.shape.M, g.P, i), plan.Split(t.shape.N, g.Q, j)}}
	}, []gemm.Matrix[T]{mine})
}

// move calls f for every block with elements, in an order that all ranks have.
func move(c *comm.Comm, owned func(rank int) []area, f func(rank, i int, x area) error) error {
	for rank := range c.Size() {
		if c.Rank() != 0 && c.Rank() != rank {
			continue
		}
		for i, x := range owned(rank) {
			if x.empty() {
				continue
			}
			if err := f(rank, i, x); err != nil {
				return err
			}
		}
	}
	return nil
}
