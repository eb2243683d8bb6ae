//go:build unix && !illumos && !solaris && !aix

package cpu

import "golang.org/x/sys/unix"

// Free returns the bytes that a file in the folder may take; 0 if that is not known.
func Free(folder string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // the types differ between systems
}
