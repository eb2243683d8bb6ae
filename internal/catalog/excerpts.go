package catalog

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"gemm/compare/report/listing"
	"gemm/cuda/kernels"
	"gemm/mpi"
	"gemm/parallel"
	"gemm/serial"
)

// Excerpts returns what reports show of the sources of each family: the same product by simple
// loops, on one thread, on several, on ranks and on a GPU. The sources are part of the program.
func Excerpts() []listing.Excerpt {
	var out []listing.Excerpt
	for _, of := range []struct {
		family         string
		files          fs.FS
		name, function string
	}{
		{"serial", serial.Sources(), "ikj.go", "accumulate"},
		{"parallel", parallel.Sources(), "rows.go", "Multiply"},
		{"mpi", mpi.Sources(), "scatter_rows.go", "multiply"},
	} {
		e, err := listing.Function(of.files, of.family, of.name, of.function)
		if err != nil {
			panic("catalog: " + err.Error()) // part of the program
		}
		e.Family = of.family
		out = append(out, e)
	}
	return append(out, kernel())
}

// kernel returns the kernel in shared memory in single precision.
func kernel() listing.Excerpt {
	file, text, err := kernels.Source("f32", "smem")
	_, kernel, ok := strings.Cut(text, "\nextern \"C\"")
	if err != nil || !ok {
		panic(fmt.Sprintf("catalog: %s has no kernel: %v", file, err))
	}
	return listing.Excerpt{Family: "cuda", Path: path.Join("cuda/kernels", file), Text: "extern \"C\"" + kernel}
}
