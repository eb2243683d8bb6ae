// Package child runs other programs so that they end with this one.
package child

import (
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Run runs the command, which was made with a context, until it ends. It is in a process
// group of its own, which Ctrl-C does not reach. Where the context ends it is interrupted,
// and killed if it does not end within the grace. On Linux it is killed when this process
// has ended, however that was. The error is that of exec.Cmd.Run.
func Run(cmd *exec.Cmd, grace time.Duration) error {
	// The signal that kills it comes with the end of the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	apart(cmd)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	return cmd.Run()
}
