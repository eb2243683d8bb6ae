// Package f32 is the assembly of gemm/internal/kernel for float32; on processors
// without any it is empty.
package f32
