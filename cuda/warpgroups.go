package cuda

import (
	"slices"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/ladder"
	"gemm/cuda/nvrtc"
)

// TensorMap describes a matrix in global memory to the copy engine (TMA), and the box of it that one copy writes to
// shared memory. A row of the box has 128 bytes and arrives swizzled; what lies outside of the matrix arrives as 0.
type TensorMap struct {
	Type    string `json:"type"` // of the elements: f32, f16, bf16 or int8
	Rows    int    `json:"rows"`
	Cols    int    `json:"cols"`
	LD      int    `json:"ld"` // elements; rows begin at multiples of 16 bytes
	BoxRows int    `json:"box_rows"`
	BoxCols int    `json:"box_cols"`
}

// ElementSize returns the bytes of an element.
func (m TensorMap) ElementSize() int {
	return map[string]int{"f32": 4, "f16": 2, "bf16": 2, "int8": 1}[m.Type]
}

// mapped returns the argument that describes the matrix at the place. A map has at least one row and
// one column, even if the matrix has none and nothing is copied.
func (p place) mapped(m TensorMap) Argument {
	m.LD, m.Rows, m.Cols = p.ld, max(1, m.Rows), max(1, m.Cols)
	return Argument{Buffer: p.buffer, Bits: uint64(p.at), Map: &m}
}

// F16x3 is the arithmetic of the rung that has the accuracy of f32 from products of f16.
const F16x3 = "f16x3"

// What its source defines.
const (
	partOfB = 128 // PART: rows of B for which maxima are found together
	rowsOfB = 32  // ROWS: rows of B that a block splits
)

// Fallback is what computes a product whose operands turn out not to suit the kernel.
type Fallback struct {
	At      int64  `json:"at"`      // place in the work memory of an int that is not 0 then
	Variant string `json:"variant"` // that has computed the product
}

// rounded adds the kernel that rounds A, or B, and the one that multiplies. If that has three products, the rung that
// computes operands that do not fit comes after it.
func (q *Sequence) rounded(kernel Launch, op Operation, depth int, from [2]place, c Operand) error {
	const boxOfB = 32 // columns
	t, ld, program := q.Tile, max(1, ceil(depth, 8))*8, nvrtc.Program{Name: "tf32.cu", Source: kernels.TF32}
	program.Arch = kernel.Program.Arch
	read, rows, height, parts := from[0], q.M, t.BM, 1
	blocks := ceil(rows*ld, 32*256)
	if q.byRows() {
		read, rows, height = from[1], q.N, t.BN
		blocks, program.Options = ceil(rows, 32)*ceil(ld, 64), []string{"-DTRANSPOSED"}
	}
	if q.Rung.Three {
		parts, program.Options = 2, append(program.Options, "-DTHREE")
	}
	to := place{BufferWork, q.take(4 * int64(parts) * int64(rows) * int64(ld)), ld}
	var unfit []Argument
	if q.Rung.Three {
		unfit = slices.Concat(q.ints(1), q.ints(1))
		q.Zeros = append(q.Zeros, Span{int64(unfit[0].Bits), 4})
	}
	if depth > 0 {
		q.Launches = append(q.Launches, Launch{Program: program, Kernel: "to_tf32", Blocks: blocks, Threads: 256,
			Arguments: slices.Concat(numbers(rows, depth), read.arguments(), to.arguments(), unfit)})
	}
	a := to.mapped(TensorMap{Type: "f32", Rows: parts * rows, Cols: ld, BoxRows: height / max(1, q.Rung.Cluster),
		BoxCols: t.BK})
	b := from[1].mapped(TensorMap{Type: "f32", Rows: depth, Cols: q.N, BoxRows: t.BK, BoxCols: boxOfB})
	if q.byRows() {
		a, b = from[0].mapped(TensorMap{Type: "f32", Rows: q.M, Cols: depth, BoxRows: t.BM, BoxCols: t.BK}), a
	}
	kernel.Arguments = slices.Concat(numbers(q.M, q.N, depth), []Argument{q.Rung.scalar(op.Alpha), a, b,
		q.Rung.scalar(op.Beta)}, place{BufferC, 0, c.LD}.arguments(), unfit, q.tailArguments())
	q.Launches = append(q.Launches, kernel)
	if !q.Rung.Three {
		return nil
	}
	return q.fallBack(op, depth, from, c, unfit[1])
}

