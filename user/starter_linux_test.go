package user

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/cuda/userkernel"
	"gemm/gemmtest"
)

// starter returns the starter of the language.
func starter(t *testing.T, language string) Starter {
	t.Helper()
	for _, s := range Starters() {
		if s.Language == language {
			return s
		}
	}
	t.Fatalf("there is no starter in %s", language)
	return Starter{}
}

// TestStarterC compiles the kernel in C without a warning, and compares a product with the expected one.
func TestStarterC(t *testing.T) {
	compiler, err := exec.LookPath("gcc")
	gemmtest.Require(t, "gcc", err)
	source, _ := starter(t, "c").Source("kernel.c")
	dir := t.TempDir()
	const program = `#include <math.h>
#include <stdio.h>
void matmul(int m, int n, int k, const double *A, const double *B, double *C);
int main(void)
{
    double A[] = {1, 2, 3, 4, 5, 6}, B[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    double C[] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    matmul(2, 4, 3, A, B, C);
    for (int i = 0; i < 8; i++)
        printf("%g ", C[i]);
}
`
	for name, text := range map[string]string{"kernel.c": source, "main.c": program} {
		gemmtest.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command(compiler, "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror",
		"-o", "product", "kernel.c", "main.c")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "product")).Output()
	if want := "38 44 50 56 83 98 113 128 "; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
}

// TestStarterCUDA compiles the kernel in CUDA without a warning, as --bring does.
func TestStarterCUDA(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kernel.cu")
	source, _ := starter(t, "cuda").Source(path)
	gemmtest.Must(t, os.WriteFile(path, []byte(source), 0o600))
	k, err := userkernel.Read("user/kernel", path, "", "", userkernel.Launch{})
	if err != nil || k.Fault != "" || k.Symbol != "matmul" || k.Type != "f32" || k.Block != "32x32" || k.Grid == "" {
		t.Fatalf("%v, %+v", err, k)
	}
	l, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	image, err := l.Compile(cuda.UserProgram(k, 90))
	if err != nil || image.Warnings != "" || image.Kernels["matmul"].Registers == 0 {
		t.Errorf("%v, %q, %v", err, image.Warnings, image.Kernels)
	}
}

// TestStarterCommands checks that each source names the command that measures it, with the file as a shell
// needs it.
func TestStarterCommands(t *testing.T) {
	for _, s := range Starters() {
		source, command := s.Source("my kernels/a" + filepath.Ext(s.File))
		if !strings.Contains(source, command) || !strings.Contains(command, " --bring 'my kernels/a.c") ||
			!strings.HasPrefix(command, "gemm ") || strings.Contains(source, "NAME") {
			t.Errorf("%s: %q", s.Language, command)
		}
		if s.Check("a.txt") == nil || s.Check(s.File) != nil {
			t.Errorf("%s: the wrong endings are refused", s.Language)
		}
	}
}
