package half_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"gemm/half"
)

// format is what the oracle needs of a format: bits of a significand, and the exponent of the least number.
type format struct{ significand, least int }

var (
	binary16 = format{11, -24}
	bfloat16 = format{8, -133}
)

// nearest returns x rounded to the format by math/big, and infinite if that is 2^top or more.
func (f format) nearest(x float64, top int) float64 {
	if x == 0 || x != x || math.IsInf(x, 0) {
		return x
	}
	_, exponent := math.Frexp(x) // |x| < 2^exponent
	digits := min(f.significand, exponent-f.least)
	if digits < 1 { // below the least number, which has one digit: is it nearer than 0?
		least := math.Ldexp(1, f.least)
		if math.Abs(x) > least/2 {
			return math.Copysign(least, x)
		}
		return math.Copysign(0, x)
	}
	rounded, _ := new(big.Float).SetPrec(uint(digits)).SetMode(big.ToNearestEven).SetFloat64(x).Float64()
	if math.Abs(rounded) >= math.Ldexp(1, top) {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return rounded
}

// TestAll compares every number of F16 with a library's.
func TestAll(t *testing.T) {
	for bits := range 1 << 16 {
		x := half.FromBits[half.F16](uint16(bits))
		got, want := x.Float32(), float16.Frombits(uint16(bits)).Float32()
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("F16 %#04x is %v, the library has %v", bits, got, want)
		}
		if back, want := half.From[half.F16](got).Bits(), float16.Fromfloat32(got).Bits(); back != want {
			t.Fatalf("%v is F16 %#04x, the library has %#04x", got, back, want)
		}
	}
}

// TestRoundTrip converts every number that is not NaN to float32 and back.
func TestRoundTrip(t *testing.T) {
	roundTrip[half.F16](t)
	roundTrip[half.BF16](t)
}

func roundTrip[T half.Float](t *testing.T) {
	for bits := range 1 << 16 {
		x := half.FromBits[T](uint16(bits))
		value := x.Float32()
		if value != value {
			if back := half.From[T](value).Float32(); back == back {
				t.Fatalf("%T %#04x: NaN becomes %v", x, bits, back)
			}
			continue
		}
		if back := half.From[T](value); back != x {
			t.Fatalf("%T %#04x becomes %#04x", x, bits, back.Bits())
		}
		if short := half.Shortest(x); half.From64[T](short) != x {
			t.Fatalf("%T %#04x is written as %v", x, bits, short)
		}
		if back := half.From64[T](float64(value)); back != x {
			t.Fatalf("%T %#04x becomes %#04x by float64", x, bits, back.Bits())
		}
	}
}

// TestRounding rounds numbers at, just below and just above the middle between neighbours, and random ones.
func TestRounding(t *testing.T) {
	rounding[half.F16](t, binary16, 16)
	rounding[half.BF16](t, bfloat16, 128)
}

func rounding[T half.Float](t *testing.T, f format, top int) {
	check := func(x float64) {
		want := f.nearest(x, top)
		got := half.From64[T](x).Float32()
		if float64(got) != want && !(got != got && want != want) || math.Signbit(float64(got)) != math.Signbit(want) {
			t.Fatalf("%T of %x is %x, want %x", half.From64[T](0), x, got, want)
		}
		single := float32(x)
		want, got = f.nearest(float64(single), top), half.From[T](single).Float32()
		if float64(got) != want && !(got != got && want != want) {
			t.Fatalf("%T of the float32 %x is %x, want %x", half.From64[T](0), single, got, want)
		}
	}
	for bits := range 0x7fff {
		low, high := half.FromBits[T](uint16(bits)).Float32(), half.FromBits[T](uint16(bits+1)).Float32()
		if high != high {
			break
		}
		middle := (float64(low) + float64(high)) / 2
		if math.IsInf(float64(high), 0) { // where the next number would be
			middle = float64(low) + (math.Ldexp(1, top)-float64(low))/2
		}
		for _, x := range []float64{middle, math.Nextafter(middle, 0), math.Nextafter(middle, math.Inf(1)),
			float64(math.Nextafter32(float32(middle), 0)),
			float64(math.Nextafter32(float32(middle), math.MaxFloat32))} {
			check(x)
			check(-x)
		}
	}
	for _, x := range []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64,
		math.MaxFloat32, 65504, 65519.99, 65520, math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64, 0x1p-150} {
		check(x)
		check(-x)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		check(math.Float64frombits(rng.Uint64()))
		check(float64(math.Float32frombits(rng.Uint32())))
		check(math.Ldexp(rng.Float64(), rng.IntN(60)-35))
	}
}

// TestSlices compares conversions of slices with conversions of numbers.
func TestSlices(t *testing.T) {
	ofSlices[half.F16](t)
	ofSlices[half.BF16](t)
}

func ofSlices[T half.Float](t *testing.T) {
	all := make([]T, 1<<16)
	for bits := range half.Words(all) {
		half.Words(all)[bits] = uint16(bits)
	}
	wide := make([]float32, len(all)+1)
	half.Widen(wide, all)
	for i, x := range all {
		value := math.Float32bits(x.Float32())
		if math.Float32bits(wide[i]) != value || math.Float32bits(half.Values[T]()[i]) != value {
			t.Fatalf("%T %#04x is widened to %v, and looked up as %v", x, i, wide[i], half.Values[T]()[i])
		}
	}
	back := make([]T, len(all)+1)
	half.Narrow(back, wide[:len(all)])
	for i, x := range wide[:len(all)] {
		if back[i] != half.From[T](x) {
			t.Fatalf("%v is narrowed to %#04x", x, back[i].Bits())
		}
	}
	if wide[len(all)] != 0 || back[len(all)].Bits() != 0 {
		t.Error("an element behind the last was written")
	}
	if !slices.Equal(half.Words(all[1:3]), []uint16{1, 2}) {
		t.Error("Words is another part")
	}
}

func TestString(t *testing.T) {
	for want, got := range map[string]half.F16{
		"0.3333": half.From[half.F16](1. / 3), "-2": half.From[half.F16](-2), "65500": half.From[half.F16](65504),
		"+Inf": half.From[half.F16](65520), "6e-08": half.FromBits[half.F16](1),
	} {
		if got.String() != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	if got := half.From[half.BF16](1. / 3).String(); got != "0.334" {
		t.Errorf("got %s", got)
	}
}
