package mpi

import (
	"sync/atomic"
	"unsafe"

	"gemm"
	"gemm/internal/timeline"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// Under the schedule dynamic, the ranks of a host steal work from each other. Ranks with equal parts finish with the
// slowest processor, and the processors of a virtual machine differ by a factor of two, from one second to the next. So
// a rank that waits steals: it computes columns of C for the rank that has most of them left.
//
// The operands and C of all ranks of a host are in memory that MPI shares between them (MPI 4.0, 12.2.3). A thief reads
// the operands and writes the columns of C in place. Messages are the same as without stealing.
//
//	slot of rank 0   step: where A, B and C are, m, n, k   ticket: epoch 7, 11 chunks, 4 taken   done: 3
//	slot of rank 1   …                                     ticket: epoch 9, 11 chunks, 11 taken  done: 10
//	slot of rank 2   …
//
// Every rank has a slot in shared memory. There it publishes its product of the present step. The
// columns of the product are divided into chunks. The owner and the thieves take one chunk at a
// time, by one compare-and-swap of the ticket.

// slot is where a rank publishes its product for the other ranks of its host.
type slot struct {
	ticket   atomic.Uint64 // epoch, number of chunks, chunks taken; see ticketOf
	done     atomic.Uint64 // chunks of the epoch that have been computed
	finished atomic.Uint64 // products that the rank has finished with
	work     [words]atomic.Int64
	_        [slotBytes - 8*(words+3)]byte
}

const (
	words     = 11
	slotBytes = 128 // two cache lines, which processors fetch together
)

// ticketOf packs a ticket: the epoch, which every product of the slot increases by one, the number of
// chunks, and the number of chunks taken.
func ticketOf(epoch, chunks, taken uint64) uint64 { return epoch<<40 | chunks<<20 | taken }

const mostChunks = 1<<20 - 1

// left returns the number of chunks that are not taken.
func left(ticket uint64) int { return int(ticket>>20&mostChunks) - int(ticket&mostChunks) }

// step is the product in a slot: C ← A·B or C ← C + A·B. a, b and c are offsets, in bytes, into the
// shared memory of the ranks aRank, bRank and, for C, of the slot's owner.
type step struct {
	aRank, bRank int64
	a, b, c      int64
	m, n, k      int64
	lda, ldc     int64 // leading dimensions; B has n
	widthOrAdd   int64 // columns of a chunk; negative: C is overwritten, else it is added to
}

func (n *slot) write(s step) {
	for i, x := range [words]int64{s.aRank, s.bRank, s.a, s.b, s.c, s.m, s.n, s.k, s.lda, s.ldc, s.widthOrAdd} {
		n.work[i].Store(x)
	}
}

func (n *slot) read() step {
	var x [words]int64
	for i := range x {
		x[i] = n.work[i].Load()
	}
	return step{x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10]}
}

// chunk returns the columns of chunk i, and whether the product is added to them.
func (s step) chunk(i int) (cols plan.Span, add bool) {
	width := s.widthOrAdd
	if add = width > 0; !add {
		width = -width
	}
	lo := int64(i) * width
	return plan.Span{Lo: int(lo), Hi: int(min(lo+width, s.n))}, add
}

// The width of chunks is a compromise. Wide chunks: the others wait longer for the last chunk of a slow rank. So a step
// has about stepChunks chunks. Narrow chunks: A is read once for each chunk. So a chunk has one to three times
// chunkBytes of a row of C, which is a whole number of micro-kernel tiles; wider ones made no product faster. It is
// wider if it would have fewer than chunkTerms multiply-adds, a fifth of a millisecond.
const (
	stepChunks = 11
	chunkBytes = 384
	chunkTerms = 1 << 23
)

// chunked returns the number of columns of a chunk, and the number of chunks, of an m×n×k product
// whose elements have the given size in bytes.
func chunked(m, n, k, size int) (width, chunks int) {
	least := chunkBytes / size
	width = max(1, min((n/stepChunks+least/2)/least, 3), chunkTerms/max(1, m*k)/least) * least
	for (n+width-1)/width > mostChunks {
		width *= 2
	}
	return width, (n + width - 1) / width
}

