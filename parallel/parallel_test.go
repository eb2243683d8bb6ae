package parallel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/serial"
)

// nonFinite says what the variants do with NaN and Inf that do not propagate them.
var nonFinite = map[string]gemmtest.NonFinite{"parallel/strassen": gemmtest.Spreads}

// TestThreadsAreLimited checks that more workers than fit in memory are an error.
func TestThreadsAreLimited(t *testing.T) {
	for _, v := range Variants() {
		for _, threads := range []int{0, mostThreads + 1, math.MaxInt} {
			if _, err := gemm.New[float64](v, gemm.Params{"threads": threads}); !errors.Is(err, gemm.ErrParam) {
				t.Errorf("%s with %d threads: got %v, want %v", v.Name, threads, err, gemm.ErrParam)
			}
		}
	}
}

// TestUnalignedAdd adds to a float64 at a multiple of 4 bytes, as 32-bit systems have it.
func TestUnalignedAdd(t *testing.T) {
	var sum *float64
	if unsafe.Alignof(*sum) == 8 {
		t.Skip("this system aligns to 8 bytes")
	}
	words := make([]uint32, 4)
	sum = (*float64)(unsafe.Pointer(&words[1]))
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 1000 {
				atomicAdd(sum, 2)
			}
		})
	}
	all.Wait()
	if *sum != 6000 {
		t.Errorf("the sum is %v, want 6000", *sum)
	}
}

func TestVariants(t *testing.T) {
	counts := []int{1, 3}
	if gemmtest.Raced {
		counts = counts[1:] // one thread has none to race with
	}
	for _, v := range Variants() {
		for _, threads := range counts {
			t.Run(fmt.Sprintf("%s/threads=%d", v.Name, threads), func(t *testing.T) {
				gemmtest.Suite{NonFinite: nonFinite[v.Name]}.Run(t, v, gemm.Params{"threads": threads})
			})
		}
	}
}

// TestLocalTypes checks that a local variant without the type is an error.
func TestLocalTypes(t *testing.T) {
	for _, v := range []gemm.Variant{rowsVariant(), tilesVariant()} {
		if m, err := gemm.New[gf256.Elem](v, gemm.Params{"local": "serial/hinted"}); m != nil ||
			!errors.Is(err, gemm.ErrType) {
			t.Errorf("%s: %v, %v", v.Name, m, err)
		}
		gemmtest.Run(t, v, gemm.Params{"threads": 2, "local": "serial/blocked", "schedule": "guided", "chunk": 3})
		gemmtest.Run(t, v, gemm.Params{"threads": 2, "local": "serial/packed", "schedule": "auto"})
	}
}

// TestLoads runs the suite under an artificial load.
func TestLoads(t *testing.T) {
	for _, v := range []gemm.Variant{rowsVariant(), tilesVariant()} {
		v.F32, v.F64, v.GF256 = loaded(v.F32), loaded(v.F64), loaded(v.GF256)
		gemmtest.Run(t, v, gemm.Params{"threads": 2, "schedule": "guided", "chunk": 3})
	}
}

// loaded returns the constructor of multipliers under an artificial load.
func loaded[T gemm.Element](f func(gemm.Params) (gemm.Multiplier[T], error)) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		m, err := f(p)
		if err != nil {
			return nil, err
		}
		return m.(record.Loadable[T]).Loaded(2), nil
	}
}

// TestCutoffs runs the suite with products that are halved several times.
func TestCutoffs(t *testing.T) {
	for _, cutoff := range []int{2, 7} {
		t.Run(fmt.Sprint(cutoff), func(t *testing.T) {
			gemmtest.Suite{NonFinite: gemmtest.Spreads}.Run(t, strassenVariant(), gemm.Params{"threads": 3, "cutoff": cutoff})
		})
	}
}

