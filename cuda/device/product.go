//go:build cuda

package device

import (
	"context"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
)

// product is one algorithm on a device.
type product[T gemm.Element] struct {
	d      *Device
	name   string // of the variant
	engine engine
	warm   bool                        // operands are the same from call to call
	top    bool                        // one that users choose: its product from and to the host's memory is timed too
	chosen atomic.Pointer[gemm.Params] // of the last product

	// verifier returns what checks a kernel of the user's; nil: it is not one. Its operands are its own.
	verifier func(d *Device, x *placed, op cuda.Operation, c, a, b gemm.Matrix[T]) (*verifier, error)

	panels   cuda.Panels   // of products on host operands
	another  func() engine // a new one; nil: products are not streamed
	streamed *streamed[T]  // nil: none has been streamed yet
}

// Resolved implements gemm.Explainer.
func (p *product[T]) Resolved() gemm.Params {
	if chosen := p.chosen.Load(); chosen != nil {
		return *chosen
	}
	return nil
}

// choose records the parameters that the engine has chosen.
func (p *product[T]) choose(e engine) {
	chosen := e.resolved()
	p.chosen.Store(&chosen)
}

// acquire takes the device and binds it until release is called, with *err as Device.bind has it. The device has one
// product at a time: the error is an ErrBusy if another goroutine uses it.
func (p *product[T]) acquire(err *error) (release func(), _ error) {
	if err := p.d.product.Enter(p.name); err != nil {
		return nil, err
	}
	if err := p.d.usable(); err != nil {
		p.d.product.Leave()
		return nil, err
	}
	unbind := p.d.bind(err)
	return func() { unbind(); p.d.product.Leave() }, nil
}

// closeRun frees what a Run has on the device. On a GPU that is lost nothing can be freed.
func (p *product[T]) closeRun(free func() error) (err error) {
	if p.d.Lost() {
		return nil
	}
	release, err := p.acquire(&err)
	if err != nil {
		return err
	}
	defer release()
	return free()
}

// align is what addresses of matrices on the device are multiples of.
const align = 256

// layout is where the operands of a product lie, one behind the other.
type layout struct {
	a, b, c       int64 // offsets in bytes
	end           int64 // of C
	bytes         int64 // of all
	used          int64 // of the operands alone
	lda, ldb, ldc int
}

// asStored returns the leading dimension of a matrix on the host. aligned returns the leading
// dimension with which rows begin at sectors of the device's memory.
func asStored[T gemm.Element](x gemm.Matrix[T]) int { return max(1, x.Stride, x.Cols) }
func aligned[T gemm.Element](cols int) int          { return cuda.AlignedLD(cols, gemm.TypeOf[T]().Size) }

// roomFor returns the bytes that x takes with the leading dimension: none without columns, however many rows it has.
func roomFor[T gemm.Element](x gemm.Matrix[T], ld int) int64 {
	if x.Cols == 0 {
		return 0
	}
	return roomOf[T](x.Rows, ld)
}

// roomOf returns the bytes that rows with the leading dimension take.
func roomOf[T gemm.Element](rows, ld int) int64 {
	return (int64(gemm.TypeOf[T]().Size)*int64(rows)*int64(ld) + align - 1) / align * align
}

// layoutOf lays out operands as they are stored.
func layoutOf[T gemm.Element](c, a, b gemm.Matrix[T]) layout {
	l := layout{lda: asStored(a), ldb: asStored(b), ldc: asStored(c)}
	l.b = roomFor(a, l.lda)
	l.c = l.b + roomFor(b, l.ldb)
	l.end = l.c + roomFor(c, l.ldc)
	l.bytes, l.used = l.end, l.end
	return l
}

// at returns the operands of a layout at an address.
func (l layout) at(p cu.DevicePtr) operands {
	return operands{p + cu.DevicePtr(l.a), p + cu.DevicePtr(l.b), p + cu.DevicePtr(l.c), l.lda, l.ldb, l.ldc}
}

