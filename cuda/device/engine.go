//go:build cuda

package device

import (
	"math"
	"unsafe"

	"gorgonia.org/cu"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/internal/note"
	"gemm/internal/occupancy"
)

// operands are matrices by rows on the device, and their leading dimensions in elements.
type operands struct {
	a, b, c       cu.DevicePtr
	lda, ldb, ldc int
}

// engine computes products on operands that are on the device.
type engine interface {
	// prepare prepares such operations of the shape op(A)·op(B), for operands with the alignment of o.
	prepare(s gemm.Shape, o operands, op cuda.Operation) error
	// start starts the operation on the device's stream, and marks its kernels.
	start(o operands, m *marks) error
	// packs reports whether start packs before the product proper. Then it records Device.packed before it and
	// Device.multiplied after it; if there are several products proper, the last one counts.
	packs() bool
	device() record.Device
	resolved() gemm.Params
	close() error
}

// libraryEngine is cuBLAS.
type libraryEngine struct {
	d     *Device
	typ   string // of the elements
	tf32  bool
	shape gemm.Shape
	op    cuda.Operation
}

func (e *libraryEngine) prepare(s gemm.Shape, o operands, op cuda.Operation) error {
	e.shape, e.op = s, op
	if most := max(s.M, s.N, s.K, o.lda, o.ldb, o.ldc, op.Batch); most > math.MaxInt32 {
		return gemm.Unavailablef("cuBLAS counts rows, columns and leading dimensions in 32 bits, %d is beyond", most)
	}
	return e.d.openBLAS()
}

func (e *libraryEngine) start(o operands, _ *marks) error {
	return e.d.blas.gemm(e.typ, e.tf32, e.shape, e.op, o)
}

func (e *libraryEngine) packs() bool  { return false }
func (e *libraryEngine) close() error { return nil }

func (e *libraryEngine) device() record.Device {
	return record.Device{Pipe: e.d.libraryPipe(e.typ, e.tf32)}
}

// libraryPipe returns what computes in cuBLAS on the device.
func (d *Device) libraryPipe(typ string, tf32 bool) string {
	switch {
	case typ == "f64" && d.arch() >= 80:
		return "f64-tensor"
	case tf32:
		return "tf32"
	}
	return typ
}

func (e *libraryEngine) resolved() gemm.Params {
	return gemm.Params{"version": e.d.blas.version}
}

// rungEngine is a rung of the ladder.
type rungEngine struct {
	d        *Device
	rung     cuda.Rung
	params   gemm.Params
	sequence cuda.Sequence
	kernels  []*kernel // of its launches
	main     *kernel   // the one of them that multiplies
	work     memory
	started  bool // a product has been started since prepare
}

func (e *rungEngine) prepare(s gemm.Shape, o operands, op cuda.Operation) (err error) {
	if err := e.close(); err != nil {
		return err
	}
	gpu := e.d.GPU
	if gpu.Free, err = e.d.room(); err != nil {
		return err
	}
	gpu.Free = max(1, gpu.Free) // 0 would be not known
	at := func(p cu.DevicePtr, ld int) cuda.Operand { return cuda.Operand{Address: uintptr(p), LD: ld} }
	a, b, c := at(o.a, o.lda), at(o.b, o.ldb), at(o.c, o.ldc)
	if e.sequence, err = e.rung.Sequence(gpu, s, op, a, b, c, e.params); err != nil {
		return err
	}
	e.kernels, e.main = nil, nil
	for _, l := range e.sequence.Launches {
		k, err := e.d.load(l.Program, l.Kernel, l.Shared)
		if err != nil {
			return err
		}
		e.kernels = append(e.kernels, k)
		if l.Kernel == cuda.MainKernel && e.main == nil { // and not its fallback
			e.main = k
			if err := e.sequence.CheckRegisters(k.Registers); err != nil {
				return err
			}
		}
	}
	if e.sequence.Work == 0 {
		return nil
	}
	if e.work, err = e.d.allocate(e.sequence.Work); err != nil {
		return err
	}
	for _, zero := range e.sequence.Zeros {
		if err := cu.MemsetD8Async(e.work.at+cu.DevicePtr(zero.At), 0, zero.Bytes, e.d.stream); err != nil {
			return failed("cuMemsetD8Async", err)
		}
	}
	return nil
}

