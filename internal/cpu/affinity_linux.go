package cpu

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Allowed returns the processors that the calling thread may run on, by the kernel's
// numbers; none where they are not known.
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

// Pin has all threads of this process run on the given processors only, and with them
// the threads and processes that they start from then on.
func Pin(cpus []int) error {
	set := mask(cpus)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		// A thread may have ended since.
		if err := unix.SchedSetaffinity(id, &set); err != nil && err != unix.ESRCH {
			return err
		}
	}
	return nil
}

// PinThread has the calling thread, and no other, run on the given processors only. The
// goroutine that calls it must be locked to its thread, and, before it is unlocked, pin
// the thread to where the threads of the process run: whose goroutine runs there next
// knows nothing of it.
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
