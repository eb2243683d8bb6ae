package drawing

import (
	"fmt"
	"strings"

	"gemm"
	"gemm/compare/report/chart"
	"gemm/gf256"
	"gemm/mpi/plan"
)

// distribution is the parts of the operands that four ranks get: rows of C, or blocks.
func distribution(s *sheet) {
	const size, depth, y = 48, 90, 40
	for p, g := range []plan.Grid{{P: 4, Q: 1, C: 1}, {P: 2, Q: 2, C: 1}} {
		b := plan.Buffers{Layout: plan.InOrder(g), Shape: gemm.Cube(4)}
		x, block := p*380, b.Block()
		left, top := x+depth+12, y+depth+12
		needs := func(has func(rows, cols plan.Span) bool) (chart.Tint, string) {
			var ranks []string
			for rank := range g.Ranks() {
				if has(b.Of(rank)) {
					ranks = append(ranks, sprint(rank))
				}
			}
			return 8, strings.Join(ranks, ", ")
		}
		s.cells(x, top, depth, block.M*size, g.P, 1, func(i, _ int) (chart.Tint, string) {
			return needs(func(rows, _ plan.Span) bool { return rows.Lo == i*block.M })
		})
		s.cells(left, y, block.N*size, depth, 1, g.Q, func(_, j int) (chart.Tint, string) {
			return needs(func(_, cols plan.Span) bool { return cols.Lo == j*block.N })
		})
		s.cells(left, top, block.N*size, block.M*size, g.P, g.Q, func(i, j int) (chart.Tint, string) {
			return chart.Tint(1 + b.Rank(i, j, 0)), sprint(b.Rank(i, j, 0))
		})
		s.note(x, y+depth-4, chart.Begin, "A")
		s.note(left-8, y+12, chart.End, "B")
		s.note(left+4*size+8, top+4*size-10, chart.Begin, "C")
	}
}

// index is which element of B is at which place of a rank's block, and which element of C at which place of the buffer
// that gathers it.
func index(s *sheet) {
	const rank, cell = 1, 36
	b := plan.Buffers{Layout: plan.InOrder(plan.Grid{P: 2, Q: 2, C: 1}), Shape: gemm.Cube(4)}
	n, block := b.N, b.Block()
	mine, place := map[int]bool{}, map[[2]int]int{} // elements of B in the block; elements of C by rank and place
	s.cells(250, 30, cell, high, 2, b.K*block.N, func(i, e int) (chart.Tint, string) {
		row, col := b.InB(rank, e)
		mine[row*n+col] = true
		return chart.Tint(i), sprint([]int{e, row*n + col}[i])
	})
	s.cells(0, 30, cell, high, n, n, func(i, j int) (chart.Tint, string) {
		if mine[i*n+j] {
			return 1, sprint(i*n + j)
		}
		return chart.Blank, sprint(i*n + j)
	})
	s.arrow(160, 82, 230)
	s.cells(0, 190, cell, high, n, n, func(i, j int) (chart.Tint, string) {
		rank, e := b.InC(i, j)
		place[[2]int{rank, e}] = i*n + j
		return chart.Tint(1 + rank), sprint(i*n + j)
	})
	s.arrow(160, 242, 230)
	s.cells(250, 190, cell, high, b.Ranks(), block.M*block.N, func(rank, e int) (chart.Tint, string) {
		return chart.Tint(1 + rank), sprint(place[[2]int{rank, e}])
	})
	for i := range b.Ranks() {
		s.note(404, 203+i*high, chart.Begin, s.said("of", "rank", i))
	}
	s.values["M"], s.values["N"], s.values["n"], s.values["rank"] = block.M, block.N, n, rank
	s.values["owner"], s.values["e"] = b.InC(2, 2)
}

// rsMatrix is the shards of a file: the generator of 4+2 times the data.
func rsMatrix(s *sheet) {
	const data, parity, y, wide = 4, 2, 40, 40
	g, err := gf256.Vandermonde(data, parity)
	if err != nil {
		panic(err)
	}
	s.cells(0, y, wide, high, data+parity, data, func(i, j int) (chart.Tint, string) {
		tint := chart.Blank
		if i >= data {
			tint = 2
		} else if i == j {
			tint = 1
		}
		return tint, fmt.Sprintf("%02x", g.Row(i)[j].Byte())
	})
	s.cells(204, y+high, 180, high, data, 1, func(i, _ int) (chart.Tint, string) { return 3, s.said("row", "i", i) })
	s.cells(428, y, 290, high, data+parity, 1, func(i, _ int) (chart.Tint, string) {
		if i < data {
			return 3, s.said("shard", "i", i)
		}
		return 2, s.said("parity", "i", i, "p", i-data)
	})
}

// residues is a product of integers by residues modulo 7, 8 and 9.
func residues(s *sheet) {
	const cell, step, y, all = 48, 70, 30, 7 * 8 * 9
	show := func(x, y int, tint chart.Tint, of func(i, j int) int) func(i, j int) int {
		for e := range 4 {
			s.box(x+e%2*cell, y+e/2*high, cell-2, high-2, tint, sprint(of(e/2, e%2)))
		}
		return of
	}
	product := func(a, b func(i, j int) int) func(i, j int) int {
		return func(i, j int) int { return a(i, 0)*b(0, j) + a(i, 1)*b(1, j) }
	}
	modulo := func(x func(i, j int) int, m int) func(i, j int) int {
		return func(i, j int) int { return ((x(i, j)+m/2)%m+m)%m - m/2 }
	}
	a := show(0, y+step/2, chart.Blank, func(i, j int) int { return [][]int{{13, -2}, {5, 9}}[i][j] })
	b := show(0, y+3*step/2, chart.Blank, func(i, j int) int { return [][]int{{-17, 4}, {3, 8}}[i][j] })
	joined := func(int, int) int { return 0 }
	for l, m := range []int{7, 8, 9} {
		tint, top, before, inverse := chart.Tint(1+l), y+l*step, joined, 1
		am, bm := show(170, top, tint, modulo(a, m)), show(278, top, tint, modulo(b, m))
		ab := show(430, top, tint, modulo(product(am, bm), m))
		for all/m*inverse%m != 1 {
			inverse++
		}
		joined = func(i, j int) int { return before(i, j) + all/m*inverse*ab(i, j) }
		s.arrow(380, top+high, 422)
		s.note(160, top+high, chart.End, s.said("modulo", "m", m))
	}
	s.arrow(532, y+step+high, 574)
	show(582, y+step, chart.Blank, modulo(joined, all))
}
