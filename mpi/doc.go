// Package mpi multiplies matrices on the ranks that mpirun starts, by real MPI.
//
// Rank 0 leads. The driver measures its multipliers. A call that concerns all ranks is first sent to the other ranks as
// a command; they serve it (Job.Serve) with the same code and empty operands. Package plan says what each rank owns,
// sends and computes. Package comm sends the messages, package memory allocates the matrices of a rank, and package
// launch starts mpirun. The algorithms are here, one per file:
//
//	p2p_rows.go, p2p_rows_overlap.go          messages from rank 0 to each worker
//	scatter_rows.go, scatter_blocks.go        one Scatter of joined parts, one Gather
//	grid_blocks.go, bcast_rows.go             Scatterv and Bcast
//	summa.go, srumma.go, layers.go            operands that are spread over the ranks; C stays (stationary.go)
//	cannon.go                                 operands that are spread and passed on
//
// The first six begin and end with whole operands on rank 0, and the distribution is part of their time. For the last
// four the operands are distributed already: Stage and Collect move them, outside of the measured time.
package mpi
