//go:build cuda

package device

import (
	"context"
	"errors"
	"fmt"

	"gorgonia.org/cu"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/peer"
	"gemm/internal/python"
)

// Backend constructs the multipliers of cuda.Variants on the GPUs of this host.
type Backend struct {
	Profiles bool // the first product of each Run is shown to a profiler: see cuda.Mark
	devices  map[int]*Device
	panels   cuda.Panels // of products on host operands; floating-point kernels are faster with large panels
}

// NewBackend returns a Backend that has taken no GPU yet.
func NewBackend() *Backend {
	return &Backend{devices: map[int]*Device{}, panels: cuda.Panels{Edge: 512, Bytes: 64 << 20, Most: 8}}
}

// Device returns the GPU with the number. The error is an ErrUnavailable if there is none.
func (b *Backend) Device(number int) (*Device, error) {
	d := b.devices[number]
	if d == nil {
		var err error
		if d, err = open(number); err != nil {
			return nil, err
		}
		b.devices[number] = d
	}
	d.profiles = b.Profiles
	return d, nil
}

// Lost reports whether one of the GPUs is lost to this process.
func (b *Backend) Lost() bool {
	for _, d := range b.devices {
		if d.Lost() {
			return true
		}
	}
	return false
}

// Close gives the GPUs back.
func (b *Backend) Close() error {
	var err error
	for _, d := range b.devices {
		err = errors.Join(err, d.Close())
	}
	b.devices = map[int]*Device{}
	return err
}

// F32 implements cuda.Backend.
func (b *Backend) F32(name string, p gemm.Params) (gemm.Multiplier[float32], error) {
	return ofFloats[float32](b, name, p)
}

// F64 implements cuda.Backend.
func (b *Backend) F64(name string, p gemm.Params) (gemm.Multiplier[float64], error) {
	return ofFloats[float64](b, name, p)
}

// F16 implements cuda.Backend.
func (b *Backend) F16(name string, p gemm.Params) (gemm.Multiplier[half.F16], error) {
	return ofHalves[half.F16](b, name, p)
}

// BF16 implements cuda.Backend.
func (b *Backend) BF16(name string, p gemm.Params) (gemm.Multiplier[half.BF16], error) {
	return ofHalves[half.BF16](b, name, p)
}

// ofHalves returns the product in half precision with the name. It has no iterated products.
func ofHalves[T half.Float](b *Backend, name string, p gemm.Params) (gemm.Multiplier[T], error) {
	if other, err := ofOthers[T](b, name, p); other != nil || err != nil {
		return other, err
	}
	out, err := construct[T](b, name, p)
	return gemmer[T]{out}, err
}

// ofFloats returns the product of floating-point numbers with the name.
func ofFloats[T gemm.Float](b *Backend, name string, p gemm.Params) (gemm.Multiplier[T], error) {
	if other, err := ofOthers[T](b, name, p); other != nil || err != nil {
		return other, err
	}
	out, err := construct[T](b, name, p)
	if batches(name, gemm.TypeOf[T]().Name) {
		return batcher[T]{chainer[T]{gemmer[T]{out}}}, err
	}
	return chainer[T]{gemmer[T]{out}}, err
}

// ofOthers returns the product with the name if it has neither iterated products nor batches in any type, else nil.
func ofOthers[T gemm.Number](b *Backend, name string, p gemm.Params) (gemm.Multiplier[T], error) {
	if name == cuda.Multi {
		return ofMulti[T](b, p)
	}
	if !cuda.IsTorch(name) {
		return nil, nil
	}
	d, err := b.Device(p.Int("device"))
	if err != nil {
		return nil, err
	}
	return newTorch[T](d, name, p)
}

// GF256 implements cuda.Backend.
func (b *Backend) GF256(name string, p gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
	out, err := construct[gf256.Elem](b, name, p)
	return fieldChainer{out}, err
}

