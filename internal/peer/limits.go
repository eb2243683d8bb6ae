package peer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Limits confine a process and what it starts, as far as the system permits: library/confine.c has how. The
// environment has PATH and folders for temporary files alone.
type Limits struct {
	Holder    string   // the file of Program
	Folder    string   // that it sees besides the folders of the system, and begins in
	Write     bool     // it may write there
	Read      []string // further folders that it sees
	Memory    int64    // bytes of address space of a process
	File      int64    // bytes of a file
	Processes int      // and threads
	// Time is the processor time of a call; 0: no limit. It is looked at each second.
	Time time.Duration
}

// Late is the text of the error of a call that took longer than Limits.Time.
const Late = "it takes more processor time than it may"

// confine returns a command of the holder within the limits; nil: as it is.
func (l *Limits) confine(cmd *exec.Cmd, read ...string) *exec.Cmd {
	if l == nil {
		return cmd
	}
	words := []string{"folder=" + l.Folder, fmt.Sprint("memory=", l.Memory), fmt.Sprint("file=", l.File),
		fmt.Sprint("processes=", l.Processes)}
	if l.Write {
		words = append(words, "write=1")
	}
	for _, folder := range read {
		words = append(words, "read="+folder)
	}
	cmd.Args = append(cmd.Args[:1], append(words, cmd.Args[1:]...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "TMPDIR=/tmp", "LC_ALL=C.UTF-8"}
	return cmd
}

// Confine returns a command, whose program has been found, within the limits but for Time; nil: as it is.
func (l *Limits) Confine(cmd *exec.Cmd) *exec.Cmd {
	if l == nil {
		return cmd
	}
	read := l.Read
	if path, err := filepath.EvalSymlinks(cmd.Path); err == nil { // such as a compiler in the home folder
		if beside := filepath.Dir(filepath.Dir(path)); !slices.Contains([]string{"/", "/usr", "/usr/local"}, beside) {
			read = append(read, beside)
		}
	}
	cmd.Args = slices.Concat([]string{l.Holder, "--"}, cmd.Args)
	cmd.Path = l.Holder
	return l.confine(cmd, read...)
}
