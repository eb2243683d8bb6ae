//go:build cuda

package device_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/device"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/half"
)

// test is a test of a variant with a setting.
type test func(*testing.T, gemm.Variant, gemm.Params)

// eachRung runs a test for every rung of every type with every setting. nil: not for this type.
func eachRung(t *testing.T, ofF64, ofF32, ofF16, ofBF16, ofGF256 test) {
	for _, v := range onGPU(t) {
		if v.Role == gemm.Library || !v.Can.Has(gemm.GemmStages) {
			continue
		}
		for _, typ := range v.Types() {
			of := gemm.ByType(typ, ofF64, ofF32, ofF16, ofBF16, ofGF256)
			if of == nil {
				continue
			}
			for _, p := range settings(v, typ) {
				t.Run(typ+"/"+v.Name+"/"+p.String(), func(t *testing.T) { of(t, v, p) })
			}
		}
	}
}

// stageable returns the multiplier of the variant, or skips the test if the GPU has not what it needs. All products
// have the same copy of their operands.
func stageable[T gemm.Element](t *testing.T, v gemm.Variant, p gemm.Params) gemm.Multiplier[T] {
	t.Helper()
	p = maps.Clone(p)
	p["l2"] = "warm"
	m, err := gemm.New[T](v, p)
	if errors.Is(err, gemm.ErrUnavailable) {
		t.Skip(err)
	}
	gemmtest.Must(t, err)
	return m
}

// TestRepeatable checks that every rung with every setting computes the same bits each time, of numbers whose sums are
// rounded.
func TestRepeatable(t *testing.T) {
	eachRung(t, repeated[float64], repeated[float32], repeated[half.F16], repeated[half.BF16], nil)
}

func repeated[T gemm.Number](t *testing.T, v gemm.Variant, p gemm.Params) {
	m := stageable[T](t, v, p)
	// A few tiles with a long k, and waves of tiles, of which the last ones may be cut.
	for _, s := range []gemm.Shape{{M: 129, N: 261, K: 2100}, {M: 2049, N: 2049, K: 515}} {
		a, b, c := padded[T](s.M, s.K, 1), padded[T](s.K, s.N, 3), padded[T](s.M, s.N, 2)
		r := rand.New(rand.NewPCG(3, 0))
		for _, data := range [][]T{a.Data, b.Data} {
			for i := range data {
				data[i] = gemm.FromFloat64[T](r.Float64() - 0.5)
			}
		}
		run, err := m.(gemm.Stager[T]).Stage(t.Context(), c, a, b)
		gemmtest.Must(t, err)
		device.Once(t, run)
		first := slices.Clone(c.Data)
		for range 4 {
			clear(c.Data)
			device.Once(t, run)
			for j, x := range first {
				if got := c.Data[j]; !(gemm.ToFloat64(got) == gemm.ToFloat64(x)) {
					t.Fatalf("%v: element %d is %v, and %v of the first product", s, j, got, x)
				}
			}
		}
		gemmtest.Must(t, run.Close())
	}
}

// ragged are shapes that leave a part of a tile free at each edge. In the second one tiles are cut along k. In the last
// one a persistent block has several tiles.
var ragged = []gemm.Shape{{M: 133, N: 261, K: 67}, {M: 90, N: 70, K: 710}, {M: 300, N: 9000, K: 37}}

// TestRagged compares one product of every rung with every setting at ragged shapes with the exact result, for
// operands as they are stored or transposed, and for a C that is read. scripts/sanitize.sh runs it under
// compute-sanitizer, so it is short.
func TestRagged(t *testing.T) {
	eachRung(t, raggedNumbers[float64], raggedNumbers[float32], raggedNumbers[half.F16], raggedNumbers[half.BF16],
		raggedBytes)
}

func raggedNumbers[T gemm.Number](t *testing.T, v gemm.Variant, p gemm.Params) {
	m := stageable[T](t, v, p).(gemm.GemmStager[T])
	for i, s := range ragged {
		op := [...]struct {
			tA, tB      blas.Transpose
			alpha, beta float64
		}{{blas.NoTrans, blas.NoTrans, 1, 0}, {blas.Trans, blas.Trans, 2, -1}, {blas.NoTrans, blas.NoTrans, -1, 2}}[i]
		if !several(v, s) {
			continue
		}
		a, b := integral[T](op.tA, s.M, s.K, 7), integral[T](op.tB, s.K, s.N, 5)
		c := integral[T](blas.NoTrans, s.M, s.N, 3)
		was := c
		was.Data = slices.Clone(c.Data)
		run, err := m.StageGemm(t.Context(), op.tA, op.tB, gemm.FromFloat64[T](op.alpha), a, b,
			gemm.FromFloat64[T](op.beta), c)
		gemmtest.Must(t, err)
		device.Once(t, run)
		device.Exact(t, cuda.Operation{TransA: op.tA != blas.NoTrans, TransB: op.tB != blas.NoTrans, Alpha: op.alpha,
			Beta: op.beta}, a, b, was, c)
		gemmtest.Must(t, run.Close())
	}
}

// several reports whether the shape is for the variant: the last one is for persistent blocks.
func several(v gemm.Variant, s gemm.Shape) bool {
	persistent := func(r cuda.Rung) bool { return r.Persistent && "cuda/"+r.Name == v.Name }
	ofType := func(typ string) bool { return slices.ContainsFunc(cuda.Ladder(typ), persistent) }
	return s != ragged[len(ragged)-1] || slices.ContainsFunc(v.Types(), ofType)
}

// integral returns op(X) of rows × cols as it is stored, of integers of a magnitude up to half of the period.
func integral[T gemm.Number](op blas.Transpose, rows, cols, period int) gemm.Matrix[T] {
	if op != blas.NoTrans {
		rows, cols = cols, rows
	}
	m := padded[T](rows, cols, 3)
	for i := range m.Data {
		m.Data[i] = gemm.FromFloat64[T](float64(i%period - period/2))
	}
	return m
}

func raggedBytes(t *testing.T, v gemm.Variant, p gemm.Params) {
	m := stageable[gf256.Elem](t, v, p).(gemm.Stager[gf256.Elem])
	for _, s := range []gemm.Shape{{M: 5, N: 4095, K: 11}, {M: 70, N: 301, K: 65}} {
		a, b := device.RandomBytes(s.M, s.K, 1), device.RandomBytes(s.K, s.N, 2)
		c := padded[gf256.Elem](s.M, s.N, 2)
		run, err := m.Stage(t.Context(), c, a, b)
		gemmtest.Must(t, err)
		device.Once(t, run)
		device.SameProduct(t, c, a, b)
		gemmtest.Must(t, run.Close())
	}
}
