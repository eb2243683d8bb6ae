//go:build !linux

package cpu

// Yield lets another thread that waits for this processor run, if the system has such a call.
func Yield() {}
