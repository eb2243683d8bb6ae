package reference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/dl"
	"gemm/internal/peer"
)

// The methods that measurements use if they are there.
var (
	_ record.Repeater = (*peer.Product[float64])(nil)
	_ record.Warner   = (*multiplier[float64])(nil)
	_ record.Warner   = (*separate[float64])(nil)
)

// own returns the program of libraries, or skips the test if there is none.
func own(t testing.TB) string {
	t.Helper()
	file, err := peer.Program()
	gemmtest.Require(t, "gcc", err)
	return file
}

// staged returns the product of l in a process of its own.
func staged[T gemm.Float](t testing.TB, l *library, threads int) *separate[T] {
	t.Helper()
	own(t)
	need(t, l)
	m, err := newMultiplier[T](l, threads)
	gemmtest.Must(t, err)
	return m.(*separate[T])
}

// product stages, multiplies and collects.
func product[T gemm.Float](t *testing.T, x *separate[T], m, n, k int) {
	t.Helper()
	ctx := context.Background()
	c, a, b := operands[T](m, n, k)
	r, err := x.Stage(ctx, c, a, b)
	gemmtest.Must(t, err)
	cost, err := r.Do(ctx)
	if err == nil {
		err = r.Collect(ctx)
	}
	gemmtest.Must(t, errors.Join(err, r.Close()))
	check(t, c, a, b)
	if m*n*k > 0 && cost.Time <= 0 {
		t.Errorf("%d×%d×%d took %v", m, n, k, cost.Time)
	}
}

func TestStage(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			x64, x32 := staged[float64](t, l, 1), staged[float32](t, l, 1)
			for _, s := range [][3]int{{1, 1, 1}, {7, 5, 3}, {64, 64, 64}, {33, 129, 65}, {1, 200, 31}, {200, 1, 31}, {0, 3, 2},
				{3, 0, 2}, {4, 3, 0}, {300, 700, 250}} {
				product(t, x64, s[0], s[1], s[2])
				product(t, x32, s[0], s[1], s[2])
			}
			if got := x64.Resolved()["process"]; got != "own" {
				t.Errorf("resolved process %v", got)
			}
			c, a, b := operands[float64](3, 4, 5)
			gemmtest.Must(t, x64.Multiply(context.Background(), c, a, b))
			check(t, c, a, b)
			if got := x64.Resolved()["process"]; got != "shared" {
				t.Errorf("after a product here: resolved process %v", got)
			}
			if _, err := x64.Stage(context.Background(), c, b, a); !errors.Is(err, gemm.ErrShape) {
				t.Errorf("shapes that do not conform: %v", err)
			}
		})
	}
}

// TestUncomputed asks for a product of a library that has none, and for its result.
func TestUncomputed(t *testing.T) {
	x := staged[float64](t, openBLAS, 1)
	ctx := context.Background()
	c, a, b := operands[float64](3, 3, 3)
	r, err := x.Stage(ctx, c, a, b)
	gemmtest.Must(t, err)
	p := r.(*peer.Product[float64]).Process()
	defer p.Kill() // it is no OpenBLAS any more
	if _, err := p.Request(ctx, "open libc.so.6"); err != nil {
		t.Fatal(err)
	}
	_, err = p.Request(ctx, "stage f64 exchanged dgemm_ 0 NN 1 0 0 0 0 0 0 0 1")
	if err == nil || !strings.Contains(err.Error(), "no symbol dgemm_") {
		t.Errorf("a library without dgemm_: %v", err)
	}
	if _, err := r.Do(ctx); err == nil || !strings.Contains(err.Error(), "nothing is staged") {
		t.Errorf("a product of nothing: %v", err)
	}
	if err := r.Collect(ctx); err == nil {
		t.Error("a result of nothing is collected")
	}
}

