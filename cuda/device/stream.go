//go:build cuda

package device

// #include <cuda.h>
import "C"

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/usage"
)

// assembly is a line of products of one algorithm with operands in pinned memory. While B of one product comes to the
// device, another is multiplied, and C of a third goes back: each stage has a stream of its own. A stays on the device
// until another A comes.
type assembly[T gemm.Element] struct {
	p           *product[T]
	engine      engine
	comes, goes cu.Stream
	zero        cu.Event  // on the device's stream
	epoch       time.Time // when it was recorded
	free        chan *slot
	slots, most int // that there are, and may be
	a           memory
	ofA         gemm.Matrix[T] // what lies there
	shape       gemm.Shape     // that the engine is prepared for

	mu     sync.Mutex
	flying int // products that have begun and not ended; guarded by mu
}

// slot is room for B and C of a product, and events around its stages.
type slot struct {
	room memory
	at   [6]cu.Event
}

// The stages of a product, by their two events of a slot.
var stageNames = [...]string{"copy in", "kernel", "copy out"}

// mostSlots is how many products are on the device at once: one for each stage and one that waits. mostA is how many
// bytes an A has that is compared with the last.
const (
	mostSlots = 4
	mostA     = 16 << 20
)

// Pin has the driver pin memory of the host, until unpin is called: the device then copies from it and to it by itself.
func (p *product[T]) Pin(memory []byte) (unpin func() error, err error) {
	d := p.d
	if err := d.usable(); err != nil {
		return nil, err
	}
	defer d.bind(&err)()
	at := unsafe.Pointer(unsafe.SliceData(memory))
	if err := driverError("cuMemHostRegister",
		C.cuMemHostRegister(at, C.size_t(len(memory)), C.CU_MEMHOSTREGISTER_PORTABLE)); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pinned = append(d.pinned, memory)
	return func() (err error) {
		d.mu.Lock()
		d.pinned = slices.DeleteFunc(d.pinned, func(m []byte) bool { return unsafe.SliceData(m) == (*byte)(at) })
		d.mu.Unlock()
		if d.Lost() {
			return nil
		}
		defer d.bind(&err)()
		return driverError("cuMemHostUnregister", C.cuMemHostUnregister(at))
	}, nil
}

// pins reports whether a matrix lies in memory that Pin pinned. One without elements does not.
func pins[T gemm.Element](d *Device, x gemm.Matrix[T]) bool {
	if x.Rows == 0 || x.Cols == 0 {
		return false
	}
	first := uintptr(unsafe.Pointer(unsafe.SliceData(x.Data)))
	end := first + uintptr(gemm.TypeOf[T]().Size*((x.Rows-1)*x.Stride+x.Cols))
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.pinned, func(m []byte) bool {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(m)))
		return from <= first && end <= from+uintptr(len(m))
	})
}

// Stream starts C = A·B of operands that lie in pinned memory, but for A, and returns a function that waits for the
// end and says when the stages of the product took place. It waits while there are too many products. B and C must
// stay as they are until the end. One goroutine calls it; the functions that wait may be called on any. If both
// results are nil, the product needs Multiply: B and C are not pinned, or the device has no room for them.
func (p *product[T]) Stream(ctx context.Context, c, a, b gemm.Matrix[T]) (wait func() ([]usage.Stage, error),
	err error) {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return nil, err
	}
	size := gemm.TypeOf[T]().Size
	if p.another == nil || c.Rows == 0 || c.Cols == 0 || a.Cols == 0 || size*a.Rows*a.Cols > mostA ||
		!pins(p.d, b) || !pins(p.d, c) {
		return nil, nil
	}
	if err := p.d.usable(); err != nil {
		return nil, err
	}
	defer p.d.bind(&err)()
	if p.assembly == nil {
		if p.assembly, err = newAssembly(p); err != nil {
			return nil, err
		}
	}
	x := p.assembly
	s, err := x.take(ctx, roomOf[T](b.Rows, aligned[T](b.Cols))+roomOf[T](c.Rows, aligned[T](c.Cols)))
	if s == nil || err != nil {
		return nil, err
	}
	if err := x.start(s, c, a, b); err != nil {
		x.free <- s
		if errors.Is(err, errMemory) {
			return nil, x.clear()
		}
		return nil, err
	}
	return func() ([]usage.Stage, error) { return x.end(ctx, s) }, nil
}

