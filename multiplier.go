package gemm

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/blas"
)

// Multiplier computes C = A·B.
//
// It overwrites all of c (m×n), leaves a (m×k) and b (k×n) alone, and writes
// nothing when it returns ErrShape. c must not overlap a or b. A context that is
// cancelled ends the product early with the context's error; c is then
// undefined. k = 0 makes c zero.
//
// Any number of goroutines may call a Multiplier at the same time. The multipliers of
// serial/*, parallel/packed, parallel/strassen and of BLAS libraries compute all these
// products, each in a workspace of its own; the last workspace is kept for the next call.
// The others hold something that exists once: workers with a schedule, the ranks of a job, a
// GPU. They have one product at a time, and return ErrBusy at once for any other call. No
// Multiplier waits for another call to end.
type Multiplier[T Element] interface {
	Multiply(ctx context.Context, c, a, b Matrix[T]) error
}

// Gemmer is the full BLAS operation C ← α·op(A)·op(B) + β·C, where op(X) is X
// (blas.NoTrans) or its transpose (blas.Trans, blas.ConjTrans). β = 0 does not
// read C, so that NaN there does not spread; α = 0 or k = 0 does not read A and
// B. Shapes are those of op(A) (m×k), op(B) (k×n) and C (m×n), errors those of
// a Multiplier.
//
// α multiplies the sums of products. What they lose by underflow is, with |α| ≤ 2²⁴, no more
// than the least normal number a term; what overflows stays infinite. With |α| above 2²⁴ or
// below 2⁻²⁴ serial/packed, parallel/packed and mpi's multiply an operand by a power of two
// of α, so that both happen only where the result itself is beyond the range.
type Gemmer[T Float] interface {
	Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b Matrix[T], beta T, c Matrix[T]) error
}

// Exclusive is what a Multiplier of one product at a time has. The zero value is free.
type Exclusive struct{ held atomic.Bool }

// Enter begins a product of the variant, which ends with Leave. The error is an ErrBusy
// where another product has begun and not ended.
func (x *Exclusive) Enter(variant string) error {
	if x.held.CompareAndSwap(false, true) {
		return nil
	}
	return fmt.Errorf("%w: %s has one product at a time, and another goroutine has begun one: make a multiplier for each goroutine, or call one after the other",
		ErrBusy, variant)
}

// Leave ends a product.
func (x *Exclusive) Leave() { x.held.Store(false) }

// Stager is implemented where operands live elsewhere, on other ranks or on a
// device. Stage places them; the Run then does the product as often as it is
// asked to. On ranks other than the root c, a and b are empty, and every rank
// makes the same calls; a cancelled context is agreed on by all ranks.
// Measuring uses a Stager in place of Multiply where there is one.
type Stager[T Element] interface {
	Stage(ctx context.Context, c, a, b Matrix[T]) (Run, error)
}

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

// Distributed is implemented by a Run whose product several processes compute.
type Distributed interface {
	// Distribution returns what they did in the last product.
	Distribution() Distribution
}

// Distribution is what the ranks of a product did.
type Distribution struct {
	Ranks []Rank // by rank
	Used  int    // ranks that had terms to compute
	// Counted and Predicted are the same bytes, as the transport counted them and as the
	// plan of the variant has them; Bound is the least that any algorithm moves there. For
	// operands that lie on rank 0 they are those sent and received by rank 0, otherwise
	// those received by the rank that receives most, without Cannon's skew.
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

// OnDevice is implemented by a Run whose product a GPU computes.
type OnDevice interface {
	// Device returns what the kernel took of the GPU, and how that ran in the samples.
	Device() Device
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
	// Throttled says why the clock was held back; empty where it was not.
	Throttled string `json:"throttled,omitempty"`
	// L2 is cold where operands change from call to call, so that none is in the cache from
	// the last one, and warm where they are the same.
	L2 string `json:"l2"`
	// Counters are the profiler's, by its names, where it was there.
	Counters map[string]float64 `json:"counters,omitempty"`
	Warnings []string           `json:"-"`
}

// Explainer is implemented by a Multiplier that chose something at run time.
// Resolved returns the parameters as they were used in the last product (auto
// has become a value, a library its version); they are kept in the record
// beside those that were asked for.
type Explainer interface {
	Resolved() Params
}
