package run

import "time"

// The states of a process that measures for this one:
//
//	               heartbeat              case begins
//	starting ────────────────► ready ─────────────────► busy ──┐ heartbeat, row,
//	    │                        │                      │  ▲───┘ the next case begins
//	    │                        │                      │ all cases have rows
//	    │ no heartbeat within    │ none within the      ▼
//	    │ startTime              │ limit of a row       finished
//	    │                        │ and deadTime         │ none within deadTime
//	    ▼                        ▼                      ▼
//	   hung ◄────────────────────┴──────────────────────┘ (busy too)
//	    │ it is stopped
//	    ▼
//	   dead ◄── from every state: it has ended, or wrote something that is not a message
//
// Messages of a hung or a dead process are ignored.
type state int

const (
	starting state = iota
	ready          // it measures what precedes the first case, such as ceilings
	busy
	finished // it has to end
	hung
	dead
)

type event int

const (
	heartbeat    event = iota // any message
	caseBegins                // a heartbeat repeats the last case
	rowsComplete              // all its cases have rows
	tick                      // no message until now
	exits                     // it has ended, or is stopped for what it wrote
)

// startTime is the time limit for the first heartbeat, and deadTime for the next one after the time limit of a row. On
// a busy machine heartbeats are late.
const (
	startTime = 2 * time.Minute
	deadTime  = 8 * heartbeatEvery
)

type lifecycle struct {
	state state
	was   state         // before it was hung or dead
	last  time.Time     // the last heartbeat
	limit time.Duration // of a row; 0: none
}

func (l *lifecycle) on(h event, now time.Time) {
	next := l.state
	switch {
	case l.state == dead:
		return
	case h == exits:
		next = dead
	case l.state == hung:
		return
	case h == tick && l.overdue(now):
		next = hung
	case h == caseBegins && l.state != finished:
		next = busy
	case h == rowsComplete:
		next = finished
	case h == heartbeat && l.state == starting:
		next = ready
	}
	if h == heartbeat || h == caseBegins || h == rowsComplete {
		l.last = now
	}
	if next != l.state {
		l.was, l.state = l.state, next
	}
}

// overdue reports whether the last heartbeat is too old.
func (l *lifecycle) overdue(now time.Time) bool {
	most := deadTime
	switch {
	case l.state == starting:
		most = startTime
	case l.state != finished && l.limit <= 0:
		return false
	case l.state != finished:
		most += l.limit
	}
	return now.Sub(l.last) > most
}
