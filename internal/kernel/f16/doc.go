// Package f16 is the assembly of gemm/internal/kernel for the formats of half precision; on processors
// without any it is empty.
package f16

//go:generate go run -C ../_asm ./convert -pkg f16 -out ../f16/convert_amd64.s
//go:generate go run -C ../_asm ./neon f16 ../f16/convert_arm64.s
