package drawing

import (
	"gemm/compare/report/chart"
	"gemm/cuda/ladder"
)

// warps is how the threads of a block of two dimensions are numbered.
func warps(s *sheet) {
	const wide, rows = 16, 8
	for j := range wide {
		s.note(100+j*38, 36, chart.Middle, sprint(j))
	}
	for i := range rows {
		s.note(60, 61+i*high, chart.End, sprint(i))
	}
	s.cells(81, 48, 38, high, rows, wide, func(i, j int) (chart.Tint, string) {
		id := j + wide*i
		return chart.Tint(1 + id/ladder.Lanes), sprint(id)
	})
	for warp := range wide * rows / ladder.Lanes {
		s.box(warp*180, 296, high, high, chart.Tint(1+warp), "")
		first := warp * ladder.Lanes
		s.note(warp*180+34, 309, chart.Begin, sprint("warp ", warp, ": ", first, "-", first+ladder.Lanes-1))
	}
}

// reads returns the rows of A and the columns of B that a thread reads at the first step of k, as its kernel counts
// them.
func reads(r ladder.Rung, t ladder.Tile, thread int) (rows, cols map[int]bool) {
	rows, cols = map[int]bool{}, map[int]bool{}
	if r.Elements != nil {
		a, b := r.Elements(t, thread)
		rows[a/ladder.Apart], cols[b] = true, true
		return rows, cols
	}
	for _, q := range r.Banks(t, r.Widest()) {
		for i := range q.Count {
			first, size := q.At(thread, i)/r.Size(), q.Bytes/r.Size()
			for e := first; !q.Write && e < first+size; e++ {
				switch {
				case q.Operand == "B" && e < t.BN:
					cols[e] = true
				case q.Operand == "A" && r.Copies && e < t.BM: // transposed
					rows[e] = true
				case q.Operand == "A" && !r.Copies && e%t.BK == 0:
					rows[e/t.BK] = true
				}
			}
		}
	}
	return rows, cols
}

// footprint draws the elements of A, B and C that warp 0 and its thread 0 read and add to at one step of k. Elements
// have the given size. It returns how many elements of A and B the warp reads.
func footprint(s *sheet, r ladder.Rung, t ladder.Tile, x, y, size int) (ofA, ofB int) {
	left, top := s.operands(x, y, t.BM*size, t.BN*size, 8*size)
	allRows, allCols := map[int]bool{}, map[int]bool{}
	for thread := range ladder.Lanes {
		tint := chart.Tint(1)
		if thread == 0 {
			tint = chart.Strong + 2
		}
		rows, cols := reads(r, t, thread)
		for i := range rows {
			for j := range cols {
				allRows[i], allCols[j] = true, true
				s.box(x, top+i*size, size, size, tint, "")
				s.box(left+j*size, y, size, size, tint, "")
				s.box(left+j*size, top+i*size, size, size, tint, "")
			}
		}
	}
	return len(allRows), len(allCols)
}

// accesses is what a warp reads in four kernels.
func accesses(s *sheet) {
	for i, name := range []string{"naive", "coalesced", "blocktile1d", "blocktile2d"} {
		r, t := s.rung(name, "f32", 64)
		x, y := i%2*370, 40+i/2*330
		ofA, ofB := footprint(s, r, t, x, y, 192/t.BM)
		s.note(x, y+280, chart.Begin, sprint(i+1+i/2, ". ", name, ", ", t.Name()))
		s.note(x, y+302, chart.Begin, s.said("reads", "A", ofA, "B", ofB))
	}
}

// tiles is which slices of A and B a block copies to shared memory.
func tiles(s *sheet) {
	const many, y, at, edge = 4, 30, 2, 48 // tiles of a matrix along an edge, and which one is shown
	_, t := s.rung("blocktile2d", "f32", 128)
	deep := edge * t.BK / t.BM
	left, top := s.operands(0, y, many*edge, many*edge, many*edge)
	s.cells(left, top, edge, edge, many, many, plain(chart.Blank))
	s.box(0, top+at*edge, many*edge, edge, 1, "")
	s.box(left+at*edge, y, edge, many*edge, 3, "")
	s.box(72, top+at*edge, deep, edge, chart.Strong+1, "")
	s.box(left+at*edge, y+72, edge, deep, chart.Strong+3, "")
	s.box(left+at*edge, top+at*edge, edge, edge, 2, "")
	s.arrow(left+(at+1)*edge, y+73, 500)
	s.box(508, y+67, 4*edge, 4*deep, chart.Strong+3, "")
	s.line(chart.Thin, 73, top+(at+1)*edge, 73, top+many*edge+34)
	s.arrow(73, top+many*edge+34, 500)
	s.box(508, top+many*edge, 4*deep, 4*edge, chart.Strong+1, "")
}

