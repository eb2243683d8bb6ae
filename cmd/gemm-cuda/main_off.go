//go:build !cuda

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "gemm-cuda: this build computes nothing: build it with the tag cuda, where there are cuda.h and a C compiler: make build")
	os.Exit(1)
}
