// Package pseudocode gives variants the pseudo-code that lies next to their Go source. It is one text
// file per variant, with the name of the algorithm: naive.txt for serial/naive.
package pseudocode

import (
	"io/fs"
	"path"

	"gemm"
)

// Add sets the Pseudocode of the variants from the files of their package, and returns the variants.
// A variant without a file keeps what it has.
func Add(files fs.FS, variants []gemm.Variant) []gemm.Variant {
	for i := range variants {
		v := &variants[i]
		if text, err := fs.ReadFile(files, path.Base(v.Name)+".txt"); err == nil {
			v.Pseudocode = string(text)
		}
	}
	return variants
}
