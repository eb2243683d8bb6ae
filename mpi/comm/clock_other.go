//go:build !linux

package comm

import "time"

var begun = time.Now()

// Now returns the time of this process's clock in seconds.
func Now() float64 { return time.Since(begun).Seconds() }

// ClockName identifies the clock: processes with the same name read the same clock. Here every process has its own.
func ClockName() string { return privateClock() }