// newAssembly returns a line without slots. The device is bound.
func newAssembly[T gemm.Element](p *product[T]) (_ *assembly[T], err error) {
	x := &assembly[T]{p: p, engine: p.another(), free: make(chan *slot, mostSlots), most: mostSlots}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.close())
		}
	}()
	for _, s := range []*cu.Stream{&x.comes, &x.goes} {
		if *s, err = cu.MakeStream(cu.NonBlocking); err != nil {
			return nil, failed("cuStreamCreate", err)
		}
	}
	if x.zero, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
		return nil, failed("cuEventCreate", err)
	}
	if err := x.zero.Record(p.d.stream); err != nil {
		return nil, failed("cuEventRecord", err)
	}
	if err := p.d.stream.Synchronize(); err != nil {
		return nil, failed("cuStreamSynchronize", err)
	}
	x.epoch = time.Now()
	p.d.closers = append(p.d.closers, x.close)
	return x, nil
}

// take returns a slot with so many bytes, when one is free; nil if the device has no room for one.
func (x *assembly[T]) take(ctx context.Context, bytes int64) (*slot, error) {
	for {
		s, err := x.next(ctx)
		if err != nil || s.room.bytes >= bytes {
			return s, err
		}
		if err = x.widen(s, bytes); err == nil {
			return s, nil
		}
		err = errors.Join(err, x.drop(s))
		x.most = max(1, x.slots) // there is no room for more
		if !errors.Is(err, errMemory) {
			return nil, err
		}
		if x.slots == 0 {
			x.most = mostSlots // of smaller products
			return nil, nil
		}
	}
}

