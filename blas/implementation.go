// Package blas multiplies matrices as fast as this host can, and makes gonum as fast. No cgo is needed.
//
// Multiply and Gemm are for matrices of this module, and need no setting up:
//
//	err := blas.Multiply(c, a, b) // C = A·B
//
// Elements are float64, float32, complex128, complex64, half.F16 or half.BF16. MultiplyDense is for gonum's matrices.
//
// GemmBatch and GemmBatchStrided multiply many matrices of one shape in one call. A Plan is such a shape, checked once.
//
// Implementation is gonum's own BLAS, but its level-3 routines, which multiply and solve with matrices on
// both sides, use the same kernels. Level 1 has kernels of its own. One line in a program,
//
//	blas64.Use(blas.Implementation{}) // and blas32.Use, for float32
//
// and mat.Dense.Mul, LU, Cholesky, QR, SVD and everything else that calls those routines uses them.
// Nothing else changes.
//
// # Concurrency
//
// Any number of goroutines may call the functions, and the methods of one Implementation, at the same time. Each call
// has a workspace of its own, which is kept for the next call. A large product is divided among as many goroutines as
// GOMAXPROCS says; a small one is computed by the caller alone. A program that multiplies on all its goroutines has
// work for all processors already: Implementation with one worker saves it the division.
//
// Block sizes are computed from the caches of the processor. What gemm tune has measured is not read.
//
// # Routines
//
// What is overridden, for float64 (D) and float32 (S):
//
//	gemm     C ← α·op(A)·op(B) + β·C
//	symm     C ← α·A·B + β·C or α·B·A + β·C, A symmetric
//	syrk     C ← α·A·Aᵀ + β·C or α·Aᵀ·A + β·C, one triangle of it
//	syr2k    C ← α·(A·Bᵀ + B·Aᵀ) + β·C or α·(Aᵀ·B + Bᵀ·A) + β·C, one triangle of it
//	trmm     B ← α·op(A)·B or α·B·op(A), A triangular
//	trsm     B ← α·op(A)⁻¹·B or α·B·op(A)⁻¹, A triangular
//
// Of level 1, with kernels for AVX2 and AVX-512 if vectors have no gaps. Z and C have dot, nrm2, asum, axpy and scal.
//
//	dot      xᵀ·y, and dotc xᴴ·y
//	nrm2     ‖x‖₂, right wherever it is representable, in one pass unless a square leaves the range
//	asum     Σ |xᵢ|
//	amax     the first index of the largest |xᵢ|
//	axpy     y ← α·x + y
//	scal     x ← α·x
//	swap     x ↔ y
//	rot      x ← c·x + s·y, y ← c·y − s·x
//
// Of level 2 (D and S), with kernels for AVX2 and AVX-512; on other processors gonum computes. gemv and ger are divided
// among the workers if the matrix is large. Vectors with gaps are copied unless the matrix is small.
//
//	gemv     y ← α·op(A)·x + β·y
//	ger      A ← α·x·yᵀ + A
//	symv     y ← α·A·x + β·y, A symmetric
//	syr      A ← α·x·xᵀ + A, one triangle of it
//	syr2     A ← α·(x·yᵀ + y·xᵀ) + A, one triangle of it
//	trmv     x ← op(A)·x, A triangular
//	trsv     x ← op(A)⁻¹·x, A triangular
//
// For complex numbers (Z and C) all of level 3 is overridden, with hemm, herk and her2k. A complex product is four real
// products.
//
// All of level 3 are products. The last five divide the special matrix recursively into halves until small blocks on
// the diagonal are left. So all but O(n²) of the work is done by gemm on full matrices (Kågström, Ling and Van Loan,
// GEMM-Based Level 3 BLAS, ACM TOMS 24(3), 1998; Elmroth, Gustavson, Jonsson and Kågström, Recursive Blocked Algorithms
// and Hybrid Data Structures for Dense Matrix Library Software, SIAM Review 46(1), 2004).
//
// Arguments are checked as in gonum, and bad ones panic with gonum's messages. In addition, the check here is right for
// leading dimensions so large that their product with the number of rows overflows. Results differ from gonum's in
// rounding, and in zeros that meet NaN or Inf: gonum skips products with a zero of one operand. Here 0·NaN is NaN, as in
// IEEE 754: the zeros of a large A are skipped only if it has little else, and all of B is finite. If β = 0, C is not
// read; if α = 0, neither A nor B is read. The imaginary parts on the diagonal of a Hermitian matrix are not read; in a
// result they are 0. A complex α or β without an imaginary part multiplies as a real number.
//
// # Range
//
// An element is a sum of terms α·a·b, and of β·c. If the sum of their magnitudes is at most 2⁻²⁵ of the largest
// number, the error is small in comparison with that sum, whatever α, A and B are; to this, underflow adds at
// most 2²⁴ of the least number for each term. Reference BLAS multiplies one operand by α first, which may
// overflow or underflow. So does level 2 if 2⁻²⁴ ≤ |α| ≤ 2²⁴; then no element may be so near to the ends of
// the range. trsm multiplies a vector of B by α first, or the solution if an element of B would leave the range.
package blas

