package gemm

import (
	"context"

	"gonum.org/v1/gonum/blas"
)

// The optional interfaces of a Multiplier.

// Gemmer computes the full BLAS operation C ← α·op(A)·op(B) + β·C, where op(X) is X (blas.NoTrans)
// or its transpose (blas.Trans, blas.ConjTrans). Shapes are op(A) m×k, op(B) k×n and C m×n; errors
// are the same as for a Multiplier. If β = 0, C is not read, so NaN there does not spread. If α = 0
// or k = 0, A and B are not read.
//
// α multiplies the sums of products. If |α| ≤ 2²⁴, the sums lose by underflow at most the least
// normal number per term, and a sum that overflows stays infinite. If |α| > 2²⁴ or |α| < 2⁻²⁴, then
// serial/packed, parallel/packed and the variants of mpi multiply one operand by a power of two of
// α first. So underflow and overflow occur only if the result itself is out of range.
type Gemmer[T Float] interface {
	Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b Matrix[T], beta T, c Matrix[T]) error
}

// Stager is a Multiplier whose operands live elsewhere, on other ranks or on a device. Stage places
// them there; the Run then computes the product as often as required. Measurements use a Stager in
// place of Multiply.
//
// All ranks make the same calls. On ranks other than the root, c, a and b are empty. If a context is
// cancelled, all ranks agree on that.
type Stager[T Element] interface {
	Stage(ctx context.Context, c, a, b Matrix[T]) (Run, error)
}

// GemmStager is implemented by a Stager that stages the full BLAS operation too. Each Do of
// the Run begins with the c that was staged.
type GemmStager[T Float] interface {
	StageGemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b Matrix[T], beta T, c Matrix[T]) (Run, error)
}

// Toucher is a Multiplier whose workers use the same parts of the operands in every product. In Touch
// each worker writes zeros to its parts. The matrices hold zeros and have not been accessed before,
// so the system places the pages on the NUMA node of the worker (first touch).
type Toucher[T Element] interface {
	Touch(c, a, b Matrix[T])
}

// Loadable is implemented by multipliers whose parts can be given unequal work, for experiments on
// schedules.
type Loadable[T Element] interface {
	// Loaded returns the multiplier under an artificial load: it computes the first part of a
	// product once, the last part 1+load times, and the parts between in proportion. It shares
	// everything else with the receiver.
	Loaded(load int) Multiplier[T]
}

// Explainer is a Multiplier that chooses something at run time. Resolved returns the parameters of
// the last product as they were used: auto is replaced by a value, a library by its version. The
// record has them next to the requested parameters.
type Explainer interface {
	Resolved() Params
}

// Warner is implemented by a Multiplier that knows why its speed says little of it.
// Every warning is one sentence; they are kept in the row.
type Warner interface{ Warnings() []string }

// The optional interfaces of a Run.

// Repeater is a Run that computes its product several times on one request, and returns the cost of
// all of them. It is for products in other processes that are too short to be timed one by one.
type Repeater interface {
	Repeat(ctx context.Context, times int) (Cost, error)
}

// Distributed is implemented by a Run whose product several processes compute.
type Distributed interface {
	// Distribution returns what they did in the last product.
	Distribution() Distribution
}

// OnDevice is implemented by a Run whose product a GPU computes.
type OnDevice interface {
	// Device returns what the kernel took of the GPU, and how that ran in the samples.
	Device() Device
}
