package launch

import (
	"os/exec"
	"syscall"
)

// terminate tells the group of the command to end; one that has ended gets no signal.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends the group of the command.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
