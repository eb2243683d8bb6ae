// Package cuda is the ladder of matrix products on an NVIDIA GPU: its kernels, their settings, and the resources
// that they need. Package kernels has the sources, package nvrtc compiles them, and package occupancy
// computes how many blocks run at the same time. Nothing in this package needs a GPU.
package cuda

import (
	"fmt"
	"slices"
	"strings"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
)

// Rung is a step of the ladder: a kernel in one element type.
type Rung struct {
	Name  string // such as blocktile2d
	Type  string // f32, f64, f16, bf16, gf256
	File  string // in package kernels
	Least int    // compute capability that it needs: 80 is 8.0
	Exact bool   // runs on GPUs of this capability alone
	// Tiles are the settings that the kernel is offered with, the default first.
	Tiles []Tile
	// Copies reports whether the kernel copies several elements at once, where alignment
	// lets it.
	Copies  bool
	fetches gemm.Fetch // how threads get elements of A and B, if it does not follow from the other fields
	// Single reports whether it copies A element by element all the same: it lies transposed
	// in shared memory.
	Single bool
	// Batches reports whether it computes batches by one launch, for which it has the settings Small, too.
	Batches bool
	Small   []Tile
	// Splits reports whether it can cut tiles along k (Tail).
	Splits bool
	// Pads reports whether it has no conditions at the edges of operands that go on with zeros.
	Pads bool
	// Capped reports whether its registers can be limited.
	Capped bool
	// AtLaunch reports whether the tile of a block is given when the kernel is launched, by
	// TileArguments, not when it is compiled.
	AtLaunch bool
	// AsStored reports whether the kernel reads operands that are stored transposed as they are. Their rows begin at
	// multiples of 16 bytes, or it reads copies.
	AsStored bool
	boxes    bool // the copy engine brings boxes of A and B as they are stored
	// Persistent reports whether there are at most as many blocks as multiprocessors, which compute tile after tile.
	Persistent bool
	cluster    int         // blocks that have tiles next to each other in a row and share copies; 0 means 1
	stacked    bool        // the tiles of a cluster are one below the other
	prepare    preparation // what comes before the kernel; 0: it reads A and B as they lie, or as they are packed
	// fit adapts the setting to the shape of a product, if the tile is the most rows and k indices
	// that a block can have. nil: the tile is used as it is.
	fit    func(t Tile, s gemm.Shape) Tile
	speeds map[string]Speed // by Tile.Name
	// narrow is the share of the kernel's rate that is left if it copies single elements; 0 if unknown.
	narrow  float64
	threads func(t Tile) int
	shared  func(t Tile) int // bytes that a launch asks for; nil: the kernel has its own
	reads   func(t Tile) (global, block float64)
}

// Tile is the settings of a kernel. One that is 0 is not the kernel's.
type Tile struct {
	BM, BN, BK int // of a block: rows and columns of C, and the slice of k
	TM, TN     int // of a thread
	WM, WN     int // of a warp
	Stages     int // slices in shared memory or on their way there
	Pad        int // elements between rows of a slice in shared memory
	MMAK       int // depth of a product of the tensor cores
}

// options are the macros of t.
func (t Tile) options() []string {
	var out []string
	for _, m := range []struct {
		name  string
		value int
	}{
		{"BM", t.BM}, {"BN", t.BN}, {"BK", t.BK}, {"TM", t.TM}, {"TN", t.TN}, {"WM", t.WM}, {"WN", t.WN},
		{"STAGES", t.Stages}, {"PAD", t.Pad}, {"MMA_K", t.MMAK},
	} {
		if m.value != 0 {
			out = append(out, fmt.Sprintf("-D%s=%d", m.name, m.value))
		}
	}
	return out
}

// String returns the settings as they are in messages: 128x128x8 of a block, and so on.
func (t Tile) String() string {
	s := fmt.Sprintf("%dx%d", t.BM, t.BN)
	if t.BK != 0 {
		s += fmt.Sprintf("x%d", t.BK)
	}
	for _, m := range []struct {
		name       string
		rows, cols int
	}{{"warp", t.WM, t.WN}, {"thread", t.TM, t.TN}} {
		switch {
		case m.cols != 0:
			s += fmt.Sprintf(" %s %dx%d", m.name, m.rows, m.cols)
		case m.rows != 0:
			s += fmt.Sprintf(" %s %d", m.name, m.rows)
		}
	}
	for _, m := range []struct {
		name  string
		value int
	}{{"stages", t.Stages}, {"pad", t.Pad}, {"mma_k", t.MMAK}} {
		if m.value != 0 {
			s += fmt.Sprintf(" %s %d", m.name, m.value)
		}
	}
	return s
}

