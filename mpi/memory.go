package mpi

import (
	"fmt"
	"unsafe"

	"github.com/dustin/go-humanize"

	"gemm"
	"gemm/internal/cpu"
)

// matrix returns a matrix of zeros, its rows side by side, on huge pages where the system
// gives them, which this rank is the first to touch.
func matrix[T gemm.Element](rows, cols int) gemm.Matrix[T] {
	m := gemm.NewMatrix[T](rows, cols)
	if len(m.Data) > 0 {
		cpu.HugePages(unsafe.Pointer(unsafe.SliceData(m.Data)), uintptr(len(m.Data))*unsafe.Sizeof(m.Data[0]))
	}
	return m
}

// room returns an error where so many elements are more than the memory that is left.
func room[T gemm.Element](elements float64, what string) error {
	need, have := elements*float64(gemm.TypeOf[T]().Size), float64(cpu.Available())
	if have > 0 && need > have {
		return fmt.Errorf("%s need %.1f GiB of memory, %.1f GiB are available: choose a smaller size or fewer ranks", what, need/(1<<30), have/(1<<30))
	}
	return nil
}

// sharedRoom returns the bytes that are left where the ranks of a host share memory, of
// which Open MPI makes a file there; 0: not known. Tests say otherwise.
var sharedRoom = func() int64 { return cpu.Free("/dev/shm") }

// sharing is what a host's window takes besides what is asked for, a rank.
const sharing = 1 << 16

// cramped reports whether the ranks of some host cannot share so many bytes of each of
// them. All ranks call it, before any asks MPI: too little memory it tells one rank of a
// host alone, and the others wait.
func (j *Job) cramped(bytes int) (bool, error) {
	need, err := j.quiet.Max(float64(bytes))
	if err != nil {
		return false, err
	}
	local := 0
	for _, g := range j.peers {
		if g.Host == j.peers[j.Rank()].Host {
			local++
		}
	}
	lacking := 0.0
	if room := sharedRoom(); room > 0 && (need+sharing)*float64(local) > float64(room) {
		lacking = 1
	}
	lacking, err = j.quiet.Max(lacking)
	return lacking > 0, err
}

// errCramped says what to do where the ranks cannot share so many bytes.
func errCramped(bytes int) error {
	return fmt.Errorf("ranks have to share %s each, and /dev/shm has %s left: make it larger (docker run --shm-size), or use a smaller size",
		humanize.IBytes(uint64(bytes)), humanize.IBytes(uint64(sharedRoom())))
}

// arena hands out matrices, one behind the other, of memory that MPI gave.
type arena[T gemm.Element] struct {
	base unsafe.Pointer
	used uintptr // bytes
}

// line is what the beginnings of matrices are multiples of, in bytes.
const line = 64

// arenaBytes returns how much so many matrices with so many elements may take.
func arenaBytes[T gemm.Element](matrices, elements int) int {
	return max(line, matrices*line+elements*gemm.TypeOf[T]().Size)
}

// reserve returns how far behind the beginning the next matrix is.
func (a *arena[T]) reserve(rows, cols int) uintptr {
	at := a.used
	a.used += (uintptr(rows)*uintptr(cols)*uintptr(gemm.TypeOf[T]().Size) + line - 1) / line * line
	return at
}

// matrix returns a matrix of zeros, its rows side by side.
func (a *arena[T]) matrix(rows, cols int) gemm.Matrix[T] {
	m := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols}
	at := a.reserve(rows, cols)
	if rows*cols > 0 {
		m.Data = unsafe.Slice((*T)(unsafe.Add(a.base, at)), rows*cols)
		clear(m.Data)
	}
	return m
}

// taker makes a matrix of zeros of so many rows and columns.
type taker[T gemm.Element] func(m *gemm.Matrix[T], rows, cols int)

// needed returns how many matrices are taken, and how many elements they have together.
func needed[T gemm.Element](allocate func(taker[T])) (matrices, elements int) {
	allocate(func(_ *gemm.Matrix[T], rows, cols int) {
		matrices, elements = matrices+1, elements+rows*cols
	})
	return matrices, elements
}

// furnish has a rank take its matrices, from the memory of a crew where there is one.
func (t *task[T]) furnish(allocate func(taker[T])) error {
	if err := t.recruit(needed(allocate)); err != nil {
		return err
	}
	allocate(func(m *gemm.Matrix[T], rows, cols int) { *m = t.matrix(rows, cols) })
	return nil
}
