//go:build cuda

package device

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
)

// faultVariable has the test binary run one kernel that does what no kernel of the ladder
// does. What follows it in the process is lost, so that each has a process of its own.
const faultVariable = "GEMM_TEST_KERNEL"

var broken = map[string]string{
	"endless":   `extern "C" __global__ void kernel(volatile int *p) { while (*p != 1) {} }`,
	"out":       `extern "C" __global__ void kernel(int *p) { *(int *)0x10 = 1; }`,
	"misplaced": `extern "C" __global__ void kernel(int *p) { *(int *)((char *)p + 1) = 1; }`,
}

// TestBrokenNeighbour runs a product on two GPUs, of which the second one fails. The error names it, and does not wait for
// the end of the context.
func TestBrokenNeighbour(t *testing.T) {
	if os.Getenv(faultVariable) == "" {
		_, err := find(1)
		if errors.Is(err, gemm.ErrUnavailable) {
			t.Skip(err)
		}
		gemmtest.Require(t, "cuda", err)
		runAlone(t, "out")
		return
	}
	b := NewBackend()
	m, err := ofMulti[float32](b, gemm.Params{"devices": 2, "local": "cuda/naive", "l2": "warm"})
	gemmtest.Must(t, err)
	x := gemm.NewMatrix[float32](64, 64)
	run, err := m.Stage(t.Context(), gemm.NewMatrix[float32](64, 64), x, x)
	gemmtest.Must(t, err)
	breakDevice(t, b.devices[1], "out")
	if _, err := run.Do(t.Context()); err == nil || !b.Lost() {
		t.Errorf("the error is %v, lost %v", err, b.Lost())
	}
	pass(t)
}

// TestBrokenKernels runs a kernel that faults and one that does not end within its time. Both lose the
// GPU for this process, and no later call may hang.
func TestBrokenKernels(t *testing.T) {
	if name := os.Getenv(faultVariable); name != "" {
		runBroken(t, name)
		return
	}
	_, err := find(0)
	gemmtest.Require(t, "cuda", err)
	for name := range broken {
		t.Run(name, func(t *testing.T) { runAlone(t, name) })
	}
}

// runAlone runs the test that calls it in a process of its own, with a broken kernel.
func runAlone(t *testing.T, name string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	test, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), faultVariable+"="+name)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

// breakDevice starts a broken kernel.
func breakDevice(t *testing.T, d *Device, name string) {
	t.Helper()
	var err error
	defer d.bind(&err)()
	room, err := d.allocate(64)
	gemmtest.Must(t, err)
	k, err := d.load(nvrtc.Program{Name: name + ".cu", Source: broken[name], Arch: d.arch()}, "kernel", 0)
	gemmtest.Must(t, err)
	gemmtest.Must(t, d.launch(k, [3]int{1, 1, 1}, [3]int{1, 1, 1}, 0, []uint64{uint64(room.at)}))
}

// pass ends the process of runAlone.
func pass(t *testing.T) {
	if t.Failed() {
		return
	}
	_, _ = os.Stdout.WriteString("--- PASS\n")
	os.Exit(0) // a kernel that runs on holds up an orderly end
}

// runBroken runs the kernel of that name and ends the process.
func runBroken(t *testing.T, name string) {
	b := NewBackend()
	d, err := b.Device(0)
	gemmtest.Must(t, err)
	breakDevice(t, d, name)
	defer d.bind(&err)()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = d.synchronize(ctx, d.stream)
	if name == "endless" && !errors.Is(err, context.DeadlineExceeded) || err == nil {
		t.Errorf("the error is %v", err)
	}
	if !b.Lost() {
		t.Error("the GPU is not lost")
	}
	if _, err := d.Peaks(t.Context(), time.Millisecond); !errors.Is(err, errLost) {
		t.Errorf("after it the error is %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	pass(t)
}
