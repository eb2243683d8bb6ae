package blas_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"

	"gemm"
	"gemm/blas"
	"gemm/half"
)

// Two matrices are multiplied as fast as this host can.
func ExampleMultiply() {
	a := gemm.Matrix[float64]{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 2, 3, 4}}
	b := gemm.Matrix[float64]{Rows: 2, Cols: 2, Stride: 2, Data: []float64{0, 1, 1, 0}}
	c := gemm.NewMatrix[float64](2, 2)
	if err := blas.Multiply(c, a, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data)
	// Output: [2 1 4 3]
}

// Half precision is multiplied by the same call.
func ExampleMultiply_half() {
	a, c := gemm.NewMatrix[half.F16](2, 2), gemm.NewMatrix[half.F16](2, 2)
	half.Narrow(a.Data, []float32{1, 2, 3, 4})
	if err := blas.Multiply(c, a, a); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data)
	// Output: [7 10 15 22]
}

// gonum's matrices are multiplied without blas64.Use. The product gets its size here, and a wrong size is an error.
func ExampleMultiplyDense() {
	a := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	var square mat.Dense
	if err := blas.MultiplyDense(context.Background(), &square, a, a.T()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(&square))
	fmt.Println(blas.MultiplyDense(context.Background(), &square, a, a))
	fmt.Println(blas.MultiplyDense(context.Background(), &square, &square, mat.NewDiagDense(2, []float64{1, 1})))
	// Output:
	// ⎡14  32⎤
	// ⎣32  77⎦
	// gemm: shapes do not conform: C 2×2, op(A) 2×3, op(B) 2×3
	// gemm: operands overlap: C and A: give C memory of its own, or copy A
}

// Gemm also scales, transposes and accumulates: C ← 10·Aᵀ·B + C/2.
func ExampleGemm() {
	a := gemm.Matrix[float32]{Rows: 2, Cols: 1, Stride: 1, Data: []float32{1, 2}}
	b := gemm.Matrix[float32]{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}}
	c := gemm.Matrix[float32]{Rows: 1, Cols: 2, Stride: 2, Data: []float32{100, 100}}
	if err := blas.Gemm(blas.Trans, blas.NoTrans, 10, a, b, 0.5, c); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data)
	// Output: [120 150]
}

// Matrices of different sizes are an error, and nothing is written.
func ExampleMultiply_shapes() {
	a, b := gemm.NewMatrix[float64](3, 4), gemm.NewMatrix[float64](5, 2)
	fmt.Println(blas.Multiply(gemm.NewMatrix[float64](3, 2), a, b))
	// Output: gemm: shapes do not conform: C 3×2, A 3×4, B 5×2
}

// Many small products of one shape are one call, which divides them among the processors.
func ExampleGemmBatchStrided() {
	const count = 3
	a := []float64{1, 0, 0, 1, 0, 1, 1, 0, 2, 0, 0, 2} // three matrices of 2×2, one behind the other
	b := []float64{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}
	c := make([]float64, count*4)
	p := blas.Problem[float64]{M: 2, N: 2, K: 2, Alpha: 1}
	if err := blas.GemmBatchStrided(p, count, a, 4, b, 4, c, 4); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c)
	// Output: [1 2 3 4 3 4 1 2 2 4 6 8]
}

// A plan is checked once, and multiplies any operands of its shape.
func ExamplePlan() {
	plan, err := blas.NewPlan(blas.Problem[float64]{TransA: blas.Trans, M: 2, N: 1, K: 2, Alpha: 1})
	if err != nil {
		log.Fatal(err)
	}
	c := make([]float64, 2)
	for _, b := range [][]float64{{1, 0}, {0, 1}} {
		if err := plan.Multiply([]float64{1, 2, 3, 4}, b, c); err != nil {
			log.Fatal(err)
		}
		fmt.Println(c)
	}
	// Output:
	// [1 2]
	// [3 4]
}

// A program with a product for every goroutine leaves each to one of them.
func ExampleImplementation() {
	defer blas64.Use(gonum.Implementation{}) // what gonum uses by itself

	blas64.Use(blas.Implementation{Workers: 1})

	var group sync.WaitGroup
	powers := make([]mat.Dense, 4)
	for i := range powers {
		group.Go(func() {
			powers[i].Pow(mat.NewDense(2, 2, []float64{1, 1, 0, 1}), i)
		})
	}
	group.Wait()
	fmt.Println(powers[3].At(0, 1))
	// Output: 3
}

// After one line, gonum's matrices are multiplied and factorized by the kernels of
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
