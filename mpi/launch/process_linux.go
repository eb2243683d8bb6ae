package launch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// terminate tells the group of the command to end; one that has ended gets no signal.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends the group of the command.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// sweep kills the processes of this host whose environment has the variable. mpiexec.hydra has put its proxies
// into sessions of their own, and a proxy its ranks.
func sweep(variable string) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		environment, err := os.ReadFile(filepath.Join(entry, "environ"))
		if err != nil || !bytes.Contains(append(environment, 0), []byte(variable+"\x00")) || !here(entry) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(entry)); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// here reports whether a process is on this host, which may be a network namespace of a machine.
func here(entry string) bool {
	own, err := os.Readlink("/proc/self/ns/net")
	its, err2 := os.Readlink(filepath.Join(entry, "ns/net"))
	return err == nil && err2 == nil && own == its
}
