// Package ipc runs other programs, which end with this one, and exchanges messages with them.
package ipc

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Start starts the command in its own process group, which Ctrl-C does not reach, and returns a channel for the error
// of its end. On Linux it gets the signal when this process has ended for any reason.
func Start(cmd *exec.Cmd, last syscall.Signal) (<-chan error, error) {
	setGroup(cmd, last)
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The signal comes with the end of the thread that started the command.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	return ended, <-started
}

// Run runs a command that was made with a context until it ends. The command has its own process group, which Ctrl-C
// does not reach. If the context ends, the group is interrupted, and killed if it does not end within the grace. On
// Linux the command is killed when this process ends for any reason. The error is as from exec.Cmd.Run.
func Run(cmd *exec.Cmd, grace time.Duration) error {
	cmd.Cancel = func() error { return interrupt(cmd) }
	cmd.WaitDelay = grace
	ended, err := Start(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	return <-ended
}
