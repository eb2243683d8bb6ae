package ipc

import (
	"os/exec"
	"strings"
	"testing"
	"time"
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
		{[]string{"panic: first\n", strings.Repeat("goroutine 1 [running]:\n", 2*mostLines)}, "panic: first"},
		{[]string{strings.Repeat("x", 2*mostReason) + "\n"}, strings.Repeat("x", mostReason)},
	} {
		var tail Tail
		for _, text := range test.writes {
			if n, err := tail.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%q: %d written, %v", text, n, err)
			}
		}
		if lines, _ := tail.Lines(); len(lines) > mostLines {
			t.Errorf("%d lines are kept", len(lines))
		}
		if got := tail.Reason(); got != test.want {
			t.Errorf("%q: %q, want %q", test.writes, got, test.want)
		}
	}
}

// TestEnd checks what the end of a process says.
func TestEnd(t *testing.T) {
	for script, want := range map[string]string{
		"kill -9 $$": "x ended with signal killed", "exit 3": "x ended with exit status 3",
		"exit 0":                               "x ended before it was done",
		"echo a >&2; echo no luck >&2; exit 3": "x ended with exit status 3: no luck",
	} {
		var said Tail
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Stderr = &said
		if err := Run(cmd, time.Second); cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if got := NewExitError("x", cmd.ProcessState, &said).Error(); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}
