package gemm

import "errors"

// Errors that implementations return, wrapped with the values at fault.
var (
	// ErrShape: the operands are malformed or do not conform. Nothing was written.
	ErrShape = errors.New("gemm: shapes do not conform")
	// ErrOverlap: C has an element in common with A or B. Nothing was written.
	ErrOverlap = errors.New("gemm: operands overlap")
	// ErrUnavailable: the variant cannot run here; the text says why and what to do.
	ErrUnavailable = errors.New("gemm: unavailable")
	// ErrVariant: there is no variant with the name, or it does not compute the operation.
	ErrVariant = errors.New("gemm: bad variant")
	// ErrParam: a parameter is unknown or has a value that it cannot have.
	ErrParam = errors.New("gemm: bad parameter")
	// ErrBusy: the multiplier serves one product at a time and has one; the text names the
	// variant. Nothing was written.
	ErrBusy = errors.New("gemm: busy")
	// ErrType: the variant has no implementation for the element type.
	ErrType = errors.New("gemm: no such element type")
)

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
