// Package gf is the assembly of gemm/internal/kernel for GF(2⁸), and the operand forms that it
// multiplies by. It is empty for processors without assembly.
package gf

//go:generate go run -C ../_asm ./field -isa gfni512 -pkg gf -out ../gf/gfni512_amd64.s -stubs ../gf/gfni512_amd64.go
//go:generate go run -C ../_asm ./field -isa gfni256 -pkg gf -out ../gf/gfni256_amd64.s -stubs ../gf/gfni256_amd64.go
//go:generate go run -C ../_asm ./field -isa avx2 -pkg gf -out ../gf/avx2_amd64.s -stubs ../gf/avx2_amd64.go
//go:generate go run -C ../_asm ./field -isa ssse3 -pkg gf -out ../gf/ssse3_amd64.s -stubs ../gf/ssse3_amd64.go
//go:generate go run -C ../_asm ./fetch -pkg gf -out ../gf/fetch_amd64.s -stubs ../gf/fetch_amd64.go