// ints returns the argument that is a place for n numbers of 32 bits.
func (q *Sequence) ints(n int) []Argument {
	return place{BufferWork, q.take(4 * int64(n)), 0}.arguments()[:1]
}

// instead returns how the rung's Instead computes the product, and whether that is predicted to take clearly less time.
// Parameters that say how the rung computes it are obeyed.
func (q *Sequence) instead(g GPU, op Operation, a, b, c Operand, p gemm.Params) (Sequence, bool) {
	const clearly = 0.9
	other, err := RungNamed(q.Rung.Instead, q.Rung.Type)
	three := q.Rung.Operands == ladder.Split
	// With β, the fallback would begin with another C.
	if err != nil || !open(p) || op.Batch > 0 || op.Alpha == 0 || three && op.Beta != 0 || min(q.M, q.N, q.K) == 0 {
		return Sequence{}, false
	}
	if three {
		other = other.three(q.Rung.Fallback)
	}
	out, err := other.Sequence(g, q.Shape, op, a, b, c, p)
	out.Instead = !three
	copies := q.LayA != Layout{} || q.LayB != Layout{} || out.LayA != Layout{} || out.LayB != Layout{}
	return out, err == nil && !copies && out.predict(g) < clearly*q.predict(g)
}

// three returns the rung of TF32 with three products of high and low parts.
func (r Rung) three(fallback string) Rung {
	r.Three, r.Instead, r.Fallback = true, "", fallback
	r.Tiles = []Tile{{BM: 64, BN: 128, BK: 32, Stages: 6}, {BM: 128, BN: 64, BK: 32, Stages: 6}}
	speed := ladder.Speed{Share: 0.2, Blocks: 1, Alone: 0.2}
	r.Speeds = map[string]ladder.Speed{r.Tiles[0].Name(): speed, r.Tiles[1].Name(): speed}
	whole := r.Shared
	r.Shared = func(t Tile) int { return whole(t) + 4*t.Stages*t.BK*(t.BM+t.BN-128) } // low parts
	return r
}

// split adds the kernels that split A and B into two parts of f16 each, the one that multiplies the parts,
// and the rung that computes the product if an element does not fit.
func (q *Sequence) split(kernel Launch, op Operation, depth int, from [2]place, c Operand) error {
	const boxOfB = 64 // columns
	half := func(rows, cols int) place {
		ld := max(1, ceil(cols, 8)) * 8
		return place{BufferWork, q.take(2 * int64(rows) * int64(ld)), ld}
	}
	highA, lowA, highB, lowB := half(q.M, depth), half(q.M, depth), half(depth, q.N), half(depth, q.N)
	parts := ceil(depth, partOfB)
	exponentsA, exponentsB, maxima := q.ints(q.M), q.ints(q.N), q.ints(parts*ceil(q.N, 4)*4)
	unfitA, unfit := q.ints(1), q.ints(1)
	q.Zeros = append(q.Zeros, Span{int64(unfitA[0].Bits), 4})
	add := func(name string, blocks int, arguments ...[]Argument) {
		if blocks > 0 {
			q.Launches = append(q.Launches, Launch{Program: kernel.Program, Kernel: name, Blocks: blocks,
				Threads: 256, Arguments: slices.Concat(arguments...)})
		}
	}
	a, b := from[0].arguments(), from[1].arguments()
	add("split_a", parts*ceil(q.N, 256)+q.M, numbers(q.M, q.N, depth), a, b, exponentsA, highA.arguments()[:1],
		lowA.arguments(), maxima, unfitA, unfit)
	add("split_b", ceil(q.N, 1024)*max(1, ceil(depth, rowsOfB)), numbers(q.N, depth), b, maxima, exponentsB,
		highB.arguments()[:1], lowB.arguments(), unfitA, unfit)
	t := q.Tile
	mapA := TensorMap{Type: "f16", Rows: q.M, Cols: depth, BoxRows: t.BM, BoxCols: t.BK}
	mapB := TensorMap{Type: "f16", Rows: depth, Cols: q.N, BoxRows: t.BK, BoxCols: boxOfB}
	kernel.Arguments = slices.Concat(numbers(q.M, q.N, depth), []Argument{q.Rung.scalar(op.Alpha), highA.mapped(mapA),
		lowA.mapped(mapA), highB.mapped(mapB), lowB.mapped(mapB)}, exponentsA, exponentsB, unfitA, unfit,
		[]Argument{q.Rung.scalar(op.Beta)}, place{BufferC, 0, c.LD}.arguments(), q.tailArguments())
	q.Launches = append(q.Launches, kernel)
	return q.fallBack(op, depth, from, c, unfit[0])
}

