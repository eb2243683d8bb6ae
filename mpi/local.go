package mpi

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cuda"
	"gemm/gf256"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
	"gemm/parallel"
	"gemm/serial"
)

// local computes a rank's part, by a variant of another family.
type local[T gemm.Element] struct {
	gemm.Multiplier[T]
	name string
	// addTo computes C ← A·B + C; nil: the product is computed in apart and added.
	addTo func(ctx context.Context, c, a, b gemm.Matrix[T]) error
	apart gemm.Matrix[T]
	// two computes C ← A₀·B₀ + A₁·B₁; nil: the variant is not faster with it.
	two func(ctx context.Context, c gemm.Matrix[T], a, b [2]gemm.Matrix[T]) error
	gpu *onGPU[T] // nil: the processors compute
	// whole says that a part is computed in one call: a variant that halves all dimensions saves operations only if the
	// part is large.
	whole bool
}

// Serial variants on several threads, if it is not by parallel/rows.
var threaded = map[string]string{packedName: threadName, "serial/strassen": "parallel/strassen"}

const (
	packedName = "serial/packed"
	threadName = "parallel/packed"
	rowsName   = "parallel/rows"
)

// locals returns the variants that can compute a rank's part.
func locals() []gemm.Variant {
	return slices.DeleteFunc(slices.Concat(serial.Variants(), parallel.Variants()),
		func(v gemm.Variant) bool { return v.Role == gemm.Study })
}

// localVariant returns the local variant called name, and its parameters at their defaults.
func localVariant(name string) (gemm.Variant, gemm.Params) {
	if isOnGPU(name) {
		return serial.Find(cuda.Variants(nil), name)
	}
	return serial.Find(locals(), name)
}

func isOnGPU(name string) bool { return strings.HasPrefix(name, cuda.Family+"/") }

// onThreads returns the variant, with its parameters, that computes like the one called name on the
// given number of threads. For a serial variant this is its counterpart in the family parallel, or
// parallel/rows with the variant as local.
func onThreads(name string, threads int) (string, gemm.Params, error) {
	v, _ := localVariant(name)
	if threads <= 1 || v.Has("threads") || isOnGPU(name) {
		return name, gemm.Params{}, nil
	}
	if other, ok := threaded[name]; ok {
		return other, gemm.Params{}, nil
	}
	if v.Bound.Kind != gemm.Componentwise {
		return "", nil, fmt.Errorf("%w: local %s has one thread, not %d: try parallel/strassen", gemm.ErrParam, name, threads)
	}
	return rowsName, gemm.Params{"local": name}, nil
}

// newLocal returns the local variant called name on the given number of threads, or on a GPU.
func newLocal[T gemm.Element](j *Job, name string, threads int) (*local[T], error) {
	if isOnGPU(name) {
		g, err := newOnGPU[T](j, name)
		return &local[T]{Multiplier: g, name: name, whole: true, gpu: g, addTo: func(ctx context.Context, c, a,
			b gemm.Matrix[T]) error {
			return g.multiply(ctx, c, a, b, true)
		}}, err
	}
	name, params, err := onThreads(name, threads)
	if err != nil {
		return nil, err
	}
	v, _ := localVariant(name)
	if v.Has("threads") {
		params["threads"] = threads
	}
	m, err := gemm.New[T](v, params)
	if err != nil {
		return nil, err
	}
	l := &local[T]{Multiplier: m, name: name, whole: v.Bound.Kind != gemm.Componentwise}
	if two, ok := m.(serial.Twofold[T]); ok && l.whole {
		l.two = two.MultiplyTwo
	} else if g, ok := gemm.As[gemm.Gemmer[T]](m); ok {
		one := gemm.FromFloat64[T](1)
		l.addTo = func(ctx context.Context, c, a, b gemm.Matrix[T]) error {
			return g.Gemm(ctx, blas.NoTrans, blas.NoTrans, one, a, b, one, c)
		}
	}
	return l, nil
}

// add computes C ← A·B + C.
func (l *local[T]) add(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if l.addTo != nil {
		return l.addTo(ctx, c, a, b)
	}
	return l.sum(c, func(c gemm.Matrix[T]) error { return l.Multiply(ctx, c, a, b) })
}

