package comm

import (
	"gemm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// Block is a block of a matrix: its rows and columns.
type Block struct{ Rows, Cols plan.Span }

func (x Block) empty() bool { return x.Rows.Len() == 0 || x.Cols.Len() == 0 }

// in returns the block of m.
func in[T gemm.Element](m gemm.Matrix[T], x Block) gemm.Matrix[T] {
	return m.Slice(x.Rows.Lo, x.Cols.Lo, x.Rows.Len(), x.Cols.Len())
}

// Spread sends the blocks of rank 0's matrix to the ranks of c that own them. owned returns the
// blocks of a rank; mine are the blocks of this rank.
func Spread[T gemm.Element](c *Comm, all gemm.Matrix[T], owned func(rank int) []Block, mine []gemm.Matrix[T]) error {
	return move(c, owned, func(rank, i int, x Block) error {
		switch c.Rank() {
		case rank:
			if rank == 0 {
				memory.Copy(mine[i], in(all, x))
				return nil
			}
			return Recv(c, mine[i], 0, i)
		case 0:
			return Send(c, in(all, x), rank, i)
		}
		return nil
	})
}

// Unite is the inverse of Spread.
func Unite[T gemm.Element](c *Comm, all gemm.Matrix[T], owned func(rank int) []Block, mine []gemm.Matrix[T]) error {
	return move(c, owned, func(rank, i int, x Block) error {
		switch c.Rank() {
		case rank:
			if rank == 0 {
				memory.Copy(in(all, x), mine[i])
				return nil
			}
			return Send(c, mine[i], 0, i)
		case 0:
			return Recv(c, in(all, x), rank, i)
		}
		return nil
	})
}

// move calls f for every block with elements, in the same order on all ranks.
func move(c *Comm, owned func(rank int) []Block, f func(rank, i int, x Block) error) error {
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
