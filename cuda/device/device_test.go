//go:build cuda

package device_test

import (
	"context"
	"os"
	"strconv"
	"testing"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/device"
	"gemm/internal/gemmtest"
)

// TestVariants runs the conformance suite for every variant, with every setting that a rung
// is offered with.
func TestVariants(t *testing.T) {
	b := device.NewBackend()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err := b.Device(0)
	gemmtest.Require(t, "cuda", err)
	for _, v := range cuda.Variants(b) {
		t.Run(v.Name, func(t *testing.T) {
			suite := gemmtest.Suite{Sizes: []int{130}}
			if v.Compute != "" || v.Name == "cuda/"+cuda.CuBLAS {
				suite.NonFinite = gemmtest.Spreads
			}
			only := v
			only.F64 = nil
			if s := settings(v, "f32"); v.F32 != nil && len(s) > 0 {
				suite.Run(t, only, s...)
			}
			only = v
			only.F32 = nil
			if s := settings(v, "f64"); v.F64 != nil && len(s) > 0 {
				suite.Run(t, only, s...)
			}
		})
	}
}

// settings are the parameters that a variant is tested with: all, or the one of the number
// in GEMM_TEST_SETTING, so that several processes can compile at the same time.
func settings(v gemm.Variant, typ string) []gemm.Params {
	out := []gemm.Params{{}}
	for _, r := range cuda.Ladder(typ) {
		if "cuda/"+r.Name != v.Name {
			continue
		}
		for _, tile := range r.Tiles[1:] {
			p := gemm.Params{"tile": tile.Name()}
			if tile.Stages > 0 {
				p["stages"] = tile.Stages
			}
			out = append(out, p)
		}
		if r.Splits {
			out = append(out, gemm.Params{"split": 3})
		}
	}
	if n, err := strconv.Atoi(os.Getenv("GEMM_TEST_SETTING")); err == nil {
		out = out[min(n, len(out)):min(n+1, len(out))]
	}
	return out
}

// TestStaged wants products of staged operands to be those of Multiply, whichever copy of
// the operands they read.
func TestStaged(t *testing.T) {
	b := device.NewBackend()
	t.Cleanup(func() { _ = b.Close() })
	_, err := b.Device(0)
	gemmtest.Require(t, "cuda", err)
	ctx := context.Background()
	for _, v := range cuda.Variants(b) {
		if v.F32 == nil {
			continue
		}
		m, err := gemm.New[float32](v, gemm.Params{})
		if err != nil {
			t.Fatal(err)
		}
		const rows, cols, inner = 70, 90, 110
		a, x, c := gemm.NewMatrix[float32](rows, inner), gemm.NewMatrix[float32](inner, cols), gemm.NewMatrix[float32](rows, cols)
		for i := range a.Data {
			a.Data[i] = float32(i%7 - 3)
		}
		for i := range x.Data {
			x.Data[i] = float32(i%5 - 2)
		}
		run, err := m.(gemm.Stager[float32]).Stage(ctx, c, a, x)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			clear(c.Data)
			if _, err := run.Do(ctx); err != nil {
				t.Fatal(err)
			}
			if err := run.Collect(ctx); err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				for j := range cols {
					var want float32
					for l := range inner {
						want += a.At(i, l) * x.At(l, j)
					}
					if got := c.At(i, j); !(got == want) {
						t.Fatalf("%s: element (%d, %d) is %v, want %v", v.Name, i, j, got, want)
					}
				}
			}
		}
		if d := run.(gemm.OnDevice).Device(); d.Pipe == "" || d.L2 != "cold" {
			t.Errorf("%s: %+v", v.Name, d)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	}
}
