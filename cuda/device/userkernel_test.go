//go:build cuda

package device_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/cuda/device"
	"gemm/cuda/userkernel"
	"gemm/gemmtest"
	"gemm/internal/note"
	"gemm/user"
)

// kernelHead begins a user kernel, and kernelBody computes the product.
const (
	kernelHead = `extern "C" __global__ void f(int M, int N, int K, float alpha, const float *A, const float *B,
	float beta, float *C) {
	int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
`
	kernelBody = `	if (i < M && j < N) {
		float sum = 0;
		for (int p = 0; p < K; p++) sum += A[i * K + p] * B[p * N + j];
		C[i * N + j] = alpha * sum + beta * C[i * N + j];
	}
`
)

// TestUserKernels computes by the kernel that users begin with, and checks what is said of kernels that
// write what they must not.
func TestUserKernels(t *testing.T) {
	b := device.OnGPU(t)
	start, _ := user.Starters()[1].Source("kernel.cu")
	for name, test := range map[string]struct {
		source string
		launch userkernel.Launch
		want   string // of the error; empty: there is none
	}{
		"starter":   {start, userkernel.Launch{}, ""},
		"own block": {kernelHead + kernelBody + "}", userkernel.Launch{Block: "64,4"}, ""},
		"shared": {"extern __shared__ float s[];\n" + kernelHead + "s[threadIdx.x] = 0;" + kernelBody + "}",
			userkernel.Launch{Shared: 60 << 10}, ""},
		"A": {kernelHead + kernelBody + "if (i == 3 && j == 2) ((float *)A)[3 * K + 2] = 7; }", userkernel.Launch{},
			"it changes A: element (3, 2) was "},
		"B": {kernelHead + kernelBody + "if (i == 3 && j == 2) ((float *)B)[3 * N + 2] = 7; }", userkernel.Launch{},
			"it changes B: element (3, 2) was "},
		"behind": {kernelHead + kernelBody + "if (i == 0 && j == 0) C[M * N] = 7; }", userkernel.Launch{},
			"it writes outside C, element 1 behind its last one"},
		"before": {kernelHead + kernelBody + "if (i == 0 && j == 0) C[-1] = 7; }", userkernel.Launch{},
			"it writes outside C, element 1 before its first one"},
		"unwritten": {kernelHead + "if (i == 5 && j == 6) return;" + kernelBody + "}", userkernel.Launch{},
			"it does not write element (5, 6) of C"},
		"grid": {kernelHead + kernelBody + "}", userkernel.Launch{Grid: "1,1"}, "it does not write element (0, 32) of C"},
		"threads": {kernelHead + kernelBody + "}", userkernel.Launch{Block: "64,32"},
			"has 2048 threads, the GPU permits 1024"},
		"memory": {kernelHead + kernelBody + "}", userkernel.Launch{Shared: 1 << 20}, "requests 1048576, the GPU permits"},
		"symbol": {kernelHead + kernelBody + "}", userkernel.Launch{},
			"f.cu: the compiled source has no kernel g: it has f"},
	} {
		t.Run(name, func(t *testing.T) {
			k := userkernel.Kernel{Name: "user/f", File: "f.cu", Folder: t.TempDir(), Source: test.source, Symbol: "f",
				Type: "f32", Launch: test.launch}
			switch name {
			case "starter":
				k.Symbol = "matmul"
			case "symbol":
				k.Symbol = "g"
			}
			m, err := gemm.New[float32](userkernel.Variants(b, []userkernel.Kernel{k})[0], nil)
			gemmtest.Must(t, err)
			a, x, c := padded[float32](70, 50, 3), padded[float32](50, 90, 0), padded[float32](70, 90, 1)
			for i := range a.Data {
				a.Data[i] = float32(i%7 - 3)
			}
			for i := range x.Data {
				x.Data[i] = float32(i%5 - 2)
			}
			err = m.Multiply(t.Context(), c, a, x)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v, want %q", err, test.want)
				}
				return
			}
			gemmtest.Must(t, err)
			device.Exact(t, cuda.Plain, a, x, c, c)
		})
	}
}

