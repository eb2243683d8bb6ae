//go:build cuda

package device

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/cuda/occupancy"
	"gemm/cuda/usage"
)

// operands are matrices by rows on the device, and their leading dimensions in elements.
type operands struct {
	a, b, c       cu.DevicePtr
	lda, ldb, ldc int
}

// operation is C = α·op(A)·op(B) + β·C: whether A and B are stored transposed, α and β.
type operation struct {
	tA, tB      bool
	alpha, beta float64
}

// plain is C = A·B.
var plain = operation{alpha: 1}

// engine computes products on operands that are on the device.
type engine interface {
	// prepare prepares such operations of the shape op(A)·op(B), for operands with the alignment of
	// o.
	prepare(s gemm.Shape, o operands, op operation) error
	// start starts the operation on the device's stream.
	start(o operands) error
	// packs reports whether start packs before the product proper, and records Device.packed
	// between both.
	packs() bool
	device() usage.Device
	resolved() gemm.Params
	close() error
}

// libraryEngine is cuBLAS.
type libraryEngine struct {
	d            *Device
	double, tf32 bool
	shape        gemm.Shape
	op           operation
}

func (e *libraryEngine) prepare(s gemm.Shape, o operands, op operation) error {
	e.shape, e.op = s, op
	if most := max(s.M, s.N, s.K, o.lda, o.ldb, o.ldc); most > math.MaxInt32 {
		return gemm.Unavailablef("cuBLAS counts rows, columns and leading dimensions in 32 bits, %d is beyond", most)
	}
	return e.d.openBLAS()
}

func (e *libraryEngine) start(o operands) error {
	return e.d.blas.gemm(e.double, e.tf32, e.shape, e.op, o)
}

func (e *libraryEngine) packs() bool  { return false }
func (e *libraryEngine) close() error { return nil }

func (e *libraryEngine) device() usage.Device {
	pipe := "f32"
	switch {
	case e.double && e.d.arch() < 80:
		pipe = "f64"
	case e.double:
		pipe = "f64-tensor"
	case e.tf32:
		pipe = "tf32"
	}
	return usage.Device{Pipe: pipe}
}

func (e *libraryEngine) resolved() gemm.Params {
	return gemm.Params{"version": e.d.blas.version}
}

// rungEngine is a rung of the ladder.
type rungEngine struct {
	d       *Device
	rung    cuda.Rung
	params  gemm.Params
	plan    cuda.Plan
	kernel  *kernel
	shared  int
	reduce  *kernel // of a product whose k is cut
	blocks  int     // of reduce
	threads int
	partial memory // sums of the parts, or A and B packed
	packing [2]*kernel
	op      operation
	laid    [2]laid // op(A) and op(B), where they are laid out anew
}

// laid is an operand that a kernel lays out anew before each product.
type laid struct {
	kernel           *kernel // nil: the operand is taken as it is
	room             memory
	ld               int
	rows, cols, tile int // of the operand as it is stored; elements of a row that a block copies
	height           int // rows that a block copies
}

func (e *rungEngine) prepare(s gemm.Shape, o operands, op operation) (err error) {
	if err := e.close(); err != nil {
		return err
	}
	e.op = op
	gpu, size := e.d.GPU, int64(e.rung.Size())
	if gpu.Free, err = e.d.room(); err != nil {
		return err
	}
	if op.tA {
		o.a, o.lda = 0, cuda.AlignedLD(s.K, e.rung.Size())
		gpu.Free -= size * int64(s.M) * int64(o.lda)
	}
	if op.tB {
		o.b, o.ldb = 0, cuda.AlignedLD(s.N, e.rung.Size())
		gpu.Free -= size * int64(s.K) * int64(o.ldb)
	}
	gpu.Free = max(1, gpu.Free) // 0 would be not known
	arch := e.d.arch()
	at := func(p cu.DevicePtr, ld int) cuda.Operand { return cuda.Operand{Address: uintptr(p), LD: ld} }
	if e.plan, err = e.rung.Plan(gpu, s, at(o.a, o.lda), at(o.b, o.ldb), at(o.c, o.ldc), e.params); err != nil {
		return err
	}
	if err := e.lay(s); err != nil {
		return err
	}
	e.shared = e.rung.Shared(e.plan.Tile)
	load := func(p nvrtc.Program, err error, name string, shared int) (*kernel, error) {
		if err != nil {
			return nil, err
		}
		return e.d.load(p, name, shared)
	}
	program, err := e.plan.Program(arch)
	if e.kernel, err = load(program, err, "gemm", e.shared); err != nil {
		return err
	}
	if err := e.plan.CheckRegisters(e.kernel.Registers); err != nil {
		return err
	}
	switch {
	case e.plan.Split > 1:
		var reduction nvrtc.Program
		reduction, e.blocks, e.threads, err = e.plan.Reduction(at(o.c, o.ldc), arch)
		if e.reduce, err = load(reduction, err, "reduce", 0); err != nil {
			return err
		}
		e.partial, err = e.d.allocate(e.plan.PartialBytes())
	case e.rung.Packs():
		for i, name := range []string{"pack_a", "pack_b"} {
			if e.packing[i], err = load(program, nil, name, 0); err != nil {
				return err
			}
		}
		a, b := e.plan.Packed()
		e.partial, err = e.d.allocate(size * int64(a+b))
	}
	return err
}

