package launch

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// wait starts the command and waits until it has ended, in a group of its own, which
// Ctrl-C does not reach. It is told to end when this process has ended, however that was.
func wait(cmd *exec.Cmd, started, ended chan<- error) {
	// The signal comes with the end of the thread that started the command.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	err := cmd.Start()
	started <- err
	if err == nil {
		ended <- cmd.Wait()
	}
}

// terminate tells the group of the command to end; one that has ended gets no signal.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends the group of the command.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// Follow has the system kill this process when the one that started it ends, for a rank
// that hangs does not learn of that. The calling goroutine must be locked to its thread,
// and stay so.
func Follow() error {
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}
