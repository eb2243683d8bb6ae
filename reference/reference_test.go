package reference

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/cpu"
	"gemm/internal/dl"
	"gemm/internal/peer"
)

// need skips the test where the library is absent, or fails it where
// GEMM_TEST_REQUIRE has it.
func need(t testing.TB, l *library) *routines {
	t.Helper()
	r, err := l.open()
	gemmtest.Require(t, l.name, err)
	return r
}

// libraries lists the C libraries in the order of Variants. Its last variant, which is Go, is left out.
var libraries = []*library{openBLAS, mkl, blis}

// operands returns matrices with elements between their rows, and small integers in
// them.
func operands[T gemm.Float](m, n, k int) (c, a, b gemm.Matrix[T]) {
	c = gemm.NewMatrix[T](m+1, n+5).Slice(0, 0, m, n)
	a, b = gemm.NewMatrix[T](m+1, k+3).Slice(1, 2, m, k), gemm.NewMatrix[T](k+1, n+4).Slice(0, 1, k, n)
	for i, x := range []gemm.Matrix[T]{a, b} {
		for j := range x.Rows {
			for l := range x.Cols {
				x.Set(j, l, T((3*j+5*l+i)%7-3))
			}
		}
	}
	for i := range c.Data {
		c.Data[i] = 77
	}
	return c, a, b
}

// check compares c with a·b, which is exact, and looks between its rows.
func check[T gemm.Float](t *testing.T, c, a, b gemm.Matrix[T]) {
	t.Helper()
	gemmtest.Must(t, gemmtest.Exactly(c, a, b))
	for at, x := range c.Data {
		if at%c.Stride >= c.Cols && x != 77 {
			t.Fatalf("%v: what lies behind row %d was written", c, at/c.Stride)
		}
	}
}

// places returns this process and, if there is a C compiler, one for a library.
func places(t *testing.T) []place {
	out := []place{new(inProcess)}
	if file, err := peer.Program(); err == nil {
		p, err := peer.NewLibrary(file)
		gemmtest.Must(t, err)
		t.Cleanup(p.Kill)
		out = append(out, &process{Library: p})
	}
	return out
}

func TestVariants(t *testing.T) {
	for i, v := range Variants()[:len(libraries)] {
		t.Run(v.Name, func(t *testing.T) {
			need(t, libraries[i])
			params := []gemm.Params{nil}
			if libraries[i].opened.mostThreads(2) == 2 {
				params = append(params, gemm.Params{"threads": 2})
			}
			suite := gemmtest.Suite{OneCall: true}
			if _, err := peer.Program(); err != nil {
				suite.Lacks = libraryCan
			}
			suite.Run(t, v, params...)
			m, err := gemm.NewGemmer[float64](v, gemm.Params{"threads": 1})
			gemmtest.Must(t, err)
			for name, value := range m.(gemm.Explainer).Resolved() {
				if value == "" || value == 0 || value == "unknown" && runtime.GOOS == "linux" {
					t.Errorf("resolved %s is %v", name, value)
				}
			}
		})
	}
}

// TestAbsent looks for what is not there, or is something else.
func TestAbsent(t *testing.T) {
	text := filepath.Join(t.TempDir(), "liboops.so")
	gemmtest.Must(t, os.WriteFile(text, []byte("no library\n"), 0o644))
	tests := map[string]struct {
		names []string
		value string // of the environment variable
		want  []string
	}{
		"none found": {
			[]string{"libnowhere.so.7", "/nowhere/*/lib.so"}, "",
			[]string{"no Nowhere among libnowhere.so.7, /nowhere/*/lib.so; install nowhere7, or set GEMM_NOWHERE to the path of one"},
		},
		"found but broken": {[]string{text}, "", []string{"no Nowhere among " + text, "liboops.so: "}},
		"named, not there": {[]string{text}, "/nowhere/lib.so", []string{"GEMM_NOWHERE=/nowhere/lib.so: "}},
		"named, broken":    {nil, text, []string{"GEMM_NOWHERE=" + text + ": "}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GEMM_NOWHERE", test.value)
			l := &library{
				name:   "nowhere",
				Search: dl.Search{Title: "Nowhere", Variable: "GEMM_NOWHERE", Names: test.names, Remedy: "install nowhere7"},
				load:   func(p place, name string) (*routines, error) { return nil, p.Open(name) },
			}
			shared := func() error { _, err := newShared[float64](l, 1); return err }
			own := func() error { _, err := newMultiplier[float64](l, 1); return err }
			for _, construct := range []func() error{shared, own} {
				err := construct()
				if !errors.Is(err, gemm.ErrUnavailable) {
					t.Fatalf("the error is %v, want an ErrUnavailable", err)
				}
				for _, want := range test.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q does not contain %q", err, want)
					}
				}
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("%q has several lines", err)
				}
			}
		})
	}
}