// sum adds to C what f computes in another matrix.
func (l *local[T]) sum(c gemm.Matrix[T], f func(gemm.Matrix[T]) error) error {
	if cap(l.apart.Data) < c.Rows*c.Cols {
		l.apart = newMatrix[T](c.Rows, c.Cols)
	}
	x := gemm.Matrix[T]{Rows: c.Rows, Cols: c.Cols, Stride: c.Cols, Data: l.apart.Data[:c.Rows*c.Cols]}
	if err := f(x); err != nil {
		return err
	}
	switch c := any(c).(type) {
	case gemm.Matrix[float64]:
		plus(c, any(x).(gemm.Matrix[float64]))
	case gemm.Matrix[float32]:
		plus(c, any(x).(gemm.Matrix[float32]))
	case gemm.Matrix[gf256.Elem]:
		for i := range c.Rows {
			to := gf256.Bytes(c.Row(i))
			subtle.XORBytes(to, to, gf256.Bytes(any(x).(gemm.Matrix[gf256.Elem]).Row(i)))
		}
	}
	return nil
}

func plus[T gemm.Float](c, x gemm.Matrix[T]) {
	k := kernel.Best[T]()
	k.Add(c.Rows, c.Cols, c.Data, c.Stride, c.Data, c.Stride, 1, x.Data, x.Stride)
}

// pieceCols is the number of columns that are computed between two checks of the messages in
// flight, if one thread does both: MPI makes progress only inside its calls. It is a multiple of
// the blocks of the packed product, so that nothing is packed twice.
const pieceCols = 240

// part computes C ← A·B, or adds to C.
func (l *local[T]) part(prof *profile, c, a, b gemm.Matrix[T], add bool) error {
	return prof.unlessCancelled(func(ctx context.Context) error {
		if add {
			return l.add(ctx, c, a, b)
		}
		return l.Multiply(ctx, c, a, b)
	})
}

// partTwo computes C ← A₀·B₀ + A₁·B₁, or adds to C.
func (l *local[T]) partTwo(prof *profile, c gemm.Matrix[T], a, b [2]gemm.Matrix[T], add bool) error {
	return prof.unlessCancelled(func(ctx context.Context) error {
		if add {
			return l.sum(c, func(c gemm.Matrix[T]) error { return l.two(ctx, c, a, b) })
		}
		return l.two(ctx, c, a, b)
	})
}

// unlessCancelled calls f unless the context has ended, which it notes. The messages of a product are
// exchanged nevertheless, so that all ranks stay in step.
func (prof *profile) unlessCancelled(f func(ctx context.Context) error) error {
	if prof.stopped {
		return nil
	}
	err := prof.ctx.Err()
	if err == nil {
		err = f(prof.ctx)
	}
	if prof.stopped = err != nil && prof.ctx.Err() != nil; prof.stopped {
		return nil
	}
	return err
}

// compute computes C ← A·B, or adds to C, while messages are in flight. A rank with a spare processor computes on it,
// and continues to make MPI calls on its own. Other ranks poll the messages between two pieces of the product, or
// before a product that is computed in one call.
func (t *task[T]) compute(prof *profile, c, a, b gemm.Matrix[T], add bool, requests ...*comm.Request) error {
	switch {
	case c.Rows == 0:
		return nil
	case t.stealing != nil:
		return t.stealing.compute(prof, c, a, b, add, requests)
	}
	return prof.during(computing, func() error {
		if len(requests) == 0 || t.spare || t.local.whole {
			return t.overlap(func() error { return t.local.part(prof, c, a, b, add) }, requests)
		}
		for lo := 0; lo < c.Cols; lo += pieceCols {
			s := plan.Span{Lo: lo, Hi: min(lo+pieceCols, c.Cols)}
			if err := t.local.part(prof, colsOf(c, s), a, colsOf(b, s), add); err != nil {
				return err
			}
			if _, err := test(requests); err != nil {
				return err
			}
		}
		return nil
	})
}

// computeStep computes the product of one pair of panels, as compute does, or the sum of two.
func (t *task[T]) computeStep(prof *profile, c gemm.Matrix[T], pairs []pair[T], add bool,
	requests []*comm.Request) error {
	if len(pairs) == 1 {
		return t.compute(prof, c, pairs[0].a, pairs[0].b, add, requests...)
	}
	if c.Rows == 0 {
		return nil
	}
	a, b := [2]gemm.Matrix[T]{pairs[0].a, pairs[1].a}, [2]gemm.Matrix[T]{pairs[0].b, pairs[1].b}
	return prof.during(computing, func() error {
		return t.overlap(func() error { return t.local.partTwo(prof, c, a, b, add) }, requests)
	})
}

