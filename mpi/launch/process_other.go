//go:build !linux

package launch

import (
	"os/exec"
	"syscall"
)

func signal(cmd *exec.Cmd, s syscall.Signal) { _ = cmd.Process.Signal(s) }

// killJob finds no processes: there is no /proc.
func killJob(string) {}

// InterruptLaunchers does nothing on systems other than Linux.
func InterruptLaunchers() {}
