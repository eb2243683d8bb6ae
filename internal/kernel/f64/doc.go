// Package f64 is the assembly of gemm/internal/kernel for float64; on processors
// without any it is empty.
package f64
