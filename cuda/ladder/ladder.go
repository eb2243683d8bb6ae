// Package ladder says what a rung of the CUDA ladder is: its settings, and models of what its kernel takes and reads.
// The packages in cuda/kernels have one literal for each rung.
package ladder

import (
	"cmp"

	"gemm"
)

// Rung is a step of the ladder: a kernel in one element type.
type Rung struct {
	Name string // such as blocktile2d
	Type string // f32, f64, gf256, or half: f16 and bf16, which have one source
	// Doc says in a sentence what the kernel does. Empty: what the first rung of this name says, of another type.
	Doc string
	// Source is the path of its files in cuda/kernels without the ending; empty: Name in the folder of the type.
	Source string
	// Parent is the rung that it changes, as NAME of the same type or as TYPE/NAME; empty: the one before it in its type.
	Parent string
	// Role and Class are what a gemm.Variant has; of several rungs of one name, the first counts.
	Role   gemm.Role
	Former gemm.Role // FormerRole of the gemm.Variant
	Class  gemm.Class
	Advice string // item of docs/advice.md that the kernel follows, and its parent does not
	Least  int    // compute capability that it needs: 80 is 8.0
	Exact  bool   // runs on GPUs of this capability alone
	Arithmetic
	// Tiles are the settings that the kernel is offered with, the default first.
	Tiles []Tile
	// Copies reports whether the kernel copies several elements at once, where alignment lets it.
	Copies bool
	// Single reports whether it copies A element by element all the same: it lies transposed in shared memory.
	Single bool
	// Batches reports whether it computes batches by one launch, for which it has the settings Small, too.
	Batches bool
	Small   []Tile
	Splits  bool // it can cut tiles along k
	Pads    bool // it has no conditions at the edges of operands that go on with zeros
	Capped  bool // its registers can be limited
	// AtLaunch reports whether the tile of a block is given when the kernel is launched, not when it is compiled. If
	// such a kernel cannot have a tile that its source does not refuse, Refuses says why.
	AtLaunch bool
	Refuses  func(t Tile) string
	// AsStored reports whether the kernel reads operands that are stored transposed as they are. Their rows begin at
	// multiples of 16 bytes, or it reads copies.
	AsStored bool
	// Persistent reports whether there are at most as many blocks as multiprocessors, which compute tile after tile.
	Persistent bool
	Cluster    int  // blocks that have tiles next to each other in a row and share copies; 0 means 1
	Stacked    bool // the tiles of a cluster are one below the other
	ByEngine   bool // the copy engine stores C, by a map of it
	Operands   Operands
	Fetch      string // how threads get elements of A and B (record.Fetch), if it does not follow from other members
	Fallback   string // the rung that computes products whose operands turn out not to suit this one
	// Turns reports whether a kernel rounds B, not A, if B is smaller (BY_ROWS). Three reports whether high and low
	// parts have three products (THREE).
	Turns, Three bool
	// Instead is the rung that computes a product if it is predicted to take less time. In place of Split operands it
	// has Three.
	Instead string
	// Fit adapts the setting to the shape of a product, if the tile is the most rows and k indices that a block can
	// have. nil: the tile is used as it is.
	Fit func(t Tile, s gemm.Shape) Tile
	// Rows returns a setting with rows of the given number of threads, each with the given bytes. It is the search
	// space of a type of bytes; nil: the rung has only its own settings.
	Rows   func(own Tile, threads, bytes int) Tile
	Speeds map[string]Speed // by Tile.Name
	// Narrow is the share of the kernel's rate that is left if it copies single elements; 0 if unknown.
	Narrow  float64
	Threads func(t Tile) int // of a block
	Shared  func(t Tile) int // bytes that a launch asks for; nil: the kernel has its own
	// Registers estimates what a thread keeps between two instructions: sums and fragments, in registers of 4 bytes.
	// nil: as for thread tiles.
	Registers func(t Tile) int
	// Reads returns the elements that a multiply-add reads from global and from shared memory.
	Reads    func(t Tile) (global, block float64)
	Barriers Barriers
	// Banks returns the requests to shared memory for a slice, with the names of the source. nil: there are none, or
	// the instruction leaves open what lanes read.
	Banks func(t Tile, w Widths) []Request
	// Elements returns which elements of A and of B a thread reads from global memory for an index of k. nil: it reads
	// slices.
	Elements func(t Tile, thread int) (a, b int)
}

