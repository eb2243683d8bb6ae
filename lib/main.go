//go:build cgo && !windows

// Command lib is libgemm: the products of this module for programs in C, Fortran, R, Octave and Python. It
// is built as a shared library by make lib. Its interface is gemm.h.
//
// A call takes this way:
//
//	gemm.c, cblas.c   the entries: the arguments are checked, and products of columns become products of rows
//	product.c         in a forked process, where Go has no threads, the loops of plain.c compute; otherwise
//	exports.go        the operands become matrices of Go in the caller's memory
//	multipliers.go    package blas computes, or the multiplier of the variant that is named
//
// recipe.go answers programs that launch kernels on GPUs themselves.
package main

// main is never called: the package is built as a library.
func main() {}
