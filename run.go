package gemm

import (
	"context"
	"time"
)

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
