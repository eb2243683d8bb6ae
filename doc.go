// Package gemm is the contract of a suite of matrix multiplications: the types that all
// implementations, drivers and reports share.
//
// A product is C = A·B, where C is m×n, A is m×k and B is k×n. All are dense and row-major (Matrix). An implementation
// is a Multiplier. If it computes the whole BLAS operation C ← α·op(A)·op(B) + β·C, it is a Gemmer too. If its operands
// live elsewhere, on other ranks or on a device, it is a Stager. A Variant names an implementation, describes its
// parameters, and predicts its cost and its error. Package gemm/cmd/catalog lists all variants.
//
// A program that only multiplies needs none of these: package gemm/blas has Multiply and Gemm for matrices, and a BLAS
// for gonum. The implementations are in gemm/serial, gemm/parallel, gemm/mpi and gemm/cuda. Libraries of others are in
// gemm/reference. Package gemm/compare measures and verifies, and gemm/cmd/gemm is the command.
package gemm
