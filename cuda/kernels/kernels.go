// Package kernels has the sources of the CUDA kernels, one file for each rung of the ladder. Each file changes
// one thing compared with the file before, so the diff of two neighbours is the lesson. The sources
// are CUDA C++ without headers; NVRTC compiles them for the GPU at run time. Block sizes are macros
// that the host sets.
package kernels

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed f32/*.cu f64/*.cu half/*.cu gf256/*.cu
var files embed.FS

// The pseudo-code of an algorithm is next to its source, under the same name; a library's has no number.
//
//go:embed f32/*.txt f64/*.txt half/*.txt gf256/*.txt
var texts embed.FS

// Transpose is the source of the kernel that copies a transposed operand to a new layout.
//
//go:embed transpose.cu
var Transpose string

// Align is the source of the kernel that lays an operand out anew with rows that begin where
// several elements can be copied at once.
//
//go:embed align.cu
var Align string

// Add is the source of the kernel that adds one matrix to another, in iterated products.
//
//go:embed add.cu
var Add string

// TF32 is the source of the kernel that rounds an operand for products of warpgroups.
//
//go:embed tf32.cu
var TF32 string

// Peak is the source of the kernel that measures what a pipe of the GPU does at most.
//
//go:embed peak.cu
var Peak string

// PeakWarpgroups is the source of the kernel that measures what the tensor cores do at most by products of
// warpgroups.
//
//go:embed peak_warpgroups.cu
var PeakWarpgroups string

// Timeline is what stands before the source of a kernel that notes its steps.
//
//go:embed timeline.cu
var Timeline string

// Judge is the source of the kernels that check each launch of a user's kernel.
//
//go:embed judge.cu
var Judge string

// JudgeOptions returns the options with which Judge is compiled for elements of the given bytes.
func JudgeOptions(bytes int) []string {
	if bytes == 4 {
		return nil
	}
	return []string{"-DELEMENT=double", "-DWORD=unsigned long long", "-DSHIFT=12", "-DLARGE=(0x7e0ull<<52)"}
}

// Source returns the source of a file, such as 01_naive.cu of the element type f32.
func Source(typ, file string) (string, error) {
	data, err := files.ReadFile(folder(typ) + "/" + file)
	if err != nil {
		return "", fmt.Errorf("kernels: %w", err)
	}
	return string(data), nil
}

// folder returns where the sources of an element type are: f16 and bf16 have the same.
func folder(typ string) string {
	if typ == "f16" || typ == "bf16" {
		return "half"
	}
	return typ
}

// Pseudocode returns the pseudo-code of an algorithm, such as naive of the element type f32, and
// whether there is one. It suits a report in any language. Capital letters such as I and J are sets
// of indices, so C[I, J] is a block of C. As and Bs are slices of A and B in shared memory; a name
// with a prime is a second buffer. load4 and load2 read 16 bytes by one instruction, async is
// cp.async, mma and wmma are instructions of the tensor cores.
func Pseudocode(typ, algorithm string) (string, bool) {
	entries, err := texts.ReadDir(folder(typ))
	if err != nil {
		return "", false
	}
	for _, e := range entries {
		if algorithmOf(e.Name()) == algorithm {
			data, err := texts.ReadFile(folder(typ) + "/" + e.Name())
			return string(data), err == nil
		}
	}
	return "", false
}

// algorithmOf returns the algorithm of a file of pseudo-code: naive of 01_naive.txt, cublas of cublas.txt.
func algorithmOf(file string) string {
	name := strings.TrimSuffix(file, ".txt")
	if _, rest, numbered := strings.Cut(name, "_"); numbered {
		return rest
	}
	return name
}
