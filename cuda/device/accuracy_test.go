//go:build cuda

package device_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/verify"
	"gemm/cuda"
	"gemm/cuda/device"
	"gemm/cuda/ladder"
	"gemm/gemmtest"
	"gemm/parallel"
)

// onGPU returns the variants on a GPU, which the test needs. Products on several have 4, as device.Several says.
func onGPU(t *testing.T) []gemm.Variant { return cuda.Variants(device.Several(t, 4)) }

// multiply computes the product by the variant and says what has computed it, if that is another one.
func multiply[T gemm.Element](t *testing.T, all []gemm.Variant, name string, p gemm.Params, c, a, b gemm.Matrix[T]) (
	by any) {
	t.Helper()
	v, err := gemm.Lookup(all, name)
	gemmtest.Must(t, err)
	m, err := gemm.New[T](v, p)
	if errors.Is(err, gemm.ErrUnavailable) {
		t.Skip(err) // the GPU is of another compute capability
	}
	if err == nil {
		err = m.Multiply(t.Context(), c, a, b)
	}
	gemmtest.Must(t, err)
	return m.(gemm.Explainer).Resolved()["fallback"]
}

// filled returns a matrix of numbers that draw draws.
func filled[T gemm.Float](rows, cols int, seed uint64, draw func(r *rand.Rand) float64) gemm.Matrix[T] {
	r := rand.New(rand.NewPCG(seed, 0))
	m := gemm.NewMatrix[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(draw(r))
	}
	return m
}

// reference returns rows of C, computed in double precision on the host, and the sums of magnitudes |A||B|.
func reference(t *testing.T, rows int, a, b gemm.Matrix[float32]) (c, sums gemm.Matrix[float64]) {
	t.Helper()
	v, err := gemm.Lookup(parallel.Variants(), "parallel/packed")
	gemmtest.Must(t, err)
	m, err := gemm.New[float64](v, nil)
	gemmtest.Must(t, err)
	wide := func(x gemm.Matrix[float32], rows int, of func(float64) float64) gemm.Matrix[float64] {
		out := gemm.NewMatrix[float64](rows, x.Cols)
		for i := range rows {
			for j, value := range x.Row(i) {
				out.Row(i)[j] = of(float64(value))
			}
		}
		return out
	}
	same := func(x float64) float64 { return x }
	var out [2]gemm.Matrix[float64]
	for i, of := range []func(float64) float64{same, math.Abs} {
		out[i] = gemm.NewMatrix[float64](rows, b.Cols)
		gemmtest.Must(t, m.Multiply(t.Context(), out[i], wide(a, rows, of), wide(b, b.Rows, of)))
	}
	return out[0], out[1]
}

// deviation is how the first rows of a product differ from the reference, relative to |A||B|.
type deviation struct{ largest, rms, mean float64 }

func deviationOf(c gemm.Matrix[float32], exact, sums gemm.Matrix[float64]) (d deviation) {
	for i := range exact.Rows {
		for j, x := range exact.Row(i) {
			e := float64(c.At(i, j)) - x
			if e != 0 {
				e /= sums.At(i, j)
			}
			if math.IsNaN(e) {
				return deviation{e, e, e}
			}
			d.largest, d.rms, d.mean = max(d.largest, math.Abs(e)), d.rms+e*e, d.mean+e
		}
	}
	n := float64(exact.Rows * exact.Cols)
	return deviation{d.largest, math.Sqrt(d.rms / n), d.mean / n}
}

// Operands of different kinds. Magnitudes of the wide ones are in 24 binades.
var draws = []struct {
	name string
	draw func(r *rand.Rand) float64
}{
	{"normal", (*rand.Rand).NormFloat64},
	{"uniform", (*rand.Rand).Float64},
	{"wide", func(r *rand.Rand) float64 { return math.Copysign(math.Exp2(24*r.Float64()-12), r.NormFloat64()) }},
}

