package reference

import (
	"gemm"
	"gemm/internal/python"
)

// pythonVariant returns the variant of a library of Python with any number of threads, as its users call it.
func pythonVariant(with func(threads int) python.Library) gemm.Variant {
	l := with(1)
	return gemm.Variant{
		Name:   "reference/" + l.Name,
		Doc:    "the product of " + l.Title + ", called from Python, by the python3 found at run time",
		Role:   gemm.Library,
		Class:  gemm.Tuned,
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

// aloneVariant returns the textbook loops in Python, which computes in f64 only.
func aloneVariant() gemm.Variant {
	return gemm.Variant{
		Name:    "reference/python",
		Doc:     "the definition in Python: three loops over lists, for at most 256*256*256 terms",
		Role:    gemm.Program,
		Class:   gemm.Interpreted,
		Can:     gemm.Explains | gemm.Warns | ownCan,
		Model:   aloneModel,
		Accepts: python.Plain().Accepts,
		Bound:   gemm.Classical,
		F64: func(gemm.Params) (gemm.Multiplier[float64], error) {
			return python.New[float64](python.Plain())
		},
	}
}

// aloneModel counts the elements that the loops name. Each element is a pointer to an object of 24 bytes. The
// traffic is not known: it depends on where the objects lie.
func aloneModel(s gemm.Shape, _ gemm.Params) gemm.Model {
	m, n, k := float64(s.M), float64(s.N), float64(s.K)
	return gemm.Model{Flops: 2 * m * n * k, Accesses: 2*m*n*k + m*n, Workspace: 4 * (m*k + k*n + m*n)}
}
