package reference

import (
	"context"
	"math"
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/dl"
	"gemm/internal/note"
	"gemm/internal/peer"
)

// multiplier is a product of a library that is opened in this process.
type multiplier[T gemm.Float] struct {
	library *library
	lib     *routines
	routine uintptr // sgemm_ or dgemm_
	threads int
	idle    sync.Pool // of *scalars[T]
}

// scalars are the arguments of the routine that are not matrices. They are passed by address, and
// kept so that a call does not allocate them. A library with 32-bit integers reads the lower half
// of each, which comes first on all processors that are supported.
type scalars[T gemm.Float] struct {
	m, n, k, lda, ldb, ldc int64
	alpha, beta            T
	tA, tB                 byte
}

// invoke calls the routine, sgemm_ or dgemm_, with the scalars and the matrices at the
// addresses. Fortran's compilers append the lengths of the strings.
func (s *scalars[T]) invoke(routine uintptr, a, b, c unsafe.Pointer) {
	dl.Call(routine,
		uintptr(unsafe.Pointer(&s.tA)), uintptr(unsafe.Pointer(&s.tB)),
		uintptr(unsafe.Pointer(&s.m)), uintptr(unsafe.Pointer(&s.n)), uintptr(unsafe.Pointer(&s.k)),
		uintptr(unsafe.Pointer(&s.alpha)), uintptr(a), uintptr(unsafe.Pointer(&s.lda)), uintptr(b),
		uintptr(unsafe.Pointer(&s.ldb)),
		uintptr(unsafe.Pointer(&s.beta)), uintptr(c), uintptr(unsafe.Pointer(&s.ldc)),
		1, 1)
}

// newShared opens l in this process and returns its product. The error is an
// ErrUnavailable if l is not there or cannot use that many threads.
func newShared[T gemm.Float](l *library, threads int) (*multiplier[T], error) {
	r, err := l.open()
	if err != nil {
		return nil, err
	}
	if most := r.mostThreads(threads); most < threads {
		return nil, l.tooFew(most, threads)
	}
	routine := r.dgemm
	if gemm.TypeOf[T]().Name == "f32" {
		routine = r.sgemm
	}
	return &multiplier[T]{library: l, lib: r, routine: routine, threads: threads}, nil
}

// tooFew returns the error of a library that cannot use as many threads.
func (l *library) tooFew(most, threads int) error {
	return gemm.Unavailablef("threads=%d: this %s uses at most %d", threads, l.Title, most)
}

func (x *multiplier[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	if err := x.library.accepts(gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}); err != nil {
		return err
	}
	return x.gemm(ctx, blas.NoTrans, blas.NoTrans, 1, a, b, 0, c, a.Cols)
}

func (x *multiplier[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	_, _, k, err := gemm.CheckGemm(tA, tB, a, b, c)
	if err != nil {
		return err
	}
	return x.gemm(ctx, tA, tB, alpha, a, b, beta, c, k)
}

// gemm computes C ← α·op(A)·op(B) + β·C for operands that conform. The routine is column-major: it
// sees all matrices transposed, and computes Cᵀ as op(B)ᵀ·op(A)ᵀ.
func (x *multiplier[T]) gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T], k int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.Rows == 0 || c.Cols == 0 {
		return nil
	}
	if k == 0 || alpha == 0 {
		peer.Scale(c, beta)
		return nil
	}
	if err := indices(c.Rows, c.Cols, k, a.Stride, b.Stride, c.Stride); err != nil {
		return err
	}
	s, _ := x.idle.Get().(*scalars[T]) // each call has its own
	if s == nil {
		s = new(scalars[T])
	}
	defer x.idle.Put(s)
	*s = scalars[T]{
		m: int64(c.Cols), n: int64(c.Rows), k: int64(k),
		lda: int64(b.Stride), ldb: int64(a.Stride), ldc: int64(c.Stride),
		alpha: alpha, beta: beta, tA: peer.Letter(tB), tB: peer.Letter(tA),
	}
	x.lib.enter(x.threads)
	defer x.lib.leave()
	s.invoke(x.routine, unsafe.Pointer(unsafe.SliceData(b.Data)), unsafe.Pointer(unsafe.SliceData(a.Data)),
		unsafe.Pointer(unsafe.SliceData(c.Data)))
	return nil
}

// indices returns an ErrUnavailable unless the values fit into the integers of a library.
func indices(values ...int) error {
	for _, i := range values {
		if i > math.MaxInt32 {
			return gemm.Unavailablef("dimension or stride %d exceeds the %d of the library's 32-bit integers", i, math.MaxInt32)
		}
	}
	return nil
}

// Resolved implements gemm.Explainer: the threads, the process, and of the library
// the version, the kernel and the file.
func (x *multiplier[T]) Resolved() gemm.Params { return x.lib.resolved(x.threads, "shared") }

// Warnings returns why a speed of this library says little of it: an empty list where nothing is known against it.
func (x *multiplier[T]) Warnings() []note.Note { return x.library.warnings(x.lib) }

func (l *library) warnings(r *routines) []note.Note {
	if r.slow == "" {
		return nil
	}
	return []note.Note{note.New("slow-kernel", l.Title+" "+r.version, r.kernel, r.slow)}
}
