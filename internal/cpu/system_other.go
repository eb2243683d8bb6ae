//go:build !linux

package cpu

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// Allowed returns the processors on which the calling thread may run, by the kernel's numbers; none if they are not
// known.
func Allowed() []int { return nil }

// Pin pins all threads of this process to the given processors, if the system can.
func Pin([]int) error { return nil }

// PinProcess is Pin for the process with the number.
func PinProcess(string, []int) error { return nil }

// PinThread pins the calling thread only. Only Linux can do that.
func PinThread([]int) error {
	return fmt.Errorf("cpu: a thread cannot be pinned on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// HugePages does nothing: only Linux has this advice.
func HugePages(unsafe.Pointer, uintptr) {}

// ReleasePages does nothing: only on Linux do such pages become zeros.
func ReleasePages(unsafe.Pointer, uintptr) {}

// Yield lets another thread that waits for this processor run, if the system has such a call.
func Yield() {}
