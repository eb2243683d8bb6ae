package launch

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// words keeps the last lines of what a launcher and the ranks write, and the first in which a rank
// says why it ends.
type words struct {
	launcher string // the name of the program

	mu    sync.Mutex
	line  []byte // not ended yet
	tail  []string
	cause string
}

// How much of the output is kept.
const (
	mostLines = 200
	mostBytes = 1 << 10 // of a line
)

// causes begin the lines in which a Go program says why it ends, the most telling first.
var causes = []string{"panic: ", "fatal error: "}

// Write implements io.Writer.
func (o *words) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for part := range bytes.SplitAfterSeq(data, []byte("\n")) {
		o.line = append(o.line, part[:min(len(part), max(0, mostBytes-len(o.line)))]...)
		if bytes.HasSuffix(part, []byte("\n")) {
			o.end()
		}
	}
	return len(data), nil
}

// end ends the line.
func (o *words) end() {
	text := strings.TrimSpace(string(o.line))
	o.line = o.line[:0]
	if text == "" {
		return
	}
	begins := func(cause string) bool { return strings.HasPrefix(text, cause) }
	if o.cause == "" && slices.ContainsFunc(causes, begins) {
		o.cause = text
	}
	o.tail = append(o.tail, text)
	o.tail = o.tail[max(0, len(o.tail)-mostLines):]
}

// What mpirun says: Open MPI up to version 4, and since 5, which calls it prterun.
var (
	onSignal = regexp.MustCompile(`process rank (\d+) with PID \d+ on node \S+ exited on signal (\d+)(?: \(([^)]*)\))?`)
	process  = regexp.MustCompile(`Process name:\s*\[.*,(\d+)\]`)
	exitCode = regexp.MustCompile(`Exit code:\s*(\d+)`)
	slots    = regexp.MustCompile(`not enough slots available in the system to satisfy the (\d+)`)
)

// What mpiexec.hydra says: the process and not the rank; of what exits with a status, nothing.
var (
	badEnd    = regexp.MustCompile(`PID (\d+) RUNNING AT (\S+)`)
	endString = regexp.MustCompile(`EXIT STRING: (.*) \(signal (\d+)\)`)
)

// reason returns in one line why the ranks ended. state is the state of the launcher.
func (o *words) reason(state string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
	all := strings.Join(o.tail, "\n")
	if m := slots.FindStringSubmatch(all); m != nil {
		return fmt.Sprintf("mpirun has too few slots for %s ranks: ask for fewer, or start mpirun --oversubscribe -n %s gemm mpi yourself", m[1], m[1])
	}
	if m := onSignal.FindStringSubmatch(all); m != nil {
		text := fmt.Sprintf("rank %s was killed by signal %s", m[1], m[2])
		if m[3] != "" {
			text += fmt.Sprintf(" (%s)", m[3])
		}
		return text + o.why()
	}
	rank, code := process.FindStringSubmatch(all), exitCode.FindStringSubmatch(all)
	if rank != nil && code != nil {
		return fmt.Sprintf("rank %s exited with status %s%s", rank[1], code[1], o.why())
	}
	if process, end := badEnd.FindStringSubmatch(all), endString.FindStringSubmatch(all); process != nil && end != nil {
		return fmt.Sprintf("a rank, process %s on %s, was killed by signal %s (%s)%s",
			process[1], process[2], end[2], end[1],
			o.why())
	}
	if why := o.why(); why != "" {
		return fmt.Sprintf("a rank ended %s with %s%s", o.launcher, state, why)
	}
	return fmt.Sprintf("%s ended with %s: %s", o.launcher, state, o.last())
}

// why returns what a rank said of its end, after a colon; empty if none did.
func (o *words) why() string {
	if o.cause != "" {
		return ": " + o.cause
	}
	for _, line := range slices.Backward(o.tail) {
		if strings.HasPrefix(line, "gemm") {
			return ": " + line
		}
	}
	return ""
}

// last returns the last paragraph of mpirun's, in one line.
func (o *words) last() string {
	var lines []string
	for _, line := range slices.Backward(o.tail) {
		if strings.Trim(line, "-=") != "" {
			lines = append(lines, line)
		} else if len(lines) > 0 {
			break
		}
	}
	if len(lines) == 0 {
		return "it said nothing"
	}
	slices.Reverse(lines)
	text := strings.Join(lines, " ")
	return text[:min(len(text), mostBytes)]
}