// bits returns α or β as a kernel takes it.
func (e *rungEngine) bits(x float64) uint64 {
	if e.rung.Type == "f64" {
		return math.Float64bits(x)
	}
	return uint64(math.Float32bits(float32(x)))
}

// lay allocates memory for op(A) and op(B) if they are not read in their own layout.
func (e *rungEngine) lay(s gemm.Shape) (err error) {
	e.laid = [2]laid{}
	element := map[string]string{"f32": "float", "f64": "double"}[e.rung.Type]
	for i, x := range []struct {
		transposed bool
		layout     cuda.Layout
		rows, cols int // of op(X)
	}{{e.op.tA, e.plan.LayA, s.M, s.K}, {e.op.tB, e.plan.LayB, s.K, s.N}} {
		program := nvrtc.Program{Arch: e.d.arch(), Options: []string{"-DELEMENT=" + element}}
		to := x.layout
		if to == (cuda.Layout{}) {
			to = cuda.Layout{Rows: x.rows, LD: cuda.AlignedLD(x.cols, e.rung.Size())}
		}
		l := laid{ld: to.LD}
		switch {
		case x.transposed:
			program.Name, program.Source = "transpose.cu", kernels.Transpose
			l.rows, l.cols, l.height, l.tile = x.cols, x.rows, 32, 32
		case x.layout != (cuda.Layout{}):
			program.Name, program.Source = "align.cu", kernels.Align
			l.rows, l.cols, l.height, l.tile = x.rows, x.cols, 4, 1024
		default:
			continue
		}
		if l.kernel, err = e.d.load(program, strings.TrimSuffix(program.Name, ".cu"), 0); err != nil {
			return err
		}
		if l.room, err = e.d.allocate(int64(e.rung.Size()) * int64(to.Rows) * int64(to.LD)); err != nil {
			return err
		}
		e.laid[i] = l
		if err := cu.MemsetD8Async(l.room.at, 0, l.room.bytes, e.d.stream); err != nil {
			return failed("cuMemsetD8Async", err)
		}
	}
	return nil
}

// start starts laying out the operand that is stored there.
func (l laid) start(d *Device, from cu.DevicePtr, ld int) error {
	blocks := (l.rows + l.height - 1) / l.height * ((l.cols + l.tile - 1) / l.tile)
	if blocks == 0 {
		return nil
	}
	return d.launch(l.kernel, blocks, 1, 256, 0,
		[]uint64{uint64(uint32(l.rows)), uint64(uint32(l.cols)), uint64(from), uint64(ld), uint64(l.room.at), uint64(l.ld)})
}

