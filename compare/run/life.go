package run

import "time"

// The states of a process that measures for this one:
//
//	              sign of life             case begins
//	starting ────────────────► ready ─────────────────► busy ──┐ sign of life, row,
//	    │                        │                      │  ▲───┘ the next case begins
//	    │                        │                      │ all cases have rows
//	    │ no sign within         │ no sign within       ▼
//	    │ startTime              │ the limit of a       finished
//	    │                        │ row and deadTime     │ no sign within deadTime
//	    ▼                        ▼                      ▼
//	   hung ◄────────────────────┴──────────────────────┘ (busy too)
//	    │ it is stopped
//	    ▼
//	   dead ◄── from every state: it has ended, or wrote something that is not a message
//
// Nothing that a hung or a dead process writes counts.
type state int

const (
	starting state = iota
	ready          // it measures what comes before the first case, such as ceilings
	busy
	finished // it has to end
	hung
	dead
)

// event is what happens to a process.
type event int

const (
	signs   event = iota // it shows a sign of life
	begins               // a case
	ends                 // all its cases have rows
	waits                // nothing has come, until now
	departs              // it has ended, or is stopped for what it wrote
)

// startTime is the time limit for the first sign of life, and deadTime for the next sign after the time limit of a row.
// On a busy machine signs come late.
const (
	startTime = 2 * time.Minute
	deadTime  = 8 * signEvery
)

// life is the state of a process.
type life struct {
	state state
	was   state         // before it was hung or dead
	last  time.Time     // the last sign of life
	limit time.Duration // of a row; 0: none
	dead  time.Duration // deadTime, or what a test has in place of it
}

// on changes the state.
func (l *life) on(h event, now time.Time) {
	next := l.state
	switch {
	case l.state == dead:
		return
	case h == departs:
		next = dead
	case l.state == hung:
		return
	case h == waits && l.overdue(now):
		next = hung
	case h == begins && l.state != finished: // a sign of life repeats the last case
		next = busy
	case h == ends:
		next = finished
	case h == signs && l.state == starting:
		next = ready
	}
	if h == signs || h == begins || h == ends {
		l.last = now
	}
	if next != l.state {
		l.was, l.state = l.state, next
	}
}

// overdue reports whether no sign of life has come for too long.
func (l *life) overdue(now time.Time) bool {
	patience := l.dead
	switch {
	case l.state == starting:
		patience = startTime
	case l.state != finished && l.limit <= 0:
		return false
	case l.state != finished:
		patience += l.limit
	}
	return now.Sub(l.last) > patience
}
