// Package gf is the assembly of gemm/internal/kernel for GF(2⁸), and the forms in which
// it takes the elements that it multiplies by; on processors without any it is empty.
package gf
