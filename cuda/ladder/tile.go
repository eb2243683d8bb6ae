package ladder

import (
	"fmt"
	"strings"
)

// Tile is the settings of a kernel. One that is 0 is not the kernel's.
type Tile struct {
	BM, BN, BK int // of a block: rows and columns of C, and the slice of k
	TM, TN     int // of a thread
	WM, WN     int // of a warp
	Stages     int // slices in shared memory or on their way there
	Pad        int // elements between rows of a slice in shared memory
	MMAK       int // depth of a product of the tensor cores
}

// NoPad is the Pad of a tile whose rows of a slice lie one behind the other: 0 leaves the kernel's own.
const NoPad = -1

// Macro is a number of a kernel's source that the host sets.
type Macro struct {
	Name  string
	Value int
}

// Macros returns all numbers of t, by the names of the sources.
func (t Tile) Macros() []Macro {
	return []Macro{{"BM", t.BM}, {"BN", t.BN}, {"BK", t.BK}, {"TM", t.TM}, {"TN", t.TN}, {"WM", t.WM}, {"WN", t.WN},
		{"STAGES", t.Stages}, {"PAD", t.Pad}, {"MMA_K", t.MMAK}}
}

// String returns the settings as they are in messages: 128x128x8 of a block, and so on.
func (t Tile) String() string {
	s := t.ofBlock()
	if t.WN != 0 {
		s += fmt.Sprintf(" warp %dx%d", t.WM, t.WN)
	}
	switch {
	case t.TN != 0:
		s += fmt.Sprintf(" thread %dx%d", t.TM, t.TN)
	case t.TM != 0:
		s += fmt.Sprintf(" thread %d", t.TM)
	}
	for _, m := range t.Macros()[7:] {
		if m.Value != 0 {
			s += fmt.Sprintf(" %s %d", strings.ToLower(m.Name), m.Value)
		}
	}
	return s
}

// Name returns the setting as the parameter tile has it: 128x128x8/32x64/8x8 are the tiles of block, warp and thread.
func (t Tile) Name() string {
	s := t.ofBlock()
	if t.WM != 0 {
		s += fmt.Sprintf("/%dx%d", t.WM, t.WN)
	}
	if t.TM != 0 {
		s += fmt.Sprintf("/%dx%d", t.TM, max(t.TN, 1))
	}
	return s
}

func (t Tile) ofBlock() string {
	if t.BK == 0 {
		return fmt.Sprintf("%dx%d", t.BM, t.BN)
	}
	return fmt.Sprintf("%dx%dx%d", t.BM, t.BN, t.BK)
}

// Edge returns the threads along an edge of a square block.
func (t Tile) Edge() int {
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

// PadOf returns the elements between rows of a slice of A, own where the tile leaves them to the kernel.
func (t Tile) PadOf(own int) int {
	if t.Pad == 0 {
		return own
	}
	return max(t.Pad, 0)
}
