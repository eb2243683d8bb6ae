package rs_test

import (
	"fmt"
	"log"
	"os"

	"gemm/rs"
)

// Data is divided into four shards and gets two of parity. Any two of the six may be lost.
func Example() {
	code, err := rs.New(4, 2)
	if err != nil {
		log.Fatal(err)
	}
	data := []byte("any four of these six shards restore the data")
	shards, err := code.Split(data)
	if err != nil {
		log.Fatal(err)
	}
	if err := code.Encode(shards); err != nil {
		log.Fatal(err)
	}
	shards[1], shards[4] = nil, nil
	if err := code.Reconstruct(shards); err != nil {
		log.Fatal(err)
	}
	if err := code.Join(os.Stdout, shards, len(data)); err != nil {
		log.Fatal(err)
	}
	fmt.Println()
	// Output: any four of these six shards restore the data
}
