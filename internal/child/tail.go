package child

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"sync"
)

// Tail is an io.Writer for the standard error of a program. It keeps the last line that is not
// empty, and the first line that says why a Go program was ended. The zero Tail is empty.
type Tail struct {
	mu    sync.Mutex
	line  []byte // not ended yet
	last  string
	cause string
}

// causes are the lines in which a Go program says why it ends.
var causes = regexp.MustCompile(`^(panic|fatal error|SIG[A-Z]+): `)

// mostReason is how many bytes of a line are kept.
const mostReason = 1 << 10

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
	t.last = text
	if t.cause == "" && causes.MatchString(text) {
		t.cause = text
	}
}

// Reason returns in one line why the program ended, as far as it said so.
func (t *Tail) Reason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	return cmp.Or(t.cause, t.last)
}
