// Package f32 has the rungs of single precision that run on the CUDA cores.
package f32

import "gemm/cuda/ladder"

// squares returns the settings of the table of the 2024 report: thread blocks of 16×16 and 8×8,
// slices of 8 and 16, 8×8 elements per thread.
func squares(stages int) []ladder.Tile {
	var out []ladder.Tile
	for _, block := range []int{16, 8} {
		for _, slice := range []int{8, 16} {
			out = append(out, ladder.Tile{BM: 8 * block, BN: 8 * block, BK: slice, TM: 8, TN: 8, Stages: stages})
		}
	}
	return out
}

// transposedSlices is the bytes of STAGES·BK·(BM + 4 + BN) elements.
func transposedSlices(t ladder.Tile) int { return 4 * t.Stages * t.BK * (t.BM + 4 + t.BN) }

// twoFragments is the registers of thread tiles with two sets of fragments.
func twoFragments(t ladder.Tile) int { return t.TM*t.TN + 2*(t.TM+t.TN) }
