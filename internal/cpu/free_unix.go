//go:build unix && !illumos && !solaris && !aix

package cpu

import "golang.org/x/sys/unix"

// Free returns the free bytes of the file system of the folder; 0 if they are not known.
func Free(folder string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // the types differ between systems
}
