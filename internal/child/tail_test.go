package child

import (
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	for _, test := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"\n \n"}, ""},
		{[]string{"here\n\nthe driver fell over\n \n"}, "the driver fell over"},
		{[]string{"the dri", "ver fell", " over"}, "the driver fell over"},
		{[]string{"panic: planted\n\ngoroutine 1 [running]:\n", "main.main()\nexit status 2\n"}, "panic: planted"},
		{[]string{"SIGSEGV: segmentation violation\nPC=0x1\n"}, "SIGSEGV: segmentation violation"},
		{[]string{strings.Repeat("x", 2*mostReason) + "\n"}, strings.Repeat("x", mostReason)},
	} {
		var tail Tail
		for _, text := range test.writes {
			if n, err := tail.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%q: %d written, %v", text, n, err)
			}
		}
		if got := tail.Reason(); got != test.want {
			t.Errorf("%q: %q, want %q", test.writes, got, test.want)
		}
	}
}
