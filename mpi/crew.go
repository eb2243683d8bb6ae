package mpi

import (
	"sync/atomic"
	"unsafe"

	"gemm"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// The ranks of one host are a crew: under the schedule dynamic those that wait for a
// message, or for the others to finish, compute columns of C for a rank that has most of
// them left. Equal parts take as long as the slowest processor, and those of a virtual
// machine differ by a factor of two, from one second to the next. Who helps reads the
// other's operands and writes its block of C in memory that MPI shares between the ranks
// of a host (MPI 4.0, 12.2.3); messages are the same as without help.
//
// Every rank has a note, which all can see. It puts there where the product of a step lies
// and how many chunks of its columns there are; chunks are then taken one by one, by it
// and by others, each with one compare-and-swap of the note's ticket.
type note struct {
	ticket atomic.Uint64 // epoch, number of chunks, chunks taken; see ticketOf
	done   atomic.Uint64 // chunks of the epoch that are computed
	over   atomic.Uint64 // products that the rank has finished with
	work   [words]atomic.Int64
	_      [noteBytes - 8*(words+3)]byte
}

const (
	words     = 11
	noteBytes = 128 // two lines of a cache, which processors fetch together
)

// ticketOf joins the epoch of a note, which each product of a step increases by one, with
// the number of its chunks and of those that are taken.
func ticketOf(epoch, chunks, taken uint64) uint64 { return epoch<<40 | chunks<<20 | taken }

const mostChunks = 1<<20 - 1

// left returns the number of chunks that nobody has taken.
func left(ticket uint64) int { return int(ticket>>20&mostChunks) - int(ticket&mostChunks) }

// step is the product that a note describes: C ← A·B, or + C, each at so many bytes after
// the beginning of a rank's part of the shared memory; C is in its owner's.
type step struct {
	aRank, bRank int64
	a, b, c      int64
	m, n, k      int64
	lda, ldc     int64 // ldb is n's of the whole: B lies side by side
	widthOrAdd   int64 // columns of a chunk, negative where C is overwritten
}

func (n *note) write(s step) {
	for i, x := range [words]int64{s.aRank, s.bRank, s.a, s.b, s.c, s.m, s.n, s.k, s.lda, s.ldc, s.widthOrAdd} {
		n.work[i].Store(x)
	}
}

func (n *note) read() step {
	var x [words]int64
	for i := range x {
		x[i] = n.work[i].Load()
	}
	return step{x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10]}
}

// chunk returns the columns of the i-th chunk, and whether they are added to.
func (s step) chunk(i int) (cols plan.Span, add bool) {
	width := s.widthOrAdd
	if add = width > 0; !add {
		width = -width
	}
	lo := int64(i) * width
	return plan.Span{Lo: int(lo), Hi: int(min(lo+width, s.n))}, add
}

// A step has about stepChunks chunks: with fewer of them one waits longer for the last one of
// a slow rank. Each has one to three times chunkBytes of a row, which are whole tiles of the
// micro-kernels: A is read once a chunk, and with more no product was faster. Where that is
// fewer than chunkTerms terms, a fifth of a millisecond, it has more.
const (
	stepChunks = 11
	chunkBytes = 384
	chunkTerms = 1 << 23
)

// chunked returns the columns of a chunk of an m×k by k×n product of elements of the given
// size in bytes, and the number of chunks.
func chunked(m, n, k, size int) (width, chunks int) {
	least := chunkBytes / size
	width = max(1, min((n/stepChunks+least/2)/least, 3), chunkTerms/max(1, m*k)/least) * least
	for (n+width-1)/width > mostChunks {
		width *= 2
	}
	return width, (n + width - 1) / width
}

// notes are those of the ranks of this process's host.
type notes struct {
	host     *comm.Comm
	all      []*note
	products uint64 // finished with, of all crews
}

// notes returns the notes of the ranks of this host, nil where it has one rank alone, more
// of them than processors, or no memory to share. All ranks call it.
func (j *Job) notes() (*notes, error) {
	if j.board != nil || j.alone {
		return j.board, nil
	}
	host, err := j.quiet.Host()
	if err != nil {
		return nil, err
	}
	lacking := 0.0
	if host.Size() == 1 || j.crowded() {
		lacking = 1
	}
	// Hosts may differ; what one lacks all do without, so that they are timed alike.
	if lacking, err = j.quiet.Max(lacking); err != nil {
		return nil, err
	}
	cramped, err := j.cramped(noteBytes)
	if err != nil {
		return nil, err
	}
	if j.alone = cramped || lacking > 0; j.alone {
		return nil, nil
	}
	shared, err := j.shared(host, noteBytes)
	if shared == nil {
		j.alone = err == nil
		return nil, err
	}
	j.board = &notes{host: host}
	for r := range host.Size() {
		j.board.all = append(j.board.all, (*note)(shared.At(r)))
	}
	return j.board, nil
}

// shared takes so many bytes of memory that the ranks of each host share; it is nil on all
// ranks if MPI refuses it on one. All ranks call it.
func (j *Job) shared(host *comm.Comm, bytes int) (*comm.Shared, error) {
	memory, err := host.Share(bytes)
	if err = j.agree(err); err != nil {
		memory = nil
	}
	return memory, ignoreRefusal(err)
}

// crowded reports whether the ranks of this host take turns on its processors.
func (j *Job) crowded() bool {
	processors, ranks := map[int]bool{}, 0
	for _, g := range j.peers {
		if g.Host == j.peers[j.Rank()].Host {
			ranks++
			for _, p := range g.CPUs {
				processors[p] = true
			}
		}
	}
	return ranks > len(processors)
}

// crew is the help that ranks of a host give each other in products of one task.
type crew[T gemm.Element] struct {
	*notes
	memory.Arena[T]
	window *comm.Shared
	local  *local[T]
}

