package mpi

import "gemm"

// Variants returns the variants on ranks: those whose operands begin and end on rank 0,
// from messages to collective calls, and then those whose operands live distributed.
func Variants() []gemm.Variant {
	return []gemm.Variant{
		p2pRowsVariant(),
		p2pRowsOverlapVariant(),
		scatterRowsVariant(),
		scatterBlocksVariant(),
		gridBlocksVariant(),
		bcastRowsVariant(),
		summaVariant(),
		srummaVariant(),
		cannonVariant(),
		layersVariant(),
	}
}
