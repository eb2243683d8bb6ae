package gemm_test

import (
	"math"
	"testing"
	"unsafe"

	"gemm"
	"gemm/gf256"
	"gemm/half"
)

func TestTypes(t *testing.T) {
	check := func(of gemm.Type, name string, size uintptr) {
		if of.Name != name || of.Size != int(size) || gemm.TypeNamed(name) != of {
			t.Errorf("%s of %d bytes is %+v, by its name %+v", name, size, of, gemm.TypeNamed(name))
		}
	}
	check(gemm.TypeOf[float64](), "f64", unsafe.Sizeof(float64(0)))
	check(gemm.TypeOf[float32](), "f32", unsafe.Sizeof(float32(0)))
	check(gemm.TypeOf[half.F16](), "f16", unsafe.Sizeof(half.F16{}))
	check(gemm.TypeOf[half.BF16](), "bf16", unsafe.Sizeof(half.BF16{}))
	check(gemm.TypeOf[gf256.Elem](), "gf256", unsafe.Sizeof(gf256.Elem{}))
	for _, name := range gemm.TypeNames() {
		if got := gemm.ByType(name, "f64", "f32", "f16", "bf16", "gf256"); got != name {
			t.Errorf("%s has what belongs to %s", name, got)
		}
	}
	if got := gemm.TypeNamed("f8"); got != (gemm.Type{Name: "f8"}) {
		t.Errorf("an unknown type is %+v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("something belongs to an unknown type")
		}
	}()
	gemm.ByType("f8", 1, 2, 3, 4, 5)
}

// TestNumbers converts a third to every type and back: the error is at most the unit roundoff, but not much less.
func TestNumbers(t *testing.T) {
	third[float64](t)
	third[float32](t)
	third[half.F16](t)
	third[half.BF16](t)
}

func third[T gemm.Number](t *testing.T) {
	of, x := gemm.TypeOf[T](), 1./3
	back := gemm.ToFloat64(gemm.FromFloat64[T](x))
	if err := math.Abs(back-x) / x; !(err <= of.UnitRoundoff) || of.Size < 8 && err < of.UnitRoundoff/4 {
		t.Errorf("1/3 in %s is %v", of.Name, back)
	}
	if got, ok := of.Rounded(0x1p-20), of.Size == 2; ok != of.IsHalf() || ok && !(got > of.UnitRoundoff+0x1p-20) ||
		!ok && got != 0x1p-20 {
		t.Errorf("the bound 2^-20 in %s becomes %g", of.Name, got)
	}
	if of.IsField() || gemm.TypeOf[gf256.Elem]().IsHalf() || !gemm.TypeOf[gf256.Elem]().IsField() {
		t.Errorf("%s or gf256 is of the wrong kind", of.Name)
	}
}
