//go:build cuda

package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/cuda/userkernel"
	"gemm/internal/dl"
)

// UserF32 implements userkernel.Backend.
func (b *Backend) UserF32(k userkernel.Kernel, p gemm.Params) (gemm.Multiplier[float32], error) {
	return newUserProduct[float32](b, k, p)
}

// UserF64 implements userkernel.Backend.
func (b *Backend) UserF64(k userkernel.Kernel, p gemm.Params) (gemm.Multiplier[float64], error) {
	return newUserProduct[float64](b, k, p)
}

func newUserProduct[T gemm.Float](b *Backend, k userkernel.Kernel, p gemm.Params) (gemm.Multiplier[T], error) {
	if k.Fault != "" {
		return nil, errors.New(k.Fault)
	}
	if typ := gemm.TypeOf[T]().Name; typ != k.Type {
		return nil, fmt.Errorf("%w: %s is of %s", gemm.ErrType, k.Name, k.Type)
	}
	d, err := b.Device(p.Int("device"))
	if err != nil {
		return nil, err
	}
	return userProduct[T]{gemmer[T]{&product[T]{d: d, name: k.Name, warm: p.Text("l2") == "warm", verifier: newVerifier[T],
		engine: &userEngine{d: d, kernel: k, open: openFunction[T]}}}}, nil
}

// userProduct is a product by a kernel of the user's. From and to the host's memory, it is computed once
// on operands that are staged for it.
type userProduct[T gemm.Float] struct{ gemmer[T] }

func (g userProduct[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	run, err := g.Stage(ctx, c, a, b)
	return once(ctx, run, err)
}

func (g userProduct[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	run, err := g.StageGemm(ctx, tA, tB, alpha, a, b, beta, c)
	return once(ctx, run, err)
}

func (g userProduct[T]) StageGemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) (gemm.Run, error) {
	if tA != blas.NoTrans || tB != blas.NoTrans {
		return nil, gemm.Unavailablef("%s computes α·A·B + β·C, without transposes", g.name)
	}
	return g.gemmer.StageGemm(ctx, tA, tB, alpha, a, b, beta, c)
}

// once computes the product of the run, unless it could not be staged.
func once(ctx context.Context, run gemm.Run, err error) error {
	if err != nil {
		return err
	}
	if _, err = run.Do(ctx); err == nil {
		err = run.Collect(ctx)
	}
	return errors.Join(err, run.Close())
}

// userEngine launches a kernel of the user's, or calls the function of a library that does.
type userEngine struct {
	open   func(*userEngine) error
	call   func(o operands) // of a library
	d      *Device
	kernel userkernel.Kernel
	loaded *kernel
	size   userkernel.Size
	shape  gemm.Shape
	op     cuda.Operation
}

func (e *userEngine) prepare(s gemm.Shape, _ operands, op cuda.Operation) (err error) {
	if most := max(s.M, s.N, s.K); most > math.MaxInt32 {
		return gemm.Unavailablef("the kernel counts rows and columns in 32 bits, %d is beyond", most)
	}
	if e.shape, e.op = s, op; e.kernel.Library {
		return e.open(e)
	}
	var other missing
	if e.loaded, err = e.d.load(cuda.UserProgram(e.kernel, e.d.arch()), e.kernel.Symbol, 0); errors.As(err, &other) {
		return e.kernel.Missing(other)
	} else if err != nil {
		return err
	}
	if s.M == 0 || s.N == 0 { // nothing is launched
		return nil
	}
	if e.size, err = e.kernel.At(s); err != nil {
		return err
	}
	most, err := e.loaded.function.Attribute(cu.FnMaxThreadsPerBlock)
	if err != nil {
		return failed("cuFuncGetAttribute", err)
	}
	limits := userkernel.Limits{Threads: e.d.GPU.BlockThreads, Kernel: most, Shared: e.d.GPU.BlockSharedOptIn,
		Static: e.loaded.Shared}
	if err := e.kernel.Check(e.size, limits); err != nil || e.kernel.Shared == 0 {
		return err
	}
	return allowShared(e.loaded.function, e.kernel.Shared)
}

// openFunction finds the function of a library.
func openFunction[T gemm.Float](e *userEngine) error {
	l, err := dl.Open(filepath.Join(e.kernel.Folder, e.kernel.File))
	if err != nil {
		return err
	}
	var f func(m, n, k int32, alpha T, a, b uintptr, beta T, c, stream uintptr)
	e.call = func(o operands) {
		f(int32(e.shape.M), int32(e.shape.N), int32(e.shape.K), T(e.op.Alpha), uintptr(o.a), uintptr(o.b),
			T(e.op.Beta), uintptr(o.c), uintptr(unsafe.Pointer(e.d.stream.C())))
	}
	return l.Bind(map[string]any{e.kernel.Symbol: &f})
}

func (e *userEngine) start(o operands, _ *marks) error {
	if e.kernel.Library {
		e.call(o)
		return nil
	}
	scalar := func(x float64) uint64 {
		if e.kernel.Type == "f64" {
			return math.Float64bits(x)
		}
		return uint64(math.Float32bits(float32(x)))
	}
	return e.d.launch(e.loaded, e.size.Grid, e.size.Block, e.kernel.Shared, []uint64{
		uint64(e.shape.M), uint64(e.shape.N), uint64(e.shape.K), scalar(e.op.Alpha), uint64(o.a), uint64(o.b),
		scalar(e.op.Beta), uint64(o.c),
	})
}

func (e *userEngine) packs() bool  { return false }
func (e *userEngine) close() error { return nil }

func (e *userEngine) device() record.Device {
	if e.kernel.Library {
		return record.Device{Pipe: e.d.libraryPipe(e.kernel.Type, false)}
	}
	out := record.Device{Pipe: e.kernel.Type, Registers: e.loaded.Registers, Spills: e.loaded.Spills,
		Shared: e.loaded.Shared + e.kernel.Shared, Threads: e.size.Threads(), Blocks: e.size.Blocks()}
	e.d.occupy(&out)
	return out
}

func (e *userEngine) resolved() gemm.Params {
	if e.kernel.Library {
		return gemm.Params{"symbol": e.kernel.Symbol, "digest": e.kernel.Digest()}
	}
	return gemm.Params{"symbol": e.kernel.Symbol, "grid_dims": userkernel.Text(e.size.Grid),
		"block_dims": userkernel.Text(e.size.Block), "smem": e.kernel.Shared, "digest": e.kernel.Digest()}
}

// guarded lays out operands for a kernel of the user's, without gaps and between guard zones.
func guarded[T gemm.Element](c, a gemm.Matrix[T], op cuda.Operation) layout {
	s := shapeOf(op, c, a)
	z := userkernel.ZonesOf(s, gemm.TypeOf[T]().Size)
	return layout{a: z.A, b: z.B, c: z.C, end: z.End, bytes: z.Bytes, used: z.Used, lda: max(1, s.K), ldb: max(1, s.N),
		ldc: max(1, s.N)}
}
