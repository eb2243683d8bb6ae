package gemm

import (
	"context"
	"time"
)

// Run is one staged product.
type Run interface {
	// Do computes the product once, on the staged operands, and returns what it cost.
	Do(ctx context.Context) (Cost, error)
	// Collect brings the result of the last Do into the c that was staged.
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

// Distribution is what the ranks of a product did.
type Distribution struct {
	Ranks []Rank // by rank
	Used  int    // ranks that computed terms, of their own or of others
	// Counted and Predicted are the same bytes: as the transport counted them, and as the plan of
	// the variant predicts them. Bound is the least number that any algorithm moves. If the
	// operands are on rank 0, they are the bytes that rank 0 sends and receives. Otherwise they are
	// the bytes received by the rank that receives most, without Cannon's skew.
	Counted, Predicted int64
	Bound              float64
	Model              time.Duration // predicted time of the product
	Warnings           []string
}

// Rank is one process of a product.
type Rank struct {
	Rank   int                `json:"rank"`
	Host   string             `json:"host"`
	CPUs   string             `json:"cpus"` // processors that it may run on, such as 0-3
	Phases map[string]float64 `json:"phases_s"`
	Sent   int64              `json:"bytes_sent"`
	Recv   int64              `json:"bytes_recv"`
}

// Device is what a kernel takes of a GPU, and how that ran.
type Device struct {
	Pipe      string   `json:"pipe"`      // f32, f64, tf32 or f64-tensor: what computes
	Registers int      `json:"regs"`      // of a thread
	Spills    int      `json:"spills"`    // bytes stored and loaded for want of registers
	Shared    int      `json:"smem"`      // bytes of a block
	Threads   int      `json:"threads"`   // of a block
	Blocks    int      `json:"blocks"`    // of a launch
	Occupancy float64  `json:"occupancy"` // warps of a multiprocessor over those it can hold; 0: not known
	Limit     []string `json:"limit"`     // what limits it: threads, registers, shared memory, blocks
	// Clock is the median clock of the multiprocessors in the samples, in MHz; 0: not known.
	Clock int `json:"clock_mhz"`
	// Throttled says why the clock was held back; empty if it was not.
	Throttled string `json:"throttled,omitempty"`
	// L2 is cold if the operands change from call to call, so that none is in the cache from the
	// last call. It is warm if they stay the same.
	L2 string `json:"l2"`
	// Counters are the profiler's, by its names, if it was there.
	Counters map[string]float64 `json:"counters,omitempty"`
	Warnings []string           `json:"-"`
}
