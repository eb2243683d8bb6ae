package cuda

import (
	"slices"

	"gemm"
)

// rungs are the steps of the ladders. The rungs of one element type are in their order.
var rungs = slices.Concat(ownSources, halfRungs("f16"), halfRungs("bf16"))

// ownSources are the rungs of types that have sources of their own.
var ownSources = []Rung{
	{Name: "naive", Type: "f32", File: "01_naive.cu", Least: 70, Tiles: []Tile{{BM: 32, BN: 32}}, threads: elements,
		reads: unshared, fetches: gemm.Uncoalesced},
	{Name: "coalesced", Type: "f32", File: "02_coalesced.cu", Least: 70, Tiles: []Tile{{BM: 32, BN: 32}},
		threads: elements, reads: unshared},
	{Name: "smem", Type: "f32", File: "03_smem.cu", Least: 70, Tiles: []Tile{{BM: 32, BN: 32, BK: 32}}, threads: elements,
		reads: sliced},
	{Name: "blocktile1d", Type: "f32", File: "04_blocktile1d.cu", Least: 70, Tiles: []Tile{{BM: 64, BN: 64, BK: 8, TM: 8}},
		threads: threadTiles, reads: column},
	{Name: "blocktile2d", Type: "f32", File: "05_blocktile2d.cu", Least: 70, Capped: true, Tiles: squares(),
		threads: threadTiles, reads: thread},
	{Name: "vectorized", Type: "f32", File: "06_vectorized.cu", Least: 70, Capped: true, Tiles: squares(), Copies: true,
		threads: threadTiles, reads: thread},
	{Name: "transposed", Type: "f32", File: "07_transposed.cu", Least: 70, Capped: true, Tiles: squares(), Copies: true,
		threads: threadTiles, reads: thread},
	{Name: "conflictfree", Type: "f32", File: "08_conflictfree.cu", Least: 70, Capped: true, Tiles: squares(),
		Copies: true, threads: threadTiles, reads: thread},
	{Name: "doublebuffer", Type: "f32", File: "09_doublebuffer.cu", Least: 70, Capped: true, Tiles: squares(),
		Copies: true, threads: threadTiles, reads: thread},
	{Name: "async", Type: "f32", File: "10_async.cu", Least: 80, Single: true, Capped: true, Tiles: squares(),
		Copies: true, threads: threadTiles, reads: thread},
	{Name: "multistage", Type: "f32", File: "11_multistage.cu", Least: 80, Single: true, Capped: true,
		Tiles: staged(squares(), 3), Copies: true, threads: threadTiles, shared: transposedSlices, reads: thread},
	{Name: "blockorder", Type: "f32", File: "12_blockorder.cu", Least: 80, Single: true, Capped: true,
		Tiles: staged(largeSquare(), 3), Copies: true, threads: threadTiles, shared: transposedSlices, reads: thread},
	{Name: "prefetch", Type: "f32", File: "13_prefetch.cu", Least: 80, Single: true, Capped: true,
		Tiles: staged(largeSquare(), 3), Copies: true, threads: threadTiles, shared: transposedSlices, reads: thread},
	{Name: "serpentine", Type: "f32", File: "14_serpentine.cu", Least: 80, Single: true, Capped: true,
		Tiles: staged(largeSquare(), 3), Copies: true, threads: threadTiles, shared: transposedSlices, reads: thread},
	{Name: "interleave", Type: "f32", File: "15_interleave.cu", Least: 80, Single: true, Capped: true,
		Tiles: staged(largeSquare(), 3), Copies: true, threads: threadTiles, shared: transposedSlices, reads: thread},
	{Name: "rowstores", Type: "f32", File: "16_rowstores.cu", Least: 80, Single: true, Capped: true,
		Tiles: staged(largeSquare(), 3), Copies: true, threads: threadTiles, shared: transposedSlices, reads: thread},
	{Name: "warptile", Type: "f32", File: "17_warptile.cu", Least: 80, narrow: 0.85, Single: true, Pads: true,
		Splits: true, Batches: true, Capped: true, Tiles: []Tile{
			{BM: 128, BN: 256, BK: 16, WM: 64, WN: 64, TM: 8, TN: 16, Stages: 3},
			{BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, TM: 8, TN: 8, Stages: 3},
			{BM: 128, BN: 128, BK: 16, WM: 64, WN: 64, TM: 8, TN: 16, Stages: 3},
			{BM: 64, BN: 128, BK: 16, WM: 32, WN: 64, TM: 8, TN: 8, Stages: 3},
			{BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, TM: 4, TN: 8, Stages: 3},
		}, Small: []Tile{{BM: 32, BN: 32, BK: 16, WM: 32, WN: 32, TM: 4, TN: 8, Stages: 3}}, speeds: map[string]Speed{
			"128x256x16/64x64/8x16": {Share: 0.815, Blocks: 1, Alone: 0.815, Ends: 9e-6},
			"128x128x16/64x32/8x8":  {Share: 0.785, Blocks: 2, Alone: 0.75, Ends: 1e-6},
			"128x128x16/64x64/8x16": {Share: 0.8, Blocks: 2, Alone: 0.72, Ends: 5e-6},
			"64x128x16/32x64/8x8":   {Share: 0.79, Blocks: 4, Alone: 0.71, Ends: 4e-6},
			"64x64x16/32x32/4x8":    {Share: 0.65, Blocks: 4, Alone: 0.58, Ends: 3e-6},
			"32x32x16/32x32/4x8":    {Share: 0.45, Blocks: 16, Alone: 0.2, Ends: 1.3e-6},
		}, Copies: true, threads: warpTiles, shared: transposedSlices, reads: thread},
	{Name: "tf32-wmma", Type: "f32", File: "18_tf32-wmma.cu", Least: 80, Capped: true, Tiles: []Tile{
		{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 3}, {BM: 128, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 2},
	}, Copies: true, threads: warpTiles, shared: unevenSlices, reads: warp},
	{Name: "tf32-mma", Type: "f32", File: "19_tf32-mma.cu", Least: 80, narrow: 0.6, Pads: true, Splits: true,
		Capped: true, Tiles: []Tile{
			{BM: 256, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 3}, {BM: 128, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 3},
			{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 2}, {BM: 64, BN: 64, BK: 32, WM: 32, WN: 32, Stages: 3},
		}, speeds: map[string]Speed{
			"256x128x32/64x64": {Share: 0.345, Blocks: 1, Alone: 0.345, Ends: 1e-6},
			"128x128x32/64x64": {Share: 0.345, Blocks: 2, Alone: 0.32, Ends: 3e-6},
			"64x64x32/32x32":   {Share: 0.25, Blocks: 4, Alone: 0.215, Ends: 5e-7},
		}, Copies: true, threads: warpTiles, shared: unevenSlices, reads: warp},
	{Name: "tf32-wgmma", Type: "f32", File: "20_tf32-wgmma.cu", Least: 90, Exact: true,
		Tiles: []Tile{{BM: 128, BN: 128, BK: 32, Stages: 2}}, threads: warpgroups(columnsOf, 0),
		shared: ringSlices(4), reads: group, prepare: roundsA},
	{Name: "tf32-wgmma-ws", Type: "f32", File: "21_tf32-wgmma-ws.cu", Least: 90, Exact: true,
		Tiles: []Tile{{BM: 256, BN: 128, BK: 32, Stages: 4}}, threads: warpgroups(columnsOf, 1),
		shared: ringSlices(4), reads: group, prepare: roundsA},
	{Name: "tf32-wgmma-persistent", Type: "f32", File: "22_tf32-wgmma-persistent.cu", Least: 90, Exact: true,
		Tiles: []Tile{{BM: 256, BN: 128, BK: 32, Stages: 4}}, threads: warpgroups(columnsOf, 1),
		shared: ringSlices(4), reads: group, prepare: roundsA, Persistent: true, cluster: 2, Splits: true,
		speeds: map[string]Speed{"256x128x32": {Share: 0.75, Blocks: 1, Alone: 0.75}}},
	{Name: F16x3, Type: "f32", File: "23_f16x3.cu", Least: 90, Exact: true,
		Tiles: []Tile{{BM: 128, BN: 128, BK: 64, Stages: 3}}, threads: warpgroups(rowsOf, 1),
		shared: ringSlices(4), reads: group, prepare: splits, Persistent: true, Splits: true,
		speeds: map[string]Speed{"128x128x64": {Share: 0.21, Blocks: 1, Alone: 0.21}}}, // of three products

	{Name: "naive", Type: "f64", File: "01_naive.cu", Least: 70, Tiles: []Tile{{BM: 8, BN: 32}}, threads: elements,
		reads: unshared},
	{Name: "packed-global", Type: "f64", File: "02_packed-global.cu", Least: 70, Tiles: packedCubes(),
		threads: elements, reads: unshared},
	{Name: "packed-smem", Type: "f64", File: "03_packed-smem.cu", Least: 70, Tiles: packedCubes(), threads: elements,
		reads: sliced},
	{Name: "packed-conflictfree", Type: "f64", File: "04_packed-conflictfree.cu", Least: 70, Tiles: packedCubes(),
		threads: elements, reads: sliced},
	{Name: "smem", Type: "f64", File: "05_smem.cu", Least: 70, Tiles: []Tile{
		{BM: 64, BN: 64, BK: 8, TM: 4, TN: 4}, {BM: 64, BN: 64, BK: 16, TM: 4, TN: 4},
	}, threads: threadTiles, reads: thread},
	{Name: "conflictfree", Type: "f64", File: "06_conflictfree.cu", Least: 70, Tiles: []Tile{
		{BM: 64, BN: 64, BK: 8, TM: 4, TN: 4}, {BM: 64, BN: 64, BK: 16, TM: 4, TN: 4},
	}, Copies: true, threads: threadTiles, reads: thread},
	{Name: "dmma-wmma", Type: "f64", File: "07_dmma-wmma.cu", Least: 80, Tiles: []Tile{
		{BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, Stages: 3},
	}, Copies: true, threads: warpTiles, shared: paddedSlices, reads: warp},
	{Name: "dmma", Type: "f64", File: "08_dmma.cu", Least: 80, narrow: 0.96, Splits: true, Tiles: []Tile{
		{BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, Stages: 3}, {BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, Stages: 2},
		{BM: 128, BN: 64, BK: 16, WM: 64, WN: 32, Stages: 3}, {BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, Stages: 3},
	}, speeds: map[string]Speed{
		"128x128x16/64x32": {Share: 0.95, Blocks: 1, Alone: 0.95, Ends: 2e-6},
		"128x64x16/64x32":  {Share: 0.905, Blocks: 2, Alone: 0.77, Ends: 4e-6},
		"64x64x16/32x32":   {Share: 0.86, Blocks: 3, Alone: 0.66, Ends: 3e-6},
	}, Copies: true, threads: warpTiles, shared: paddedSlices, reads: warp},

	{Name: "naive", Type: "gf256", File: "01_naive.cu", Least: 70, Tiles: []Tile{{BM: 4, BN: 64}}, threads: elements,
		reads: unshared},
	{Name: "square-tiled", Type: "gf256", File: "02_square-tiled.cu", Least: 70, Tiles: []Tile{
		{BM: 16, BN: 16, BK: 16}, {BM: 32, BN: 32, BK: 32},
	}, threads: elements, reads: sliced},
	{Name: "tiled", Type: "gf256", File: "03_tiled.cu", Least: 70, AtLaunch: true, Tiles: []Tile{
		{BM: 16, BN: 64, BK: 32}, {BM: 8, BN: 128, BK: 32}, {BM: 4, BN: 256, BK: 32},
	}, threads: elements, shared: byteSlices, fit: fewRows, reads: sliced},
	{Name: "word", Type: "gf256", File: "04_word.cu", Least: 70, AtLaunch: true, Single: true, Tiles: []Tile{
		{BM: 16, BN: 1024, BK: 32, TM: 1, TN: 16}, {BM: 16, BN: 512, BK: 32, TM: 1, TN: 8},
		{BM: 16, BN: 256, BK: 32, TM: 1, TN: 4},
	}, Copies: true, threads: threadTiles, shared: wordSlices, fit: fewRows, reads: thread},
	{Name: "tuned", Type: "gf256", File: "05_tuned.cu", Least: 70, Single: true, Tiles: []Tile{
		{BM: 16, BN: 2048, BK: 48, TM: 16, TN: 16}, {BM: 8, BN: 2048, BK: 48, TM: 8, TN: 16},
	}, Copies: true, threads: threadTiles, fit: fewTables, reads: lookUps},
}