// slots are the slots of the ranks of this host.
type slots struct {
	host     *comm.Comm
	window   *comm.Shared
	all      []*slot
	products uint64 // products that this rank has finished, of all tasks
}

// slots returns the slots of the ranks of this host. It returns nil on all ranks if a host has one rank only, more
// ranks than processors, or too little shared memory. All ranks call it.
func (j *Job) slots() (*slots, error) {
	if j.slotsOfHost != nil || j.noSlots {
		return j.slotsOfHost, nil
	}
	// If one host cannot steal, none does: ranks are to be timed under the same conditions.
	alone, err := j.any(j.host.Size() == 1 || j.oversubscribed())
	if err != nil {
		return nil, err
	}
	lacking, err := j.lacksShared(slotBytes)
	if err != nil {
		return nil, err
	}
	if j.noSlots = alone || lacking; j.noSlots {
		return nil, nil
	}
	shared, err := j.shareMemory(slotBytes)
	if shared == nil {
		j.noSlots = err == nil
		return nil, err
	}
	j.slotsOfHost = &slots{host: j.host, window: shared}
	for r := range j.host.Size() {
		j.slotsOfHost.all = append(j.slotsOfHost.all, (*slot)(shared.At(r)))
	}
	return j.slotsOfHost, nil
}

// oversubscribed reports whether this host has more ranks than processors.
func (j *Job) oversubscribed() bool {
	processors, ranks := map[int]bool{}, 0
	for _, p := range j.peers {
		if p.Host == j.peers[j.Rank()].Host {
			ranks++
			for _, id := range p.CPUs {
				processors[id] = true
			}
		}
	}
	return ranks > len(processors)
}

// stealing is the work stealing of this rank in the products of one task.
type stealing[T gemm.Element] struct {
	*slots
	window *comm.Shared // has the operands and C
	local  *local[T]
}

// startStealing gives the task shared memory for the given number of matrices with the given number of elements. All
// ranks call it. Ranks do not steal in three cases: the schedule is static, the local variant computes the part of a
// rank in one call (see local.whole), or the host has no slots.
func (t *task[T]) startStealing(matrices, elements int) error {
	if t.params.Text("schedule") != dynamic || t.local.whole {
		return nil
	}
	n, err := t.job.slots()
	if n == nil || err != nil {
		return err
	}
	bytes := sharedBytes[T](matrices, elements)
	if lacking, err := t.job.lacksShared(bytes); lacking || err != nil {
		return err // every rank computes its own part alone
	}
	window, err := t.shareMemory(bytes)
	if window != nil {
		t.stealing = &stealing[T]{n, window, t.local}
	}
	return err
}

func (n *slots) own() *slot { return n.all[n.host.Rank()] }

// at returns the rank whose shared memory holds the matrix, and the offset in bytes.
func (w *stealing[T]) at(m gemm.Matrix[T]) (rank, at int64) {
	if len(m.Data) == 0 {
		return 0, 0
	}
	place, part := uintptr(unsafe.Pointer(unsafe.SliceData(m.Data))), uintptr(0)
	for r := range w.all {
		if base := uintptr(w.window.At(r)); base <= place && base >= part {
			rank, part = int64(r), base
		}
	}
	return rank, int64(place - part)
}

// view returns the matrix at an offset of a rank's shared memory.
func view[T gemm.Element](base unsafe.Pointer, at, rows, cols, stride int64) gemm.Matrix[T] {
	m := gemm.Matrix[T]{Rows: int(rows), Cols: int(cols), Stride: int(stride)}
	if rows > 0 && cols > 0 {
		m.Data = unsafe.Slice((*T)(unsafe.Add(base, at)), (rows-1)*stride+cols)
	}
	return m
}

