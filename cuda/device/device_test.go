//go:build cuda

package device_test

import (
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/verify"
	"gemm/cuda"
	"gemm/cuda/device"
	"gemm/cuda/ladder"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/half"
)

// TestVariants runs the conformance suite for every variant, with every setting that a rung
// is offered with.
func TestVariants(t *testing.T) {
	for _, v := range onGPU(t) {
		t.Run(v.Name, func(t *testing.T) {
			needTorch(t, v)
			suite := gemmtest.Suite{Sizes: []int{130}, OneCall: true}
			if v.Compute != "" || v.Role == gemm.Library {
				suite.NonFinite = gemmtest.Spreads
			}
			for _, typ := range v.Types() {
				only := v
				only.F64, only.F32, only.F16, only.BF16, only.GF256 = nil, nil, nil, nil, nil
				switch typ {
				case "f64":
					only.F64 = v.F64
				case "f32":
					only.F32 = v.F32
				case "f16":
					only.F16 = v.F16
				case "bf16":
					only.BF16 = v.BF16
				default:
					only.GF256 = v.GF256
				}
				suite.Lacks = 0
				if r, err := cuda.RungNamed(path.Base(v.Name), typ); err == nil && !r.Batches {
					suite.Lacks = gemm.BatchStages
				}
				if s := settings(v, typ); len(s) > 0 {
					suite.Run(t, only, s...)
				}
			}
		})
	}
}

// settings returns the parameters that a variant is tested with: all, or only number
// GEMM_TEST_SETTING, so that several processes can compile at the same time.
func settings(v gemm.Variant, typ string) []gemm.Params {
	out := []gemm.Params{{}}
	if v.Name == "cuda/multi" {
		out = append(out, gemm.Params{"devices": 1}, gemm.Params{"devices": 3, "local": "cuda/cublas"})
	}
	for _, r := range cuda.Ladder(typ) {
		if "cuda/"+r.Name != v.Name {
			continue
		}
		tiles := r.Tiles[1:]
		if r.Instead != "" { // which computes small products
			tiles = r.Tiles
		}
		for _, tile := range slices.Concat(tiles, r.Small) {
			p := gemm.Params{"tile": tile.Name()}
			if tile.Stages > 0 {
				p["stages"] = tile.Stages
			}
			out = append(out, p)
		}
		if r.Splits {
			out = append(out, gemm.Params{"split": 3})
		}
		if r.Operands == ladder.ByResidue {
			out = append(out, gemm.Params{"moduli": ladder.LeastModuli}, gemm.Params{"moduli": 16},
				gemm.Params{"moduli": len(ladder.Moduli)})
		}
	}
	if n, err := strconv.Atoi(os.Getenv("GEMM_TEST_SETTING")); err == nil {
		out = out[min(n, len(out)):min(n+1, len(out))]
	}
	return out
}

// TestStaged compares staged products of integers with the exact result, for odd shapes and leading
// dimensions and for every copy of the operands.
func TestStaged(t *testing.T) {
	for _, v := range onGPU(t) {
		for _, typ := range v.Types() {
			test := gemm.ByType(typ, staged[float64], staged[float32], staged[half.F16], staged[half.BF16], stagedBytes)
			for _, p := range settings(v, typ) {
				t.Run(typ+"/"+v.Name+"/"+p.String(), func(t *testing.T) { test(t, v, p) })
			}
		}
	}
}

// TestMulti compares products of several GPUs with the exact result, for variants of all kinds as the local one, on
// grids of 2×1 and 2×2.
func TestMulti(t *testing.T) {
	v, err := gemm.Lookup(onGPU(t), "cuda/multi")
	gemmtest.Must(t, err)
	for _, local := range []string{"tuned", "tuned-tf32", "f16x3", "naive", "cublas"} {
		for _, devices := range []int{2, 4} {
			p := gemm.Params{"local": "cuda/" + local, "devices": devices}
			if _, err := gemm.New[float32](v, p); errors.Is(err, gemm.ErrUnavailable) {
				t.Log(err)
				continue
			}
			t.Run(p.String(), func(t *testing.T) { staged[float32](t, v, p) })
		}
	}
	t.Run("memory", func(t *testing.T) {
		b := device.Several(t, 2)
		v, err := gemm.Lookup(cuda.Variants(b), "cuda/multi")
		gemmtest.Must(t, err)
		m, err := gemm.New[float32](v, gemm.Params{"devices": 2})
		gemmtest.Must(t, err)
		device.Leave(t, b, 1<<20)
		x := gemm.NewMatrix[float32](1024, 1024)
		_, err = m.(gemm.Stager[float32]).Stage(t.Context(), gemm.NewMatrix[float32](1024, 1024), x, x)
		if !errors.Is(err, gemm.ErrUnavailable) || !strings.HasPrefix(err.Error(), "GPU 0: ") {
			t.Errorf("with 1 MiB on a GPU: %v", err)
		}
	})
	t.Run("ozaki", func(t *testing.T) { staged[float64](t, v, gemm.Params{"local": "cuda/ozaki-mma"}) })
}

// TestProfiles checks products that a profiler may see: of a rung, and of the library.
func TestProfiles(t *testing.T) {
	b := device.OnGPU(t)
	b.Profiles = true
	for _, name := range []string{"cuda/smem", "cuda/cublas"} {
		v, err := gemm.Lookup(cuda.Variants(b), name)
		gemmtest.Must(t, err)
		staged[float32](t, v, nil)
	}
}

