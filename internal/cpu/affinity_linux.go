package cpu

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Allowed returns the processors on which the calling thread may run, by the kernel's numbers; none if they are not known.
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
