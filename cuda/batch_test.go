package cuda

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gemm"
)

// TestBatchSequence checks the launches of a batch: one for all products, the steps between matrices, copies that every
// matrix permits, and launches before it if operands are stored transposed. What kernels cannot count is refused.
func TestBatchSequence(t *testing.T) {
	r, square := rung(t, "f32", "tuned"), Operand{LD: 64}
	for _, test := range []struct {
		name           string
		s              gemm.Shape
		op             Operation
		lda, ldb, ldc  int
		launches       int
		steps          [3]int
		widths         Widths
		blocksOfFirst  int // 0: not checked
		minTilesOfMain int
	}{
		{"plain", gemm.Shape{M: 64, N: 32, K: 16}, Operation{Alpha: 1}, 16, 32, 32, 1,
			[3]int{64 * 16, 16 * 32, 64 * 32}, Widths{A: 1, B: 4, C: 4}, 0, 1},
		{"B begins anywhere", gemm.Shape{M: 5, N: 12, K: 7}, Operation{Alpha: 1}, 7, 15, 12, 1, [3]int{35, 105, 60},
			Widths{A: 1, B: 1, C: 4}, 0, 1},
		{"both transposed", gemm.Shape{M: 130, N: 66, K: 10}, Operation{TransA: true, TransB: true, Alpha: 1}, 130, 10,
			66, 3, [3]int{10, 66, 130 * 66}, Widths{A: 1, B: 2, C: 2}, (1000*10 + 31) / 32 * 5, 2},
	} {
		const count = 1000
		test.op.Batch = count
		a, b, c := Operand{LD: test.lda}, Operand{LD: test.ldb}, Operand{LD: test.ldc}
		q, err := r.Sequence(h200, test.s, test.op, a, b, c, nil)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		main := q.Launches[len(q.Launches)-1]
		tiles := ceil(test.s.M, q.Tile.BM) * ceil(test.s.N, q.Tile.BN)
		if len(q.Launches) != test.launches || main.Blocks != count*tiles || tiles < test.minTilesOfMain ||
			q.Tail != (Tail{}) || !slices.Contains(main.Program.Options, "-DBATCH") {
			t.Errorf("%s: %d launches, %d blocks of %d tiles each, %v", test.name, len(q.Launches), main.Blocks, tiles,
				main.Program.Options)
		}
		if q.Widths != test.widths {
			t.Errorf("%s: copies of %v, want %v", test.name, q.Widths, test.widths)
		}
		if test.blocksOfFirst > 0 && q.Launches[0].Blocks != test.blocksOfFirst {
			t.Errorf("%s: %d blocks transpose A, want %d", test.name, q.Launches[0].Blocks, test.blocksOfFirst)
		}
		for i, want := range test.steps {
			if got := main.Arguments[len(main.Arguments)-3+i].Bits; got != uint64(want) {
				t.Errorf("%s: step %d is %d, want %d", test.name, i, got, want)
			}
		}
	}
	many, two := Operation{Alpha: 1, Batch: math.MaxInt32}, Operation{Alpha: 1, Batch: 2}
	for name, refused := range map[string]struct {
		r  Rung
		op Operation
		p  gemm.Params
	}{
		"too many products":      {r, many, nil},
		"a rung without batches": {rung(t, "f32", "naive"), two, nil},
		"split":                  {r, two, gemm.Params{"split": 3}},
	} {
		_, err := refused.r.Sequence(h200, gemm.Cube(64), refused.op, square, square, square, refused.p)
		if !errors.Is(err, gemm.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	one, err := r.Sequence(h200, gemm.Cube(64), Operation{Alpha: 1}, square, square, square, nil)
	if err != nil || slices.Contains(one.Launches[0].Program.Options, "-DBATCH") {
		t.Errorf("a product without a batch: %v, %v", err, one.Launches)
	}
}

// TestBatchTiles checks which tiles batches have: small ones for small products, which no single product has.
func TestBatchTiles(t *testing.T) {
	r := rung(t, "f32", "tuned")
	for _, test := range []struct {
		n, batch int
		want     string
	}{
		{16, 1000, "32x32x16/32x32/4x8"}, {32, 1000, "32x32x16/32x32/4x8"}, {32, 10000, "32x32x16/32x32/4x8"},
		{96, 1000, "32x32x16/32x32/4x8"}, {33, 1000, "64x64x16/32x32/4x8"}, {48, 1000, "64x64x16/32x32/4x8"},
		{48, 10000, "64x64x16/32x32/4x8"}, {64, 1000, "64x64x16/32x32/4x8"}, {64, 10000, "64x64x16/32x32/4x8"},
		{128, 1000, "128x128x16/64x32/8x8"}, {32, 0, "64x64x16/32x32/4x8"},
	} {
		op := Operand{LD: test.n}
		q, err := r.Sequence(h200, gemm.Cube(test.n), Operation{Alpha: 1, Batch: test.batch}, op, op, op, nil)
		if err != nil || q.Tile.Name() != test.want {
			t.Errorf("%d of %d³: tile %s, %v, want %s", test.batch, test.n, q.Tile.Name(), err, test.want)
		}
	}
}