func (p *product[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	return p.whole(ctx, cuda.Plain, a, b, c)
}

// gemmer is a product in floating point, which has the full BLAS operation.
type gemmer[T gemm.Number] struct{ *product[T] }

// Gemm implements gemm.Gemmer. Operands that are stored transposed are laid out anew on the device, but by cuBLAS.
func (p gemmer[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	if _, _, _, err := gemm.CheckGemm(tA, tB, a, b, c); err != nil {
		return err
	}
	return p.whole(ctx, operation(tA, tB, gemm.ToFloat64(alpha), gemm.ToFloat64(beta)), a, b, c)
}

// operation returns the operation as package cuda has it.
func operation(tA, tB blas.Transpose, alpha, beta float64) cuda.Operation {
	return cuda.Operation{TransA: tA != blas.NoTrans, TransB: tB != blas.NoTrans, Alpha: alpha, Beta: beta}
}

// shapeOf returns the shape of the product of op(A) and op(B), or of each product of a batch.
func shapeOf[T gemm.Element](op cuda.Operation, c, a gemm.Matrix[T]) gemm.Shape {
	count := max(1, op.Batch)
	s := gemm.Shape{M: c.Rows / count, N: c.Cols, K: a.Cols}
	if op.TransA {
		s.K = a.Rows / count
	}
	return s
}

func part[T gemm.Element](x gemm.Matrix[T], columns bool, at, n int) gemm.Matrix[T] {
	if columns {
		return x.Slice(0, at, x.Rows, n)
	}
	return x.Slice(at, 0, n, x.Cols)
}

// whole computes the operation from and to the host's memory.
func (p *product[T]) whole(ctx context.Context, op cuda.Operation, a, b, c gemm.Matrix[T]) (err error) {
	release, err := p.acquire(&err)
	if err != nil {
		return err
	}
	defer release()
	return p.inPanels(ctx, op, a, b, c, (*panels[T]).multiply)
}

// batcher is a product that computes batches too.
type batcher[T gemm.Float] struct{ chainer[T] }

// batched is a batch on the device. Its matrices lie one after the other.
type batched[T gemm.Float] struct {
	*staged[T]
	to gemm.Batch[T]
}

// StageBatch implements gemm.BatchStager. One launch computes all products. Launches
// before it copy operands that are stored transposed to a new layout.
func (p batcher[T]) StageBatch(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Batch[T], beta T,
	c gemm.Batch[T]) (gemm.Run, error) {
	if _, _, _, err := gemm.CheckBatch(tA, tB, a, b, c); err != nil {
		return nil, err
	}
	op := operation(tA, tB, float64(alpha), float64(beta))
	op.Batch = c.Count
	run, err := p.stage(ctx, op, stacked(c), stacked(a), stacked(b))
	if err != nil {
		return nil, err
	}
	return &batched[T]{run.(*staged[T]), c}, nil
}

// stacked returns the matrices of a batch as one, a copy if they do not lie like that.
func stacked[T gemm.Float](x gemm.Batch[T]) gemm.Matrix[T] {
	m, ok := x.Stacked()
	if ok {
		return m
	}
	out := gemm.NewMatrix[T](m.Rows, m.Cols)
	for i := range x.Count {
		from := x.Nth(i)
		for j := range x.Rows {
			copy(out.Row(i*x.Rows+j), from.Row(j))
		}
	}
	return out
}

func (r *batched[T]) Collect(ctx context.Context) error {
	if err := r.staged.Collect(ctx); err != nil {
		return err
	}
	if _, ok := r.to.Stacked(); ok {
		return nil
	}
	for i := range r.to.Count {
		to := r.to.Nth(i)
		for j := range r.to.Rows {
			copy(to.Row(j), r.c.Row(i*r.to.Rows+j))
		}
	}
	return nil
}

// Resolved implements gemm.Explainer.
func (r *batched[T]) Resolved() gemm.Params {
	how := "one call"
	if _, ok := r.p.engine.(*libraryEngine); ok {
		how = gemm.ByType(gemm.TypeOf[T]().Name, "cublasDgemmStridedBatched", "cublasSgemmStridedBatched", "", "", "")
	}
	return gemm.Params{"batched": how}
}

// batches reports whether the algorithm with the name computes batches of the type.
func batches(name, typ string) bool {
	r, _ := cuda.RungNamed(name, typ)
	return r.Batches || name == cuda.CuBLAS
}
