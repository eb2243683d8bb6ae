package comm

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Now returns the time of this process's clock in seconds. It is CLOCK_MONOTONIC, which all processes of a host share.
func Now() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has this clock
	}
	return float64(t.Sec) + float64(t.Nsec)/1e9
}

// ClockName identifies the clock: processes with the same name read the same clock. A host has another clock after
// every boot, and another one in every time namespace.
func ClockName() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return privateClock()
	}
	namespace, err := os.Readlink("/proc/self/ns/time")
	if err != nil {
		namespace = "time" // a kernel without time namespaces
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
}