// compute publishes C ← A·B, or C ← C + A·B, in the slot of this rank, takes chunks of it until
// none is left, and steals from other ranks until the thieves of this one are done.
func (w *stealing[T]) compute(prof *profile, c, a, b gemm.Matrix[T], add bool, pending []*comm.Request) error {
	if c.Rows == 0 || c.Cols == 0 {
		return nil
	}
	width, chunks := chunked(c.Rows, c.Cols, a.Cols, gemm.TypeOf[T]().Size)
	s := step{m: int64(c.Rows), n: int64(c.Cols), k: int64(a.Cols), lda: int64(a.Stride), ldc: int64(c.Stride),
		widthOrAdd: int64(width)}
	s.aRank, s.a = w.at(a)
	s.bRank, s.b = w.at(b)
	_, s.c = w.at(c)
	if !add {
		s.widthOrAdd = -s.widthOrAdd
	}
	n := w.own()
	// No rank reads the slot now: all chunks of the last epoch are taken.
	n.write(s)
	n.done.Store(0)
	n.ticket.Store(ticketOf(n.ticket.Load()>>40+1, uint64(chunks), 0))
	for {
		took, err := w.takeChunk(prof, w.host.Rank())
		if err != nil {
			return err
		}
		if _, err := test(pending); err != nil {
			return err
		}
		if !took {
			break
		}
	}
	return w.stealUntil(prof, timeline.Waiting, func() (bool, error) {
		_, err := test(pending)
		return n.done.Load() == uint64(chunks), err
	})
}

// takeChunk computes the next chunk in the slot of a rank. It returns false if none is left.
func (w *stealing[T]) takeChunk(prof *profile, rank int) (bool, error) {
	n := w.all[rank]
	for {
		ticket := n.ticket.Load()
		if left(ticket) <= 0 {
			return false, nil
		}
		s := n.read()
		// The step that was read is of this epoch if the ticket has not changed.
		if !n.ticket.CompareAndSwap(ticket, ticket+1) {
			continue
		}
		err := w.computeChunk(prof, rank, s, int(ticket&mostChunks))
		n.done.Add(1)
		return true, err
	}
}

func (w *stealing[T]) computeChunk(prof *profile, rank int, s step, i int) error {
	return prof.during(computing, func() error {
		cols, add := s.chunk(i)
		c := colsOf(view[T](w.window.At(rank), s.c, s.m, s.n, s.ldc), cols)
		a, b := view[T](w.window.At(int(s.aRank)), s.a, s.m, s.k, s.lda),
			colsOf(view[T](w.window.At(int(s.bRank)), s.b, s.k, s.n, s.n), cols)
		part := func() error { return w.local.part(prof, c, a, b, add) }
		if rank == w.host.Rank() {
			return part()
		}
		return prof.logged("steal", w.host.World(rank), part)
	})
}

// busiest returns the rank with the most chunks left, -1 if no other rank has any.
func (w *stealing[T]) busiest() int {
	rank, most := -1, 0
	for r, n := range w.all {
		if l := left(n.ticket.Load()); r != w.host.Rank() && l > most {
			rank, most = r, l
		}
	}
	return rank
}

// wait steals until the messages have arrived.
func (w *stealing[T]) wait(prof *profile, phase string, pending []*comm.Request) error {
	return w.stealUntil(prof, phase, func() (bool, error) { return test(pending) })
}

// finish steals until no rank of the host computes any more. If w is nil, it returns at once.
func (w *stealing[T]) finish(prof *profile) error {
	if w == nil {
		return nil
	}
	w.products++
	w.own().finished.Store(w.products)
	return w.stealUntil(prof, communicating, func() (bool, error) {
		for _, n := range w.all {
			if n.finished.Load() < w.products {
				return false, nil
			}
		}
		return true, nil
	})
}

// stealUntil steals until the condition holds. The time that it does not steal counts as the phase.
func (w *stealing[T]) stealUntil(prof *profile, phase string, holds func() (bool, error)) error {
	for {
		ready, rank := false, -1
		err := prof.during(phase, func() error {
			return prof.logged("wait", -1, func() (err error) {
				for !ready && rank < 0 && err == nil {
					if ready, err = holds(); !ready {
						rank = w.busiest()
					}
				}
				return err
			})
		})
		if ready || err != nil {
			return err
		}
		if _, err := w.takeChunk(prof, rank); err != nil {
			return err
		}
	}
}
