//go:build cuda

package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/cuda/userkernel"
	"gemm/internal/note"
	"gemm/internal/peer"
)

// verifier checks each launch of a kernel of the user's; kernels.Judge says how. The launches
// between two events have one set of operands each. One of all launches, each with the same probability, has the
// operands as they were staged: its C is kept. Events see all that a launch does, also what it starts itself.
type verifier struct {
	d                             *Device
	x                             *placed
	op                            cuda.Operation
	draw, inspect, apply, compare *kernel
	found                         memory // what is wrong
	kept                          memory
	sums                          memory
	tolerance                     float64
	launches                      int // so far
	seed                          uint64
	staged                        int // the set that has the operands as they were staged, from 1; 0: none
}

func newVerifier[T gemm.Float](d *Device, x *placed, op cuda.Operation, c, a, b gemm.Matrix[T]) (_ *verifier,
	err error) {
	v := &verifier{d: d, x: x, op: op, tolerance: peer.Tolerance(op.Alpha, op.Beta, x.shape.K, []gemm.Matrix[T]{c},
		[]gemm.Matrix[T]{a}, []gemm.Matrix[T]{b})}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.free())
		}
	}()
	p := nvrtc.Program{Name: "judge.cu", Source: kernels.Judge, Arch: d.arch(), Options: kernels.JudgeOptions(x.size)}
	for name, k := range map[string]**kernel{"draw": &v.draw, "inspect": &v.inspect, "apply": &v.apply,
		"compare": &v.compare} {
		if *k, err = d.load(p, "judge_"+name, 0); err != nil {
			return nil, err
		}
	}
	const double = 8
	sums := double * (int64(x.sets)*int64(x.shape.K+2*x.shape.M) + int64(x.shape.M))
	for m, bytes := range map[*memory]int64{&v.found: double, &v.kept: x.layout.end - x.layout.c, &v.sums: sums} {
		if *m, err = d.allocate(bytes); err != nil {
			return nil, err
		}
	}
	return v, d.poison(v.found, d.stream)
}

func (v *verifier) free() error {
	if v == nil {
		return nil
	}
	return errors.Join(v.d.free(&v.found), v.d.free(&v.kept), v.d.free(&v.sums))
}

func (v *verifier) launch(k *kernel, arguments ...uint64) error {
	return v.d.launch(k, [3]int{8 * v.d.GPU.Multiprocessors, 1, 1}, [3]int{256, 1, 1}, 0, arguments)
}

// arguments returns the common arguments of the kernels draw and inspect.
func (v *verifier) arguments() []uint64 {
	l, size := v.x.layout, int64(v.x.size)
	return []uint64{uint64(int64(v.x.all()) * l.bytes / size), uint64(l.bytes / size), uint64(l.c / size),
		uint64(l.end / size), uint64(v.x.room.at), uint64(v.x.begin.at), v.seed, uint64(v.staged)}
}

// before draws the operands of the given number of launches.
func (v *verifier) before(times int) error {
	v.seed, v.staged = rand.Uint64(), 0
	if v.launches += times; rand.IntN(v.launches) < times {
		v.staged = 1 + rand.IntN(times)
	}
	return v.launch(v.draw, v.arguments()...)
}

// after checks the launches on the first sets.
func (v *verifier) after(ctx context.Context, times int) error {
	s, o, n := v.x.shape, v.x.set(0), uint64(times)
	if err := v.launch(v.inspect, append(v.arguments(), n, uint64(v.found.at))...); err != nil {
		return err
	}
	signs, set := rand.Uint64(), uint64(v.x.layout.bytes/int64(v.x.size))
	k, rows := uint64(s.K), uint64(s.M)
	right := uint64(v.sums.at)
	product := right + 8*n*k
	got := product + 8*n*rows
	begin := got + 8*n*rows
	steps := [][]uint64{
		{k, uint64(s.N), n, set, uint64(o.b), signs, 0, right},
		{rows, k, n, set, uint64(o.a), signs, right, product},
		{rows, uint64(s.N), n, set, uint64(o.c), signs, 0, got},
	}
	if v.x.begins {
		steps = append(steps, []uint64{rows, uint64(s.N), 1, set, uint64(v.x.begin.at), signs, 0, begin})
	}
	for _, arguments := range steps {
		if err := v.launch(v.apply, arguments...); err != nil {
			return err
		}
	}
	if err := v.launch(v.compare, rows, n, uint64(v.staged), math.Float64bits(v.op.Alpha), product,
		math.Float64bits(v.op.Beta), begin, got, math.Float64bits(v.tolerance), uint64(v.found.at)); err != nil {
		return err
	}
	if v.staged > 0 {
		c := v.x.set(v.staged - 1).c
		if err := cu.MemcpyDtoDAsync(v.kept.at, c, v.x.layout.end-v.x.layout.c, v.d.stream); err != nil {
			return failed("cuMemcpyDtoDAsync", err)
		}
	}
	found, err := v.d.read(ctx, v.found.at)
	if err != nil || found == math.MaxUint64 {
		return err
	}
	return v.verdict(ctx, found>>60, int64(found<<4>>4))
}

