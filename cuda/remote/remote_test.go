package remote

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/cuda"
	"gemm/gf256"
	"gemm/internal/ipc"
	"gemm/internal/timeline"
)

// TestCheck checks that the error names what a variant lacks.
func TestCheck(t *testing.T) {
	old := cuda.System{NVRTC: "13.0", Missing: []string{"no cuBLAS among libcublas.so.13"},
		GPUs: []cuda.GPU{{Capability: "7.5"}}}
	bare := cuda.System{CuBLAS: "13.0", GPUs: []cuda.GPU{{Capability: "9.0"}}}
	for _, c := range []struct {
		system        cuda.System
		variant, want string
	}{
		{old, "smem", ""},
		{old, "async", "needs compute capability 8.0, has 7.5"},
		{old, "cublas", "no cuBLAS among libcublas.so.13"},
		{bare, "smem", "NVRTC is not there"},
		{bare, "cublas-tf32", ""},
	} {
		var of gemm.Variant
		for _, v := range cuda.Variants(nil) {
			if v.Name == cuda.Family+"/"+c.variant {
				of = v
			}
		}
		err := Check(c.system, of, of.Types()...)
		if c.want == "" && err != nil ||
			c.want != "" && (!errors.Is(err, gemm.ErrUnavailable) || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.variant, err, c.want)
		}
	}
}

// A multiplier of bytes is what shard calls a Slicer.
var _ interface {
	gemm.Multiplier[gf256.Elem]
	io.Closer
	Allocate(int) ([]gf256.Elem, error)
	InFlight() int
	Buffer() int
} = (*multiplier[gf256.Elem])(nil)

func TestActivity(t *testing.T) {
	begin := time.Now()
	stage := func(name string, from, to time.Duration) timeline.Stage {
		return timeline.Stage{Name: name, Begin: begin.Add(from).UnixNano(), End: begin.Add(to).UnixNano()}
	}
	got := activity([]timeline.Stage{stage("copy in", 1e6, 3e6), stage("kernel", 3e6, 5e6)}, begin)
	if len(got.Lanes) != 2 || got.Lanes[1] != "kernel" || len(got.Phases) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, want := range [][2]float64{{0.001, 0.003}, {0.003, 0.005}} {
		p := got.Phases[i]
		near := math.Abs(p.Begin-want[0]) < 1e-6 && math.Abs(p.End-want[1]) < 1e-6
		if p.Lane != i || p.Name != got.Lanes[i] || !near {
			t.Errorf("phase %d is %+v", i, p)
		}
	}
}

// TestNoWorker checks why a worker that wrote no message has no GPU.
func TestNoWorker(t *testing.T) {
	for _, test := range []struct{ status, said, stdout, want string }{
		{"exit status 127", "gemm-cuda: error while loading shared libraries: libcuda.so.1: cannot open shared object file",
			"", "there is no NVIDIA driver: libcuda.so.1 is not found"},
		{"exit status 1", "", `Error in initialization, please refer to "http" for details on: NoDevice`,
			"there is no NVIDIA GPU, or its driver does not work: NoDevice"},
		{"exit status 1", "there is no NVIDIA driver", "", "there is no NVIDIA driver"},
		{"exit status 2", "panic: planted", "hello", ""},
		{"signal killed", "", "", ""},
	} {
		err := NoWorker(ipc.ExitError{Name: "gemm-cuda", Status: test.status, Reason: test.said}, test.stdout)
		if (err == nil) != (test.want == "") || err != nil && err.Error() != test.want ||
			err != nil && !errors.Is(err, gemm.ErrUnavailable) {
			t.Errorf("%s, %q, %q: %v, want %q", test.status, test.said, test.stdout, err, test.want)
		}
	}
}
