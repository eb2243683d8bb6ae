package comm

import (
	"time"

	"gemm/internal/timeline"
)

// Log records the phases and calls of a rank in one product, between Start and Stop. At all other times, and if it is
// nil, it records nothing. One goroutine uses it.
type Log struct {
	on     bool
	begun  time.Time
	phase  string // of now; empty: none
	bytes  int64  // of the calls in it
	phases []timeline.Phase
}

// Start starts the log. Times count from begun.
func (l *Log) Start(begun time.Time) {
	if l != nil {
		*l = Log{on: true, begun: begun}
	}
}

// Stop ends the log, and returns its phases and calls, sorted.
func (l *Log) Stop() []timeline.Phase {
	if l == nil {
		return nil
	}
	phases := l.phases
	*l = Log{}
	timeline.Sort(phases)
	return phases
}

// On reports whether the log is started.
func (l *Log) On() bool { return l != nil && l.on }

// Enter begins a phase. Leave ends it; the phase began at start and took so long.
func (l *Log) Enter(phase string) {
	if l.On() {
		l.phase, l.bytes = phase, 0
	}
}

// Leave ends the phase.
func (l *Log) Leave(start time.Time, took time.Duration) {
	if l.On() {
		l.note(timeline.Phase{Name: l.phase, Bytes: l.bytes}, start, took)
		l.phase = ""
	}
}

// Call begins a call in the phase of now, of a rank or of none (-1). The function that it returns ends
// the call, which moved the given bytes. Calls outside of phases are not logged.
func (l *Log) Call(name string, rank int) (end func(bytes int64)) {
	if !l.On() || l.phase == "" {
		return func(int64) {}
	}
	start := time.Now()
	return func(bytes int64) {
		p := timeline.Phase{Name: l.phase, Call: name, Bytes: bytes}
		if rank >= 0 {
			p.Peer = &rank
		}
		l.bytes += bytes
		l.note(p, start, time.Since(start))
	}
}

// note adds a phase or a call.
func (l *Log) note(p timeline.Phase, start time.Time, took time.Duration) {
	p.Begin = start.Sub(l.begun).Seconds()
	p.End = p.Begin + took.Seconds()
	l.phases = append(l.phases, p)
}
