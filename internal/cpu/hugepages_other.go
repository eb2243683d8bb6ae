//go:build !linux

package cpu

import "unsafe"

// HugePages does nothing: only Linux takes such advice.
func HugePages(unsafe.Pointer, uintptr) {}

// Untouched does nothing: only Linux says that such bytes stay zeros.
func Untouched(unsafe.Pointer, uintptr) {}
