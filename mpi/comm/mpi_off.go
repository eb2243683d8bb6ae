//go:build !mpi

package comm

import (
	"unsafe"

	"gemm"
	"gemm/mpi/plan"
)

// Built reports whether this build has MPI.
const Built = false

// errNone is the error of every call in a build without MPI.
var errNone = gemm.Unavailablef("this build has no MPI").
	WithRemedy("install libopenmpi-dev and openmpi-bin, then make build (go build -tags mpi ./cmd/gemm)")

type (
	handle  struct{}
	pending struct{}
	window  struct{}
)

// Start begins MPI and returns the communicator of all ranks.
func Start() (*Comm, error) { return nil, errNone }

// Free frees the communicators and types of this process.
func (c *Comm) Free() error { return errNone }

// Finalize ends MPI.
func (c *Comm) Finalize() error { return errNone }

// Uncounted returns a communicator of the same ranks whose messages are not counted.
func (c *Comm) Uncounted() (*Comm, error) { return nil, errNone }

// Split returns the communicator of the ranks with the same colour, in the order of their keys; nil if the colour
// is negative.
func (c *Comm) Split(_, _ int) (*Comm, error) { return nil, errNone }

// Barrier returns when all ranks have called it.
func (c *Comm) Barrier() error { return errNone }

// Max returns the largest x of all ranks, on each of them.
func (c *Comm) Max(float64) (float64, error) { return 0, errNone }

// GatherBytes returns on rank 0 the data of each rank, and nil on the others.
func (c *Comm) GatherBytes([]byte) ([][]byte, error) { return nil, errNone }

// SendAll sends data from rank 0 to all others, which call Poll.
func (c *Comm) SendAll([]byte) error { return errNone }

// Poll waits for data that rank 0 sends with SendAll. First it polls, later it sleeps between polls.
func (c *Comm) Poll() ([]byte, error) { return nil, errNone }

// Exchange has this rank exchange messages of n bytes with its peer of the pattern, if it has one, while the other
// pairs do so too. It returns the time of a message on the slowest rank, in seconds. All ranks call it.
func (c *Comm) Exchange(_ plan.Pattern, _, _ int) (float64, error) { return 0, errNone }

// Version returns the name and version of the library.
func Version() string { return "" }

func (handle) send(buffer, int, int) error                                        { return errNone }
func (handle) recv(buffer, int, int) error                                        { return errNone }
func (handle) isend(buffer, int, int, *Request) error                             { return errNone }
func (handle) irecv(buffer, int, int, *Request) error                             { return errNone }
func (handle) bcast(buffer, int) error                                            { return errNone }
func (handle) ibcast(buffer, int, *Request) error                                 { return errNone }
func (handle) movev(buffer, []int, []int, buffer, int, direction) error           { return errNone }
func (handle) gather(element, unsafe.Pointer, int, unsafe.Pointer, int) error     { return errNone }
func (handle) reduceScatter(element, unsafe.Pointer, []int, unsafe.Pointer) error { return errNone }
func (handle) scatterJoined(element, unsafe.Pointer, unsafe.Pointer, int, unsafe.Pointer, int, int) error {
	return errNone
}
func (handle) share(int, *Shared) error                   { return errNone }
func (handle) expose(int, *window, *unsafe.Pointer) error { return errNone }
func (window) rget(buffer, int, int64, *Request) error    { return errNone }
func (window) sync() error                                { return errNone }
func (handle) release(*window) error                      { return errNone }
func (*pending) wait() error                              { return errNone }
func (*pending) test() (bool, error)                      { return false, errNone }
