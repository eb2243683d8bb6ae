// Package kernels has the sources of the CUDA kernels, one file for each rung of the ladder. Each file changes
// one thing compared with the file before, so the diff of two neighbours is the lesson. The sources
// are CUDA C++ without headers; NVRTC compiles them for the GPU at run time. Block sizes are macros
// that the host sets.
package kernels

import (
	"embed"
	"fmt"
)

//go:embed f32/*.cu f64/*.cu gf256/*.cu
var files embed.FS

// Transpose is the source of the kernel that copies a transposed operand to a new layout.
//
//go:embed transpose.cu
var Transpose string

// Align is the source of the kernel that lays an operand out anew with rows that begin where
// several elements can be copied at once.
//
//go:embed align.cu
var Align string

// Peak is the source of the kernel that measures what a pipe of the GPU does at most.
//
//go:embed peak.cu
var Peak string

// Source returns the source of a file, such as 01_naive.cu of the element type f32.
func Source(typ, file string) (string, error) {
	data, err := files.ReadFile(typ + "/" + file)
	if err != nil {
		return "", fmt.Errorf("kernels: %w", err)
	}
	return string(data), nil
}
