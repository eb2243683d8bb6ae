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
	"unsafe"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
	"gemm/internal/timeline"
)

// streamed are products of one algorithm with operands in pinned memory. They are the items of the pipeline. A stays on
// the device until another A comes.
type streamed[T gemm.Element] struct {
	pipeline[T]
	room memory
	each int64 // bytes of a buffer; 0: there are none
	a    memory
	ofA  gemm.Matrix[T] // what lies there

	mu       sync.Mutex
	inFlight int // products that have begun and not ended; guarded by mu
}

// mostA is how many bytes an A has that is compared with the last.
const mostA = 16 << 20

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
func (p *product[T]) Stream(ctx context.Context, c, a, b gemm.Matrix[T]) (wait func() ([]timeline.Stage, error),
	err error) {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return nil, err
	}
	if p.another == nil || c.Rows == 0 || c.Cols == 0 || a.Cols == 0 || copied[T](a.Rows, a.Cols) > mostA ||
		!pins(p.d, b) || !pins(p.d, c) {
		return nil, nil
	}
	if err := p.d.usable(); err != nil {
		return nil, err
	}
	defer p.d.bind(&err)()
	if p.streamed == nil {
		p.streamed = newStreamed(p)
	}
	x := p.streamed
	if err := x.acquire(); err != nil {
		return nil, err
	}
	i, err := x.begin(ctx, c, a, b)
	if i == nil || err != nil {
		x.release()
		return nil, err
	}
	return func() ([]timeline.Stage, error) { return x.end(ctx, i) }, nil
}

// newStreamed returns a pipeline without buffers.
func newStreamed[T gemm.Element](p *product[T]) *streamed[T] {
	x := &streamed[T]{pipeline: pipeline[T]{p: p, d: p.d, engine: p.another(), op: cuda.Plain}}
	p.d.closers = append(p.d.closers, x.close)
	return x
}

// take waits for a free buffer of at least the given bytes; nil if the device has no room for one. If the buffers are
// too small, new ones replace them, as many as the device has room for.
func (x *streamed[T]) take(ctx context.Context, bytes int64) (*buffer, error) {
	if bytes > x.each {
		if err := x.clear(); err != nil {
			return nil, err
		}
		for n := mostBuffers; x.each == 0; n-- {
			if n == 0 {
				return nil, nil
			}
			err := x.d.renew(&x.room, int64(n)*bytes, x.d.up.stream)
			if err == nil {
				x.each = bytes
				x.divide(x.room.at, n, bytes)
			} else if !errors.Is(err, errMemory) {
				return nil, err
			}
		}
	}
	select {
	case b := <-x.free:
		for range len(x.free) { // the buffer that was given back last: it may be in the L2 cache
			x.free <- b
			b = <-x.free
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// clear gives the memory of the buffers back, when their products have ended.
func (x *streamed[T]) clear() error {
	for range cap(x.free) {
		<-x.free
	}
	x.free, x.each = nil, 0
	return x.d.free(&x.room)
}

// close gives all back. No product is under way.
func (x *streamed[T]) close() error {
	return errors.Join(x.clear(), x.engine.close(), x.d.free(&x.a))
}

// begin starts a product. It is nil if the device has no room for it.
func (x *streamed[T]) begin(ctx context.Context, c, a, b gemm.Matrix[T]) (*item[T], error) {
	o := operands{lda: aligned[T](a.Cols), ldb: aligned[T](b.Cols), ldc: aligned[T](c.Cols)}
	ofB := roomOf[T](b.Rows, o.ldb)
	buffer, err := x.take(ctx, ofB+roomOf[T](c.Rows, o.ldc))
	if buffer == nil || err != nil {
		return nil, err
	}
	i := &item[T]{buffer: buffer, shape: gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}, c: c, in: func() error {
		return upload(ctx, x.d, o.b, o.ldb, b)
	}}
	if err = x.stay(a); err == nil {
		o.a, o.b = x.a.at, buffer.at
		o.c = o.b + cu.DevicePtr(ofB)
		i.on = o
		err = x.start(ctx, i)
	}
	if err == nil {
		return i, nil
	}
	err = x.drain(ctx, err)
	x.free <- buffer
	if errors.Is(err, errMemory) {
		return nil, x.clear()
	}
	return nil, err
}

// acquire takes the device for streamed products, which alone use it while any is in flight.
func (x *streamed[T]) acquire() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.inFlight == 0 {
		if err := x.d.product.Enter(x.p.name); err != nil {
			return err
		}
	}
	x.inFlight++
	return nil
}

func (x *streamed[T]) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.inFlight--; x.inFlight == 0 {
		x.d.product.Leave()
	}
}

// stay copies A to the device, unless it is there.
func (x *streamed[T]) stay(a gemm.Matrix[T]) error {
	flat := gemm.NewMatrix[T](a.Rows, a.Cols)
	for i := range a.Rows {
		copy(flat.Row(i), a.Row(i))
	}
	if a.Rows == x.ofA.Rows && a.Cols == x.ofA.Cols && bytes.Equal(bits(flat.Data), bits(x.ofA.Data)) {
		return nil
	}
	x.ofA = gemm.Matrix[T]{}
	ld, size := aligned[T](a.Cols), gemm.TypeOf[T]().Size
	if need := roomOf[T](a.Rows, ld); x.a.bytes < need {
		if err := x.d.renew(&x.a, need, x.d.stream); err != nil {
			return err
		}
		x.shape = gemm.Shape{} // the address is another
	}
	width := int64(a.Cols * size)
	err := copyRows(nil, x.a.at, int64(ld*size), unsafe.Pointer(unsafe.SliceData(flat.Data)), 0, width, width,
		int64(a.Rows), x.d.stream) // after the products that read the A before
	if err == nil {
		err = failed("cuStreamSynchronize", x.d.stream.Synchronize())
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

// end waits for a product, gives its buffer back, and returns when its stages took place.
func (x *streamed[T]) end(ctx context.Context, i *item[T]) (stages []timeline.Stage, err error) {
	defer func() { x.free <- i.buffer }()
	defer x.release()
	defer x.d.bind(&err)()
	if err := x.finish(ctx, i); err != nil {
		return nil, err
	}
	for n, name := range stageNames {
		begin, err := x.d.when(i.events[2*n])
		if err != nil {
			return nil, err
		}
		end, err := x.d.when(i.events[2*n+1])
		if err != nil {
			return nil, err
		}
		stages = append(stages, timeline.Stage{Name: name, Begin: begin, End: end})
	}
	return stages, nil
}
