package gf256_test

import (
	"fmt"
	"log"

	"gemm/gf256"
)

// The sum of two elements is their exclusive or. Every element but 0 has an inverse.
func Example() {
	a, b := gf256.New(0x57), gf256.New(0x83)
	fmt.Printf("%#x %#x %#x\n", gf256.Add(a, b).Byte(), gf256.Mul(a, b).Byte(), gf256.Div(gf256.Mul(a, b), b).Byte())
	// Output: 0xd4 0x31 0x57
}

// A generator matrix times two data shards makes two parity shards. Data shard 0 is lost, and comes from shards 1 and
// 2.
func ExampleMatrix_Decoder() {
	generator, err := gf256.Cauchy(2, 2)
	if err != nil {
		log.Fatal(err)
	}
	data := gf256.NewMatrix(2, 4)
	copy(gf256.Bytes(data.Data), "gemmcode")
	shards := generator.Mul(data)

	have := []int{1, 2}
	decoder, err := generator.Decoder(have, []int{0})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", gf256.Bytes(decoder.Mul(shards.Select(have)).Row(0)))
	// Output: gemm
}
