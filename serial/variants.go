package serial

import (
	"embed"
	"slices"

	"gemm"
)

// files are the pseudo-code of the variants.
//
//go:embed *.txt
var files embed.FS

// Variants returns the serial variants in the order of the ladder. The study of loop orders follows.
func Variants() []gemm.Variant {
	return gemm.WithPseudocode(files, slices.Concat(loopNests(),
		[]gemm.Variant{divideVariant(), quadrantsVariant(), strassenVariant(), winogradVariant()}, production(),
		[]gemm.Variant{loopsVariant()}))
}

func loopNests() []gemm.Variant {
	return []gemm.Variant{
		naiveVariant(),
		ikjVariant(),
		transposedVariant(),
		unrolledVariant(),
		hintedVariant(),
		blockedVariant(),
	}
}

func production() []gemm.Variant { return []gemm.Variant{packedVariant(), gonumVariant()} }

// leaves returns the variants that a recursion can end in.
func leaves() []gemm.Variant { return append(loopNests(), production()...) }

// Find returns the variant of the list that is called name, and its parameters at their defaults. It panics if there is
// none: the check of a parameter has found it.
func Find(list []gemm.Variant, name string) (gemm.Variant, gemm.Params) {
	v, err := gemm.Lookup(list, name)
	if err != nil {
		panic(err)
	}
	p, err := v.Resolve(nil)
	if err != nil {
		panic(err) // the defaults of a variant are valid
	}
	return v, p
}

// leafModel returns the model of the leaf called name, with its defaults.
func leafModel(name string) func(gemm.Shape) gemm.Model {
	leaf, p := Find(leaves(), name)
	return func(s gemm.Shape) gemm.Model { return leaf.Model(s, p) }
}

func newLeaf[T gemm.Float](name string) (leaf[T], error) {
	v, p := Find(leaves(), name)
	m, err := gemm.New[T](v, p)
	if err != nil {
		return nil, err
	}
	return m.(leaf[T]), nil
}

// leafParam describes the parameter leaf of a recursion.
func leafParam(standard string) gemm.Param {
	var names []string
	for _, v := range leaves() {
		names = append(names, v.Name)
	}
	return gemm.Param{
		Name: "leaf", Default: standard, Choices: names,
		Doc: "variant that computes the leaves of the recursion, with its defaults",
	}
}

// cutoffParam describes the parameter cutoff of a recursion.
func cutoffParam(standard int, doc string) gemm.Param {
	return gemm.Param{Name: "cutoff", Default: standard, Min: 1, Doc: doc}
}
