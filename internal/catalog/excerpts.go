package catalog

import (
	"fmt"
	"strings"

	"gemm/cuda/kernels"
	"gemm/internal/listing"
	"gemm/mpi"
	"gemm/parallel"
	"gemm/serial"
)

// Excerpts returns what reports show of the sources of each family: the same product by simple
// loops, on one thread, on several, on ranks and on a GPU. The sources are part of the program.
func Excerpts() []listing.Excerpt {
	var out []listing.Excerpt
	for _, of := range []struct {
		family  string
		excerpt func() (listing.Excerpt, error)
	}{
		{"serial", serial.Excerpt}, {"parallel", parallel.Excerpt}, {"mpi", mpi.Excerpt}, {"cuda", kernels.Excerpt},
	} {
		e, err := of.excerpt()
		if err != nil {
			panic(fmt.Sprintf("catalog: %s: %v", of.family, err))
		}
		e.Family = of.family
		out = append(out, e)
	}
	return out
}

// Algorithms returns the pseudo-code of the variants, in the order of the report; those of the
// family cuda have one for each element type.
func Algorithms() []listing.Algorithm {
	var out []listing.Algorithm
	for _, v := range Variants() {
		if v.Pseudocode != "" {
			out = append(out, listing.Algorithm{Variant: v.Name, Text: v.Pseudocode})
			continue
		}
		for _, typ := range v.Types() {
			_, algorithm, _ := strings.Cut(v.Name, "/")
			if text, ok := kernels.Pseudocode(typ, algorithm); ok {
				out = append(out, listing.Algorithm{Variant: v.Name, Type: typ, Text: text})
			}
		}
	}
	return out
}
