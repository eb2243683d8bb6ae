// Package comm is the transport of the family mpi: messages of matrices between ranks, by real MPI. It uses
// github.com/emer/empi for the calls that it has. A thin file of cgo (mpi_on.go) adds the others: non-blocking calls,
// derived types, parts of different lengths, and communicators that were split.
//
// A message is a matrix with any stride; the transport chooses the derived type. Both ends of a message agree on rows
// and columns, not on strides. Every call counts the bytes of its arguments (see Traffic).
//
// A process makes its calls one at a time; if the first call is made on a locked thread, all are made on it. A build
// without the tag mpi has the same functions. There Start returns gemm.ErrUnavailable with the remedy.
package comm
