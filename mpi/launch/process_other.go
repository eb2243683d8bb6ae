//go:build !linux

package launch

import (
	"os/exec"
	"syscall"
)

func signal(cmd *exec.Cmd, s syscall.Signal) { _ = cmd.Process.Signal(s) }

// sweep finds no processes: there is no /proc.
func sweep(string) {}

// EndStarters does nothing on systems other than Linux.
func EndStarters() {}
