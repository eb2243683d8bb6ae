package serial

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/block"
)

// TestProducts multiplies 2×2 matrices of unknowns by the list of products, and checks the order that the levels need.
func TestProducts(t *testing.T) {
	var met [4]bool
	var c [4][4][4]int // how often a product of quarters of A and B is in a quarter of C
	var sums [3]int
	for i, x := range strassen {
		if x.a[0] < 0 || x.b[0] < 0 || max(len(x.a), len(x.b), len(x.add)) > 2 {
			t.Errorf("a sum of product %d begins with −1 or has more than two terms: %v", i, x)
		}
		targets := x.add
		if x.set != 0 {
			targets = append(sum{x.set}, x.add...)
		}
		for j, to := range targets {
			if set := j == 0 && x.set != 0; met[to.index()] == set {
				t.Errorf("product %d sets quarter %d: %v, in %v", i, to, set, x)
			}
			met[to.index()] = true
			for _, a := range x.a {
				for _, b := range x.b {
					c[to.index()][a.index()][b.index()] += to.sign() * a.sign() * b.sign()
				}
			}
		}
		sums[0], sums[1], sums[2] = sums[0]+len(x.a)-1, sums[1]+len(x.b)-1, sums[2]+len(x.add)
	}
	for q, got := range c {
		var want [4][4]int
		for l := range 2 {
			want[q/2*2+l][2*l+q%2] = 1
		}
		if got != want {
			t.Errorf("quarter %d of C has the products %v, want %v", q, got, want)
		}
	}
	if want := [3]int{strassenScheme.a, strassenScheme.b, strassenScheme.c}; sums != want {
		t.Errorf("%v additions, want %v", sums, want)
	}
}

// TestFolded compares the workspace and the traffic of products with folded additions with those
// of products that keep the temporaries of all levels.
func TestFolded(t *testing.T) {
	const n0, cache, line = 512, 1 << 20, 8
	v, product := find(t, "serial/strassen"), sumWorkspace(block.Serial)
	for levels := 1; levels <= 3; levels++ {
		n := n0 << levels
		folded, err := v.Resolve(gemm.Params{"cutoff": n0})
		gemmtest.Must(t, err)
		model := v.Model(gemm.Cube(n), folded)
		temporaries := 0
		for h := n / 2; h > n0; h /= 2 {
			temporaries += 3 * h * h
		}
		if want := float64(temporaries + product(n0, n0, n0)); model.Workspace != want {
			t.Errorf("%d levels: a workspace of %v, want %v", levels, model.Workspace, want)
		}
		leaf := func(s gemm.Shape) gemm.Model { return PackedModel(s, block.Serial) }
		unfolded := strassenScheme.model(gemm.Cube(n), n0, leaf, nil)
		if model.Flops != unfolded.Flops {
			t.Errorf("%d levels: %v operations, %v with temporaries", levels, model.Flops, unfolded.Flops)
		}
		// On the last level, 18 sums of 4 quarters replace 10 sums of 1 quarter and 8 of 2. Of these 18·4
		// quarters, 3 are in a cache.
		less := math.Pow(7, float64(levels-1)) * (4*18 - 3 - 10 - 2*8) * n0 * n0
		if got := unfolded.Traffic(cache, line) - model.Traffic(cache, line); got != less {
			t.Errorf("%d levels: folding saves the traffic of %v elements, want %v", levels, got, less)
		}
	}
}

// TestTemporaries checks that a product holds exactly the temporaries that Workspace reports, for
// leaves with folded additions and without.
func TestTemporaries(t *testing.T) {
	const m, n, k = 130, 65, 99
	a, b, c := gemm.NewMatrix[float64](m, k), gemm.NewMatrix[float64](k, n), gemm.NewMatrix[float64](m, n)
	for leaf, fold := range map[string]bool{"serial/ikj": false, "serial/packed": true} {
		x, err := gemm.New[float64](find(t, "serial/strassen"), gemm.Params{"cutoff": 9, "leaf": leaf})
		gemmtest.Must(t, err)
		gemmtest.Must(t, x.Multiply(t.Context(), c, a, b))
		// 65×32×49, 32×16×24, 16×8×12, of a harmonic mean of 11, and 8×4×6 where the last
		// additions are not folded.
		want := 65*49 + 49*32 + 65*32 + 32*24 + 24*16 + 32*16 + 16*12 + 12*8 + 16*8
		if !fold {
			want += 8*6 + 6*4 + 8*4
		}
		if held := cap(x.(*recursion[float64]).take(m, n, k).temporaries); held != want {
			t.Errorf("%s: holds %d elements, want %d", leaf, held, want)
		}
	}
}

