package cuda

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/ladder"
	"gemm/internal/occupancy"
)

// TileError is the error of a kernel that does not compile with a setting, or does not fit
// a GPU with it: a gemm.ErrParam.
type TileError struct {
	Of     string // the rung and the tile, or the tile
	Reason string
}

// Error implements error.
func (e TileError) Error() string {
	return fmt.Sprintf("%v: the kernel cannot have this tile: %s: %s", gemm.ErrParam, e.Of, e.Reason)
}

// Is reports whether target is gemm.ErrParam.
func (e TileError) Is(target error) bool { return target == gemm.ErrParam }

// Check returns a TileError if an assertion in the source of the kernel fails for the setting, on any architecture of
// the rung, for copies of the given widths. Check does not ask whether a GPU has room for it.
func (r Rung) Check(t Tile, w Widths) error {
	own := r.Tiles[0].Macros()
	for i, m := range t.Macros() {
		switch {
		case m.Value < 0 && m != ladder.Macro{Name: "PAD", Value: ladder.NoPad}:
			return TileError{t.String(), fmt.Sprintf("it has the number %d", m.Value)}
		case m.Value == 0 && own[i].Value != 0:
			return TileError{t.String(), "it has no " + m.Name}
		}
	}
	if r.Copies && (w.A < 1 || w.B < 1 || w.C < 1) {
		return TileError{t.String(), fmt.Sprintf("copies of %d, %d and %d elements", w.A, w.B, w.C)}
	}
	reason := r.values(t, w).Fails
	if reason == "" && r.Refuses != nil {
		reason = r.Refuses(t)
	}
	if n := r.Threads(t); reason == "" && (n < 1 || n > 1024) {
		reason = fmt.Sprintf("a block has 1 to 1024 threads, not %d", n)
	}
	if reason != "" {
		return TileError{r.Name + " " + t.String(), reason}
	}
	return nil
}

// values returns the constants of the source. What holds for compute capability 9.0 holds for older ones.
func (r Rung) values(t Tile, w Widths) *kernels.Values {
	macros := map[string]int{"__CUDA_ARCH__": 900}
	for _, m := range r.macros(t, w) {
		macros[m.Name] = m.Value
	}
	return r.constants().Of(macros)
}

// leastBlocks returns the default number of blocks of the setting that must fit on a multiprocessor. The registers
// of a thread are limited so that they do.
func (r Rung) leastBlocks(t Tile) int {
	n, _ := r.values(t, r.Widest()).Int("BLOCKS")
	return max(1, n)
}

// mostCandidates is how many settings of a rung are offered at most.
const mostCandidates = 60

// Candidates returns settings of the rung that a search may try on a GPU of the compute capability, in a fixed order:
// the rung's own settings first, then from large tiles to small ones. Each passes Check for every alignment of the
// operands. A block fits into the limits of threads, of shared memory and, by an estimate, of registers. If there are
// too many, every block tile keeps the same number. A rung without slices has only its own settings. There are none if
// the limits of the capability are not known.
func (r Rung) Candidates(c occupancy.Capability) []Tile {
	limits, err := occupancy.LimitsOf(c)
	if err != nil {
		return nil
	}
	fits := func(t Tile) bool {
		threads, registers := r.Threads(t), r.Registers(t)
		return r.Runs(10*c.Major+c.Minor) == nil && threads%limits.Warp == 0 && threads <= limits.BlockThreads &&
			registers <= limits.ThreadRegisters && registers*threads <= limits.BlockRegisters &&
			r.Shared(t) <= limits.BlockSharedOptIn && r.everyWidth(t) == nil &&
			r.leastBlocks(t)*registers*threads <= limits.BlockRegisters
	}
	own := slices.DeleteFunc(slices.Clone(r.Tiles), func(t Tile) bool { return !fits(t) })
	groups := map[Tile][]Tile{} // by the tile of a block
	for _, t := range r.space() {
		block := Tile{BM: t.BM, BN: t.BN}
		if fits(t) && !slices.Contains(own, t) && !slices.Contains(groups[block], t) {
			groups[block] = append(groups[block], t)
		}
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b Tile) int {
		return cmp.Or(cmp.Compare(b.BM*b.BN, a.BM*a.BN), cmp.Compare(b.BM, a.BM))
	})
	kept, left := map[Tile]int{}, mostCandidates-len(own)
	for each := range left {
		for _, block := range order {
			if left > 0 && each < len(groups[block]) {
				kept[block]++
				left--
			}
		}
	}
	out := own
	for _, block := range order {
		out = append(out, r.ranked(groups[block])[:kept[block]]...)
	}
	return out
}

