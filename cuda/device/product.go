//go:build cuda

package device

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"time"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
)

// product is one algorithm on a device.
type product[T gemm.Float] struct {
	d      *Device
	engine engine
	warm   bool // operands are the same from call to call
	top    bool // one that users choose: its product from and to the host's memory is timed too
	chosen gemm.Params
}

// Resolved implements gemm.Explainer.
func (p *product[T]) Resolved() gemm.Params { return p.chosen }

// align is what addresses of matrices on the device are multiples of.
const align = 256

// layout is where the operands of a product lie, one behind the other.
type layout struct {
	a, b, c       int64 // offsets in bytes
	bytes         int64 // of all
	lda, ldb, ldc int
}

// layoutOf lays out operands with the leading dimensions that they have on the host.
func layoutOf[T gemm.Float](s cuda.Shape, lda, ldb, ldc int) layout {
	size := int64(unsafe.Sizeof(T(0)))
	round := func(n int64) int64 { return (n + align - 1) / align * align }
	l := layout{lda: lda, ldb: ldb, ldc: ldc}
	l.b = round(int64(s.M) * int64(lda) * size)
	l.c = l.b + round(int64(s.K)*int64(ldb)*size)
	l.bytes = l.c + round(int64(s.M)*int64(ldc)*size)
	return l
}

// at returns the operands of a layout at an address.
func (l layout) at(p cu.DevicePtr) operands {
	return operands{p + cu.DevicePtr(l.a), p + cu.DevicePtr(l.b), p + cu.DevicePtr(l.c), l.lda, l.ldb, l.ldc}
}

// Multiply implements gemm.Multiplier.
func (p *product[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	return p.whole(ctx, 1, a, b, 0, c)
}

// Gemm implements gemm.Gemmer. Operands that are stored transposed are laid out anew on the
// device.
func (p *product[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T, c gemm.Matrix[T]) error {
	_, _, _, err := gemm.CheckGemm(tA, tB, a, b, c)
	if err != nil {
		return err
	}
	if tA == blas.NoTrans && tB == blas.NoTrans {
		return p.whole(ctx, float64(alpha), a, b, float64(beta), c)
	}
	return p.transposed(ctx, tA, tB, float64(alpha), a, b, float64(beta), c)
}

// panels returns into how many panels of rows a product is cut, so that copies and products
// of them overlap.
func panels(rows int, bytes int64) int {
	const (
		least  = 64 << 20 // bytes of a panel
		height = 512      // rows of one
		most   = 8
	)
	return max(1, min(most, rows/height, int(bytes/least)))
}

// whole computes C = α·A·B + β·C from and to the host's memory. Of big products the
// operands come in panels of rows: one is on its way to the device while another is
// multiplied and a third is on its way back.
func (p *product[T]) whole(ctx context.Context, alpha float64, a, b gemm.Matrix[T], beta float64, c gemm.Matrix[T]) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.Rows == 0 || c.Cols == 0 {
		return nil
	}
	d := p.d
	if err := d.usable(); err != nil {
		return err
	}
	defer d.bind(&err)()
	if err := d.rings(); err != nil {
		return err
	}
	s := cuda.Shape{M: c.Rows, N: c.Cols, K: a.Cols}
	if alpha == 0 {
		s.K = 0
	}
	l := layoutOf[T](s, max(1, a.Stride), max(1, b.Stride, b.Cols), c.Stride)
	room, err := d.allocate(l.bytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.free(&room)) }()
	o := l.at(room.at)
	size := int(unsafe.Sizeof(T(0)))
	n := panels(s.M, l.bytes)
	height := (s.M + n - 1) / n
	if err := p.engine.prepare(cuda.Shape{M: height, N: s.N, K: s.K}, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.engine.close()) }()
	p.chosen = p.engine.resolved()
	if s.K > 0 {
		if err := upload(ctx, d, d.up, o.b, l.ldb, b); err != nil {
			return err
		}
	}
	come := make([]cu.Event, n) // panels that have been uploaded, and that have been multiplied
	multiplied := make([]cu.Event, n)
	for _, events := range [][]cu.Event{come, multiplied} {
		for i := range events {
			if events[i], err = cu.MakeEvent(cu.DisableTiming); err != nil {
				return failed("cuEventCreate", err)
			}
			defer func() { err = errors.Join(err, failed("cuEventDestroy", cu.DestroyEvent(&events[i]))) }()
		}
	}
	panel := func(i int) (row, rows int, o operands) {
		row = i * height
		o = l.at(room.at)
		o.a += cu.DevicePtr(row * l.lda * size)
		o.c += cu.DevicePtr(row * l.ldc * size)
		return row, min(height, s.M-row), o
	}
	// Panels go down on another thread, which waits for each.
	ready := make(chan int, n)
	down := make(chan error, 1)
	go func() {
		var err error
		defer func() { down <- err }()
		defer d.bind(&err)()
		for i := range ready {
			row, rows, o := panel(i)
			if err == nil {
				err = failed("cuStreamWaitEvent", d.down.stream.Wait(multiplied[i], 0))
			}
			if err == nil {
				err = download(ctx, d, d.down, c.Slice(row, 0, rows, c.Cols), o.c, l.ldc)
			}
		}
	}()
	up := func() error {
		for i := range n {
			row, rows, o := panel(i)
			if rows <= 0 {
				break
			}
			if s.K > 0 {
				if err := upload(ctx, d, d.up, o.a, l.lda, a.Slice(row, 0, rows, a.Cols)); err != nil {
					return err
				}
			}
			if beta != 0 {
				if err := upload(ctx, d, d.up, o.c, l.ldc, c.Slice(row, 0, rows, c.Cols)); err != nil {
					return err
				}
			}
			if err := come[i].Record(d.up.stream); err != nil {
				return failed("cuEventRecord", err)
			}
			if err := d.stream.Wait(come[i], 0); err != nil {
				return failed("cuStreamWaitEvent", err)
			}
			if rows != height { // the last panel
				if err := d.settle(ctx); err != nil {
					return err
				}
				if err := p.engine.prepare(cuda.Shape{M: rows, N: s.N, K: s.K}, o); err != nil {
					return err
				}
			}
			if err := p.engine.start(o, alpha, beta); err != nil {
				return err
			}
			if err := multiplied[i].Record(d.stream); err != nil {
				return failed("cuEventRecord", err)
			}
			ready <- i
		}
		return nil
	}
	err = up()
	close(ready)
	return cmp.Or(err, <-down, d.settle(ctx))
}

