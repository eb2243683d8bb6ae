package child

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

func apart(cmd *exec.Cmd, last syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: last}
}

func interrupt(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// parent is the process that started this one.
var parent = os.Getppid()

// errOrphan: the process that started this one has ended.
var errOrphan = errors.New("the process that started this one has ended")

// Follow has the system kill this process when the one that started it ends, for a process that hangs does not learn of
// that. An error says that it has ended already, or that the system refuses: this process must then end.
func Follow() error {
	set := make(chan error)
	go func() {
		// The setting is lost with the thread that made it, which therefore stays.
		runtime.LockOSThread()
		set <- unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
		select {}
	}()
	if err := <-set; err != nil {
		return err
	}
	if os.Getppid() != parent {
		return errOrphan
	}
	return nil
}
