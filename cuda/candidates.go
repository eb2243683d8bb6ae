package cuda

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gemm"
	"gemm/cuda/occupancy"
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

// staticShared is the most bytes of shared memory that a kernel can have of its own, without
// asking at its launch.
const staticShared = 48 << 10

// Check returns a TileError if an assertion in the source of the kernel fails for the setting, on
// any architecture of the rung, for copies of the given widths. Check does not ask whether a GPU
// has room for it.
func (r Rung) Check(t Tile, w Widths) error {
	check, ok := assertions[r.Type+"/"+r.Name]
	if r.AsStored {
		check, ok = assertionsOfHalves[r.Name]
	}
	if !ok {
		check = oneElement
	}
	for _, edge := range []int{t.BM, t.BN, t.BK, t.TM, t.TN, t.WM, t.WN, t.Stages} {
		if edge < 0 {
			return TileError{t.String(), fmt.Sprintf("it has the number %d", edge)}
		}
	}
	for _, name := range r.macros() {
		if name.of(t) == 0 {
			return TileError{t.String(), "it has no " + name.name}
		}
	}
	if r.Copies && (w.A < 1 || w.B < 1 || w.C < 1) {
		return TileError{t.String(), fmt.Sprintf("copies of %d, %d and %d elements", w.A, w.B, w.C)}
	}
	if reason := check(t, w); reason != "" {
		return TileError{r.Name + " " + t.String(), reason}
	}
	return nil
}

// macro is a number of a tile.
type macro struct {
	name string
	of   func(t Tile) int
}

// macros returns the macros that every setting of the rung has: those of its first.
func (r Rung) macros() []macro {
	return slices.DeleteFunc([]macro{
		{"BM", func(t Tile) int { return t.BM }}, {"BN", func(t Tile) int { return t.BN }},
		{"BK", func(t Tile) int { return t.BK }},
		{"TM", func(t Tile) int { return t.TM }}, {"TN", func(t Tile) int { return t.TN }},
		{"WM", func(t Tile) int { return t.WM }}, {"WN", func(t Tile) int { return t.WN }},
		{"STAGES", func(t Tile) int { return t.Stages }},
	}, func(m macro) bool { return m.of(r.Tiles[0]) == 0 })
}

