package peer

import (
	"os/exec"
)

// Limits confine a process and what it starts.
type Limits struct {
	Folder    string // that it sees besides the system's, and that it begins in
	Write     bool   // it may write there
	Memory    int64  // bytes of address space of a process
	File      int64  // bytes of a file
	Processes int    // and threads
}

// confine returns a command of the holder within the limits; nil: as it is.
func (l *Limits) confine(cmd *exec.Cmd) *exec.Cmd {
	return cmd
}

// confineProgram is confine for a command of another program.
func (l *Limits) confineProgram(cmd *exec.Cmd) (*exec.Cmd, error) {
	return cmd, nil
}
