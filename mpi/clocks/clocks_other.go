//go:build !linux

package clocks

import (
	"fmt"
	"os"
	"time"
)

var begun = time.Now()

// Now returns the time of this process's clock in seconds.
func Now() float64 { return time.Since(begun).Seconds() }

// Name identifies the clock: processes with the same name read the same. Here every process has its own.
func Name() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s %d", host, os.Getpid())
}