// overlap computes a part in one call, on the spare processor if there is one, while messages are in flight.
func (t *task[T]) overlap(part func() error, requests []*comm.Request) error {
	if len(requests) > 0 && t.spare {
		return t.computeOnThread(part, requests)
	}
	_, err := test(requests)
	return errors.Join(err, part())
}

var errPanicked = errors.New("mpi: the local variant panicked")

// pollInterval is the time between two checks of messages during such a computation. Neighbouring
// processors may be hardware threads of one core, and constant polling would slow the other.
const pollInterval = 50 * time.Microsecond

// computeOnThread computes a part on another thread, and polls the messages on this one. Each is pinned to its own
// processor: otherwise the system moves the thread that computes.
func (t *task[T]) computeOnThread(part func() error, requests []*comm.Request) error {
	computed := make(chan error, 1)
	var panicked any
	go func() {
		err := errPanicked
		defer func() {
			panicked = recover()
			computed <- err
		}()
		defer t.pin(1)()
		err = part()
	}()
	defer t.pin(0)()
	defer func() {
		if panicked != nil {
			panic(panicked) // on the goroutine of the caller, as without another thread
		}
	}()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		arrived, err := test(requests)
		if arrived || err != nil {
			return errors.Join(<-computed, err)
		}
		select {
		case err := <-computed:
			return err
		case <-poll.C:
		}
	}
}

// pin pins the calling goroutine to one of the task's two processors until it calls release.
func (t *task[T]) pin(n int) (release func()) {
	if t.pinned == nil {
		return func() {}
	}
	runtime.LockOSThread()
	// If the system refuses, it chooses the processor itself.
	_ = cpu.PinThread(t.pinned[n:][:1])
	return func() {
		// A thread that cannot be unpinned ends with its goroutine.
		if cpu.PinThread(t.job.share) == nil {
			runtime.UnlockOSThread()
		}
	}
}

// wait waits for the messages, which is time of the phase.
func (t *task[T]) wait(prof *profile, phase string, requests ...*comm.Request) error {
	if t.stealing != nil {
		return t.stealing.wait(prof, phase, requests)
	}
	return prof.during(phase, func() error { return waitAll(requests) })
}

// test lets MPI make progress on the messages, and reports whether all have arrived.
func test(requests []*comm.Request) (bool, error) {
	all := true
	for _, r := range requests {
		done, err := r.Test()
		if err != nil {
			return false, err
		}
		all = all && done
	}
	return all, nil
}

func waitAll(requests []*comm.Request) error {
	var first error
	for _, r := range requests {
		first = cmp.Or(first, r.Wait())
	}
	return first
}

// share returns the processors for a rank only. The ranks of a host that have the same mask divide it into
// equal parts, neighbouring processors together. share returns nil if processors cannot be divided: if there are fewer
// than ranks, or if another rank has an overlapping mask that is not the same.
func share(peers []identity, rank int, mask []int) []int {
	local, n := 0, 0
	for r, g := range peers {
		switch {
		case g.Host != peers[rank].Host:
		case slices.Equal(g.CPUs, mask):
			if r == rank {
				local = n
			}
			n++
		case slices.ContainsFunc(g.CPUs, func(id int) bool { return slices.Contains(mask, id) }):
			return nil
		}
	}
	if n > len(mask) {
		return nil
	}
	each := len(mask) / n
	return mask[local*each : (local+1)*each]
}

// threads returns the number of threads of a rank. If 0 are requested, it is the rank's share of the
// processors in its mask.
func (j *Job) threads(requested int) int {
	if requested > 0 {
		return requested
	}
	sharing := 0
	for _, g := range j.peers {
		if g.Host == j.peers[j.Rank()].Host && slices.Equal(g.CPUs, j.mask) {
			sharing++
		}
	}
	return max(1, len(j.mask)/sharing)
}

// bind pins this process: to its own share of the processors, or to all of its mask.
func (j *Job) bind(affinity string) error {
	want := j.mask
	if affinity == closeBy && j.share != nil {
		want = j.share
	}
	if len(want) == 0 || slices.Equal(want, j.pinned) || j.pinned == nil && slices.Equal(want, j.mask) {
		return nil
	}
	j.pinned = want
	return cpu.Pin(want)
}

// twoProcessors returns two processors of this rank's share, as far apart as possible, so that they are not
// hardware threads of one core unless the rank has only one core. It returns nil if the rank has
// fewer than two, or if affinity leaves the choice to the system.
func (j *Job) twoProcessors(affinity string) []int {
	if affinity != closeBy || len(j.share) < 2 {
		return nil
	}
	return []int{j.share[0], j.share[len(j.share)/2]}
}
