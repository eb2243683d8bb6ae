package parallel

import (
	"runtime"

	"gemm"
)

// Variants returns the parallel variants in report order.
func Variants() []gemm.Variant { return []gemm.Variant{packedVariant(), strassenVariant()} }

// processors is the number of goroutines that can run at once when the program
// begins; measuring a serial variant lowers it for a while.
var processors = runtime.GOMAXPROCS(0)

// threadsParam describes the number of workers.
func threadsParam() gemm.Param {
	return gemm.Param{Name: "threads", Default: processors, Min: 1, Doc: "workers; those above the number of processors take turns"}
}
