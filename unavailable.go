package gemm

import (
	"errors"
	"fmt"
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

// Why returns the reason and the remedy.
func (u Unavailable) Why() string {
	if u.Remedy == "" {
		return u.Reason
	}
	return u.Reason + ": " + u.Remedy
}

// Error implements error.
func (u Unavailable) Error() string { return ErrUnavailable.Error() + ": " + u.Why() }

// Is reports whether target is ErrUnavailable.
func (u Unavailable) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the cause.
func (u Unavailable) Unwrap() error { return u.Cause }

// Why returns the text of err. If err is an Unavailable, the prefix is left out.
func Why(err error) string {
	var u Unavailable
	if errors.As(err, &u) && err.Error() == u.Error() { // it is not wrapped in other text
		return u.Why()
	}
	return err.Error()
}
