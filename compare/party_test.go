package compare

import (
	"testing"
	"time"
)

// TestOverdue wants the first sign of life in bornTime, whatever a row may take, and the
// next ones in the time of a row.
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
		f.heard = f.heard.Add(-test.silence)
		if got := f.overdue(); got != test.overdue || f.overdue() {
			t.Errorf("%+v: overdue is %t", test, got)
		}
	}
}