// fallBack adds the kernel of the rung's Fallback that runs only if the int at the place is not 0.
func (q *Sequence) fallBack(op Operation, depth int, from [2]place, c Operand, unfit Argument) error {
	rung, err := RungNamed(q.Rung.Fallback, q.Rung.Type)
	if err != nil {
		return err
	}
	operand := func(i int) Operand {
		if from[i].buffer == BufferWork {
			return Operand{LD: from[i].ld}
		}
		return q.stored[i]
	}
	other := Sequence{}
	tile := gemm.Params{"tile": rung.Tiles[0].Name(), "split": 1}
	const none = 1 // byte that is free: no operand is laid out anew
	if other.Plan, err = rung.Plan(GPU{Free: none}, q.Shape, operand(0), operand(1), c, tile); err != nil {
		return err
	}
	program := other.Program(q.Launches[len(q.Launches)-1].Program.Arch)
	program.Options = append(program.Options, "-DGUARDED")
	q.Launches = append(q.Launches, Launch{Program: program, Kernel: MainKernel, Blocks: other.Blocks(),
		Threads: rung.Threads(other.Tile), Shared: rung.Shared(other.Tile),
		Arguments: slices.Concat(other.arguments(op, depth, from, c), []Argument{unfit})})
	q.Fallback = &Fallback{At: int64(unfit.Bits), Variant: Family + "/" + rung.Name}
	return nil
}

// boxes adds the kernel to which the copy engine copies boxes of A and B as they are stored, and from which it stores
// boxes of C if its rows begin at multiples of 16 bytes.
func (q *Sequence) boxes(kernel Launch, op Operation, depth int, from [2]place, c Operand) {
	const edge, rowsOfC = 64, 16
	mapped := func(p place, rows, cols, height int) Argument {
		return p.mapped(TensorMap{Type: q.Rung.Type, Rows: rows, Cols: cols, BoxRows: height, BoxCols: edge})
	}
	operand := func(p place, transposed bool, rows, cols int) Argument {
		if transposed {
			rows, cols = cols, rows
		}
		return mapped(p, rows, cols, edge)
	}
	a, b, to := operand(from[0], q.TransA, q.M, depth), operand(from[1], q.TransB, depth, q.N), place{BufferC, 0, c.LD}
	kernel.Arguments = slices.Concat(numbers(q.M, q.N, depth), []Argument{q.Rung.scalar(op.Alpha), a, b,
		q.Rung.scalar(op.Beta)}, to.arguments())
	switch {
	case q.Rung.ByEngine && q.Widths.C*q.Rung.Size() == 16:
		kernel.Arguments = append(kernel.Arguments, mapped(to, q.M, q.N, rowsOfC))
	case q.Rung.ByEngine: // any map will do: the kernel does not read it
		kernel.Arguments = append(kernel.Arguments, a)
	}
	q.Launches = append(q.Launches, kernel)
}
