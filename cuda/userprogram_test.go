package cuda_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/cuda"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/cuda/userkernel"
	"gemm/gemmtest"
)

const kernelHead = `extern "C" __global__ void f(int M, int N, int K, float alpha, const float *A, const float *B, ` +
	`float beta, float *C)`

// TestUserProgram compiles sources as users write them: with headers of the toolkit, with files next
// to the source, and with an error.
func TestUserProgram(t *testing.T) {
	l, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	dir := t.TempDir()
	compile := func(source, header string) (nvrtc.Image, error) {
		t.Helper()
		for name, text := range map[string]string{"f.cu": source, "tile.h": header} {
			gemmtest.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		k, err := userkernel.Read("user/f", filepath.Join(dir, "f.cu"), "", "", userkernel.Launch{})
		if err != nil || k.Fault != "" {
			t.Fatal(err, k.Fault)
		}
		cache := nvrtc.Cache{Compiler: l, Folder: filepath.Join(dir, "cache")}
		return cache.Compile(cuda.UserProgram(k, 90))
	}
	const usual = `#include <cuda_runtime.h>
#include <stdio.h>
#include <cassert>
#include <cstdint>
#include "tile.h"
` + kernelHead + `
{
	__shared__ float s[TILE][TILE];
	uint64_t i = threadIdx.x;
	assert(i < 32);
	s[i][0] = sqrtf(A[i]);
	__syncthreads();
	if (i == 0) printf("%f\n", s[0][0]);
	C[i] = s[i][0];
}
`
	for header, shared := range map[string]int{"#define TILE 32": 4096, "#define TILE 64": 16384} {
		image, err := compile(usual, header)
		if err != nil || image.Kernels["f"].Shared != shared || image.Warnings != "" {
			t.Errorf("%s: %v, %+v, %q", header, err, image.Kernels, image.Warnings)
		}
	}
	for _, size := range []int{4, 8} {
		judge := nvrtc.Program{Name: "judge.cu", Source: kernels.Judge, Arch: 90, Options: kernels.JudgeOptions(size)}
		image, err := l.Compile(judge)
		if err != nil || len(image.Kernels) != 4 || image.Kernels["judge_draw"].Registers == 0 || image.Warnings != "" {
			t.Errorf("the kernels that judge elements of %d bytes: %v, %+v, %q", size, err, image.Kernels, image.Warnings)
		}
	}
	for _, arch := range []int{75, 90} {
		chase := nvrtc.Program{Name: "chase.cu", Source: kernels.Chase, Arch: arch}
		image, err := l.Compile(chase)
		if err != nil || len(image.Kernels) != 2 || image.Kernels["chase"].Shared != 16<<10 || image.Warnings != "" {
			t.Errorf("the kernels that measure latencies, sm_%d: %v, %+v, %q", arch, err, image.Kernels, image.Warnings)
		}
	}
	for typ, options := range map[string][]string{"f32": {"-DELEMENT=float"},
		"gf256": {"-DELEMENT=unsigned char", "-DFIELD"}} {
		add := nvrtc.Program{Name: "add.cu", Source: kernels.Add, Arch: 80, Options: options}
		if image, err := l.Compile(add); err != nil || image.Kernels["add"].Registers == 0 || image.Warnings != "" {
			t.Errorf("the kernel that adds %s: %v, %+v, %q", typ, err, image.Kernels, image.Warnings)
		}
	}
	shared := kernelHead + " { int i; __shared__ float x[99999]; x[M] = M; C[0] = x[N]; }"
	for source, want := range map[string]string{
		kernelHead + " {\n\tint unused;\n\tC[0] = x;\n}":  "f.cu(3): error: identifier \"x\" is undefined",
		"#include \"absent.h\"\n" + kernelHead + " {}":    "f.cu(1): catastrophic error: cannot open source file",
		"int main() { return 0; }\n" + kernelHead + " {}": "f.cu(1): error: ",
		shared: "ptxas error   : Entry function",
	} {
		if _, err := compile(source, ""); !errors.Is(err, nvrtc.ErrCompile) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
