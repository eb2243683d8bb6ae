package record

import (
	"context"

	"gemm"
	"gemm/internal/cpu"
	"gemm/internal/note"
	"gemm/internal/occupancy"
	"gemm/internal/timeline"
)

// The telemetry of backends: what a product says of itself besides its result and its time. Records have it as it is.

// Note is a warning or a reason.
type Note = note.Note

// Warner is implemented by a gemm.Multiplier that knows why its speed says little of it.
// Every warning is one sentence; they are kept in the row.
type Warner interface{ Warnings() []Note }

// Distributed is implemented by a gemm.Run whose product several processes compute.
type Distributed interface {
	// Distribution returns what they did in the last product.
	Distribution() Distribution
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
	// CountedBetween and PredictedBetween are all bytes that ranks received from other hosts.
	CountedBetween, PredictedBetween int64
	Model                            Model
	Warnings                         []Note
}

// Model is the predicted time of a product, in seconds, and the times of its parts: of latencies, of
// bytes and of computation.
type Model struct{ Seconds, Latency, Transfer, Compute float64 }

// Rank is one process of a product.
type Rank struct {
	Rank   int                `json:"rank"`
	Host   string             `json:"host"`
	CPUs   string             `json:"cpus"` // processors that it may run on, such as 0-3
	Phases map[string]float64 `json:"phases_s"`
	// On both paths, and between hosts. plan.Traffic says what is counted.
	Sent        int64 `json:"bytes_sent"`
	Recv        int64 `json:"bytes_recv"`
	SentBetween int64 `json:"bytes_sent_between,omitempty"`
	RecvBetween int64 `json:"bytes_recv_between,omitempty"`

	GPU *DevicePart `json:"gpu,omitempty"` // that the rank computes on; nil: on processors
}

// OnDevice is implemented by a gemm.Run whose product a GPU computes.
type OnDevice interface {
	// Device returns what the kernel took of the GPU, and how that ran in the samples.
	Device() Device
	// Watts returns the power that the GPU takes now; 0 if it is not known.
	Watts() float64
}

// Device is what a kernel takes of a GPU, and how that ran.
type Device struct {
	Pipe      string   `json:"pipe"`      // f32, f64, tf32, f16, bf16, f64-tensor or gf256: what computes
	Registers int      `json:"regs"`      // of a thread
	Spills    int      `json:"spills"`    // bytes stored and loaded for want of registers
	Shared    int      `json:"smem"`      // bytes of a block
	Threads   int      `json:"threads"`   // of a block
	Blocks    int      `json:"blocks"`    // of a launch
	Occupancy float64  `json:"occupancy"` // warps of a multiprocessor over the most that it can hold; 0: not known
	Limit     []string `json:"limit"`     // what limits it: threads, registers, shared memory, blocks
	// Waves is how many tiles of C the busiest place of a multiprocessor computes, one after the other. Fill is the
	// share of the places' time that tiles take. 0: not known.
	Waves float64 `json:"waves,omitempty"`
	Fill  float64 `json:"fill,omitempty"`
	// Intensity is operations a byte of global memory that is read or written, counted from the tiles; 0: not known.
	Intensity float64 `json:"flops_per_byte,omitempty"`
	// Clock is the median clock of the multiprocessors in the samples, in MHz; 0: not known.
	Clock int `json:"clock_mhz"`
	// Power is what the GPU took at the end of the products that followed the samples; 0: not known.
	Power float64 `json:"power_w,omitempty"`
	// Throttled says why the clock was held back; empty if it was not.
	Throttled string `json:"throttled,omitempty"`
	// L2 is cold if the operands change from call to call, so that none is in the cache from the
	// last call. It is warm if they stay the same.
	L2 string `json:"l2"`
	// Counters are the profiler's, by its names, if it was there.
	Counters map[string]float64 `json:"counters,omitempty"`
	// Parts is what each GPU did in the last product if several compute it; nil: one does. The other members are of
	// the first one and its first kernel.
	Parts    []DevicePart `json:"parts,omitempty"`
	Warnings []Note       `json:"-"`
}

// DevicePart is what one of several GPUs did in a product.
type DevicePart struct {
	Device  int     `json:"device"`     // number of the GPU
	Peer    int64   `json:"bytes_peer"` // copied from other GPUs directly
	Host    int64   `json:"bytes_host"` // copied from other GPUs through the memory of the host
	Kernels float64 `json:"kernels_s"`  // seconds of its kernels
	Copies  float64 `json:"copies_s"`   // seconds from the begin of the product to the end of its copies
	Exposed float64 `json:"exposed_s"`  // seconds without a kernel
}

// What records have of the platform, under names that other modules can write.
type (
	Topology = cpu.Topology      // how the processors of a host are nested
	GPU      = occupancy.GPU     // the limits of a GPU
	Activity = timeline.Activity // what workers, ranks or streams of a GPU did in a product
	Span     = timeline.Span     // of a chunk of a loop
	Phase    = timeline.Phase    // of a rank or a stream
	Stage    = timeline.Stage    // of a product from and to the memory of the host
	Step     = timeline.Step     // of a warp
	Group    = timeline.Group    // of warps
)

// The optional interfaces by which a gemm.Multiplier lets a measurement do more than multiply. A variant declares those
// that its multipliers have (gemm.Capabilities).

// Toucher is a gemm.Multiplier whose workers use the same parts of the operands in every product. In
// Touch each worker writes zeros to its parts. The matrices hold zeros and have not been accessed
// before, so the system places the pages on the NUMA node of the worker (first touch).
type Toucher[T gemm.Element] interface {
	Touch(c, a, b gemm.Matrix[T])
}

// Loadable is implemented by multipliers whose parts can be given unequal work, for experiments on schedules.
type Loadable[T gemm.Element] interface {
	// Loaded returns the multiplier under an artificial load: it computes the first part of a product once, the last
	// part 1+load times, and the parts between in proportion. It shares everything else with the receiver.
	Loaded(load int) gemm.Multiplier[T]
}

// Chainer is implemented by multipliers that compute iterated products where their operands lie.
type Chainer[T gemm.Element] interface {
	// StageChain stages the operands of an iterated product of square matrices, as verify.Chain defines it: in each of
	// the steps s ← s + b, then c ← a·s, and c and a change places. Each Do of the Run begins with the operands as they
	// were staged, and its time includes all steps. Collect copies the result into c.
	StageChain(ctx context.Context, steps int, c, a, s, b gemm.Matrix[T]) (gemm.Run, error)
}

// Repeater is a gemm.Run that computes its product several times on one request, and returns the
// cost of all of them. It is for products in other processes that are too short to be timed one by one.
type Repeater interface {
	Repeat(ctx context.Context, times int) (gemm.Cost, error)
}
