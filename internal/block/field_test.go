package block

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"gemm/gf256"
	"gemm/internal/kernel"
)

// narrow are caches that every dimension is cut for: KC is four or eight, and a panel of A
// one sliver.
var narrow = Caches{L1: 1, L2: 1, L3: 1}

// TestField compares products with the definition: shapes round those of tiles and
// blocks, with rows of operands that are longer than the columns.
func TestField(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, loop := range map[string]Loop{"serial": Serial, "goroutines": goroutines} {
		for _, caches := range []Caches{narrow, DefaultCaches} {
			e := NewField(kernel.BestField(), caches, loop)
			mr, nr := e.kernel.MR, e.kernel.NR
			for _, shape := range [][3]int{
				{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {1, 1, 1}, {mr, nr, 9}, {mr + 1, nr - 1, 8}, {2*mr + 1, nr + 1, 17},
				{4, 2*2048 + 3*nr + 5, 10}, {2 * mr, 2049, 25}, {3*mr - 1, 5, 31}, {2, 4096 + 77, 9}, {mr + 2, 9000, 16},
			} {
				t.Run(fmt.Sprintf("%s/%v/%v", name, caches, shape), func(t *testing.T) {
					testField(t, e, rng, shape[0], shape[1], shape[2])
				})
			}
		}
	}
}

func testField(t *testing.T, e *Field, rng *rand.Rand, m, n, k int) {
	lda, ldb, ldc := k+1, n+3, n+2
	random := func(n int) []gf256.Elem {
		x := make([]gf256.Elem, n)
		for i := range x {
			x[i] = gf256.New(uint8(rng.Uint32()))
		}
		return x
	}
	a, b, c := random(m*lda), random(k*ldb), random(m*ldc)
	want := append([]gf256.Elem(nil), c...)
	for i := range m {
		row := want[i*ldc:][:n]
		clear(row)
		for l := range k {
			gf256.AddScaled(row, a[i*lda+l], b[l*ldb:][:n])
		}
	}
	if err := e.Multiply(t.Context(), m, n, k, a, lda, b, ldb, c, ldc); err != nil {
		t.Fatal(err)
	}
	for at, got := range c {
		if got != want[at] {
			t.Fatalf("element (%d, %d) is %v, want %v", at/ldc, at%ldc, got, want[at])
		}
	}
}

// TestFieldPlan: blocks are within the dimensions, a block of B is copied only where
// several slivers of A meet it, and there are tasks for all workers.
func TestFieldPlan(t *testing.T) {
	e := NewField(kernel.BestField(), DefaultCaches, goroutines)
	for _, m := range []int{1, 4, 24, 100, 5000} {
		for _, n := range []int{1, 100, 65536, 1 << 20} {
			for _, k := range []int{1, 10, 128, 3000} {
				p := e.plan(m, n, k)
				if p.MC < 1 || p.MC > m || p.KP < 1 || p.KP > k || p.KC < 1 || p.KC > p.KP || p.NC < e.kernel.NR || p.NC%e.kernel.NR != 0 {
					t.Errorf("%d×%d×%d: %+v", m, n, k, p)
				}
				if p.PackB && m <= e.kernel.MR {
					t.Errorf("%d×%d×%d: copies B for one sliver of A: %+v", m, n, k, p)
				}
				if words := e.panel(p); 8*words > fieldPanel && p.MC > e.kernel.MR {
					t.Errorf("%d×%d×%d: packs A into %d bytes: %+v", m, n, k, 8*words, p)
				}
				if tasks := (n + p.NC - 1) / p.NC; n >= 65536 && tasks < 2*p.Workers {
					t.Errorf("%d×%d×%d: %d tasks for %d workers", m, n, k, tasks, p.Workers)
				}
			}
		}
	}
	if w := e.plan(4, 65536, 10).Workers; w != 2 {
		t.Errorf("4×65536×10 has %d workers, want 2", w)
	}
}

// TestFieldCancelled: a product that is cancelled midway says so, and soon.
func TestFieldCancelled(t *testing.T) {
	e := NewField(kernel.BestField(), narrow, Serial)
	const m, n, k = 5, 4000, 30
	a, b, c := make([]gf256.Elem, m*k), make([]gf256.Elem, k*n), make([]gf256.Elem, m*n)
	for left := range 5 {
		ctx := &countdown{t.Context(), left}
		if err := e.Multiply(ctx, m, n, k, a, k, b, n, c, n); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d looks: got %v", left, err)
		}
		if most := 1 + (n+2047)/2048*m; -ctx.left > most+2 {
			t.Errorf("cancelled after %d looks: looked %d times more, want %d at most", left, -ctx.left, most)
		}
	}
}

// TestFieldAllocations: an engine allocates nothing once it has its buffers.
func TestFieldAllocations(t *testing.T) {
	e := NewField(kernel.BestField(), DefaultCaches, Serial)
	const m, n, k = 33, 1000, 20
	a, b, c := make([]gf256.Elem, m*k), make([]gf256.Elem, k*n), make([]gf256.Elem, m*n)
	ctx := t.Context()
	var err error
	if allocs := testing.AllocsPerRun(5, func() {
		err = errors.Join(err, e.Multiply(ctx, m, n, k, a, k, b, n, c, n))
	}); allocs != 0 || err != nil {
		t.Errorf("%v allocations a product, error %v", allocs, err)
	}
}
