package comm

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestClockOffset answers messages by a clock that is 100 s ahead, after ways of any lengths.
func TestClockOffset(t *testing.T) {
	const ahead = 100
	var rounds []clockRound
	at := 5.0
	for _, ways := range [][2]float64{{3, 1}, {0.25, 0.5}, {0, 9}, {2, 0}} {
		rounds = append(rounds, clockRound{sent: at, there: at + ways[0] + ahead, back: at + ways[0] + ways[1]})
		at += 20
		got, within := clockOffset(rounds)
		if !(math.Abs(got-ahead) <= within) {
			t.Errorf("after %d rounds: %v s ahead, want %v within %v", len(rounds), got, ahead, within)
		}
	}
	if got, within := clockOffset(rounds); got != 99.875 || within != 0.375 {
		t.Errorf("%v within %v, want the offset of the shortest round, 99.875 within 0.375", got, within)
	}
	if _, within := clockOffset(nil); !math.IsInf(within, 1) {
		t.Errorf("without a message it is known within %v", within)
	}
}

// TestClockName checks that two processes read one clock, and that it does not go back.
func TestClockName(t *testing.T) {
	if os.Getenv("GEMM_TEST_CLOCK") != "" {
		_, _ = os.Stdout.WriteString(ClockName())
		os.Exit(0)
	}
	first := Now()
	if second := Now(); !(second >= first) || !(first > 0) {
		t.Errorf("the clock reads %v and then %v", first, second)
	}
	if runtime.GOOS == "linux" {
		other := exec.Command(os.Args[0], "-test.run", "^TestClockName$")
		other.Env = append(os.Environ(), "GEMM_TEST_CLOCK=yes")
		if name, err := other.Output(); err != nil || string(name) != ClockName() {
			t.Errorf("another process reads the clock %q, %v; this one %q", name, err, ClockName())
		}
	}
}
