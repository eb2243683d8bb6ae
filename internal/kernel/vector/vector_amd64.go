package vector

import (
	"unsafe"

	"gemm/internal/cpu"
)

//go:generate go run -C ../_asm ./vector -pkg vector -out ../vector/vector_amd64.s

// Fast says that there is assembly for the instruction set that cpu.Detect chose; wide says that it is AVX-512.
var Fast, wide = func() (bool, bool) {
	isa, _ := cpu.Detect()
	return isa == cpu.AVX512 || isa == cpu.AVX2 || isa == cpu.AVX2NoGFNI, isa == cpu.AVX512
}()

// The functions in assembly compute with the last elements of vectors of n elements of a size, and return the number of
// those that are left: it cannot be preempted, so a call is short.

// dot adds Σ x[i]·y[i] to sum.
//
//go:noescape
func dot(size uintptr, n int, x, y, sum unsafe.Pointer) int

// axpy adds alpha·x[i] to y[i].
//
//go:noescape
func axpy(size uintptr, n int, x, y, alpha unsafe.Pointer) int

// scal multiplies x[i] by alpha.
//
//go:noescape
func scal(size uintptr, n int, x, alpha unsafe.Pointer) int

// swap exchanges x[i] and y[i].
//
//go:noescape
func swap(size uintptr, n int, x, y unsafe.Pointer) int

// rot replaces x[i] by c·x[i] + s·y[i], and y[i] by c·y[i] − s·x[i].
//
//go:noescape
func rot(size uintptr, n int, x, y, c, s unsafe.Pointer) int

// asum adds Σ |x[i]| to sum.
//
//go:noescape
func asum(size uintptr, n int, x, sum unsafe.Pointer) int

// squares adds Σ x[i]² to sum.
//
//go:noescape
func squares(size uintptr, n int, x, sum unsafe.Pointer) int

// amax stores the largest |x[i]|, or 0. NaN is ignored.
//
//go:noescape
func amax(size uintptr, n int, x, most unsafe.Pointer) int

// find returns the first i with |x[i]| = value > 0, which there is. n is not so large that elements are left.
//
//go:noescape
func find(size uintptr, n int, x, value unsafe.Pointer) int

// pairDot adds Σ x[i]·y[i], of even and of odd i, and Σ x[i]·y[i+1] and Σ x[i+1]·y[i], of even i, to four sums.
//
//go:noescape
func pairDot(size uintptr, n int, x, y, sums unsafe.Pointer) int

// pairAxpy adds alpha[0]·x[i] + alpha[1]·x[i+1] to y[i] and alpha[0]·x[i+1] + alpha[2]·x[i] to y[i+1], for even i.
//
//go:noescape
func pairAxpy(size uintptr, n int, x, y, alpha unsafe.Pointer) int

// pairScal replaces x[i] by alpha[0]·x[i] + alpha[1]·x[i+1] and x[i+1] by alpha[0]·x[i+1] + alpha[2]·x[i], for even i.
//
//go:noescape
func pairScal(size uintptr, n int, x, alpha unsafe.Pointer) int

// axpys is Axpys for elements of a size. It cannot be preempted, as the others.
//
//go:noescape
func axpys(size uintptr, m, n int, alpha, a unsafe.Pointer, lda int, x, y unsafe.Pointer)

// column is Column for elements of a size.
//
//go:noescape
func column(size uintptr, m, n int, alpha, a unsafe.Pointer, lda int, x, beta, y unsafe.Pointer, incY int)

// ger is Ger for elements of a size.
//
//go:noescape
func ger(size uintptr, m, n int, alpha, a unsafe.Pointer, lda int, x, y unsafe.Pointer)

// triangle computes strips of a triangle; see Triangle. a, x and y are at the first element on the diagonal of the
// first strip. The rectangle of the strip has n columns and begins off elements before; with a negative off, it is to
// the right. From one strip to the next, n changes by dn and off by doff, and the rectangle moves by da elements of A
// and dx of x and y.
//
//go:noescape
func triangle(size uintptr, op, strips, n, dn, off, doff int, alpha, a unsafe.Pointer, da, lda int, x, y unsafe.Pointer,
	dx int, unit bool)
