// Package kernels has the rungs of the CUDA ladder. In the folder of its type, NAME.cu is the source of a rung,
// NAME.txt its pseudo-code, and a literal in Go has what the suite must know of it. Order says which follows which.
// Each source changes one thing compared with its parent, so the diff of both is the lesson; package production has the
// kernels for use, with which the ladders end. The sources are CUDA C++ without headers; NVRTC compiles them at run
// time. Block sizes are macros that the host sets.
package kernels

import (
	"embed"
	"fmt"
	"slices"
)

//go:embed */*.cu */*.txt
var files embed.FS

// Sources of kernels that are no rungs, and what stands before the source of one.
var (
	//go:embed transpose.cu
	Transpose string // copies a transposed operand to a new layout
	//go:embed align.cu
	Align string // lays an operand out anew with rows that begin where several elements can be copied at once
	//go:embed add.cu
	Add string // adds one matrix to another, in iterated products
	//go:embed tf32.cu
	TF32 string // rounds an operand for products of warpgroups
	//go:embed residues.cu
	Residues string // splits operands into residues, and joins products of these
	//go:embed peak.cu
	Peak string // measures what a pipe of the GPU does at most
	//go:embed peak_warpgroups.cu
	PeakWarpgroups string // measures what the tensor cores do at most by products of warpgroups
	//go:embed chase.cu
	Chase string // measures the latency of a memory
	//go:embed timeline.cu
	Timeline string // before a kernel that records its steps
	//go:embed judge.cu
	Judge string // kernels that check each launch of a user's kernel
)

// JudgeOptions returns the options with which Judge is compiled for elements of the given bytes.
func JudgeOptions(bytes int) []string {
	if bytes == 4 {
		return nil
	}
	return []string{"-DELEMENT=double", "-DWORD=unsigned long long", "-DSHIFT=12", "-DLARGE=(0x7e0ull<<52)"}
}

// Source returns the path of a rung's source in this package, such as f32/naive.cu, and its text.
func Source(typ, name string) (file, text string, err error) {
	file, text, ok := read(typ, name, ".cu")
	if !ok {
		return "", "", fmt.Errorf("kernels: %s has no rung %s", typ, name)
	}
	return file, text, nil
}

// Pseudocode returns the pseudo-code of an algorithm, such as naive of the element type f32, and whether there is one.
// It suits a report in any language. Capital letters such as I and J are sets of indices, so C[I, J] is a block of C.
// As and Bs are slices of A and B in shared memory; a name with a prime is a second buffer. load4 and load2 read 16
// bytes by one instruction, async is cp.async, mma and wmma are instructions of the tensor cores.
func Pseudocode(typ, algorithm string) (string, bool) {
	_, text, ok := read(typ, algorithm, ".txt")
	return text, ok
}

func read(typ, name, ending string) (file, text string, ok bool) {
	stems := folders(typ)
	for i, folder := range stems {
		stems[i] = folder + "/" + name
	}
	for _, r := range Order {
		if r.Source != "" && r.Name == name && slices.Contains(folders(typ), r.Type) {
			stems = []string{r.Source}
		}
	}
	for _, stem := range stems {
		if data, err := files.ReadFile(stem + ending); err == nil {
			return stem + ending, string(data), true
		}
	}
	return "", "", false
}
