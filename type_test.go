package gemm_test

import (
	"testing"
	"unsafe"

	"gemm"
	"gemm/gf256"
)

func TestTypes(t *testing.T) {
	check := func(of gemm.Type, name string, size uintptr) {
		if of.Name != name || of.Size != int(size) || gemm.TypeNamed(name) != of {
			t.Errorf("%s of %d bytes is %+v, by its name %+v", name, size, of, gemm.TypeNamed(name))
		}
	}
	check(gemm.TypeOf[float64](), "f64", unsafe.Sizeof(float64(0)))
	check(gemm.TypeOf[float32](), "f32", unsafe.Sizeof(float32(0)))
	check(gemm.TypeOf[gf256.Elem](), "gf256", unsafe.Sizeof(gf256.Elem{}))
	for _, name := range gemm.TypeNames() {
		if got := gemm.ByType(name, "f64", "f32", "gf256"); got != name {
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
	gemm.ByType("f8", 1, 2, 3)
}
