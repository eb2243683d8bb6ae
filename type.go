package gemm

import (
	"fmt"

	"gemm/half"
)

// Type describes an element type.
type Type struct {
	Name         string  // in commands and records
	Size         int     // bytes of an element
	UnitRoundoff float64 // u of its elements; 0 of a field, whose arithmetic is exact
	// SumRoundoff is u of its arithmetic. Products in half precision are summed in f32, and an element of C is
	// rounded once, at the end. For the other types it is UnitRoundoff.
	SumRoundoff float64
}

// The element types.
var (
	f64   = Type{"f64", 8, 0x1p-53, 0x1p-53}
	f32   = Type{"f32", 4, 0x1p-24, 0x1p-24}
	f16   = Type{"f16", 2, 0x1p-11, 0x1p-24}
	bf16  = Type{"bf16", 2, 0x1p-8, 0x1p-24}
	field = Type{"gf256", 1, 0, 0}
)

// Types returns all element types in the order of reports.
func Types() []Type { return []Type{f64, f32, f16, bf16, field} }

// IsHalf reports whether t is a type of half precision.
func (t Type) IsHalf() bool { return t.SumRoundoff < t.UnitRoundoff }

// Pipe returns the name of the type that processors multiply elements of t as: f32 for half precision.
func (t Type) Pipe() string {
	if t.IsHalf() {
		return f32.Name
	}
	return t.Name
}

// IsField reports whether t is a field, whose products have no α and β.
func (t Type) IsField() bool { return t.Size > 0 && t.UnitRoundoff == 0 }

// TypeNames returns the names of Types.
func TypeNames() []string {
	var names []string
	for _, t := range Types() {
		names = append(names, t.Name)
	}
	return names
}

// TypeOf returns the type of T.
func TypeOf[T Element]() Type {
	var zero T
	switch any(zero).(type) {
	case float64:
		return f64
	case float32:
		return f32
	case half.F16:
		return f16
	case half.BF16:
		return bf16
	default:
		return field
	}
}

// TypeNamed returns the type with the name. Where there is none, the type has a name only.
func TypeNamed(name string) Type {
	for _, t := range Types() {
		if t.Name == name {
			return t
		}
	}
	return Type{Name: name}
}

// ByType returns what belongs to the type with the name: a value, or the instance of a generic function. It panics if
// there is no such type, so that names are checked where they come in.
func ByType[F any](name string, ofF64, ofF32, ofF16, ofBF16, ofGF256 F) F {
	switch name {
	case f64.Name:
		return ofF64
	case f32.Name:
		return ofF32
	case f16.Name:
		return ofF16
	case bf16.Name:
		return ofBF16
	case field.Name:
		return ofGF256
	}
	panic("gemm: there is no element type " + name)
}

// ToFloat64 returns x, which is exact in float64.
func ToFloat64[T Number](x T) float64 {
	switch x := any(x).(type) {
	case float64:
		return x
	case float32:
		return float64(x)
	case half.F16:
		return float64(x.Float32())
	case half.BF16:
		return float64(x.Float32())
	}
	panic(fmt.Sprintf("gemm: %T is no number", x))
}

// FromFloat64 returns x rounded to nearest even; 0 in a field, which has no numbers.
func FromFloat64[T Element](x float64) (out T) {
	switch p := any(&out).(type) {
	case *float64:
		*p = x
	case *float32:
		*p = float32(x)
	case *half.F16:
		*p = half.From64[half.F16](x)
	case *half.BF16:
		*p = half.From64[half.BF16](x)
	}
	return out
}