// assertions are the static_asserts of each kernel, in their order: each returns the first
// that fails, "" where all hold. They have nothing to divide by that is 0 before it is
// asserted. Kernels without a row want 1 to 1024 threads only.
var assertions = map[string]func(t Tile, w Widths) string{
	"f32/smem": func(t Tile, _ Widths) string {
		return first(oneElement(t, Widths{}), evenly(t, elements(t)), fits(4*t.BK*(t.BM+t.BN)))
	},
	"f32/blocktile1d": func(t Tile, _ Widths) string {
		return first(whole(t.BM, t.TM), launchable(t, threadTiles), evenly(t, threadTiles(t)), fits(4*t.BK*(t.BM+t.BN)))
	},
	"f32/blocktile2d": func(t Tile, _ Widths) string {
		return first(threadsFill(t), evenly(t, threadTiles(t)), fits(4*t.BK*(t.BM+t.BN)))
	},
	"f32/vectorized": func(t Tile, w Widths) string {
		return first(threadsFill(t), unitsOfA(t, w, threadTiles(t)), unitsOfB(t, w, threadTiles(t)),
			multiples(4, t.BK, t.TN), fits(4*t.BK*(t.BM+t.BN)))
	},
	"f32/transposed": func(t Tile, w Widths) string {
		return first(threadsFill(t), unitsOfA(t, w, threadTiles(t)), unitsOfB(t, w, threadTiles(t)),
			multiples(4, t.TM, t.TN), fits(4*t.BK*(t.BM+t.BN)))
	},
	"f32/conflictfree": func(t Tile, w Widths) string { return quads(t, w, 1) },
	"f32/doublebuffer": func(t Tile, w Widths) string { return quads(t, w, 2) },
	"f32/async": func(t Tile, w Widths) string {
		return first(copiedAlongK(t, w), fits(8*t.BK*(t.BM+4+t.BN)))
	},
	"f32/multistage": ringOfQuads, "f32/blockorder": ringOfQuads, "f32/prefetch": ringOfQuads,
	"f32/serpentine": ringOfQuads, "f32/interleave": ringOfQuads,
	"f32/rowstores": func(t Tile, w Widths) string {
		return first(copiedAlongK(t, w), whole(warpLanes, t.BN/max(1, t.TN)), staged2(t))
	},
	"f32/warptile": func(t Tile, w Widths) string {
		if reason := warpsFill(t); reason != "" {
			return reason
		}
		if t.WM%t.TM != 0 || t.WN%t.TN != 0 || t.WM/t.TM*(t.WN/t.TN) != 32 || t.WM/t.TM%2 != 0 {
			return "a warp tile is 32 thread tiles, in pairs of rows"
		}
		return first(multiples(4, t.TM, t.TN), eightAlongK(t, warpTiles(t)), unitsOfB(t, w, warpTiles(t)), staged2(t))
	},
	"f32/tf32-wmma": func(t Tile, w Widths) string {
		return first(warpsFill(t), multiples(16, t.WM, t.WN, t.BK), unitsOfA(t, w, warpTiles(t)),
			unitsOfB(t, w, warpTiles(t)), staged2(t), results(warpTiles(t)/32*16*(t.WN+4), unevenSlices(t)/4))
	},
	"f32/tf32-mma": func(t Tile, w Widths) string {
		return first(warpsFill(t), multiples(16, t.WM, t.WN, t.BK), unitsOfA(t, w, warpTiles(t)),
			unitsOfB(t, w, warpTiles(t)), staged2(t))
	},
	"f32/tf32-wgmma": func(t Tile, _ Widths) string {
		return first(only("BM", t.BM, 128), multiples(64, t.BN), launchable(t, warpgroups(columnsOf, 0)),
			only("BK", t.BK, 32))
	},
	"f32/tf32-wgmma-ws":         ringOfTF32,
	"f32/tf32-wgmma-persistent": ringOfTF32,
	"f32/" + F16x3: func(t Tile, _ Widths) string {
		return first(only("BM", t.BM, 128), only("BN", t.BN, 128), only("BK", t.BK, 64))
	},
	"f64/packed-smem": packedCube, "f64/packed-conflictfree": packedCube,
	"f64/smem": func(t Tile, _ Widths) string {
		return first(threadsFill(t), fits(8*t.BK*(t.BM+t.BN)))
	},
	"f64/conflictfree": func(t Tile, w Widths) string {
		pad := padOf(t, 2)
		return first(threadsFill(t), multiples(4, t.TM, t.TN), multiples(2, pad), unitsEvenly(t, w, threadTiles(t)),
			fits(2*8*t.BK*(t.BM+pad+t.BN)))
	},
	"f64/dmma-wmma": func(t Tile, w Widths) string {
		return first(warpsFill(t), multiples(8, t.WM, t.WN, t.BK, t.BN), unitsEvenly(t, w, warpTiles(t)), staged2(t),
			results(warpTiles(t)/32*8*(t.WN+4), paddedSlices(t)/8))
	},
	"gf256/square-tiled": func(t Tile, _ Widths) string {
		if t.BM != t.BN || t.BN != t.BK {
			return fmt.Sprintf("%dx%dx%d are no squares", t.BM, t.BN, t.BK)
		}
		return oneElement(t, Widths{})
	},
	"gf256/word": func(t Tile, _ Widths) string {
		if t.TM != 1 || t.TN != 4 && t.TN != 8 && t.TN != 16 {
			return fmt.Sprintf("a thread has 4, 8 or 16 bytes of one row, not %dx%d", t.TM, t.TN)
		}
		return threadsFill(t)
	},
	"gf256/tuned": func(t Tile, _ Widths) string {
		if t.BM != t.TM {
			return "a thread has all rows of its block"
		}
		if t.TN != 16 {
			return fmt.Sprintf("a thread has 16 bytes of a row, not %d", t.TN)
		}
		return first(multiples(32*t.TN, t.BN), threadsFill(t), multiples(3, t.BK), fits(64*(t.BK/3)*t.TM))
	},
	"f64/dmma": func(t Tile, w Widths) string {
		// On 9.0 a tensor-core product is 16×8 by MMA_K, which is 16 unless the tile says
		// otherwise. On older GPUs it is 8×8×4, and everything that holds for 9.0 holds there.
		depth := t.MMAK
		if depth == 0 {
			depth = 16
		}
		if depth != 4 && depth != 8 && depth != 16 {
			return fmt.Sprintf("mma_k is 4, 8 or 16, not %d", depth)
		}
		threads := warpTiles(t)
		if reason := first(warpsFill(t), multiples(16, t.WM), multiples(8, t.WN, t.BN, t.BK),
			multiples(depth, t.BK)); reason != "" {
			return reason
		}
		if t.BK/depth*(t.WM/16)%2 != 0 {
			return "rows of fragments in a slice are an even number"
		}
		if t.BK%w.A != 0 || t.BN%w.B != 0 || threads%(t.BK/w.A) != 0 || threads%(t.BN/w.B) != 0 {
			return "all copies of a thread lie in the same columns of a slice"
		}
		return first(unitsEvenly(t, w, threads), staged2(t))
	},
}

