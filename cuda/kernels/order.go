package kernels

import (
	"gemm/cuda/kernels/f32"
	"gemm/cuda/kernels/f64"
	"gemm/cuda/kernels/gf256"
	"gemm/cuda/kernels/half"
	"gemm/cuda/kernels/tf32"
	"gemm/cuda/ladder"
)

// Order has all rungs in the order of reports. Those of one type are its ladder.
var Order = []ladder.Rung{
	f32.Naive, f64.Naive, gf256.Naive,
	f64.PackedGlobal, f64.PackedSmem, f64.PackedConflictfree,
	f32.Coalesced,
	f32.Smem, f64.Smem,
	f32.Blocktile1D,
	f32.Blocktile2D,
	f32.Vectorized,
	f32.Transposed,
	f32.Conflictfree, f64.Conflictfree,
	f32.Doublebuffer,
	f32.Async,
	f32.Multistage,
	f32.Blockorder,
	f32.Prefetch,
	f32.Serpentine,
	f32.Interleave,
	f32.Rowstores,
	f32.Warptile,
	tf32.WMMA, tf32.MMA, tf32.WGMMA, tf32.WGMMASpecialised, tf32.WGMMAPersistent,
	f32.F16x3,
	half.MMA, half.WGMMA, half.WGMMASpecialised, half.WGMMAPersistent,
	f64.DMMAWMMA, f64.DMMA,
	gf256.SquareTiled, gf256.Tiled, gf256.Word, gf256.Tuned,
}

// folders returns where the kernels of an element type are.
func folders(typ string) []string {
	switch typ {
	case "f16", "bf16":
		return []string{"half"}
	case "f32":
		return []string{"f32", "tf32"}
	}
	return []string{typ}
}
