// Package optional is the interfaces by which a multiplier lets a measurement do more than multiply.
// A variant declares those that its multipliers have (gemm.Capabilities).
package optional

import (
	"context"
	"gemm/compare/note"

	"gemm"
)

// Toucher is a gemm.Multiplier whose workers use the same parts of the operands in every product. In
// Touch each worker writes zeros to its parts. The matrices hold zeros and have not been accessed
// before, so the system places the pages on the NUMA node of the worker (first touch).
type Toucher[T gemm.Element] interface {
	Touch(c, a, b gemm.Matrix[T])
}

// Loadable is implemented by multipliers whose parts can be given unequal work, for experiments on
// schedules.
type Loadable[T gemm.Element] interface {
	// Loaded returns the multiplier under an artificial load: it computes the first part of a
	// product once, the last part 1+load times, and the parts between in proportion. It shares
	// everything else with the receiver.
	Loaded(load int) gemm.Multiplier[T]
}

// Chainer is implemented by multipliers that compute iterated products where their operands lie.
type Chainer[T gemm.Element] interface {
	// StageChain stages the operands of an iterated product of square matrices, as verify.Chain defines it: in each of
	// the steps s ← s + b, then c ← a·s, and c and a change places. Each Do of the Run begins with the operands as they
	// were staged, and its time is that of all steps. Collect brings the result into c.
	StageChain(ctx context.Context, steps int, c, a, s, b gemm.Matrix[T]) (gemm.Run, error)
}

// Warner is implemented by a gemm.Multiplier that knows why its speed says little of it.
// Every warning is one sentence; they are kept in the row.
type Warner interface{ Warnings() []note.Note }

// Repeater is a gemm.Run that computes its product several times on one request, and returns the
// cost of all of them. It is for products in other processes that are too short to be timed one by one.
type Repeater interface {
	Repeat(ctx context.Context, times int) (gemm.Cost, error)
}

// Unsuited is the error of a product that a variant is not made for. Its row is skipped.
type Unsuited struct{ Reason string }

// Error implements error.
func (u Unsuited) Error() string { return u.Reason }

// Wrong is the error of a product whose result is not that of its operands.
type Wrong struct{ Reason string }

// Error implements error.
func (w Wrong) Error() string { return w.Reason }

// Suspect is the error of a product whose time cannot be true.
type Suspect struct{ Reason string }

// Error implements error.
func (s Suspect) Error() string { return s.Reason }