// copiedAlongK is the assertions of kernels that copy A by single elements, and fragments in quads.
func copiedAlongK(t Tile, w Widths) string {
	threads := threadTiles(t)
	return first(threadsFill(t), multiples(4, t.TM, t.TN), eightAlongK(t, threads), unitsOfB(t, w, threads))
}

// ringOfQuads is copiedAlongK with a ring of slices.
func ringOfQuads(t Tile, w Widths) string { return first(copiedAlongK(t, w), staged2(t)) }

// packedCube is the assertions of kernels whose threads copy an element of each packed block.
func packedCube(t Tile, _ Widths) string {
	return first(only("BN", t.BN, t.BM), only("BK", t.BK, t.BN), launchable(t, elements), fits(8*t.BK*(t.BM+t.BN)))
}

// ringOfTF32 is the assertions of kernels with two warpgroups of 64 columns.
func ringOfTF32(t Tile, _ Widths) string {
	return first(only("BM", t.BM, 256), only("BN", t.BN, 128), only("BK", t.BK, 32))
}

// only wants a number of the tile to be what the kernel has.
func only(name string, n, want int) string {
	if n != want {
		return fmt.Sprintf("%s is %d, not %d", name, want, n)
	}
	return ""
}

// atMost wants a number of the tile to be no more than most.
func atMost(name string, n, most int) string {
	if n > most {
		return fmt.Sprintf("%s is at most %d, not %d", name, most, n)
	}
	return ""
}

// first returns the first that is not empty.
func first(reasons ...string) string { return cmp.Or(reasons...) }

func oneElement(t Tile, _ Widths) string { return launchable(t, elements) }

// launchable wants 1 to 1024 threads.
func launchable(t Tile, threads func(t Tile) int) string {
	if n := threads(t); n < 1 || n > 1024 {
		return fmt.Sprintf("a block has 1 to 1024 threads, not %d", n)
	}
	return ""
}

// whole wants a tile to be a whole number of parts.
func whole(tile, part int) string {
	if part == 0 || tile%part != 0 {
		return fmt.Sprintf("%d is no multiple of %d", tile, part)
	}
	return ""
}

// multiples wants all to be multiples of unit.
func multiples(unit int, all ...int) string {
	for _, n := range all {
		if reason := whole(n, unit); reason != "" {
			return reason
		}
	}
	return ""
}

// threadsFill checks that the tiles of the threads fill the tile of the block, and warpsFill that
// the tiles of the warps do.
func threadsFill(t Tile) string {
	if reason := first(whole(t.BM, t.TM), whole(t.BN, t.TN)); reason != "" {
		return reason
	}
	return launchable(t, threadTiles)
}

func warpsFill(t Tile) string {
	if reason := first(whole(t.BM, t.WM), whole(t.BN, t.WN)); reason != "" {
		return reason
	}
	return launchable(t, warpTiles)
}

// evenly wants each thread to copy the same number of elements.
func evenly(t Tile, threads int) string {
	if threads < 1 || t.BM*t.BK%threads != 0 || t.BK*t.BN%threads != 0 {
		return fmt.Sprintf("%d threads do not share %dx%d and %dx%d elements evenly", threads, t.BM, t.BK, t.BK, t.BN)
	}
	return ""
}

