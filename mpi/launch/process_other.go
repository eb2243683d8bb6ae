//go:build !linux

package launch

import (
	"os"
	"os/exec"
)

func wait(cmd *exec.Cmd, started, ended chan<- error) {
	err := cmd.Start()
	started <- err
	if err == nil {
		ended <- cmd.Wait()
	}
}

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(os.Interrupt) }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// Follow does nothing on this system: a rank that hangs outlives its mpirun.
func Follow() error { return nil }
