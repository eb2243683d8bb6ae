//go:build cuda

package device

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
)

// panels is a product with operands on the host that is cut in panels. They are the items of the pipeline.
type panels[T gemm.Element] struct {
	pipeline[T]
	all             gemm.Shape // of the product
	cut             cuda.Cut
	c               gemm.Matrix[T]
	moving, staying gemm.Matrix[T] // operands
	across          bool           // panels of the one that moves are columns of it as it is stored, else rows

	ldStays, ldMoves, ldC int
	ofStays, ofMoves, ofC int64 // bytes on the device: of an operand, of a panel, of one of C
	room                  memory
}

// newPanels cuts a product, if free bytes are free on the device.
func newPanels[T gemm.Element](p *product[T], op cuda.Operation, a, b, c gemm.Matrix[T], free int64) *panels[T] {
	x := &panels[T]{pipeline: pipeline[T]{p: p, d: p.d, engine: p.engine, op: op}, all: shapeOf(op, c, a), c: c,
		moving: a, staying: b}
	if op.Alpha == 0 {
		x.all.K = 0 // A and B are not read
	}
	how := p.panels
	if gemm.TypeOf[T]().Name == "gf256" {
		how.Most = math.MaxInt // copies are what takes the time
	}
	x.cut = how.Cut(x.all, gemm.TypeOf[T]().Size, free)
	if x.cut.Columns {
		x.moving, x.staying = b, a
	}
	x.across = x.cut.Columns && !op.TransB || !x.cut.Columns && op.TransA
	rows, cols := x.cut.Size, x.moving.Cols
	if x.across {
		rows, cols = x.moving.Rows, x.cut.Size
	}
	panel := x.shapeOf(x.cut.Size)
	x.ldStays, x.ldMoves, x.ldC = aligned[T](x.staying.Cols), aligned[T](cols), aligned[T](panel.N)
	x.ofStays, x.ofMoves, x.ofC = roomOf[T](x.staying.Rows, x.ldStays), roomOf[T](rows, x.ldMoves),
		roomOf[T](panel.M, x.ldC)
	return x
}

// shapeOf returns the shape of the product of a panel of n rows or columns.
func (x *panels[T]) shapeOf(n int) gemm.Shape {
	s := x.all
	if x.cut.Columns {
		s.N = n
	} else {
		s.M = n
	}
	return s
}

// on returns where the operands lie on the device if the panel is at an address.
func (x *panels[T]) on(panel cu.DevicePtr) operands {
	o := operands{a: panel, b: x.room.at, c: panel + cu.DevicePtr(x.ofMoves), lda: x.ldMoves, ldb: x.ldStays, ldc: x.ldC}
	if x.cut.Columns {
		o.a, o.b, o.lda, o.ldb = o.b, o.a, o.ldb, o.lda
	}
	return o
}

func (x *panels[T]) item(ctx context.Context, panel int, b *buffer) *item[T] {
	first, n := x.cut.Panel(x.all, panel)
	o, c := x.on(b.at), part(x.c, x.cut.Columns, first, n)
	return &item[T]{buffer: b, shape: x.shapeOf(n), on: o, c: c, in: func() error {
		if x.all.K > 0 {
			if err := upload(ctx, x.d, b.at, x.ldMoves, part(x.moving, x.across, first, n)); err != nil {
				return err
			}
		}
		if x.op.Beta == 0 {
			return nil
		}
		return upload(ctx, x.d, o.c, x.ldC, c)
	}}
}

// inPanels cuts a product, takes memory for it, prepares the engine and calls do. The device is p's.
func (p *product[T]) inPanels(ctx context.Context, op cuda.Operation, a, b, c gemm.Matrix[T],
	do func(*panels[T], context.Context) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.Rows == 0 || c.Cols == 0 {
		return nil
	}
	d := p.d
	if err := d.rings(); err != nil {
		return err
	}
	free, err := d.room()
	if err != nil {
		return err
	}
	x := newPanels(p, op, a, b, c, free)
	each := x.ofMoves + x.ofC
	defer func() { err = errors.Join(err, p.engine.close(), d.free(&x.room)) }()
	if err := d.renew(&x.room, x.ofStays+int64(x.cut.Slots)*each, d.up.stream); err != nil {
		return err
	}
	buffers := x.room.at + cu.DevicePtr(x.ofStays)
	x.divide(buffers, x.cut.Slots, each)
	// Before the first copy: with copies in flight, n = 512 took 1.1 times as long.
	if err := x.prepare(ctx, x.shapeOf(x.cut.Size), x.on(buffers)); err != nil {
		return err
	}
	if err := do(x, ctx); err != nil {
		return x.drain(ctx, err)
	}
	p.choose(p.engine) // again: the products are done, and this is of the last one
	return nil
}

// warmUp has the kernels for the first and the last panel compiled, loaded and launched, and touches the pages of C, so
// that multiply takes as long as it does from the second time on.
func (x *panels[T]) warmUp(ctx context.Context) error {
	b := <-x.free
	for _, panel := range slices.Compact([]int{0, x.cut.Count - 1}) {
		i := x.item(ctx, panel, b)
		if err := x.prepare(ctx, i.shape, i.on); err != nil {
			return err
		}
		if err := x.engine.start(i.on, nil); err != nil {
			return err
		}
	}
	const page = 4 << 10
	var zero T
	inParallel(x.c.Rows, func(from, to int) {
		for i := from; i < to; i++ {
			for j := 0; j < x.c.Cols; j += page / gemm.TypeOf[T]().Size {
				x.c.Row(i)[j] = zero
			}
		}
	})
	return x.d.synchronize(ctx, x.d.stream)
}

// multiply computes the product. A goroutine finishes the panels and gives their buffers back.
func (x *panels[T]) multiply(ctx context.Context) error {
	if x.all.K > 0 {
		if err := upload(ctx, x.d, x.room.at, x.ldStays, x.staying); err != nil {
			return err
		}
	}
	started, finished := make(chan *item[T], x.cut.Slots), make(chan error, 1)
	go func() { finished <- x.finishAll(ctx, started) }()
	err := x.startAll(ctx, started)
	close(started)
	return cmp.Or(err, <-finished)
}

func (x *panels[T]) startAll(ctx context.Context, started chan<- *item[T]) error {
	for panel := range x.cut.Count {
		i := x.item(ctx, panel, <-x.free)
		if err := x.start(ctx, i); err != nil {
			return err
		}
		started <- i
	}
	return nil
}

// finishAll finishes the panels that are started, until one of them fails.
func (x *panels[T]) finishAll(ctx context.Context, started <-chan *item[T]) (err error) {
	defer x.d.bind(&err)()
	for i := range started {
		if err == nil {
			err = x.finish(ctx, i)
		}
		x.free <- i.buffer
	}
	return err
}
