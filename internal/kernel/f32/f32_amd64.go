package f32

//go:generate go run -C ../_asm ./tiles -type f32 -isa avx512 -pkg f32 -out ../f32/avx512_amd64.s -stubs ../f32/avx512_amd64.go
//go:generate go run -C ../_asm ./tiles -type f32 -isa avx2 -pkg f32 -out ../f32/avx2_amd64.s -stubs ../f32/avx2_amd64.go
//go:generate go run -C ../_asm ./small -type f32 -isa avx512
//go:generate go run -C ../_asm ./small -type f32 -isa avx2
//go:generate go run -C ../_asm ./column -type f32 -isa avx512 -pkg f32 -out ../f32/column_avx512_amd64.s -stubs ../f32/column_avx512_amd64.go
//go:generate go run -C ../_asm ./column -type f32 -isa avx2 -pkg f32 -out ../f32/column_avx2_amd64.s -stubs ../f32/column_avx2_amd64.go
//go:generate go run -C ../_asm ./pack -type f32 -pkg f32 -out ../f32/pack_amd64.s -stubs ../f32/pack_amd64.go

// SmallAVX512 computes C ← α·A·B + β·C for small matrices; see kernel.Small. Sums of up to 8 rows of 3 vectors stay in
// registers; a row of B is loaded, and A's elements are broadcast one by one.
//
//go:noescape
func SmallAVX512(m, n, k int, a *float32, aRow, aCol int, b *float32, bRow int, c *float32, ldc int,
	alpha, beta float32)

// SmallAVX2 is SmallAVX512 with fused multiply-adds of AVX2, and sums of up to 6 rows of 2 vectors.
//
//go:noescape
func SmallAVX2(m, n, k int, a *float32, aRow, aCol int, b *float32, bRow int, c *float32, ldc int,
	alpha, beta float32)
