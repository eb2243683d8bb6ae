package nvrtc

import (
	"errors"
	"os"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
)

const source = `extern "C" __global__ void twice(float *x) {
	__shared__ float y[64];
	y[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	x[threadIdx.x] = 2 * y[63 - threadIdx.x];
}
`

// library returns the NVRTC of this host.
func library(t *testing.T) *Library {
	t.Helper()
	l, err := Find()
	gemmtest.Require(t, "nvrtc", err)
	return l
}

func TestCompile(t *testing.T) {
	l := library(t)
	if l.Major < 11 || l.Major > 13 {
		t.Errorf("the version is %s", l.Version())
	}
	image, err := l.Compile(Program{Name: "twice.cu", Source: source, Arch: 80})
	gemmtest.Must(t, err)
	if !strings.HasPrefix(string(image.Code), "\x7fELF") {
		t.Errorf("the image begins with %q", image.Code[:4])
	}
	k, ok := image.Kernels["twice"]
	if !ok || k.Registers < 4 || k.Registers > 32 || k.Shared != 256 || k.Spills != 0 || len(image.Kernels) != 1 {
		t.Errorf("the kernels are %+v", image.Kernels)
	}
	if image.Warnings != "" {
		t.Errorf("the compiler says %q", image.Warnings)
	}
}

// TestSpills checks that a kernel with too few registers has spills.
func TestSpills(t *testing.T) {
	l := library(t)
	const hungry = `extern "C" __global__ void sum(const float *x, float *y) {
	float r[64];
	#pragma unroll
	for (int i = 0; i < 64; i++) r[i] = x[i];
	__syncthreads();
	for (int l = 0; l < 1000; l++) {
		#pragma unroll
		for (int i = 0; i < 64; i++) r[i] = r[i] * x[l] + r[63 - i];
	}
	#pragma unroll
	for (int i = 0; i < 64; i++) y[i] = r[i];
}
`
	image, err := l.Compile(Program{Name: "sum.cu", Source: hungry, Arch: 80, Options: []string{"--maxrregcount=32"}})
	gemmtest.Must(t, err)
	if k := image.Kernels["sum"]; k.Registers > 32 || k.Spills == 0 || k.Stack == 0 {
		t.Errorf("the kernel is %+v", k)
	}
}

func TestWarnings(t *testing.T) {
	l := library(t)
	image, err := l.Compile(Program{Name: "idle.cu",
		Source: `extern "C" __global__ void idle() { int unused = 1; }`, Arch: 80})
	gemmtest.Must(t, err)
	if !strings.Contains(image.Warnings, "idle.cu(1): warning") || !strings.Contains(image.Warnings, "unused") {
		t.Errorf("the compiler says %q", image.Warnings)
	}
}

func TestErrors(t *testing.T) {
	l := library(t)
	_, err := l.Compile(Program{Name: "wrong.cu", Source: `extern "C" __global__ void wrong() { x = 1; }`, Arch: 80})
	if !errors.Is(err, ErrCompile) || !strings.Contains(err.Error(), "wrong.cu(1): error") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v", err)
	}
	_, err = l.Compile(Program{Name: "twice.cu", Source: source, Arch: 7})
	if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "does not know sm_7") {
		t.Errorf("the error is %v", err)
	}
}

// TestFind looks for libraries that are not there, and for one that is another.
func TestFind(t *testing.T) {
	kept := found.Library
	found.Library = nil
	defer func() { found.Library = kept }()
	t.Setenv(Variable, "/nowhere/libnvrtc.so.13")
	if _, err := Find(); !errors.Is(err, gemm.ErrUnavailable) ||
		!strings.Contains(err.Error(), "GEMM_NVRTC=/nowhere/libnvrtc.so.13: ") ||
		!strings.Contains(err.Error(), "; set GEMM_NVRTC") {
		t.Errorf("the error is %v", err)
	}
	t.Setenv(Variable, "/nowhere/[*.so") // no pattern
	if _, err := Find(); !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "/nowhere/[*.so") {
		t.Errorf("the error is %v", err)
	}
	file := t.TempDir() + "/libnvrtc.so.13"
	gemmtest.Must(t, os.WriteFile(file, []byte("no library"), 0o600))
	t.Setenv(Variable, file)
	if _, err := Find(); !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "GEMM_NVRTC="+file+": ") {
		t.Errorf("the error is %v", err)
	}
}

// TestParse reads what versions 11.8 and 13.0 say of two kernels.
func TestParse(t *testing.T) {
	for version, log := range map[string]string{
		"11.8": `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_80'
ptxas info    : Function properties for gemm
ptxas         .     16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, 16384 bytes smem, 412 bytes cmem[0]
ptxas info    : Compiling entry function 'pack_a' for 'sm_80'
ptxas info    : Function properties for pack_a
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, 388 bytes cmem[0]
`,
		"13.0": `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_90'
ptxas info    : Function properties for gemm
ptxas         .     16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 16384 bytes smem
ptxas info    : Compile time = 22.431 ms
ptxas info    : Compiling entry function 'pack_a' for 'sm_90'
ptxas info    : Function properties for pack_a
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compile time = 1.5 ms
` + "\x00",
	} {
		kernels, rest, err := parse(log)
		if err != nil || rest != "" || len(kernels) != 2 {
			t.Fatalf("%s: %v, %q, %v", version, kernels, rest, err)
		}
		if k := kernels["gemm"]; k != (Kernel{Registers: 255, Spills: 20, Stack: 16, Shared: 16384}) {
			t.Errorf("%s: gemm is %+v", version, k)
		}
		if k := kernels["pack_a"]; k != (Kernel{Registers: 12}) {
			t.Errorf("%s: pack_a is %+v", version, k)
		}
	}
	for _, log := range []string{"", "ptxas info    : Compiling entry function 'gemm' for 'sm_80'\n"} {
		if _, _, err := parse(log); err == nil {
			t.Errorf("%q is taken for what a compiler says", log)
		}
	}
}