// TestOther opens one library in the place of another.
func TestOther(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a library that is always there")
	}
	for _, l := range libraries {
		for _, p := range places(t) {
			if _, err := l.load(p, "libc.so.6"); err == nil || !strings.Contains(err.Error(), "it is not the library meant") {
				t.Errorf("libc as %s: %v", l.Title, err)
			}
		}
	}
}

func TestSlowArch(t *testing.T) {
	avx2 := []cpu.ISA{cpu.AVX2NoGFNI, cpu.SSSE3, cpu.Generic}
	for _, test := range []struct {
		arch      string
		sets      []cpu.ISA
		fullWidth bool
		want      string
	}{
		{"skx", avx2, true, ""},
		{"zen3", avx2, false, ""},
		{"zen3", avx2, true, "AVX-512"},
		{"generic", avx2, true, "AVX2"},
		{"sandybridge", avx2, false, "AVX2"},
		{"sandybridge", avx2[1:], false, ""},
		{"cortexa57", avx2[2:], false, ""},
	} {
		if got := slowArch(test.arch, test.sets, test.fullWidth); !strings.Contains(got, test.want) ||
			(got == "") != (test.want == "") {
			t.Errorf("%s on %v, full width %v: %q, want a remark on %q", test.arch, test.sets, test.fullWidth, got, test.want)
		}
	}
}

func TestThreadingLayer(t *testing.T) {
	hasGNU := new(inProcess).OpenGlobal("libgomp.so.1") == nil
	whole := []string{"libmkl_rt.so.2", "libmkl_core.so.2", "libmkl_intel_lp64.so.2"}
	tests := map[string]struct {
		files []string
		want  int
		fails string
	}{
		"sequential": {append(whole, "libmkl_sequential.so.2"), layerSequential, ""},
		"both":       {append(whole, "libmkl_sequential.so.2", "libmkl_gnu_thread.so.2"), layerGNU, ""},
		"no core":    {[]string{"libmkl_rt.so.2", "libmkl_intel_lp64.so.2", "libmkl_sequential.so.2"}, 0, "libmkl_core"},
		"no layer":   {append(whole, "libmkl_intel_thread.so.2"), 0, "libmkl_sequential"},
	}
	for name, test := range tests {
		dir := t.TempDir()
		for _, file := range test.files {
			gemmtest.Must(t, os.WriteFile(filepath.Join(dir, file), nil, 0o644))
		}
		if test.want == layerGNU && !hasGNU {
			test.want = layerSequential
		}
		got, err := threadingLayer(new(inProcess), []string{filepath.Join(dir, "libmkl_rt.so.2")})
		if got != test.want || (err == nil) != (test.fails == "") ||
			err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: layer %d, %v; want %d, error %q", name, got, err, test.want, test.fails)
		}
	}
	if got, err := threadingLayer(new(inProcess), nil); got != layerSequential || err != nil {
		t.Errorf("where the files are not known: layer %d, %v", got, err)
	}
}

func TestMKL(t *testing.T) {
	for text, want := range map[string]string{
		"Intel(R) Math Kernel Library Version 2020.0.4 Product Build 20200917 for Intel(R) 64 architecture applications\x00\x00": "2020.0.4",
		"Intel(R) oneAPI Math Kernel Library Version 2023.1-Product Build 20230303 for Intel(R) 64":                              "2023.1",
		"": "",
	} {
		if got := mklVersion(text); got != want {
			t.Errorf("version of %q is %q, want %q", text, got, want)
		}
	}
	for want, files := range map[string][]string{
		"avx512":  {"/x/libmkl_core.so.2", "/x/libmkl_rt.so.2", "/x/libmkl_avx512.so.2"},
		"def":     {"/x/libmkl_def.so", "/x/libmkl_gnu_thread.so"},
		"mc3":     {"/x/libmkl_mc3.so.1"},
		"unknown": {"/x/libmkl_core.so"},
	} {
		if got := mklKernel(files); got != want {
			t.Errorf("kernel of %v is %q, want %q", files, got, want)
		}
	}
}

