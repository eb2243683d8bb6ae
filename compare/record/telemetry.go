package record

import (
	"gemm"
	"gemm/internal/cpu"
	"gemm/internal/occupancy"
	"gemm/internal/timeline"
)

// The telemetry of backends: what a product says of itself besides its result and its time. Records have it as it is.

// Warner is implemented by a gemm.Multiplier that knows why its speed says little of it.
// Every warning is one sentence; they are kept in the row.
type Warner interface{ Warnings() []gemm.Note }

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
	Warnings                         []gemm.Note
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
	Warnings []gemm.Note        `json:"-"`
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