// settle waits for all that has been started on the stream.
func (d *Device) settle(ctx context.Context) error {
	if d.Lost() {
		return nil
	}
	if err := d.end.Record(d.stream); err != nil {
		return d.fault(failed("cuEventRecord", err))
	}
	return d.wait(ctx, d.end)
}

// transposed computes C = α·op(A)·op(B) + β·C.
func (p *product[T]) transposed(ctx context.Context, tA, tB blas.Transpose, alpha float64, a, b gemm.Matrix[T], beta float64, c gemm.Matrix[T]) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.Rows == 0 || c.Cols == 0 {
		return nil
	}
	d := p.d
	if err := d.usable(); err != nil {
		return err
	}
	defer d.bind(&err)()
	if err := d.rings(); err != nil {
		return err
	}
	element := "float"
	if gemm.TypeName[T]() == "f64" {
		element = "double"
	}
	program := nvrtc.Program{Name: "transpose.cu", Source: kernels.Transpose, Arch: d.arch(), Options: []string{"-DELEMENT=" + element}}
	transpose, err := d.load(program, "transpose", 0)
	if err != nil {
		return err
	}
	size := int64(unsafe.Sizeof(T(0)))
	var rooms []memory
	defer func() {
		err = errors.Join(err, d.settle(ctx))
		for i := range rooms {
			err = errors.Join(err, d.free(&rooms[i]))
		}
	}()
	// place brings op(m) to the device.
	place := func(t blas.Transpose, m gemm.Matrix[T]) (cu.DevicePtr, int, error) {
		ld := max(1, m.Cols)
		room, err := d.allocate(size * int64(m.Rows) * int64(ld))
		if err != nil {
			return 0, 0, err
		}
		rooms = append(rooms, room)
		if err := upload(ctx, d, d.up, room.at, ld, m); err != nil {
			return 0, 0, err
		}
		if err := d.up.stream.Synchronize(); err != nil {
			return 0, 0, d.fault(failed("cuStreamSynchronize", err))
		}
		if t == blas.NoTrans {
			return room.at, ld, nil
		}
		if m.Rows == 0 || m.Cols == 0 {
			return room.at, max(1, m.Rows), nil
		}
		turned, err := d.allocate(size * int64(m.Rows) * int64(m.Cols))
		if err != nil {
			return 0, 0, err
		}
		rooms = append(rooms, turned)
		const tile = 32
		blocks := (m.Rows + tile - 1) / tile * ((m.Cols + tile - 1) / tile)
		err = d.launch(transpose, blocks, 1, 256, 0, []uint64{uint64(m.Rows), uint64(m.Cols), uint64(room.at), uint64(ld), uint64(turned.at), uint64(m.Rows)})
		return turned.at, m.Rows, err
	}
	s := cuda.Shape{M: c.Rows, N: c.Cols, K: a.Cols}
	if tA != blas.NoTrans {
		s.K = a.Rows
	}
	var o operands
	if o.a, o.lda, err = place(tA, a); err != nil {
		return err
	}
	if o.b, o.ldb, err = place(tB, b); err != nil {
		return err
	}
	if o.c, o.ldc, err = place(blas.NoTrans, c); err != nil {
		return err
	}
	if err := p.engine.prepare(s, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.engine.close()) }()
	p.chosen = p.engine.resolved()
	if err := p.engine.start(o, alpha, beta); err != nil {
		return err
	}
	if err := d.settle(ctx); err != nil {
		return err
	}
	return download(ctx, d, d.down, c, o.c, o.ldc)
}

