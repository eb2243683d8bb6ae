// Package catalog is the one list of all variants, in the order of the report. It
// is the same in every build: what cannot run here is a row that says why.
package catalog

import (
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"

	"gemm"
	"gemm/cuda"
	"gemm/mpi"
	"gemm/parallel"
	"gemm/reference"
	"gemm/serial"
)

// all is made once: a command reads it dozens of times before it begins.
var all = sync.OnceValue(func() []gemm.Variant {
	return slices.Concat(serial.Variants(), parallel.Variants(), reference.Variants(), mpi.Peers(), mpi.Variants(),
		cuda.Variants(nil))
})

// Variants returns every variant, family by family in the order of the report. The slice is the caller's,
// but not what its variants refer to.
func Variants() []gemm.Variant { return slices.Clone(all()) }

// Families returns the names of the families in the order of the report.
func Families() []string {
	var families []string
	for _, v := range Variants() {
		if !slices.Contains(families, v.Family()) {
			families = append(families, v.Family())
		}
	}
	return families
}

// Nearest returns up to three names that are most similar to word, by the edit distance to the name
// or to its part after the slash.
func Nearest(word string, names []string) []string {
	distance := func(name string) int {
		_, algorithm, _ := strings.Cut(name, "/")
		return min(levenshtein.ComputeDistance(word, name), levenshtein.ComputeDistance(word, algorithm))
	}
	near := slices.Clone(names)
	slices.SortStableFunc(near, func(a, b string) int { return distance(a) - distance(b) })
	return near[:min(3, len(near))]
}