// TestSinglePrecision checks that the errors of f16x3 are not larger than the errors of cuBLAS in single precision, the
// largest one and the root mean square. Sums of positive numbers are a little too small, since tensor cores cut off
// when they add within a chunk of k: by 4u on average at most, of any k.
func TestSinglePrecision(t *testing.T) {
	all := onGPU(t)
	const rows = 64
	sizes := []int{1024, 2048, 4096, 8192}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, d := range draws {
		for _, n := range sizes {
			a, b := filled[float32](n, n, 1, d.draw), filled[float32](n, n, 2, d.draw)
			exact, sums := reference(t, rows, a, b)
			c := gemm.NewMatrix[float32](n, n)
			if by := multiply(t, all, "cuda/"+cuda.F16x3, nil, c, a, b); by != nil {
				t.Errorf("%s, n = %d: %v has computed the product", d.name, n, by)
			}
			got := deviationOf(c, exact, sums)
			multiply(t, all, "cuda/"+cuda.CuBLAS, nil, c, a, b)
			want := deviationOf(c, exact, sums)
			t.Logf("%s, n = %d: largest %.2e and %.2e, root mean square %.2e and %.2e, mean %+.1e and %+.1e", d.name, n,
				got.largest, want.largest, got.rms, want.rms, got.mean, want.mean)
			const most = 4 * 0x1p-24
			if !(got.largest <= want.largest) || !(got.rms <= want.rms) || !(math.Abs(got.mean) <= most) {
				t.Errorf("%s, n = %d: f16x3 has the errors %+v, cuBLAS %+v", d.name, n, got, want)
			}
		}
	}
}

// TestUnfit checks that the fallback computes products whose operands f16x3 cannot split, in parts of f16 and of TF32,
// and that no other product is affected.
func TestUnfit(t *testing.T) {
	t.Run("f16", func(t *testing.T) { unfit(t, gemm.Params{"tile": "128x128x64"}) })
	t.Run("tf32", func(t *testing.T) { unfit(t, nil) })
}

func unfit(t *testing.T, p gemm.Params) {
	all := onGPU(t)
	const m, n, k = 300, 200, 500
	ladder := cuda.Ladder("f32")
	fallback := slices.IndexFunc(ladder, func(r cuda.Rung) bool { return r.Name == "tuned" })
	// The tile of a fallback is not chosen for the shape.
	tile := gemm.Params{"tile": ladder[fallback].Tiles[0].Name(), "split": 1}
	for _, test := range []struct {
		name  string
		spoil func(a, b gemm.Matrix[float32])
		falls bool
	}{
		{"normal", func(a, b gemm.Matrix[float32]) {}, false},
		{"zeros", func(a, b gemm.Matrix[float32]) { clear(a.Row(7)); clear(b.Row(9)) }, false},
		{"28 binades of a row of A", func(a, _ gemm.Matrix[float32]) {
			a.Row(7)[3], a.Row(7)[4] = 1<<14, 0x1p-14
		}, false},
		{"40 binades of a row of A", func(a, _ gemm.Matrix[float32]) {
			a.Row(7)[3], a.Row(7)[4] = 1<<20, 0x1p-20
		}, p != nil},
		{"40 binades of a column of B", func(_, b gemm.Matrix[float32]) {
			b.Row(3)[7], b.Row(4)[7] = 1<<20, 0x1p-20
		}, p != nil},
		{"a large element of A", func(a, _ gemm.Matrix[float32]) { a.Row(m - 1)[k-1] = 0x1p48 }, true},
		{"a small element of B", func(_, b gemm.Matrix[float32]) { b.Row(k - 1)[n-1] = 0x1.fffffep-49 }, true},
		{"infinity in A", func(a, _ gemm.Matrix[float32]) { a.Row(m - 1)[k-1] = float32(math.Inf(-1)) }, true},
		{"infinity in B", func(_, b gemm.Matrix[float32]) { b.Row(k - 1)[0] = float32(math.Inf(1)) }, true},
		{"NaN in A", func(a, _ gemm.Matrix[float32]) { a.Row(0)[k-1] = float32(math.NaN()) }, true},
		{"NaN in B", func(_, b gemm.Matrix[float32]) { b.Row(0)[n-1] = float32(math.NaN()) }, true},
	} {
		// No element is small by chance: magnitudes are between 1 and 2.
		draw := func(r *rand.Rand) float64 { return math.Copysign(1+r.Float64(), r.NormFloat64()) }
		a, b := filled[float32](m, k, 1, draw), filled[float32](k, n, 2, draw)
		test.spoil(a, b)
		got, want := gemm.NewMatrix[float32](m, n), gemm.NewMatrix[float32](m, n)
		by := multiply(t, all, "cuda/"+cuda.F16x3, p, got, a, b)
		if want := any("cuda/tuned"); test.falls && by != want || !test.falls && by != nil {
			t.Errorf("%s: %v has computed the product", test.name, by)
		}
		if !test.falls {
			exact, sums := reference(t, m, a, b)
			if d := deviationOf(got, exact, sums); !(d.largest <= 2e-6) {
				t.Errorf("%s: the largest error is %.1e, relative to the sums of magnitudes", test.name, d.largest)
			}
			continue
		}
		multiply(t, all, "cuda/tuned", tile, want, a, b)
		for i, x := range want.Data {
			if y := got.Data[i]; !(x == y || x != x && y != y) {
				t.Fatalf("%s: element %d is %v, and %v of the fallback", test.name, i, y, x)
			}
		}
	}
}

