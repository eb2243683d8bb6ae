package turn

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRest checks that a processor is busy between contenders, for as long as workers spin.
func TestRest(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	busy := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start, before := time.Now(), busy()
	rest()
	const least = time.Millisecond // a sleeper takes a twentieth of it; others may run too
	if took, used := time.Since(start), busy()-before; took < restTime || used < least {
		t.Errorf("it took %v and a processor for %v, want %v and most of it", took, used, restTime)
	}
}
