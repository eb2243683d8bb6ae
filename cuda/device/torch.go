//go:build cuda

package device

import (
	"context"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/internal/peer"
	"gemm/internal/python"
)

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
