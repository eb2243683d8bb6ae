package parallel

import "gemm"

// Variants returns the parallel variants in the order of the ladder.
func Variants() []gemm.Variant {
	return []gemm.Variant{
		rowsVariant(),
		innerVariant(),
		collapseInnerAtomicVariant(),
		collapseAtomicVariant(),
		collapseReduceVariant(),
		tilesVariant(),
		packedVariant(),
		strassenVariant(),
	}
}
