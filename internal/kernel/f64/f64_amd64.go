package f64

//go:generate go run -C ../_asm ./tiles -type f64 -isa avx512 -pkg f64 -out ../f64/avx512_amd64.s
//go:generate go run -C ../_asm ./tiles -type f64 -isa avx2 -pkg f64 -out ../f64/avx2_amd64.s
//go:generate go run -C ../_asm ./small -type f64 -isa avx512 -pkg f64 -out ../f64/small_avx512_amd64.s
//go:generate go run -C ../_asm ./small -type f64 -isa avx2 -pkg f64 -out ../f64/small_avx2_amd64.s
//go:generate go run -C ../_asm ./pack -type f64 -pkg f64 -out ../f64/pack_amd64.s

// AVX512 computes the kernel.Tiles at t, in tiles of up to 8×24. 24 sums and 3 vectors of B are in registers, and A's
// elements are broadcast one by one.
//
//go:noescape
func AVX512(t *byte)

// AVX2 is AVX512 with tiles of up to 4×12 and 12 sums.
//
//go:noescape
func AVX2(t *byte)

// SmallAVX512 computes C ← α·A·B + β·C for small matrices; see kernel.Small. Sums of up to 8 rows of 3 vectors stay in
// registers; a row of B is loaded, and A's elements are broadcast one by one.
//
//go:noescape
func SmallAVX512(m, n, k int, a *float64, aRow, aCol int, b *float64, bRow int, c *float64, ldc int,
	alpha, beta float64)

// SmallAVX2 is SmallAVX512 with fused multiply-adds of AVX2, and sums of up to 6 rows of 2 vectors.
//
//go:noescape
func SmallAVX2(m, n, k int, a *float64, aRow, aCol int, b *float64, bRow int, c *float64, ldc int,
	alpha, beta float64)

// The copies and the sum need AVX2.

// Copy copies a block of rows×cols; see kernel.Copy.
//
//go:noescape
func Copy(rows, cols int, dst []float64, ldd int, src []float64, lds int)

// Split12 copies rows into slivers of 12 columns; see kernel.Split.
//
//go:noescape
func Split12(rows, slivers int, dst []float64, next int, src []float64, lds int)

// Split24 copies rows into slivers of 24 columns; see kernel.Split.
//
//go:noescape
func Split24(rows, slivers int, dst []float64, next int, src []float64, lds int)

// Transpose copies up to four rows into columns of at least four elements; see kernel.Transpose.
//
//go:noescape
func Transpose(rows, cols int, dst []float64, ldd int, src []float64, lds int)

// Add adds a multiple of a block to another; see kernel.Add.
//
//go:noescape
func Add(rows, cols int, dst []float64, ldd int, x []float64, ldx int, alpha float64, y []float64, ldy int)
