//go:build cuda

package device

import (
	"cmp"
	"context"
	"time"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
)

// pipeline computes items whose operands lie on the host in three stages: copy in, kernel and copy out. Each stage has
// a stream of its own, so one item is copied in while another is multiplied and a third one is copied out. An item is a
// panel of a product that is cut (panels), or one of several products (streamed). One operand of all items stays on the
// device. At most one pipeline of a device has items in flight.
type pipeline[T gemm.Element] struct {
	p      *product[T]
	d      *Device
	engine engine
	op     cuda.Operation
	shape  gemm.Shape   // that the engine is prepared for; zero: for none
	free   chan *buffer // those without an item
}

// stageNames are the stages of an item. Each begins and ends with an event of its buffer.
var stageNames = [...]string{"copy in", "kernel", "copy out"}

// The events of a buffer.
const (
	inBegins = iota
	inEnds
	kernelBegins
	kernelEnds
	outBegins
	outEnds
	eventsOfItem
)

// mostBuffers is how many items are in flight at once: one for each stage and one that waits.
const mostBuffers = len(stageNames) + 1

// buffer has one item at a time.
type buffer struct {
	at     cu.DevicePtr
	events *[eventsOfItem]cu.Event
}

// divide makes n buffers of memory at an address, of the given bytes each.
func (x *pipeline[T]) divide(at cu.DevicePtr, n int, each int64) {
	x.free = make(chan *buffer, n)
	for i := range n {
		x.free <- &buffer{at + cu.DevicePtr(int64(i)*each), &x.d.items[i]}
	}
}

// item is what passes through the stages.
type item[T gemm.Element] struct {
	*buffer
	shape  gemm.Shape
	on     operands       // on the device
	in     func() error   // starts its copies in
	c      gemm.Matrix[T] // on the host
	pinned bool           // C lies in pinned memory
}

// start starts the stages of an item, but for the copy out to memory that is not pinned: finish does that copy, since
// it blocks. If start fails, drain has to be called.
func (x *pipeline[T]) start(ctx context.Context, i *item[T]) error {
	d, e := x.d, i.events
	if err := mark(e[inBegins], d.up.stream); err != nil {
		return err
	}
	if err := i.in(); err != nil {
		return err
	}
	if err := cmp.Or(mark(e[inEnds], d.up.stream), follow(d.stream, e[inEnds])); err != nil {
		return err
	}
	if err := x.prepare(ctx, i.shape, i.on); err != nil {
		return err
	}
	if err := mark(e[kernelBegins], d.stream); err != nil {
		return err
	}
	if err := x.engine.start(i.on, nil); err != nil {
		return err
	}
	if err := mark(e[kernelEnds], d.stream); err != nil {
		return err
	}
	if i.pinned = pins(d, i.c); i.pinned {
		return x.copyOut(ctx, i)
	}
	return nil
}

// prepare prepares the engine for products of the shape, when its kernels for the shape before have ended.
func (x *pipeline[T]) prepare(ctx context.Context, s gemm.Shape, o operands) error {
	if s == x.shape {
		return nil
	}
	if x.shape != (gemm.Shape{}) {
		if err := x.d.synchronize(ctx, x.d.stream); err != nil {
			return err
		}
		x.shape = gemm.Shape{}
	}
	if err := x.engine.prepare(s, o, x.op); err != nil {
		return err
	}
	x.shape = s
	x.p.choose(x.engine)
	return nil
}

// copyOut copies C out when the kernels have ended, or starts that if C is pinned.
func (x *pipeline[T]) copyOut(ctx context.Context, i *item[T]) error {
	e, out := i.events, x.d.down.stream
	if err := cmp.Or(follow(out, e[kernelEnds]), mark(e[outBegins], out)); err != nil {
		return err
	}
	if err := download(ctx, x.d, i.c, i.on.c, i.on.ldc); err != nil {
		return err
	}
	return mark(e[outEnds], out)
}

// finish returns when C is on the host. It may be called on another goroutine than start.
func (x *pipeline[T]) finish(ctx context.Context, i *item[T]) error {
	if i.pinned {
		return x.d.wait(ctx, i.events[outEnds])
	}
	return x.copyOut(ctx, i)
}

// drain waits for all that has been started, which uses operands and memory, and returns err.
func (x *pipeline[T]) drain(ctx context.Context, err error) error {
	return cmp.Or(err, x.d.synchronize(ctx, x.d.up.stream, x.d.stream, x.d.down.stream))
}

// timed returns the time of what f starts on the device's stream, by events. It samples clocks while that runs, unless
// they are nil.
func (d *Device) timed(ctx context.Context, c *clocks, f func() error) (time.Duration, error) {
	if err := mark(d.start, d.stream); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	if err := mark(d.end, d.stream); err != nil {
		return 0, err
	}
	if c != nil {
		d.monitor.sample(c)
	}
	if err := d.wait(ctx, d.end); err != nil {
		return 0, err
	}
	return between(d.start, d.end)
}

// synchronize waits until the streams have no work left.
func (d *Device) synchronize(ctx context.Context, streams ...cu.Stream) (err error) {
	for _, s := range streams {
		if d.Lost() {
			return err
		}
		failure := mark(d.end, s)
		if failure == nil {
			failure = d.wait(ctx, d.end)
		}
		err = cmp.Or(err, failure)
	}
	return err
}

func mark(e cu.Event, on cu.Stream) error { return failed("cuEventRecord", e.Record(on)) }

func follow(s cu.Stream, e cu.Event) error { return failed("cuStreamWaitEvent", s.Wait(e, 0)) }

func between(from, to cu.Event) (time.Duration, error) {
	ms, err := from.Elapsed(to)
	return time.Duration(ms * float64(time.Millisecond)), failed("cuEventElapsedTime", err)
}

// when returns the time of an event in nanoseconds since 1970.
func (d *Device) when(e cu.Event) (int64, error) {
	since, err := between(d.zero, e)
	return d.epoch.Add(since).UnixNano(), err
}

func destroyEvent(e *cu.Event) error {
	if *e == (cu.Event{}) {
		return nil
	}
	return failed("cuEventDestroy", cu.DestroyEvent(e))
}
