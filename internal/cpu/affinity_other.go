//go:build !linux

package cpu

import (
	"errors"
	"fmt"
	"runtime"
)

// Allowed returns the processors on which the calling thread may run, by the kernel's numbers; none if they are not known.
func Allowed() []int { return nil }

// Pin pins all threads of this process to the given processors, if the system can.
func Pin([]int) error { return nil }

// PinThread pins the calling thread only. Only Linux can do that.
func PinThread([]int) error {
	return fmt.Errorf("cpu: a thread cannot be pinned on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
