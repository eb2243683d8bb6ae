package gemm

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gemm/gf256"
	"gemm/half"
)

// Variant names one implementation. Its fields have all that planning, measuring and reporting need; no code depends
// on the name. Records carry the members that have names in JSON.
type Variant struct {
	Name   string  `json:"name"` // family/algorithm, the same everywhere
	Doc    string  `json:"doc"`  // one sentence: what it does that its parent does not
	Params []Param `json:"-"`    // the parameters it understands
	// Parent is the name of the variant that this one changes one thing of. It may be of another
	// family. It is empty for the first variant of a family and for libraries of others.
	Parent string `json:"parent,omitempty"`
	// Parents has the parents of element types with another one, by the name of the type.
	Parents map[string]string `json:"parents,omitempty"`
	// Location, Role, Class and Can say what the variant is. The conformance suite checks Location and Can.
	Location Location `json:"location,omitempty"`
	Role     Role     `json:"role,omitempty"`
	Class    Class    `json:"class,omitempty"`
	// FormerRole is the role in records of schema 1, which do not declare it, if it was another.
	FormerRole Role         `json:"-"`
	Can        Capabilities `json:"can,omitzero"`
	// Spread says that the operands are spread over the ranks before the product begins. Otherwise they are on rank 0.
	Spread bool `json:"spread,omitempty"`
	// Leaf is the variant that computes the parts of a product, unless the parameter leaf or local names another one.
	Leaf string `json:"leaf,omitempty"`
	// About is for reports: a record.About in JSON, as a string or as a value that encoding/json writes so.
	About any `json:"-"`
	// Compute is the arithmetic if it differs from the element type: tf32.
	Compute string `json:"compute,omitempty"`
	// ComputeOf, if not nil, replaces Compute, as BoundOf replaces Bound.
	ComputeOf func(typ string, p Params) string `json:"-"`
	// Pseudocode is the algorithm as pseudo-code, at most 56 columns wide, for reports.
	Pseudocode string `json:"pseudocode,omitempty"`
	// Model predicts what a product costs. Params are resolved.
	Model func(s Shape, p Params) Model `json:"-"`
	// Accepts, if not nil, returns an Unavailable that says why the variant does not compute products
	// of the shape, and nil if it does.
	Accepts func(s Shape) error `json:"-"`
	// Least is the number of terms of a product below which the cost of the call is a part of its time.
	// Profiles leave such products out.
	Least float64 `json:"-"`
	// Ran, if not nil, returns the name of the variant that computes the whole product in place of
	// this one, and "" if this one does. Params are resolved.
	Ran func(s Shape, p Params) string `json:"-"`
	// Bound limits the error of a product.
	Bound Bound `json:"-"`
	// BoundOf, if not nil, replaces Bound: it returns the bound in an element type for resolved parameters. It is for
	// variants whose arithmetic depends on the type, or that use another variant, which a parameter chooses.
	BoundOf func(typ string, p Params) Bound `json:"-"`
	// Revision, if not empty, identifies a version of the implementation. It is digest among the
	// resolved parameters; a row of another revision is not kept.
	Revision string `json:"-"`
	// Source, if not nil, is what a process needs that measures the variant and does not have it in its list.
	Source any `json:"-"`
	// The constructors. A nil one means that there is no such element type; one
	// that returns ErrUnavailable says why the variant cannot run here.
	F32   func(Params) (Multiplier[float32], error)    `json:"-"`
	F64   func(Params) (Multiplier[float64], error)    `json:"-"`
	F16   func(Params) (Multiplier[half.F16], error)   `json:"-"`
	BF16  func(Params) (Multiplier[half.BF16], error)  `json:"-"`
	GF256 func(Params) (Multiplier[gf256.Elem], error) `json:"-"`
}

// BoundWith returns the bound on the error of a product in an element type with resolved parameters.
func (v Variant) BoundWith(typ string, p Params) Bound {
	if v.BoundOf != nil {
		return v.BoundOf(typ, p)
	}
	return v.Bound
}

// Family returns the part of the name before the slash.
func (v Variant) Family() string {
	family, _, _ := strings.Cut(v.Name, "/")
	return family
}

// Has reports whether v understands the parameter called name.
func (v Variant) Has(name string) bool {
	return slices.ContainsFunc(v.Params, func(q Param) bool { return q.Name == name })
}

