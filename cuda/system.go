package cuda

// System is what the worker finds: the driver, the libraries that it opens, and the GPUs.
type System struct {
	Driver string `json:"driver"` // version of the kernel driver, such as 580.159.04; empty: not known
	CUDA   string `json:"cuda"`   // that the driver speaks, such as 13.0
	NVRTC  string `json:"nvrtc"`  // version; empty: none
	CuBLAS string `json:"cublas"` // version; empty: none
	GPUs   []GPU  `json:"gpus"`
	// Missing says, line by line, what of the above is not there, and what to do.
	Missing []string `json:"missing,omitempty"`
}

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
	SinglePerDouble   int    `json:"single_per_double"` // rate of f32 over that of f64
	ConcurrentKernels bool   `json:"concurrent_kernels"`
	CopyEngines       int    `json:"copy_engines"`
	ECC               bool   `json:"ecc"`
}

// holds reports whether the given bytes fit into the free memory of the GPU. It returns true if
// that is not known.
func (g GPU) holds(bytes int64) bool { return g.Free == 0 || bytes <= g.Free }