func (e *rungEngine) start(o operands) error {
	s, alpha, beta := e.plan.Shape, e.op.alpha, e.op.beta
	if alpha == 0 {
		s.K = 0 // A and B are not read
	}
	if l := e.laid[0]; l.kernel != nil {
		if err := l.start(e.d, o.a, o.lda); err != nil {
			return err
		}
		o.a, o.lda = l.room.at, l.ld
	}
	if l := e.laid[1]; l.kernel != nil {
		if err := l.start(e.d, o.b, o.ldb); err != nil {
			return err
		}
		o.b, o.ldb = l.room.at, l.ld
	}
	number := func(n int) uint64 { return uint64(uint32(n)) }
	m, n, k := number(s.M), number(s.N), number(s.K)
	x, z := e.plan.Blocks()
	threads := e.rung.Threads(e.plan.Tile)
	if e.rung.Packs() {
		a, _ := e.plan.Packed()
		packedA, packedB := e.partial.at, e.partial.at+cu.DevicePtr(8*a)
		if s.K > 0 {
			blocksA, blocksB := e.plan.PackBlocks()
			if err := e.d.launch(e.packing[0], blocksA, 1, threads, 0,
				[]uint64{m, k, uint64(o.a), uint64(o.lda), uint64(packedA)}); err != nil {
				return err
			}
			if err := e.d.launch(e.packing[1], blocksB, 1, threads, 0,
				[]uint64{k, n, uint64(o.b), uint64(o.ldb), uint64(packedB)}); err != nil {
				return err
			}
		}
		if err := e.d.packed.Record(e.d.stream); err != nil {
			return failed("cuEventRecord", err)
		}
		return e.d.launch(e.kernel, x, 1, threads, 0,
			[]uint64{m, n, k, e.bits(alpha), uint64(packedA), uint64(packedB), e.bits(beta), uint64(o.c), uint64(o.ldc)})
	}
	if e.rung.Type == "gf256" {
		arguments := []uint64{m, n, k, uint64(o.a), uint64(o.lda), uint64(o.b), uint64(o.ldb), uint64(o.c), uint64(o.ldc)}
		if e.rung.AtLaunch {
			for _, edge := range e.plan.Tile.TileArguments() {
				arguments = append(arguments, number(edge))
			}
		}
		return e.d.launch(e.kernel, x, 1, threads, e.shared, arguments)
	}
	arguments := []uint64{m, n, k, e.bits(alpha), uint64(o.a), uint64(o.lda), uint64(o.b), uint64(o.ldb), e.bits(beta),
		uint64(o.c), uint64(o.ldc)}
	if e.plan.Split == 1 {
		return e.d.launch(e.kernel, x, 1, threads, e.shared, arguments)
	}
	arguments = append(arguments, number(e.plan.Depth), uint64(e.partial.at), m)
	if err := e.d.launch(e.kernel, x, z, threads, e.shared, arguments[:len(arguments)-e.rung.PartialRows()]); err != nil {
		return err
	}
	return e.d.launch(e.reduce, e.blocks, 1, e.threads, 0,
		[]uint64{m, n, number(z), e.bits(alpha), uint64(e.partial.at), e.bits(beta), uint64(o.c), uint64(o.ldc)})
}

func (e *rungEngine) packs() bool { return e.rung.Packs() }

func (e *rungEngine) close() error {
	return errors.Join(e.d.free(&e.partial), e.d.free(&e.laid[0].room), e.d.free(&e.laid[1].room))
}

func (e *rungEngine) device() usage.Device {
	x, z := e.plan.Blocks()
	out := usage.Device{
		Pipe: e.rung.Pipe(), Registers: e.kernel.Registers, Spills: e.kernel.Spills, Shared: e.kernel.Shared,
		Threads: e.rung.Threads(e.plan.Tile), Blocks: x * z,
	}
	capability, err := occupancy.ParseCapability(e.d.GPU.Capability)
	if err == nil {
		var o occupancy.Occupancy
		o, err = occupancy.Of(capability,
			occupancy.Kernel{Threads: out.Threads, Registers: out.Registers, Shared: out.Shared})
		out.Occupancy = o.Share
		for _, r := range o.LimitedBy {
			out.Limit = append(out.Limit, string(r))
		}
	}
	if err != nil {
		out.Warnings = append(out.Warnings, "no occupancy: "+err.Error())
	}
	if e.plan.Ignored != "" {
		out.Warnings = append(out.Warnings, e.plan.Ignored)
	}
	if lost := e.d.compiler.Lost; lost != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("compiled kernels are not kept: %v", lost))
	}
	return out
}

func (e *rungEngine) resolved() gemm.Params { return e.plan.Resolved(e.params) }
