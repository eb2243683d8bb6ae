//go:build !mpi

package comm

import "gemm"

type library struct{}

// ProcessGrid is the ranks as the library arranges them.
type ProcessGrid struct{}

// OpenScaLAPACK opens the library, once a process.
func OpenScaLAPACK() (*ScaLAPACK, error) { return nil, errNone }

// Grid arranges all ranks in p rows of q, in the order of their numbers.
func (library) Grid(_, _ int) (*ProcessGrid, error) { return nil, errNone }

func (*ProcessGrid) product(element, gemm.Shape, int, [3]part) error { return errNone }
