package reference

import (
	"context"
	"errors"
	"math/bits"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/peer"
)

// openMP returns the process that measures libgomp, or skips the test if there is
// none.
func openMP(t *testing.T) *OpenMP {
	t.Helper()
	o, err := NewOpenMP()
	gemmtest.Require(t, "gcc", err)
	t.Cleanup(o.Close)
	return o
}

// TestOpenMP runs every measurement once and ten times. Ten times must take at least twice as long
// in one of the attempts: other processes may disturb many attempts, but not all.
func TestOpenMP(t *testing.T) {
	o := openMP(t)
	ctx := t.Context()
	measured := map[string]func(times int) (time.Duration, error){
		"fork-join": func(times int) (time.Duration, error) { return o.ForkJoin(ctx, 2, 100*times) },
	}
	for _, schedule := range []string{"static", "dynamic", "guided", "auto"} {
		measured[schedule] = func(times int) (time.Duration, error) { return o.Loop(ctx, 2, schedule, 1, 5000, times) }
	}
	for _, method := range []string{"atomic", "critical", "reduce"} {
		measured[method] = func(times int) (time.Duration, error) { return o.Merge(ctx, 3, method, 5000, times) }
	}
	for name, measure := range measured {
		const few, many = 1, 10
		least := map[int]time.Duration{few: time.Hour, many: time.Hour}
		for try := 0; try < 5 || try < 200 && least[many] < 2*least[few]; try++ {
			for times := range least {
				start := time.Now()
				took, err := measure(times)
				gemmtest.Must(t, err)
				if !(took > 0 && took < time.Since(start)) {
					t.Errorf("%s: %d times took %v of %v", name, times, took, time.Since(start))
				}
				least[times] = min(least[times], took)
			}
		}
		if least[many] < 2*least[few] {
			t.Errorf("%s took %v, ten times that %v", name, least[few], least[many])
		}
	}
}

// TestOpenMPRefuses asks for what cannot be measured, of a process that goes on.
func TestOpenMPRefuses(t *testing.T) {
	o := openMP(t)
	ctx := t.Context()
	for what, refused := range map[string]func() (time.Duration, error){
		"fork-join wants other numbers": func() (time.Duration, error) { return o.ForkJoin(ctx, 0, 1) },
		"no such request":               func() (time.Duration, error) { return o.Loop(ctx, 1, "runtime", 1, 1, 1) },
		"static wants other numbers":    func() (time.Duration, error) { return o.Loop(ctx, 1, "static", -1, 1, 1) },
		"reduce wants other numbers":    func() (time.Duration, error) { return o.Merge(ctx, 1, "reduce", 1, 0) },
		"no memory for 2 private": func() (time.Duration, error) {
			return o.Merge(ctx, 2, "atomic", 1<<(bits.UintSize-6), 1)
		},
	} {
		if _, err := refused(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
	if took, err := o.ForkJoin(ctx, 1, 1); err != nil || took <= 0 {
		t.Errorf("after that a region takes %v, %v", took, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := o.ForkJoin(ended, 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a measurement that is cancelled: %v", err)
	}
}

// TestOpenMPIgnoresTheEnvironment sets a variable that libgomp reads. It must reach the program only if it is
// handed on.
func TestOpenMPIgnoresTheEnvironment(t *testing.T) {
	t.Setenv("OMP_THREAD_LIMIT", "1")
	o := openMP(t)
	if _, err := o.ForkJoin(t.Context(), 2, 1); err != nil {
		t.Errorf("with a limit of one thread: %v", err)
	}
	file, err := openMPFile()
	gemmtest.Must(t, err)
	p, err := peer.Start(exec.Command(file))
	gemmtest.Must(t, err)
	limited := &OpenMP{p}
	defer limited.Close()
	if _, err := limited.ForkJoin(t.Context(), 2, 1); err == nil ||
		!strings.Contains(err.Error(), "gives 1 of 2 threads") {
		t.Errorf("with a limit that is handed on: %v", err)
	}
	if got := withoutOpenMP([]string{"A=1", "OMP_X=2", "GOMP_Y=3", "XOMP_=4"}); !slices.Equal(got,
		[]string{"A=1", "XOMP_=4"}) {
		t.Errorf("the environment is %v", got)
	}
}

// TestOpenMPUnavailable checks that there is a reason and a remedy if libgomp cannot be measured.
func TestOpenMPUnavailable(t *testing.T) {
	openMP(t)
	other := openMPProgram
	other.Flags = append(slices.Clone(other.Flags), "-D__clang__")
	if _, err := other.Compile(t.TempDir()); err == nil || !strings.Contains(err.Error(), "install gcc") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("with clang: %v", err)
	}
	defer func(file func() (string, error)) { openMPFile = file }(openMPFile)
	openMPFile = func() (string, error) { return openMPProgram.Compile(t.TempDir()) }
	path := os.Getenv("PATH")
	t.Setenv("PATH", "")
	if _, err := NewOpenMP(); !errors.Is(err, gemm.ErrUnavailable) ||
		!strings.Contains(err.Error(), "no C compiler: install gcc or cc") {
		t.Errorf("without a compiler: %v", err)
	}
	t.Setenv("PATH", path)
	if o, err := NewOpenMP(); err != nil {
		t.Errorf("with one: %v", err)
	} else {
		o.Close()
	}
}
