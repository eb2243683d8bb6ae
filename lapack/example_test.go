package lapack_test

import (
	"fmt"
	"log"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"gemm/blas"
	"gemm/lapack"
)

func ExampleImplementation() {
	blas64.Use(blas.Implementation{})
	lapack64.Use(lapack.Implementation{})

	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(2, 2, []float64{3, 0, 4, 5}), mat.SVDThin) {
		log.Fatal("the singular values did not converge")
	}
	fmt.Printf("%.4f\n", svd.Values(nil))
	// Output: [6.7082 2.2361]
}
