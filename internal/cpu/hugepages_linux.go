package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a transparent huge page on the processors we know.
const hugePage = 2 << 20

// HugePages asks the kernel to back the size bytes at p with huge pages where
// whole ones fit. It changes no contents and only helps memory that nobody has
// touched yet; a kernel that refuses is no error.
func HugePages(p unsafe.Pointer, size uintptr) {
	skip := -uintptr(p) & (hugePage - 1)
	if size < skip+hugePage {
		return
	}
	size = (size - skip) &^ (hugePage - 1)
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, skip)), size), unix.MADV_HUGEPAGE)
}
