//go:build !linux

package ipc

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

func setGroup(*exec.Cmd, syscall.Signal) {}

func interrupt(cmd *exec.Cmd) error { return cmd.Process.Signal(os.Interrupt) }

// DieWithParent ends this process, with status 1, at most a second after its parent, on systems that then give it
// another parent. Windows does not.
func DieWithParent() error {
	parent := os.Getppid()
	go func() {
		for range time.Tick(time.Second) {
			if os.Getppid() != parent {
				os.Exit(1)
			}
		}
	}()
	return nil
}
