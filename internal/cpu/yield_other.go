//go:build !linux

package cpu

// Yield lets another thread that waits for this processor run, where the system can be
// asked for it.
func Yield() {}
