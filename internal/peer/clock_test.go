package peer

import (
	"testing"
	"time"
)

// TestClockCheck reports a hundredth of the time of some requests, which take 10 ms by all clocks.
func TestClockCheck(t *testing.T) {
	const call, idle = 10 * time.Millisecond, time.Millisecond
	for _, test := range []struct {
		every int // request of which the time is reported wrong
		busy  time.Duration
		wrong bool
	}{
		{1, 0, true}, {2, 0, true}, {9, 0, true}, {100, 0, false}, {100, 2 * call, false}, {0, 0, false},
	} {
		var p clockCheck
		p.begins(1)
		p.idle(clocks{idle, idle})
		for i := range 50 {
			reported := call
			if test.every > 0 && i%test.every == 0 {
				reported /= 100
			}
			p.add(clocks{idle + call + test.busy, idle + call}, reported)
		}
		if err := p.err(); (err != nil) != test.wrong {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