// unitsEvenly is evenly for units.
func unitsEvenly(t Tile, w Widths, threads int) string {
	if threads < 1 || t.BM*t.BK%(threads*w.A) != 0 || t.BK*t.BN%(threads*w.B) != 0 {
		return fmt.Sprintf("%d threads do not share %dx%d and %dx%d elements evenly by %d and %d", threads, t.BM, t.BK, t.BK,
			t.BN, w.A, w.B)
	}
	return ""
}

// unitsOfA wants each thread to copy the same number of units of A, from one column.
func unitsOfA(t Tile, w Widths, threads int) string {
	if threads < 1 || t.BM*t.BK%(threads*w.A) != 0 || threads*w.A%t.BK != 0 {
		return fmt.Sprintf("%d threads do not copy %dx%d elements of A by %d, each from one column", threads, t.BM, t.BK, w.A)
	}
	return ""
}

// unitsOfB wants it of B, from one column or one row.
func unitsOfB(t Tile, w Widths, threads int) string {
	if pass := threads * w.B; pass < 1 || t.BK*t.BN%pass != 0 || t.BN%pass != 0 && pass%t.BN != 0 {
		return fmt.Sprintf("%d threads do not copy %dx%d elements of B by %d, each from one column or row", threads,
			t.BK, t.BN, w.B)
	}
	return ""
}

// eightAlongK wants the threads to copy single elements of A, 8 of them along k.
func eightAlongK(t Tile, threads int) string {
	if t.BK%8 != 0 || threads < 8 || t.BM%(threads/8) != 0 {
		return fmt.Sprintf("%d threads do not copy %dx%d elements of A, 8 along k", threads, t.BM, t.BK)
	}
	return ""
}

// quads is what the rungs with fragments in quads and several buffers want.
func quads(t Tile, w Widths, buffers int) string {
	pad := padOf(t, 4)
	return first(threadsFill(t), unitsOfA(t, w, threadTiles(t)), unitsOfB(t, w, threadTiles(t)),
		multiples(4, t.TM, t.TN, pad), fits(buffers*4*t.BK*(t.BM+pad+t.BN)))
}

// staged2 wants two slices or more: one is copied while another is multiplied.
func staged2(t Tile) string {
	if t.Stages < 2 {
		return fmt.Sprintf("%d stages are too few: one slice is copied while another is multiplied", t.Stages)
	}
	return ""
}

// fits wants no more bytes than a kernel can have of its own.
func fits(bytes int) string {
	if bytes > staticShared {
		return fmt.Sprintf("%d bytes of shared memory, static ends at %d", bytes, staticShared)
	}
	return ""
}

// results checks that the given number of elements of C fits into the memory of the slices.
func results(elements, slices int) string {
	if elements > slices {
		return fmt.Sprintf("%d elements of C do not fit where %d of the slices were", elements, slices)
	}
	return ""
}

// registers estimates what a thread keeps between two instructions: sums and fragments, in
// registers of 4 bytes. Addresses and counters come on top.
func (r Rung) registers(t Tile) int {
	words := r.Size() / 4
	switch r.Name {
	case "vectorized": // four columns of A at once
		return t.TM*t.TN + 4*t.TM + t.TN
	case "doublebuffer": // and what is on its way to shared memory
		return t.TM*t.TN + t.TM + t.TN + t.BK*(t.BM+t.BN)/r.Threads(t)
	case "conflictfree":
		if r.Type == "f64" {
			return words * (t.TM*t.TN + t.TM + t.TN + t.BK*(t.BM+t.BN)/r.Threads(t))
		}
	case "prefetch", "serpentine", "interleave", "rowstores", "warptile": // two sets of fragments
		return t.TM*t.TN + 2*(t.TM+t.TN)
	case "tf32-wmma", "tf32-mma":
		return t.WM*t.WN/32 + 2*(t.WM+t.WN)/16*4
	case "mma": // and two sets of fragments, with two elements in a register
		return t.WM*t.WN/32 + (t.WM+t.WN)/2
	case "dmma-wmma":
		return words * (t.WM*t.WN/32 + (t.WM+t.WN)/8)
	case "word": // a word, its product and its sum
		return 3 * t.TN / 4
	case "tuned": // sums, three rows of B, and what looks them up
		return t.TN / 4 * (t.TM + 3 + 4*2)
	case "dmma": // two fragments of A, and B's of the warp, as on 9.0
		depth := cmp.Or(t.MMAK, 16)
		return words * (t.WM*t.WN/32 + 2*16*depth/32 + t.WN*depth/32)
	}
	return words * (t.TM*max(t.TN, 1) + t.TM + max(t.TN, 1))
}