// byResidues calls test for every rung that computes by residues, with several numbers of moduli.
func byResidues(t *testing.T, test func(t *testing.T, all []gemm.Variant, v gemm.Variant, p gemm.Params)) {
	all := onGPU(t)
	for _, v := range all {
		for _, moduli := range []int{ladder.LeastModuli, ladder.DefaultModuli, 15, 16, 17, len(ladder.Moduli)} {
			if v.Compute == ladder.ByResidues.Compute {
				p := gemm.Params{"moduli": moduli}
				t.Run(v.Name+"/"+p.String(), func(t *testing.T) { test(t, all, v, p) })
			}
		}
	}
}

// TestDoublePrecision checks products by residues against their bound. With 14 moduli or more, the largest error is not
// larger than the error of cuBLAS, but for rows of A whose elements are in 30 binades.
func TestDoublePrecision(t *testing.T) {
	byResidues(t, func(t *testing.T, all []gemm.Variant, v gemm.Variant, p gemm.Params) {
		for _, d := range draws {
			for _, n := range []int{1024, 2048} {
				a, b, c := filled[float64](n, n, 1, d.draw), filled[float64](n, n, 2, d.draw), gemm.NewMatrix[float64](n, n)
				op := verify.Operation[float64]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, A: a, B: b}
				verifier, componentwise := verify.New(op, 1), verify.Limit{Kind: gemm.Componentwise, Bound: 1}
				multiply(t, all, v.Name, p, c, a, b)
				got := verifier.Check(c, componentwise).Residual
				if checked := verifier.Check(c, verify.LimitOf[float64](v, gemm.Cube(n), p, 1, 0, true)); !checked.OK() {
					t.Errorf("%s, n = %d: %s", d.name, n, checked.Reason)
				}
				multiply(t, all, "cuda/"+cuda.CuBLAS, nil, c, a, b)
				want := verifier.Check(c, componentwise).Residual
				t.Logf("%s, n = %d: the largest error is %.2e, cuBLAS's %.2e", d.name, n, got, want)
				if p.Int("moduli") >= ladder.DefaultModuli && d.name != "wide" && !(got <= want) {
					t.Errorf("%s, n = %d: the largest error is %.2e, cuBLAS's %.2e", d.name, n, got, want)
				}
			}
		}
	})
}

// TestRangeOfResidues checks that powers of two, up to the ends of the range, which rows of A and columns of B are
// multiplied by, change nothing else, and that NaN and infinities change only the elements that depend on them.
func TestRangeOfResidues(t *testing.T) {
	byResidues(t, func(t *testing.T, all []gemm.Variant, v gemm.Variant, p gemm.Params) {
		const m, n, k = 70, 90, 300
		normal := (*rand.Rand).NormFloat64
		a, b := filled[float64](m, k, 1, normal), filled[float64](k, n, 2, normal)
		plain, c := gemm.NewMatrix[float64](m, n), gemm.NewMatrix[float64](m, n)
		multiply(t, all, v.Name, p, plain, a, b)
		powers := func(i int) int { return []int{0, 900, -900, 1010, -1010}[i%5] }
		for i := range m {
			for l := range k {
				a.Row(i)[l] = math.Ldexp(a.At(i, l), powers(i))
			}
		}
		for l := range k {
			for j := range n {
				b.Row(l)[j] = math.Ldexp(b.At(l, j), -powers(j+1))
			}
		}
		a.Row(3)[7], a.Row(8)[k-1], b.Row(5)[9] = math.NaN(), math.Inf(-1), math.Inf(1)
		multiply(t, all, v.Name, p, c, a, b)
		for i := range m {
			for j := range n {
				e := powers(i) - powers(j+1)
				want := math.Ldexp(plain.At(i, j), e)
				if special := i == 3 || i == 8 || j == 9; special {
					want = 0
					for l := range k {
						want = math.FMA(a.At(i, l), b.At(l, j), want)
					}
				} else if math.Abs(want) < 0x1p-1022 {
					continue // rounded once, and not twice as here
				}
				if got := c.At(i, j); !(got == want || got != got && want != want) {
					t.Fatalf("C(%d, %d) is %v, want %v", i, j, got, want)
				}
			}
		}
	})
}

