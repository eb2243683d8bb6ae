//go:build !cuda

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "this build of gemm-cuda computes nothing: build it with the tag cuda, where there are cuda.h and a C compiler: make build")
	os.Exit(1)
}