// TestRan checks which variant is said to compute products below and above the cutoff.
func TestRan(t *testing.T) {
	p := gemm.Params{"cutoff": 64, "threads": 3}
	below, above := strassenVariant().Ran(gemm.Cube(64), p), strassenVariant().Ran(gemm.Cube(65), p)
	if below != packedVariant().Name || above != "" {
		t.Errorf("%q at the cutoff and %q above it", below, above)
	}
}

// TestSharedCutoff checks that the cutoff which is used by default grows with the workers, and that the multiplier,
// its model and its record have the same.
func TestSharedCutoff(t *testing.T) {
	one, err := gemm.Lookup(serial.Variants(), "serial/strassen")
	gemmtest.Must(t, err)
	alone, err := one.Resolve(nil)
	gemmtest.Must(t, err)
	v := strassenVariant()
	for _, workers := range []int{1, 2, 5} {
		p, err := v.Resolve(gemm.Params{"threads": workers})
		gemmtest.Must(t, err)
		m, err := gemm.New[float64](v, p)
		gemmtest.Must(t, err)
		want := alone.Int("cutoff") * workers
		if got := m.(gemm.Explainer).Resolved().Int("cutoff"); got != want {
			t.Errorf("%d workers halve down to %d, want %d", workers, got, want)
		}
		if v.Ran(gemm.Cube(want), p) != packedVariant().Name || v.Ran(gemm.Cube(want+1), p) != "" {
			t.Errorf("%d workers: products up to %d are not said to be those of packed alone", workers, want)
		}
		halved := func(n int) bool { return v.Model(gemm.Cube(n), p).Flops < 2*float64(n)*float64(n)*float64(n) }
		if halved(want) || !halved(want+2) {
			t.Errorf("%d workers: the model does not halve from %d on", workers, want)
		}
	}
}

// TestPackedFieldShares compares products in GF(2⁸) by several workers with the product of one:
// parities of long shards, and matrices of many rows and few columns.
func TestPackedFieldShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shape := range [][3]int{{4, 150_001, 10}, {50, 20_000, 20}, {900, 100, 120}} {
		m, n, k := shape[0], shape[1], shape[2]
		a, b := gemm.NewMatrix[gf256.Elem](m, k), gemm.NewMatrix[gf256.Elem](k, n)
		for _, x := range [][]gf256.Elem{a.Data, b.Data} {
			for i := range x {
				x[i] = gf256.New(uint8(rng.Uint32()))
			}
		}
		var want gemm.Matrix[gf256.Elem]
		for _, threads := range []int{1, 2, 5} {
			x, err := gemm.New[gf256.Elem](packedVariant(), gemm.Params{"threads": threads})
			gemmtest.Must(t, err)
			c := gemm.NewMatrix[gf256.Elem](m, n)
			gemmtest.Must(t, x.Multiply(t.Context(), c, a, b))
			if threads == 1 {
				want = c
			}
			if !slices.Equal(c.Data, want.Data) {
				t.Errorf("%v: %d threads differ from one", shape, threads)
			}
		}
	}
}

// TestStrassenShares compares products that are large enough for several workers with the product
// of one, bit for bit.
func TestStrassenShares(t *testing.T) {
	const m, n, k = 410, 395, 421
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := gemm.NewMatrix[float64](m, k), gemm.NewMatrix[float64](k, n)
	for _, x := range [][]float64{a.Data, b.Data} {
		for i := range x {
			x[i] = 2*rng.Float64() - 1
		}
	}
	var want gemm.Matrix[float64]
	for _, threads := range []int{1, 2, 5} {
		x, err := gemm.New[float64](strassenVariant(), gemm.Params{"threads": threads, "cutoff": 60})
		gemmtest.Must(t, err)
		c := gemm.NewMatrix[float64](m, n)
		gemmtest.Must(t, x.Multiply(t.Context(), c, a, b))
		if threads == 1 {
			want = c
		} else if !slices.Equal(c.Data, want.Data) {
			t.Errorf("%d threads have another result than one", threads)
		}
	}
}

func FuzzVariants(f *testing.F) { gemmtest.Fuzz(f, Variants()) }