// recruit gives the task a crew and shared memory for so many matrices with so many
// elements, where the schedule is dynamic, the local variant is one that computes any chunk as
// well, and there is something to share. All ranks call it.
func (t *task[T]) recruit(matrices, elements int) error {
	if t.params.Text("schedule") != dynamic || t.local.whole {
		return nil
	}
	n, err := t.job.notes()
	if n == nil || err != nil {
		return err
	}
	bytes := memory.Bytes[T](matrices, elements)
	if cramped, err := t.job.cramped(bytes); cramped || err != nil {
		return err // every rank computes its own part
	}
	window, err := t.job.shared(n.host, bytes)
	if window == nil {
		return err
	}
	t.crew = &crew[T]{notes: n, Arena: memory.Arena[T]{Base: window.Own()}, window: window, local: t.local}
	return nil
}

// furnish has a rank take its matrices, from the memory of a crew where there is one.
func (t *task[T]) furnish(allocate func(memory.Taker[T])) error {
	if err := t.recruit(memory.Needed(allocate)); err != nil {
		return err
	}
	allocate(func(m *gemm.Matrix[T], rows, cols int) { *m = t.matrix(rows, cols) })
	return nil
}

// dismiss gives the memory of the crew back. All ranks call it.
func (t *task[T]) dismiss() error {
	if t.crew == nil {
		return nil
	}
	return t.crew.window.Free()
}

// matrix returns a matrix of zeros, its rows side by side: in the memory of the crew, where
// there is one.
func (t *task[T]) matrix(rows, cols int) gemm.Matrix[T] {
	if t.crew == nil {
		return memory.Matrix[T](rows, cols)
	}
	return t.crew.Matrix(rows, cols)
}

// own is this rank's note.
func (n *notes) own() *note { return n.all[n.host.Rank()] }

// at returns the rank in whose part a matrix lies, and how far it is behind its beginning.
func (w *crew[T]) at(m gemm.Matrix[T]) (rank, at int64) {
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

// view returns a matrix of a rank's part.
func view[T gemm.Element](base unsafe.Pointer, at, rows, cols, stride int64) gemm.Matrix[T] {
	m := gemm.Matrix[T]{Rows: int(rows), Cols: int(cols), Stride: int(stride)}
	if rows > 0 && cols > 0 {
		m.Data = unsafe.Slice((*T)(unsafe.Add(base, at)), (rows-1)*stride+cols)
	}
	return m
}

// compute computes C ← A·B, or adds to C, with what help there is.
func (w *crew[T]) compute(k *clock, c, a, b gemm.Matrix[T], add bool, pending []*comm.Request) error {
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
	// Nobody reads the note: all chunks of the last epoch are taken.
	n.write(s)
	n.done.Store(0)
	n.ticket.Store(ticketOf(n.ticket.Load()>>40+1, uint64(chunks), 0))
	for {
		took, err := w.take(k, w.host.Rank())
		if err != nil {
			return err
		}
		if _, err := test(pending); err != nil {
			return err
		}
		if !took && n.done.Load() == uint64(chunks) {
			return nil
		}
		if !took {
			if _, err := w.help(k); err != nil {
				return err
			}
		}
	}
}

// take computes the next chunk of a rank's step. false: there was none.
func (w *crew[T]) take(k *clock, rank int) (bool, error) {
	n := w.all[rank]
	for {
		ticket := n.ticket.Load()
		if left(ticket) <= 0 {
			return false, nil
		}
		s := n.read()
		// What was read is of this epoch if the ticket still is.
		if !n.ticket.CompareAndSwap(ticket, ticket+1) {
			continue
		}
		err := w.chunk(k, rank, s, int(ticket&mostChunks))
		n.done.Add(1)
		return true, err
	}
}

// chunk computes one chunk of a rank's step.
func (w *crew[T]) chunk(k *clock, rank int, s step, i int) error {
	return k.during(computing, func() error {
		cols, add := s.chunk(i)
		c := colsOf(view[T](w.window.At(rank), s.c, s.m, s.n, s.ldc), cols)
		a, b := view[T](w.window.At(int(s.aRank)), s.a, s.m, s.k, s.lda),
			colsOf(view[T](w.window.At(int(s.bRank)), s.b, s.k, s.n, s.n), cols)
		return w.local.part(k, c, a, b, add)
	})
}

// help computes a chunk of the rank with most of them left. false: nobody has any.
func (w *crew[T]) help(k *clock) (bool, error) {
	rank, most := -1, 0
	for r, n := range w.all {
		if l := left(n.ticket.Load()); r != w.host.Rank() && l > most {
			rank, most = r, l
		}
	}
	if rank < 0 {
		return false, nil
	}
	return w.take(k, rank)
}

// wait waits for the messages and helps meanwhile. What is not help is time of the phase.
func (w *crew[T]) wait(k *clock, phase string, pending []*comm.Request) error {
	return w.until(k, phase, func() (bool, error) { return test(pending) })
}

// finish returns when no rank of the host computes any more, and helps until then.
func (w *crew[T]) finish(k *clock) error {
	w.products++
	w.own().over.Store(w.products)
	return w.until(k, communicating, func() (bool, error) {
		for _, n := range w.all {
			if n.over.Load() < w.products {
				return false, nil
			}
		}
		return true, nil
	})
}

// until helps until the condition holds.
func (w *crew[T]) until(k *clock, phase string, holds func() (bool, error)) error {
	for {
		ready := false
		err := k.during(phase, func() (err error) {
			ready, err = holds()
			return err
		})
		if ready || err != nil {
			return err
		}
		if _, err := w.help(k); err != nil {
			return err
		}
	}
}
