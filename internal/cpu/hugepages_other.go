//go:build !linux

package cpu

import "unsafe"

// HugePages does nothing: only Linux takes such advice.
func HugePages(unsafe.Pointer, uintptr) {}
