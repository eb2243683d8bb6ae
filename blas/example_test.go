package blas_test

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"

	"gemm/blas"
)

// One line, and gonum's matrices are multiplied and factorized by the kernels of
// this module.
func Example() {
	blas64.Use(blas.Implementation{})
	defer blas64.Use(gonum.Implementation{}) // what gonum uses by itself

	a := mat.NewDense(2, 2, []float64{
		4, 2,
		2, 3,
	})
	b := mat.NewDense(2, 1, []float64{8, 8})

	var square, x mat.Dense
	square.Mul(a, a)
	if err := x.Solve(a, b); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("a² = %.0f\n", mat.Formatted(&square, mat.Prefix("     ")))
	fmt.Printf("x  = %.0f\n", mat.Formatted(&x, mat.Prefix("     ")))
	// Output:
	// a² = ⎡20  14⎤
	//      ⎣14  13⎦
	// x  = ⎡1⎤
	//      ⎣2⎦
}
