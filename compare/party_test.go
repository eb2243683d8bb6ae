package compare

import (
	"testing"
	"time"
)

// TestOverdue checks the time limits of signs of life: bornTime for the first, whatever the limit
// of a row is, and the limit of a row for the next ones.
func TestOverdue(t *testing.T) {
	for _, test := range []struct {
		timeout, silence time.Duration
		born, overdue    bool
	}{
		{time.Hour, bornTime - time.Second, false, false},
		{time.Hour, bornTime + time.Second, false, true},
		{0, bornTime + time.Second, false, true},
		{time.Hour, bornTime + time.Second, true, false},
		{time.Minute, time.Minute + deadTime + time.Second, true, true},
		{0, time.Hour, true, false}, // a row may take as long as it likes
	} {
		d := &Driver{Budget: Budget{Timeout: test.timeout}}
		f := d.follow([]Case{Request{Type: "f64"}.Case()}, worker{}, nil)
		if test.born {
			f.sign(-1)
		}
		f.lastSign = f.lastSign.Add(-test.silence)
		if got := f.overdue(); got != test.overdue || f.overdue() {
			t.Errorf("%+v: overdue is %t", test, got)
		}
	}
}
