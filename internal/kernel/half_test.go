package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"gemm/half"
)

// TestHalf compares conversions by vectors with the conversions of package half: every number, hard ones to be rounded,
// and lengths that are no multiple of a vector.
func TestHalf(t *testing.T) {
	t.Run("f16", testHalf[half.F16])
	t.Run("bf16", testHalf[half.BF16])
}

func testHalf[T half.Float](t *testing.T) {
	all := make([]T, 1<<16)
	for bits := range all {
		all[bits] = half.FromBits[T](uint16(bits))
	}
	got, want := make([]float32, len(all)), make([]float32, len(all))
	Widen(got, all)
	half.Widen(want, all)
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%#04x is widened to %x, want %x", i, got[i], want[i])
		}
	}
	var hard []float32
	for _, x := range want { // and between two numbers, where rounding decides
		for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xfff, 0x1000, 0x1001, 0xffff} {
			hard = append(hard, math.Float32frombits(math.Float32bits(x)|low))
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1 << 16 {
		hard = append(hard, math.Float32frombits(rng.Uint32()))
	}
	narrow, right := make([]T, len(hard)), make([]T, len(hard))
	Narrow(narrow, hard)
	half.Narrow(right, hard)
	for i := range narrow {
		if narrow[i] != right[i] {
			t.Fatalf("%x (%#08x) is rounded to %#04x, want %#04x", hard[i], math.Float32bits(hard[i]), narrow[i].Bits(),
				right[i].Bits())
		}
	}
	for n := range 30 {
		wide, back := make([]float32, n+1), make([]T, n+1)
		Widen(wide, all[0x3c00:0x3c00+n])
		Narrow(back, wide[:n])
		for i, x := range back[:n] {
			if x != all[0x3c00+i] {
				t.Fatalf("of %d numbers, %d becomes %v", n, i, x)
			}
		}
		if wide[n] != 0 || back[n].Bits() != 0 {
			t.Fatalf("of %d numbers, one more was written", n)
		}
	}
}
