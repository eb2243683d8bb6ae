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
	"gemm/cuda/kernels"
	"gemm/internal/tuned"
	"gemm/mpi"
	"gemm/parallel"
	"gemm/reference"
	"gemm/serial"
)

// all has every variant, made once for the settings in use, which choose defaults: a command reads it dozens of times
// before it begins.
var all struct {
	sync.Mutex
	uses     int64
	variants []gemm.Variant
}

// Variants returns every variant, family by family in the order of the report. The slice is the caller's,
// but not what its variants refer to.
func Variants() []gemm.Variant {
	all.Lock()
	defer all.Unlock()
	if uses := tuned.Uses(); all.variants == nil || all.uses != uses {
		all.uses = uses
		all.variants = slices.Concat(serial.Variants(), parallel.Variants(), reference.Variants(), mpi.Peers(),
			mpi.Variants(), cuda.Variants(nil))
		for i := range all.variants {
			setPseudocode(&all.variants[i])
		}
	}
	return slices.Clone(all.variants)
}

// setPseudocode gives a variant on a GPU the pseudo-code of its kernel: in f32, if it has one, or in its first type.
func setPseudocode(v *gemm.Variant) {
	_, algorithm, _ := strings.Cut(v.Name, "/")
	for _, typ := range append([]string{"f32"}, v.Types()...) {
		if text, ok := kernels.Pseudocode(typ, algorithm); ok && v.Pseudocode == "" && slices.Contains(v.Types(), typ) {
			v.Pseudocode = text
		}
	}
}

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
	near := byDistance(word, names)
	return near[:min(3, len(near))]
}

func byDistance(word string, names []string) []string {
	distance := func(name string) int {
		_, algorithm, _ := strings.Cut(name, "/")
		return min(levenshtein.ComputeDistance(word, name), levenshtein.ComputeDistance(word, algorithm))
	}
	near := slices.Clone(names)
	slices.SortStableFunc(near, func(a, b string) int { return distance(a) - distance(b) })
	return near
}

// Near returns up to three of the names, the nearest first, that word may be meant for: it begins them, or at most a
// third of it is wrong.
func Near(word string, names []string) []string {
	most := max(1, len(strings.TrimLeft(word, "-"))/3)
	near := slices.DeleteFunc(byDistance(word, names), func(name string) bool {
		return !strings.HasPrefix(name, word) && levenshtein.ComputeDistance(word, name) > most
	})
	return near[:min(3, len(near))]
}
