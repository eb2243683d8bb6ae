package block

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/kernel"
)

// narrow are caches that every dimension is cut for: KC is four or eight, and a panel of A
// one sliver.
var narrow = Caches{L1: 1, L2: 1, L3: 1}

// TestField compares products with the definition. The shapes are of tiles and blocks, one
// more and one less; the operands' rows are longer than their columns.
func TestField(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, loop := range loops() {
		for _, caches := range []Caches{narrow, DefaultCaches} {
			e := NewField(kernel.BestField(), caches, loop)
			mr, nr := e.kernel.MR, e.kernel.NR
			for _, shape := range [][3]int{
				{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {1, 1, 1}, {mr, nr, 9}, {mr + 1, nr - 1, 8}, {2*mr + 1, nr + 1, 17},
				{4, 2*2048 + 3*nr + 5, 10}, {2 * mr, 2049, 25}, {3*mr - 1, 5, 31}, {2, 4096 + 77, 9}, {mr + 2, 9000, 16},
				{3 * mr, 2*4096 - 3, 25}, {3*mr + 1, 77, 200}, // copied: rows of whole pages, and many
			} {
				t.Run(fmt.Sprintf("%s/%v/%v", name, caches, shape), func(t *testing.T) {
					testField(t, e, rng, shape[0], shape[1], shape[2], 2)
					testField(t, e, rng, shape[0], shape[1], shape[2], up(shape[1], 64)+64-shape[1])
				})
			}
		}
	}
}

// testField computes products with a stride of C that is longer columns more than n. If longer is
// a multiple of a cache line, C begins at a line, so that non-temporal stores are possible.
func testField(t *testing.T, e *Field, rng *rand.Rand, m, n, k, longer int) {
	lda, ldb, ldc := k+1, n+3, n+longer
	a, b, c := drawn(rng, m*lda), drawn(rng, k*ldb), drawn(rng, m*ldc+63)
	for ldc%64 == 0 && !kernel.Streams([][]byte{gf256.Bytes(c)}, 0) {
		c = c[1:]
	}
	c = c[:m*ldc]
	want := append([]gf256.Elem(nil), c...)
	for product := range 3 { // the second finds the first's plan and its A, the third another A
		if product == 2 && m*k > 0 {
			last := &a[(m-1)*lda+k-1]
			*last = gf256.New(last.Byte() ^ 1)
		}
		for i := range m {
			if product == 1 {
				break // of the same operands
			}
			row := want[i*ldc:][:n]
			clear(row)
			for l := range k {
				gf256.AddScaled(row, a[i*lda+l], b[l*ldb:][:n])
			}
		}
		gemmtest.Must(t, e.Multiply(t.Context(), m, n, k, a, lda, b, ldb, c, ldc))
		for at, got := range c {
			if got != want[at] {
				t.Fatalf("product %d: element (%d, %d) is %v, want %v", product, at/ldc, at%ldc, got, want[at])
			}
		}
	}
}

// TestFieldPlan: blocks are within the dimensions, a block of B is copied only where C has
// many rows, and there are tasks for all workers.
func TestFieldPlan(t *testing.T) {
	e := NewField(kernel.BestField(), DefaultCaches, goroutines)
	for _, m := range []int{1, 4, 24, 100, 5000} {
		for _, n := range []int{1, 100, 65536, 1 << 20} {
			for _, k := range []int{1, 10, 128, 3000} {
				p := e.choose(fieldShape{m, n, k, n%4096 == 0})
				if p.MC < 1 || p.MC > m || p.KP < 1 || p.KP > k || p.KC < 1 || p.KC > p.KP || p.NC < e.kernel.NR ||
					p.NC%e.kernel.NR != 0 {
					t.Errorf("%d×%d×%d: %+v", m, n, k, p)
				}
				if p.PackB && m <= 4 {
					t.Errorf("%d×%d×%d: copies B for %d rows of C: %+v", m, n, k, m, p)
				}
				if words := e.panel(p); 8*words > fieldPanel && p.MC > e.kernel.MR {
					t.Errorf("%d×%d×%d: packs A into %d bytes: %+v", m, n, k, 8*words, p)
				}
				if tasks := p.blocks(n); n >= 65536 && tasks < p.Workers {
					t.Errorf("%d×%d×%d: %d tasks for %d workers", m, n, k, tasks, p.Workers)
				}
			}
		}
	}
	if w := e.choose(fieldShape{4, 65536, 10, true}).Workers; w != 2 {
		t.Errorf("4×65536×10 has %d workers, want 2", w)
	}
}

// TestFieldPasses checks how many rows of B a pass reads, and whether they are copied. It has tiles
// of 24 and of 6 rows, and an L1 of 12 and of 8 ways. Rows of 1 MiB share cache sets; rows that
// are some bytes longer do not.
func TestFieldPasses(t *testing.T) {
	best := kernel.BestField()
	if best.Words(1) > 4 {
		t.Skip("the portable kernel's tables leave room in L1 for fewer rows")
	}
	for _, test := range []struct {
		mr, m, k, more int
		want           int // 0: as many as fit
		copied         bool
		ways           int
	}{
		{24, 4, 10, 0, 10, false, 12}, {24, 3, 17, 0, 9, false, 12}, {24, 16, 16, 0, 16, false, 12},
		{24, 20, 24, 0, 24, false, 12},
		{24, 20, 25, 0, 0, true, 12}, {24, 32, 128, 0, 0, true, 12}, {24, 12, 50, 0, 0, true, 12},
		{24, 8, 50, 0, 10, false, 12},
		{6, 16, 16, 0, 8, false, 12}, {6, 12, 50, 0, 10, false, 12}, {6, 20, 50, 0, 0, true, 12},
		{24, 3, 17, 8, 17, false, 12}, {24, 32, 128, 8, 22, false, 12}, {6, 20, 192, 8, 24, false, 12},
		{6, 20, 193, 8, 0, true, 12},
		{24, 4, 10, 0, 10, false, 8}, {24, 8, 12, 0, 12, false, 8}, {24, 4, 13, 0, 7, false, 8},
		{24, 3, 10, 0, 10, false, 8},
		{6, 4, 10, 0, 5, false, 8},
	} {
		k := best
		k.MR = test.mr
		p := NewField(k, Caches{L1: test.ways << 12, L2: 2 << 20, L3: 16 << 20}, Serial).choose(
			fieldShape{test.m, 1 << 20, test.k, test.more == 0})
		if p.PackB != test.copied || test.want > 0 && p.KC != test.want || p.PackB && p.NC > fieldCopy {
			t.Errorf("%d+%d, %d bytes apart, in slivers of %d: %+v, want %d rows of B in a pass, copied: %v", test.k, test.m,
				1<<20+test.more, test.mr, p, test.want, test.copied)
		}
	}
}

// TestFieldBlocks: blocks are all of the columns, once, and none but the first is wider than
// NC. Of two workers the first has more columns, but hardly.
func TestFieldBlocks(t *testing.T) {
	for workers := 1; workers <= 4; workers++ {
		e := NewField(kernel.BestField(), DefaultCaches, roundRobin(workers))
		for _, m := range []int{1, 4, 16, 100} {
			for _, n := range []int{1, 65536, 65537, 1<<20 + 5} {
				for _, k := range []int{1, 10, 50} {
					p := e.choose(fieldShape{m, n, k, n%4096 == 0})
					at := 0
					for b := range p.blocks(n) {
						lo, hi := p.block(b, n)
						if lo != at || hi <= lo || hi-lo > p.NC && (b > 0 || hi-lo > p.NC+p.Lead) {
							t.Errorf("%d×%d×%d on %d: block %d is columns %d to %d, after %d: %+v", m, n, k, workers, b, lo, hi, at, p)
						}
						at = hi
					}
					if at != n {
						t.Errorf("%d×%d×%d on %d: blocks end at %d: %+v", m, n, k, workers, at, p)
					}
					if p.Workers != 2 && p.Lead > 0 || p.Lead%e.kernel.NR != 0 || p.Lead > n/50 {
						t.Errorf("%d×%d×%d on %d: the first block leads by %d: %+v", m, n, k, workers, p.Lead, p)
					}
				}
			}
		}
	}
}

// TestFieldStream: C is written past the caches where L3 has no room for the product, C has
// few rows and each is written once.
func TestFieldStream(t *testing.T) {
	best := kernel.BestField()
	if best.Words(1) > 4 {
		t.Skip("the portable kernel's tables leave room in L1 for fewer rows")
	}
	for _, test := range []struct {
		m, n, k, workers int
		want             bool
	}{
		{4, 1 << 20, 10, 1, false}, {4, 4 << 20, 10, 1, true}, {4, 2 << 20, 10, 2, false}, {4, 4 << 20, 10, 2, true},
		{2, 4 << 20, 4, 1, true}, {8, 4 << 20, 8, 1, true}, {16, 4 << 20, 16, 1, false}, {3, 4 << 20, 17, 1, false},
		{3, 1 << 14, 3000, 1, false},
	} {
		k := best
		k.MR = 24
		e := NewField(k, Caches{L1: 32 << 10, L2: 1 << 20, L3: 16 << 20}, roundRobin(test.workers))
		if p := e.choose(fieldShape{test.m, test.n, test.k, test.n%4096 == 0}); p.Stream != test.want {
			t.Errorf("%+v: %+v", test, p)
		}
	}
}

// TestFieldBack: one worker goes back through blocks where L2 has room for what is at their
// end, and several do not.
func TestFieldBack(t *testing.T) {
	for _, test := range []struct {
		m, n, k, l2, workers int
		want                 bool
	}{
		{2, 1 << 20, 4, 1 << 20, 1, true}, {16, 1 << 20, 16, 1 << 20, 1, false}, {20, 1 << 20, 50, 1 << 17, 1, false},
		{2, 1 << 20, 4, 1 << 20, 2, false},
	} {
		caches := Caches{L1: 32 << 10, L2: test.l2, L3: 16 << 20}
		e := NewField(kernel.BestField(), caches, roundRobin(test.workers))
		p := e.choose(fieldShape{test.m, test.n, test.k, test.n%4096 == 0})
		if p.Back != test.want || p.Back && p.blocks(test.n) < 2 {
			t.Errorf("%+v: %+v", test, p)
		}
	}
}

// TestFieldStride: copied rows follow each other by an odd number of lines.
func TestFieldStride(t *testing.T) {
	for n := 1; n < 1000; n++ {
		if s := stride(n); s < up(n, 64) || s > n+192 || s%128 != 64 {
			t.Fatalf("rows of %d columns are %d apart", n, s)
		}
	}
}

func drawn(rng *rand.Rand, n int) []gf256.Elem {
	x := make([]gf256.Elem, n)
	for i := range x {
		x[i] = gf256.New(uint8(rng.Uint32()))
	}
	return x
}
