package gemm_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"gemm"
)

// drawnBatch returns count matrices somewhere in data, count 1 being one matrix with any stride.
func drawnBatch(rng *rand.Rand, data []float32, count int) gemm.Batch[float32] {
	for {
		b := gemm.Batch[float32]{Count: count, Rows: rng.IntN(4), Cols: rng.IntN(4)}
		b.Stride = b.Cols + rng.IntN(4)
		if rng.IntN(2) == 0 {
			b.Stride = 6 // as others
		}
		b.Step = max(1, (b.Rows-1)*b.Stride+b.Cols) + rng.IntN(4)
		if rng.IntN(2) == 0 {
			b.Step = 24
		}
		b.Data = data[rng.IntN(len(data)/2):]
		if b.Check() == nil {
			return b
		}
	}
}

// elements returns the addresses of the elements of a batch.
func elements(b gemm.Batch[float32]) map[*float32]bool {
	out := map[*float32]bool{}
	for x := range b.Count {
		m := b.Nth(x)
		for i := range m.Rows {
			for j := range m.Row(i) {
				out[&m.Row(i)[j]] = true
			}
		}
	}
	return out
}

// TestOverlap compares the checks of random blocks of one slice with sets of their elements.
func TestOverlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	data, far := make([]float32, 100), make([]float32, 1)
	none := gemm.Batch[float32]{Count: 1, Step: 1, Rows: 1, Cols: 1, Stride: 1, Data: far}
	found := map[bool]int{}
	for range 20000 {
		for _, count := range []int{1, 2, 3} {
			c, x := drawnBatch(rng, data, count), drawnBatch(rng, data, count)
			want := false
			others := elements(x)
			for e := range elements(c) {
				want = want || others[e]
			}
			found[want]++
			checks := []error{gemm.CheckBatchOverlap(c, x, none), gemm.CheckBatchOverlap(c, none, x)}
			if count == 1 {
				checks = append(checks, gemm.CheckOverlap(c.Nth(0), x.Nth(0), none.Nth(0)),
					gemm.CheckOverlap(c.Nth(0), none.Nth(0), x.Nth(0)))
			}
			for i, err := range checks {
				if errors.Is(err, gemm.ErrOverlap) != want || (err == nil) == want {
					t.Fatalf("check %d: %v, want an overlap: %v\n%+v\n%+v", i, err, want, c, x)
				}
			}
		}
	}
	if found[true] < 1000 || found[false] < 1000 {
		t.Errorf("the cases are one-sided: %v", found)
	}
}

// TestOverlapRefused has operands that overlap, as every Multiplier, Gemmer and BatchGemmer checks them.
func TestOverlapRefused(t *testing.T) {
	all := gemm.NewMatrix[float64](16, 16)
	a, b, c := all.Slice(0, 0, 8, 8), all.Slice(0, 8, 8, 8), all.Slice(8, 0, 8, 8)
	if err := gemm.CheckShapes(c, a, b); err != nil {
		t.Errorf("blocks next to each other: %v", err)
	}
	for name, x := range map[string][3]gemm.Matrix[float64]{
		"C is A": {a, a, b}, "C is B": {b, a, b}, "all": {a, a, a},
		"a corner of A": {all.Slice(7, 7, 8, 8), a, c}, "a corner of B": {all.Slice(7, 7, 8, 8), c, a},
	} {
		const want = "gemm: operands overlap: C and "
		_, _, _, err := gemm.CheckGemm('N', 'T', x[1], x[2], x[0])
		for _, err := range []error{gemm.CheckShapes(x[0], x[1], x[2]), err} {
			if !errors.Is(err, gemm.ErrOverlap) || err.Error()[:len(want)] != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
