package cpu

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a transparent huge page on amd64.
const hugePage = 2 << 20

// HugePages asks the kernel to use huge pages for the size bytes at p, as far as they contain whole ones. It changes no
// contents, and only helps memory that has not been touched yet. If the kernel refuses, that is no error.
func HugePages(p unsafe.Pointer, size uintptr) {
	advise(p, size, hugePage, unix.MADV_HUGEPAGE)
}

// Untouched gives the whole pages among the size bytes of zeros at p back to the system. They stay zero: at the next access
// the system allocates other memory, on the NUMA node of the processor that accesses it first (first
// touch). Otherwise new memory of a Go program is often memory that another thread used before, on the
// node of that thread. On other systems nothing happens.
func Untouched(p unsafe.Pointer, size uintptr) {
	advise(p, size, uintptr(os.Getpagesize()), unix.MADV_DONTNEED)
}

// advise calls madvise for the whole pages of that size among the size bytes at p.
func advise(p unsafe.Pointer, size, page uintptr, advice int) {
	skip := -uintptr(p) & (page - 1)
	if size < skip+page {
		return
	}
	size = (size - skip) &^ (page - 1)
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, skip)), size), advice)
}
