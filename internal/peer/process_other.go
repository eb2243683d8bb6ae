//go:build !linux

package peer

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"syscall"
)

// errNoProcess: a process that is stopped is told of the end of the one that started
// it on Linux only.
var errNoProcess = errors.New("libraries have processes of their own on Linux only, not on " + runtime.GOOS)

// Program returns an error: there are no such processes on this system.
func Program() (string, error) { return "", errNoProcess }

// Process is a process that answers requests: there is none on this system.
type Process struct{ pid int }

// Start returns an error: there are no such processes on this system.
func Start(*exec.Cmd) (*Process, error) { return nil, errNoProcess }

// PID returns 0.
func (*Process) PID() int { return 0 }

func start(cmd *exec.Cmd, _ syscall.Signal) (*Process, error) { return Start(cmd) }

func (*Process) clocks() clocks { return clocks{} }

// Ended returns true.
func (*Process) Ended() bool { return true }

// Kill does nothing.
func (*Process) Kill() {}

// Ask returns an error.
func (*Process) Ask(context.Context, string, func(io.Writer) error, func(io.Reader) error) (string, error) {
	return "", errNoProcess
}
