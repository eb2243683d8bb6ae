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
	"gemm/cuda/usage"
	"gemm/gf256"
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
		{old, "dmma", "needs compute capability 8.0, has 7.5"},
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
		err := Check(c.system, of)
		if c.want == "" && err != nil ||
			c.want != "" && (!errors.Is(err, gemm.ErrUnavailable) || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.variant, err, c.want)
		}
	}
}

// A multiplier of bytes is what internal/shard calls a Slicer.
var _ interface {
	gemm.Multiplier[gf256.Elem]
	io.Closer
	Allocate(int) ([]gf256.Elem, error)
	InFlight() int
	Buffer() int
} = (*multiplier[gf256.Elem])(nil)

func TestActivity(t *testing.T) {
	begin := time.Now()
	stage := func(name string, from, to time.Duration) usage.Stage {
		return usage.Stage{Name: name, Begin: begin.Add(from).UnixNano(), End: begin.Add(to).UnixNano()}
	}
	got := activity([]usage.Stage{stage("copy in", 1e6, 3e6), stage("kernel", 3e6, 5e6)}, begin)
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
