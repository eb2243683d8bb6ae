//go:build cuda

package device

import (
	"cmp"
	"context"
	"errors"
	"math"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
)

// panels are of the products that users choose variants for: a kernel in floating point is faster
// with large ones. Tests have panels of small products.
var panels = cuda.Panels{Edge: 512, Bytes: 64 << 20, Most: 8}

// conveyor is a product with operands on the host, in panels. For large products, one panel travels
// to the device while another is multiplied and a third travels back.
type conveyor[T gemm.Element] struct {
	*product[T]
	op              cuda.Operation
	all, panel      gemm.Shape // of the product and of what is computed of it at once
	cut             cuda.Cut
	c               gemm.Matrix[T]
	moving, staying gemm.Matrix[T] // operands
	across          bool           // panels of the one that moves are columns of it as it is stored, else rows

	ldStays, ldMoves, ldC int
	ofStays, ofMoves, ofC int64 // bytes on the device: of an operand, of a panel, of one of C
	room                  memory

	come, multiplied []cu.Event // by slot: its panel has been uploaded, has been multiplied
	ready, empty     chan int   // panels that are multiplied, slots that are free
}

// newConveyor divides a product, if free bytes are free on the device.
func newConveyor[T gemm.Element](p *product[T], op cuda.Operation, a, b, c gemm.Matrix[T], free int64) *conveyor[T] {
	x := &conveyor[T]{product: p, op: op, all: shapeOf(op, c, a), c: c, moving: a, staying: b}
	if op.Alpha == 0 {
		x.all.K = 0 // A and B are not read
	}
	panels := panels
	if gemm.TypeOf[T]().Name == "gf256" {
		panels.Most = math.MaxInt // copies are what takes the time
	}
	x.cut = panels.Cut(x.all, gemm.TypeOf[T]().Size, free)
	if x.cut.Columns {
		x.moving, x.staying = b, a
	}
	x.across = x.cut.Columns && !op.TransB || !x.cut.Columns && op.TransA
	rows, cols := x.cut.Size, x.moving.Cols
	if x.across {
		rows, cols = x.moving.Rows, x.cut.Size
	}
	x.panel = x.shapeOf(x.cut.Size)
	x.ldStays, x.ldMoves, x.ldC = aligned[T](x.staying.Cols), aligned[T](cols), aligned[T](x.panel.N)
	x.ofStays, x.ofMoves, x.ofC = roomOf[T](x.staying.Rows, x.ldStays), roomOf[T](rows, x.ldMoves),
		roomOf[T](x.panel.M, x.ldC)
	return x
}

// shapeOf returns the shape of the product of a panel of n rows or columns.
func (x *conveyor[T]) shapeOf(n int) gemm.Shape {
	s := x.all
	if x.cut.Columns {
		s.N = n
	} else {
		s.M = n
	}
	return s
}

// at returns where the operands of a slot lie on the device.
func (x *conveyor[T]) at(slot int) operands {
	moves := x.room.at + cu.DevicePtr(x.ofStays+int64(slot)*(x.ofMoves+x.ofC))
	o := operands{a: moves, b: x.room.at, c: moves + cu.DevicePtr(x.ofMoves), lda: x.ldMoves, ldb: x.ldStays, ldc: x.ldC}
	if x.cut.Columns {
		o.a, o.b, o.lda, o.ldb = o.b, o.a, o.ldb, o.lda
	}
	return o
}

// inPanels is whole where the device is p's.
func (p *product[T]) inPanels(ctx context.Context, op cuda.Operation, a, b, c gemm.Matrix[T]) (err error) {
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
	free, err := d.room()
	if err != nil {
		return err
	}
	x := newConveyor(p, op, a, b, c, free)
	if x.room, err = d.allocate(x.ofStays + int64(x.cut.Slots)*(x.ofMoves+x.ofC)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.free(&x.room)) }()
	if err := d.void(x.room, d.up.stream); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.engine.close()) }()
	if err := p.engine.prepare(x.panel, x.at(0), op); err != nil {
		return err
	}
	p.choose()
	if x.all.K > 0 {
		if err := upload(ctx, d, d.up, x.room.at, x.ldStays, x.staying); err != nil {
			return err
		}
	}
	if err := x.run(ctx); err != nil {
		return err
	}
	p.choose() // again: the products are done, and this is of the last panel
	return nil
}

// run brings the panels, multiplies them and takes them back.
func (x *conveyor[T]) run(ctx context.Context) (err error) {
	slots := x.cut.Slots
	x.come, x.multiplied = make([]cu.Event, slots), make([]cu.Event, slots)
	for _, events := range [][]cu.Event{x.come, x.multiplied} {
		for i := range events {
			if events[i], err = cu.MakeEvent(cu.DisableTiming); err != nil {
				return failed("cuEventCreate", err)
			}
			defer func() { err = errors.Join(err, failed("cuEventDestroy", cu.DestroyEvent(&events[i]))) }()
		}
	}
	x.ready, x.empty = make(chan int, slots), make(chan int, slots)
	for slot := range slots {
		x.empty <- slot
	}
	down := make(chan error, 1)
	go func() { down <- x.down(ctx) }()
	err = x.up(ctx)
	close(x.ready)
	return cmp.Or(err, <-down, x.d.settle(ctx))
}

// down takes the panels of C back, on a thread of its own, which waits for each and then gives
// its slot back.
func (x *conveyor[T]) down(ctx context.Context) (err error) {
	d := x.d
	defer d.bind(&err)()
	for i := range x.ready {
		slot := i % x.cut.Slots
		if err == nil {
			err = failed("cuStreamWaitEvent", d.down.stream.Wait(x.multiplied[slot], 0))
		}
		if err == nil {
			first, n := x.cut.Panel(x.all, i)
			err = download(ctx, d, d.down, part(x.c, x.cut.Columns, first, n), x.at(slot).c, x.ldC)
		}
		x.empty <- slot
	}
	return err
}

// up brings the panels to the device and starts their products.
func (x *conveyor[T]) up(ctx context.Context) error {
	d := x.d
	for i := range x.cut.Count {
		slot := <-x.empty // in their order
		_, n := x.cut.Panel(x.all, i)
		o := x.at(slot)
		if err := x.bring(ctx, i, o); err != nil {
			return err
		}
		if err := x.come[slot].Record(d.up.stream); err != nil {
			return failed("cuEventRecord", err)
		}
		if err := d.stream.Wait(x.come[slot], 0); err != nil {
			return failed("cuStreamWaitEvent", err)
		}
		if n != x.cut.Size { // the last panel
			if err := d.settle(ctx); err != nil {
				return err
			}
			if err := x.engine.prepare(x.shapeOf(n), o, x.op); err != nil {
				return err
			}
		}
		if err := x.engine.start(o, nil); err != nil {
			return err
		}
		if err := x.multiplied[slot].Record(d.stream); err != nil {
			return failed("cuEventRecord", err)
		}
		x.ready <- i
	}
	return nil
}

// bring starts the copy of panel i of the operand that is cut, and of C if it is read.
func (x *conveyor[T]) bring(ctx context.Context, i int, o operands) error {
	first, n := x.cut.Panel(x.all, i)
	if x.all.K > 0 {
		to := o.a
		if x.cut.Columns {
			to = o.b
		}
		if err := upload(ctx, x.d, x.d.up, to, x.ldMoves, part(x.moving, x.across, first, n)); err != nil {
			return err
		}
	}
	if x.op.Beta == 0 {
		return nil
	}
	return upload(ctx, x.d, x.d.up, o.c, x.ldC, part(x.c, x.cut.Columns, first, n))
}
