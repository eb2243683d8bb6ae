package cpu

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Allowed returns the processors on which the calling thread may run, by the kernel's numbers; none if they are not
// known.
func Allowed() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var cpus []int
	for i := range len(set) * strconv.IntSize {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

// Pin pins all threads of this process to the given processors, and so the threads and processes that they start later.
func Pin(cpus []int) error { return PinProcess("self", cpus) }

// PinProcess is Pin for the process with the number.
func PinProcess(pid string, cpus []int) error {
	set := mask(cpus)
	tasks, err := os.ReadDir("/proc/" + pid + "/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		// A thread may have ended in the meantime.
		if err := unix.SchedSetaffinity(id, &set); err != nil && err != unix.ESRCH {
			return err
		}
	}
	return nil
}

// PinThread pins the calling thread only. The goroutine must be locked to its thread. Before it unlocks, it must pin
// the thread to the processors of the process again: the next goroutine on this thread does not know about it.
func PinThread(cpus []int) error {
	set := mask(cpus)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("cpu: a thread cannot be pinned to processors %v: %w", cpus, err)
	}
	return nil
}

func mask(cpus []int) (set unix.CPUSet) {
	for _, i := range cpus {
		set.Set(i)
	}
	return set
}

// hugePage is the size of a transparent huge page on amd64.
const hugePage = 2 << 20

// HugePages asks the kernel to use huge pages for the size bytes at p, as far as they contain whole ones. It changes no
// contents, and only helps memory that has not been touched yet. If the kernel refuses, that is no error.
func HugePages(p unsafe.Pointer, size uintptr) {
	advise(p, size, hugePage, unix.MADV_HUGEPAGE)
}

// ReleasePages gives the whole pages among the size bytes of zeros at p back to the system. They stay zero: at the next
// access the system allocates other memory, on the NUMA node of the processor that accesses it first (first touch).
// Otherwise new memory of a Go program is often memory that another thread used before, on the node of that thread. On
// other systems nothing happens.
func ReleasePages(p unsafe.Pointer, size uintptr) {
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

// Yield lets another thread that waits for this processor run. If there is none, it returns at once.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
