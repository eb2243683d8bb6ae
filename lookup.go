package gemm

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Lookup returns the variant with the name. The error is an ErrVariant that lists the variants of the
// same family or with the same algorithm, or all if there are none.
func Lookup(variants []Variant, name string) (Variant, error) {
	var all, alike []string
	family, _, _ := strings.Cut(name, "/")
	algorithm := "/" + name[strings.LastIndex(name, "/")+1:]
	for _, v := range variants {
		if v.Name == name {
			return v, nil
		}
		all = append(all, v.Name)
		if v.Family() == family || strings.HasSuffix(v.Name, algorithm) {
			alike = append(alike, v.Name)
		}
	}
	if alike == nil {
		alike = all
	}
	return Variant{}, fmt.Errorf("%w %q: the list has %s", ErrVariant, name, cmp.Or(strings.Join(alike, ", "), "none"))
}

// New returns v's implementation for T with the parameters p, those left out at
// their defaults. The error is ErrParam, ErrType or ErrUnavailable.
func New[T Element](v Variant, p Params) (Multiplier[T], error) {
	p, err := v.Resolve(p)
	if err != nil {
		return nil, err
	}
	name := TypeOf[T]().Name
	missing := ByType(name, v.F64 == nil, v.F32 == nil, v.F16 == nil, v.BF16 == nil, v.GF256 == nil)
	if missing {
		return nil, fmt.Errorf("%w: %s has no %s, only %s", ErrType, v.Name, name, strings.Join(v.Types(), ", "))
	}
	return ByType[any](name, v.F64, v.F32, v.F16, v.BF16, v.GF256).(func(Params) (Multiplier[T], error))(p)
}

// NewGemmer is New for the full BLAS operation. The error is an ErrVariant if v computes C = A·B only.
func NewGemmer[T Number](v Variant, p Params) (Gemmer[T], error) {
	m, err := New[T](v, p)
	if err != nil {
		return nil, err
	}
	g, ok := m.(Gemmer[T])
	if !ok || !v.Can.Has(Gemms) {
		return nil, fmt.Errorf("%w: %s computes C = A·B only; serial/packed and parallel/packed compute the whole "+
			"operation", ErrVariant, v.Name)
	}
	return g, nil
}

// WithPseudocode sets the Pseudocode of the variants from text files with the names of the algorithms, such as
// naive.txt for serial/naive, and returns the variants. If the first line begins with a brace, it is About. A variant
// without a file is unchanged.
func WithPseudocode(files fs.FS, variants []Variant) []Variant {
	for i := range variants {
		v := &variants[i]
		if text, err := fs.ReadFile(files, path.Base(v.Name)+".txt"); err == nil {
			v.Pseudocode = string(text)
			if strings.HasPrefix(v.Pseudocode, "{") {
				v.About, v.Pseudocode, _ = strings.Cut(v.Pseudocode, "\n")
			}
		}
	}
	return variants
}