func TestSlowMKL(t *testing.T) {
	avx2 := []cpu.ISA{cpu.AVX2, cpu.AVX2NoGFNI, cpu.SSSE3, cpu.Generic}
	for _, test := range []struct {
		kernel string
		sets   []cpu.ISA
		want   string
	}{
		{"avx512", append([]cpu.ISA{cpu.AVX512}, avx2...), ""},
		{"avx10", append([]cpu.ISA{cpu.AVX512}, avx2...), ""},
		{"avx2", append([]cpu.ISA{cpu.AVX512}, avx2...), "AVX-512"},
		{"avx2", avx2, ""},
		{"def", avx2, "AVX2"},
		{"mc3", avx2[2:], ""},
	} {
		if got := slowMKL(test.kernel, test.sets); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s on %v: %q, want a remark on %q", test.kernel, test.sets, got, test.want)
		}
	}
	warned := mkl.warnings(&routines{version: "2020.0.4", kernel: "def", slow: "does not use its AVX2"})
	if want := "Intel MKL 2020.0.4 computes with its kernel def, slow on this processor: does not use its AVX2"; len(warned) != 1 || warned[0].Text != want {
		t.Errorf("the warnings are %q, want %q", warned, want)
	}
	if warned := mkl.warnings(&routines{}); warned != nil {
		t.Errorf("warns of nothing: %q", warned)
	}
}

func TestSystem(t *testing.T) {
	for _, test := range []struct {
		files []string
		want  bool
	}{
		{nil, false},
		{[]string{"/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4"}, true},
		{[]string{"/usr/lib64/libblis.so.4"}, true},
		{[]string{"/usr/local/lib/libblis.so.4"}, false},
		{[]string{"/usr/lib64/libblis.so.4", "/opt/libblis.so"}, false},
	} {
		if got := system(test.files); got != test.want {
			t.Errorf("%v: %v, want %v", test.files, got, test.want)
		}
	}
}

// TestSet makes settings for libraries, and sees that it leaves what the user set
// and what children inherit.
func TestSet(t *testing.T) {
	if err := new(inProcess).Setenv("GEMM_TEST_PROBE", "1"); err != nil {
		t.Skip(err)
	}
	if value, ok := os.LookupEnv("GEMM_TEST_PROBE"); ok {
		t.Errorf("setenv shows in this process's own environment, as %q", value)
	}
	t.Setenv("GEMM_TEST_USER", "")
	if set(new(inProcess), "1", "GEMM_TEST_OTHER", "GEMM_TEST_USER") {
		t.Error("a setting of the user's, though empty, is overruled")
	}
	if !set(new(inProcess), "1", "GEMM_TEST_OTHER") {
		t.Error("a setting is not made")
	}
}

// inChild runs a test of this binary in a new process, in which no library is open, with the given
// environment. It removes the user's choice of kernels, and returns what the child printed after
// "child: ".
func inChild(t *testing.T, test string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "OPENBLAS_CORETYPE=") || strings.HasPrefix(variable, "BLIS_ARCH_TYPE=")
	})
	cmd.Env = append(cmd.Env, append(env, "REFERENCE_TEST_CHILD=1", "GORACE=atexit_sleep_ms=0")...)
	output, err := cmd.CombinedOutput()
	_, said, ok := strings.Cut(string(output), "child: ")
	if err != nil || !ok {
		t.Fatalf("child with %v: %v\n%s", env, err, output)
	}
	return strings.TrimSpace(said)
}

func isChild() bool { return os.Getenv("REFERENCE_TEST_CHILD") != "" }

func kernelOf(l *library) string {
	r, err := l.open()
	if err != nil {
		return err.Error()
	}
	return r.described()
}

// TestOpenBLASKernel opens OpenBLAS as the user set it, and where it believes to
// be on a Prescott.
func TestOpenBLASKernel(t *testing.T) {
	if isChild() {
		if lie := os.Getenv("REFERENCE_TEST_LIE"); lie != "" {
			gemmtest.Must(t, new(inProcess).Setenv("OPENBLAS_CORETYPE", lie))
		}
		fmt.Println("child: " + kernelOf(openBLAS))
		os.Exit(0)
	}
	need(t, openBLAS)
	better := dl.BetterCore("Prescott", cpu.Supported(), cpu.FullWidthAVX512())
	if better == "" {
		t.Skip("this processor has no AVX2")
	}
	if got := inChild(t, "TestOpenBLASKernel", "OPENBLAS_CORETYPE=Prescott"); !strings.HasPrefix(got, "Prescott (slow") {
		t.Skipf("the kernel is %q: this OpenBLAS is built for one kernel only", got)
	}
	if got := inChild(t, "TestOpenBLASKernel", "OPENBLAS_CORETYPE=Haswell"); !strings.HasPrefix(got, "Haswell") {
		t.Errorf("with OPENBLAS_CORETYPE=Haswell the kernel is %q", got)
	}
	want := "(OPENBLAS_CORETYPE=" + better + "; its own choice is Prescott)"
	if got := inChild(t, "TestOpenBLASKernel", "REFERENCE_TEST_LIE=Prescott"); strings.HasPrefix(got, "Prescott") ||
		!strings.HasSuffix(got, want) {
		t.Errorf("where OpenBLAS chooses Prescott the kernel is %q, want one with %q", got, want)
	}
}

