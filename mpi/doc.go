// Package mpi multiplies matrices on the ranks that mpirun starts, by real MPI.
//
// Rank 0 leads. Its multipliers are those that the driver measures; each call that
// concerns all ranks is first told to the others, who serve it (Job.Serve) with the same
// code and empty operands. What the ranks own, send and compute is planned in package
// plan, how messages travel is package comm's, where a rank's matrices lie is package
// memory's, and how mpirun is started is package launch's; here are the algorithms, one a
// file:
//
//	p2p_rows.go, p2p_rows_overlap.go          messages from rank 0 to each worker
//	scatter_rows.go, scatter_blocks.go        one Scatter of joined parts, one Gather
//	grid_blocks.go, bcast_rows.go             Scatterv and Bcast
//	summa.go, srumma.go, layers.go            operands that are spread over the ranks; C stays (stationary.go)
//	cannon.go                                 operands that are spread and passed on
//
// The first six begin and end with whole operands on rank 0, and their time has the
// distribution in it. The last four have the operands spread already, and Stage and
// Collect, whose time is not theirs, bring them there and back.
package mpi
