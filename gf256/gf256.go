// Package gf256 is arithmetic in the Galois field GF(2⁸), whose elements are bytes. Reed–Solomon
// codes are computed in this field.
//
// Elements are polynomials over GF(2) of degree below eight. They are reduced modulo
// x⁸ + x⁴ + x³ + x² + 1 (0x11d), like in klauspost/reedsolomon, ISA-L and Jerasure. The root x (2) of
// this polynomial generates the multiplicative group. So the logarithm of a product is the sum of the
// logarithms modulo 255 (Plank, "A Tutorial on Reed–Solomon Coding", 1997, section 4).
package gf256

import (
	"fmt"
	"unsafe"
)

// Poly is the reduction polynomial x⁸ + x⁴ + x³ + x² + 1.
const Poly = 0x11d

// Elem is an element of GF(2⁸). It has the layout of a byte, but is a struct, so that no code can add or
// multiply it as an integer. The zero value is the zero of the field.
type Elem struct{ v uint8 }

// New returns the element whose polynomial has the bits of v as coefficients.
func New(v uint8) Elem { return Elem{v} }

// Byte returns the coefficients of e as the bits of a byte.
func (e Elem) Byte() uint8 { return e.v }

// exp holds the powers of the generator twice, so that the sum of two logarithms is an index
// without a reduction modulo 255. log is its inverse; log[0] is not used.
var (
	exp [510]uint8
	log [256]uint8
)

// products holds a·b in row a, column b.
var products [256][256]uint8

func init() {
	x := 1
	for i := range 255 {
		exp[i], exp[i+255] = uint8(x), uint8(x)
		log[x] = uint8(i)
		x <<= 1
		if x&0x100 != 0 {
			x ^= Poly
		}
	}
	for a := range products {
		for b := range products[a] {
			products[a][b] = Mul(Elem{uint8(a)}, Elem{uint8(b)}).v
		}
	}
}

// Add returns a + b, which is also a − b: every element is its own negative.
func Add(a, b Elem) Elem { return Elem{a.v ^ b.v} }

// Mul returns a · b.
func Mul(a, b Elem) Elem {
	if a.v == 0 || b.v == 0 {
		return Elem{}
	}
	return Elem{exp[int(log[a.v])+int(log[b.v])]}
}

// Inv returns the inverse of a: their product is one. It panics if a is zero.
func Inv(a Elem) Elem {
	if a.v == 0 {
		panic("gf256: zero has no inverse")
	}
	return Elem{exp[255-int(log[a.v])]}
}

// Div returns a · b⁻¹. It panics if b is zero.
func Div(a, b Elem) Elem { return Mul(a, Inv(b)) }

// AddScaled adds a · src[i] to every dst[i]. It panics if the lengths differ. It needs one look-up per
// element, in the row of a in the table of products. Mul needs three look-ups and a branch.
func AddScaled(dst []Elem, a Elem, src []Elem) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("gf256: %d elements and %d: lengths differ", len(dst), len(src)))
	}
	row := &products[a.v]
	for i, b := range src {
		dst[i].v ^= row[b.v]
	}
}

// Bytes returns elems as bytes, sharing their memory.
func Bytes(elems []Elem) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elems))), len(elems))
}
