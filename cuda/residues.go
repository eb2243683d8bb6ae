package cuda

import (
	"math"
	"slices"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/ladder"
	"gemm/cuda/nvrtc"
)

// What residues.cu and the engines count in.
const (
	vectorsOfBlock = 32                   // LANES: vectors that a block splits; planes have a multiple of them
	depthOfBlock   = 128                  // DEPTH: k indices that a block splits; planes have a multiple of them
	mostDepth      = 1<<17 - depthOfBlock // k indices whose products of int8 have sums of 32 bits
	leastWidth     = 256                  // columns of a panel of C, at least, if there are several
	mostVectors    = 1 << 27              // rows or columns of a panel: maps count 2³² rows of all planes
)

// modulusBytes is the size of a Modulus of residues.cu.
const modulusBytes = 20

func roundUp(n, by int) int { return max(1, ceil(n, by)) * by }

// panelOf returns how many columns of C and k indices are computed at a time, so that the planes fit.
func (q *Sequence) panelOf(g GPU, depth int) (width, deep int, err error) {
	width, deep = min(mostVectors, roundUp(q.N, vectorsOfBlock)), min(mostDepth, roundUp(depth, depthOfBlock))
	if q.M > mostVectors {
		return 0, 0, gemm.Unavailablef("%s has at most %d rows, and not %d", q.Rung.Name, mostVectors, q.M).
			WithRemedy("choose cuda/tuned")
	}
	bytes := func() (operands, all int64) {
		rows, planes := int64(roundUp(q.M, vectorsOfBlock)), int64(q.Moduli)
		operands = planes * (rows + int64(width)) * int64(deep)
		return operands, operands + planes*int64(q.M)*int64(width) + q.Work + 1<<20
	}
	for {
		operands, all := bytes()
		switch {
		case g.holds(all):
			return width, deep, nil
		case deep > 8*depthOfBlock && 2*operands > all || width <= leastWidth && deep > depthOfBlock:
			deep = roundUp(deep/2, depthOfBlock)
		case width > leastWidth:
			width = roundUp(width/2, leastWidth)
		default:
			return 0, 0, gemm.Unavailablef("%s needs %d MiB for residues of %v, and %d are free: %d are lacking",
				q.Rung.Name, all>>20, q.Shape, g.Free>>20, (all-g.Free)>>20+1).
				WithRemedy("choose fewer moduli, or cuda/tuned")
		}
	}
}

// residues adds the kernels that scale and split A and B, that multiply the planes and that join the products. If the
// work memory does not fit, there are panels of columns of C, and panels of k.
func (q *Sequence) residues(g GPU, kernel Launch, op Operation, depth int, c Operand) error {
	width, deep, err := q.panelOf(g, depth)
	if err != nil {
		return err
	}
	planes, rows := q.Moduli, roundUp(q.M, vectorsOfBlock)
	bytes := func(n int64) place { return place{BufferWork, q.take(n), 0} }
	scalesA, scalesB := bytes(4*int64(q.M)), bytes(4*int64(q.N))
	table := bytes(modulusBytes * int64(planes))
	planesA, planesB := bytes(int64(planes)*int64(rows)*int64(deep)), bytes(int64(planes)*int64(width)*int64(deep))
	product := bytes(int64(planes) * int64(q.M) * int64(width))
	program := nvrtc.Program{Name: "residues.cu", Source: kernels.Residues, Arch: kernel.Program.Arch,
		Options: ladder.Residues(planes).Options()}
	add := func(name string, blocks, threads int, arguments ...[]Argument) {
		q.Launches = append(q.Launches, Launch{Program: program, Kernel: name, Blocks: blocks, Threads: threads,
			Arguments: slices.Concat(arguments...)})
	}
	flag := func(x bool) []Argument { return numbers(map[bool]int{true: 1}[x]) }
	at := func(p place) []Argument { return p.arguments()[:1] }
	// a and b return an operand from a column of op(B) on, and how it is stored.
	a := slices.Concat(place{BufferA, 0, q.stored[0].LD}.arguments(), flag(!op.TransA))
	b := func(column int) []Argument {
		step := 8
		if op.TransB {
			step *= q.stored[1].LD
		}
		return slices.Concat(place{BufferB, int64(step) * int64(column), q.stored[1].LD}.arguments(), flag(op.TransB))
	}
	from := func(p place, bytes, column int) []Argument {
		p.at += int64(bytes) * int64(column)
		return at(p)
	}
	f, e := ladder.Residues(planes).Range(depth)
	add("scale", ceil(q.M, vectorsOfBlock)+ceil(q.N, vectorsOfBlock), 1024, numbers(q.M, q.N, depth), a, b(0),
		[]Argument{{Bits: uint64(math.Float32bits(f))}}, numbers(e), at(scalesA), at(scalesB), at(table))
	for column := 0; column == 0 || column < q.N; column += width {
		n := min(width, q.N-column)
		columns := roundUp(n, vectorsOfBlock)
		for first := 0; first == 0 || first < depth; first += deep {
			ld, m := min(deep, roundUp(depth-first, depthOfBlock)), q.M
			if column > 0 && depth <= deep {
				m = 0 // A is split already
			}
			add("split", (ceil(m, vectorsOfBlock)+columns/vectorsOfBlock)*(ld/depthOfBlock), 256,
				numbers(m, n, min(deep, depth-first), first), a, b(column), at(scalesA), from(scalesB, 4, column),
				at(planesA), at(planesB), []Argument{{Bits: uint64(ld)}})
			q.planes(kernel, rows, columns, place{BufferWork, planesA.at, ld}, place{BufferWork, planesB.at, ld},
				slices.Concat(at(table), flag(first > 0), at(product)))
		}
		add("join", ceil(q.M*(columns/4), 256), 256, numbers(q.M, n, depth), []Argument{q.Rung.scalar(op.Alpha)}, a,
			b(column), at(scalesA), from(scalesB, 4, column), at(product), []Argument{{Bits: uint64(columns)}},
			[]Argument{q.Rung.scalar(op.Beta)}, from(place{BufferC, 0, c.LD}, 8, column),
			place{BufferC, 0, c.LD}.arguments()[1:])
	}
	return nil
}

// planes adds the product of planes, which have the given rows and columns.
func (q *Sequence) planes(kernel Launch, rows, columns int, a, b place, rest []Argument) {
	const edge = 64 // rows of a box
	panel := q.Plan
	panel.N = columns
	kernel.Blocks = panel.tiles() * q.Moduli
	if q.Resident > 0 {
		kernel.Blocks = min(kernel.Blocks, q.Resident)
	}
	operands := slices.Concat(a.arguments()[:1], b.arguments()[:1])
	if q.Rung.Exact {
		box := TensorMap{Type: "int8", Cols: a.ld, BoxRows: edge, BoxCols: q.Tile.BK}
		boxB := box
		box.Rows, boxB.Rows = q.Moduli*rows, q.Moduli*columns
		operands = []Argument{a.mapped(box), b.mapped(boxB)}
	}
	kernel.Arguments = slices.Concat(numbers(q.M, rows, columns, a.ld, q.Moduli), operands, rest)
	q.Launches = append(q.Launches, kernel)
}
