package gemm

import (
	"context"
	"time"
)

// Multiplier computes C = A·B.
//
// It overwrites all of c (m×n), and does not change a (m×k) and b (k×n). If it returns ErrShape or
// ErrOverlap, it has written nothing. c must not overlap a or b. If the context is cancelled, the product ends
// early with the context's error, and c is undefined. For k = 0, c becomes zero.
//
// Any number of goroutines may call a Multiplier at the same time. There are two kinds:
//
//   - The multipliers of serial/*, parallel/packed, parallel/strassen and BLAS libraries compute
//     all these products. Each product has a workspace of its own; the last workspace is kept for
//     the next call.
//   - The others use something that exists once: workers with a schedule, the ranks of a job, a GPU.
//     They compute one product at a time, and return ErrBusy at once for any other call.
//
// No Multiplier waits for another call to end.
type Multiplier[T Element] interface {
	Multiply(ctx context.Context, c, a, b Matrix[T]) error
}

// Run is one staged product.
type Run interface {
	// Do computes the product once, on the staged operands, and returns what it cost.
	Do(ctx context.Context) (Cost, error)
	// Collect copies the result of the last Do into the c that was staged.
	Collect(ctx context.Context) error
	// Close frees what Stage took.
	Close() error
}

// Cost is what one product took, by its own clock.
type Cost struct {
	Time   time.Duration            // the whole product as its user waits for it
	Phases map[string]time.Duration // its parts, by the names of the records' phases_s
	Sent   int64                    // bytes sent by this process
	Recv   int64                    // bytes received by this process
}