// leastBlocks returns the default number of blocks of the setting that must fit on a multiprocessor. The registers
// of a thread are limited so that they do.
func (r Rung) leastBlocks(t Tile) int {
	twice := []string{"conflictfree", "doublebuffer", "prefetch", "serpentine", "interleave", "rowstores"}
	if r.Type == "f32" && slices.Contains(twice, r.Name) && r.Threads(t) == 256 {
		return 2
	}
	return 1
}

// mostCandidates is how many settings of a rung are offered at most.
const mostCandidates = 60

// Candidates returns settings of the rung that a search may try on a GPU of the compute capability,
// in a fixed order: the rung's own settings first, then from large tiles to small ones. Each passes
// Check for every alignment of the operands. A block fits into the limits of threads, of shared
// memory and, by an estimate, of registers. If there are too many, every block tile keeps the same
// number. A rung without slices has only its own settings. There are none if the limits of the
// capability are not known.
func (r Rung) Candidates(c occupancy.Capability) []Tile {
	limits, err := occupancy.LimitsOf(c)
	if err != nil {
		return nil
	}
	fits := func(t Tile) bool {
		if r.Runs(10*c.Major+c.Minor) != nil || !r.everyWidth(t) {
			return false
		}
		threads, registers := r.Threads(t), r.registers(t)
		return threads%limits.Warp == 0 && threads <= limits.BlockThreads &&
			registers <= limits.ThreadRegisters && r.leastBlocks(t)*registers*threads <= limits.BlockRegisters &&
			r.Shared(t) <= limits.BlockSharedOptIn
	}
	var own []Tile
	for _, t := range r.Tiles {
		if fits(t) {
			own = append(own, t)
		}
	}
	groups := map[Tile][]Tile{} // by the tile of a block
	for _, t := range r.space() {
		if fits(t) && !slices.Contains(own, t) {
			block := Tile{BM: t.BM, BN: t.BN}
			groups[block] = append(groups[block], t)
		}
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b Tile) int {
		return cmp.Or(cmp.Compare(b.BM*b.BN, a.BM*a.BN), cmp.Compare(b.BM, a.BM))
	})
	kept := map[Tile]int{}
	for n, more := len(own), true; more && n < mostCandidates; {
		more = false
		for _, block := range order {
			if n < mostCandidates && kept[block] < len(groups[block]) {
				kept[block]++
				n++
				more = true
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
	reads := func(t Tile) float64 { _, block := r.reads(t); return block }
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

// everyWidth reports whether the setting passes Check with copies of every width.
func (r Rung) everyWidth(t Tile) bool {
	for width := r.Widest().A; width >= 1; width /= 2 {
		if r.Check(t, Widths{width, width, width}) != nil {
			return false
		}
	}
	return true
}

// space returns the settings whose shape is worth a try: block tiles of 32 to 256 rows and columns,
// one at most twice the other, with at least 64 threads.
func (r Rung) space() []Tile {
	own := r.Tiles[0]
	if own.BK == 0 || r.Packs() {
		return nil
	}
	if r.Type == "gf256" {
		return r.bytes()
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
	var out []Tile
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

// bytes is space for elements that are bytes: rows of 32 to 1024 threads, with as many rows as a
// block of the rung's first setting permits.
func (r Rung) bytes() []Tile {
	var out []Tile
	for width := 4; width <= 16; width *= 2 { // of a thread
		for across := 32; across <= 1024; across *= 2 { // threads
			t := r.Tiles[0]
			switch r.Name {
			case "square-tiled":
				continue // its own settings are all
			case "tiled":
				t.BM, t.BN = min(t.BM, 1024/across), across
			case "word":
				t.BM, t.BN, t.TN = min(t.BM, 1024/across), across*width, width
			case "tuned":
				t.BN = across * t.TN
			}
			if r.Check(t, r.Widest()) == nil && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}