// TestRepeat times batches. The time must grow with the length, and agree with the process clock.
func TestRepeat(t *testing.T) {
	x := staged[float64](t, openBLAS, 1)
	ctx := context.Background()
	c, a, b := operands[float64](48, 48, 48)
	r, err := x.Stage(ctx, c, a, b)
	gemmtest.Must(t, err)
	defer r.Close()
	best := map[int]time.Duration{}
	for range 20 {
		for _, times := range []int{1, 1000} {
			start := time.Now()
			cost, err := r.(*peer.Product[float64]).Repeat(ctx, times)
			gemmtest.Must(t, err)
			if took := time.Since(start); cost.Time > took {
				t.Fatalf("%d products took %v of %v", times, cost.Time, took)
			}
			best[times] = min(cmp.Or(best[times], cost.Time), cost.Time)
		}
	}
	// Loose: a neighbour may have the processor. One call is not free, nor a thousand
	// no more than one.
	if best[1000] < 20*best[1] {
		t.Errorf("one product takes %v, a thousand %v", best[1], best[1000])
	}
}

// TestDead kills the process. Its row must have an error, and the next one a new process.
func TestDead(t *testing.T) {
	x := staged[float64](t, openBLAS, 1)
	ctx := context.Background()
	c, a, b := operands[float64](8, 8, 8)
	r, err := x.Stage(ctx, c, a, b)
	gemmtest.Must(t, err)
	p := r.(*peer.Product[float64]).Process()
	gemmtest.Must(t, syscall.Kill(p.PID(), syscall.SIGKILL))
	if _, err := r.Do(ctx); err == nil ||
		!strings.Contains(err.Error(), "its process ended with signal killed") {
		t.Errorf("a product in a dead process: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	product(t, x, 8, 8, 8)
}

// TestCancelled cancels a product that takes long.
func TestCancelled(t *testing.T) {
	x := staged[float64](t, openBLAS, 1)
	c, a, b := operands[float64](2000, 2000, 2000)
	r, err := x.Stage(context.Background(), c, a, b)
	gemmtest.Must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Do(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a product that takes longer: %v", err)
	}
	if !r.(*peer.Product[float64]).Process().Ended() {
		t.Error("the process is still there")
	}
	if _, err := r.Do(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a product after its time: %v", err)
	}
	product(t, x, 8, 8, 8)
}

// TestUntrusted finds a program that another user can have written: it is not started, and
// the reason is the row's.
func TestUntrusted(t *testing.T) {
	if isChild() {
		_, err := newMultiplier[float64](openBLAS, 1)
		fmt.Printf("child: %v; %v\n", errors.Is(err, gemm.ErrUnavailable), err)
		os.Exit(0)
	}
	own(t)
	cache, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	folder := filepath.Join(cache, "gemm")
	file, err := peer.Holder.Compile(folder)
	gemmtest.Must(t, err)
	gemmtest.Must(t, os.WriteFile(file, []byte("#!/bin/sh\necho >"+ran+"\n"), 0o700))
	gemmtest.Must(t, os.Chmod(folder, 0o777))
	said := inChild(t, "TestUntrusted", "XDG_CACHE_HOME="+cache)
	if want := "other users can write the folder " + folder; !strings.HasPrefix(said, "true; ") ||
		!strings.Contains(said, want) {
		t.Errorf("the reason is %q, want %q", said, want)
	}
	if _, err := os.Stat(ran); !errors.Is(err, os.ErrNotExist) {
		t.Error("a program that another user can have written was started")
	}
}

// compiled compiles the source of a library to the file.
func compiled(t *testing.T, file, source string) {
	t.Helper()
	text := filepath.Join(t.TempDir(), "main.c")
	gemmtest.Must(t, os.WriteFile(text, []byte(source), 0o600))
	if said, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", file, text).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
}

// TestNames has the loader find libraries under the names that distributions and pip give
// them.
func TestNames(t *testing.T) {
	if isChild() {
		var found []string
		for _, l := range libraries {
			_, _ = dl.Find(l.Search, func(name string) (*routines, error) {
				err := new(inProcess).Open(name)
				if err == nil {
					found = append(found, name)
					err = errors.New("another one")
				}
				return nil, err
			})
		}
		fmt.Println("child:", strings.Join(found, " "))
		os.Exit(0)
	}
	own(t)
	dir := t.TempDir()
	names := []string{
		"libmkl_rt.so.2", "libmkl_rt.so.3", "libmkl_rt.so.4", "libopenblas.so.1", "libopenblas64.so.0", "libopenblasp64.so.0",
		"libopenblas64_.so.0", "libblis.so.5", "libblis-mt.so.5",
		"libblis64.so.4",
	}
	for _, name := range names {
		compiled(t, filepath.Join(dir, name), "")
	}
	found := strings.Fields(inChild(t, "TestNames", "LD_LIBRARY_PATH="+dir, "GEMM_OPENBLAS=", "GEMM_MKL=", "GEMM_BLIS="))
	for _, name := range names {
		if !slices.Contains(found, name) {
			t.Errorf("%s is not found, only %q", name, found)
		}
	}
	if slices.Index(found, "libmkl_rt.so.4") > slices.Index(found, "libmkl_rt.so.3") {
		t.Errorf("an older version comes first: %q", found)
	}
}

// TestDecorated multiplies with an OpenBLAS as pip installs it: its symbols have a prefix
// and a suffix, and its integers 64 bits.
func TestDecorated(t *testing.T) {
	own(t)
	file := filepath.Join(t.TempDir(), "libscipy_openblas64_.so")
	compiled(t, file, `
static int threads = 1;
const char *scipy_openblas_get_corename64_(void) { return "SkylakeX"; }
const char *scipy_openblas_get_config64_(void) { return "OpenBLAS 0.3.99 USE64BITINT"; }
int scipy_openblas_get_parallel64_(void) { return 1; }
int scipy_openblas_get_num_threads64_(void) { return threads; }
void scipy_openblas_set_num_threads64_(int n) { threads = n; }
#define GEMM(name, T) \
void name(const char *ta, const char *tb, const long long *m, const long long *n, const long long *k, const T *alpha, \
          const T *a, const long long *lda, const T *b, const long long *ldb, const T *beta, T *c, const long long *ldc) { \
    for (long long i = 0; i < *m; i++) for (long long j = 0; j < *n; j++) { \
        T sum = 0; \
        for (long long l = 0; l < *k; l++) sum += a[i + l * *lda] * b[l + j * *ldb]; \
        c[i + j * *ldc] = *alpha * sum; \
    } \
}
GEMM(scipy_sgemm_64_, float)
GEMM(scipy_dgemm_64_, double)
`)
	t.Setenv("GEMM_OPENBLAS", file)
	l := &library{Search: openBLAS.Search, load: openBLAS.load}
	m, err := newMultiplier[float64](l, 1)
	gemmtest.Must(t, err)
	x := m.(*separate[float64])
	product(t, x, 7, 5, 3)
	c, a, b := operands[float64](7, 5, 3)
	if err := x.Multiply(t.Context(), c, a, b); err != nil { // in this process
		t.Fatal(err)
	}
	check(t, c, a, b)
	if got := x.Resolved()["version"]; got != "0.3.99" {
		t.Errorf("the version is %v", got)
	}
}

// TestFewThreads asks a library for more threads than it has, in its own process and in this one.
func TestFewThreads(t *testing.T) {
	file := own(t)
	l := &library{Search: dl.Search{Title: "One", Variable: "GEMM_NOWHERE", Names: []string{"one"}},
		load: func(place, string) (*routines, error) {
			return &routines{setThreads: func(int) int { return 1 }}, nil
		}}
	_, own := l.acquire(file, 2)
	l.opened, _ = l.load(nil, "")
	_, shared := newShared[float32](l, 2)
	for _, err := range []error{own, shared} {
		if !errors.Is(err, gemm.ErrUnavailable) ||
			!strings.Contains(err.Error(), "threads=2: this One uses at most 1") {
			t.Errorf("two threads of a library that has one: %v", err)
		}
	}
}

// TestAgain loads a library that ends its process if a request is too large.
func TestAgain(t *testing.T) {
	file := own(t)
	loads := 0
	l := &library{Search: dl.Search{Title: "Fragile", Variable: "GEMM_NOWHERE", Names: []string{"fragile"}},
		load: func(p place, _ string) (*routines, error) {
			loads++
			if p.expendable() {
				_, err := p.(*process).Request(t.Context(), "stage what")
				return nil, err
			}
			return &routines{setThreads: func(n int) int { return n }}, nil
		}}
	p, err := l.acquire(file, 1)
	gemmtest.Must(t, err)
	p.Kill()
	if loads != 2 {
		t.Errorf("it was loaded %d times", loads)
	}
}
