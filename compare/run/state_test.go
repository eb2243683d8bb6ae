package run

import (
	"testing"
	"time"
)

// TestStates applies every event in every state, with the last heartbeat at 0.
func TestStates(t *testing.T) {
	const limit, most = time.Minute, deadTime
	epoch := time.Unix(0, 0)
	for was, want := range map[state][]state{ // by event, and then by a long wait
		starting: {ready, busy, finished, starting, dead, hung},
		ready:    {ready, busy, finished, ready, dead, hung},
		busy:     {busy, busy, finished, busy, dead, hung},
		finished: {finished, finished, finished, finished, dead, hung},
		hung:     {hung, hung, hung, hung, dead, hung},
		dead:     {dead, dead, dead, dead, dead, dead},
	} {
		longest := map[state]time.Duration{starting: startTime, finished: most}[was]
		if longest == 0 {
			longest = limit + most
		}
		for i, next := range want {
			h, now := event(i), epoch.Add(longest)
			if h > exits {
				h, now = tick, now.Add(1)
			}
			l := lifecycle{state: was, was: -1, last: epoch, limit: limit}
			l.on(h, now)
			before, signed := state(-1), h < tick && was < hung
			if next != was {
				before = was
			}
			if l.state != next || l.was != before || l.last.Equal(now) != signed {
				t.Errorf("in state %d, after %d: state %d, before %d, last sign %v; want state %d", was, h, l.state, l.was,
					l.last, next)
			}
		}
	}
	// Without a limit a row may take any time, but the process has to begin and to end.
	for was, want := range map[state]state{starting: hung, ready: ready, busy: busy, finished: hung} {
		l := lifecycle{state: was, last: epoch}
		if l.on(tick, epoch.Add(time.Hour)); l.state != want {
			t.Errorf("state %d without a limit: after an hour %d, want %d", was, l.state, want)
		}
	}
}
