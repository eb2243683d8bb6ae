package parallel

import (
	"embed"

	"gemm"
)

// files are the pseudo-code of the variants.
//
//go:embed *.txt
var files embed.FS

// Variants returns the parallel variants in the order of the ladder.
func Variants() []gemm.Variant {
	return gemm.WithPseudocode(files, []gemm.Variant{
		rowsVariant(),
		innerVariant(),
		collapseInnerAtomicVariant(),
		collapseAtomicVariant(),
		collapseReduceVariant(),
		tilesVariant(),
		packedVariant(),
		strassenVariant(),
	})
}
