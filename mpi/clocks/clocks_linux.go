package clocks

import (
	"fmt"
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

// Name identifies the clock: processes with the same name read the same. A host has another clock
// after every boot, and another in every time namespace.
func Name() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return unknown()
	}
	space, err := os.Readlink("/proc/self/ns/time")
	if err != nil {
		space = "time" // a kernel without time namespaces
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// unknown is the name of a clock that nobody else is known to read.
func unknown() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s %d", host, os.Getpid())
}
