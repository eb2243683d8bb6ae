package nvrtc

import (
	"errors"
	"os"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
)

// TestCompile checks what is said of kernels: shared memory and registers, a kernel with too few registers, a warning.
func TestCompile(t *testing.T) {
	l, err := Find()
	gemmtest.Require(t, "nvrtc", err)
	if l.Major < 11 || l.Major > 13 {
		t.Errorf("the version is %s", l.Version())
	}
	for _, test := range []struct {
		source, option, warning string
		shared                  int
		spills                  bool
	}{
		{`__global__ void f(float *x) {
	__shared__ float y[64];
	y[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	x[threadIdx.x] = 2 * y[63 - threadIdx.x];
}`, "-DX", "", 256, false},
		{`__global__ void f(const float *x, float *y) {
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
}`, "--maxrregcount=32", "maxrregcount", 0, true},
		{`__global__ void f() { int unused = 1; }`, "-DX", "f.cu(1): warning", 0, false},
	} {
		image, err := l.Compile(Program{Name: "f.cu", Source: `extern "C" ` + test.source, Arch: 80,
			Options: []string{test.option}})
		gemmtest.Must(t, err)
		k := image.Kernels["f"]
		if !strings.HasPrefix(string(image.Code), "\x7fELF") || len(image.Kernels) != 1 || k.Registers < 2 ||
			k.Registers > 32 || k.Shared != test.shared || k.Spills > 0 != test.spills || k.Stack > 0 != test.spills ||
			!strings.Contains(image.Warnings, test.warning) || (image.Warnings == "") != (test.warning == "") {
			t.Errorf("%s\nis %+v, %q", test.source, image.Kernels, image.Warnings)
		}
	}
	_, err = l.Compile(Program{Name: "f.cu", Source: `extern "C" __global__ void f() {}`, Arch: 7})
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
