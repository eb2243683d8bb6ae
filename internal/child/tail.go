package child

import (
	"bytes"
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// End is the error of a process that ended before it was done.
type End struct {
	Name   string // of the process
	Status string // signal killed, or exit status 1; empty: that is 0
	Said   string // why, as far as it said so
}

// NewEnd returns the end of a process with the state, whose standard error is in said.
func NewEnd(name string, state *os.ProcessState, said *Tail) End {
	status := strings.Replace(state.String(), "signal: ", "signal ", 1)
	if state.Success() {
		status = ""
	}
	return End{name, status, said.Reason()}
}

// Error implements error.
func (e End) Error() string {
	text := e.Name + " ended before it was done"
	if e.Status != "" {
		text = e.Name + " ended with " + e.Status
	}
	return strings.TrimSuffix(text+": "+e.Said, ": ")
}

// Tail is an io.Writer for the standard error of a program. It keeps the last lines that are not
// empty, and the first line that says why a Go program was ended. The zero Tail is empty.
type Tail struct {
	mu    sync.Mutex
	line  []byte // not ended yet
	lines []string
	cause string
}

// causes are the lines in which a Go program says why it ends.
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
	if text == "" {
		return
	}
	t.lines = append(t.lines, text)
	t.lines = t.lines[max(0, len(t.lines)-mostLines):]
	if t.cause == "" && causes.MatchString(text) {
		t.cause = text
	}
}

// Lines returns the last lines, and the line that says why a Go program was ended, if there was one.
func (t *Tail) Lines() (lines []string, cause string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	return slices.Clone(t.lines), t.cause
}

// Reason returns in one line why the program ended, as far as it said so.
func (t *Tail) Reason() string {
	lines, cause := t.Lines()
	return cmp.Or(cause, strings.Join(lines[max(0, len(lines)-1):], ""))
}
