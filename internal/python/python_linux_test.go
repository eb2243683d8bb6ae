package python

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/peer"
)

var integers = gemmtest.Integers[float64]

// need returns the product of the library with one thread, or skips the test if there is none. Debian's
// NumPy is for its own Python only.
func need[T gemm.Float](t *testing.T, l Library) *Multiplier[T] {
	t.Helper()
	m, err := New[T](l)
	if err != nil && os.Getenv(Variable) == "" {
		t.Setenv(Variable, "/usr/bin/python3")
		if other, err := New[T](l); err == nil {
			return other
		}
	}
	gemmtest.Require(t, l.Name, err)
	return m
}

// TestStaged stages a product with several copies of its operands. Every number of products leaves the
// result in the copy that is collected, and NaN where a product did not write.
func TestStaged(t *testing.T) {
	for _, l := range []Library{NumPy(1), Torch(1)} {
		t.Run(l.Name, func(t *testing.T) {
			m := need[float64](t, l)
			m.sets = func(bytes int64) int {
				if want := int64(8 * (9*11 + 11*10 + 9*10)); bytes != want {
					t.Errorf("the operands have %d bytes, want %d", bytes, want)
				}
				return 3
			}
			a, b, c := integers(9, 11, 0, 5), integers(11, 10, 0, 3), integers(9, 10, 0, 2)
			run, err := m.Stage(t.Context(), c, a, b)
			gemmtest.Must(t, err)
			for times := 1; times < 9; times++ {
				cost, err := run.(*peer.Product[float64]).Repeat(t.Context(), times)
				if err != nil || cost.Time <= 0 {
					t.Fatalf("%d products take %v: %v", times, cost.Time, err)
				}
				clear(c.Data)
				gemmtest.Must(t, run.Collect(t.Context()))
				gemmtest.Must(t, gemmtest.Exactly(c, a, b))
			}
			if err := run.Close(); err != nil {
				t.Error(err)
			}
			if err := run.Close(); err != nil {
				t.Errorf("closed twice: %v", err)
			}
		})
	}
}

// TestSeveral computes several products at a time.
func TestSeveral(t *testing.T) {
	m := need[float64](t, NumPy(1))
	var wg sync.WaitGroup
	for seed := range 3 {
		wg.Go(func() {
			a, b, c := integers(40, 30, 0, seed+2), integers(30, 20, 0, 3), gemm.NewMatrix[float64](40, 20)
			if err := cmp.Or(m.Multiply(t.Context(), c, a, b), gemmtest.Exactly(c, a, b)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestDescribed looks at what a row says of a library.
func TestDescribed(t *testing.T) {
	for _, l := range []Library{NumPy(1), Torch(1)} {
		t.Run(l.Name, func(t *testing.T) {
			m := need[float32](t, l)
			for _, name := range []string{"version", "kernel", "python"} {
				if text, _ := m.Resolved()[name].(string); text == "" {
					t.Errorf("%s is not known: %v", name, m.Resolved())
				}
			}
			for n, warns := range map[int]int{8: 1, 300: 0} {
				x := gemm.NewMatrix[float32](n, n)
				run, err := m.Stage(t.Context(), gemm.NewMatrix[float32](n, n), x, x)
				gemmtest.Must(t, err)
				if err := run.Close(); err != nil {
					t.Error(err)
				}
				if got := m.Warnings(); len(got) != warns {
					t.Errorf("n = %d has the warnings %q", n, got)
				}
			}
		})
	}
}

// TestEnds ends a process in the midst of a product: the next product has another.
func TestEnds(t *testing.T) {
	m := need[float64](t, NumPy(1))
	x := integers(20, 20, 0, 3)
	c := gemm.NewMatrix[float64](20, 20)
	run, err := m.Stage(t.Context(), c, x, x)
	gemmtest.Must(t, err)
	run.(*peer.Product[float64]).Process().Kill()
	if _, err := run.Do(t.Context()); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("of a process that was killed: %v", err)
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	gemmtest.Must(t, m.Multiply(t.Context(), c, x, x))
	gemmtest.Must(t, gemmtest.Exactly(c, x, x))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.Data[0] = math.NaN()
	if err := m.Multiply(ended, c, x, x); !errors.Is(err, context.Canceled) || !math.IsNaN(c.Data[0]) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// TestUnavailable has programs in the place of Python that cannot do what is wanted.
func TestUnavailable(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"echo 'ModuleNotFoundError: No module named numpy' >&2; exit 1", "(ModuleNotFoundError: No module named numpy): pip install numpy, or set GEMM_PYTHON"},
		{"exit 3", "exit status 3"},
		{"read line; echo 'error 0 a reason'; read line", "(a reason)"},
		{"read line; echo ok 0 what; read line", "invalid character"},
	} {
		file := filepath.Join(t.TempDir(), "python")
		gemmtest.Must(t, os.WriteFile(file, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755))
		t.Setenv(Variable, file)
		for range 2 { // the second time it is remembered
			_, err := New[float64](NumPy(1))
			if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q", c.script, err, c.want)
			}
		}
	}
	t.Setenv(Variable, "no-such-python")
	gpu, x := NewOnGPU[float64](0, false, nil), integers(2, 2, 0, 3)
	if err := gpu.Multiply(t.Context(), gemm.NewMatrix[float64](2, 2), x, x); !errors.Is(err, gemm.ErrUnavailable) ||
		gpu.Resolved() != nil || gpu.Warnings() != nil {
		t.Errorf("without Python, a GPU multiplies: %v, %v", err, gpu.Resolved())
	}
	if _, err := New[float64](Torch(1)); !errors.Is(err, gemm.ErrUnavailable) ||
		!strings.Contains(err.Error(), "install python3, or set GEMM_PYTHON") {
		t.Errorf("without Python: %v", err)
	}
}

// TestInterrupted ends the context while Python loads a library.
func TestInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "python")
	gemmtest.Must(t, os.WriteFile(file, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755))
	t.Setenv(Variable, file)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := NumPy(1).acquire(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, gemm.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}