// verdict returns the error for what was found: its kind, and where.
func (v *verifier) verdict(ctx context.Context, kind uint64, at int64) error {
	const changed, unwritten = 0, 1
	size, l := int64(v.x.size), v.x.layout
	switch kind {
	case changed:
		is, err := v.element(ctx, at*size)
		if err != nil {
			return err
		}
		if err := v.launch(v.draw, v.arguments()...); err != nil {
			return err
		}
		was, err := v.element(ctx, at*size)
		if err != nil {
			return err
		}
		return errors.New(userkernel.ZonesOf(v.x.shape, v.x.size).Trespass(at*size%l.bytes, was, is))
	case unwritten:
		set, element, n := at*size/l.bytes, (at*size%l.bytes-l.c)/size, int64(v.x.shape.N)
		err := fmt.Errorf("it does not write element (%d, %d) of C, or adds to what was there before", element/n, element%n)
		if set == int64(v.staged) {
			return err
		}
		return note.Wrong{Reason: err.Error()}
	}
	return note.Wrong{Reason: fmt.Sprintf(
		"row %d of C is wrong in a launch that was timed: its sum with random signs is not that of the product", at)}
}

// element returns the element at an offset of the memory. 8 bytes are read, the element may be shorter.
func (v *verifier) element(ctx context.Context, at int64) (float64, error) {
	begin := min(at, int64(v.x.all())*v.x.layout.bytes-8)
	bits, err := v.d.read(ctx, v.x.room.at+cu.DevicePtr(begin))
	bits >>= 8 * (at - begin)
	if v.x.size == 8 {
		return math.Float64frombits(bits), err
	}
	return float64(math.Float32frombits(uint32(bits))), err
}

// collect copies the C that was kept, if A and B are still what all launches were checked with.
func collect[T gemm.Element](ctx context.Context, v *verifier, c, a, b gemm.Matrix[T]) error {
	o := v.x.layout.at(v.x.room.at)
	for _, x := range []struct {
		at cu.DevicePtr
		is gemm.Matrix[T]
	}{{o.a, a}, {o.b, b}} {
		staged := gemm.NewMatrix[T](x.is.Rows, x.is.Cols)
		if err := fetch(ctx, v.d, staged, x.at, max(1, x.is.Cols)); err != nil {
			return err
		}
		for i := range x.is.Rows {
			if !slices.Equal(staged.Row(i), x.is.Row(i)) { // a NaN is not drawn
				return note.Wrong{Reason: "it changes the operands that other launches begin with"}
			}
		}
	}
	return fetch(ctx, v.d, c, v.kept.at, max(1, c.Cols))
}

// read returns 8 bytes of the device's memory, after all that was started on the stream.
func (d *Device) read(ctx context.Context, from cu.DevicePtr) (uint64, error) {
	p, err := d.down.take(ctx, d)
	if err != nil {
		return 0, err
	}
	if err := copyRows(p.at, 0, 8, nil, from, 8, 8, 1, d.stream); err != nil {
		return 0, err
	}
	if err := mark(p.done, d.stream); err != nil {
		return 0, err
	}
	if err := d.wait(ctx, p.done); err != nil {
		return 0, err
	}
	return *(*uint64)(p.at), nil
}
