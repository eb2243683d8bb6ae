//go:build cuda

package device

import (
	"context"
	"errors"
	"maps"
	"time"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/internal/note"
	"gemm/internal/timeline"
)

// placement says which operands of the host lie on the device, and how.
type placement struct {
	a, b, c       unsafe.Pointer
	lda, ldb, ldc int
	shape         gemm.Shape
	tA, tB        bool
	batch         int    // products of a batch; 0: one product
	begins        bool   // with a C that is read
	owner         string // the kernel of the user's that they are for alone; empty: they are shared
	size, sets    int
}

// placed are operands on the device. Runs with the same operands share them, so several products of
// a turn do not need memory for each.
type placed struct {
	placement
	users  int
	layout layout
	room   memory
	begin  memory // C before a product, if that is read
	next   int    // set of the next product
	last   int    // and of the last
	by     any    // the Run that computed the last product
	copies map[string]time.Duration
}

// staged is a product whose operands are on the device.
type staged[T gemm.Element] struct {
	p       *product[T]
	op      cuda.Operation
	c, a, b gemm.Matrix[T]
	*placed
	phases   map[string]time.Duration
	warnings []note.Note
	clocks   clocks
	verifier *verifier // nil: the kernel is not a user's
	profiled bool      // a profiler has seen a product
}

// copied returns the bytes of a matrix without what lies between its rows.
func copied[T gemm.Element](rows, cols int) int64 {
	return int64(gemm.TypeOf[T]().Size) * int64(rows) * int64(cols)
}

// Stage implements gemm.Stager. The operands must not change while the Run is open: products with the same
// operands share the copies on the device.
func (p *product[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return nil, err
	}
	return p.stage(ctx, cuda.Plain, c, a, b)
}

// StageGemm stages the full BLAS operation, of which each product begins with this c.
func (p gemmer[T]) StageGemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) (gemm.Run, error) {
	if _, _, _, err := gemm.CheckGemm(tA, tB, a, b, c); err != nil {
		return nil, err
	}
	return p.stage(ctx, operation(tA, tB, gemm.ToFloat64(alpha), gemm.ToFloat64(beta)), c, a, b)
}

// stage copies the operands to the device unless they are there.
func (p *product[T]) stage(ctx context.Context, op cuda.Operation, c, a, b gemm.Matrix[T]) (run gemm.Run, err error) {
	release, err := p.acquire(&err)
	if err != nil {
		return nil, err
	}
	defer release()
	d := p.d
	if err := d.rings(); err != nil {
		return nil, err
	}
	r := &staged[T]{p: p, op: op, c: c, a: a, b: b, phases: map[string]time.Duration{}}
	if p.top && op.Beta == 0 && op.Batch == 0 {
		if err := r.timeFromHost(ctx); err != nil {
			return nil, err
		}
	}
	owner := ""
	if p.verifier != nil {
		owner = p.name
	}
	if r.placed, err = place(ctx, d, op, c, a, b, p.warm, owner); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.free())
		}
	}()
	maps.Copy(r.phases, r.copies)
	if err := p.engine.prepare(r.shape, r.layout.at(r.room.at), op); err != nil {
		return nil, err
	}
	p.choose(p.engine)
	if p.verifier != nil {
		if r.verifier, err = p.verifier(d, r.placed, op, c, a, b); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// timeFromHost measures the product from and to the host's memory, after a warm-up.
func (r *staged[T]) timeFromHost(ctx context.Context) error {
	err := r.p.inPanels(ctx, r.op, r.a, r.b, r.c, (*panels[T]).warmUp)
	begin := time.Now()
	if err == nil {
		err = r.p.inPanels(ctx, r.op, r.a, r.b, r.c, (*panels[T]).multiply)
	}
	if errors.Is(err, errMemory) {
		r.warnings = append(r.warnings, note.New("no-time-from-host", err.Error()))
		return nil
	}
	r.phases["host"] = time.Since(begin)
	return err
}

// sets returns how many copies of the operands, of the given bytes, products rotate through. Unless L2 is to be warm,
// three times its size is touched between two uses of a copy.
func (d *Device) sets(bytes int64, warm bool) int {
	if warm || bytes == 0 {
		return 1
	}
	return max(1, int((3*int64(d.GPU.L2)+bytes-1)/bytes))
}

// place copies the operands to the device unless they are there, and measures the copies. Unless L2 is to be warm,
// products rotate through several copies, so that no product finds its operands in L2.
func place[T gemm.Element](ctx context.Context, d *Device, op cuda.Operation, c, a, b gemm.Matrix[T],
	warm bool, owner string) (_ *placed, err error) {
	l := layoutOf(c, a, b)
	if owner != "" {
		l = guarded(c, a, op)
	}
	key := placement{
		unsafe.Pointer(unsafe.SliceData(a.Data)), unsafe.Pointer(unsafe.SliceData(b.Data)),
		unsafe.Pointer(unsafe.SliceData(c.Data)),
		l.lda, l.ldb, l.ldc, shapeOf(op, c, a), op.TransA, op.TransB, op.Batch, op.Beta != 0, owner,
		gemm.TypeOf[T]().Size, 1,
	}
	key.sets = d.sets(l.used, warm)
	if x := d.placed[key]; x != nil {
		x.users++
		return x, nil
	}
	x := &placed{placement: key, users: 1, layout: l, copies: map[string]time.Duration{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.unplace(x))
		}
	}()
	if err := d.renew(&x.room, int64(x.all())*l.bytes, d.stream); err != nil {
		return nil, err
	}
	if x.copies["d2h"], err = d.copyTime(ctx, x.room.at, copied[T](c.Rows, c.Cols), false); err != nil {
		return nil, err
	}
	if x.copies["h2d"], err = d.copyTime(ctx, x.room.at, copied[T](a.Rows, a.Cols)+copied[T](b.Rows, b.Cols),
		true); err != nil {
		return nil, err
	}
	if err := d.poison(x.room, d.up.stream); err != nil {
		return nil, err
	}
	o := l.at(x.room.at)
	if err := upload(ctx, d, o.a, o.lda, a); err != nil {
		return nil, err
	}
	if err := upload(ctx, d, o.b, o.ldb, b); err != nil {
		return nil, err
	}
	if x.begins {
		if x.begin, err = d.allocate(l.end - l.c); err != nil {
			return nil, err
		}
		if err := upload(ctx, d, x.begin.at, o.ldc, c); err != nil {
			return nil, err
		}
	}
	if err := d.replicate(x.room.at, l.bytes, x.all()); err != nil {
		return nil, err
	}
	d.placed[key] = x
	return x, nil
}

