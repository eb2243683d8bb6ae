package gemm_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gemm"
	"gemm/blas"
	"gemm/gf256"
	"gemm/half"
	"gemm/parallel"
	"gemm/serial"
)

// Every variant computes the same product under the same contract.
func Example() {
	a := gemm.Matrix[float64]{Rows: 2, Cols: 3, Stride: 3, Data: []float64{
		1, 2, 3,
		4, 5, 6,
	}}
	b := gemm.Matrix[float64]{Rows: 3, Cols: 2, Stride: 2, Data: []float64{
		1, 0,
		0, 1,
		1, 1,
	}}
	products := map[string]bool{}
	for _, v := range serial.Variants() {
		c := gemm.NewMatrix[float64](2, 2)
		multiplier, err := gemm.New[float64](v, nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := multiplier.Multiply(context.Background(), c, a, b); err != nil {
			log.Fatal(err)
		}
		products[fmt.Sprint(c.Data)] = true
	}
	fmt.Println(products)
	// Output:
	// map[[4 5 10 11]:true]
}

// Gonum's matrices are multiplied where they are, blocks of larger ones included.
func ExampleFromDense() {
	a := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	b := mat.NewDense(3, 3, []float64{
		0, 0, 0,
		0, 1, 1,
		0, 0, 1,
	})
	block := b.Slice(1, 3, 1, 3).(*mat.Dense)
	c := mat.NewDense(2, 2, nil)

	if err := blas.Multiply(gemm.FromDense(c), gemm.FromDense(a), gemm.FromDense(block)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(c))
	// Output:
	// ⎡1  3⎤
	// ⎣3  7⎦
}

// named returns the serial variant called name.
func named(name string) gemm.Variant {
	v, err := gemm.Lookup(serial.Variants(), name)
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// An unknown name is an error that lists the known ones.
func ExampleLookup() {
	_, err := gemm.Lookup(slices.Concat(serial.Variants(), parallel.Variants()), "packed")
	fmt.Println(err)
	// Output: gemm: bad variant "packed": the list has serial/packed, parallel/packed
}

// A Matrix and a mat.Dense of gonum share their data: nothing is copied.
func ExampleDense() {
	m := gemm.NewMatrix[float64](2, 2)
	gemm.Dense(m).Set(0, 1, 7)
	fmt.Println(m.At(0, 1))
	// Output: 7
}

// A Gemmer also scales, transposes and accumulates: C ← α·Aᵀ·B + β·C.
func ExampleNewGemmer() {
	packed, err := gemm.Lookup(parallel.Variants(), "parallel/packed")
	if err != nil {
		log.Fatal(err)
	}
	gemmer, err := gemm.NewGemmer[float32](packed, gemm.Params{"threads": 2})
	if err != nil {
		log.Fatal(err)
	}
	a := gemm.Matrix[float32]{Rows: 2, Cols: 1, Stride: 1, Data: []float32{1, 2}}
	b := gemm.Matrix[float32]{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}}
	c := gemm.Matrix[float32]{Rows: 1, Cols: 2, Stride: 2, Data: []float32{100, 100}}
	if err := gemmer.Gemm(context.Background(), blas.Trans, blas.NoTrans, 10, a, b, 0.5, c); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data)
	// Output: [120 150]
}

// Elements of half precision are summed in float32.
func ExampleNew_half() {
	packed, err := gemm.Lookup(serial.Variants(), "serial/packed")
	if err != nil {
		log.Fatal(err)
	}
	f16 := half.From[half.F16]
	a := gemm.Matrix[half.F16]{Rows: 1, Cols: 2, Stride: 2, Data: []half.F16{f16(1. / 3), f16(2)}}
	b := gemm.Matrix[half.F16]{Rows: 2, Cols: 1, Stride: 1, Data: []half.F16{f16(3), f16(1)}}
	c := gemm.NewMatrix[half.F16](1, 1)
	m, err := gemm.New[half.F16](packed, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := m.Multiply(context.Background(), c, a, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.At(0, 0), c.At(0, 0))
	// Output: 0.3333 3
}

// A block of a larger matrix is a Matrix; the elements around it are not written.
func ExampleMatrix_Slice() {
	board := gemm.NewMatrix[float64](3, 4)
	block := board.Slice(1, 1, 2, 2)
	block.Set(0, 0, 5)
	block.Set(1, 1, 6)
	for i := range board.Rows {
		fmt.Println(board.Row(i))
	}
	// Output:
	// [0 0 0 0]
	// [0 5 0 0]
	// [0 0 6 0]
}

// Over GF(2⁸) the sum is an exclusive or: here 2·3 + 1·7 = 6 ⊕ 7.
func ExampleNew_field() {
	elems := func(bytes ...byte) []gf256.Elem {
		var e []gf256.Elem
		for _, v := range bytes {
			e = append(e, gf256.New(v))
		}
		return e
	}
	a := gemm.Matrix[gf256.Elem]{Rows: 1, Cols: 2, Stride: 2, Data: elems(2, 1)}
	b := gemm.Matrix[gf256.Elem]{Rows: 2, Cols: 1, Stride: 1, Data: elems(3, 7)}
	c := gemm.NewMatrix[gf256.Elem](1, 1)
	multiplier, err := gemm.New[gf256.Elem](named("serial/blocked"), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := multiplier.Multiply(context.Background(), c, a, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.At(0, 0).Byte())
	// Output: 1
}

// Parameters have defaults. A value out of range is an error that gives the range.
func ExampleVariant_Resolve() {
	strassen := named("serial/strassen")
	params, err := strassen.Resolve(gemm.Params{"cutoff": 16})
	fmt.Println(params.Int("cutoff"), err)
	_, err = strassen.Resolve(gemm.Params{"cutoff": 0})
	fmt.Println(err)
	// Output:
	// 16 <nil>
	// gemm: bad parameter: cutoff is 0, must be at least 1
}

// Operands that do not conform are an error, and nothing is written.
func ExampleCheckShapes() {
	a, b := gemm.NewMatrix[float64](3, 4), gemm.NewMatrix[float64](5, 2)
	err := gemm.CheckShapes(gemm.NewMatrix[float64](3, 2), a, b)
	fmt.Println(errors.Is(err, gemm.ErrShape), err)
	// Output: true gemm: shapes do not conform: C 3×2, A 3×4, B 5×2
}
