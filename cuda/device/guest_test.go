//go:build cuda

package device_test

import (
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/device"
	"gemm/cuda/guest"
	"gemm/internal/gemmtest"
	"gemm/internal/starter"
)

// guestHead begins a kernel that is brought, and guestBody computes the product.
const (
	guestHead = `extern "C" __global__ void f(int M, int N, int K, float alpha, const float *A, const float *B,
	float beta, float *C) {
	int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
`
	guestBody = `	if (i < M && j < N) {
		float sum = 0;
		for (int p = 0; p < K; p++) sum += A[i * K + p] * B[p * N + j];
		C[i * N + j] = alpha * sum + beta * C[i * N + j];
	}
`
)

// TestGuests computes by the kernel that users begin with, and checks what is said of kernels that
// write what they must not.
func TestGuests(t *testing.T) {
	b := device.NewBackend()
	t.Cleanup(func() { _ = b.Close() })
	_, err := b.Device(0)
	gemmtest.Require(t, "cuda", err)
	start, _ := starter.Starters()[1].Source("kernel.cu")
	for name, test := range map[string]struct {
		source string
		launch guest.Launch
		want   string // of the error; empty: there is none
	}{
		"starter":   {start, guest.Launch{}, ""},
		"own block": {guestHead + guestBody + "}", guest.Launch{Block: "64,4"}, ""},
		"shared": {"extern __shared__ float s[];\n" + guestHead + "s[threadIdx.x] = 0;" + guestBody + "}",
			guest.Launch{Shared: 60 << 10}, ""},
		"A": {guestHead + guestBody + "if (i == 3 && j == 2) ((float *)A)[3 * K + 2] = 7; }", guest.Launch{},
			"it changes A: element (3, 2) was "},
		"B": {guestHead + guestBody + "if (i == 3 && j == 2) ((float *)B)[3 * N + 2] = 7; }", guest.Launch{},
			"it changes B: element (3, 2) was "},
		"behind": {guestHead + guestBody + "if (i == 0 && j == 0) C[M * N] = 7; }", guest.Launch{},
			"it writes outside C, element 1 behind its last one"},
		"before": {guestHead + guestBody + "if (i == 0 && j == 0) C[-1] = 7; }", guest.Launch{},
			"it writes outside C, element 1 before its first one"},
		"unwritten": {guestHead + "if (i == 5 && j == 6) return;" + guestBody + "}", guest.Launch{},
			"it does not write element (5, 6) of C"},
		"grid": {guestHead + guestBody + "}", guest.Launch{Grid: "1,1"}, "it does not write element (0, 32) of C"},
		"threads": {guestHead + guestBody + "}", guest.Launch{Block: "64,32"},
			"has 2048 threads, the GPU permits 1024"},
		"memory": {guestHead + guestBody + "}", guest.Launch{Shared: 1 << 20}, "requests 1048576, the GPU permits"},
		"symbol": {guestHead + guestBody + "}", guest.Launch{},
			"f.cu: the compiled source has no kernel g: it has f"},
	} {
		t.Run(name, func(t *testing.T) {
			k := guest.Kernel{Name: "user/f", File: "f.cu", Folder: t.TempDir(), Source: test.source, Symbol: "f",
				Type: "f32", Launch: test.launch}
			switch name {
			case "starter":
				k.Symbol = "matmul"
			case "symbol":
				k.Symbol = "g"
			}
			m, err := gemm.New[float32](guest.Variants(b, []guest.Kernel{k})[0], nil)
			if err != nil {
				t.Fatal(err)
			}
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
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.Rows {
				for j := range c.Cols {
					var want float32
					for l := range a.Cols {
						want += a.At(i, l) * x.At(l, j)
					}
					if got := c.At(i, j); !(got == want) {
						t.Fatalf("element (%d, %d) is %v, want %v", i, j, got, want)
					}
				}
			}
		})
	}
}
