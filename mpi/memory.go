package mpi

import (
	"fmt"
	"unsafe"

	"gemm"
	"gemm/internal/cpu"
	"gemm/mpi/comm"
)

// newMatrix returns a contiguous matrix of zeros, on huge pages if the system has them. This rank touches it first.
func newMatrix[T gemm.Element](rows, cols int) gemm.Matrix[T] {
	m := gemm.NewMatrix[T](rows, cols)
	if len(m.Data) > 0 {
		cpu.HugePages(unsafe.Pointer(unsafe.SliceData(m.Data)), uintptr(len(m.Data))*unsafe.Sizeof(m.Data[0]))
	}
	return m
}

// fitsMemory returns an error if the given elements need more memory than is available.
func fitsMemory[T gemm.Element](elements float64, what string) error {
	need, have := elements*float64(gemm.TypeOf[T]().Size), float64(cpu.Available())
	if have > 0 && need > have {
		return fmt.Errorf("%s need %.1f GiB of memory, %.1f GiB are available: choose a smaller size or fewer ranks",
			what, need/(1<<30), have/(1<<30))
	}
	return nil
}

// arena divides memory that MPI has allocated into matrices.
type arena[T gemm.Element] struct {
	base unsafe.Pointer
	used uintptr // bytes
}

// line is the alignment of the matrices, in bytes.
const line = 64

// sharedBytes returns the most bytes for the given number of matrices with the given number of elements.
func sharedBytes[T gemm.Element](matrices, elements int) int {
	return max(line, matrices*line+elements*gemm.TypeOf[T]().Size)
}

// reserve returns the offset of the next matrix.
func (a *arena[T]) reserve(rows, cols int) uintptr {
	at := a.used
	a.used += (uintptr(rows)*uintptr(cols)*uintptr(gemm.TypeOf[T]().Size) + line - 1) / line * line
	return at
}

// matrix returns a contiguous matrix of zeros.
func (a *arena[T]) matrix(rows, cols int) gemm.Matrix[T] {
	m := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols}
	at := a.reserve(rows, cols)
	if rows*cols > 0 {
		m.Data = unsafe.Slice((*T)(unsafe.Add(a.base, at)), rows*cols)
		clear(m.Data)
	}
	return m
}

// taker allocates a matrix of zeros with the given rows and columns.
type taker[T gemm.Element] func(m *gemm.Matrix[T], rows, cols int)

// needed returns how many matrices are taken, and how many elements they have together.
func needed[T gemm.Element](takeAll func(taker[T])) (matrices, elements int) {
	takeAll(func(_ *gemm.Matrix[T], rows, cols int) {
		matrices, elements = matrices+1, elements+rows*cols
	})
	return matrices, elements
}

// allocate allocates the matrices of a rank, in shared memory if ranks steal work. All ranks call it.
func (t *task[T]) allocate(takeAll func(taker[T])) error {
	if err := t.startStealing(needed(takeAll)); err != nil {
		return err
	}
	var window *comm.Window
	if t.stealing != nil {
		window = &t.stealing.window.Window
	}
	allocateIn(window, takeAll)
	return nil
}

// allocateIn allocates matrices in this rank's part of a window; nil: in private memory.
func allocateIn[T gemm.Element](w *comm.Window, takeAll func(taker[T])) {
	matrix := newMatrix[T]
	if w != nil {
		matrix = (&arena[T]{base: w.Own()}).matrix
	}
	takeAll(func(m *gemm.Matrix[T], rows, cols int) { *m = matrix(rows, cols) })
}

// shareMemory allocates the given bytes on this rank of memory that the ranks of its host share. It returns nil on all
// ranks if MPI refuses the memory on one of them. The memory is freed at the end of the task. All ranks call it.
func (t *task[T]) shareMemory(bytes int) (*comm.Shared, error) {
	w, err := t.job.shareMemory(bytes)
	if w != nil {
		t.windows = append(t.windows, &w.Window)
	}
	return w, err
}

func (j *Job) shareMemory(bytes int) (*comm.Shared, error) {
	w, err := j.host.Share(bytes)
	if err = j.agree(err); err != nil {
		w = nil
	}
	return w, ignoreRefusal(err)
}

// windowOverhead is the memory per rank, in bytes, that a shared window takes in addition to the request.
const windowOverhead = 1 << 16

// lacksShared reports whether some host lacks the memory to share the given bytes per rank. All ranks call it before
// they request the memory from MPI. MPI would report the lack to one rank of a host only, and the others would wait
// without end.
func (j *Job) lacksShared(bytes int) (bool, error) {
	need, err := j.control.Max(float64(bytes))
	if err != nil {
		return false, err
	}
	room := j.shm()
	return j.any(room > 0 && (need+windowOverhead)*float64(j.Local()) > float64(room))
}
