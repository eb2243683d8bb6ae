package reference

import (
	"context"
	"embed"
	"math"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/note"
	"gemm/internal/peer"
	"gemm/internal/python"
)

// files are the pseudo-code of the variants.
//
//go:embed *.txt
var files embed.FS

// Variants returns the libraries in report order. The BLAS libraries compute products and the whole of gemm.Gemmer, in
// f32 and f64; libxsmm and Accelerate compute products, on one thread, and so do NumPy and PyTorch, on any; the next
// library computes products in GF(2⁸); textbook programs in C and in Python follow.
func Variants() []gemm.Variant {
	var out []gemm.Variant
	for _, l := range []*library{openBLAS, mkl, blis} {
		out = append(out, gemm.Variant{
			Name:   "reference/" + l.name,
			Doc:    "the product of " + l.Title + ", found at run time",
			Role:   gemm.Library,
			Class:  gemm.Tuned,
			Can:    gemm.Gemms | gemm.Explains | gemm.Warns | libraryCan,
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
	out = append(out, productOnly(libxsmm), pythonVariant(python.NumPy), pythonVariant(python.Torch),
		productOnly(accelerate), reedSolomonVariant())
	return gemm.WithPseudocode(files, append(append(out, programVariants()...), aloneVariant()))
}

// productOnly returns the variant of a library that computes C = A·B on one thread.
func productOnly(l *library) gemm.Variant {
	return gemm.Variant{
		Name:    "reference/" + l.name,
		Doc:     "the product of " + l.Title + ", found at run time",
		Role:    gemm.Library,
		Class:   gemm.Tuned,
		Can:     gemm.Explains | gemm.Warns | libraryCan,
		Model:   func(s gemm.Shape, _ gemm.Params) gemm.Model { return model(s, gemm.Params{"threads": 1}) },
		Accepts: l.accepts,
		Bound:   gemm.Classical,
		F32:     func(gemm.Params) (gemm.Multiplier[float32], error) { return newProduct[float32](l) },
		F64:     func(gemm.Params) (gemm.Multiplier[float64], error) { return newProduct[float64](l) },
	}
}

// newProduct returns the product of l without the rest of gemm.Gemmer.
func newProduct[T gemm.Float](l *library) (gemm.Multiplier[T], error) {
	m, err := newMultiplier[T](l, 1)
	if err != nil {
		return nil, err
	}
	if m, ok := m.(stagedProduct[T]); ok {
		return productsOnly[T]{m}, nil
	}
	return struct{ local[T] }{m.(local[T])}, nil
}

// local is a product in this process, without the rest of gemm.Gemmer.
type local[T gemm.Float] interface {
	gemm.Multiplier[T]
	gemm.Explainer
	Warnings() []note.Note
}

// stagedProduct is a product in a process of the library's own.
type stagedProduct[T gemm.Float] interface {
	local[T]
	gemm.Stager[T]
	gemm.BatchStager[T]
}

// productsOnly is stagedProduct without the rest of gemm.Gemmer.
type productsOnly[T gemm.Float] struct{ stagedProduct[T] }

// StageBatch implements gemm.BatchStager for products C = A·B.
func (x productsOnly[T]) StageBatch(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Batch[T], beta T,
	c gemm.Batch[T]) (gemm.Run, error) {
	if _, _, _, err := gemm.CheckBatch(tA, tB, a, b, c); err != nil {
		return nil, err
	}
	if tA != blas.NoTrans || tB != blas.NoTrans || alpha != 1 || beta != 0 {
		return nil, gemm.Unavailablef("this library computes C = A·B only, without transposes, α and β")
	}
	return x.stagedProduct.StageBatch(ctx, tA, tB, alpha, a, b, beta, c)
}

// ownCan are the capabilities of a library that there is a process for.
const ownCan = gemm.Stages | gemm.Repeats

// libraryCan are the capabilities of a BLAS library, which computes batches in its process too.
const libraryCan = ownCan | gemm.BatchStages

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
		Workspace: float64(buffer*p.Int("threads")) + peer.Workspace(mf, nf, kf),
		Traffic:   traffic,
	}
}
