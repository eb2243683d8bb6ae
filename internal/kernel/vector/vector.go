// Package vector computes with contiguous vectors: levels 1 and 2 of BLAS, in assembly for AVX2 and AVX-512, which the
// program in ../_asm/vector generates. All functions but Scal need Fast. Two vectors of a function
// have the same length, which is not always checked. Dot, Axpy, FastScal, Asum and PairDot are so short that the
// compiler inlines them.
package vector

import (
	"math"
	"unsafe"
)

// Float is the set of element types.
type Float interface{ float32 | float64 }

// block is the number of elements of which Iamax finds the maximum before it searches.
const block = 1 << 11

// Dot returns Σ x[i]·y[i].
func Dot[T Float](x, y []T) (sum T) {
	for n := len(x); n > 0; n = dot(unsafe.Sizeof(sum), n, unsafe.Pointer(unsafe.SliceData(x)),
		unsafe.Pointer(unsafe.SliceData(y)), unsafe.Pointer(&sum)) {
	}
	return
}

// Axpy computes y ← y + α·x.
func Axpy[T Float](alpha T, x, y []T) {
	for n := len(x); n > 0; n = axpy(unsafe.Sizeof(alpha), n, unsafe.Pointer(unsafe.SliceData(x)),
		unsafe.Pointer(unsafe.SliceData(y)), unsafe.Pointer(&alpha)) {
	}
}

// FastScal computes x ← α·x.
func FastScal[T Float](alpha T, x []T) {
	for n := len(x); n > 0; n = scal(unsafe.Sizeof(alpha), n, unsafe.Pointer(unsafe.SliceData(x)),
		unsafe.Pointer(&alpha)) {
	}
}

// Scal computes x ← α·x, on every processor.
func Scal[T Float](alpha T, x []T) {
	if Fast {
		FastScal(alpha, x)
		return
	}
	for i := range x {
		x[i] *= alpha
	}
}

// Asum returns Σ |x[i]|.
func Asum[T Float](x []T) (sum T) {
	for n := len(x); n > 0; n = asum(unsafe.Sizeof(sum), n, unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(&sum)) {
	}
	return
}

// Swap exchanges x and y.
func Swap[T Float](x, y []T) {
	y = y[:len(x)]
	for n := len(x); n > 0; {
		n = swap(unsafe.Sizeof(x[0]), n, unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]))
	}
}

// Rot computes x ← c·x + s·y and y ← c·y − s·x.
func Rot[T Float](x, y []T, c, s T) {
	y = y[:len(x)]
	for n := len(x); n > 0; {
		n = rot(unsafe.Sizeof(c), n, unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(&c),
			unsafe.Pointer(&s))
	}
}

// Iamax returns the first index of the largest |x[i]|; x is not empty. NaN is ignored, but if x[0] is NaN, the index is
// 0, as in gonum.
func Iamax[T Float](x []T) (first int) {
	var most, v T
	for i := 0; i < len(x); i += block {
		if amax(unsafe.Sizeof(v), min(block, len(x)-i), unsafe.Pointer(&x[i]), unsafe.Pointer(&v)); v > most {
			first, most = i, v
		}
	}
	if most == 0 || x[0] != x[0] {
		return 0
	}
	return first + find(unsafe.Sizeof(v), min(block, len(x)-first), unsafe.Pointer(&x[first]), unsafe.Pointer(&most))
}

// Nrm2 returns √(Σ x[i]²), right wherever it is representable. The sum of squares is used as it is unless a square may
// have overflowed, or those that lost bits by underflow matter. Otherwise a second pass scales x by a power of two as
// Blue's algorithm does (Anderson, Algorithm 978: Safe Scaling in the Level 1 BLAS, ACM TOMS 44(1), 2017). Squares of
// single precision need no scale in double.
func Nrm2[T Float](x []T) T {
	sum, double := T(0), unsafe.Sizeof(T(0)) == 8
	for n := len(x); n > 0; {
		n = squares(unsafe.Sizeof(sum), n, unsafe.Pointer(&x[0]), unsafe.Pointer(&sum))
	}
	s, scale := float64(sum), 1.0
	switch {
	case double && s > math.MaxFloat64:
		scale = 0x1p-600
	case double && s < 0x1p-960:
		scale = 0x1p+600
	case double || s != s || 0x1p-96 <= s && s <= math.MaxFloat32:
		return T(math.Sqrt(s))
	}
	s = 0
	for _, v := range x {
		v := float64(v) * scale
		s += v * v
	}
	return T(math.Sqrt(s) / scale)
}

// PairDot adds Σ x[i]·y[i], of even and of odd i, and Σ x[i]·y[i+1] and Σ x[i+1]·y[i], of even i, to sums: of complex
// numbers, the four products of their parts.
func PairDot[T Float](x, y []T, sums *[4]T) {
	for n := len(x); n > 0; n = pairDot(unsafe.Sizeof(x[0]), n, unsafe.Pointer(unsafe.SliceData(x)),
		unsafe.Pointer(unsafe.SliceData(y)), unsafe.Pointer(sums)) {
	}
}

// PairAxpy computes y ← y + α·x for complex numbers, whose real and imaginary parts alternate.
func PairAxpy[T Float](re, im T, x, y []T) {
	alpha := [3]T{re, -im, im}
	for n := len(x); n > 0; {
		n = pairAxpy(unsafe.Sizeof(re), n, unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(&alpha))
	}
}

// PairScal computes x ← α·x for complex numbers, whose real and imaginary parts alternate.
func PairScal[T Float](re, im T, x []T) {
	alpha := [3]T{re, -im, im}
	for n := len(x); n > 0; {
		n = pairScal(unsafe.Sizeof(re), n, unsafe.Pointer(&x[0]), unsafe.Pointer(&alpha))
	}
}