// needTorch skips the test if PyTorch computes the variant and is not there.
func needTorch(t *testing.T, v gemm.Variant) {
	t.Helper()
	if cuda.IsTorch(path.Base(v.Name)) {
		m, err := gemm.New[float32](v, nil)
		if err == nil {
			x := gemm.NewMatrix[float32](1, 1)
			err = m.Multiply(t.Context(), x, gemm.NewMatrix[float32](1, 1), gemm.NewMatrix[float32](1, 1))
		}
		gemmtest.Require(t, "torch", err)
	}
}

func staged[T gemm.Number](t *testing.T, v gemm.Variant, p gemm.Params) {
	needTorch(t, v)
	for _, s := range []struct{ m, n, k, pad int }{{70, 90, 110, 0}, {133, 261, 67, 3}, {129, 64, 40, 4}, {1, 1, 1, 0},
		{5, 300, 0, 0}, {0, 5, 7, 0}, {5, 0, 7, 0}, {0, 0, 0, 0}} {
		a, x, c := padded[T](s.m, s.k, s.pad), padded[T](s.k, s.n, s.pad), padded[T](s.m, s.n, s.pad)
		for i := range a.Data {
			a.Data[i] = gemm.FromFloat64[T](float64(i%7 - 3))
		}
		for i := range x.Data {
			x.Data[i] = gemm.FromFloat64[T](float64(i%5 - 2))
		}
		thrice(t, v, p, c, a, x, func() { device.Exact(t, cuda.Plain, a, x, c, c) })
	}
}

// stagedBytes is staged in GF(2⁸). Widths are close to the widths of words and tiles; there are more rows
// and k indices than a tile has; leading dimensions allow copies of 16, 8, 4, 2 and 1 bytes.
func stagedBytes(t *testing.T, v gemm.Variant, p gemm.Params) {
	for _, s := range []struct{ m, n, k, ld int }{
		{4, 10000, 10, 10000}, {4, 8191, 10, 8192}, {4, 8193, 10, 8200}, {3, 4097, 7, 4100}, {5, 4095, 11, 4098},
		{17, 1001, 33, 1001}, {4, 6143, 10, 6143},
		{70, 300, 65, 304}, {1, 1, 1, 1}, {2, 15, 1, 16}, {5, 300, 0, 300}, {0, 5, 7, 5}, {5, 0, 7, 1}, {0, 0, 0, 1},
	} {
		a, x := device.RandomBytes(s.m, s.k, 1), device.RandomBytes(s.k, s.n, s.ld-s.n)
		c := padded[gf256.Elem](s.m, s.n, s.ld-s.n)
		thrice(t, v, p, c, a, x, func() { device.SameProduct(t, c, a, x) })
	}
}

// thrice computes a staged product three times, and checks each.
func thrice[T gemm.Element](t *testing.T, v gemm.Variant, p gemm.Params, c, a, x gemm.Matrix[T], check func()) {
	t.Helper()
	m, err := gemm.New[T](v, p)
	gemmtest.Must(t, err)
	run, err := m.(gemm.Stager[T]).Stage(t.Context(), c, a, x)
	gemmtest.Must(t, err)
	for range 3 {
		clear(c.Data)
		device.Once(t, run)
		check()
	}
	if d := run.(record.OnDevice).Device(); d.Pipe == "" || d.L2 != "cold" {
		t.Errorf("%+v", d)
	}
	gemmtest.Must(t, run.Close())
}

// padded returns a matrix with pad elements between its rows.
func padded[T gemm.Element](rows, cols, pad int) gemm.Matrix[T] {
	return gemm.NewMatrix[T](rows, cols+pad).Slice(0, 0, rows, cols)
}

// TestChain compares iterated products of integers with the exact result, twice, for odd sizes and leading dimensions.
func TestChain(t *testing.T) {
	for _, v := range onGPU(t) {
		if !v.Can.Has(gemm.Chains) {
			continue
		}
		if v.F32 != nil && v.Compute == "" {
			t.Run("f32/"+v.Name, func(t *testing.T) { chained[float32](t, v) })
		}
		if v.F64 != nil {
			t.Run("f64/"+v.Name, func(t *testing.T) { chained[float64](t, v) })
		}
	}
}

func chained[T gemm.Float](t *testing.T, v gemm.Variant) {
	m, err := gemm.New[T](v, nil)
	gemmtest.Must(t, err)
	for _, n := range []int{1, 67, 130} {
		const steps = 3
		of, product := verify.IntegerChain[T](n, n+3, steps, 1, 2)
		c := padded[T](n, n, 3)
		run, err := m.(record.Chainer[T]).StageChain(t.Context(), steps, c, of.A, of.S, of.B)
		gemmtest.Must(t, err)
		if err := run.Collect(t.Context()); err == nil {
			t.Error("there is a result before the product")
		}
		verifier := verify.New(product, 1)
		for range 2 {
			if _, err := run.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
			verify.Poison(c)
			gemmtest.Must(t, run.Collect(t.Context()))
			if got := verifier.Check(c, verify.Limit{Kind: gemm.Componentwise}); !got.OK() {
				t.Errorf("n = %d: %s", n, got.Reason)
			}
		}
		gemmtest.Must(t, run.Close())
	}
}
