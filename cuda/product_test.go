package cuda

import (
	"math"
	"regexp"
	"testing"

	"gemm"
	"gemm/cuda/ladder"
)

// TestProduct compares with sums done on paper.
func TestProduct(t *testing.T) {
	const n = 1024
	for _, test := range []struct {
		typ, name string
		tile      Tile
		m, n, k   int
		want      Product
	}{
		{"f32", "naive", Tile{BM: 32, BN: 32}, n, n, n, Product{Blocks: n, GlobalReads: 2 * n * n * n, GlobalWrites: n * n}},
		// Equations 12 and 15 with sm = sk = 128, sn = 8, tx = ty = 8.
		{"f32", "conflictfree", Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8}, n, n, n, Product{
			Blocks: 64, GlobalReads: n * n * n / 64, GlobalWrites: n * n, SharedReads: n * n * n / 4,
			SharedWrites: n * n * n / 64, Barriers: 256}},
		{"f32", "doublebuffer", Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8}, n, n, n, Product{
			Blocks: 64, GlobalReads: n * n * n / 64, GlobalWrites: n * n, SharedReads: n * n * n / 4,
			SharedWrites: n * n * n / 64, Barriers: 128, Saved: 127}},
		{"f32", "smem", Tile{BM: 32, BN: 32, BK: 32}, 64, 64, 64, Product{
			Blocks: 4, GlobalReads: 64 * 64 * 64 / 16, GlobalWrites: 64 * 64, SharedReads: 2 * 64 * 64 * 64,
			SharedWrites: 64 * 64 * 64 / 16, Barriers: 4}},
		// Edges: 2 by 1 tiles, 2 slices. A is read once, B twice; a warp of 64×32 reads
		// 96 elements for each k.
		{"f64", "tuned", Tile{BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, Stages: 3}, 129, 100, 17, Product{
			Blocks: 2, GlobalReads: 129*17 + 2*17*100, GlobalWrites: 129 * 100, SharedReads: 2 * 8 * 96 * 32,
			SharedWrites: 2 * 256 * 32, Barriers: 3, Saved: 1}},
		// 9 indices of k are two blocks of 8: A becomes 16×16, B 16×8.
		{"f64", "packed-global", Tile{BM: 8, BN: 8, BK: 8}, 10, 7, 9, Product{
			Blocks: 2, GlobalReads: 2*10*7*16 + 10*9 + 9*7, GlobalWrites: 70 + 16*16 + 16*8}},
		// The same blocks, each read once by a block of threads.
		{"f64", "packed-smem", Tile{BM: 8, BN: 8, BK: 8}, 10, 7, 9, Product{
			Blocks: 2, GlobalReads: 10*16 + 2*16*7 + 10*9 + 9*7, GlobalWrites: 70 + 16*16 + 16*8,
			SharedReads:  2 * 2 * 16 * 64,
			SharedWrites: 2 * 16 * 16, Barriers: 4}},
		// Both warps read both blocks: 256 elements a block and slice.
		{"f64", "dmma-wmma", Tile{BM: 8, BN: 8, BK: 8}, 10, 7, 9, Product{
			Blocks: 2, GlobalReads: 10*16 + 2*16*7 + 10*9 + 9*7, GlobalWrites: 70 + 16*16 + 16*8,
			SharedReads:  2 * 2 * 256,
			SharedWrites: 2 * 16 * 16, Barriers: 5}},
		// 4 rows of 10 indices and 3 tiles of columns: B is read once, A by each tile.
		{"gf256", "tiled", Tile{BM: 16, BN: 64, BK: 32}, 4, 130, 10, Product{
			Blocks: 3, GlobalReads: 3*4*10 + 10*130, GlobalWrites: 4 * 130, SharedReads: 3 * 10 * 2 * 4 * 64,
			SharedWrites: 3 * 10 * (4 + 64), Barriers: 2}},
		{"f32", "doublebuffer", Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8}, 1, 1, 0, Product{Blocks: 1, GlobalWrites: 1}},
	} {
		got := rung(t, test.typ, test.name).Product(test.tile, gemm.Shape{M: test.m, N: test.n, K: test.k})
		want := test.want
		want.M, want.N, want.K, want.Flops = test.m, test.n, test.k, 2*float64(test.m)*float64(test.n)*float64(test.k)
		bytes := map[string]float64{"f32": 4, "f64": 8, "gf256": 1}[test.typ]
		want.Intensity = want.Flops / (want.GlobalReads + want.GlobalWrites) / bytes
		if !(math.Abs(got.Intensity-want.Intensity) <= 1e-9*want.Intensity) {
			t.Errorf("%s/%s %v: %v flop a byte, want %v", test.typ, test.name, test.tile, got.Intensity, want.Intensity)
		}
		got.Intensity = want.Intensity
		if got != want {
			t.Errorf("%s/%s %v:\n%+v, want\n%+v", test.typ, test.name, test.tile, got, want)
		}
	}
}

// TestBarriers checks that exactly the rungs whose kernels have a barrier are said to have one.
func TestBarriers(t *testing.T) {
	comment := regexp.MustCompile(`//.*`)
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			source := comment.ReplaceAllString(r.source(), "")
			n := len(regexp.MustCompile(`__syncthreads\(\)| (meet|cluster_barrier)\(\);`).FindAllString(source, -1))
			if (r.Barriers != ladder.Barriers{}) != (n > 0) {
				t.Errorf("%s/%s has %d barriers in its source, here %+v", typ, r.Name, n, r.Barriers)
			}
		}
	}
}

// TestPlanWaves counts tiles of the busiest place: also where the last ones are cut, or a persistent block has several.
func TestPlanWaves(t *testing.T) {
	tile := Tile{BM: 128, BN: 128, BK: 32}
	for _, test := range []struct {
		n                       int
		tail                    Tail
		multiprocessors, places int
		waves, fill             float64
	}{
		{4096, Tail{}, 132, 1, 8, 1024. / 1056}, {4096, Tail{}, 132, 2, 4, 1024. / 1056},
		{4097, Tail{}, 132, 1, 9, 1089. / 1188}, {128, Tail{}, 132, 1, 1, 1. / 132},
		{4096, Tail{}, 0, 1, 0, 0}, {4096, Tail{}, 132, 0, 0, 0}, {0, Tail{}, 132, 1, 0, 0},
		{4096, Tail{Whole: 924, Tiles: 100, Span: 128, Each: 97, Blocks: 132}, 132, 1, 7 + 97./128,
			1024 / (132 * (7 + 97./128))},
		{1024, Tail{Tiles: 64, Span: 32, Each: 16, Blocks: 128}, 132, 1, 0.5, 64. / 66},
	} {
		p := Plan{Tile: tile, Split: 1, Tail: test.tail, Shape: gemm.Cube(test.n), Resident: test.multiprocessors}
		waves, fill := p.Waves(test.multiprocessors, test.places)
		if waves != test.waves || !(math.Abs(fill-test.fill) <= 1e-12) {
			t.Errorf("%+v: %v waves, filled to %v", test, waves, fill)
		}
	}
}
