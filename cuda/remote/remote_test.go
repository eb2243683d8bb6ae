package remote

import (
	"errors"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda"
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