// staged returns the settings with the given number of stages.
func staged(tiles []Tile, stages int) []Tile {
	for i := range tiles {
		tiles[i].Stages = stages
	}
	return tiles
}

// transposedSlices is the bytes of STAGES·BK·(BM + 4 + BN) elements.
func transposedSlices(t Tile) int { return 4 * t.Stages * t.BK * (t.BM + 4 + t.BN) }

// unevenSlices is the bytes of STAGES·(BM·(BK + 4) + BK·(BN + 8)) elements.
func unevenSlices(t Tile) int { return 4 * t.Stages * (t.BM*(t.BK+4) + t.BK*(t.BN+8)) }

// paddedSlices is the bytes of STAGES·(BM·(BK + 4) + BK·(BN + 4)) elements.
func paddedSlices(t Tile) int { return 8 * t.Stages * (t.BM*(t.BK+4) + t.BK*(t.BN+4)) }

// byteSlices is the bytes of slices of both operands, one behind the other.
func byteSlices(t Tile) int { return t.BM*t.BK + t.BK*t.BN }

// wordSlices is byteSlices where the second begins at a multiple of 16 bytes.
func wordSlices(t Tile) int { return ceil(t.BM*t.BK, 16)*16 + t.BK*t.BN }

// fewRows returns the tile with at most as many rows and k indices as the shape. If the shape needs
// several tiles or slices, they have about equal sizes.
func fewRows(t Tile, s gemm.Shape) Tile {
	share := func(n, most int) int { return max(1, ceil(n, max(1, ceil(n, most)))) }
	t.BM, t.BK = share(s.M, t.BM), share(s.K, t.BK)
	return t
}

