//go:build mpi

package comm

/*
#cgo pkg-config: ompi
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include "yield.h"

// The constants of MPI are macros, and its handles are pointers or integers, depending on the implementation.
static MPI_Comm world(void) { return MPI_COMM_WORLD; }
static int is_null(MPI_Comm c) { return c == MPI_COMM_NULL; }
static int undefined(void) { return MPI_UNDEFINED; }
static MPI_Datatype base(int kind) {
	return kind == 0 ? MPI_DOUBLE : kind == 1 ? MPI_FLOAT : MPI_BYTE;
}

static int begin(int *provided) {
	int e = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, provided);
	if (e == MPI_SUCCESS) e = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (e == MPI_SUCCESS) e = MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	return e;
}

// make_type makes a type of rows with cols elements: contiguous, or as a vector with the stride. If extent is not
// 0, it is the distance between two elements of the type, in elements of the matrix.
static int make_type(int kind, int vector, int rows, int cols, int stride, MPI_Aint extent, MPI_Datatype *out) {
	MPI_Datatype t, resized;
	int e = vector ? MPI_Type_vector(rows, cols, stride, base(kind), &t)
	               : MPI_Type_contiguous(cols, base(kind), &t);
	if (e != MPI_SUCCESS) return e;
	if (extent != 0) {
		int size;
		MPI_Type_size(base(kind), &size);
		e = MPI_Type_create_resized(t, 0, extent * size, &resized);
		MPI_Type_free(&t);
		if (e != MPI_SUCCESS) return e;
		t = resized;
	}
	*out = t;
	return MPI_Type_commit(out);
}

static int scatter_joined(int kind, void *all, void *first, int n, void *second, int n2, int root, MPI_Comm c) {
	MPI_Datatype types[2] = {base(kind), base(kind)}, packed, apart;
	int lengths[2] = {n, n2}, size, rank, e;
	MPI_Aint side[2], at[2];
	MPI_Type_size(types[0], &size);
	MPI_Comm_rank(c, &rank);
	side[0] = 0;
	side[1] = (MPI_Aint)n * size;
	MPI_Get_address(first, &at[0]);
	MPI_Get_address(second, &at[1]);
	if ((e = MPI_Type_create_struct(2, lengths, side, types, &packed)) != MPI_SUCCESS) return e;
	if ((e = MPI_Type_commit(&packed)) != MPI_SUCCESS) return e;
	if ((e = MPI_Type_create_struct(2, lengths, at, types, &apart)) != MPI_SUCCESS) return e;
	if ((e = MPI_Type_commit(&apart)) != MPI_SUCCESS) return e;
	e = MPI_Scatter(rank == root ? all : NULL, 1, packed, MPI_BOTTOM, 1, apart, root, c);
	MPI_Type_free(&packed);
	MPI_Type_free(&apart);
	return e;
}

static int reduce_scatter(int kind, void *all, int *counts, void *mine, MPI_Comm c) {
	return MPI_Reduce_scatter(all, mine, counts, base(kind), kind == 2 ? MPI_BXOR : MPI_SUM, c);
}

static int split(MPI_Comm c, int colour, int key, MPI_Comm *out) {
	int e = comm_barrier(c);
	if (e == MPI_SUCCESS) e = MPI_Comm_split(c, colour, key, out);
	if (e == MPI_SUCCESS && *out != MPI_COMM_NULL) e = MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
	return e;
}

// host_leaders returns the number of the first rank of each rank's host. It counts the ranks of this rank's host and
// their processors, which are bits of the n bytes of mask: of those that this rank may run on, and then of all.
static int host_leaders(MPI_Comm c, int *out, unsigned char *mask, int n, int *ranks) {
	MPI_Comm here;
	int lead, e;
	if ((e = MPI_Comm_rank(c, &lead)) != MPI_SUCCESS) return e;
	if ((e = MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, lead, MPI_INFO_NULL, &here)) != MPI_SUCCESS) return e;
	if ((e = MPI_Bcast(&lead, 1, MPI_INT, 0, here)) == MPI_SUCCESS)
		e = MPI_Allgather(&lead, 1, MPI_INT, out, 1, MPI_INT, c);
	if (e == MPI_SUCCESS) e = MPI_Allreduce(MPI_IN_PLACE, mask, n, MPI_BYTE, MPI_BOR, here);
	MPI_Comm_size(here, ranks);
	MPI_Comm_free(&here);
	return e;
}

// poll waits for a message from rank 0 and returns its length. It polls without a pause at first,
// then with pauses that double up to longest. It sleeps here and not in Go: Go's scheduler takes
// milliseconds to wake a locked thread on a crowded host.
static int poll(MPI_Comm c, double without_pause, long longest, int *bytes) {
	MPI_Status s;
	int there = 0, e;
	double begun = MPI_Wtime();
	struct timespec pause = {0, 20000};
	for (;;) {
		if ((e = MPI_Iprobe(0, 0, c, &there, &s)) != MPI_SUCCESS) return e;
		if (there) return MPI_Get_count(&s, MPI_BYTE, bytes);
		if (MPI_Wtime() - begun < without_pause) {
			sched_yield();
			continue;
		}
		nanosleep(&pause, NULL);
		pause.tv_nsec = 2 * pause.tv_nsec < longest ? 2 * pause.tv_nsec : longest;
	}
}

static int recv_status(void *p, int n, MPI_Datatype t, int from, int tag, MPI_Comm c) {
	return MPI_Recv(p, n, t, from, tag, c, MPI_STATUS_IGNORE);
}

static int wait_one(MPI_Request *r) { return MPI_Wait(r, MPI_STATUS_IGNORE); }
static int test_one(MPI_Request *r, int *done) { return MPI_Test(r, done, MPI_STATUS_IGNORE); }

static int copy(MPI_Comm c, MPI_Comm *out) {
	int e = comm_barrier(c);
	return e == MPI_SUCCESS ? MPI_Comm_dup(c, out) : e;
}

static int end(MPI_Comm c) {
	int e = comm_barrier(c);
	return e == MPI_SUCCESS ? MPI_Finalize() : e;
}

// opened begins the epoch in which all ranks may read the memory; the epoch ends with the window.
static int opened(MPI_Win w) {
	int e = MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
	return e == MPI_SUCCESS ? MPI_Win_lock_all(MPI_MODE_NOCHECK, w) : e;
}

static int close_window(MPI_Comm c, MPI_Win *w) {
	int e = comm_barrier(c);
	if (e == MPI_SUCCESS) e = MPI_Win_unlock_all(*w);
	return e == MPI_SUCCESS ? MPI_Win_free(w) : e;
}

// expose_memory allocates bytes of memory that other ranks may read, and stores its address in own.
static int expose_memory(MPI_Comm c, MPI_Aint bytes, MPI_Win *w, void **own) {
	int e = comm_barrier(c);
	if (e == MPI_SUCCESS) e = MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, c, own, w);
	return e == MPI_SUCCESS ? opened(*w) : e;
}

// share_memory allocates shared memory, bytes for each rank, on pages of its own. It stores the addresses of all
// ranks' parts in parts.
static int share_memory(MPI_Comm c, MPI_Aint bytes, MPI_Win *w, void **parts) {
	MPI_Info apart;
	MPI_Aint size;
	void *own;
	int unit, ranks, e;
	if ((e = comm_barrier(c)) != MPI_SUCCESS) return e;
	MPI_Info_create(&apart);
	MPI_Info_set(apart, "alloc_shared_noncontig", "true");
	e = MPI_Win_allocate_shared(bytes, 1, apart, c, &own, w);
	MPI_Info_free(&apart);
	MPI_Comm_size(c, &ranks);
	for (int r = 0; r < ranks && e == MPI_SUCCESS; r++) e = MPI_Win_shared_query(*w, r, &size, &unit, &parts[r]);
	return e == MPI_SUCCESS ? opened(*w) : e;
}

static int max_double(double x, double *out, MPI_Comm c) {
	return MPI_Allreduce(&x, out, 1, MPI_DOUBLE, MPI_MAX, c);
}

// ping_pong sends n bytes to a peer and back, repeats that, and returns the seconds of one direction.
static double ping_pong(char *data, int n, int times, int peer, int first, MPI_Comm c) {
	double start = MPI_Wtime();
	for (int i = 0; i < times; i++) {
		if (first) MPI_Send(data, n, MPI_BYTE, peer, 0, c);
		MPI_Recv(data, n, MPI_BYTE, peer, 0, c, MPI_STATUS_IGNORE);
		if (!first) MPI_Send(data, n, MPI_BYTE, peer, 0, c);
	}
	return (MPI_Wtime() - start) / times / 2;
}

// stream sends n bytes to a peer, or receives them, or both, and repeats that. The last message is answered by an
// empty one. It returns the seconds of a message.
static double stream(char *out, char *in, int n, int times, int peer, int sends, int receives, MPI_Comm c) {
	double start = MPI_Wtime();
	for (int i = 0; i < times; i++) {
		if (sends && receives) MPI_Sendrecv(out, n, MPI_BYTE, peer, 0, in, n, MPI_BYTE, peer, 0, c, MPI_STATUS_IGNORE);
		else if (sends) MPI_Send(out, n, MPI_BYTE, peer, 0, c);
		else MPI_Recv(in, n, MPI_BYTE, peer, 0, c, MPI_STATUS_IGNORE);
	}
	MPI_Sendrecv(out, 0, MPI_BYTE, peer, 1, in, 0, MPI_BYTE, peer, 1, c, MPI_STATUS_IGNORE);
	return (MPI_Wtime() - start) / times;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/emer/empi/mpi"

	"gemm/internal/cpu"
	"gemm/mpi/plan"
)

// Built reports whether this build has MPI.
const Built = true

type handle struct {
	comm  C.MPI_Comm
	world *mpi.Comm // the same communicator in empi, for all ranks only
}

// pending is the request of MPI, in C memory, because MPI writes to it.
type pending struct{ request *C.MPI_Request }

type window struct{ win C.MPI_Win }

func failed(code C.int, call string) error {
	if code == C.MPI_SUCCESS {
		return nil
	}
	var text [C.MPI_MAX_ERROR_STRING]C.char
	var n C.int
	C.MPI_Error_string(code, &text[0], &n)
	// MPICH has a line for each function that the call has called, the deepest last.
	lines := strings.Split(strings.TrimSpace(C.GoStringN(&text[0], n)), "\n")
	lines[0] = strings.TrimSuffix(lines[0], ", error stack:")
	if last := lines[len(lines)-1]; len(lines) > 1 {
		lines[0] += ": " + last
	}
	return fmt.Errorf("comm: %s: %s", call, lines[0])
}

// Start begins MPI and returns the communicator of all ranks.
func Start() (*Comm, error) {
	var provided C.int
	if err := failed(C.begin(&provided), "MPI_Init_thread"); err != nil {
		return nil, err
	}
	if provided < C.MPI_THREAD_FUNNELED {
		return nil, errors.New("comm: this MPI was built without support for threads, which every Go program has")
	}
	mpi.LogErrors = false
	world, err := mpi.NewComm(nil)
	if err != nil {
		return nil, err
	}
	c := &Comm{handle: handle{C.world(), world}, rank: world.Rank(), size: world.Size(), traffic: &Traffic{},
		numbers: plan.UpTo(world.Size()), log: &Log{}}
	return c, c.findHosts()
}

// mostProcessors is one more than the largest number of a processor that is counted.
const mostProcessors = 1 << 13

// yieldVariable is the environment variable that makes ranks of MPICH yield in any case.
const yieldVariable = "GEMM_MPI_YIELD"

// findHosts finds the hosts of the ranks. If there is one, with more ranks than processors, ranks yield while they
// wait.
func (c *Comm) findHosts() error {
	var mask [mostProcessors / 8]byte
	for _, p := range cpu.Places() {
		if p < mostProcessors {
			mask[p/8] |= 1 << (p % 8)
		}
	}
	leads := make([]C.int, c.size)
	var ranks C.int
	if err := failed(C.host_leaders(c.comm, &leads[0], (*C.uchar)(&mask[0]), C.int(len(mask)), &ranks),
		"MPI_Comm_split_type"); err != nil {
		return err
	}
	c.hosts = plan.Hosts(leads)
	processors := 0
	for _, b := range mask {
		processors += bits.OnesCount8(b)
	}
	excess := 0.0
	if processors > 0 { // where they are known
		excess = float64(int(ranks) - processors)
	}
	if os.Getenv(yieldVariable) != "" {
		excess = float64(ranks)
	}
	excess, err := c.Max(excess)
	if err == nil && excess > 0 && plan.Count(c.hosts) == 1 {
		C.comm_set_yield(1)
	}
	return err
}

// communicators are those that were made from the one of all ranks, in the order in which they were made.
var communicators []C.MPI_Comm

// Free frees the communicators and types of this process. All ranks call it, with no message in flight and no window
// left.
func (c *Comm) Free() error {
	var errs []error
	for _, made := range slices.Backward(communicators) {
		errs = append(errs, failed(C.MPI_Comm_free(&made), "MPI_Comm_free"))
	}
	for _, t := range types {
		errs = append(errs, failed(C.MPI_Type_free(&t), "MPI_Type_free"))
	}
	communicators, types = nil, nil
	return errors.Join(errs...)
}

// Finalize ends MPI, after Free. All ranks call it.
func (c *Comm) Finalize() error { return failed(C.end(c.comm), "MPI_Finalize") }

// Version returns the name and version of the library.
func Version() string {
	var text [C.MPI_MAX_LIBRARY_VERSION_STRING]C.char
	var n C.int
	if C.MPI_Get_library_version(&text[0], &n) != C.MPI_SUCCESS {
		return ""
	}
	return named(C.GoStringN(&text[0], n))
}

// derived returns the Comm of a communicator that was made from c.
func (c *Comm) derived(made C.MPI_Comm, traffic *Traffic, log *Log) (*Comm, error) {
	communicators = append(communicators, made)
	var rank, size C.int
	if err := errors.Join(
		failed(C.MPI_Comm_set_errhandler(made, C.MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"),
		failed(C.MPI_Comm_rank(made, &rank), "MPI_Comm_rank"),
		failed(C.MPI_Comm_size(made, &size), "MPI_Comm_size")); err != nil {
		return nil, err
	}
	d := &Comm{handle: handle{comm: made}, rank: int(rank), size: int(size), hosts: c.hosts, traffic: traffic, log: log}
	own, numbers := C.int(c.numbers[c.rank]), make([]C.int, d.size)
	err := failed(C.MPI_Allgather(unsafe.Pointer(&own), 1, C.MPI_INT, unsafe.Pointer(&numbers[0]), 1, C.MPI_INT, made),
		"MPI_Allgather")
	for _, r := range numbers {
		d.numbers = append(d.numbers, int(r))
	}
	return d, err
}

// Uncounted returns a communicator of the same ranks whose messages are not counted.
func (c *Comm) Uncounted() (*Comm, error) {
	var made C.MPI_Comm
	if err := failed(C.copy(c.comm, &made), "MPI_Comm_dup"); err != nil {
		return nil, err
	}
	return c.derived(made, &Traffic{}, nil)
}

// Split returns the communicator of the ranks with the same colour, in the order of their keys; nil if the colour
// is negative.
func (c *Comm) Split(colour, key int) (*Comm, error) {
	of := C.int(colour)
	if colour < 0 {
		of = C.undefined()
	}
	var made C.MPI_Comm
	if err := failed(C.split(c.comm, of, C.int(key), &made), "MPI_Comm_split"); err != nil || C.is_null(made) != 0 {
		return nil, err
	}
	return c.derived(made, c.traffic, c.log)
}

func (h handle) share(bytes int, s *Shared) error {
	return failed(C.share_memory(h.comm, C.MPI_Aint(bytes), &s.win, &s.parts[0]), "MPI_Win_allocate_shared")
}

func (h handle) expose(bytes int, w *window, own *unsafe.Pointer) error {
	return failed(C.expose_memory(h.comm, C.MPI_Aint(bytes), &w.win, own), "MPI_Win_allocate")
}

func (w *window) rget(b buffer, rank int, at int64, r *Request) error {
	return r.begin(b, func(n C.int, t C.MPI_Datatype, q *C.MPI_Request) error {
		return failed(C.MPI_Rget(b.at, n, t, C.int(rank), C.MPI_Aint(at), n, t, w.win, q), "MPI_Rget")
	})
}

func (h handle) release(w *window) error {
	return failed(C.close_window(h.comm, &w.win), "MPI_Win_free")
}

func (w *window) sync() error { return failed(C.MPI_Win_sync(w.win), "MPI_Win_sync") }

// Barrier returns when all ranks have called it.
func (c *Comm) Barrier() error {
	if c.world != nil {
		return c.world.Barrier()
	}
	return failed(C.MPI_Barrier(c.comm), "MPI_Barrier")
}

// Max returns the largest x of all ranks, on each of them.
func (c *Comm) Max(x float64) (float64, error) {
	var out C.double
	err := failed(C.max_double(C.double(x), &out, c.comm), "MPI_Allreduce")
	return float64(out), err
}

// types caches the derived types by their properties, for the life of the process.
var types = map[typeKey]C.MPI_Datatype{}

type typeKey struct {
	kind   element
	layout layout
	extent int
}

// typed returns the type of a derived layout. If extent is not 0, it is the distance between two elements of the
// type, in elements of the matrix.
func typed(kind element, l layout, extent int) (C.MPI_Datatype, error) {
	key := typeKey{kind: kind, layout: l, extent: extent}
	if l.shape == rows {
		key.layout.count = 0 // the type describes one row
	}
	if t, ok := types[key]; ok {
		return t, nil
	}
	var t C.MPI_Datatype
	err := failed(C.make_type(C.int(kind), flag(l.shape == vector), C.int(l.count), C.int(l.cols), C.int(l.stride),
		C.MPI_Aint(extent), &t), "MPI_Type_create")
	if err == nil {
		types[key] = t
	}
	return t, err
}

func (b buffer) message() (C.int, C.MPI_Datatype, error) {
	switch b.shape {
	case elements:
		return C.int(b.count), C.base(C.int(b.kind)), nil
	case rows:
		t, err := typed(b.kind, b.layout, 0)
		return C.int(b.count), t, err
	default:
		t, err := typed(b.kind, b.layout, 0)
		return 1, t, err
	}
}

// plain reports whether empi has a call for the buffer on this communicator.
func (h handle) plain(b buffer) bool { return h.world != nil && b.shape == elements && b.count > 0 }

func dataOf[T any](b buffer) []T { return unsafe.Slice((*T)(b.at), b.count) }

func (h handle) send(b buffer, to, tag int) error {
	if h.plain(b) {
		switch b.kind {
		case float64s:
			return h.world.SendF64(to, tag, dataOf[float64](b))
		case float32s:
			return h.world.SendF32(to, tag, dataOf[float32](b))
		default:
			return h.world.SendU8(to, tag, dataOf[byte](b))
		}
	}
	n, t, err := b.message()
	if err != nil {
		return err
	}
	return failed(C.MPI_Send(b.at, n, t, C.int(to), C.int(tag), h.comm), "MPI_Send")
}

// recv does not take empi's call, which has MPI_STATUS_IGNORE on Go's stack: in MPICH that is the address 1, and Go
// ends a program on whose stack it finds one.
func (h handle) recv(b buffer, from, tag int) error {
	n, t, err := b.message()
	if err != nil {
		return err
	}
	return failed(C.recv_status(b.at, n, t, C.int(from), C.int(tag), h.comm), "MPI_Recv")
}

// begin calls f with the buffer and a new request.
func (r *Request) begin(b buffer, f func(n C.int, t C.MPI_Datatype, r *C.MPI_Request) error) error {
	n, t, err := b.message()
	if err != nil {
		return err
	}
	r.request = (*C.MPI_Request)(C.malloc(C.size_t(unsafe.Sizeof(*r.request))))
	if err = f(n, t, r.request); err != nil {
		C.free(unsafe.Pointer(r.request))
	}
	return err
}

func (h handle) isend(b buffer, to, tag int, r *Request) error {
	return r.begin(b, func(n C.int, t C.MPI_Datatype, q *C.MPI_Request) error {
		return failed(C.MPI_Isend(b.at, n, t, C.int(to), C.int(tag), h.comm, q), "MPI_Isend")
	})
}

func (h handle) irecv(b buffer, from, tag int, r *Request) error {
	return r.begin(b, func(n C.int, t C.MPI_Datatype, q *C.MPI_Request) error {
		return failed(C.MPI_Irecv(b.at, n, t, C.int(from), C.int(tag), h.comm, q), "MPI_Irecv")
	})
}

func (h handle) ibcast(b buffer, root int, r *Request) error {
	return r.begin(b, func(n C.int, t C.MPI_Datatype, q *C.MPI_Request) error {
		return failed(C.MPI_Ibcast(b.at, n, t, C.int(root), h.comm, q), "MPI_Ibcast")
	})
}

func (p *pending) wait() error {
	defer C.free(unsafe.Pointer(p.request))
	return failed(C.wait_one(p.request), "MPI_Wait")
}

func (p *pending) test() (bool, error) {
	var done C.int
	err := failed(C.test_one(p.request, &done), "MPI_Test")
	if done != 0 || err != nil {
		C.free(unsafe.Pointer(p.request))
	}
	return done != 0, err
}

func (h handle) bcast(b buffer, root int) error {
	if h.plain(b) {
		switch b.kind {
		case float64s:
			return h.world.BcastF64(root, dataOf[float64](b))
		case float32s:
			return h.world.BcastF32(root, dataOf[float32](b))
		default:
			return h.world.BcastU8(root, dataOf[byte](b))
		}
	}
	n, t, err := b.message()
	if err != nil {
		return err
	}
	return failed(C.MPI_Bcast(b.at, n, t, C.int(root), h.comm), "MPI_Bcast")
}

// partType returns the type of a part of the root's matrix: rows with its stride, or vectors that may begin at any
// column.
func partType(b buffer) (C.MPI_Datatype, error) {
	if b.shape == vector {
		return typed(b.kind, b.layout, 1)
	}
	return typed(b.kind, layout{shape: rows, cols: b.cols, stride: b.cols}, b.stride)
}

func flag(x bool) C.int {
	if x {
		return 1
	}
	return 0
}

func ints(xs []int) []C.int {
	out := make([]C.int, len(xs))
	for i, x := range xs {
		out[i] = C.int(x)
	}
	return out
}

// movev moves parts of the root's matrix to all ranks, or from all ranks to the root.
func (h handle) movev(all buffer, counts, from []int, mine buffer, root int, way direction) error {
	t, err := partType(all)
	if err != nil {
		return err
	}
	n, own, err := mine.message()
	if err != nil {
		return err
	}
	c, d := ints(counts), ints(from)
	if way == sending {
		return failed(C.MPI_Scatterv(all.at, &c[0], &d[0], t, mine.at, n, own, C.int(root), h.comm), "MPI_Scatterv")
	}
	return failed(C.MPI_Gatherv(mine.at, n, own, all.at, &c[0], &d[0], t, C.int(root), h.comm), "MPI_Gatherv")
}

func (h handle) scatterJoined(kind element, all, first unsafe.Pointer, n int, second unsafe.Pointer,
	n2, root int) error {
	return failed(C.scatter_joined(C.int(kind), all, first, C.int(n), second, C.int(n2), C.int(root), h.comm),
		"MPI_Scatter")
}

func (h handle) gather(kind element, mine unsafe.Pointer, n int, all unsafe.Pointer, root int) error {
	t := C.base(C.int(kind))
	return failed(C.MPI_Gather(mine, C.int(n), t, all, C.int(n), t, C.int(root), h.comm), "MPI_Gather")
}

func (h handle) reduceScatter(kind element, all unsafe.Pointer, counts []int, mine unsafe.Pointer) error {
	c := ints(counts)
	return failed(C.reduce_scatter(C.int(kind), all, &c[0], mine, h.comm), "MPI_Reduce_scatter")
}

// GatherBytes returns on rank 0 the data of each rank, and nil on the others.
func (c *Comm) GatherBytes(data []byte) ([][]byte, error) {
	lengths := make([]C.int, c.size)
	n := C.int(len(data))
	if err := failed(C.MPI_Gather(unsafe.Pointer(&n), 1, C.MPI_INT, unsafe.Pointer(&lengths[0]), 1, C.MPI_INT, 0, c.comm),
		"MPI_Gather"); err != nil {
		return nil, err
	}
	from := make([]C.int, c.size)
	total := C.int(0)
	if c.rank == 0 {
		for r, l := range lengths {
			from[r] = total
			total += l
		}
	}
	all := make([]byte, total+1)
	err := failed(C.MPI_Gatherv(unsafe.Pointer(unsafe.SliceData(data)), n, C.MPI_BYTE,
		unsafe.Pointer(&all[0]), &lengths[0], &from[0], C.MPI_BYTE, 0, c.comm), "MPI_Gatherv")
	if err != nil || c.rank != 0 {
		return nil, err
	}
	out := make([][]byte, c.size)
	for r, l := range lengths {
		out[r] = all[from[r] : from[r]+l]
	}
	return out, nil
}

// SendAll sends data from rank 0 to all others, which call Poll.
func (c *Comm) SendAll(data []byte) error {
	b := buffer{at: unsafe.Pointer(unsafe.SliceData(data)), kind: bytes, layout: layout{count: len(data)}}
	var sent []*Request
	var errs []error
	for r := 1; r < c.size; r++ {
		q, err := request(c, b, func(q *Request) error { return c.isend(b, r, 0, q) })
		errs = append(errs, err)
		sent = append(sent, q)
	}
	for _, q := range sent {
		errs = append(errs, q.Wait())
	}
	return errors.Join(errs...)
}

// How long Poll polls without a pause, and the longest pause.
const (
	withoutPause = 200 * time.Microsecond
	longestPause = 200 * time.Microsecond
)

// Poll waits for data that rank 0 sends with SendAll. First it polls, later it sleeps between polls.
func (c *Comm) Poll() ([]byte, error) {
	var n C.int
	found := C.poll(c.comm, C.double(withoutPause.Seconds()), C.long(longestPause), &n)
	if err := failed(found, "MPI_Iprobe"); err != nil {
		return nil, err
	}
	data := make([]byte, n+1)
	err := failed(C.recv_status(unsafe.Pointer(&data[0]), n, C.MPI_BYTE, 0, 0, c.comm), "MPI_Recv")
	return data[:n], err
}

// Exchange has this rank exchange messages of n bytes with its peer of the pattern, if it has one, while the other
// pairs do so too. It returns the time of a message on the slowest rank, in seconds. All ranks call it.
func (c *Comm) Exchange(p plan.Pattern, n, times int) (float64, error) {
	peer, first := p.Peer(c.Hosts(), c.rank)
	out, in := make([]byte, n+1), make([]byte, n+1)
	if err := c.Barrier(); err != nil {
		return 0, err
	}
	took := C.double(0)
	a, b := (*C.char)(unsafe.Pointer(&out[0])), (*C.char)(unsafe.Pointer(&in[0]))
	switch {
	case peer < 0:
	case !p.All:
		took = C.ping_pong(a, C.int(n), C.int(times), C.int(peer), flag(first), c.comm)
	default:
		took = C.stream(a, b, C.int(n), C.int(times), C.int(peer), flag(first || p.Both), flag(!first || p.Both),
			c.comm)
	}
	return c.Max(float64(took))
}
