// Package half has the two floating-point formats of 16 bits. Numbers are converted to float32, in which all
// arithmetic is done, and results are rounded back, to nearest even.
package half

import (
	"math"
	"strconv"
	"sync"
	"unsafe"
)

// F16 is a number of the format binary16 of IEEE 754: 5 bits of exponent and 11 significant bits. It has the layout
// of a uint16, but is a struct, so that no code can add or compare it as an integer. The zero value is 0.
type F16 struct{ bits uint16 }

// BF16 is a number of the format bfloat16: the upper half of a float32, with 8 bits of exponent and 8 significant
// bits. It is a struct for the same reason as F16. The zero value is 0.
type BF16 struct{ bits uint16 }

// Float is either format.
type Float interface {
	F16 | BF16
	// Bits returns the number as it is stored.
	Bits() uint16
	// Float32 returns the number, which is exact in float32.
	Float32() float32
}

// Bits implements Float.
func (x F16) Bits() uint16 { return x.bits }

// Bits implements Float.
func (x BF16) Bits() uint16 { return x.bits }

// Float32 implements Float. A signalling NaN becomes a quiet one.
func (x F16) Float32() float32 {
	sign, magnitude := uint32(x.bits&0x8000)<<16, uint32(x.bits&0x7fff)
	if magnitude > infinity16 {
		return math.Float32frombits(sign | 0x7fc00000 | magnitude<<13)
	}
	if magnitude == infinity16 {
		return math.Float32frombits(sign | 0x7f800000)
	}
	// The exponents of the formats differ by 112, of numbers below the normal ones too.
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(magnitude<<13)*0x1p112))
}

// Float32 implements Float.
func (x BF16) Float32() float32 { return math.Float32frombits(uint32(x.bits) << 16) }

// String returns the number with the fewest digits that distinguish it from all others of the format.
func (x F16) String() string { return text(x) }

// String returns the number with the fewest digits that distinguish it from all others of the format.
func (x BF16) String() string { return text(x) }

func text[T Float](x T) string {
	return strconv.FormatFloat(Shortest(x), 'g', -1, 64)
}

// Shortest returns the decimal number with the fewest digits that is rounded to x: 0.3333 for the F16 nearest to 1/3.
func Shortest[T Float](x T) float64 {
	const most = 5 // digits distinguish all numbers of both formats
	value := float64(x.Float32())
	for digits := range most {
		short, err := strconv.ParseFloat(strconv.FormatFloat(value, 'e', digits, 64), 64)
		if err == nil && From64[T](short) == x {
			return short
		}
	}
	return value // NaN
}

// FromBits returns the number with these bits.
func FromBits[T Float](bits uint16) (x T) {
	*(*uint16)(unsafe.Pointer(&x)) = bits
	return x
}

// From returns x rounded to nearest even. A NaN keeps the upper bits of its payload and is quiet.
func From[T Float](x float32) T {
	var zero T
	if _, ok := any(zero).(F16); ok {
		return FromBits[T](bits16(x))
	}
	return FromBits[T](bitsB16(x))
}

// From64 is From for a float64, which is rounded once.
func From64[T Float](x float64) T { return From[T](odd(x)) }

const infinity16 = 0x7c00

// bits16 returns the bits of x in F16.
func bits16(x float32) uint16 {
	const (
		overflow = (127 + 16) << 23 // 2¹⁶: what rounds up to it becomes infinite below
		normal   = (127 - 14) << 23
		down     = (127 - 15) << 23
		// A sum with this number has the digits of a subnormal number of F16 at its end.
		magic = (127 - 15 + 23 - 10 + 1) << 23
	)
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	bits &^= 1 << 31
	switch {
	case bits > 0x7f800000:
		return sign | 0x7e00 | uint16(bits>>13&0x3ff)
	case bits >= overflow:
		return sign | infinity16
	case bits < normal:
		sum := math.Float32frombits(bits) + math.Float32frombits(magic)
		return sign | uint16(math.Float32bits(sum)-magic)
	}
	odd := bits >> 13 & 1
	return sign | uint16((bits-down+0xfff+odd)>>13)
}

// bitsB16 returns the bits of x in BF16.
func bitsB16(x float32) uint16 {
	bits := math.Float32bits(x)
	if bits&^(1<<31) > 0x7f800000 {
		return uint16(bits>>16) | 0x40
	}
	odd := bits >> 16 & 1
	return uint16((bits + 0x7fff + odd) >> 16)
}

// odd returns x in float32, rounded to odd: what is not exact is cut off, and the last digit becomes 1. So a second
// rounding, to a format with fewer digits, gives the same as one rounding of x (Boldo and Melquiond, Emulation of a
// FMA and correctly rounded sums, IEEE Transactions on Computers 57(4), 2008).
func odd(x float64) float32 {
	near := float32(x)
	back := float64(near)
	if back == x || x != x {
		return near
	}
	bits := math.Float32bits(near)
	if math.Abs(back) > math.Abs(x) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}

// Widen writes the numbers of src, which has no more than dst, to dst.
func Widen[T Float](dst []float32, src []T) {
	dst = dst[:len(src)]
	switch src := any(src).(type) {
	case []F16:
		for i, x := range src {
			dst[i] = x.Float32()
		}
	case []BF16:
		for i, x := range src {
			dst[i] = x.Float32()
		}
	}
}

// Narrow rounds the numbers of src, which has no more than dst, to dst as From does.
func Narrow[T Float](dst []T, src []float32) {
	dst = dst[:len(src)]
	switch dst := any(dst).(type) {
	case []F16:
		for i, x := range src {
			dst[i] = F16{bits16(x)}
		}
	case []BF16:
		for i, x := range src {
			dst[i] = BF16{bitsB16(x)}
		}
	}
}

var (
	values16  = sync.OnceValue(table[F16])
	valuesB16 = sync.OnceValue(table[BF16])
)

// Values returns the value of every number, by its bits. To look values up is the fastest way to convert single numbers
// in code that is generic: there a call of Float32 is not inlined.
func Values[T Float]() *[1 << 16]float32 {
	var zero T
	if _, ok := any(zero).(F16); ok {
		return values16()
	}
	return valuesB16()
}

func table[T Float]() *[1 << 16]float32 {
	var out [1 << 16]float32
	for bits := range out {
		out[bits] = FromBits[T](uint16(bits)).Float32()
	}
	return &out
}

// Words returns the numbers as they are stored. It shares their memory.
func Words[T Float](x []T) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
