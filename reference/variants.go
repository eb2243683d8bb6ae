package reference

import (
	"embed"
	"math"

	"gemm"
	"gemm/internal/pseudocode"
	"gemm/internal/python"
)

// files are the pseudo-code of the variants.
//
//go:embed *.txt
var files embed.FS

// Variants returns the libraries in report order. The BLAS libraries compute products and the whole
// of gemm.Gemmer, in f32 and f64; libxsmm and Accelerate compute products, on one thread, and so do
// NumPy and PyTorch, on any; the next library computes products in GF(2⁸); textbook
// programs in C and in Python follow.
func Variants() []gemm.Variant {
	var out []gemm.Variant
	for _, l := range []*library{openBLAS, mkl, blis} {
		out = append(out, gemm.Variant{
			Name:   "reference/" + l.name,
			Doc:    "the product of " + l.Title + ", found at run time",
			Role:   gemm.Library,
			Can:    gemm.Gemms | gemm.Explains | gemm.Warns | ownCan,
			Params: []gemm.Param{{Name: "threads", Doc: "threads that the library may use", Default: 1, Min: 1}},
			Model:  model,
			Bound:  gemm.Classical,
			F32: func(p gemm.Params) (gemm.Multiplier[float32], error) {
				return newMultiplier[float32](l, p.Int("threads"))
			},
			F64: func(p gemm.Params) (gemm.Multiplier[float64], error) {
				return newMultiplier[float64](l, p.Int("threads"))
			},
		})
	}
	out = append(out, productOnly(libxsmm), productOnly(accelerate),
		pythonVariant(python.NumPy), pythonVariant(python.Torch), reedSolomonVariant())
	return pseudocode.Add(files, append(append(out, programVariants()...), aloneVariant()))
}

// productOnly returns the variant of a library that computes C = A·B on one thread.
func productOnly(l *library) gemm.Variant {
	return gemm.Variant{
		Name:    "reference/" + l.name,
		Doc:     "the product of " + l.Title + ", found at run time",
		Role:    gemm.Library,
		Can:     gemm.Explains | gemm.Warns | ownCan,
		Model:   func(s gemm.Shape, _ gemm.Params) gemm.Model { return model(s, gemm.Params{"threads": 1}) },
		Accepts: l.accepts,
		Bound:   gemm.Classical,
		F32:     func(gemm.Params) (gemm.Multiplier[float32], error) { return newProduct[float32](l) },
		F64:     func(gemm.Params) (gemm.Multiplier[float64], error) { return newProduct[float64](l) },
	}
}

// newProduct returns the product of l without the rest of gemm.Gemmer.
func newProduct[T gemm.Float](l *library) (gemm.Multiplier[T], error) {
	type here interface {
		gemm.Multiplier[T]
		gemm.Explainer
		Warnings() []string
	}
	type away interface {
		here
		gemm.Stager[T]
	}
	m, err := newMultiplier[T](l, 1)
	if err != nil {
		return nil, err
	}
	if m, ok := m.(away); ok {
		return struct{ away }{m}, nil
	}
	return struct{ here }{m.(here)}, nil
}

// ownCan are the capabilities of a library that there is a process for.
const ownCan = gemm.Stages | gemm.Repeats

// model predicts what any blocked product costs, since the loops of a library are not known: the
// operands once, and with a cache of S elements 2mnk/√S elements between the cache and the next
// level (Smith, Lowery, Langou, van de Geijn, A Tight I/O Lower Bound for Matrix Multiplication,
// arXiv:1702.02017). Accesses are the same with the registers as the cache. The workspace is that
// of OpenBLAS, 32 MiB per thread, and a copy of the operands in the library's own process.
func model(s gemm.Shape, p gemm.Params) gemm.Model {
	mf, nf, kf := float64(s.M), float64(s.N), float64(s.K)
	const (
		registers = 128 // elements: 16 registers of 8 or 32 of 4
		buffer    = 4 << 20
	)
	traffic := func(cache, _ float64) float64 {
		once := mf*kf + kf*nf + 2*mf*nf
		if once <= cache {
			return once
		}
		return once + 2*mf*nf*kf/math.Sqrt(cache)
	}
	return gemm.Model{
		Flops:     2 * mf * nf * kf,
		Accesses:  traffic(registers, 1),
		Workspace: float64(buffer*p.Int("threads")) + mf*kf + kf*nf + mf*nf,
		Traffic:   traffic,
	}
}