// TestDivides: cubes are halved above the cutoff, other products where the harmonic mean of
// their dimensions is above it, and none that has no halves.
func TestDivides(t *testing.T) {
	for _, x := range []struct {
		m, n, k, cutoff int
		want            bool
	}{
		{1000, 1000, 1000, 1000, false},
		{1001, 1001, 1001, 1000, true},
		{4096, 2048, 4096, 3071, true},
		{4096, 2048, 4096, 3072, false},
		{10000, 10000, 100, 295, false}, // 294.1
		{10000, 10000, 100, 294, true},
		{1, 1 << 20, 1 << 20, 1, false},
		{2, 2, 2, 1, true},
	} {
		if got := divides(x.m, x.n, x.k, x.cutoff); got != x.want {
			t.Errorf("a product of %d×%d×%d is halved at %d: %v, want %v", x.m, x.n, x.k, x.cutoff, got, x.want)
		}
	}
}

// TestRan checks which variant is said to compute products below and above the cutoff.
func TestRan(t *testing.T) {
	for _, v := range []gemm.Variant{strassenVariant(), winogradVariant(), divideVariant(), quadrantsVariant()} {
		p := gemm.Params{"cutoff": 64, "leaf": "serial/ikj"}
		below, above := v.Ran(gemm.Cube(64), p), v.Ran(gemm.Cube(65), p)
		if below != "serial/ikj" || above != "" {
			t.Errorf("%s: %q at the cutoff and %q above it", v.Name, below, above)
		}
	}
}

// TestMultiplyTwo compares with the sum of two products of small integers, which is exact.
func TestMultiplyTwo(t *testing.T) {
	for _, shape := range [][3]int{{64, 64, 32}, {64, 48, 33}, {65, 64, 32}, {64, 65, 31}, {67, 81, 40}, {20, 20, 3},
		{5, 6, 7}, {9, 0, 4}, {0, 3, 4}, {8, 8, 0}} {
		m, n, k := shape[0], shape[1], shape[2]
		for _, name := range []string{"serial/strassen", "serial/winograd"} {
			for _, leaf := range []string{"serial/ikj", "serial/packed"} {
				x, err := gemm.New[float64](find(t, name), gemm.Params{"cutoff": 9, "leaf": leaf})
				gemmtest.Must(t, err)
				matrix := func(rows, cols int) gemm.Matrix[float64] {
					x := gemm.Matrix[float64]{Rows: rows, Cols: cols, Stride: cols + 3, Data: make([]float64, rows*(cols+3))}
					for i := range x.Data {
						x.Data[i] = float64(rand.IntN(17) - 8)
					}
					return x
				}
				a, b := [2]gemm.Matrix[float64]{matrix(m, k), matrix(m, k)}, [2]gemm.Matrix[float64]{matrix(k, n), matrix(k, n)}
				c := matrix(m, n)
				beside := slices.Clone(c.Data)
				gemmtest.Must(t, x.(Twofold[float64]).MultiplyTwo(t.Context(), c, a, b))
				for i := range m {
					for j := range c.Stride {
						want := beside[i*c.Stride+j]
						if j < n {
							want = 0
							for h := range a {
								for l := range k {
									want += a[h].At(i, l) * b[h].At(l, j)
								}
							}
						}
						if got := c.Data[i*c.Stride+j]; got != want {
							t.Fatalf("%s, leaf %s, %v: element (%d, %d) is %v, want %v", name, leaf, shape, i, j, got, want)
						}
					}
				}
				wide := [2]gemm.Matrix[float64]{a[0], matrix(m, k+1)}
				if err := x.(Twofold[float64]).MultiplyTwo(t.Context(), c, wide,
					[2]gemm.Matrix[float64]{b[0], matrix(k+1, n)}); !errors.Is(err, gemm.ErrShape) {
					t.Errorf("%s: operands of k = %d and %d: %v", name, k, k+1, err)
				}
			}
		}
	}
}

// TestTiles adds matrices of several tiles, some of them with partial tiles at the edges. Each sum
// needs the result of the one before.
func TestTiles(t *testing.T) {
	const rows, cols = 2*tileRows + 3, 2*tileCols + 5
	r := newAdder[float64](block.Serial)
	x, y, z := gemm.NewMatrix[float64](rows, cols), gemm.NewMatrix[float64](rows, cols),
		gemm.NewMatrix[float64](rows, cols)
	for i := range x.Data {
		x.Data[i], y.Data[i], z.Data[i] = float64(i), float64(3*i%101), -1
	}
	r.add(
		addition[float64]{z, x, 1, y},
		addition[float64]{x, z, -1, x},
		addition[float64]{y, x, 1, z},
	)
	for i := range x.Data {
		first, second := float64(i), float64(3*i%101)
		if z.Data[i] != first+second || x.Data[i] != second || y.Data[i] != first+2*second {
			t.Fatalf("element %d is %v, %v and %v, want %v, %v and %v", i, z.Data[i], x.Data[i], y.Data[i], first+second, second,
				first+2*second)
		}
	}
	if slices.ContainsFunc(r.sums[:cap(r.sums)], func(g addition[float64]) bool { return g.z.Data != nil }) {
		t.Error("the operands are held")
	}
}
