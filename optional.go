package gemm

import (
	"context"

	"gonum.org/v1/gonum/blas"
)

// The optional interfaces of a Multiplier.

// Gemmer is the full BLAS operation C ← α·op(A)·op(B) + β·C, where op(X) is X
// (blas.NoTrans) or its transpose (blas.Trans, blas.ConjTrans). β = 0 does not
// read C, so that NaN there does not spread; α = 0 or k = 0 does not read A and
// B. Shapes are those of op(A) (m×k), op(B) (k×n) and C (m×n), errors those of
// a Multiplier.
//
// α multiplies the sums of products. What they lose by underflow is, with |α| ≤ 2²⁴, no more
// than the least normal number a term; what overflows stays infinite. With |α| above 2²⁴ or
// below 2⁻²⁴ serial/packed, parallel/packed and mpi's multiply an operand by a power of two
// of α, so that both happen only where the result itself is beyond the range.
type Gemmer[T Float] interface {
	Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b Matrix[T], beta T, c Matrix[T]) error
}

// Stager is implemented where operands live elsewhere, on other ranks or on a
// device. Stage places them; the Run then does the product as often as it is
// asked to. On ranks other than the root c, a and b are empty, and every rank
// makes the same calls; a cancelled context is agreed on by all ranks.
// Measuring uses a Stager in place of Multiply where there is one.
type Stager[T Element] interface {
	Stage(ctx context.Context, c, a, b Matrix[T]) (Run, error)
}

// GemmStager is implemented by a Stager that stages the full BLAS operation too. Each Do of
// the Run begins with the c that was staged.
type GemmStager[T Float] interface {
	StageGemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b Matrix[T], beta T, c Matrix[T]) (Run, error)
}

// Toucher is implemented by a Multiplier whose workers use the same parts of the
// operands in every product. Touch has each of them write zeros to its parts of
// matrices that hold zeros and that nobody has accessed, so that the system puts them
// into the memory of the node that the worker runs on.
type Toucher[T Element] interface {
	Touch(c, a, b Matrix[T])
}

// Loadable is implemented by multipliers whose parts can be given unequal work, for experiments on
// schedules.
type Loadable[T Element] interface {
	// Loaded returns the multiplier under an artificial load: it computes the first part of a
	// product once and the last one 1+load times, those between them in proportion. It shares
	// everything else with the receiver.
	Loaded(load int) Multiplier[T]
}

// Explainer is implemented by a Multiplier that chose something at run time.
// Resolved returns the parameters as they were used in the last product (auto
// has become a value, a library its version); they are kept in the record
// beside those that were asked for.
type Explainer interface {
	Resolved() Params
}

// Warner is implemented by a Multiplier that knows why its speed says little of it.
// Every warning is one sentence; they are kept in the row.
type Warner interface{ Warnings() []string }

// The optional interfaces of a Run.

// Repeater is implemented by a Run that computes its product several times on
// one request and returns what that cost together: calls that are too short to be
// timed one by one, elsewhere than in this process.
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