// TestUserLibrary computes by a function of a library, which calls the cuBLAS that is open.
func TestUserLibrary(t *testing.T) {
	const source = `
int cublasCreate_v2(void **), cublasSetStream_v2(void *, void *);
int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const float *, int, const float *, int,
	const float *, float *, int);
void f(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C, void *stream) {
	static void *blas;
	if (!blas) cublasCreate_v2(&blas);
	cublasSetStream_v2(blas, stream);
	cublasSgemm_v2(blas, 0, 0, N, M, K, &alpha, B, N, A, K, &beta, C, N);
}`
	b := device.OnGPU(t)
	a, x, c := padded[float32](70, 50, 3), padded[float32](50, 90, 0), padded[float32](70, 90, 1)
	multiply(t, cuda.Variants(b), "cuda/"+cuda.CuBLAS, nil, c, a, x)
	for i := range a.Data {
		a.Data[i] = float32(i%7 - 3)
	}
	for i := range x.Data {
		x.Data[i] = float32(i%5 - 2)
	}
	path := filepath.Join(t.TempDir(), "f.c")
	gemmtest.Must(t, os.WriteFile(path, []byte(source), 0o600))
	cc := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-o", path+".so", path)
	if said, err := cc.CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, said)
	}
	for symbol, want := range map[string]string{"f": "", "g": "has no g"} {
		k, err := userkernel.Read("user/f", path+".so", symbol, "f32", userkernel.Launch{})
		gemmtest.Must(t, err)
		m, err := gemm.New[float32](userkernel.Variants(b, []userkernel.Kernel{k})[0], nil)
		gemmtest.Must(t, err)
		if err := m.Multiply(t.Context(), c, a, x); want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		device.Exact(t, cuda.Plain, a, x, c, c)
	}
}