// replicate fills n sets of operands, of the given bytes each, with the first of them.
func (d *Device) replicate(at cu.DevicePtr, each int64, n int) error {
	for done := 1; done < n; done *= 2 {
		bytes := int64(min(done, n-done)) * each
		if err := cu.MemcpyDtoDAsync(at+cu.DevicePtr(int64(done)*each), at, bytes, d.up.stream); err != nil {
			return failed("cuMemcpyDtoDAsync", err)
		}
	}
	return failed("cuStreamSynchronize", d.up.stream.Synchronize())
}

// unplace frees operands that no other Run shares.
func (d *Device) unplace(x *placed) error {
	if x.users--; x.users > 0 {
		return nil
	}
	delete(d.placed, x.placement)
	return errors.Join(d.free(&x.room), d.free(&x.begin))
}

func (r *staged[T]) Do(ctx context.Context) (gemm.Cost, error) { return r.Repeat(ctx, 1) }

// Repeat computes the product the given number of times and returns the total cost, by events. If the
// context has a timeline, it is the cost of a product from and to the host's memory, of which the timeline is.
func (r *staged[T]) Repeat(ctx context.Context, times int) (cost gemm.Cost, err error) {
	release, err := r.p.acquire(&err)
	if err != nil {
		return cost, err
	}
	defer release()
	if err := ctx.Err(); err != nil {
		return cost, err
	}
	r.by = r
	if r.c.Rows == 0 || r.c.Cols == 0 {
		return cost, nil
	}
	if line := timeline.Of(ctx); line != nil && times == 1 {
		var did timeline.Activity
		if did, cost.Time, err = r.trace(ctx); err == nil {
			line.SetActivity(did)
		}
		return cost, err
	}
	// A product that reads C changes it. So each of them begins with the staged C.
	most := times
	// No two launches of a verified kernel have the same operands.
	if r.op.Beta != 0 || r.verifier != nil {
		most = r.sets
	}
	for done := 0; done < times; done += most {
		took, err := r.burst(ctx, min(most, times-done))
		if err != nil {
			return cost, err
		}
		cost.Time += took
	}
	if r.p.engine.packs() && times == 1 {
		if r.phases["pack"], err = between(r.p.d.start, r.p.d.packed); err != nil {
			return cost, err
		}
		if r.phases["product"], err = between(r.p.d.packed, r.p.d.multiplied); err != nil {
			return cost, err
		}
	}
	cost.Phases = maps.Clone(r.phases)
	return cost, nil
}