// staged is a product whose operands are on the device.
type staged[T gemm.Float] struct {
	p      *product[T]
	shape  cuda.Shape
	layout layout
	room   memory
	sets   int // copies of the operands, used in turn
	next   int // set of the next product
	last   int // and of the last
	c      gemm.Matrix[T]
	phases map[string]time.Duration
	clocks clocks
}

// mostSets is the number of copies of small operands at most.
const mostSets = 8192

// copied returns the bytes of a matrix without what lies between its rows.
func copied[T gemm.Float](rows, cols int) int64 {
	return int64(unsafe.Sizeof(T(0))) * int64(rows) * int64(cols)
}

// Stage implements gemm.Stager: it brings the operands to the device, as often as keeps
// each product from finding those of the last in the L2 cache, and measures the copies.
func (p *product[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (run gemm.Run, err error) {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return nil, err
	}
	d := p.d
	if err := d.usable(); err != nil {
		return nil, err
	}
	defer d.bind(&err)()
	if err := d.rings(); err != nil {
		return nil, err
	}
	r := &staged[T]{p: p, shape: cuda.Shape{M: c.Rows, N: c.Cols, K: a.Cols}, c: c, sets: 1, phases: map[string]time.Duration{}}
	r.layout = layoutOf[T](r.shape, max(1, a.Stride), max(1, b.Stride, b.Cols), max(1, c.Stride))
	if !p.warm && r.layout.bytes > 0 {
		const times = 3 // the size of the cache that lies between two uses of a set
		r.sets = int(max(1, min(mostSets, (times*int64(d.GPU.L2)+r.layout.bytes-1)/r.layout.bytes)))
	}
	if r.room, err = d.allocate(int64(r.sets) * r.layout.bytes); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.free())
		}
	}()
	if r.phases["h2d"], err = d.copyTime(ctx, r.room.at, copied[T](r.shape.M, r.shape.K)+copied[T](r.shape.K, r.shape.N), true); err != nil {
		return nil, err
	}
	if r.phases["d2h"], err = d.copyTime(ctx, r.room.at, copied[T](r.shape.M, r.shape.N), false); err != nil {
		return nil, err
	}
	if p.top {
		// Twice: what is compiled and loaded the first time is there the second.
		for range 2 {
			begin := time.Now()
			if err := p.whole(ctx, 1, a, b, 0, c); err != nil {
				return nil, err
			}
			r.phases["host"] = time.Since(begin)
		}
	}
	// Not a number wherever nothing is written: between rows, and in C.
	if err := cu.MemsetD8Async(r.room.at, 0xff, r.room.bytes, d.up.stream); err != nil {
		return nil, failed("cuMemsetD8Async", err)
	}
	o := r.layout.at(r.room.at)
	if err := upload(ctx, d, d.up, o.a, o.lda, a); err != nil {
		return nil, err
	}
	if err := upload(ctx, d, d.up, o.b, o.ldb, b); err != nil {
		return nil, err
	}
	for i := 1; i < r.sets; i++ {
		if err := cu.MemcpyDtoDAsync(r.room.at+cu.DevicePtr(int64(i)*r.layout.bytes), r.room.at, r.layout.bytes, d.up.stream); err != nil {
			return nil, failed("cuMemcpyDtoDAsync", err)
		}
	}
	if err := d.up.stream.Synchronize(); err != nil {
		return nil, d.fault(failed("cuStreamSynchronize", err))
	}
	if c.Rows == 0 || c.Cols == 0 {
		return r, nil
	}
	if err := p.engine.prepare(r.shape, o); err != nil {
		return nil, err
	}
	p.chosen = p.engine.resolved()
	return r, nil
}

