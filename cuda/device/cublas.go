//go:build cuda

package device

// #include <stdint.h>
//
// // call_gemm_ex calls cublasGemmEx, which has more arguments than package dl passes.
// static int call_gemm_ex(uintptr_t f, uintptr_t handle, int ta, int tb, int m, int n, int k, float alpha,
//     uintptr_t a, int lda, uintptr_t b, int ldb, float beta, uintptr_t c, int ldc, int type, int compute)
// {
//     const int any_algorithm = -1;
//     return ((int (*)(uintptr_t, int, int, int, int, int, const float *, uintptr_t, int, int, uintptr_t, int, int,
//         const float *, uintptr_t, int, int, int, int))f)(handle, ta, tb, m, n, k, &alpha, a, type, lda, b, type, ldb,
//         &beta, c, type, ldc, compute, any_algorithm);
// }
//
// // call_strided calls cublasSgemmStridedBatched or cublasDgemmStridedBatched.
// static int call_strided(uintptr_t f, uintptr_t handle, int ta, int tb, int m, int n, int k, int is_double,
//     double alpha, uintptr_t a, int lda, int64_t step_a, uintptr_t b, int ldb, int64_t step_b, double beta,
//     uintptr_t c, int ldc, int64_t step_c, int count)
// {
//     const float alpha32 = (float)alpha, beta32 = (float)beta;
//     return ((int (*)(uintptr_t, int, int, int, int, int, const void *, uintptr_t, int, long long, uintptr_t, int,
//         long long, const void *, uintptr_t, int, long long, int))f)(handle, ta, tb, m, n, k,
//         is_double ? (const void *)&alpha : &alpha32, a, lda, step_a, b, ldb, step_b,
//         is_double ? (const void *)&beta : &beta32, c, ldc, step_c, count);
// }
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
	"gemm/internal/dl"
)

// cublasSearch is what is tried, in this order.
var cublasSearch = dl.Search{
	Title: "cuBLAS", Variable: "GEMM_CUBLAS",
	Names: []string{
		"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so",
		"/usr/local/cuda/lib64/libcublas.so*", "/usr/local/cuda-*/lib64/libcublas.so*",
		"/usr/local/cuda/targets/*/lib/libcublas.so*",
	},
	Remedy: "install the CUDA toolkit's cuBLAS",
}

// cublas is an open library and its handle (cuBLAS Library, CUDA 13.0 documentation). Its
// matrices are by columns: ours are to it the transposed ones, and C' = B'·A'.
type cublas struct {
	library
	handle  uintptr
	tf32    bool            // the mode of the handle
	several map[int]uintptr // handles of cuBLASXt: see over
}

// library are the functions that are called.
type library struct {
	at        *dl.Library
	version   string
	create    func(handle *uintptr) int32
	destroy   func(handle uintptr) int32
	property  func(kind int32, value *int32) int32
	setStream func(handle, stream uintptr) int32
	setMode   func(handle uintptr, mode int32) int32
	sgemm     func(handle uintptr, tA, tB, m, n, k int32, alpha unsafe.Pointer, a uintptr, lda int32, b uintptr, ldb int32,
		beta unsafe.Pointer, c uintptr, ldc int32) int32
	dgemm func(handle uintptr, tA, tB, m, n, k int32, alpha unsafe.Pointer, a uintptr, lda int32, b uintptr, ldb int32,
		beta unsafe.Pointer, c uintptr, ldc int32) int32
	gemmEx  uintptr            // its address
	strided map[string]uintptr // the addresses of the functions for batches, by type
}

// Modes of computing (cublasMath_t). Without sumsWhole, cuBLAS may divide k and round the sums of its parts to half
// precision.
const (
	sumsWhole   = 16 // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
	defaultMath = 0 | sumsWhole
	tf32Math    = 3 | sumsWhole
)

// Types of elements (cudaDataType_t), and of sums (cublasComputeType_t).
const (
	elementsF16  = 2
	elementsBF16 = 14
	sumsF32      = 68
)

// openCuBLAS opens the library that GEMM_CUBLAS names, or the first one that exists. The error is an
// ErrUnavailable that lists what was tried.
func openCuBLAS() (library, error) { return dl.Find(cublasSearch, openLibrary) }

