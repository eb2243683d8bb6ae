//go:build !mpi

package comm

import "gemm"

type library struct{}

// ProcessGrid is a grid of ranks of the library.
type ProcessGrid struct{}

// OpenScaLAPACK opens the library, once in a process.
func OpenScaLAPACK() (*ScaLAPACK, error) { return nil, errNone }

// Grid returns the grid of all ranks, p rows of q, in the order of their numbers.
func (library) Grid(_, _ int) (*ProcessGrid, error) { return nil, errNone }

func (*ProcessGrid) product(gemm.Shape, int, [3]buffer) error { return errNone }
