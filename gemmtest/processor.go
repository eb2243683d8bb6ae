package gemmtest

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"gemm/internal/cpu"
)

// OneProcessor pins this process to a single processor and compares the times of a function with GOMAXPROCS at two and
// at one. Workers that spin there take the processor from those that compute, which can make a product 10 to 100 times
// slower. The limit is 1.5. build returns the function for the present GOMAXPROCS. The two are called alternately, and
// the shortest times are compared; on a busy host this is tried five times. The test is skipped if the system cannot
// pin threads, and with -short.
func OneProcessor(t *testing.T, build func() func()) {
	t.Helper()
	places := cpu.Places()
	if testing.Short() || len(places) == 0 || cpu.Pin(places[:1]) != nil {
		t.Skip("with -short, or no threads are pinned here")
	}
	defer func() {
		if err := cpu.Pin(places); err != nil {
			t.Error(err)
		}
	}()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const limit, rounds, calls = 1.5, 5, 20
	var runs [2]func()
	for i := range runs {
		runtime.GOMAXPROCS(i + 1)
		runs[i] = build()
	}
	var ratio float64
	for range rounds {
		shortest := [2]time.Duration{math.MaxInt64, math.MaxInt64}
		for call := range 2 * calls {
			i := call % 2
			runtime.GOMAXPROCS(i + 1)
			runs[i]() // wakes the workers that the other one has parked
			begin := time.Now()
			runs[i]()
			shortest[i] = min(shortest[i], time.Since(begin))
		}
		if ratio = float64(shortest[1]) / float64(shortest[0]); ratio <= limit {
			return
		}
	}
	t.Errorf("with two workers on one processor it takes %.2f times as long as with one, limit %v", ratio, limit)
}

// InstructionSets runs the tests of this binary that match run, with -short, in a process for each instruction set
// below the widest that this processor has. It does nothing in such a process, or if GEMM_CPU is set.
func InstructionSets(t *testing.T, run string) {
	t.Helper()
	if os.Getenv("GEMM_CPU") != "" {
		t.Skip("GEMM_CPU is set")
	}
	for _, isa := range cpu.Supported()[1:] {
		t.Run(string(isa), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.short", "-test.run="+run)
			cmd.Env = append(os.Environ(), "GEMM_CPU="+string(isa))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