func openLibrary(name string) (l library, err error) {
	at, err := dl.OpenGlobal(name)
	if err != nil {
		return l, err
	}
	l.at = at
	err = at.Bind(map[string]any{
		"cublasCreate_v2": &l.create, "cublasDestroy_v2": &l.destroy, "cublasGetProperty": &l.property,
		"cublasSetStream_v2": &l.setStream,
		"cublasSetMathMode":  &l.setMode, "cublasSgemm_v2": &l.sgemm, "cublasDgemm_v2": &l.dgemm,
	})
	if err == nil {
		l.gemmEx, err = at.Symbol("cublasGemmEx")
	}
	l.strided = map[string]uintptr{}
	for typ, name := range map[string]string{"f32": "cublasSgemmStridedBatched", "f64": "cublasDgemmStridedBatched"} {
		if err == nil {
			l.strided[typ], err = at.Symbol(name)
		}
	}
	if err != nil {
		return l, fmt.Errorf("%w: it is no cuBLAS from version 11 on", err)
	}
	var numbers [3]int32 // major, minor and patch level (libraryPropertyType_t)
	for i := range numbers {
		if err := status(l.property(int32(i), &numbers[i]), "cublasGetProperty"); err != nil {
			return l, err
		}
	}
	l.version = fmt.Sprintf("%d.%d.%d", numbers[0], numbers[1], numbers[2])
	return l, nil
}

// status turns a cublasStatus_t into an error.
func status(code int32, call string) error {
	if code == 0 {
		return nil
	}
	name := map[int32]string{
		1: "not initialised", 3: "out of memory", 7: "invalid value", 8: "the GPU is too old for it", 11: "mapping failed",
		13: "execution failed", 14: "internal error", 15: "not supported",
	}[code]
	return fmt.Errorf("cublas: %s: %s (status %d)", call, cmp.Or(name, "unknown"), code)
}

