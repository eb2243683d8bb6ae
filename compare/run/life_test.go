package run

import (
	"testing"
	"time"
)

// TestLife has everything happen in every state, with the last sign of life at 0.
func TestLife(t *testing.T) {
	const limit, patience = time.Minute, 10 * time.Second
	epoch := time.Unix(0, 0)
	for was, want := range map[state][]state{ // by event, and then by a long wait
		starting: {ready, busy, finished, starting, dead, hung},
		ready:    {ready, busy, finished, ready, dead, hung},
		busy:     {busy, busy, finished, busy, dead, hung},
		finished: {finished, finished, finished, finished, dead, hung},
		hung:     {hung, hung, hung, hung, dead, hung},
		dead:     {dead, dead, dead, dead, dead, dead},
	} {
		longest := map[state]time.Duration{starting: startTime, finished: patience}[was]
		if longest == 0 {
			longest = limit + patience
		}
		for i, next := range want {
			h, now := event(i), epoch.Add(longest)
			if h > departs {
				h, now = waits, now.Add(1)
			}
			l := life{state: was, was: -1, last: epoch, limit: limit, dead: patience}
			l.on(h, now)
			before, signed := state(-1), h < waits && was < hung
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
		l := life{state: was, last: epoch, dead: deadTime}
		if l.on(waits, epoch.Add(time.Hour)); l.state != want {
			t.Errorf("state %d without a limit: after an hour %d, want %d", was, l.state, want)
		}
	}
}
