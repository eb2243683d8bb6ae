//go:build !linux

package cpu

import "unsafe"

// HugePages does nothing: only Linux has this advice.
func HugePages(unsafe.Pointer, uintptr) {}

// Untouched does nothing: only on Linux do such pages become zeros.
func Untouched(unsafe.Pointer, uintptr) {}