// newCuBLAS makes a handle that computes on the stream of the current context.
func newCuBLAS(stream cu.Stream) (*cublas, error) {
	l, err := openCuBLAS()
	if err != nil {
		return nil, err
	}
	b := &cublas{library: l, several: map[int]uintptr{}}
	if err := status(b.create(&b.handle), "cublasCreate"); err != nil {
		return nil, err
	}
	err = errors.Join(
		status(b.setStream(b.handle, uintptr(unsafe.Pointer(stream.C()))), "cublasSetStream"),
		status(b.setMode(b.handle, defaultMath), "cublasSetMathMode"),
	)
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// gemm starts the operation on matrices by rows, of elements of the type.
func (b *cublas) gemm(typ string, tf32 bool, s gemm.Shape, op cuda.Operation, o operands) error {
	if tf32 != b.tf32 {
		mode := int32(defaultMath)
		if tf32 {
			mode = tf32Math
		}
		if err := status(b.setMode(b.handle, mode), "cublasSetMathMode"); err != nil {
			return err
		}
		b.tf32 = tf32
	}
	if op.Batch > 0 {
		return b.batch(typ, s, op, o)
	}
	if typ == "f16" || typ == "bf16" {
		return b.half(typ, code(op.TransB), code(op.TransA), s, op, o)
	}
	m, n, k := int32(s.M), int32(s.N), int32(s.K)
	lda, ldb, ldc := int32(o.lda), int32(o.ldb), int32(o.ldc)
	if typ == "f64" {
		return status(b.dgemm(b.handle, code(op.TransB), code(op.TransA), n, m, k, unsafe.Pointer(&op.Alpha),
			uintptr(o.b), ldb, uintptr(o.a), lda, unsafe.Pointer(&op.Beta), uintptr(o.c), ldc), "cublasDgemm")
	}
	alpha, beta := float32(op.Alpha), float32(op.Beta)
	return status(b.sgemm(b.handle, code(op.TransB), code(op.TransA), n, m, k, unsafe.Pointer(&alpha),
		uintptr(o.b), ldb, uintptr(o.a), lda, unsafe.Pointer(&beta), uintptr(o.c), ldc), "cublasSgemm")
}

// code returns what the library takes for a transpose (cublasOperation_t).
func code(transposed bool) int32 {
	if transposed {
		return 1
	}
	return 0
}

// batch starts a batch of operations on matrices by rows, of elements of the type.
func (b *cublas) batch(typ string, s gemm.Shape, op cuda.Operation, o operands) error {
	isDouble, name := C.int(0), "cublasSgemmStridedBatched"
	if typ == "f64" {
		isDouble, name = 1, "cublasDgemmStridedBatched"
	}
	rowsA, rowsB := s.M, s.K // as they are stored
	if op.TransA {
		rowsA = s.K
	}
	if op.TransB {
		rowsB = s.N
	}
	step := func(rows, ld int) C.int64_t { return C.int64_t(rows) * C.int64_t(ld) }
	return status(int32(C.call_strided(C.uintptr_t(b.strided[typ]), C.uintptr_t(b.handle), C.int(code(op.TransB)),
		C.int(code(op.TransA)), C.int(s.N), C.int(s.M), C.int(s.K), isDouble, C.double(op.Alpha), C.uintptr_t(o.b),
		C.int(o.ldb), step(rowsB, o.ldb), C.uintptr_t(o.a), C.int(o.lda), step(rowsA, o.lda), C.double(op.Beta),
		C.uintptr_t(o.c), C.int(o.ldc), step(s.M, o.ldc), C.int(op.Batch))), name)
}

// half starts the operation on elements of half precision, with sums in f32.
func (b *cublas) half(typ string, transB, transA int32, s gemm.Shape, op cuda.Operation, o operands) error {
	elements := elementsF16
	if typ == "bf16" {
		elements = elementsBF16
	}
	return status(int32(C.call_gemm_ex(C.uintptr_t(b.gemmEx), C.uintptr_t(b.handle), C.int(transB), C.int(transA),
		C.int(s.N), C.int(s.M), C.int(s.K), C.float(op.Alpha), C.uintptr_t(o.b), C.int(o.ldb), C.uintptr_t(o.a),
		C.int(o.lda), C.float(op.Beta), C.uintptr_t(o.c), C.int(o.ldc), C.int(elements), sumsF32)), "cublasGemmEx")
}

func (b *cublas) close() error {
	err := status(b.destroy(b.handle), "cublasDestroy")
	var destroy func(handle uintptr) int32
	for _, handle := range b.several {
		err = cmp.Or(err, b.at.Bind(map[string]any{"cublasXtDestroy": &destroy}))
		if destroy != nil {
			err = cmp.Or(err, status(destroy(handle), "cublasXtDestroy"))
		}
	}
	return err
}

// xtEngine is cuBLASXt: cuBLAS on several GPUs, with operands on one of them. They copy tiles from it and to it. A call
// returns when C is complete (cuBLAS Library, section 4, CUDA 13.0 documentation).
type xtEngine struct {
	libraryEngine
	params  gemm.Params
	devices int
	handle  uintptr
	gemm    func(handle uintptr, tA, tB int32, m, n, k int, alpha unsafe.Pointer, a uintptr, lda int, b uintptr, ldb int,
		beta unsafe.Pointer, c uintptr, ldc int) int32
}

func (e *xtEngine) prepare(s gemm.Shape, o operands, op cuda.Operation) error {
	if err := e.libraryEngine.prepare(s, o, op); err != nil {
		return err
	}
	count, err := cu.NumDevices()
	if err != nil {
		return failed("cuDeviceGetCount", err)
	}
	if e.devices = cmp.Or(e.params.Int("devices"), count); e.devices > count {
		return gemm.Unavailablef("--devices %d: this host has %d", e.devices, count)
	}
	name := map[string]string{"f32": "cublasXtSgemm", "f64": "cublasXtDgemm"}[e.typ]
	if err := e.d.blas.at.Bind(map[string]any{name: &e.gemm}); err != nil {
		return gemm.Unavailablef("%w", err)
	}
	e.handle, err = e.d.blas.over(e.devices)
	return cmp.Or(err, failed("cuCtxSetCurrent", cu.SetCurrentContext(e.d.context)))
}

// over returns the handle of cuBLASXt for the first GPUs, with tiles as the library has them.
func (b *cublas) over(devices int) (handle uintptr, err error) {
	if handle, ok := b.several[devices]; ok {
		return handle, nil
	}
	var create func(handle *uintptr) int32
	var choose func(handle uintptr, count int32, devices *int32) int32
	if err := b.at.Bind(map[string]any{"cublasXtCreate": &create, "cublasXtDeviceSelect": &choose}); err != nil {
		return 0, gemm.Unavailablef("%w", err)
	}
	if err := status(create(&handle), "cublasXtCreate"); err != nil {
		return 0, err
	}
	b.several[devices] = handle
	numbers := make([]int32, devices)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	return handle, status(choose(handle, int32(devices), &numbers[0]), "cublasXtDeviceSelect")
}

func (e *xtEngine) start(o operands, _ *marks) error {
	if err := e.d.stream.Synchronize(); err != nil { // the library has streams of its own
		return failed("cuStreamSynchronize", err)
	}
	alpha, beta := unsafe.Pointer(&e.op.Alpha), unsafe.Pointer(&e.op.Beta)
	alpha32, beta32 := float32(e.op.Alpha), float32(e.op.Beta)
	if e.typ == "f32" {
		alpha, beta = unsafe.Pointer(&alpha32), unsafe.Pointer(&beta32)
	}
	err := status(e.gemm(e.handle, code(e.op.TransB), code(e.op.TransA), e.shape.N, e.shape.M, e.shape.K, alpha,
		uintptr(o.b), o.ldb, uintptr(o.a), o.lda, beta, uintptr(o.c), o.ldc), "cublasXt gemm")
	return cmp.Or(err, failed("cuCtxSetCurrent", cu.SetCurrentContext(e.d.context)))
}

func (e *xtEngine) resolved() gemm.Params {
	return gemm.Params{"version": e.d.blas.version, "devices": e.devices}
}
