// Package f16 is the assembly of gemm/internal/kernel for the formats of half precision; on processors
// without any it is empty.
package f16
