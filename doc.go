// Package gemm is the contract of a suite of matrix multiplications: the types
// that every implementation, driver and report shares.
//
// A product is C = A·B with C of shape m×n, A of shape m×k and B of shape k×n,
// all dense and row-major (Matrix). An implementation is a Multiplier; those
// that offer the whole BLAS operation C ← α·op(A)·op(B) + β·C are a Gemmer as
// well; those whose operands live elsewhere, on other ranks or on a device, are
// a Stager. A Variant names an implementation, describes its parameters and
// predicts its costs and its error; gemm/internal/catalog lists them all.
//
// The implementations are in gemm/serial, gemm/parallel, gemm/mpi and gemm/cuda, and
// those of others in gemm/reference; gemm/blas has gonum compute by ours. The measuring
// and verifying is in gemm/compare, and the command in gemm/cmd/gemm.
package gemm