// Arithmetic is what a kernel computes in. The zero value is the arithmetic of the type.
type Arithmetic struct {
	Pipe    string // of the GPU: f32, f64, tf32, f16, bf16, f64-tensor or gf256; empty: the type
	Compute string // empty: the type
	Bound   gemm.Bound
}

// Barriers are those that a block meets for each slice of k, and besides. With fewer than two for a slice, shared
// memory holds several slices.
type Barriers struct{ Slice, Besides int }

// Operands says what happens to A and B before the kernel that multiplies reads them.
type Operands int

// AsTheyLie: it reads A and B in global memory.
const (
	AsTheyLie Operands = iota
	Packed             // kernels pack_a and pack_b lay them out in blocks
	Boxed              // the copy engine copies boxes of them as they are stored
	Rounded            // a kernel rounds A to TF32, and the copy engine copies boxes
	Split              // kernels split each element into two of f16, and the copy engine copies boxes
	ByResidue          // kernels split each element into residues, of which there are planes, and join their products
)

// Speed is the measured speed of a rung with a setting. The choice between settings uses it. The
// figures are from an H200; on another GPU, gemm tune measures which setting is best.
type Speed struct {
	Share  float64 // of the pipe's peak that a multiprocessor full of blocks reaches
	Blocks int     // on a multiprocessor
	Alone  float64 // share of the peak that a block reaches that is alone on it
	Ends   float64 // seconds of a wave until the first and after the last slice
}

// Widths are how many elements of A, B and C are copied at once.
type Widths struct{ A, B, C int }

// In returns the rung of an element type, with what its literal leaves open.
func (r Rung) In(typ string) Rung {
	r.Type, r.Pipe = typ, cmp.Or(r.Pipe, typ)
	if r.Shared == nil {
		r.Shared = func(Tile) int { return 0 }
	}
	if r.Fit == nil {
		r.Fit = func(t Tile, _ gemm.Shape) Tile { return t }
	}
	if r.Registers == nil {
		r.Registers = perThread(r.Size() / 4)
	}
	if r.Bound.Worst == nil {
		r.Bound = gemm.Classical
	}
	return r
}

// Then returns the rung after r that differs in nothing else.
func (r Rung) Then(name, doc string) Rung {
	r.Name, r.Doc, r.Parent, r.Advice = name, doc, "", ""
	return r
}

// Packs reports whether A and B are laid out anew before the product, by the kernels pack_a and pack_b.
func (r Rung) Packs() bool { return r.Operands == Packed }

// Mapped reports whether the copy engine copies the slices of the operands.
func (r Rung) Mapped() bool { return r.Operands >= Boxed }

// Prepares reports whether other kernels come before the one that multiplies: they are a part of the product.
func (r Rung) Prepares() bool { return r.Operands != AsTheyLie && r.Operands != Boxed }

// Widest returns the widths of operands that are aligned as they can be: 16 bytes.
func (r Rung) Widest() Widths {
	if !r.Copies {
		return Widths{1, 1, 1}
	}
	w := 16 / r.Size()
	return Widths{w, w, w}
}

// Size returns the bytes of an element.
func (r Rung) Size() int { return gemm.TypeNamed(r.Type).Size }

// Runs returns an ErrUnavailable if GPUs of the compute capability, such as 90, cannot run the rung.
func (r Rung) Runs(arch int) error {
	switch {
	case arch < r.Least:
		return gemm.Unavailablef("needs compute capability %d.%d", r.Least/10, r.Least%10)
	case r.Exact && arch != r.Least:
		return gemm.Unavailablef("needs compute capability %d.%d itself: no later one has its instructions", r.Least/10,
			r.Least%10)
	}
	return nil
}
