package ipc

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

func setGroup(cmd *exec.Cmd, last syscall.Signal) {
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

var errOrphan = errors.New("the process that started this one has ended")

// DieWithParent makes the system kill this process when its parent ends, even if this process hangs. After an error the
// process must end itself: the parent has ended already, or the system refuses.
func DieWithParent() error {
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
