//go:build !linux

package cpu

// Allowed returns the processors that this process may run on; none where they are not
// known.
func Allowed() []int { return nil }

// Pin has all threads of this process run on the given processors only, where the
// system lets it.
func Pin([]int) error { return nil }
