//go:build !linux

package launch

import (
	"os"
	"os/exec"
)

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(os.Interrupt) }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// sweep finds no processes: there is no /proc.
func sweep(string) {}