// TestUserKernelCheats has kernels that compute honestly in one launch, or seem to, and not in others. None is
// believed.
func TestUserKernelCheats(t *testing.T) {
	b := device.OnGPU(t)
	const m, n, k = 30, 28, 20 // one block
	copies := userkernel.ZonesOf(gemm.Shape{M: m, N: n, K: k}, 4).Bytes / 4
	const (
		head = `__device__ int launches;
__device__ float old[1024];
__device__ const float *first;
` + kernelHead + `__shared__ int now;
	if (!i && !j) now = launches++;
	__syncthreads();
`
		honest = kernelBody + "}"
		keep   = kernelBody + "if (i < M && j < N) old[i * N + j] = C[i * N + j]; }"
		copied = "if (i < M && j < N) C[i * N + j] = old[i * N + j];"
	)
	zeros := kernelBody + fmt.Sprintf(
		"if (!now && i < M && j < K) ((float *)A)[i * K + j] = ((float *)A)[i * K + j - %d] = 0; }", copies)
	const wrong, unwritten, changes = "row ", "it does not write element ", "it changes A: element "
	for name, test := range map[string]struct{ body, want string }{
		"honest":            {honest, ""},
		"honest, warm":      {honest, ""},
		"every third":       {"if (now % 3 == 2) return;" + honest, unwritten},
		"after a time":      {"if (now > 12) return;" + honest, unwritten},
		"written already":   {"if (C[0] == C[0]) return;" + honest, unwritten},
		"cached":            {"if (now) {" + copied + " return; }" + keep, wrong},
		"cached by address": {"if (!now) first = A; else if (A == first) {" + copied + " return; }" + keep, wrong},
		"previous operands": {"float c = i < M && j < N ? old[i * N + j] : 0;" + kernelBody +
			"if (i < M && j < N) { old[i * N + j] = C[i * N + j]; if (now) C[i * N + j] = c; } }", wrong},
		"copy of a sibling": {fmt.Sprintf("if (now %% 5) { if (i < M && j < N) C[i * N + j] = C[i * N + j - %d]; return; }",
			copies) + honest, wrong},
		"half of the rows": {"if (now && i >= M / 2) return;" + honest, unwritten},
		"half of the terms": {"if (now) { if (i < M && j < N) { float s = 0; for (int p = 0; p < K / 2; p++) " +
			"s += A[i * K + p] * B[p * N + j]; C[i * N + j] = s; } return; }" + honest, wrong},
		"one wrong element": {kernelBody + "if (now && i == 7 && j == 9) C[i * N + j] *= 2; }", "row 7 of C"},
		"NaN":               {kernelBody + "if (now && i < M && j < N) C[i * N + j] = nanf(\"\"); }", wrong},
		"infinity": {kernelBody + "if (now && i < M && j < N) C[i * N + j] = __int_as_float(0x7f800000); }",
			wrong},
		"writes A": {"if (now == 7 && i < M && j < K) ((float *)A)[i * K + j] = 0; __syncthreads();" + honest, changes},
		"writes A of the next": {fmt.Sprintf("if (i < M && j < K) ((float *)A)[i * K + j + %d] = 0;", copies) + honest,
			changes},
		"writes what others begin with": {zeros, changes},
		// The first launch has the operands as they were staged.
		"writes what others begin with, warm": {zeros, "it changes the operands that other launches begin with"},
	} {
		t.Run(name, func(t *testing.T) {
			a, x, c := gemm.NewMatrix[float32](m, k), gemm.NewMatrix[float32](k, n), gemm.NewMatrix[float32](m, n)
			for i := range a.Data {
				a.Data[i] = float32(i%7) - 3.5
			}
			for i := range x.Data {
				x.Data[i] = float32(i%5) - 2.5
			}
			l2 := "cold"
			if strings.Contains(name, "warm") {
				l2 = "warm"
			}
			err := bursts(t, b, userkernel.Kernel{Type: "f32", Source: head + test.body}, l2, 1, 0, a, x, c)
			if test.want == "" {
				gemmtest.Must(t, err)
				device.Exact(t, cuda.Plain, a, x, c, c)
			} else if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			} else if strings.HasPrefix(test.want, wrong) && !errors.As(err, &note.Wrong{}) {
				t.Errorf("%v is no note.Wrong", err)
			}
		})
	}
	t.Run("f64", func(t *testing.T) {
		for _, scalars := range [][2]float64{{1, 0}, {-2, 0.5}} {
			a, x, c := gemm.NewMatrix[float64](70, 130), gemm.NewMatrix[float64](130, 90), gemm.NewMatrix[float64](70, 90)
			for _, y := range []gemm.Matrix[float64]{a, x, c} {
				for i := range y.Data {
					y.Data[i] = float64(i%7) - 3.5
				}
			}
			was := c
			was.Data = slices.Clone(c.Data)
			source := strings.ReplaceAll(kernelHead+kernelBody+"}", "float", "double")
			err := bursts(t, b, userkernel.Kernel{Type: "f64", Source: source}, "cold", scalars[0], scalars[1], a, x, c)
			gemmtest.Must(t, err)
			device.Exact(t, cuda.Operation{Alpha: scalars[0], Beta: scalars[1]}, a, x, was, c)
			source = strings.Replace(source, "p < K", "p < K - 1", 1)
			err = bursts(t, b, userkernel.Kernel{Type: "f64", Source: source}, "cold", scalars[0], 0, a, x, c)
			if !errors.As(err, &note.Wrong{}) {
				t.Errorf("a kernel that loses a term: %v", err)
			}
		}
	})
}

// bursts computes the product of a user's kernel in eight bursts of launches, and collects it.
func bursts[T gemm.Float](t *testing.T, b *device.Backend, k userkernel.Kernel, l2 string, alpha, beta float64,
	a, x, c gemm.Matrix[T]) error {
	t.Helper()
	k.Name, k.File, k.Folder, k.Symbol = "user/f", "f.cu", t.TempDir(), "f"
	m, err := gemm.New[T](userkernel.Variants(b, []userkernel.Kernel{k})[0], gemm.Params{"l2": l2})
	gemmtest.Must(t, err)
	run, err := m.(gemm.GemmStager[T]).StageGemm(t.Context(), blas.NoTrans, blas.NoTrans, T(alpha), a, x, T(beta), c)
	gemmtest.Must(t, err)
	defer func() { gemmtest.Must(t, run.Close()) }()
	for range 8 {
		const times = 5
		cost, err := run.(record.Repeater).Repeat(t.Context(), times)
		if err != nil {
			return err
		}
		if cost.Time <= 0 {
			t.Errorf("%d launches take %v", times, cost.Time)
		}
	}
	return run.Collect(t.Context())
}
