// Package gf is the assembly of gemm/internal/kernel for GF(2⁸), and the operand forms that it
// multiplies by. It is empty for processors without assembly.
package gf