// next returns a slot that is free, or a new one without room.
func (x *assembly[T]) next(ctx context.Context) (*slot, error) {
	select {
	case s := <-x.free:
		return s, nil
	default:
	}
	if x.slots < x.most {
		x.slots++
		return &slot{}, nil
	}
	select {
	case s := <-x.free:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// widen gives a slot room for so many bytes.
func (x *assembly[T]) widen(s *slot, bytes int64) (err error) {
	d := x.p.d
	for i := range s.at {
		if s.at[i] != (cu.Event{}) {
			continue
		}
		if s.at[i], err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return failed("cuEventCreate", err)
		}
	}
	if err := d.free(&s.room); err != nil {
		return err
	}
	if s.room, err = d.allocate(bytes); err != nil {
		return err
	}
	return d.void(s.room, x.comes)
}

// drop gives a slot up.
func (x *assembly[T]) drop(s *slot) error {
	x.slots--
	err := x.p.d.free(&s.room)
	for i := range s.at {
		err = errors.Join(err, destroyEvent(&s.at[i]))
	}
	return err
}

// clear gives all slots up, when their products have ended.
func (x *assembly[T]) clear() (err error) {
	for x.slots > 0 {
		err = errors.Join(err, x.drop(<-x.free))
	}
	x.most = mostSlots
	return err
}

// close gives all back. No product is under way.
func (x *assembly[T]) close() error {
	return errors.Join(x.clear(), x.engine.close(), x.p.d.free(&x.a), destroyEvent(&x.zero), destroyStream(&x.comes),
		destroyStream(&x.goes))
}

// start starts a product in a slot.
func (x *assembly[T]) start(s *slot, c, a, b gemm.Matrix[T]) (err error) {
	if err := x.enter(); err != nil {
		return err
	}
	d, size := x.p.d, int64(gemm.TypeOf[T]().Size)
	defer func() {
		if err != nil { // what has been started uses the operands
			for _, on := range []cu.Stream{x.comes, d.stream, x.goes} {
				err = errors.Join(err, failed("cuStreamSynchronize", on.Synchronize()))
			}
			x.leave()
		}
	}()
	if err := x.bring(a); err != nil {
		return err
	}
	o := operands{a: x.a.at, b: s.room.at, lda: aligned[T](a.Cols), ldb: aligned[T](b.Cols), ldc: aligned[T](c.Cols)}
	o.c = o.b + cu.DevicePtr(roomOf[T](b.Rows, o.ldb))
	if err := x.prepare(gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}, o); err != nil {
		return err
	}
	at, row := s.at, int64(c.Cols)*size
	host := func(m gemm.Matrix[T]) (unsafe.Pointer, int64) {
		return unsafe.Pointer(unsafe.SliceData(m.Data)), int64(m.Stride) * size
	}
	fromB, pitchB := host(b)
	toC, pitchC := host(c)
	ldb, ldc := int64(o.ldb)*size, int64(o.ldc)*size
	record := func(i int, on cu.Stream) error { return failed("cuEventRecord", at[i].Record(on)) }
	after := func(on cu.Stream, i int) error { return failed("cuStreamWaitEvent", on.Wait(at[i], 0)) }
	for _, step := range []func() error{
		func() error { return record(0, x.comes) },
		func() error { return copyRows(nil, o.b, ldb, fromB, 0, pitchB, row, int64(b.Rows), x.comes) },
		func() error { return record(1, x.comes) },
		func() error { return after(d.stream, 1) },
		func() error { return record(2, d.stream) },
		func() error { return x.engine.start(o, nil) },
		func() error { return record(3, d.stream) },
		func() error { return after(x.goes, 3) },
		func() error { return record(4, x.goes) },
		func() error { return copyRows(toC, 0, pitchC, nil, o.c, ldc, row, int64(c.Rows), x.goes) },
		func() error { return record(5, x.goes) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// enter begins a product. While there are any, the device has no others.
func (x *assembly[T]) enter() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.flying == 0 {
		if _, err := x.p.enter(); err != nil {
			return err
		}
	}
	x.flying++
	return nil
}

// leave ends a product.
func (x *assembly[T]) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.flying--; x.flying == 0 {
		x.p.d.product.Leave()
	}
}

// bring copies A to the device, unless it is there.
func (x *assembly[T]) bring(a gemm.Matrix[T]) error {
	d, size := x.p.d, gemm.TypeOf[T]().Size
	flat := gemm.NewMatrix[T](a.Rows, a.Cols)
	for i := range a.Rows {
		copy(flat.Row(i), a.Row(i))
	}
	if a.Rows == x.ofA.Rows && a.Cols == x.ofA.Cols && bytes.Equal(bits(flat.Data), bits(x.ofA.Data)) {
		return nil
	}
	x.ofA = gemm.Matrix[T]{}
	ld := aligned[T](a.Cols)
	if need := roomOf[T](a.Rows, ld); x.a.bytes < need {
		err := d.free(&x.a)
		if err == nil {
			x.a, err = d.allocate(need)
		}
		if err == nil {
			err = d.void(x.a, d.stream)
		}
		if err != nil {
			return err
		}
		x.shape = gemm.Shape{} // the address is another
	}
	width := int64(a.Cols * size)
	err := copyRows(nil, x.a.at, int64(ld*size), unsafe.Pointer(unsafe.SliceData(flat.Data)), 0, width, width,
		int64(a.Rows), d.stream) // after the products that read the A before
	if err == nil {
		err = failed("cuStreamSynchronize", d.stream.Synchronize())
	}
	runtime.KeepAlive(flat)
	if err == nil {
		x.ofA = flat
	}
	return err
}

// bits returns elements as the bytes that they are in memory.
func bits[T gemm.Element](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*gemm.TypeOf[T]().Size)
}

// prepare prepares the engine for products of the shape.
func (x *assembly[T]) prepare(shape gemm.Shape, o operands) error {
	if shape == x.shape {
		return nil
	}
	x.shape = gemm.Shape{}
	if err := x.engine.prepare(shape, o, cuda.Plain); err != nil {
		return err
	}
	x.shape = shape
	chosen := x.engine.resolved()
	x.p.chosen.Store(&chosen)
	return nil
}

// end waits for the product in a slot, gives the slot back, and returns when its stages took place.
func (x *assembly[T]) end(ctx context.Context, s *slot) (stages []usage.Stage, err error) {
	d := x.p.d
	defer func() { x.free <- s }()
	defer x.leave()
	defer d.bind(&err)()
	if err := d.wait(ctx, s.at[len(s.at)-1]); err != nil {
		return nil, err
	}
	for i, name := range stageNames {
		var when [2]int64
		for j := range when {
			since, err := between(x.zero, s.at[2*i+j])
			if err != nil {
				return nil, err
			}
			when[j] = x.epoch.Add(since).UnixNano()
		}
		stages = append(stages, usage.Stage{Name: name, Begin: when[0], End: when[1]})
	}
	return stages, nil
}
