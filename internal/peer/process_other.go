//go:build !linux

package peer

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// errNoProcess: only Linux ends a stopped process together with the process that started it.
var errNoProcess = errors.New("libraries have processes of their own on Linux only, not on " + runtime.GOOS)

// Program returns an error: there are no such processes on this system.
func Program() (string, error) { return "", errNoProcess }

// Process is a process that answers requests: there is none on this system.
type Process struct {
	pid   int
	limit time.Duration
}

func start(*exec.Cmd, syscall.Signal) (*Process, error) { return nil, errNoProcess }

func (*Process) clocks() clocks { return clocks{} }

// Ended returns true.
func (*Process) Ended() bool { return true }

// Kill does nothing.
func (*Process) Kill() {}

func (*Process) exchange(context.Context, string, [][]byte, [][]byte, int) (string, clocks, error) {
	return "", clocks{}, errNoProcess
}
