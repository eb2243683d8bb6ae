package launch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// signal sends a signal to the group of the command; one that has ended gets none.
func signal(cmd *exec.Cmd, s syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, s) }

// killJob kills the processes of this host whose environment has the variable. mpiexec.hydra has put its proxies
// into sessions of their own, and a proxy its ranks.
func killJob(variable string) {
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

// starters are programs that start ranks on behalf of a job, and wait without end for those on hosts
// that are cut off. The daemons of Slurm and others serve more than one job, and are not among them.
var starters = []string{"mpirun", "orterun", "orted", "prterun", "prted", "mpirun.openmpi", "mpirun.mpich", "mpiexec",
	"mpiexec.openmpi", "mpiexec.mpich", "mpiexec.hydra", "hydra_pmi_proxy"}

// interrupts is how many signals mpirun needs to end: version 4 two, within 5 s, and version 5 three. between is the
// time between two of them: version 5 kills this process less than 0.4 s after the first.
const (
	interrupts = 3
	between    = 50 * time.Millisecond
)

// InterruptLaunchers ends the programs that started this rank on this host, by interrupts, as Ctrl-C
// pressed repeatedly: at the first, mpirun requests other hosts to end, and waits. This process may be
// ended too, at once or a second later.
func InterruptLaunchers() {
	var found []int
	for pid := os.Getppid(); pid > 1; {
		name, parent := parentage(pid)
		if !slices.Contains(starters, name) {
			break
		}
		found = append(found, pid)
		pid = parent
	}
	for _, pid := range slices.Backward(found) { // mpiexec before its proxy
		for range interrupts {
			_ = syscall.Kill(pid, syscall.SIGINT)
			time.Sleep(between)
		}
	}
}

// parentage returns the name of a process and its parent; no name if it has ended.
func parentage(pid int) (name string, parent int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	// The name, in parentheses, may have any characters.
	begin, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if begin < 0 || end < begin {
		return "", 0
	}
	if fields := bytes.Fields(stat[end+1:]); len(fields) > 1 {
		parent, _ = strconv.Atoi(string(fields[1]))
	}
	return string(stat[begin+1 : end]), parent
}