func TestBLISKernel(t *testing.T) {
	if isChild() {
		fmt.Println("child: " + kernelOf(blis))
		os.Exit(0)
	}
	need(t, blis)
	if runtime.GOARCH != "amd64" || !slices.Contains(cpu.Supported(), cpu.AVX2NoGFNI) ||
		!system(mapped(new(inProcess), "libblis")) {
		t.Skip("whether it has the kernels for Haswell is not known")
	}
	const haswell = "3"
	if got := inChild(t, "TestBLISKernel", "BLIS_ARCH_TYPE="+haswell); !strings.HasPrefix(got, "haswell") {
		t.Errorf("with BLIS_ARCH_TYPE=%s the kernel is %q", haswell, got)
	}
	own := inChild(t, "TestBLISKernel")
	if forced := strings.HasSuffix(own, " (BLIS_ARCH_TYPE=0)"); forced != cpu.FullWidthAVX512() {
		t.Errorf("the kernel is %q where AVX-512 at full width is %v", own, cpu.FullWidthAVX512())
	}
}

// TestThreads runs products with different numbers of threads at the same time.
func TestThreads(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			r := need(t, l)
			if r.mostThreads(3) < 3 {
				t.Skip("it has no threads")
			}
			var all sync.WaitGroup
			for worker := range 4 {
				all.Go(func() {
					m, err := newShared[float64](l, 1+worker%3)
					if err != nil {
						t.Error(err)
						return
					}
					const n = 70
					a, b, c := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
					for i := range a.Data {
						a.Data[i], b.Data[i] = float64(worker+1), 1
					}
					for range 50 {
						if err := m.Multiply(context.Background(), c, a, b); err != nil {
							t.Error(err)
							return
						}
						for i, x := range c.Data {
							if x != float64(n*(worker+1)) {
								t.Errorf("worker %d: element %d is %v, want %v", worker, i, x, n*(worker+1))
								return
							}
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// TestPerThread enters a library of which each thread of the operating system has
// its own number of threads.
func TestPerThread(t *testing.T) {
	var set []int
	r := &routines{perThread: true, setThreads: func(n int) int {
		set = append(set, n)
		return n
	}}
	for _, n := range []int{2, 2, 1} {
		r.enter(n)
		r.leave()
	}
	if want := []int{2, 2, 2, 1, 1}; !slices.Equal(set, want) {
		t.Errorf("is set %v, want %v: each call's number, and once more when it changes", set, want)
	}
}

// TestLimit passes an index that does not fit the library's integers.
func TestLimit(t *testing.T) {
	x, stride := &multiplier[float64]{}, math.MaxInt32
	if stride++; stride < 0 {
		t.Skip("every int fits")
	}
	a := gemm.Matrix[float64]{Rows: 1, Cols: 1, Stride: stride, Data: []float64{2}}
	c := gemm.Matrix[float64]{Rows: 1, Cols: 1, Stride: 1, Data: []float64{7}}
	err := x.Gemm(context.Background(), blas.NoTrans, blas.NoTrans, 1, a, a, 0, c)
	if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "2147483648") || c.Data[0] != 7 {
		t.Errorf("a stride of 2³¹: %v, C is %v", err, c.Data)
	}
}

// TestSmall multiplies by the libraries that compute small products only, in this process and in their
// own, and wants an error and an untouched C for larger ones.
func TestSmall(t *testing.T) {
	need(t, libxsmm)
	v, err := gemm.Lookup(Variants(), "reference/libxsmm")
	gemmtest.Must(t, err)
	multiplier, err := gemm.New[float64](v, nil)
	gemmtest.Must(t, err)
	own := func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		s, ok := multiplier.(gemm.Stager[float64])
		if !ok {
			return multiplier.Multiply(ctx, c, a, b) // there is no C compiler
		}
		return peer.Multiply(ctx, s, c, a, b)
	}
	shapes := []gemm.Shape{{M: 1, N: 1, K: 1}, {M: 64, N: 64, K: 64}, {M: 3, N: 17, K: 40}, {M: 64, N: 1, K: 33},
		{M: 65, N: 2, K: 2}, {M: 2, N: 2, K: 100}}
	for place, multiply := range map[string]func(_ context.Context, c, a, b gemm.Matrix[float64]) error{
		"here": multiplier.Multiply, "own": own,
	} {
		for _, s := range shapes {
			c, a, b := operands[float64](s.M, s.N, s.K)
			err := multiply(t.Context(), c, a, b)
			if small := max(s.M, s.N, s.K) <= 64; !small {
				if !errors.Is(err, gemm.ErrUnavailable) || c.Data[0] != 77 {
					t.Errorf("%s, %s: %v, C begins with %g", place, s, err, c.Data[0])
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s, %s: %v", place, s, err)
			}
			check(t, c, a, b)
		}
	}
}
