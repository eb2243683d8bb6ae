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
	leastEdge      = 256                  // rows and columns of a panel of C, at least, if there are several
	mostVectors    = 1 << 27              // rows or columns of a panel: maps count 2³² rows of all planes
)

// modulusBytes is the size of a Modulus of residues.cu.
const modulusBytes = 20

func roundUp(n, by int) int { return max(1, ceil(n, by)) * by }

// panelOf returns how many rows and columns of C and k indices are computed at a time, so that the planes fit.
func (q *Sequence) panelOf(g GPU, depth int) (height, width, deep int, err error) {
	height, width = min(mostVectors, roundUp(q.M, vectorsOfBlock)), min(mostVectors, roundUp(q.N, vectorsOfBlock))
	deep = min(mostDepth, roundUp(depth, depthOfBlock))
	for {
		operands := int64(q.Moduli) * (int64(height) + int64(width)) * int64(deep)
		all := operands + int64(q.Moduli)*int64(height)*int64(width) + 4*int64(q.M+q.N) + q.Work + 1<<20
		edge := &height
		if width >= height {
			edge = &width
		}
		switch {
		case g.holds(all):
			return height, width, deep, nil
		case deep > 8*depthOfBlock && 2*operands > all || *edge <= leastEdge && deep > depthOfBlock:
			deep = roundUp(deep/2, depthOfBlock)
		case *edge > leastEdge:
			*edge = roundUp(*edge/2, leastEdge)
		default:
			return 0, 0, 0, gemm.Unavailablef("%s needs %d MiB for residues of %v, and %d are free: %d are lacking",
				q.Rung.Name, all>>20, q.Shape, g.Free>>20, (all-g.Free)>>20+1).
				WithRemedy("choose fewer moduli, or cuda/tuned")
		}
	}
}

// residues adds the kernels that scale and split A and B, that multiply the planes and that join the products. If the
// work memory does not fit, there are panels of rows and columns of C, and panels of k.
func (q *Sequence) residues(g GPU, kernel Launch, op Operation, depth int, c Operand) error {
	height, width, deep, err := q.panelOf(g, depth)
	if err != nil {
		return err
	}
	planes := int64(q.Moduli)
	bytes := func(n int64) place { return place{BufferWork, q.take(n), 0} }
	scalesA, scalesB, table := bytes(4*int64(q.M)), bytes(4*int64(q.N)), bytes(modulusBytes*planes)
	planesA, planesB := bytes(planes*int64(height)*int64(deep)), bytes(planes*int64(width)*int64(deep))
	product := bytes(planes * int64(height) * int64(width))
	program := nvrtc.Program{Name: "residues.cu", Source: kernels.Residues, Arch: kernel.Program.Arch,
		Options: ladder.Residues(planes).Options()}
	add := func(name string, blocks, threads int, arguments ...[]Argument) {
		q.Launches = append(q.Launches, Launch{Program: program, Kernel: name, Blocks: blocks, Threads: threads,
			Arguments: slices.Concat(arguments...)})
	}
	flag := func(x bool) []Argument { return numbers(map[bool]int{true: 1}[x]) }
	from := func(p place, bytes, element int) []Argument {
		p.at += int64(bytes) * int64(element)
		return p.arguments()[:1]
	}
	// vectors returns an operand from a row of op(A) or a column of op(B) on, and how it is stored.
	vectors := func(of Buffer, ld int, along bool, first int) []Argument {
		step := 8
		if along {
			step *= ld
		}
		return slices.Concat(from(place{buffer: of}, step, first), place{ld: ld}.arguments()[1:], flag(along))
	}
	a := func(row int) []Argument { return vectors(BufferA, q.stored[0].LD, !op.TransA, row) }
	b := func(column int) []Argument { return vectors(BufferB, q.stored[1].LD, op.TransB, column) }
	f, e := ladder.Residues(planes).Range(depth)
	add("scale", ceil(q.M, vectorsOfBlock)+ceil(q.N, vectorsOfBlock), 1024, numbers(q.M, q.N, depth), a(0), b(0),
		[]Argument{{Bits: uint64(math.Float32bits(f))}}, numbers(e), from(scalesA, 0, 0), from(scalesB, 0, 0),
		from(table, 0, 0))
	for row := 0; row == 0 || row < q.M; row += height {
		for column := 0; column == 0 || column < q.N; column += width {
			m, n := min(height, q.M-row), min(width, q.N-column)
			columns := roundUp(n, vectorsOfBlock)
			for first := 0; first == 0 || first < depth; first += deep {
				ld, splitA, splitB := min(deep, roundUp(depth-first, depthOfBlock)), m, n
				if depth <= deep && column > 0 { // A is split already
					splitA = 0
				}
				if depth <= deep && row > 0 && width >= q.N {
					splitB = 0
				}
				add("split", (ceil(splitA, vectorsOfBlock)+ceil(splitB, vectorsOfBlock))*(ld/depthOfBlock), 256,
					numbers(splitA, splitB, min(deep, depth-first), first), a(row), b(column), from(scalesA, 4, row),
					from(scalesB, 4, column), from(planesA, 0, 0), from(planesB, 0, 0), []Argument{{Bits: uint64(ld)}})
				q.planes(kernel, m, columns, place{BufferWork, planesA.at, ld}, place{BufferWork, planesB.at, ld},
					slices.Concat(from(table, 0, 0), flag(first > 0), from(product, 0, 0)))
			}
			add("join", ceil(m*(columns/4), 256), 256, numbers(m, n, depth), []Argument{q.Rung.scalar(op.Alpha)}, a(row),
				b(column), from(scalesA, 4, row), from(scalesB, 4, column), from(product, 0, 0),
				[]Argument{{Bits: uint64(columns)}}, []Argument{q.Rung.scalar(op.Beta)},
				from(place{buffer: BufferC}, 8, row*c.LD+column), place{ld: c.LD}.arguments()[1:])
		}
	}
	return nil
}

// planes adds the product of planes, which have m rows and the given columns.
func (q *Sequence) planes(kernel Launch, m, columns int, a, b place, rest []Argument) {
	const edge = 64 // rows of a box
	panel, rows := q.Plan, roundUp(m, vectorsOfBlock)
	panel.M, panel.N = m, columns
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
	kernel.Arguments = slices.Concat(numbers(m, rows, columns, a.ld, q.Moduli), operands, rest)
	q.Launches = append(q.Launches, kernel)
}
