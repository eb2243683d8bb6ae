package reference

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/block"
	"gemm/serial"
)

// Of this package, codes alone have kernels that GEMM_CPU chooses.
func TestInstructionSets(t *testing.T) { gemmtest.InstructionSets(t, "^TestReedSolomon") }

// fieldMatrix returns a matrix of random elements, whose rows are a few elements apart.
func fieldMatrix(rng *rand.Rand, rows, cols int) gemm.Matrix[gf256.Elem] {
	m := gemm.Matrix[gf256.Elem]{Rows: rows, Cols: cols, Stride: cols + 3, Data: make([]gf256.Elem, rows*(cols+3))}
	for i := range m.Data {
		m.Data[i] = gf256.New(uint8(rng.Uint32()))
	}
	return m
}

// TestReedSolomon compares our products with the library's, byte for byte: each is the
// oracle of the other.
func TestReedSolomon(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, err := newReedSolomon(2)
	gemmtest.Must(t, err)
	ours := serial.NewPackedField(block.Serial)
	for _, shape := range [][3]int{
		{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {1, 1, 1}, {4, 1000, 10}, {4, 1000, 10}, {4, 1001, 11}, {2, 70_000, 4},
		{3, 65, 17}, {16, 4097, 16}, {20, 5000, 50}, {32, 3000, 128}, {128, 300, 128}, {255, 77, 1}, {1, 77, 255},
	} {
		m, n, k := shape[0], shape[1], shape[2]
		a, b, c, want := fieldMatrix(rng, m, k), fieldMatrix(rng, k, n), fieldMatrix(rng, m, n), fieldMatrix(rng, m, n)
		copy(want.Data, c.Data)
		gemmtest.Must(t, errors.Join(x.Multiply(t.Context(), c, a, b), ours.Multiply(t.Context(), want, a, b)))
		if !slices.Equal(c.Data, want.Data) {
			t.Errorf("%v: the products differ", shape)
		}
	}
}

// TestReedSolomonConcurrent has goroutines encode by different codes at the same time: each result
// is right or refused with ErrBusy.
func TestReedSolomonConcurrent(t *testing.T) {
	x, err := newReedSolomon(1)
	gemmtest.Must(t, err)
	var all sync.WaitGroup
	var encoded atomic.Int64
	for g := range 4 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(5, uint64(g)))
			m, n, k := 2+g, 3000, 7-g
			a, b, c, want := fieldMatrix(rng, m, k), fieldMatrix(rng, k, n), fieldMatrix(rng, m, n),
				gemm.NewMatrix[gf256.Elem](m, n)
			if err := serial.NewPackedField(block.Serial).Multiply(t.Context(), want, a, b); err != nil {
				t.Error(err)
			}
			for range 1000 {
				err := x.Multiply(t.Context(), c, a, b)
				if errors.Is(err, gemm.ErrBusy) {
					continue
				}
				if err != nil {
					t.Errorf("%d shards of %d: %v", m, k, err)
					return
				}
				encoded.Add(1)
				for i := range m {
					if !slices.Equal(c.Row(i), want.Row(i)) {
						t.Errorf("%d shards of %d: parity shard %d is wrong", m, k, i)
						return
					}
				}
			}
		})
	}
	all.Wait()
	if encoded.Load() == 0 {
		t.Error("all products were refused")
	}
}

// TestReedSolomonErrors checks that C is unchanged if the library cannot compute it.
func TestReedSolomonErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, err := newReedSolomon(1)
	gemmtest.Must(t, err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx     context.Context
		m, n, k int
		rows    int // of B
		want    error
	}{
		"too many shards": {t.Context(), 100, 5, 157, 157, gemm.ErrUnavailable},
		"no product":      {t.Context(), 2, 5, 3, 4, gemm.ErrShape},
		"cancelled":       {cancelled, 2, 5, 3, 3, context.Canceled},
	} {
		c := fieldMatrix(rng, test.m, test.n)
		was := slices.Clone(c.Data)
		err := x.Multiply(test.ctx, c, fieldMatrix(rng, test.m, test.k), fieldMatrix(rng, test.rows, test.n))
		if !errors.Is(err, test.want) || !slices.Equal(c.Data, was) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
