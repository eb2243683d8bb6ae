package gemm

import (
	"errors"
	"fmt"
	"sync/atomic"
)

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

// Unavailable is the error of what cannot run here. errors.Is finds ErrUnavailable in it.
type Unavailable struct {
	Reason string // what is missing or too much
	Remedy string // what to do about it; empty: nothing is known
	Cause  error  // that errors.Is finds too; may be nil
}

// Unavailablef returns an Unavailable without a remedy. An error among the arguments of %w is the cause.
func Unavailablef(format string, args ...any) Unavailable {
	err := fmt.Errorf(format, args...)
	return Unavailable{Reason: err.Error(), Cause: errors.Unwrap(err)}
}

// WithRemedy returns u with a remedy.
func (u Unavailable) WithRemedy(format string, args ...any) Unavailable {
	u.Remedy = fmt.Sprintf(format, args...)
	return u
}

// Error returns the reason and the remedy.
func (u Unavailable) Error() string {
	if u.Remedy == "" {
		return u.Reason
	}
	return u.Reason + ": " + u.Remedy
}

// Is reports whether target is ErrUnavailable.
func (u Unavailable) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the cause.
func (u Unavailable) Unwrap() error { return u.Cause }

// Exclusive admits one product at a time to a Multiplier of the second kind, one that uses something that exists
// once. The zero value is free.
type Exclusive struct{ held atomic.Bool }

// Enter begins a product of the variant, which ends with Leave. The error is an ErrBusy
// if another product has begun and not ended.
func (f *Exclusive) Enter(variant string) error {
	if f.held.CompareAndSwap(false, true) {
		return nil
	}
	return fmt.Errorf("%w: %s has one product at a time, and another goroutine has begun one: "+
		"make a multiplier for each goroutine, or call one after the other", ErrBusy, variant)
}

// Leave ends a product.
func (f *Exclusive) Leave() { f.held.Store(false) }
