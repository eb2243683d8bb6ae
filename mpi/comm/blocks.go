package comm

import (
	"gemm"
	"gemm/mpi/plan"
)

// Block is a block of a matrix: its rows and columns.
type Block struct{ Rows, Cols plan.Span }

func in[T gemm.Element](m gemm.Matrix[T], x Block) gemm.Matrix[T] {
	return m.Slice(x.Rows.Lo, x.Cols.Lo, x.Rows.Len(), x.Cols.Len())
}

// ScatterBlocks sends the blocks of rank 0's matrix to the ranks of c that own them, in one message each. owned
// returns the blocks of a rank; mine are the blocks of this rank.
func ScatterBlocks[T gemm.Element](c *Comm, all gemm.Matrix[T], owned func(rank int) []Block,
	mine []gemm.Matrix[T]) error {
	return moveBlocks(c, all, owned, mine, sending)
}

// GatherBlocks is the inverse of ScatterBlocks.
func GatherBlocks[T gemm.Element](c *Comm, all gemm.Matrix[T], owned func(rank int) []Block,
	mine []gemm.Matrix[T]) error {
	return moveBlocks(c, all, owned, mine, receiving)
}

func moveBlocks[T gemm.Element](c *Comm, all gemm.Matrix[T], owned func(rank int) []Block, mine []gemm.Matrix[T],
	way direction) error {
	for rank := range c.Size() {
		if c.Rank() != 0 && c.Rank() != rank {
			continue
		}
		for i, x := range owned(rank) {
			var err error
			switch {
			case x.Rows.Len() == 0 || x.Cols.Len() == 0:
			case rank == 0 && way == sending:
				Copy(mine[i], in(all, x))
			case rank == 0:
				Copy(in(all, x), mine[i])
			case c.Rank() == 0 && way == sending:
				err = Send(c, in(all, x), rank, i)
			case c.Rank() == 0:
				err = Recv(c, in(all, x), rank, i)
			case way == sending:
				err = Recv(c, mine[i], 0, i)
			default:
				err = Send(c, mine[i], 0, i)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Copy copies the elements of from.
func Copy[T gemm.Element](to, from gemm.Matrix[T]) {
	for i := range from.Rows {
		copy(to.Row(i), from.Row(i))
	}
}