// registers is what a thread reads at a step of k, and its outer product.
func registers(s *sheet) {
	const x, y, size = 0, 34, 2
	r, t := s.rung("blocktile2d", "f32", 128)
	left, top := s.operands(x, y, t.BM*size, t.BN*size, t.BK*size)
	s.box(x, top, size, t.BM*size, 1, "")
	s.box(left, y, t.BN*size, size, 3, "")
	rows, cols := reads(r, t, 5*t.BN/t.TN+6)
	for i := range rows {
		s.box(x, top+i*size, size, size, chart.Strong+1, "")
		for j := range cols {
			s.box(left+j*size, y, size, size, chart.Strong+3, "")
			s.box(left+j*size, top+i*size, size, size, 2, "")
		}
	}
	s.arrow(290, 173, 366)
	s.values["reads"], s.values["products"] = len(rows)+len(cols), len(rows)*len(cols)
	s.cells(422, 30, 36, high, 1, t.TN, func(_, j int) (chart.Tint, string) { return 3, sprint("b", j) })
	s.cells(380, 60, 36, high, t.TM, 1, func(i, _ int) (chart.Tint, string) { return 1, sprint("a", i) })
	s.cells(422, 60, 36, high, t.TM, t.TN, plain(2))
}

// work is the tile of each thread of a block.
func work(s *sheet) {
	const row, col = 5, 6 // of a thread
	r, t := s.rung("blocktile2d", "f32", 128)
	down, over := t.BM/t.TM, t.BN/t.TN
	s.cells(0, 30, 18, 18, down, over, func(i, j int) (chart.Tint, string) {
		if i == row && j == col {
			return 2, ""
		}
		return chart.Tint(1 + (i*over+j)/ladder.Lanes%2*5), ""
	})
	s.arrow(col*18+18, 30+row*18+9, 366)
	s.cells(380, 30, 36, high, t.TM, t.TN, plain(2))
	s.values["down"], s.values["over"], s.values["threads"], s.values["thread"] = down, over, r.Threads(t), row*over+col
}

// warptile is the tiles of block, warp and thread of the rung of that name.
func warptile(s *sheet) {
	_, t := s.rung("warptile", "f32", 128)
	const quad = 4
	across := t.BN / t.WN
	lanesM, lanesN := t.WM/t.TM, t.WN/t.TN
	owners := map[[2]int]int{} // of the quads that lanes have first
	for lane := range lanesM * lanesN {
		owners[[2]int{lane/(2*lanesN)*2 + lane%2, lane / 2 % lanesN}] = lane
	}
	s.cells(0, 30, 104, 2*high, t.BM/t.WM, across, func(i, j int) (chart.Tint, string) {
		return chart.Tint(1 + (i*across+j)%7), sprint(i*across + j)
	})
	s.cells(260, 30, high, high, t.WM/quad, t.WN/quad, func(i, j int) (chart.Tint, string) {
		lane := owners[[2]int{i % lanesM, j % lanesN}]
		return chart.Tint(1 + lane/8), sprint(lane)
	})
	s.values["quads"] = t.TM * t.TN / quad / quad
}

// warpgroups is which warpgroup, warp and lane of tf32-wgmma-ws have which sums.
func warpgroups(s *sheet) {
	_, t := s.rung("tf32-wgmma-ws", "f32", 256)
	const ofGroup, ofWarp = 64, 16
	s.cells(0, 30, 330, 16*high*ofWarp/t.BN, t.BN/ofWarp, 1, func(i, _ int) (chart.Tint, string) {
		group, warp := i*ofWarp/ofGroup, i%(ofGroup/ofWarp)
		return chart.Tint(1 + group), s.said("warp", "consumer", group+1, "warp", warp)
	})
	s.cells(400, 30, 36, high, ofWarp, 8, func(i, j int) (chart.Tint, string) {
		lane := i%8*4 + j/2
		return chart.Tint(1 + lane/4%7), sprint(lane)
	})
}

// fieldTiles is the tiles of naive, square-tiled and tiled over GF(2⁸).
func fieldTiles(s *sheet) {
	panel := func(x, y, m, n, bm, bn, bk int) {
		const k = 128
		left, top := s.operands(x, y, m, n, k)
		s.box(left+bn, y, bn, k, 3, "")
		s.box(x, top+bm, k, bm, 1, "")
		s.box(left+bn, top+bm, bn, bm, 2, "")
		if bk > 0 {
			s.box(left+bn, y+bk, bn, bk, chart.Strong+3, "")
			s.box(x+bk, top+bm, bk, bm, chart.Strong+1, "")
		}
	}
	panel(0, 40, 160, 160, 8, 8, 0)
	_, t := s.rung("square-tiled", "gf256", 16)
	panel(380, 40, 160, 160, 2*t.BM, 2*t.BN, 2*t.BK)
	_, t = s.rung("tiled", "gf256", 16)
	panel(0, 390, 96, 512, 2*t.BM, 2*t.BN, 2*t.BK)
}
