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

func TestDefinition(t *testing.T) {
	pairs(func(a, b Elem) {
		if got, want := Mul(a, b), New(product(a.Byte(), b.Byte())); got != want {
			t.Fatalf("%d·%d is %d, want %d", a, b, got, want)
		}
		if got, want := Add(a, b), New(a.Byte()^b.Byte()); got != want {
			t.Fatalf("%d+%d is %d, want %d", a, b, got, want)
		}
	})
}

// TestKnown compares with products that the tests of Backblaze's and klauspost's
// Reed–Solomon codes list, and with the polynomial itself: x·x⁷ = x⁴+x³+x²+1.
func TestKnown(t *testing.T) {
	for _, known := range [][3]uint8{{2, 128, 29}, {3, 4, 12}, {7, 7, 21}, {23, 45, 41}} {
		if got := Mul(New(known[0]), New(known[1])).Byte(); got != known[2] {
			t.Errorf("%d·%d is %d, want %d", known[0], known[1], got, known[2])
		}
	}
}

func TestField(t *testing.T) {
	one := New(1)
	pairs(func(a, b Elem) {
		if Mul(a, b) != Mul(b, a) || Add(a, b) != Add(b, a) {
			t.Fatalf("%d and %d do not commute", a, b)
		}
		if Add(a, b) == (Elem{}) != (a == b) {
			t.Fatalf("%d + %d is zero or not: an element's negative is itself alone", a, b)
		}
		if Mul(a, b) == (Elem{}) != (a == Elem{} || b == Elem{}) {
			t.Fatalf("%d · %d: zero has no divisors", a, b)
		}
		if b != (Elem{}) && Mul(Div(a, b), b) != a {
			t.Fatalf("(%d / %d)·%d is not %d", a, b, b, a)
		}
	})
	for a := range 256 {
		a := New(uint8(a))
		if Add(a, Elem{}) != a || Mul(a, one) != a {
			t.Fatalf("zero or one is not neutral to %d", a)
		}
		if a != (Elem{}) && Mul(a, Inv(a)) != one {
			t.Fatalf("%d · Inv(%d) is not one", a, a)
		}
	}
}

// TestAssociative checks the laws of three elements, with every fifth as the
// third.
func TestAssociative(t *testing.T) {
	for c := 0; c < 256; c += 5 {
		c := New(uint8(c))
		pairs(func(a, b Elem) {
			if Mul(Mul(a, b), c) != Mul(a, Mul(b, c)) {
				t.Fatalf("(%d·%d)·%d differs from %d·(%d·%d)", a, b, c, a, b, c)
			}
			if Mul(Add(a, b), c) != Add(Mul(a, c), Mul(b, c)) {
				t.Fatalf("(%d+%d)·%d differs from %d·%d + %d·%d", a, b, c, a, c, b, c)
			}
		})
	}
}

// TestGenerator: the powers of 2 are all elements but zero.
func TestGenerator(t *testing.T) {
	seen := map[Elem]bool{}
	for x := New(1); !seen[x]; x = Mul(x, New(2)) {
		seen[x] = true
	}
	if len(seen) != 255 {
		t.Errorf("2 generates %d elements, want 255", len(seen))
	}
}

func TestLayout(t *testing.T) {
	if size := unsafe.Sizeof(Elem{}); size != 1 {
		t.Errorf("an element takes %d bytes, want 1", size)
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

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"Inv(0)":        func() { Inv(Elem{}) },
		"Div(1, 0)":     func() { Div(New(1), Elem{}) },
		"AddScaled 1 2": func() { AddScaled(make([]Elem, 1), New(1), make([]Elem, 2)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkAddScaled(b *testing.B) {
	dst, src := make([]Elem, 4096), make([]Elem, 4096)
	for i := range src {
		src[i] = New(uint8(i))
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		AddScaled(dst, New(29), src)
	}
}