import (
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Implementation is a BLAS for blas64.Use and blas32.Use. The zero value is ready for use, and any number of goroutines
// may call it at the same time. Matrices are stored by rows. gonum documents the arguments of the routines.
type Implementation struct {
	gonum.Implementation
	// Workers is the most goroutines that compute one routine of level 3. 1 is the caller alone. 0 is
	// as many as GOMAXPROCS says at the time of the call, more are of no use. If that is all processors of an arm64
	// that has slower cores too, 0 is its performance cores.
	Workers int
}

var (
	_ blas.Float64    = Implementation{}
	_ blas.Float32    = Implementation{}
	_ blas.Complex128 = Implementation{}
	_ blas.Complex64  = Implementation{}
)

// Messages of gonum's panics if a slice is too short.
const (
	shortA = "blas: insufficient length of a"
	shortB = "blas: insufficient length of b"
	shortC = "blas: insufficient length of c"
)

// mustHold panics with the message short unless data holds a rows×cols matrix with leading dimension
// ld ≥ cols. It checks as gonum does, but with a product (rows − 1)·ld that cannot overflow. gonum
// accepts a leading dimension for which the product overflows.
func mustHold[T any](data []T, rows, cols, ld int, short string) {
	if !covers(len(data), rows, cols, ld) {
		panic(short)
	}
}

// covers reports whether a slice of n elements holds a rows×cols matrix with leading dimension ld ≥ cols.
func covers(n, rows, cols, ld int) bool {
	hi, lo := bits.Mul(uint(rows-1), uint(ld))
	return rows == 0 || hi == 0 && n >= cols && lo <= uint(n-cols)
}

// extent returns the elements of a rows×cols matrix with leading dimension ld ≥ cols, from the first to the last. The
// error says that no slice can have them.
func extent(rows, cols, ld int) (int, error) {
	if rows == 0 || cols == 0 {
		return 0, nil
	}
	hi, lo := bits.Mul(uint(rows-1), uint(ld))
	if hi != 0 || lo > uint(math.MaxInt-cols) {
		return 0, fmt.Errorf("%d rows with a leading dimension of %d are more than memory", rows, ld)
	}
	return int(lo) + cols, nil
}

// isTranspose, isTriangle, isSide and isDiag report whether the value of a flag is valid.
func isTranspose(t blas.Transpose) bool {
	return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans
}
func isTriangle(u blas.Uplo) bool { return u == blas.Upper || u == blas.Lower }
func isSide(s blas.Side) bool     { return s == blas.Left || s == blas.Right }
func isDiag(d blas.Diag) bool     { return d == blas.NonUnit || d == blas.Unit }

// ordered returns the shape of a matrix X for which t applied to X is rows×cols.
func ordered(t blas.Transpose, rows, cols int) (int, int) {
	if t == blas.NoTrans {
		return rows, cols
	}
	return cols, rows
}

// order returns the order of a square matrix that multiplies an m×n matrix from side s.
func order(s blas.Side, m, n int) int {
	if s == blas.Left {
		return m
	}
	return n
}
