package user

import (
	"path/filepath"
	"strings"
	"testing"

	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/cuda/userkernel"
	"gemm/gemmtest"
)

// TestStarterC compiles the kernel in C without a warning, and multiplies by it.
func TestStarterC(t *testing.T) {
	need(t)
	text, _ := Starters()[0].Source("kernel.c")
	flags := "-std=c99 -Wall -Wextra -Wconversion -Werror"
	v := opened(t, Options{Flags: flags}, source(t, "kernel.c", text))[0]
	if _, err := product(t.Context(), v, nil, 9); err != nil {
		t.Error(err)
	}
}

// TestStarterCUDA compiles the kernel in CUDA without a warning, as --bring does.
func TestStarterCUDA(t *testing.T) {
	text, _ := Starters()[1].Source("kernel.cu")
	path := source(t, "kernel.cu", text)
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
		source, command := s.Source("'my kernels/a" + filepath.Ext(s.File) + "'")
		if !strings.Contains(source, command) || !strings.Contains(command, " --bring 'my kernels/a.c") ||
			!strings.HasPrefix(command, "gemm ") || strings.Contains(source, "NAME") {
			t.Errorf("%s: %q", s.Language, command)
		}
		if s.Check("a.txt") == nil || s.Check(s.File) != nil {
			t.Errorf("%s: the wrong endings are refused", s.Language)
		}
	}
}
