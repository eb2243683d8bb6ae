package mpi

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/cuda/remote"
	"gemm/internal/cpu"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
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
	base  unsafe.Pointer
	used  uintptr // bytes
	onGPU bool    // rows and matrices begin where a GPU reads them fastest
}

// line is the alignment of the matrices, in bytes.
const line = 64

// sharedBytes returns the most bytes for the given number of matrices with the given number of elements.
func sharedBytes[T gemm.Element](matrices, elements int) int {
	return max(line, matrices*line+elements*gemm.TypeOf[T]().Size)
}

// ld returns the leading dimension of rows, and the alignment of matrices.
func (a *arena[T]) ld(cols int) (ld int, align uintptr) {
	if a.onGPU {
		return cuda.AlignedLD(cols, gemm.TypeOf[T]().Size), 4 * line
	}
	return cols, line
}

// reserve returns the offset of the next matrix.
func (a *arena[T]) reserve(rows, cols int) uintptr {
	at := a.used
	ld, align := a.ld(cols)
	a.used += (uintptr(rows)*uintptr(ld)*uintptr(gemm.TypeOf[T]().Size) + align - 1) / align * align
	return at
}

// matrix returns a matrix of zeros.
func (a *arena[T]) matrix(rows, cols int) gemm.Matrix[T] {
	m := gemm.Matrix[T]{Rows: rows, Cols: cols}
	m.Stride, _ = a.ld(cols)
	at := a.reserve(rows, cols)
	if rows*cols > 0 {
		m.Data = unsafe.Slice((*T)(unsafe.Add(a.base, at)), rows*m.Stride)
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
	if t.local.gpu != nil {
		return t.local.gpu.hold(t, takeAll)
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

// onGPU is the part of a product that this rank has on a GPU of its host: its matrices are there too, at the same
// offsets. Panels of ranks whose memory the GPU reads are copied by it (see remote.Held). Others arrive by messages in
// memory of the host. An error is kept until the product ends, so that the ranks stay in step.
type onGPU[T gemm.Element] struct {
	task     *task[T]
	variant  string
	device   int  // number of the GPU
	near     bool // GPUs read the memory of all ranks of their host
	staged   bool // panels arrive by messages too
	held     *remote.Held[T]
	h2d, d2h time.Duration // of the operands and of C of this rank
	err      error
	part     record.DevicePart // of the last product
}

// newOnGPU returns the GPU of this rank: the ranks of a host take them round robin.
func newOnGPU[T gemm.Element](j *Job, variant string) (*onGPU[T], error) {
	if j.gpu == nil {
		j.gpu = &remote.Rank{Worker: &remote.Worker{}}
	}
	n, err := j.gpu.Worker.GPUs(context.Background(), variant, gemm.TypeOf[T]().Name)
	if err != nil {
		return nil, err
	}
	return &onGPU[T]{variant: variant, device: j.host.Rank() % n}, nil
}

// hold takes memory for the matrices of this rank, and opens the memory of the other ranks of its host. All ranks
// call it.
func (g *onGPU[T]) hold(t *task[T], takeAll func(taker[T])) (err error) {
	g.task = t
	j, ctx := t.job, context.Background()
	a := arena[T]{onGPU: true}
	takeAll(func(_ *gemm.Matrix[T], rows, cols int) { a.reserve(rows, cols) })
	g.held, err = remote.Hold[T](ctx, j.gpu, g.variant, gemm.Params{"device": g.device}, max(line, int(a.used)))
	if err := j.agree(err); err != nil {
		return errors.Join(err, g.close())
	}
	a = arena[T]{onGPU: true, base: g.held.Memory()}
	takeAll(func(m *gemm.Matrix[T], rows, cols int) { *m = a.matrix(rows, cols) })
	handles, err := shareJSON(j, g.held.Handle)
	if err != nil {
		return err
	}
	others := map[int][]byte{}
	for r, handle := range handles {
		if r != j.Rank() && j.hosts[r] == j.hosts[j.Rank()] {
			others[r] = handle
		}
	}
	far, err := j.any(g.held.Reach(ctx, others) != nil)
	g.near, g.staged = !far, far || plan.Count(j.hosts) > 1
	return err
}

// reads reports whether the GPUs of all ranks of c read each other's memory.
func (g *onGPU[T]) reads(c *comm.Comm) bool {
	for r := range c.Size() {
		if !g.readsFrom(c.World(r)) {
			return false
		}
	}
	return true
}

// readsFrom reports whether the GPU of this rank reads the memory of another rank's.
func (g *onGPU[T]) readsFrom(rank int) bool {
	return g.near && g.task.job.hosts[rank] == g.task.job.hosts[g.task.rank()]
}

// do calls f unless something has failed before, and keeps its error. Only if the context has ended, it returns it.
func (g *onGPU[T]) do(ctx context.Context, f func() error) error {
	if g.err == nil {
		if err := f(); err != nil && ctx.Err() != nil {
			return ctx.Err()
		} else {
			g.err = err
		}
	}
	return nil
}

// copy copies matrices between the host and the GPU, and returns how long that took.
func (g *onGPU[T]) copy(way remote.Way, all ...gemm.Matrix[T]) (took time.Duration) {
	ctx, begin := context.Background(), time.Now()
	_ = g.do(ctx, func() error { return g.held.Copy(ctx, way, all...) })
	return time.Since(begin)
}

// Multiply implements gemm.Multiplier for the matrices of hold.
func (g *onGPU[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return g.multiply(ctx, c, a, b, false)
}

func (g *onGPU[T]) multiply(ctx context.Context, c, a, b gemm.Matrix[T], add bool) error {
	g.held.Multiply(c, a, b, add)
	if !g.staged {
		return nil
	}
	return g.do(ctx, func() error { return g.held.Start(ctx) })
}

// finish waits for the end of the product.
func (g *onGPU[T]) finish(prof *profile) {
	if g == nil || g.held == nil {
		return
	}
	var done remote.Done
	failure := prof.unlessCancelled(func(ctx context.Context) error {
		return g.do(ctx, func() (err error) {
			done, err = g.held.Finish(ctx)
			return err
		})
	})
	if prof.stopped || g.err != nil || failure != nil {
		g.held.Reset()
	}
	moved := g.task.world.Traffic()
	prof.phases[computing], prof.phases[communicating] = seconds(done.Kernels), seconds(done.Exposed)
	prof.phases["h2d"], prof.phases["d2h"] = g.h2d, g.d2h
	moved.Add(comm.Traffic{Inside: plan.Counts{Recv: done.Peer, Messages: done.Pulls}})
	g.part = record.DevicePart{Device: g.device, Peer: done.Peer, Host: moved.Inside.Recv - done.Peer,
		Kernels: done.Kernels, Copies: done.Copies, Exposed: done.Exposed}
}

// refusal returns on all ranks the error of one of them. All ranks call it.
func (g *onGPU[T]) refusal(j *Job) error {
	if g == nil {
		return nil
	}
	err := g.err
	g.err = nil
	return j.agree(err)
}

// close frees the memory.
func (g *onGPU[T]) close() error {
	if g == nil || g.held == nil {
		return nil
	}
	return g.held.Close()
}
