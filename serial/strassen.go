package serial

import (
	"maps"

	"gemm"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
	"gemm/internal/tuned"
)

// strassen halves all three dimensions at once. It computes the four quarters of C from seven products in place of
// eight (Strassen, Gaussian Elimination is not Optimal, Numerische Mathematik 13, 1969):
//
//	M₁ = (A₁₁ + A₂₂)·(B₁₁ + B₂₂)      M₅ = (A₁₁ + A₁₂)·B₂₂
//	M₂ = (A₂₁ + A₂₂)·B₁₁              M₆ = (A₂₁ − A₁₁)·(B₁₁ + B₁₂)
//	M₃ = A₁₁·(B₁₂ − B₂₂)              M₇ = (A₁₂ − A₂₂)·(B₂₁ + B₂₂)
//	M₄ = A₂₂·(B₂₁ − B₁₁)
//
//	C₁₁ = M₁ + M₄ − M₅ + M₇           C₁₂ = M₃ + M₅
//	C₂₁ = M₂ + M₄                     C₂₂ = M₁ − M₂ + M₃ + M₆
//
// A level saves an eighth of the multiplications and pays with 18 additions of
// quarters, five of A, five of B and eight of C. For n = 2^ℓ·n₀ that makes
//
//	7^ℓ·(2n₀³ + 6n₀²) − 6n²
//
// operations. With n₀ = 1 the exponent is log₂ 7 ≈ 2.81. The price is additions, which mostly move memory: (4·18 −
// 3)·(n/2)² elements per level if the quarters do not fit in cache (three products that are added to two quarters are
// read once). So the recursion ends at the cutoff, from which the leaf is faster.
//
// If the leaf is packed, the additions of the last level are folded into it. Its packing reads and writes every element
// of A and B anyway, and forms the sums on the way. A product is added to quarters of C while a cache has it (Huang,
// Smith, Henry and van de Geijn, Strassen's Algorithm Reloaded, SC16; see block.Engine.Sum). The remaining traffic is
// one element for each further term of a sum, and two for each further quarter of C: 26·(n/2)² in place of 69·(n/2)².
// The levels above keep temporaries. To fold two levels at once, as 49 products of sums of up to four blocks (Huang,
// Rice, Matthews and van de Geijn, IPDPS 2017), was slower by 3 to 7 % at n = 3072 to 6144: it streams all operands for
// every product, while the recursion stays in its temporaries.
//
// The workspace of a level is a sum of A, a sum of B and a product, each the size of a quarter: at
// most (mk + kn + mn)/3 elements in all. The folded level has only the product.
//
// The error is bounded by norms only: with k = 2^ℓ·k₀
//
//	|Ĉ − C| ≤ [12^ℓ·(k₀² + 5k₀) − 5k]·u·max|A|·max|B| + O(u²)
//
// (Higham, 2nd ed., theorem 23.2; Brent 1970). A classical product has k² in place of the bracket.
// An element of C that is small compared with max|A|·max|B| may have no correct digit. Inf or NaN
// in A or B spreads to quarters that do not contain it, and Inf − Inf makes NaN.
var strassen = algorithm{
	//   A₁₁ A₁₂ A₂₁ A₂₂         B₁₁ B₁₂ B₂₁ B₂₂         C₁₁ C₁₂ C₂₁ C₂₂
	{a: [4]int{0, 1, 0, -1}, b: [4]int{0, 0, 1, 1}, c: [4]int{1, 0, 0, 0}}, // M₇
	{a: [4]int{-1, 0, 1, 0}, b: [4]int{1, 1, 0, 0}, c: [4]int{0, 0, 0, 1}}, // M₆
	{a: [4]int{1, 0, 0, 1}, b: [4]int{1, 0, 0, 1}, c: [4]int{1, 0, 0, 1}},  // M₁
	{a: [4]int{0, 0, 1, 1}, b: [4]int{1, 0, 0, 0}, c: [4]int{0, 0, 1, -1}}, // M₂
	{a: [4]int{0, 0, 0, 1}, b: [4]int{-1, 0, 1, 0}, c: [4]int{1, 0, 1, 0}}, // M₄
	{a: [4]int{1, 0, 0, 0}, b: [4]int{0, 1, 0, -1}, c: [4]int{0, 1, 0, 1}}, // M₃
	{a: [4]int{1, 1, 0, 0}, b: [4]int{0, 0, 0, 1}, c: [4]int{-1, 1, 0, 0}}, // M₅
}

