package gemm

// Type describes an element type.
type Type struct {
	Name         string  // in commands and records
	Size         int     // bytes of an element
	UnitRoundoff float64 // u of its arithmetic; 0 of a field, whose arithmetic is exact
}

// The element types.
var (
	f64   = Type{"f64", 8, 0x1p-53}
	f32   = Type{"f32", 4, 0x1p-24}
	field = Type{"gf256", 1, 0}
)

// Types returns all element types in the order of reports.
func Types() []Type { return []Type{f64, f32, field} }

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

// ByType returns what belongs to the type with the name: a value, or the instance of a
// generic function. It panics if there is no such type, so that names are checked where
// they come in.
func ByType[F any](name string, ofF64, ofF32, ofGF256 F) F {
	switch name {
	case f64.Name:
		return ofF64
	case f32.Name:
		return ofF32
	case field.Name:
		return ofGF256
	}
	panic("gemm: there is no element type " + name)
}