// all returns how many copies of the operands there are. User kernels have one more, the first:
// the others are drawn from it, and no product uses it.
func (x *placed) all() int {
	if x.owner != "" {
		return x.sets + 1
	}
	return x.sets
}

// set returns one of the copies of the operands.
func (x *placed) set(i int) operands {
	return x.layout.at(x.room.at + cu.DevicePtr(int64(i+x.all()-x.sets)*x.layout.bytes))
}

// burst computes the product the given number of times, each time with the next copy of the operands.
func (r *staged[T]) burst(ctx context.Context, times int) (time.Duration, error) {
	d := r.p.d
	if err := r.fill(ctx, times); err != nil {
		return 0, err
	}
	took, err := d.timed(ctx, &r.clocks, func() error {
		for range times {
			start := r.start
			if d.profiles && !r.profiled {
				start = r.profile
			}
			if err := start(); err != nil {
				return err
			}
			r.next = (r.next + 1) % r.sets
		}
		return nil
	})
	if r.verifier != nil && err == nil {
		err = r.verifier.after(ctx, times)
	}
	return took, err
}

// start starts a product with the next copy of the operands.
func (r *staged[T]) start() error { return r.p.engine.start(r.set(r.next), nil) }

// profile starts a product that a profiler sees, after its mark.
func (r *staged[T]) profile() (err error) {
	d, name := r.p.d, cuda.Mark(r.p.name, gemm.TypeOf[T]().Name, r.shape)
	mark, err := d.load(nvrtc.Program{Name: name + ".cu", Source: `extern "C" __global__ void ` + name + "() {}\n",
		Arch: d.arch()}, name, 0)
	if err != nil {
		return err
	}
	r.profiled = true
	if err := profilerStart(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, profilerStop()) }()
	if err := d.launch(mark, [3]int{1, 1, 1}, [3]int{1, 1, 1}, 0, nil); err != nil {
		return err
	}
	return r.start()
}

// fill writes what each C of the given number of products holds before.
func (r *staged[T]) fill(ctx context.Context, times int) error {
	d, bytes := r.p.d, r.layout.end-r.layout.c
	if r.verifier != nil {
		r.next = 0 // all sets are drawn, the first ones first: they are not in the L2 cache
		if err := errors.Join(r.verifier.before(times), d.synchronize(ctx, d.stream)); err != nil {
			return err
		}
	}
	r.last = (r.next + times - 1) % r.sets
	filled := r.set(r.last).c
	switch {
	case r.verifier != nil: // of the first copy: the GPU is as busy when the clock starts as it is for our kernels
		filled = r.layout.at(r.room.at).c
	case r.op.Beta != 0:
		for i := range times {
			if err := cu.MemcpyDtoDAsync(r.set((r.next+i)%r.sets).c, r.begin.at, bytes, d.stream); err != nil {
				return failed("cuMemcpyDtoDAsync", err)
			}
		}
		return nil
	}
	return failed("cuMemsetD8Async", cu.MemsetD8Async(filled, 0xff, bytes, d.stream))
}

// errCollect says that the requested result was overwritten.
var errCollect = errors.New("cuda: another product of the same operands has been computed since: " +
	"collect each before the next")

func (r *staged[T]) Collect(ctx context.Context) (err error) {
	release, err := r.p.acquire(&err)
	if err != nil {
		return err
	}
	defer release()
	if r.by != any(r) {
		return errCollect
	}
	r.p.choose(r.p.engine) // again: the product is done
	if r.verifier != nil {
		return collect(ctx, r.verifier, r.c, r.a, r.b)
	}
	o := r.set(r.last)
	return fetch(ctx, r.p.d, r.c, o.c, o.ldc)
}

// Device implements record.OnDevice.
func (r *staged[T]) Device() record.Device {
	out := r.p.engine.device()
	out.L2 = "cold"
	if r.p.warm {
		out.L2 = "warm"
	}
	out.Warnings = append(out.Warnings, r.warnings...)
	r.clocks.describe(&out)
	return out
}

// Watts implements record.OnDevice. Under a profiler, no products follow to be measured.
func (r *staged[T]) Watts() float64 {
	if r.p.d.profiles {
		return 0
	}
	return r.p.d.monitor.watts()
}

// free gives the operands back.
func (r *staged[T]) free() error {
	err := errors.Join(r.p.engine.close(), r.verifier.free())
	if r.placed != nil {
		err = errors.Join(err, r.p.d.unplace(r.placed))
		r.placed = nil
	}
	return err
}

func (r *staged[T]) Close() error { return r.p.closeRun(r.free) }
