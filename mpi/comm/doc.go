// Package comm is the transport of the mpi family: messages of matrices between ranks,
// by real MPI. Calls that github.com/emer/empi has go through it; what it lacks, which
// is everything non-blocking, of derived types, of several lengths and on communicators
// that were split, is a thin file of cgo beside it (mpi_on.go).
//
// A message is a matrix, whatever its stride: the transport chooses the derived type.
// The two ends of a message agree on rows and columns, not on strides. Every call counts
// the bytes of its arguments (see Traffic).
//
// All calls of a process come one at a time; who began with a locked thread makes them
// all there. A build without the tag mpi has the same functions, whose Start returns
// gemm.ErrUnavailable with the remedy.
package comm