// start starts the launches. The operands have the layout and the alignment that prepare was called with;
// their addresses may differ.
func (e *rungEngine) start(o operands, m *marks) error {
	base := map[cuda.Buffer]cu.DevicePtr{
		cuda.BufferA: o.a, cuda.BufferB: o.b, cuda.BufferC: o.c, cuda.BufferWork: e.work.at,
	}
	for i, l := range e.sequence.Launches {
		proper := e.packs() && e.kernels[i] == e.main
		if proper {
			if err := mark(e.d.packed, e.d.stream); err != nil {
				return err
			}
		}
		arguments := make([]argument, len(l.Arguments))
		for j, a := range l.Arguments {
			arguments[j] = argument{bits: uint64(base[a.Buffer]) + a.Bits, box: a.Map}
		}
		grid, block := [3]int{l.Blocks, 1, 1}, [3]int{l.Threads, 1, 1}
		launched := e.kernels[i]
		if m != nil && launched == e.main {
			var err error
			if launched, err = m.recording(e.d, l, launched); err != nil {
				return err
			}
		}
		m.begin(laneKernels, phaseKernels, l.Kernel, 0)
		if err := e.d.launchMapped(launched, grid, block, l.Shared, arguments); err != nil {
			return err
		}
		m.end()
		if proper {
			if err := mark(e.d.multiplied, e.d.stream); err != nil {
				return err
			}
		}
	}
	e.started = true
	return nil
}

func (e *rungEngine) packs() bool { return e.sequence.Rung.Prepares() }

func (e *rungEngine) close() error {
	e.started = false
	return e.d.free(&e.work)
}

func (e *rungEngine) device() record.Device {
	rung := e.sequence.Rung // which may compute in place of e.rung
	out := record.Device{
		Pipe: rung.Pipe, Registers: e.main.Registers, Spills: e.main.Spills, Shared: e.main.Shared,
		Threads: rung.Threads(e.sequence.Tile), Blocks: e.sequence.Blocks(),
		Intensity: rung.Product(e.sequence.Tile, e.sequence.Shape).Intensity,
	}
	out.Waves, out.Fill = e.sequence.Waves(e.d.GPU.Multiprocessors, e.d.occupy(&out))
	if e.sequence.Ignored != "" {
		out.Warnings = append(out.Warnings, note.Read(e.sequence.Ignored))
	}
	if err := e.d.compiler.StoreErr; err != nil {
		out.Warnings = append(out.Warnings, note.New("kernels", err.Error()))
	}
	return out
}

// occupy adds the occupancy of a kernel that takes what u says, and returns how many of its blocks a multiprocessor
// holds; 0: not known.
func (d *Device) occupy(u *record.Device) (blocks int) {
	capability, err := occupancy.ParseCapability(d.GPU.Capability)
	if err == nil {
		var o occupancy.Occupancy
		o, err = occupancy.Of(capability,
			occupancy.Kernel{Threads: u.Threads, Registers: u.Registers, Shared: u.Shared})
		u.Occupancy, blocks = o.Share, o.Blocks
		for _, r := range o.LimitedBy {
			u.Limit = append(u.Limit, string(r))
		}
	}
	if err != nil {
		u.Warnings = append(u.Warnings, note.New("no-occupancy", err.Error()))
	}
	return blocks
}

// resolved returns the parameters as run, and what has computed the last product if the kernel could not. No product
// is running, and the device is bound.
func (e *rungEngine) resolved() gemm.Params {
	out := e.sequence.Resolved(e.params)
	if f := e.sequence.Fallback; f != nil && e.started { // before, the memory holds anything
		var unfit int32
		at := e.work.at + cu.DevicePtr(f.At)
		if err := cu.MemcpyDtoH(unsafe.Pointer(&unfit), at, int64(unsafe.Sizeof(unfit))); err == nil && unfit != 0 {
			out["fallback"] = f.Variant
		}
	}
	return out
}
