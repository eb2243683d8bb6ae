package gf256

import (
	"testing"
	"unsafe"
)

// product multiplies two polynomials over GF(2) and reduces the result modulo
// Poly, by the definition.
func product(a, b uint8) uint8 {
	var p uint32
	for i := range 8 {
		if b>>i&1 != 0 {
			p ^= uint32(a) << i
		}
	}
	for i := 14; i >= 8; i-- {
		if p>>i&1 != 0 {
			p ^= Poly << (i - 8)
		}
	}
	return uint8(p)
}

// pairs calls f with every pair of elements.
func pairs(f func(a, b Elem)) {
	for a := range 256 {
		for b := range 256 {
			f(New(uint8(a)), New(uint8(b)))
		}
	}
}

// TestDefinition compares all products, sums and quotients with the definition.
func TestDefinition(t *testing.T) {
	pairs(func(a, b Elem) {
		if got, want := Mul(a, b), New(product(a.Byte(), b.Byte())); got != want {
			t.Fatalf("%d·%d is %d, want %d", a, b, got, want)
		}
		if got, want := Add(a, b), New(a.Byte()^b.Byte()); got != want {
			t.Fatalf("%d+%d is %d, want %d", a, b, got, want)
		}
		if b != (Elem{}) && (Mul(Div(a, b), b) != a || Mul(b, Inv(b)) != New(1)) {
			t.Fatalf("(%d / %d)·%d is not %d, or %[2]d·Inv(%[2]d) is not 1", a, b, b, a)
		}
	})
}

func TestLayout(t *testing.T) {
	if size := unsafe.Sizeof(Elem{}); size != 1 {
		t.Errorf("an element takes %d bytes, want 1", size)
	}
	elems := []Elem{New(1), New(2)}
	Bytes(elems)[1] = 7
	if elems[1] != New(7) || len(Bytes(nil)) != 0 {
		t.Errorf("%v: Bytes does not share the memory of the elements", elems)
	}
	for v := range 256 {
		if got := New(uint8(v)).Byte(); got != uint8(v) {
			t.Errorf("New(%d).Byte() is %d", v, got)
		}
	}
}

func TestAddScaled(t *testing.T) {
	src := make([]Elem, 256)
	for i := range src {
		src[i] = New(uint8(i))
	}
	for a := range 256 {
		a := New(uint8(a))
		dst := make([]Elem, len(src))
		for i := range dst {
			dst[i] = New(uint8(7 * i))
		}
		AddScaled(dst, a, src)
		for i, got := range dst {
			if want := Add(New(uint8(7*i)), Mul(a, src[i])); got != want {
				t.Fatalf("%d + %d·%d is %d, want %d", uint8(7*i), a, src[i], got, want)
			}
		}
	}
}
