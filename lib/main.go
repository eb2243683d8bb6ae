//go:build cgo && !windows

//go:debug containermaxprocs=0

// Command lib is libgemm: the products of this module for programs in C, Fortran, R, Octave and Python. It
// is built as a shared library by make lib. Its interface is gemm.h.
//
// A call takes this way:
//
//	gemm.c, cblas.c   the entries: the arguments become a struct product
//	product.c         they are checked, and products of columns become products of rows. In a forked process, where Go
//	                  has no threads, the loops of plain.c compute; otherwise
//	exports.go        the operands become slices and matrices of Go in the caller's memory
//	routines.go       package blas computes, or, in
//	multipliers.go    the multiplier of the variant that is named
//
// cuda.go and recipe.go answer programs that launch kernels on GPUs themselves.
//
// The library holds no descriptors, since the program may close them all and reuse their numbers. Go's runtime would
// hold the files with the limit of the control group; init reads the limit instead. _runtime has the rest.
package main

import (
	"math"
	"os"
	"runtime"

	"gemm/internal/cpu"
)

func init() {
	if quota := cpu.Quota(); quota > 0 && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(granted(runtime.NumCPU(), quota))
	}
}

// granted returns how many processors Go's runtime uses under a quota.
func granted(processors int, quota float64) int {
	return min(processors, max(2, int(math.Ceil(quota))))
}

// main is never called: the package is built as a library.
func main() {}
