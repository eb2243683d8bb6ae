//go:build cuda

package device_test

import (
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

// TestStaged wants products of staged operands to be those of integers, whichever copy of
// the operands they read, for ragged shapes and leading dimensions; it is what
// compute-sanitizer is run on.
func TestStaged(t *testing.T) {
	b := device.NewBackend()
	t.Cleanup(func() { _ = b.Close() })
	_, err := b.Device(0)
	gemmtest.Require(t, "cuda", err)
	for _, v := range cuda.Variants(b) {
		if v.F32 != nil {
			for _, p := range settings(v, "f32") {
				t.Run("f32/"+v.Name+"/"+p.String(), func(t *testing.T) { staged[float32](t, v, p) })
			}
		}
		if v.F64 != nil {
			for _, p := range settings(v, "f64") {
				t.Run("f64/"+v.Name+"/"+p.String(), func(t *testing.T) { staged[float64](t, v, p) })
			}
		}
	}
}

func staged[T gemm.Float](t *testing.T, v gemm.Variant, p gemm.Params) {
	m, err := gemm.New[T](v, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct{ m, n, k, pad int }{{70, 90, 110, 0}, {133, 261, 67, 3}, {129, 64, 40, 4}, {1, 1, 1, 0}, {5, 300, 0, 0}, {0, 5, 7, 0}, {5, 0, 7, 0}, {0, 0, 0, 0}} {
		a, x, c := padded[T](s.m, s.k, s.pad), padded[T](s.k, s.n, s.pad), padded[T](s.m, s.n, s.pad)
		for i := range a.Data {
			a.Data[i] = T(i%7 - 3)
		}
		for i := range x.Data {
			x.Data[i] = T(i%5 - 2)
		}
		run, err := m.(gemm.Stager[T]).Stage(t.Context(), c, a, x)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			clear(c.Data)
			if _, err := run.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := run.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i := range s.m {
				for j := range s.n {
					var want T
					for l := range s.k {
						want += a.At(i, l) * x.At(l, j)
					}
					if got := c.At(i, j); !(got == want) {
						t.Fatalf("%d×%d×%d: element (%d, %d) is %v, want %v", s.m, s.n, s.k, i, j, got, want)
					}
				}
			}
		}
		if d := run.(gemm.OnDevice).Device(); d.Pipe == "" || d.L2 != "cold" {
			t.Errorf("%+v", d)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	}
}

// padded returns a matrix whose rows have so many elements between them.
func padded[T gemm.Float](rows, cols, pad int) gemm.Matrix[T] {
	return gemm.NewMatrix[T](rows, cols+pad).Slice(0, 0, rows, cols)
}
