package f32

import "unsafe"

//go:generate go run -C ../_asm ./tiles -type f32 -isa avx512 -pkg f32 -out ../f32/avx512_amd64.s -stubs ../f32/avx512_amd64.go
//go:generate go run -C ../_asm ./tiles -type f32 -isa avx2 -pkg f32 -out ../f32/avx2_amd64.s -stubs ../f32/avx2_amd64.go
//go:generate go run -C ../_asm ./small -type f32 -isa avx512
//go:generate go run -C ../_asm ./small -type f32 -isa avx2
//go:generate go run -C ../_asm ./column -type f32 -isa avx512 -pkg f32 -out ../f32/column_avx512_amd64.s -stubs ../f32/column_avx512_amd64.go
//go:generate go run -C ../_asm ./column -type f32 -isa avx2 -pkg f32 -out ../f32/column_avx2_amd64.s -stubs ../f32/column_avx2_amd64.go
//go:generate go run -C ../_asm ./pack -type f32 -pkg f32 -out ../f32/pack_amd64.s -stubs ../f32/pack_amd64.go

// AVX512 computes the kernel.Tiles that t points to, in tiles of up to 8 rows and
// three vectors of 64 bytes.
func AVX512(t unsafe.Pointer) { tilesAVX512((*byte)(t)) }

// AVX2 computes the kernel.Tiles that t points to, in tiles of up to 4 rows and three
// vectors of 32 bytes, with fused multiply-adds.
func AVX2(t unsafe.Pointer) { tilesAVX2((*byte)(t)) }

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

// ColumnAVX512 computes a column of C; see kernel.Column.
func ColumnAVX512(m, k int, alpha float32, a []float32, aRow int, x []float32, beta float32, c []float32, ldc int) {
	columnAVX512(m, k, alpha, a, aRow, x, beta, c, ldc)
}

// ColumnAVX2 computes a column of C with fused multiply-adds; see kernel.Column.
func ColumnAVX2(m, k int, alpha float32, a []float32, aRow int, x []float32, beta float32, c []float32, ldc int) {
	columnAVX2(m, k, alpha, a, aRow, x, beta, c, ldc)
}

// Copy copies rows; see kernel.Copy. It needs AVX2.
func Copy(rows, cols int, dst []float32, ldd int, src []float32, lds int) {
	copyAVX2(rows, cols, dst, ldd, src, lds)
}

// Split24 copies rows into slivers of 24 columns; see kernel.Split. It needs AVX2.
func Split24(rows, slivers int, dst []float32, next int, src []float32, lds int) {
	split24AVX2(rows, slivers, dst, next, src, lds)
}

// Split48 copies rows into slivers of 48 columns; see kernel.Split. It needs AVX2.
func Split48(rows, slivers int, dst []float32, next int, src []float32, lds int) {
	split48AVX2(rows, slivers, dst, next, src, lds)
}

// Transpose copies up to four rows into columns of at least four elements; see
// kernel.Transpose. It needs AVX2.
func Transpose(rows, cols int, dst []float32, ldd int, src []float32, lds int) {
	transposeAVX2(rows, cols, dst, ldd, src, lds)
}

// Add adds a multiple of a block to another; see kernel.Add. It needs AVX2.
func Add(rows, cols int, dst []float32, ldd int, x []float32, ldx int, alpha float32, y []float32, ldy int) {
	addAVX2(rows, cols, dst, ldd, x, ldx, alpha, y, ldy)
}
