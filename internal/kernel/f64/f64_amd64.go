package f64

//go:generate go run -C ../_asm ./rows -type f64 -isa avx512 -pkg f64 -out ../f64/avx512_amd64.s -stubs ../f64/avx512_amd64.go
//go:generate go run -C ../_asm ./rows -type f64 -isa avx2 -pkg f64 -out ../f64/avx2_amd64.s -stubs ../f64/avx2_amd64.go
//go:generate go run -C ../_asm ./pack -type f64 -pkg f64 -out ../f64/pack_amd64.s -stubs ../f64/pack_amd64.go

// rows computes a row of tiles; see kernel.Func.
type rows = func(n, k int, alpha float64, a []float64, aRow, aCol int, b []float64, bRow, bNext int, beta float64, c []float64, ldc, ahead int)

// AVX512 computes tiles of 1 to 8 rows and three vectors of 64 bytes.
var AVX512 = [...]rows{
	rows1AVX512, rows2AVX512, rows3AVX512, rows4AVX512,
	rows5AVX512, rows6AVX512, rows7AVX512, rows8AVX512,
}

// AVX2 computes tiles of 1 to 4 rows and three vectors of 32 bytes, with fused
// multiply-adds.
var AVX2 = [...]rows{rows1AVX2, rows2AVX2, rows3AVX2, rows4AVX2}

// Copy copies rows; see kernel.Copy. It needs AVX2.
func Copy(rows, cols int, dst []float64, ldd int, src []float64, lds int) {
	copyAVX2(rows, cols, dst, ldd, src, lds)
}

// Transpose copies up to four rows into columns of at least four elements; see
// kernel.Transpose. It needs AVX2.
func Transpose(rows, cols int, dst []float64, ldd int, src []float64, lds int) {
	transposeAVX2(rows, cols, dst, ldd, src, lds)
}
