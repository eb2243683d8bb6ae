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
	"gemm/cuda/guest"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/internal/peer"
)

// judge checks each launch of a kernel of the user's, which it does not trust; kernels.Judge says how. The launches
// between two events have one set of operands each. One of all launches, each with the same probability, has the
// operands as they were staged: its C is kept. Events see all that a launch does, also what it starts itself.
type judge struct {
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

func newJudge[T gemm.Float](d *Device, x *placed, op cuda.Operation, c, a, b gemm.Matrix[T]) (_ *judge, err error) {
	j := &judge{d: d, x: x, op: op, tolerance: peer.Tolerance(op.Alpha, op.Beta, x.shape.K, []gemm.Matrix[T]{c},
		[]gemm.Matrix[T]{a}, []gemm.Matrix[T]{b})}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.free())
		}
	}()
	p := nvrtc.Program{Name: "judge.cu", Source: kernels.Judge, Arch: d.arch(), Options: kernels.JudgeOptions(x.size)}
	for name, k := range map[string]**kernel{"draw": &j.draw, "inspect": &j.inspect, "apply": &j.apply,
		"compare": &j.compare} {
		if *k, err = d.load(p, "judge_"+name, 0); err != nil {
			return nil, err
		}
	}
	const double = 8
	sums := double * (int64(x.sets)*int64(x.shape.K+2*x.shape.M) + int64(x.shape.M))
	for m, bytes := range map[*memory]int64{&j.found: double, &j.kept: x.layout.end - x.layout.c, &j.sums: sums} {
		if *m, err = d.allocate(bytes); err != nil {
			return nil, err
		}
	}
	return j, d.poison(j.found, d.stream)
}

func (j *judge) free() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.d.free(&j.found), j.d.free(&j.kept), j.d.free(&j.sums))
}

// launch starts a kernel of the judge's.
func (j *judge) launch(k *kernel, arguments ...uint64) error {
	return j.d.launch(k, [3]int{8 * j.d.GPU.Multiprocessors, 1, 1}, [3]int{256, 1, 1}, 0, arguments)
}

// arguments returns the common arguments of the kernels draw and inspect.
func (j *judge) arguments() []uint64 {
	l, size := j.x.layout, int64(j.x.size)
	return []uint64{uint64(int64(j.x.all()) * l.bytes / size), uint64(l.bytes / size), uint64(l.c / size),
		uint64(l.end / size), uint64(j.x.room.at), uint64(j.x.begin.at), j.seed, uint64(j.staged)}
}

// before draws the operands of the given number of launches.
func (j *judge) before(times int) error {
	j.seed, j.staged = rand.Uint64(), 0
	if j.launches += times; rand.IntN(j.launches) < times {
		j.staged = 1 + rand.IntN(times)
	}
	return j.launch(j.draw, j.arguments()...)
}

// after checks the launches on the first sets.
func (j *judge) after(ctx context.Context, times int) error {
	s, o, n := j.x.shape, j.x.set(0), uint64(times)
	if err := j.launch(j.inspect, append(j.arguments(), n, uint64(j.found.at))...); err != nil {
		return err
	}
	signs, set := rand.Uint64(), uint64(j.x.layout.bytes/int64(j.x.size))
	k, rows := uint64(s.K), uint64(s.M)
	right := uint64(j.sums.at)
	product := right + 8*n*k
	got := product + 8*n*rows
	begin := got + 8*n*rows
	steps := [][]uint64{
		{k, uint64(s.N), n, set, uint64(o.b), signs, 0, right},
		{rows, k, n, set, uint64(o.a), signs, right, product},
		{rows, uint64(s.N), n, set, uint64(o.c), signs, 0, got},
	}
	if j.x.begins {
		steps = append(steps, []uint64{rows, uint64(s.N), 1, set, uint64(j.x.begin.at), signs, 0, begin})
	}
	for _, arguments := range steps {
		if err := j.launch(j.apply, arguments...); err != nil {
			return err
		}
	}
	if err := j.launch(j.compare, rows, n, uint64(j.staged), math.Float64bits(j.op.Alpha), product,
		math.Float64bits(j.op.Beta), begin, got, math.Float64bits(j.tolerance), uint64(j.found.at)); err != nil {
		return err
	}
	if j.staged > 0 {
		c := j.x.set(j.staged - 1).c
		if err := cu.MemcpyDtoDAsync(j.kept.at, c, j.x.layout.end-j.x.layout.c, j.d.stream); err != nil {
			return failed("cuMemcpyDtoDAsync", err)
		}
	}
	found, err := j.d.read(ctx, j.found.at)
	if err != nil || found == math.MaxUint64 {
		return err
	}
	return j.verdict(ctx, found>>60, int64(found<<4>>4))
}

// verdict returns the error for what was found: its kind, and where.
func (j *judge) verdict(ctx context.Context, kind uint64, at int64) error {
	const changed, unwritten = 0, 1
	size, l := int64(j.x.size), j.x.layout
	switch kind {
	case changed:
		is, err := j.element(ctx, at*size)
		if err != nil {
			return err
		}
		if err := j.launch(j.draw, j.arguments()...); err != nil {
			return err
		}
		was, err := j.element(ctx, at*size)
		if err != nil {
			return err
		}
		return errors.New(guest.ZonesOf(j.x.shape, j.x.size).Trespass(at*size%l.bytes, was, is))
	case unwritten:
		set, element, n := at*size/l.bytes, (at*size%l.bytes-l.c)/size, int64(j.x.shape.N)
		err := fmt.Errorf("it does not write element (%d, %d) of C, or adds to what was there before", element/n, element%n)
		if set == int64(j.staged) {
			return err
		}
		return gemm.Wrong{Reason: err.Error()}
	}
	return gemm.Wrong{Reason: fmt.Sprintf(
		"row %d of C is wrong in a launch that was timed: its sum with random signs is not that of the product", at)}
}

// element returns the element at an offset of the memory. 8 bytes are read, the element may be shorter.
func (j *judge) element(ctx context.Context, at int64) (float64, error) {
	begin := min(at, int64(j.x.all())*j.x.layout.bytes-8)
	bits, err := j.d.read(ctx, j.x.room.at+cu.DevicePtr(begin))
	bits >>= 8 * (at - begin)
	if j.x.size == 8 {
		return math.Float64frombits(bits), err
	}
	return float64(math.Float32frombits(uint32(bits))), err
}

// collect copies the C that was kept, if A and B are still what all launches were checked with.
func collect[T gemm.Element](ctx context.Context, j *judge, c, a, b gemm.Matrix[T]) error {
	o := j.x.layout.at(j.x.room.at)
	for _, x := range []struct {
		at cu.DevicePtr
		is gemm.Matrix[T]
	}{{o.a, a}, {o.b, b}} {
		staged := gemm.NewMatrix[T](x.is.Rows, x.is.Cols)
		if err := fetch(ctx, j.d, staged, x.at, max(1, x.is.Cols)); err != nil {
			return err
		}
		for i := range x.is.Rows {
			if !slices.Equal(staged.Row(i), x.is.Row(i)) { // a NaN is not drawn
				return gemm.Wrong{Reason: "it changes the operands that other launches begin with"}
			}
		}
	}
	return fetch(ctx, j.d, c, j.kept.at, max(1, c.Cols))
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