// strassenScheme returns what strassen costs and how its errors grow.
func strassenScheme() scheme {
	products := strassen.products()
	return scheme{
		algorithm:   strassen,
		temporaries: func(m, n, k int) int { return m*k + k*n + m*n },
		sums:        additionsOf(products),
		again:       3, // of M₁, M₄ and M₅
		grown:       func(g growth, k, u float64) growth { return grown(products, g, k, u) },
	}
}

func strassenVariant() gemm.Variant {
	return recursionVariant("serial/strassen", foldingLeaf,
		"Strassen's algorithm: seven products of halves in place of eight, 18 additions, down to the cutoff",
		[]gemm.Part{gemm.ReportLoops}, strassenScheme(), strassenCutoff(), divideOnce[float32], divideOnce[float64])
}

// NewStrassen returns serial/strassen with the leaf packed, on the workers of a loop.
func NewStrassen[T gemm.Float](loop Loop, cutoff int) Twofold[T] {
	return newRecursion(strassenScheme(), divideOnce[T], cutoff, Packed[T]{block.Host[T](loop)}, loop)
}

// StrassenModel predicts the costs of NewStrassen's product.
func StrassenModel(shape gemm.Shape, cutoff int, loop Loop) gemm.Model {
	leaf := func(s gemm.Shape) gemm.Model { return PackedModel(s, loop) }
	return strassenScheme().model(shape, cutoff, leaf, sumWorkspace(loop))
}

// StrassenBound returns the bound on the error of NewStrassen's product. Of the parameters it reads cutoff.
func StrassenBound() gemm.Bound { return strassenScheme().bound() }

// StrassenCutoff describes the parameter cutoff of NewStrassen with several workers; see SharedCutoff.
func StrassenCutoff() gemm.Param {
	p := cutoffParam(0, "harmonic mean of m, n and k of products that are not halved any more; 0: by the workers")
	p.Min = 0
	return p
}

// SharedCutoff returns the parameters with the cutoff that NewStrassen uses for the number of workers. If it is 0, it
// grows with that number: workers multiply that much faster, and memory, which limits the additions of a level, does
// not become faster with them. So where the cutoff of one worker was measured or is known, that of w workers is w
// times as large. On 16 cores of a Xeon, a level at n = 4096 takes 0.96, 0.96, 0.98, 1.07 and 1.41 of the time of
// packed with 1, 2, 4, 8 and 16 workers.
func SharedCutoff(p gemm.Params, workers int) gemm.Params {
	if p.Int("cutoff") > 0 {
		return p
	}
	p = maps.Clone(p)
	p["cutoff"] = tunedCutoff(strassenCutoff()) * workers
	return p
}

// fullWidth reports whether the vectors of the micro-kernels are those of AVX-512, with full-width
// units. A core that multiplies twice as fast waits for the same memory, so a level pays later.
func fullWidth() bool { return kernel.Best[float64]().Lanes > 4 && cpu.FullWidthAVX512() }

// strassenCutoff is the cutoff of strassen on a host that was not tuned. With vectors of AVX2, or
// with AVX-512 in two halves, strassen is faster than packed from n ≈ 500 on. A core of a Xeon
// gains nothing at 1024, and an eighth of the time at 2048.
func strassenCutoff() int {
	if fullWidth() {
		return 1200
	}
	return 500
}

// tunedCutoff returns the default cutoff of strassen and winograd: from gemm tune on this host, or
// else untuned. gemm tune measures strassen. Winograd's additions take another share of the time,
// and so do products on several workers; their cutoffs keep the ratio of the untuned ones. A
// variant has one default for both of its types. If they differ it is the larger one, at which
// neither loses. They seldom differ, since float32 halves the time of additions and products alike.
func tunedCutoff(untuned int) int {
	f64, _ := tuned.For("f64", kernel.Best[float64]().Name)
	f32, _ := tuned.For("f32", kernel.Best[float32]().Name)
	if cutoff := max(f64.Cutoff, f32.Cutoff); cutoff > 0 {
		return cutoff * untuned / strassenCutoff()
	}
	return untuned
}
