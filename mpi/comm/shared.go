package comm

import (
	"unsafe"

	"gemm"
)

// Window is memory with a part for each rank, which the other ranks may read (MPI 4.0, chapter 12).
type Window struct {
	window
	comm *Comm
	own  unsafe.Pointer
}

// Shared is a Window of the ranks of one host, in which each maps the parts of all.
type Shared struct {
	Window
	parts []unsafe.Pointer // by rank, at the addresses of this process
}

// At returns the address of the part of a rank.
func (s *Shared) At(rank int) unsafe.Pointer { return s.parts[rank] }

// Own returns the address of this rank's part.
func (w *Window) Own() unsafe.Pointer { return w.own }

// Share allocates memory that the ranks of c share: bytes of it for this rank. All ranks of c are on one host and make
// the same call. A request for more memory than there is may never return: Open MPI reports the error to one rank only.
func (c *Comm) Share(bytes int) (*Shared, error) {
	s := &Shared{parts: make([]unsafe.Pointer, c.size)}
	if err := c.share(pages(bytes), s); err != nil {
		return nil, err
	}
	s.comm, s.own = c, s.parts[c.rank]
	return s, nil
}

// Expose allocates bytes of memory on this rank, which all ranks of c can read. All make the same call.
func (c *Comm) Expose(bytes int) (*Window, error) {
	var made window
	var own unsafe.Pointer
	if err := c.expose(pages(bytes), &made, &own); err != nil {
		return nil, err
	}
	return &Window{made, c, own}, nil
}

// page is the unit of the sizes of parts.
const page = 4096

// pages returns bytes rounded up to whole pages, at least one. An MPI may place the parts of ranks one behind the
// other, whatever info it gets. So their beginnings are aligned only if the sizes are. Moreover, MPICH 4.0
// reads bytes other than those that the owner writes if a size is not a multiple of 16.
func pages(bytes int) int { return max(1, (bytes+page-1)/page) * page }

// Sync makes what this rank wrote visible to others, and what others wrote to this rank: the writer calls
// it before the message that says so, and the reader after it.
func (w *Window) Sync() error { return w.sync() }

// Fence returns when every rank has called it. What they wrote to their parts before is then visible to all.
func (w *Window) Fence() error {
	if err := w.sync(); err != nil {
		return err
	}
	if err := w.comm.Barrier(); err != nil {
		return err
	}
	return w.sync()
}

// Rget starts to copy to m, whose rows are contiguous, from the given offset in a rank's memory.
// That rank takes no part: the bytes count on this rank only, as received.
func Rget[T gemm.Element](c *Comm, w *Window, m gemm.Matrix[T], rank int, at int64) (*Request, error) {
	return begin(c, "get", rank, m, func(bytes int64) { c.countFetched(bytes, rank) },
		func(b buffer, r *Request) error { return w.rget(b, rank, at, r) })
}

// ReadInPlace returns a matrix with contiguous rows at the given offset in a rank's memory, to be read in place. That
// rank takes no part: the bytes count on this rank only, once, as received, as in Rget.
func ReadInPlace[T gemm.Element](c *Comm, s *Shared, rows, cols, rank int, at int64) gemm.Matrix[T] {
	defer c.logged("read", rank)()
	m := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols}
	if rows > 0 && cols > 0 {
		m.Data = unsafe.Slice((*T)(unsafe.Add(s.parts[rank], at)), rows*cols)
	}
	c.countFetched(bytesOf(m), rank)
	return m
}

// Free frees the memory. All ranks of the window call it, and none may use it afterwards.
func (w *Window) Free() error { return w.comm.release(&w.window) }