func construct[T gemm.Element](b *Backend, name string, p gemm.Params) (*product[T], error) {
	d, err := b.Device(p.Int("device"))
	if err != nil {
		return nil, err
	}
	typ := gemm.TypeOf[T]().Name
	out := &product[T]{d: d, name: cuda.Family + "/" + name, warm: p.Text("l2") == "warm", top: true, panels: b.panels}
	if name == cuda.CuBLAS || name == cuda.CuBLASTF32 || name == cuda.CuBLASXt {
		out.another = func() engine {
			e := libraryEngine{d: d, typ: typ, tf32: name == cuda.CuBLASTF32}
			if name == cuda.CuBLASXt {
				return &xtEngine{libraryEngine: e, params: p}
			}
			return &e
		}
		out.engine = out.another()
		if name == cuda.CuBLASTF32 {
			return out, d.tooOld(cuda.LeastTF32)
		}
		return out, nil
	}
	r, err := cuda.RungNamed(name, typ)
	if err != nil {
		return nil, err
	}
	out.another = func() engine { return &rungEngine{d: d, rung: r, params: p} }
	out.engine, out.top = out.another(), r.Role != record.Rung
	return out, d.runs(r)
}

// runs returns an ErrUnavailable unless the device can run the rung.
func (d *Device) runs(r cuda.Rung) error {
	err := r.Runs(d.arch())
	if err != nil {
		err = fmt.Errorf("%w, has %s", err, d.GPU.Capability)
	}
	return err
}

// tooOld returns an ErrUnavailable unless the device has that compute capability.
func (d *Device) tooOld(least int) error {
	if d.arch() >= least {
		return nil
	}
	return gemm.Unavailablef("needs compute capability %d.%d, has %s", least/10, least%10, d.GPU.Capability)
}

// Describe returns what this host has for the family. It takes no GPU.
func Describe() (cuda.System, error) {
	s := cuda.System{Driver: driverVersion()}
	if v := cu.Version(); v > 0 {
		s.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	miss := func(err error) {
		s.Missing = append(s.Missing, err.Error())
	}
	if l, err := nvrtc.Find(); err == nil {
		s.NVRTC = l.Version()
	} else {
		miss(err)
	}
	if l, err := openCuBLAS(); err == nil {
		s.CuBLAS = l.version
	} else {
		miss(err)
	}
	count, err := cu.NumDevices()
	if err != nil {
		return s, failed("cuDeviceGetCount", err)
	}
	for i := range count {
		d, err := find(i)
		if err != nil {
			return s, err
		}
		s.GPUs = append(s.GPUs, d.GPU)
	}
	return s, nil
}

// openBLAS opens cuBLAS for the device if it is not open yet.
func (d *Device) openBLAS() (err error) {
	if d.blas != nil {
		return nil
	}
	defer d.bind(&err)()
	d.blas, err = newCuBLAS(d.stream)
	return err
}

// torch is a product by PyTorch on a device. It runs in a process of Python, which is stopped while the
// kernels of this process are measured. The time is by events of that process.
type torch[T gemm.Number] struct {
	*python.Multiplier[T]
	device record.Device
	watts  func() float64
}

// mostSets is how many copies of small operands PyTorch has: to make a tensor takes it microseconds.
const mostSets = 1000

// newTorch returns the product of PyTorch with the name on the device.
func newTorch[T gemm.Number](d *Device, name string, p gemm.Params) (gemm.Multiplier[T], error) {
	pipe := d.libraryPipe(gemm.TypeOf[T]().Name, cuda.IsTF32(name))
	out := torch[T]{watts: d.monitor.watts, device: record.Device{Pipe: pipe, L2: p.Text("l2")}}
	if cuda.IsTF32(name) {
		if err := d.tooOld(cuda.LeastTF32); err != nil {
			return nil, err
		}
	}
	out.Multiplier = python.NewOnGPU[T](p.Int("device"), cuda.IsTF32(name), func(bytes int64) int {
		return min(mostSets, d.sets(bytes, p.Text("l2") == "warm"))
	})
	return out, nil
}

func (t torch[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	run, err := t.Multiplier.Stage(ctx, c, a, b)
	if err != nil {
		return nil, err
	}
	return torchRun[T]{run.(*peer.Product[T]), t.device, t.watts}, nil
}

// torchRun is a product that is staged in the process of PyTorch.
type torchRun[T gemm.Number] struct {
	*peer.Product[T]
	device record.Device
	watts  func() float64
}

// Watts implements record.OnDevice.
func (r torchRun[T]) Watts() float64 { return r.watts() }

// Device implements record.OnDevice. What PyTorch's kernel takes is not known.
func (r torchRun[T]) Device() record.Device { return r.device }
