package occupancy

// GPU is a device and its limits. Memory is in bytes, clocks are in MHz.
type GPU struct {
	Index             int    `json:"index"`
	Name              string `json:"name"`
	PCI               string `json:"pci,omitempty"` // address, such as 0000:3b:00.0; empty: not known
	Capability        string `json:"cc"`            // such as 9.0
	Multiprocessors   int    `json:"multiprocessors"`
	Memory            int64  `json:"memory"`
	Free              int64  `json:"free"` // bytes of the memory; 0: not known
	L2                int    `json:"l2"`
	Clock             int    `json:"clock_mhz"`        // of the multiprocessors at most
	MemoryClock       int    `json:"memory_clock_mhz"` // at most
	BusWidth          int    `json:"bus_width"`        // of the memory, in bits
	Warp              int    `json:"warp"`             // threads
	BlockThreads      int    `json:"block_threads"`    // of a block at most, and so on
	BlockShared       int    `json:"block_shared"`
	BlockSharedOptIn  int    `json:"block_shared_opt_in"` // where the kernel asks for it
	BlockRegisters    int    `json:"block_registers"`
	Threads           int    `json:"threads"` // of a multiprocessor at most, and so on
	Blocks            int    `json:"blocks"`
	Shared            int    `json:"shared"`
	Registers         int    `json:"registers"`
	SinglePerDouble   int    `json:"single_per_double"` // rate of f32 over the rate of f64
	ConcurrentKernels bool   `json:"concurrent_kernels"`
	CopyEngines       int    `json:"copy_engines"`
	ECC               bool   `json:"ecc"`
}
