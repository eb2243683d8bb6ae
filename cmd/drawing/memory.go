package drawing

import (
	"maps"
	"slices"

	"gemm/compare/report/chart"
	"gemm/cuda/ladder"
)

// passesOf returns, for the lanes that are served together, the pass of each address: the first is 1. It writes the
// last of these lanes, their number of passes, the passes of the warp, and the least number without conflicts.
func passesOf(s *sheet, x, y int, q ladder.Request) map[int]int {
	q.Count = 1
	r := ladder.Rung{Threads: func(ladder.Tile) int { return ladder.Lanes },
		Banks: func(ladder.Tile, ladder.Widths) []ladder.Request { return []ladder.Request{q} }}
	a := r.Accesses(ladder.Tile{}, ladder.Widths{})[0]
	var addresses [ladder.Lanes]int
	for lane := range addresses {
		addresses[lane] = q.At(lane, 0)
	}
	passes, words := map[int]int{}, map[int]int{}
	lanes := ladder.AtOnce(addresses[:], q.Bytes)
	for _, at := range addresses[:lanes] {
		if bank := at / 4 % 32; passes[at] == 0 {
			words[bank]++
			passes[at] = words[bank]
		}
	}
	s.note(x, y, chart.Begin, s.said("passes", "last", lanes-1, "lanes", slices.Max(slices.Collect(maps.Values(words))),
		"warp", a.Passes, "least", a.Passes-a.Conflict))
	return passes
}

// banks is which banks the threads of packed-smem and packed-conflictfree read at once, with blocks of 8×8.
func banks(s *sheet) {
	smem, t := s.rung("packed-smem", "f64", 8)
	free, _ := s.rung("packed-conflictfree", "f64", 8)
	n := t.BK
	slices, transposed := smem.Banks(t, smem.Widest()), free.Banks(t, free.Widest())
	padded := func(thread, kk int) int { return 8 * (thread%n*(n+1) + kk) }
	for i, q := range []ladder.Request{slices[0], slices[1], transposed[0], ladder.Read("A", 8, n, padded)} {
		x, y := i%2*380, i/2*290
		passes := passesOf(s, x, y+46+high*n, q)
		s.cells(x, y+30, 40, high, n, n, func(i, j int) (chart.Tint, string) {
			at := q.At(i, j) // of A[i][j]: thread i reads row i
			if q.Operand == "B" {
				at = q.At(j*n, i) // of B[i][j]: thread j·n reads column j
			}
			return chart.Tint(passes[at]), sprint(at / 8 % 16)
		})
	}
}

// banks32 is where the 32 words of a warp lie in rows of 32 banks.
func banks32(s *sheet) {
	const y, size = 56, 6
	smem, t := s.rung("smem", "f32", 32)
	column := func(row int) ladder.Request {
		return ladder.Read("A", 4, 1, func(thread, _ int) int { return 4 * thread * row })
	}
	for i, q := range []ladder.Request{column(t.BK), smem.Banks(t, smem.Widest())[0], column(t.BK + 1)} {
		x := i * 250
		s.box(x, y, 32*size, 33*size, chart.Blank, "")
		for j := 0; j < 32; j += 8 {
			s.note(x+j*size, 38, chart.Begin, sprint(j))
			s.line(chart.Gap, x+j*size, y, x+j*size, y+33*size)
		}
		for at, pass := range passesOf(s, x, 272, q) {
			s.box(x+at/4%32*size, y+at/128*size, size, size, chart.Strong+1+chart.Tint((pass-1)%7), "")
		}
	}
}

// banks8 is the 32 doubles of a warp in banks of 4 and of 8 bytes.
func banks8(s *sheet) {
	for i, width := range []int{4, 8} {
		y := 36 + i*112
		for bank := 0; bank < 32; bank += 4 {
			s.note(bank*22, y, chart.Begin, sprint(bank))
		}
		s.cells(0, y+12, 22*8/width, high, 8/width, 4*width, func(i, j int) (chart.Tint, string) {
			return chart.Tint(1 + i), sprint(i*4*width + j)
		})
	}
}

// halves is the transposed slice of conflictfree, and the two halves of a thread's tile along each edge.
func halves(s *sheet) {
	const size, x, y, stored = 2, 36, 66, 386
	r, t := s.rung("conflictfree", "f32", 128)
	footprint(s, r, t, x, y, size)
	pad := t.PadOf(4)
	s.box(0, stored, t.BM*size, t.BK*size, chart.Blank, "")
	s.box(t.BM*size, stored, pad*size, t.BK*size, 8, "")
	rows, _ := reads(r, t, 0)
	for i := range rows {
		s.box(i*size, stored, size, size, chart.Strong+2, "")
	}
	s.values["pad"], s.values["stored"], s.values["quads"] = pad, t.BM+pad, t.TM*t.TN/16
	s.values["down"], s.values["over"] = t.BM/2, t.BN/2
}

// swizzle is where the 16 bytes of a row of 128 bytes lie in shared memory: copy_box.
func swizzle(s *sheet) {
	const units = 8
	for i := range 2 {
		s.cells(i*380, 30, 36, high, units, units, func(r, at int) (chart.Tint, string) {
			unit := at ^ r%units*i
			return chart.Tint(1 + unit), sprint(unit)
		})
	}
}
