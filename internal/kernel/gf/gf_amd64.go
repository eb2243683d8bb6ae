package gf

//go:generate go run -C ../_asm ./field -isa gfni512 -pkg gf -out ../gf/gfni512_amd64.s -stubs ../gf/gfni512_amd64.go
//go:generate go run -C ../_asm ./field -isa gfni256 -pkg gf -out ../gf/gfni256_amd64.s -stubs ../gf/gfni256_amd64.go
//go:generate go run -C ../_asm ./field -isa avx2 -pkg gf -out ../gf/avx2_amd64.s -stubs ../gf/avx2_amd64.go
//go:generate go run -C ../_asm ./field -isa ssse3 -pkg gf -out ../gf/ssse3_amd64.s -stubs ../gf/ssse3_amd64.go
//go:generate go run -C ../_asm ./fetch -pkg gf -out ../gf/fetch_amd64.s -stubs ../gf/fetch_amd64.go

// GFNI512 computes a sliver of up to 24 rows (see kernel.Field) with affine transformations of 64
// bytes. A is packed with Matrices. It needs AVX-512 and GFNI.
func GFNI512(rows, k, n int, a []uint64, b []byte, ldb int, c []byte, ldc int, into uint8) {
	mulGFNI512(rows, k, n, a, b, ldb, c, ldc, into)
}

// GFNI256 computes a sliver of up to 6 rows (see kernel.Field) with affine transformations of 32 bytes.
// A is packed with Matrices. It needs AVX2 and GFNI.
func GFNI256(rows, k, n int, a []uint64, b []byte, ldb int, c []byte, ldc int, into uint8) {
	mulGFNI256(rows, k, n, a, b, ldb, c, ldc, into)
}

// AVX2 computes a sliver of up to 4 rows (see kernel.Field) with look-ups of 32 nibbles. A is packed
// with Nibbles.
func AVX2(rows, k, n int, a []uint64, b []byte, ldb int, c []byte, ldc int, into uint8) {
	mulAVX2(rows, k, n, a, b, ldb, c, ldc, into)
}

// SSSE3 computes a sliver of up to 4 rows (see kernel.Field) with look-ups of 16 nibbles. A is packed
// with Nibbles.
func SSSE3(rows, k, n int, a []uint64, b []byte, ldb int, c []byte, ldc int, into uint8) {
	mulSSSE3(rows, k, n, a, b, ldb, c, ldc, into)
}
