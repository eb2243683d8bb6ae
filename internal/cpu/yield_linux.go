package cpu

import "golang.org/x/sys/unix"

// Yield lets another thread that waits for this processor run. If there is none, it returns at once.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