// Do implements gemm.Run.
func (r *staged[T]) Do(ctx context.Context) (gemm.Cost, error) { return r.Repeat(ctx, 1) }

// Repeat computes the product so many times and returns what they cost together, by
// events.
func (r *staged[T]) Repeat(ctx context.Context, times int) (cost gemm.Cost, err error) {
	d := r.p.d
	if err := d.usable(); err != nil {
		return cost, err
	}
	if err := ctx.Err(); err != nil {
		return cost, err
	}
	if r.c.Rows == 0 || r.c.Cols == 0 {
		return cost, nil
	}
	defer d.bind(&err)()
	r.last = (r.next + times - 1) % r.sets
	// What the last product does not write is no number.
	last := r.layout.at(r.room.at + cu.DevicePtr(int64(r.last)*r.layout.bytes))
	if err := cu.MemsetD8Async(last.c, 0xff, r.layout.bytes-r.layout.c, d.stream); err != nil {
		return cost, d.fault(failed("cuMemsetD8Async", err))
	}
	if err := d.start.Record(d.stream); err != nil {
		return cost, d.fault(failed("cuEventRecord", err))
	}
	for range times {
		o := r.layout.at(r.room.at + cu.DevicePtr(int64(r.next)*r.layout.bytes))
		if err := r.p.engine.start(o, 1, 0); err != nil {
			return cost, err
		}
		r.next = (r.next + 1) % r.sets
	}
	if err := d.end.Record(d.stream); err != nil {
		return cost, d.fault(failed("cuEventRecord", err))
	}
	d.monitor.sample(&r.clocks) // while they run
	if err := d.wait(ctx, d.end); err != nil {
		return cost, err
	}
	if cost.Time, err = between(d.start, d.end); err != nil {
		return cost, err
	}
	if after := r.p.engine.packed(); after != nil && times == 1 {
		if r.phases["pack"], err = between(d.start, *after); err != nil {
			return cost, err
		}
	}
	cost.Phases = maps.Clone(r.phases)
	return cost, nil
}

// Collect implements gemm.Run.
func (r *staged[T]) Collect(ctx context.Context) (err error) {
	d := r.p.d
	if err := d.usable(); err != nil {
		return err
	}
	defer d.bind(&err)()
	o := r.layout.at(r.room.at + cu.DevicePtr(int64(r.last)*r.layout.bytes))
	return download(ctx, d, d.down, r.c, o.c, o.ldc)
}

// Device implements gemm.OnDevice.
func (r *staged[T]) Device() gemm.Device {
	out := r.p.engine.device()
	out.Clock, out.Throttled, out.L2 = r.clocks.median(), r.clocks.throttled(), "cold"
	if r.p.warm {
		out.L2 = "warm"
	}
	if out.Throttled != "" {
		out.Warnings = append(out.Warnings, "the GPU's clock was held back: "+out.Throttled)
	}
	return out
}

// free gives the operands back.
func (r *staged[T]) free() error {
	return errors.Join(r.p.engine.close(), r.p.d.free(&r.room))
}

// Close implements gemm.Run.
func (r *staged[T]) Close() (err error) {
	if r.p.d.Lost() {
		return nil
	}
	defer r.p.d.bind(&err)()
	return r.free()
}
