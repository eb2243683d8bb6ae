package ladder

import (
	"math"

	"gemm"
	"gemm/roundoff"
)

// OnePerElement is the threads of a block with one for each element of its tile.
func OnePerElement(t Tile) int { return t.BM * t.BN }

// OnePerTile is the threads of a block with one for each thread tile.
func OnePerTile(t Tile) int { return t.BM / t.TM * t.BN / max(t.TN, 1) }

// WarpPerTile is the threads of a block with 32 for each warp tile.
func WarpPerTile(t Tile) int { return Lanes * (t.BM / t.WM) * (t.BN / t.WN) }

// RowGroups and ColumnGroups return the threads of a block with a warpgroup for each 64 rows or columns, and the given
// number of warpgroups besides.
func RowGroups(besides int) func(t Tile) int {
	return func(t Tile) int { return 128 * (besides + t.BM/64) }
}

// ColumnGroups is RowGroups with columns.
func ColumnGroups(besides int) func(t Tile) int {
	return func(t Tile) int { return 128 * (besides + t.BN/64) }
}

// Slices returns the bytes of STAGES slices of A with rows of BK + padA elements of size bytes, and of B with rows of
// BN + padB.
func Slices(size, padA, padB int) func(t Tile) int {
	return func(t Tile) int { return size * t.Stages * (t.BM*(t.BK+padA) + t.BK*(t.BN+padB)) }
}

// Ring returns the bytes of a ring of slices with the given bytes for each row and column of a k index. They begin at a
// multiple of 1024 bytes, and barriers follow.
func Ring(bytes, barriers int) func(t Tile) int {
	return func(t Tile) int { return Slices(bytes, 0, 0)(t) + 1024 + barriers }
}

// The elements that a multiply-add reads from global and from shared memory. There are four cases. In Unshared, each
// thread reads everything itself.
func Unshared(Tile) (global, block float64) { return 2, 0 }

// Sliced: a block reads its rows of A and columns of B once, and each thread what it needs of them.
func Sliced(t Tile) (global, block float64) { return PerTile(t.BM, t.BN), 2 }

// Thread: a thread keeps what it has read for its tile.
func Thread(t Tile) (global, block float64) { return PerTile(t.BM, t.BN), PerTile(t.TM, max(t.TN, 1)) }

// Warp: a tensor core reads for a warp.
func Warp(t Tile) (global, block float64) { return PerTile(t.BM, t.BN), PerTile(t.WM, t.WN) }

// ByColumns is where each warpgroup reads its 64 columns of B, and the whole slice of A.
func ByColumns(t Tile) (global, block float64) { return PerTile(t.BM, t.BN), PerTile(64, t.BM) }

// ByRows is where each warpgroup reads its 64 rows of A, and the whole slice of B.
func ByRows(t Tile) (global, block float64) { return PerTile(t.BM, t.BN), PerTile(64, t.BN) }

// PerTile is 1/rows + 1/cols.
func PerTile(rows, cols int) float64 { return 1/float64(rows) + 1/float64(cols) }

// Across returns the elements of a thread whose warp goes along a row of C.
func Across(t Tile, thread int) (a, b int) { return thread / t.BN * Apart, thread % t.BN }

// Apart is the elements between two rows of a matrix whose rows are long.
const Apart = 1 << 16

// perThread returns the registers of thread tiles whose elements have the given words.
func perThread(words int) func(t Tile) int {
	return func(t Tile) int { return words * (t.TM*max(t.TN, 1) + t.TM + max(t.TN, 1)) }
}

// WarpFragments returns the registers of warp tiles, in words: sums, and fragments of the given words for each row and
// column, divided by 32.
func WarpFragments(words, each int) func(t Tile) int {
	return func(t Tile) int { return words * (t.WM*t.WN + each*(t.WM+t.WN)) / Lanes }
}

func ceil(n, by int) int { return (n + by - 1) / by }

// Componentwise returns the bound of a componentwise error that does not cancel: what is cut off has one sign.
func Componentwise(worst func(k, u float64) float64) gemm.Bound {
	of := func(s gemm.Shape, _ gemm.Params, u float64) float64 { return worst(float64(s.K), u) }
	return gemm.Bound{Kind: gemm.Componentwise, Worst: of, Random: of, Largest: gemm.Classical.Largest}
}

// TF32 is the arithmetic of products whose operands are rounded to TF32: 11 significant bits, to
// nearest. So each product has an error of at most (1 + 2⁻¹¹)² − 1. The tensor cores add in single
// precision and truncate (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor
// cores, PeerJ Computer Science 7:e330, 2021): an addition has an error of at most 2u.
var TF32 = Arithmetic{"tf32", "tf32", Componentwise(func(k, u float64) float64 {
	const rounded = (1 + 0x1p-11) * (1 + 0x1p-11)
	return rounded*(1+roundoff.Gamma(k, 2*math.Max(u, gemm.TypeOf[float32]().UnitRoundoff))) - 1
})}