// TestPanelsOfResidues checks that products are the same bits if their planes do not fit.
func TestPanelsOfResidues(t *testing.T) {
	const m, n, k = 700, 600, 900
	b := device.OnGPU(t)
	all, normal := cuda.Variants(b), (*rand.Rand).NormFloat64
	a, x := filled[float64](m, k, 1, normal), filled[float64](k, n, 2, normal)
	for _, v := range all {
		if v.Compute != ladder.ByResidues.Compute {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			p := gemm.Params{"l2": "warm"}
			want, c := gemm.NewMatrix[float64](m, n), gemm.NewMatrix[float64](m, n)
			multiply(t, all, v.Name, p, want, a, x)
			device.Leave(t, b, 8*(m*k+k*n+m*n)+12<<20)
			multiplier, err := gemm.New[float64](v, p)
			gemmtest.Must(t, err)
			run, err := multiplier.(gemm.Stager[float64]).Stage(t.Context(), c, a, x)
			gemmtest.Must(t, err)
			_, err = run.Do(t.Context())
			gemmtest.Must(t, errors.Join(err, run.Collect(t.Context()), run.Close()))
			if !slices.Equal(c.Data, want.Data) {
				t.Error("the product in panels is another one")
			}
		})
	}
}

// TestUnbiased checks that the rungs on tensor cores round to TF32, and do not cut off: for positive numbers that makes
// each operand too small by 2⁻¹¹·ln 2 on average.
func TestUnbiased(t *testing.T) {
	all := onGPU(t)
	const m, n, k, limit = 256, 512, 2048, 0x1p-11 * math.Ln2 / 8
	draw := func(r *rand.Rand) float64 { return math.Exp2(r.Float64()) } // mantissas as of products
	a, b := filled[float32](m, k, 1, draw), filled[float32](k, n, 2, draw)
	exact, sums := reference(t, m, a, b)
	for _, v := range all {
		if v.Compute != "tf32" || cuda.IsTorch(path.Base(v.Name)) {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			c := gemm.NewMatrix[float32](m, n)
			multiply(t, all, v.Name, nil, c, a, b)
			d := deviationOf(c, exact, sums)
			t.Logf("mean %+.2e, root mean square %.2e", d.mean, d.rms)
			if !(math.Abs(d.mean) <= limit) && v.Role != gemm.Library {
				t.Errorf("the mean error is %+.2e, relative to the sums: at most %.1e if operands are rounded", d.mean,
					limit)
			}
		})
	}
}

// TestPeaks checks that each pipe of the GPU has one peak.
func TestPeaks(t *testing.T) {
	b := device.OnGPU(t)
	d, err := b.Device(0)
	gemmtest.Must(t, err)
	peaks, err := d.Peaks(t.Context(), 100*time.Millisecond)
	gemmtest.Must(t, err)
	seen := map[string]bool{}
	for _, p := range peaks {
		t.Logf("%s: %.1f TFLOP/s", p.Pipe, p.Gflops/1e3)
		if seen[p.Pipe] || !(p.Gflops > 0) {
			t.Errorf("%+v, after %v", p, seen)
		}
		seen[p.Pipe] = true
	}
	if !seen["f32"] || !seen["f64"] {
		t.Errorf("the pipes are %v", seen)
	}
}

// TestLatencies wants what each memory takes longer than the one nearer to the thread.
func TestLatencies(t *testing.T) {
	b := device.OnGPU(t)
	d, err := b.Device(0)
	gemmtest.Must(t, err)
	found, err := d.Latencies(t.Context())
	gemmtest.Must(t, err)
	least := 10.0 // cycles, of shared memory
	for _, l := range found {
		t.Logf("%s, %d bytes: %.1f cycles, %.1f ns", l.Memory, l.Bytes, l.Cycles, l.Nanoseconds)
		if cycles := slices.Min(l.Cycles); !(cycles > least && cycles < 5000 && slices.Min(l.Nanoseconds) > cycles/4) {
			t.Errorf("%s: %v cycles, %v ns, want more than %v cycles", l.Memory, l.Cycles, l.Nanoseconds, least)
		}
		least = 1.5 * slices.Max(l.Cycles)
	}
	if len(found) != 3 {
		t.Errorf("there are %d memories", len(found))
	}
}