// Name returns the setting as the parameter tile has it: 128x128x8/32x64/8x8 are the tiles
// of block, warp and thread.
func (t Tile) Name() string {
	s := fmt.Sprintf("%dx%d", t.BM, t.BN)
	if t.BK != 0 {
		s += fmt.Sprintf("x%d", t.BK)
	}
	if t.WM != 0 {
		s += fmt.Sprintf("/%dx%d", t.WM, t.WN)
	}
	if t.TM != 0 {
		s += fmt.Sprintf("/%dx%d", t.TM, max(t.TN, 1))
	}
	return s
}

// block returns the threads along an edge of a square block.
func (t Tile) block() int {
	switch {
	case t.WM != 0:
		return 0
	case t.TN != 0 && t.BM/t.TM == t.BN/t.TN:
		return t.BM / t.TM
	case t.TM == 0 && t.BM == t.BN:
		return t.BM
	}
	return 0
}

// Widths are how many elements of A, B and C are copied at once.
type Widths struct{ A, B, C int }

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

// Pipe returns what computes: f32, f64, tf32, f16, bf16, f64-tensor or gf256.
func (r Rung) Pipe() string {
	switch r.Name {
	case "tf32-wmma", "tf32-mma", "tf32-wgmma", "tf32-wgmma-ws", "tf32-wgmma-persistent":
		return "tf32"
	case F16x3:
		return "f16"
	case "dmma-wmma", "dmma":
		return "f64-tensor"
	}
	return r.Type
}

// Packs reports whether A and B are laid out anew before the product, by the kernels pack_a
// and pack_b.
func (r Rung) Packs() bool { return strings.HasPrefix(r.Name, "packed-") }

// Threads returns the threads of a block.
func (r Rung) Threads(t Tile) int { return r.threads(t) }

// Shared returns the bytes of shared memory that a launch asks for, besides what the
// kernel has of its own.
func (r Rung) Shared(t Tile) int {
	if r.shared == nil {
		return 0
	}
	return r.shared(t)
}

// Program returns the kernel as it is compiled for a compute capability.
func (r Rung) Program(t Tile, w Widths, arch int) (nvrtc.Program, error) {
	source, err := kernels.Source(r.Type, r.File)
	if err != nil {
		return nvrtc.Program{}, err
	}
	options := t.options()
	if r.AtLaunch {
		options = Tile{TN: t.TN}.options()
	}
	if r.Copies {
		options = append(options, fmt.Sprintf("-DVA=%d", w.A), fmt.Sprintf("-DVB=%d", w.B), fmt.Sprintf("-DVC=%d", w.C))
	}
	if r.Type == "bf16" {
		options = append(options, "-DBF16")
	}
	return nvrtc.Program{Name: r.File, Source: source, Arch: arch, Exact: r.Exact, Options: options}, nil
}

// TileArguments returns the last arguments of a kernel whose tile is given AtLaunch.
func (t Tile) TileArguments() []int { return []int{t.BM, t.BN, t.BK} }

// Fitted returns the setting with which the rung computes a product of the shape if the tile is given.
func (r Rung) Fitted(t Tile, s gemm.Shape) Tile {
	if r.fit == nil {
		return t
	}
	return r.fit(t, s)
}

// rungNamed returns a rung of an element type.
func rungNamed(name, typ string) (Rung, error) {
	for _, r := range rungs {
		if r.Name == name && r.Type == typ {
			return r, nil
		}
	}
	return Rung{}, fmt.Errorf("%w: cuda/%s has no %s", gemm.ErrType, name, typ)
}

// Prepares reports whether other kernels come before the one that multiplies: they are a part of the product.
func (r Rung) Prepares() bool { return r.Packs() || r.prepare != 0 }

// Ladder returns the rungs of an element type in their order.
func Ladder(typ string) []Rung {
	return slices.DeleteFunc(slices.Clone(rungs), func(r Rung) bool { return r.Type != typ })
}