// ranked sorts settings with the same block tile by the sum of two ranks: how little they read from
// shared memory, and how similar their slices and stages are to the rung's first setting.
func (r Rung) ranked(tiles []Tile) []Tile {
	within := func(t Tile) Tile { return Tile{WM: t.WM, WN: t.WN, TM: t.TM, TN: t.TN} }
	along := func(t Tile) Tile { return Tile{BK: t.BK, Stages: t.Stages} }
	reads := func(t Tile) float64 { _, block := r.Reads(t); return block }
	unlike := func(t Tile) int {
		own := r.Tiles[0]
		ratio := max(t.BK, own.BK) / min(t.BK, own.BK) // powers of two
		return ratio + max(t.Stages-own.Stages, own.Stages-t.Stages)
	}
	rank := func(of func(Tile) Tile, compare func(a, b Tile) int) map[Tile]int {
		ranks := map[Tile]int{}
		sorted := slices.Clone(tiles)
		slices.SortStableFunc(sorted, compare)
		for _, t := range sorted {
			if _, ok := ranks[of(t)]; !ok {
				ranks[of(t)] = len(ranks)
			}
		}
		return ranks
	}
	byReads := rank(within, func(a, b Tile) int { return cmp.Compare(reads(a), reads(b)) })
	byDepth := rank(along, func(a, b Tile) int { return cmp.Compare(unlike(a), unlike(b)) })
	out := slices.Clone(tiles)
	slices.SortStableFunc(out, func(a, b Tile) int {
		inA, inB := byReads[within(a)], byReads[within(b)]
		return cmp.Or(cmp.Compare(inA+byDepth[along(a)], inB+byDepth[along(b)]), cmp.Compare(inA, inB))
	})
	return out
}

// everyWidth is Check with copies of every width.
func (r Rung) everyWidth(t Tile) (err error) {
	for width := r.Widest().A; err == nil && width >= 1; width /= 2 {
		err = r.Check(t, Widths{A: width, B: width, C: width})
	}
	return err
}

// space returns the settings whose shape is worth a try: block tiles of 32 to 256 rows and columns,
// one at most twice the other, with at least 64 threads. Elements that are bytes have rows of 32 to 1024 threads, with
// as many rows as a block of the rung's first setting permits.
func (r Rung) space() []Tile {
	own := r.Tiles[0]
	if own.BK == 0 || r.Packs() || r.Size() == 1 && r.Rows == nil {
		return nil
	}
	var out []Tile
	if r.Rows != nil {
		for bytes := 4; bytes <= 16; bytes *= 2 { // of a thread
			for threads := 32; threads <= 1024; threads *= 2 {
				out = append(out, r.Rows(own, threads, bytes))
			}
		}
		return out
	}
	edges := []int{32, 64, 96, 128, 256}
	depths, stages := []int{8, 16, 32}, []int{0}
	if own.BK > 32 {
		depths = []int{own.BK}
	}
	if own.Stages != 0 {
		stages = []int{2, 3, 4}
	}
	// The tiles of a warp and of a thread: one entry is one pair of both.
	var inner []Tile
	switch {
	case own.WM != 0 && own.TM != 0:
		for _, thread := range [][2]int{{8, 8}, {8, 16}, {16, 8}, {4, 8}, {8, 4}} {
			for _, lanes := range [][2]int{{4, 8}, {8, 4}, {2, 16}} {
				inner = append(inner, Tile{WM: thread[0] * lanes[0], WN: thread[1] * lanes[1], TM: thread[0], TN: thread[1]})
			}
		}
	case own.WM != 0:
		for _, warp := range [][2]int{{64, 64}, {64, 32}, {32, 64}, {32, 32}, {64, 16}, {16, 64}} {
			inner = append(inner, Tile{WM: warp[0], WN: warp[1]})
		}
	case own.TN != 0:
		for _, thread := range [][2]int{{8, 8}, {8, 16}, {16, 8}, {4, 8}, {8, 4}, {4, 4}} {
			inner = append(inner, Tile{TM: thread[0], TN: thread[1]})
		}
	case own.TM != 0:
		for _, rows := range []int{16, 8, 4} {
			inner = append(inner, Tile{TM: rows})
		}
	default:
		edges, depths = []int{16, 32}, []int{16, 32, 64}
		inner = []Tile{{}}
	}
	for _, t := range inner {
		for _, t.BM = range edges {
			for _, t.BN = range edges {
				if max(t.BM, t.BN) > 2*min(t.BM, t.BN) {
					continue
				}
				for _, t.BK = range depths {
					for _, t.Stages = range stages {
						out = append(out, t)
					}
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(t Tile) bool {
		return t.TM > t.BM || t.TN > t.BN || t.WM > t.BM || t.WN > t.BN || r.Threads(t) < 64
	})
}
