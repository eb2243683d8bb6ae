package cpu

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a transparent huge page on the processors we know.
const hugePage = 2 << 20

// HugePages asks the kernel to back the size bytes at p with huge pages where
// whole ones fit. It changes no contents and only helps memory that nobody has
// touched yet; a kernel that refuses is no error.
func HugePages(p unsafe.Pointer, size uintptr) {
	advise(p, size, hugePage, unix.MADV_HUGEPAGE)
}

// Untouched gives the memory behind the size bytes of zeros at p back to the system
// where they fill whole pages. They stay zeros: the system finds other memory when
// they are accessed next, near to the processor that does it first. Memory that a
// program is given anew is often memory that another part of it has used, and lies
// where that ran. Without such a system nothing happens.
func Untouched(p unsafe.Pointer, size uintptr) {
	advise(p, size, uintptr(os.Getpagesize()), unix.MADV_DONTNEED)
}

// advise advises on the whole pages of that size among the size bytes at p.
func advise(p unsafe.Pointer, size, page uintptr, advice int) {
	skip := -uintptr(p) & (page - 1)
	if size < skip+page {
		return
	}
	size = (size - skip) &^ (page - 1)
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, skip)), size), advice)
}
