//go:build unix

package peak

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// allocate returns zeroed memory of the given bytes, rounded down to whole elements. No thread has touched it
// before; memory of the heap may be on the NUMA node of its last user.
func allocate(bytes int) (memory []float64, free func(), err error) {
	pages, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(pages))), bytes/8),
		func() { _ = unix.Munmap(pages) }, nil
}
