package serial

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"gemm"
	"gemm/internal/block"
)

// TestCombine wants of the products of one level and of two what those who compute them
// rely on.
func TestCombine(t *testing.T) {
	for levels := 1; levels <= 2; levels++ {
		products := strassen.combine(levels)
		if want := int(math.Pow(7, float64(levels))); len(products) != want {
			t.Errorf("%d levels: %d products, want %d", levels, len(products), want)
		}
		fresh := map[[2]int]bool{}
		for i, x := range products {
			if x.a[0].sign != 1 || x.b[0].sign != 1 {
				t.Errorf("%d levels: a sum of product %d begins with −1: %v", levels, i, x)
			}
			for j, p := range x.c {
				at := [2]int{p.row, p.column}
				if first := !fresh[at]; first != (j == 0 && x.fresh) {
					t.Errorf("%d levels: product %d meets block %v, fresh %v: %v", levels, i, at, first, x)
				}
				fresh[at] = true
			}
			if terms := max(len(x.a), len(x.b), len(x.c)); terms > len(recursion[float64]{}.terms[0]) {
				t.Errorf("%d levels: product %d has %d terms", levels, i, terms)
			}
		}
		if want := 1 << (2 * levels); len(fresh) != want {
			t.Errorf("%d levels: %d blocks of C, want %d", levels, len(fresh), want)
		}
	}
}

// TestFoldedGrowth: folding one level changes nothing in the bound; of two the first
// order is 144·k₀² + 748·k₀.
func TestFoldedGrowth(t *testing.T) {
	const u = 0x1p-53
	s := strassenScheme()
	for _, k0 := range []int{1, 16, 1000} {
		one, folded := s.growth(2*k0, 2*k0, 2*k0, k0, false, u), s.growth(2*k0, 2*k0, 2*k0, k0, true, u)
		if one != folded {
			t.Errorf("k₀=%d: one level has %v, folded %v", k0, one, folded)
		}
		k := float64(k0)
		two := s.growth(4*k0, 4*k0, 4*k0, k0, true, u)
		if want := 144*k*k + 748*k; two.first != want {
			t.Errorf("k₀=%d: the first-order error is %v·u, want %v·u", k0, two.first, want)
		}
		if r := two.worst / (u * two.first); !(math.Abs(r-1) < 1e-10) {
			t.Errorf("k₀=%d: the bound is %v times its first order", k0, r)
		}
	}
}

// TestFoldedModel compares the operations and the workspace of products whose additions
// are folded with what strassen's comment says.
func TestFoldedModel(t *testing.T) {
	const n0 = 24
	v, product := find(t, "serial/strassen"), sumWorkspace(block.Serial)
	cube := func(x float64) float64 { return 2 * x * x * x }
	for levels, want := range map[int]float64{
		1: 7*cube(n0) + 18*n0*n0,
		2: 49*cube(n0) + 318*n0*n0,
		3: 7*(49*cube(n0)+318*n0*n0) + 18*16*n0*n0, // the first has temporaries
	} {
		n := n0 << levels
		model := v.Model(n, n, n, gemm.Params{"cutoff": n0, "leaf": "serial/packed"})
		if model.Flops != want {
			t.Errorf("%d levels: %v operations, want %v", levels, model.Flops, want)
		}
		temporaries := 0
		if levels == 3 {
			temporaries = 3 * 16 * n0 * n0
		}
		if want := float64(temporaries + product(n0, n0, n0)); model.Workspace != want {
			t.Errorf("%d levels: a workspace of %v, want %v", levels, model.Workspace, want)
		}
	}
}

// BenchmarkStrassen times strassen over packed in turn with packed, on one processor,
// halving once and twice. It reports the median of the ratios of neighbours, and the
// largest difference of the two results beside its bound, in units of
// u·max|A|·max|B|. n = 8192 takes 2.5 GB and, on the slowest processors with AVX-512,
// 20 s a product: -bench 'Strassen/f64/n=8192' -benchtime 3x.
func BenchmarkStrassen(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b.Run("f64", benchStrassen[float64])
	b.Run("f32", benchStrassen[float32])
}

func benchStrassen[T gemm.Float](b *testing.B) {
	for _, n := range []int{1024, 1536, 2048, 3072, 4096, 6144, 8192} {
		for halvings := 1; halvings <= 2; halvings++ {
			b.Run(fmt.Sprintf("n=%d/halvings=%d", n, halvings), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				x, y, c, d := gemm.NewMatrix[T](n, n), gemm.NewMatrix[T](n, n), gemm.NewMatrix[T](n, n), gemm.NewMatrix[T](n, n)
				for i := range x.Data {
					x.Data[i], y.Data[i] = T(2*rng.Float64()-1), T(2*rng.Float64()-1)
				}
				timed := func(m gemm.Multiplier[T], c gemm.Matrix[T]) float64 {
					begin := time.Now()
					if err := m.Multiply(b.Context(), c, x, y); err != nil {
						b.Fatal(err)
					}
					return time.Since(begin).Seconds()
				}
				cutoff := n >> halvings
				whole, halved := NewPacked[T](block.Serial), NewStrassen[T](block.Serial, cutoff)
				timed(whole, c)
				timed(halved, d)
				var ratios, seconds []float64
				for b.Loop() {
					t := timed(whole, c)
					s := timed(halved, d)
					ratios, seconds = append(ratios, t/s), append(seconds, s)
				}
				var difference float64
				for i := range c.Data {
					difference = max(difference, math.Abs(float64(c.Data[i]-d.Data[i])))
				}
				u := gemm.UnitRoundoff[T]()
				slices.Sort(ratios)
				slices.Sort(seconds)
				b.ReportMetric(ratios[len(ratios)/2], "packed/strassen")
				b.ReportMetric(2*math.Pow(float64(n), 3)/seconds[len(seconds)/2]/1e9, "GFLOP/s")
				b.ReportMetric(difference/u, "difference")
				b.ReportMetric(StrassenBound().Random(n, n, n, gemm.Params{"cutoff": cutoff}, u)/u, "bound")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
