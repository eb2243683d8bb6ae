package cuda

import (
	"fmt"
	"strings"

	"gemm/cuda/nvrtc"
	"gemm/internal/occupancy"
)

// Explanation is what can be said of a rung without running it.
type Explanation struct {
	Rung    Rung
	Tile    Tile
	MaxRegs int // registers of a thread at most; 0: no limit
	Kernel  nvrtc.Kernel
	occupancy.Occupancy
	// Global and Block are the elements of A and B that are read per multiply-add: from global
	// memory (equations 11 and 12 of the 2024 report) and from shared memory (equations 14 and 15).
	Global, Block float64
	// Intensity is floating-point operations a byte that is read from global memory.
	Intensity float64
	Accesses  []Access // to shared memory, with the widest copies
	Passes    float64  // of reads over its banks a multiply-add of a warp; 0: not known
	Sectors   float64  // of global memory that a warp reads for a k index; 0: it reads slices
}

// Explain compiles the rung for copies of 16 bytes and returns what it needs on a GPU of the
// compute capability. If the rung is Capped and maxRegs is not 0, the registers of a thread are
// limited. The tile's Pad may be ladder.NoPad. The error is a gemm.ErrUnavailable if the kernel needs a
// newer GPU or the compiler does not know it, and a TileError if the kernel cannot have the tile.
func Explain(c nvrtc.Compiler, r Rung, t Tile, maxRegs int, capability occupancy.Capability) (Explanation, error) {
	e := Explanation{Rung: r, Tile: t, MaxRegs: maxRegs}
	arch := 10*capability.Major + capability.Minor
	if err := r.Runs(arch); err != nil {
		return e, err
	}
	if err := r.Check(t, r.Widest()); err != nil {
		return e, err
	}
	p := Plan{Rung: r, Tile: t, Widths: r.Widest(), MaxReg: maxRegs}.Program(arch)
	image, err := c.Compile(p)
	if err != nil {
		return e, err
	}
	var ok bool
	if e.Kernel, ok = image.Kernels[entry]; !ok {
		return e, fmt.Errorf("cuda: %s has no kernel %s", p.Name, entry)
	}
	e.Kernel.Shared += r.Shared(t)
	e.Occupancy, err = occupancy.Of(capability,
		occupancy.Kernel{Threads: r.Threads(t), Registers: e.Kernel.Registers, Shared: e.Kernel.Shared})
	e.Global, e.Block = r.Reads(t)
	e.Intensity = 2 / (e.Global * float64(r.Size()))
	e.Accesses = r.Accesses(t, r.Widest())
	e.Passes = r.Passes(t, e.Accesses)
	e.Sectors = r.Sectors(t)
	return e, err
}

// BlocksWithin returns the least BLOCKS with which the compiler keeps a thread within maxRegs registers. BLOCKS whole
// blocks must fit on a multiprocessor, so the resulting limit, 65536/(BLOCKS*threads), can be lower.
func (r Rung) BlocksWithin(t Tile, maxRegs int) int {
	return ceil(64<<10, maxRegs*r.Threads(t))
}

// Padded reports whether the rung's rows of a slice can be lengthened: Tile.Pad.
func (r Rung) Padded() bool { return strings.Contains(r.source(), "#ifndef PAD\n") }

// Step returns what the rung is in a sentence: the first of the kernel's file.
func (r Rung) Step() string {
	header, _, _ := strings.Cut(r.source(), "\n//\n")
	return strings.ReplaceAll(strings.TrimPrefix(header, "// "+r.Name+": "), "\n// ", " ")
}

// Change is a figure that differs between two rungs.
type Change struct {
	Figure string  `json:"figure"`
	From   float64 `json:"from"`
	To     float64 `json:"to"`
}

// Changes returns the figures that differ between a rung and the one after it, with the names that they have in tables.
func Changes(from, to Explanation) []Change {
	var out []Change
	for _, figure := range []struct {
		name string
		of   func(e Explanation) float64
	}{
		{"threads", func(e Explanation) float64 { return float64(e.Rung.Threads(e.Tile)) }},
		{"registers", func(e Explanation) float64 { return float64(e.Kernel.Registers) }},
		{"bytes spilled", func(e Explanation) float64 { return float64(e.Kernel.Spills) }},
		{"bytes of shared memory", func(e Explanation) float64 { return float64(e.Kernel.Shared) }},
		{"% occupancy", func(e Explanation) float64 { return 100 * e.Share }},
		{"global reads", func(e Explanation) float64 { return e.Global }},
		{"shared reads", func(e Explanation) float64 { return e.Block }},
		{"passes", func(e Explanation) float64 { return e.Passes }},
		{"sectors a k", func(e Explanation) float64 { return e.Sectors }},
		{"flop/byte", func(e Explanation) float64 { return e.Intensity }},
		{"barriers a slice", func(e Explanation) float64 { return float64(e.Rung.Barriers.Slice) }},
	} {
		if figure.name == "passes" && (unknownPasses(from) || unknownPasses(to)) {
			continue
		}
		if a, b := figure.of(from), figure.of(to); a != b {
			out = append(out, Change{figure.name, a, b})
		}
	}
	return out
}

// unknownPasses reports whether shared memory is read in a way that is not known.
func unknownPasses(e Explanation) bool { return e.Block > 0 && e.Passes == 0 }

// entry is the name of the kernel that multiplies, in every file.
const entry = "gemm"
