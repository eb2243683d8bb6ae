package mpi

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
	"gemm/parallel"
	"gemm/serial"
)

// local computes what a rank has to, by a variant of another family.
type local[T gemm.Element] struct {
	gemm.Multiplier[T]
	name   string
	params gemm.Params
	// addTo computes C ← A·B + C; nil: the product is computed apart and added.
	addTo func(ctx context.Context, c, a, b gemm.Matrix[T]) error
	apart gemm.Matrix[T]
	// two computes C ← A₀·B₀ + A₁·B₁; nil: the variant has nothing to gain.
	two func(ctx context.Context, c gemm.Matrix[T], a, b [2]gemm.Matrix[T]) error
	// whole says that a part is computed in one go. Fewer operations than a product of
	// the textbook has a variant only where it halves all dimensions.
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

// localVariant returns the local variant called name, which the parameter's check has found to be one.
func localVariant(name string) gemm.Variant {
	v, err := gemm.Lookup(locals(), name)
	if err != nil {
		panic(err)
	}
	return v
}

// onThreads returns the variant, with its parameters, that computes like the one called name on the
// given number of threads. For a serial variant this is its counterpart in the family parallel, or
// parallel/rows with the variant as local.
func onThreads(name string, threads int) (string, gemm.Params, error) {
	if threads <= 1 || localVariant(name).Has("threads") {
		return name, gemm.Params{}, nil
	}
	if other, ok := threaded[name]; ok {
		return other, gemm.Params{}, nil
	}
	if localVariant(name).Bound.Kind != gemm.Componentwise {
		return "", nil, fmt.Errorf("%w: local %s has one thread, not %d: try parallel/strassen", gemm.ErrParam, name, threads)
	}
	return rowsName, gemm.Params{"local": name}, nil
}

// newLocal returns the local variant called name on the given number of threads.
func newLocal[T gemm.Element](name string, threads int) (*local[T], error) {
	name, params, err := onThreads(name, threads)
	if err != nil {
		return nil, err
	}
	v := localVariant(name)
	if v.Has("threads") {
		params["threads"] = threads
	}
	m, err := gemm.New[T](v, params)
	if err != nil {
		return nil, err
	}
	l := &local[T]{Multiplier: m, name: name, params: params, whole: v.Bound.Kind != gemm.Componentwise}
	if two, ok := m.(serial.Twofold[T]); ok {
		l.two = two.MultiplyTwo
	} else if g, ok := gemm.As[gemm.Gemmer[T]](m); ok {
		one := gemm.FromFloat64[T](1)
		l.addTo = func(ctx context.Context, c, a, b gemm.Matrix[T]) error {
			return g.Gemm(ctx, blas.NoTrans, blas.NoTrans, one, a, b, one, c)
		}
	}
	return l, nil
}

// resolved returns the parameters as they are used.
func (l *local[T]) resolved() gemm.Params { return gemm.Params{"local": l.name} }

// add computes C ← A·B + C.
func (l *local[T]) add(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if l.addTo != nil {
		return l.addTo(ctx, c, a, b)
	}
	return l.sum(c, func(c gemm.Matrix[T]) error { return l.Multiply(ctx, c, a, b) })
}

// sum adds to C what f computes apart.
func (l *local[T]) sum(c gemm.Matrix[T], f func(gemm.Matrix[T]) error) error {
	if cap(l.apart.Data) < c.Rows*c.Cols {
		l.apart = memory.Matrix[T](c.Rows, c.Cols)
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

// plus adds x to c.
func plus[T gemm.Float](c, x gemm.Matrix[T]) {
	k := kernel.Best[T]()
	k.Add(c.Rows, c.Cols, c.Data, c.Stride, c.Data, c.Stride, 1, x.Data, x.Stride)
}

// pieceCols is the number of columns that are computed between two checks of the messages in
// flight, if one thread does both: MPI makes progress only inside its calls. It is a multiple of
// the blocks of the packed product, so that nothing is packed twice.
const pieceCols = 240

// part computes C ← A·B, or adds to C.
func (l *local[T]) part(k *clock, c, a, b gemm.Matrix[T], add bool) error {
	return k.unlessStopped(func(ctx context.Context) error {
		if add {
			return l.add(ctx, c, a, b)
		}
		return l.Multiply(ctx, c, a, b)
	})
}

// partTwo computes C ← A₀·B₀ + A₁·B₁, or adds to C.
func (l *local[T]) partTwo(k *clock, c gemm.Matrix[T], a, b [2]gemm.Matrix[T], add bool) error {
	return k.unlessStopped(func(ctx context.Context) error {
		if add {
			return l.sum(c, func(c gemm.Matrix[T]) error { return l.two(ctx, c, a, b) })
		}
		return l.two(ctx, c, a, b)
	})
}

// unlessStopped calls f unless the context has ended, which it notes. The messages of a product are
// exchanged nevertheless, so that all ranks stay in step.
func (k *clock) unlessStopped(f func(ctx context.Context) error) error {
	if k.stopped {
		return nil
	}
	err := k.ctx.Err()
	if err == nil {
		err = f(k.ctx)
	}
	if k.stopped = err != nil && k.ctx.Err() != nil; k.stopped {
		return nil
	}
	return err
}

// compute computes C ← A·B, or adds to C, while messages are in flight. A rank with a spare
// processor computes on that, and continues to make MPI calls on its own. Other ranks check the
// messages between two pieces of the product, or before a product that is computed in one call.
func (t *task[T]) compute(k *clock, c, a, b gemm.Matrix[T], add bool, pending ...*comm.Request) error {
	switch {
	case c.Rows == 0:
		return nil
	case t.crew != nil:
		return t.crew.compute(k, c, a, b, add, pending)
	}
	return k.during(computing, func() error {
		if len(pending) == 0 || t.spare || t.local.whole {
			return t.overlap(func() error { return t.local.part(k, c, a, b, add) }, pending)
		}
		for lo := 0; lo < c.Cols; lo += pieceCols {
			s := plan.Span{Lo: lo, Hi: min(lo+pieceCols, c.Cols)}
			if err := t.local.part(k, colsOf(c, s), a, colsOf(b, s), add); err != nil {
				return err
			}
			if _, err := test(pending); err != nil {
				return err
			}
		}
		return nil
	})
}

// computeTwo computes C ← A₀·B₀ + A₁·B₁, or adds to C, as compute does.
func (t *task[T]) computeTwo(k *clock, c gemm.Matrix[T], a, b [2]gemm.Matrix[T], add bool,
	pending []*comm.Request) error {
	if c.Rows == 0 {
		return nil
	}
	return k.during(computing, func() error {
		return t.overlap(func() error { return t.local.partTwo(k, c, a, b, add) }, pending)
	})
}

// overlap computes a part in one call on the spare processor, while messages are in flight.
func (t *task[T]) overlap(part func() error, pending []*comm.Request) error {
	if len(pending) > 0 && t.spare {
		return t.aside(part, pending)
	}
	_, err := test(pending)
	return errors.Join(err, part())
}

var errPanicked = errors.New("mpi: the local variant panicked")

// pollInterval is the time between two checks of messages during such a computation. Neighbouring
// processors may be hardware threads of one core, and constant polling would slow the other.
const pollInterval = 50 * time.Microsecond

// aside computes a part on another thread, and goes on with the messages on this one. Each
// stays on a processor of its own: left to the system, who computes goes from one to the next.
func (t *task[T]) aside(part func() error, pending []*comm.Request) error {
	computed := make(chan error, 1)
	var panicked any
	go func() {
		err := errPanicked
		defer func() {
			panicked = recover()
			computed <- err
		}()
		defer t.keep(1)()
		err = part()
	}()
	defer t.keep(0)()
	defer func() {
		if panicked != nil {
			panic(panicked) // where it can be told of, as without another thread
		}
	}()
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		arrived, err := test(pending)
		if arrived || err != nil {
			return errors.Join(<-computed, err)
		}
		select {
		case err := <-computed:
			return err
		case <-look.C:
		}
	}
}

// keep has the calling goroutine run on one of the task's places until it calls release.
func (t *task[T]) keep(place int) (release func()) {
	if t.places == nil {
		return func() {}
	}
	runtime.LockOSThread()
	// Where the system refuses, it chooses the processor itself.
	_ = cpu.PinThread(t.places[place:][:1])
	return func() {
		// A thread that cannot be set free ends with its goroutine.
		if cpu.PinThread(t.job.share) == nil {
			runtime.UnlockOSThread()
		}
	}
}

// wait waits for the messages, which is time of the phase.
func (t *task[T]) wait(k *clock, phase string, pending ...*comm.Request) error {
	if t.crew != nil {
		return t.crew.wait(k, phase, pending)
	}
	return k.during(phase, func() error { return waitAll(pending) })
}

// finish returns when the ranks that this one may help are done.
func (t *task[T]) finish(k *clock) error {
	if t.crew == nil {
		return nil
	}
	return t.crew.finish(k)
}

// test lets MPI go on with the messages, and reports whether all have arrived.
func test(pending []*comm.Request) (bool, error) {
	all := true
	for _, r := range pending {
		done, err := r.Test()
		if err != nil {
			return false, err
		}
		all = all && done
	}
	return all, nil
}
