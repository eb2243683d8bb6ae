//go:build cuda

package device

import (
	"context"
	"errors"

	"gorgonia.org/cu"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/gf256"
)

// chainer is a product that computes iterated products too, and fieldChainer one over GF(2⁸).
type (
	chainer[T gemm.Float] struct{ gemmer[T] }
	fieldChainer          struct{ *product[gf256.Elem] }
)

// StageChain implements record.Chainer.
func (p chainer[T]) StageChain(ctx context.Context, steps int, c, a, s, b gemm.Matrix[T]) (gemm.Run, error) {
	return stageChain(ctx, p.product, steps, c, a, s, b)
}

// StageChain implements record.Chainer.
func (p fieldChainer) StageChain(ctx context.Context, steps int, c, a, s, b gemm.Matrix[gf256.Elem]) (gemm.Run, error) {
	return stageChain(ctx, p.product, steps, c, a, s, b)
}

// The matrices of an iterated product on the device, of the same size, one behind the other.
const (
	chainA     = iota // A, S and B as they were staged
	chainS            //
	chainB            //
	chainSum          // Sᵢ
	chainFirst        // Aᵢ₋₁ or Aᵢ
	chainOther        // Aᵢ or Aᵢ₋₁
	chainMatrices
)

// chain is an iterated product whose operands are on the device.
type chain[T gemm.Element] struct {
	p      *product[T]
	steps  int
	c      gemm.Matrix[T]
	ld     int
	bytes  int64 // of one matrix
	room   memory
	add    *kernel
	done   bool // a Do has ended well, so that there is a result
	clocks clocks
}

// stageChain copies the operands of an iterated product to the device and prepares its kernels.
func stageChain[T gemm.Element](ctx context.Context, p *product[T], steps int, c, a, s, b gemm.Matrix[T]) (_ gemm.Run,
	err error) {
	for _, x := range []gemm.Matrix[T]{s, b} {
		if err := gemm.CheckShapes(c, a, x); err != nil {
			return nil, err
		}
	}
	if a.Rows != a.Cols || steps < 1 {
		return nil, errors.New("cuda: an iterated product has square matrices and at least one step")
	}
	release, err := p.acquire(&err)
	if err != nil {
		return nil, err
	}
	defer release()
	d := p.d
	if err := d.rings(); err != nil {
		return nil, err
	}
	r := &chain[T]{p: p, steps: steps, c: c, ld: asStored(a), bytes: roomFor(a, asStored(a))}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.free())
		}
	}()
	if err := d.renew(&r.room, chainMatrices*r.bytes, d.up.stream); err != nil {
		return nil, err
	}
	for i, x := range []gemm.Matrix[T]{chainA: a, chainS: s, chainB: b} {
		if err := upload(ctx, d, r.at(i), r.ld, x); err != nil {
			return nil, err
		}
	}
	if err := d.up.stream.Synchronize(); err != nil {
		return nil, failed("cuStreamSynchronize", err)
	}
	if r.add, err = d.adder(gemm.TypeOf[T]().Name); err != nil {
		return nil, err
	}
	if err := p.engine.prepare(gemm.Cube(a.Rows), r.operands(0), cuda.Plain); err != nil {
		return nil, err
	}
	p.choose(p.engine)
	return r, nil
}

// adder returns the kernel that adds matrices of the type.
func (d *Device) adder(typ string) (*kernel, error) {
	options := map[string][]string{"f32": {"-DELEMENT=float"}, "f64": {"-DELEMENT=double"},
		"gf256": {"-DELEMENT=unsigned char", "-DFIELD"}}
	return d.load(nvrtc.Program{Name: "add.cu", Source: kernels.Add, Arch: d.arch(), Options: options[typ]}, "add", 0)
}

// at returns where a matrix is.
func (r *chain[T]) at(matrix int) cu.DevicePtr {
	return r.room.at + cu.DevicePtr(int64(matrix)*r.bytes)
}

// operands returns the operands of the product of a step, which is counted from 0: the last result, and the matrix for
// this one, change places in each step.
func (r *chain[T]) operands(step int) operands {
	return operands{r.at(chainFirst + step%2), r.at(chainSum), r.at(chainFirst + (step+1)%2), r.ld, r.ld, r.ld}
}

// Do implements gemm.Run. The time of all steps is measured between two events.
func (r *chain[T]) Do(ctx context.Context) (cost gemm.Cost, err error) {
	release, err := r.p.acquire(&err)
	if err != nil {
		return cost, err
	}
	defer release()
	d := r.p.d
	if err := ctx.Err(); err != nil || r.c.Rows == 0 {
		return cost, err
	}
	r.done = false
	for to, from := range map[int]int{chainFirst: chainA, chainSum: chainS} {
		if err := cu.MemcpyDtoDAsync(r.at(to), r.at(from), r.bytes, d.stream); err != nil {
			return cost, failed("cuMemcpyDtoDAsync", err)
		}
	}
	if err := cu.MemsetD8Async(r.at(chainOther), 0xff, r.bytes, d.stream); err != nil {
		return cost, failed("cuMemsetD8Async", err)
	}
	n := r.c.Rows
	blocks := (n + 3) / 4 * ((n + 1023) / 1024)
	addition := []uint64{uint64(n), uint64(r.at(chainSum)), uint64(r.at(chainB)), uint64(r.ld)}
	cost.Time, err = d.timed(ctx, &r.clocks, func() error {
		for step := range r.steps {
			if err := d.launch(r.add, [3]int{blocks, 1, 1}, [3]int{256, 1, 1}, 0, addition); err != nil {
				return err
			}
			if err := r.p.engine.start(r.operands(step), nil); err != nil {
				return err
			}
		}
		return nil
	})
	r.done = err == nil
	return cost, err
}

// errNoChain says that no Do has ended well since the last one began.
var errNoChain = errors.New("cuda: there is no result of the iterated product: call Do before Collect")

func (r *chain[T]) Collect(ctx context.Context) (err error) {
	release, err := r.p.acquire(&err)
	if err != nil {
		return err
	}
	defer release()
	if r.c.Rows == 0 {
		return nil
	}
	if !r.done {
		return errNoChain
	}
	r.p.choose(r.p.engine) // again: the products are done
	return fetch(ctx, r.p.d, r.c, r.operands(r.steps).a, r.ld)
}

// Device implements record.OnDevice. Operands are in the L2 cache as far as the step before has left them there.
func (r *chain[T]) Device() record.Device {
	out := r.p.engine.device()
	out.L2 = "warm"
	r.clocks.describe(&out)
	return out
}

// Watts implements record.OnDevice.
func (r *chain[T]) Watts() float64 { return r.p.d.monitor.watts() }

// free gives the memory back.
func (r *chain[T]) free() error { return errors.Join(r.p.engine.close(), r.p.d.free(&r.room)) }

func (r *chain[T]) Close() error { return r.p.closeRun(r.free) }