// Types returns the names of the element types that v implements, in the order of reports.
func (v Variant) Types() []string {
	var types []string
	for _, t := range Types() {
		if ByType(t.Name, v.F64 != nil, v.F32 != nil, v.F16 != nil, v.BF16 != nil, v.GF256 != nil) {
			types = append(types, t.Name)
		}
	}
	return types
}

// Param describes one parameter of a variant. Its Default is an int or a string, and so are its values.
type Param struct {
	Name    string
	Doc     string
	Default any
	Min     int      // of an int
	Max     int      // of an int; 0: no limit
	Choices []string // of a string; nil: any
	// Refines, if not 0, is the least int of a parameter whose larger values, up to Max, give smaller bounds and take
	// longer, in proportion.
	Refines int
}

// check returns an ErrParam unless value is one that q can have.
func (q Param) check(value any) error {
	switch value := value.(type) {
	case int:
		if _, ok := q.Default.(int); !ok {
			return fmt.Errorf("%w: %s is %d, must be one of %s", ErrParam, q.Name, value, strings.Join(q.Choices, ", "))
		}
		if value < q.Min {
			return fmt.Errorf("%w: %s is %d, must be at least %d", ErrParam, q.Name, value, q.Min)
		}
		if q.Max > 0 && value > q.Max {
			return fmt.Errorf("%w: %s is %d, must be at most %d", ErrParam, q.Name, value, q.Max)
		}
	case string:
		if _, ok := q.Default.(string); !ok {
			return fmt.Errorf("%w: %s is %q, must be an integer", ErrParam, q.Name, value)
		}
		if q.Choices != nil && !slices.Contains(q.Choices, value) {
			return fmt.Errorf("%w: %s is %q, must be one of %s", ErrParam, q.Name, value, strings.Join(q.Choices, ", "))
		}
	default:
		return fmt.Errorf("%w: %s is a %T, must be an int or a string", ErrParam, q.Name, value)
	}
	return nil
}

// Params are values of parameters by name, an int or a string each.
type Params map[string]any

// Int returns the int called name. It panics if there is none: resolved
// parameters have every one that the variant understands.
func (p Params) Int(name string) int { return p[name].(int) }

// Text returns the string called name. It panics if there is none.
func (p Params) Text(name string) string { return p[name].(string) }

// String returns "name=value" for every parameter, sorted by name.
func (p Params) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, p[name]))
	}
	return strings.Join(parts, " ")
}

// Whole turns the numbers that a decoder of JSON has put into p into integers. The error is
// an ErrParam where a value is neither an integer nor a string. Package gemm imports no
// decoder itself, so that programs which only multiply have none.
func (p Params) Whole() error {
	for name, value := range p {
		switch x := value.(type) {
		case int, string:
			continue
		case float64:
			if x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
				p[name] = int(x)
				continue
			}
		}
		return fmt.Errorf("%w: %s is %v, must be an integer or a string", ErrParam, name, value)
	}
	return nil
}

// Resolve returns p with what it leaves out at v's defaults. The error is an ErrParam that names every parameter that v
// does not understand or that has a value it cannot have.
func (v Variant) Resolve(p Params) (Params, error) {
	resolved := make(Params, len(v.Params))
	for _, q := range v.Params {
		resolved[q.Name] = q.Default
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p)) {
		i := slices.IndexFunc(v.Params, func(q Param) bool { return q.Name == name })
		if i < 0 {
			errs = append(errs, fmt.Errorf("%w: %s has no %s", ErrParam, v.Name, name))
			continue
		}
		if err := v.Params[i].check(p[name]); err != nil {
			errs = append(errs, err)
			continue
		}
		resolved[name] = p[name]
	}
	return resolved, errors.Join(errs...)
}

// Model is the predicted cost of one product. It is the one source for memory
// checks, the roofline and the predicted ratios of the report.
type Model struct {
	// Flops counts the additions and multiplications that the algorithm executes
	// on elements: 2mnk for a classical one, fewer for a fast one.
	Flops float64
	// Accesses counts the elements that the loops as written load and store.
	Accesses float64
	// Workspace is the number of elements held besides the operands.
	Workspace float64
	// Traffic predicts the elements that move between memory and one cache with least-recently-used
	// replacement. cache is its size and line the size of its lines, both in elements.
	Traffic func(cache, line float64) float64
}
