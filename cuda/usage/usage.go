// Package usage is what a kernel takes of a GPU, as the worker tells it to the driver and as records
// have it.
package usage

import "gemm/compare/note"

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
	Occupancy float64  `json:"occupancy"` // warps of a multiprocessor over those it can hold; 0: not known
	Limit     []string `json:"limit"`     // what limits it: threads, registers, shared memory, blocks
	// Waves is how many tiles of C the busiest place of a multiprocessor computes, one after the other. Fill is the
	// share of the places' time that tiles take. 0: not known.
	Waves float64 `json:"waves,omitempty"`
	Fill  float64 `json:"fill,omitempty"`
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
	Warnings []note.Note        `json:"-"`
}

// Stage is a part of a product from and to the host's memory.
type Stage struct {
	Name  string `json:"name"`  // copy in, kernel or copy out
	Begin int64  `json:"begin"` // nanoseconds since 1970
	End   int64  `json:"end"`
}
