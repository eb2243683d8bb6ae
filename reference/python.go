package reference

import (
	"gemm"
	"gemm/internal/python"
)

// pythonVariant returns the variant of a library of Python with any number of threads, as its users call
// it.
func pythonVariant(with func(threads int) python.Library) gemm.Variant {
	l := with(1)
	return gemm.Variant{
		Name:   "reference/" + l.Name,
		Doc:    "the product of " + l.Title + ", called from Python, by the python3 found at run time",
		Role:   gemm.Library,
		Can:    gemm.Explains | gemm.Warns | ownCan,
		Params: []gemm.Param{{Name: "threads", Doc: "threads that the library may use", Default: 1, Min: 1}},
		Model:  model,
		Least:  python.Least,
		Bound:  gemm.Classical,
		F32: func(p gemm.Params) (gemm.Multiplier[float32], error) {
			return python.New[float32](with(p.Int("threads")))
		},
		F64: func(p gemm.Params) (gemm.Multiplier[float64], error) {
			return python.New[float64](with(p.Int("threads")))
		},
	}
}
