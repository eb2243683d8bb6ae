package ipc

import (
	"bytes"
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ExitError: a process ended before it was done.
type ExitError struct {
	Name   string // of the process
	Status string // signal killed, or exit status 1; empty: that is 0
	Reason string // its message; empty: none
}

// NewExitError returns the end of a process with the state, whose standard error is in stderr.
func NewExitError(name string, state *os.ProcessState, stderr *Tail) ExitError {
	status := strings.Replace(state.String(), "signal: ", "signal ", 1)
	if state.Success() {
		status = ""
	}
	return ExitError{name, status, stderr.Reason()}
}

// Error implements error.
func (e ExitError) Error() string {
	text := e.Name + " ended before it was done"
	if e.Status != "" {
		text = e.Name + " ended with " + e.Status
	}
	return strings.TrimSuffix(text+": "+e.Reason, ": ")
}

// Tail is an io.Writer for the standard error of a program. It keeps the last lines that are not
// empty, and the first line with the reason for the end of a Go program. The zero Tail is empty.
type Tail struct {
	mu    sync.Mutex
	line  []byte // not ended yet
	lines []string
	cause string
}

// causes are the lines with the reason for the end of a Go program.
var causes = regexp.MustCompile(`^(panic|fatal error|SIG[A-Z]+): `)

// How many lines are kept, and bytes of each.
const (
	mostLines  = 200
	mostReason = 1 << 10
)

// Write implements io.Writer.
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for part := range bytes.SplitAfterSeq(data, []byte("\n")) {
		t.line = append(t.line, part[:min(len(part), max(0, mostReason-len(t.line)))]...)
		if bytes.HasSuffix(part, []byte("\n")) {
			t.end()
		}
	}
	return len(data), nil
}

func (t *Tail) end() {
	text := strings.TrimSpace(string(t.line))
	t.line = nil
	if strings.Trim(text, "-") == "" { // as mpirun prints round a message
		return
	}
	t.lines = append(t.lines, text)
	t.lines = t.lines[max(0, len(t.lines)-mostLines):]
	if t.cause == "" && causes.MatchString(text) {
		t.cause = text
	}
}

// Lines returns the last lines, and the line with the reason for the end of a Go program, if there was one.
func (t *Tail) Lines() (lines []string, cause string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	return slices.Clone(t.lines), t.cause
}

// Reason returns in one line why the program ended; empty: it wrote nothing.
func (t *Tail) Reason() string {
	lines, cause := t.Lines()
	return cmp.Or(cause, strings.Join(lines[max(0, len(lines)-1):], ""))
}
