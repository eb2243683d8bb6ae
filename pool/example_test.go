package pool_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"gemm/pool"
)

// A loop is shared out in chunks; each worker has a sum of its own, and they are added
// at the end.
func ExamplePool_For() {
	p := pool.New(4)
	sums := make([]float64, p.Workers())
	err := p.For(context.Background(), 1000, pool.Guided(8), func(worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[worker] += 1 / (float64(i+1) * float64(i+1))
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	total := 0.0
	for _, sum := range sums {
		total += sum
	}
	fmt.Printf("%.3f of %.3f\n", total, math.Pi*math.Pi/6)
	// Output: 1.644 of 1.645
}

// The chunks of a schedule, as the workers get them.
func ExampleStatic() {
	shares := pool.Static(3).Share(10, 2)
	for turn := range 2 {
		for worker := range 2 {
			lo, hi := shares.Next(worker, turn)
			fmt.Printf("worker %d: %d to %d\n", worker, lo, hi-1)
		}
	}
	// Output:
	// worker 0: 0 to 2
	// worker 1: 3 to 5
	// worker 0: 6 to 8
	// worker 1: 9 to 9
}
