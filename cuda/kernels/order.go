package kernels

import (
	"gemm/cuda/kernels/f32"
	"gemm/cuda/kernels/f64"
	"gemm/cuda/kernels/gf256"
	"gemm/cuda/kernels/half"
	"gemm/cuda/kernels/production"
	"gemm/cuda/kernels/tf32"
	"gemm/cuda/ladder"
)

// Order has all rungs in the order of reports. The rungs of one type are its ladder, which ends with kernels for use.
var Order = []ladder.Rung{
	f32.Naive, f64.Naive, gf256.Naive,
	f64.PackedRowmajor, f64.PackedGlobal, f64.PackedSmem, f64.PackedConflictfree, f64.DMMAWMMA,
	f32.Coalesced, f64.Coalesced,
	f32.Smem, f64.Smem,
	f32.Blocktile1D,
	f32.Blocktile2D,
	f32.Vectorized,
	f32.Transposed, f64.Transposed,
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
	tf32.Smem, tf32.WMMA, tf32.Multistage, tf32.MMA, tf32.TMA,
	tf32.WGMMA, tf32.WGMMASpecialised, tf32.WGMMACluster, tf32.WGMMAPersistent,
	half.MMASmem, half.MMALdmatrix, half.MMA, half.MMATMA,
	half.WGMMA, half.WGMMASpecialised, half.WGMMACluster, half.WGMMAPersistent,
	f64.DMMASmem, f64.DMMAAsync, f64.DMMAMMA, f64.DMMA,
	gf256.SquareTiled, gf256.Macros, gf256.Tiled, gf256.Word, gf256.WordRows, gf256.Lookup,
	production.F32, production.F64, production.Half, production.GF256,
	production.TF32MMA, production.TF32, production.F16x3, production.OzakiMMA, production.OzakiWGMMA,
}

// folders returns where the kernels of an element type are, except the kernels for use.
func folders(typ string) []string {
	switch typ {
	case "f16", "bf16":
		return []string{"half"}
	case "f32":
		return []string{"f32", "tf32"}
	}
	return []string{typ}
}
