//go:build !linux

package launch

// EndStarters does nothing on systems other than Linux.
func EndStarters() {}