// fewTables is fewRows where a thread has all rows of its block, and slices a multiple of
// three k indices.
func fewTables(t Tile, s gemm.Shape) Tile {
	t = fewRows(t, s)
	t.TM = t.BM
	t.BK = 3 * ceil(t.BK, 3)
	return t
}

// squares returns the settings of the table of the 2024 report: thread blocks of 16×16 and 8×8,
// slices of 8 and 16, 8×8 elements per thread.
func squares() []Tile {
	var out []Tile
	for _, block := range []int{16, 8} {
		for _, slice := range []int{8, 16} {
			out = append(out, Tile{BM: 8 * block, BN: 8 * block, BK: slice, TM: 8, TN: 8})
		}
	}
	return out
}

// largeSquare is the first of them, of 16×16 threads.
func largeSquare() []Tile { return squares()[:1] }

// packedCubes are the blocks that operands are packed in.
func packedCubes() []Tile {
	return []Tile{{BM: 8, BN: 8, BK: 8}, {BM: 16, BN: 16, BK: 16}, {BM: 32, BN: 32, BK: 32}}
}

// The threads of a block: one for each element of its tile, one for each thread tile, or 32 for
// each warp tile.
func elements(t Tile) int    { return t.BM * t.BN }
func threadTiles(t Tile) int { return t.BM / t.TM * t.BN / max(t.TN, 1) }
func warpTiles(t Tile) int   { return 32 * (t.BM / t.WM) * (t.BN / t.WN) }
