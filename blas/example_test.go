package blas_test

import (
	"fmt"
	"log"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"

	"gemm/blas"
)

// One line, and gonum's matrices are multiplied and factorized by the kernels of
// this module.
func Example() {
	defer blas64.Use(gonum.Implementation{}) // what gonum uses by itself

	blas64.Use(blas.Implementation{})

	a := mat.NewDense(2, 2, []float64{
		4, 2,
		2, 3,
	})
	b := mat.NewDense(2, 1, []float64{8, 8})

	var square, x mat.Dense
	square.Mul(a, a)
	if err := x.Solve(a, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(&square))
	fmt.Printf("%.3f\n", mat.Formatted(&x))
	// Output:
	// ⎡20  14⎤
	// ⎣14  13⎦
	// ⎡1.000⎤
	// ⎣2.000⎦
}
