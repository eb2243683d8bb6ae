//go:build !linux

package cpu

import (
	"errors"
	"fmt"
	"runtime"
)

// Allowed returns the processors that the calling thread may run on; none if they
// are not known.
func Allowed() []int { return nil }

// Pin has all threads of this process run on the given processors only, where the
// system lets it.
func Pin([]int) error { return nil }

// PinThread has the calling thread, and no other, run on the given processors only.
// Only Linux lets it.
func PinThread([]int) error {
	return fmt.Errorf("cpu: a thread cannot be pinned on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
