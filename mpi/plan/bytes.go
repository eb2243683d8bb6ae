package plan

import (
	"slices"

	"gemm"
)

// The functions in this file predict what ranks send in a product, from shapes, grids and the hosts of the ranks alone,
// by the rules of Traffic. The files of the algorithms, in package mpi, have examples with ranks and buffers. hosts has
// the number of each rank's host.
//
// The schedules have the Traffic of all ranks in their order. Ranks outside the grid have none. M, N and K are not 0: a
// product without terms has no schedule. Rank 0 is the root.

// P2PRows predicts p2p-rows: rank 0 sends B and some rows of A to each other worker, and receives
// rows of C. The workers are all ranks, or all except rank 0 if the master is idle.
//
//	M = 3, 3 ranks   rank     0              1                2
//	idle master      sends    A₁ B, A₂ B     C₁ (2 rows)      C₂ (1 row)
//	                 gets     C₁, C₂         A₁, B            A₂, B
//	working master   sends    A₁ B, A₂ B     C₁ (1 row)       C₂ (1 row)
func P2PRows(s gemm.Shape, hosts []int, works bool) Schedule {
	out := Schedule{Hosts: hosts}
	there, back := out.step(1, false), out.step(0, false)
	others(s.M, len(hosts), works, func(r int, rows int64) {
		there.Send(0, r, rows*int64(s.K))
		there.Send(0, r, area(s.K, s.N))
		back.Send(r, 0, rows*int64(s.N))
	})
	return out
}

// P2PRowsOverlap predicts p2p-rows-overlap, which sends the same bytes in more messages. K is cut
// into panels of at most width columns of A and rows of B; the first ones are shorter. The rows of C
// are cut into pieces of at most width.
//
//	M = 3, K = 5, width 2   rank 0 → 1: A₁[:,0:1], B[0:1,:], A₁[:,1:3], B[1:3,:], A₁[:,3:5], B[3:5,:]
//	2 ranks                 rank 1 → 0: C₁[0:2,:], C₁[2:3,:]
func P2PRowsOverlap(s gemm.Shape, hosts []int, works bool, width int) Schedule {
	out := Schedule{Hosts: hosts}
	for i, panel := range Growing(s.K, width) {
		there := out.step(share(panel, s.K), i > 0)
		others(s.M, len(hosts), works, func(r int, rows int64) {
			there.Send(0, r, rows*int64(panel.Len()))
			there.Send(0, r, area(panel.Len(), s.N))
		})
	}
	back := out.step(0, true)
	others(s.M, len(hosts), works, func(r int, rows int64) {
		back.sends(r, 0, rows*int64(s.N), pieces(int(rows), width))
	})
	return out
}

// others calls f for the workers besides rank 0 that have rows of C.
func others(m, ranks int, works bool, f func(rank int, rows int64)) {
	workers := ranks
	if !works && ranks > 1 {
		workers--
	}
	for r := 1; r < ranks; r++ {
		if rows := part(m, workers, r-(ranks-workers)); rows > 0 {
			f(r, rows)
		}
	}
}

// ScatterRows predicts scatter-rows. One Scatter sends B and ⌈M/P⌉ rows of A, padded, to each rank.
// One Gather returns as many rows of C.
func ScatterRows(s gemm.Shape, hosts []int) Schedule {
	return ScatterBlocks(s, InOrder(Grid{len(hosts), 1, 1}), hosts)
}

// ScatterBlocks predicts scatter-blocks. One Scatter sends ⌈M/p⌉ rows of A and ⌈N/q⌉ columns of B,
// padded, to rank (i, j). One Gather returns its block of C.
func ScatterBlocks(s gemm.Shape, l Layout, hosts []int) Schedule {
	out := Schedule{Hosts: hosts}
	rows, cols, ranks := pieces(s.M, l.P), pieces(s.N, l.Q), UpTo(l.Ranks())
	out.step(1, false).Scatter(ranks, 0, func(int) int64 { return (rows + cols) * int64(s.K) }, 1)
	out.step(0, false).Gather(ranks, 0, func(int) int64 { return rows * cols }, 1)
	return out
}

// Bands returns in how many bands HostBlocks sends the columns of a block: in 8, unless they are narrow.
func Bands(s gemm.Shape, g Grid) int { return max(1, min(8, ceil(s.N, g.Q)/64)) }

// Band returns the columns of a band of the blocks in column j of the grid.
func (g Grid) Band(s gemm.Shape, bands, j, band int) Span {
	cols := Split(s.N, g.Q, j)
	part := Split(cols.Len(), bands, band)
	return Span{cols.Lo + part.Lo, cols.Lo + part.Hi}
}

// HostBlocks predicts scatter-blocks over several hosts. copies are the hosts of the ranks, whose ranks share
// blocks. Rank 0 sends the first rank of each other the rows of A that its ranks need, and then the columns of B,
// a band of each block at a time. C returns in bands, too.
func HostBlocks(s gemm.Shape, l Layout, hosts, copies []int, bands int) Schedule {
	out := Schedule{Hosts: hosts}
	heads := Leaders(copies)
	rows, cols := l.Needed(copies)
	first := out.step(0, false)
	for h, head := range heads {
		for _, i := range rows[h] {
			first.Send(0, head, part(s.M, l.P, i)*int64(s.K))
		}
	}
	back := func(c Calls, band int) {
		for r := range hosts {
			i, j, _ := l.At(r)
			c.Send(r, 0, part(s.M, l.P, i)*int64(l.Band(s, bands, j, band).Len()))
		}
	}
	for band := range bands {
		// The terms of the rank with most are in column 0 of the grid.
		c := out.step(share(l.Band(s, bands, 0, band), Split(s.N, l.Q, 0).Len()), true)
		for h, head := range heads {
			for _, j := range cols[h] {
				c.Send(0, head, area(s.K, l.Band(s, bands, j, band).Len()))
			}
		}
		if band > 1 {
			back(c, band-2)
		}
	}
	if bands > 1 {
		back(out.step(0, true), bands-2)
	}
	back(out.step(0, false), bands-1)
	return out
}

// GridBlocks predicts grid-blocks. Blocks of rows of A go down column 0 of the grid, then along the
// rows. Blocks of columns of B go along row 0, then down the columns. Blocks of C return along the
// rows, then up column 0. Columns with two different widths need two calls.
func GridBlocks(s gemm.Shape, hosts []int, g Grid) Schedule {
	out := Schedule{Hosts: hosts}
	rows := func(i int) int64 { return part(s.M, g.P, i) }
	cols := func(j int) int64 { return part(s.N, g.Q, j) }
	k, calls := int64(s.K), widths(s.N, g.Q)
	there := out.step(0, false)
	there.Scatter(g.Column(0, 0), 0, func(i int) int64 { return rows(i) * k }, 1)
	there.Scatter(g.Row(0, 0), 0, func(j int) int64 { return k * cols(j) }, calls)
	along := out.step(1, false)
	for i := range g.P {
		along.Bcast(g.Row(i, 0), g.Rank(i, 0, 0), rows(i)*k)
	}
	for j := range g.Q {
		along.Bcast(g.Column(j, 0), g.Rank(0, j, 0), k*cols(j))
	}
	back := out.step(0, false)
	for i := range g.P {
		back.Gather(g.Row(i, 0), g.Rank(i, 0, 0), func(j int) int64 { return rows(i) * cols(j) }, calls)
	}
	out.step(0, false).Gather(g.Column(0, 0), 0, func(i int) int64 { return rows(i) * int64(s.N) }, 1)
	return out
}

// BcastRows predicts bcast-rows. Rows of A are scattered, B is broadcast in panels of at most width
// columns, and the columns of C that a panel gives return from each rank in a message. copies are the
// hosts that share a copy of B, by rank: their first ranks get it, the others nothing. If every rank
// has its own copy, each is a host of its own there, whichever host it is on.
//
// The columns of a panel return while the next one is multiplied and the one after it is broadcast.
func BcastRows(s gemm.Shape, hosts, copies []int, width int) Schedule {
	out := Schedule{Hosts: hosts}
	rows := func(r int) int64 { return part(s.M, len(hosts), r) }
	out.step(0, false).Scatter(UpTo(len(hosts)), 0, func(r int) int64 { return rows(r) * int64(s.K) }, 1)
	back := func(c Calls, panel Span) {
		for r := range hosts {
			c.Send(r, 0, rows(r)*int64(panel.Len()))
		}
	}
	panels, to := Chunks(s.N, width), Leaders(copies)
	for i, panel := range panels {
		c := out.step(share(panel, s.N), i > 0)
		c.Bcast(to, 0, area(s.K, panel.Len()))
		if i > 1 {
			back(c, panels[i-2])
		}
	}
	last := len(panels) - 1
	if last > 0 {
		back(out.step(0, true), panels[last-1])
	}
	back(out.step(0, false), panels[last])
	return out
}

// Summa predicts summa, for operands that are distributed over the grid already. A panel at a time,
// each rank sends its columns of A along its row of the grid and its rows of B down its column, and
// receives the panels of the others. C stays where it is computed. Panels follow each other as in Alternating.
func Summa(s gemm.Shape, hosts []int, g Grid, width int) Schedule {
	return Layers(s, hosts, Grid{g.P, g.Q, 1}, width)
}

// Srumma predicts srumma, for operands that are distributed as for summa. Each rank fetches what
// it receives by the broadcasts of summa, and no rank sends.
// Every rank takes the panels in their order, from the panel with which it begins; see First.
func Srumma(s gemm.Shape, hosts []int, g Grid, width int) Schedule {
	return fetched(s, hosts, g, width, Calls.Fetch)
}

// SrummaSent predicts srumma if the owners send their panels. Every panel that a rank needs is then a
// message from its owner.
func SrummaSent(s gemm.Shape, hosts []int, g Grid, width int) Schedule {
	return fetched(s, hosts, g, width, func(c Calls, rank, from int, elements int64) { c.Send(from, rank, elements) })
}

// SrummaNear predicts srumma if the ranks of a host fetch panels from each other, and owners send them to other hosts.
func SrummaNear(s gemm.Shape, hosts []int, g Grid, width int) Schedule {
	return fetched(s, hosts, g, width, func(c Calls, rank, from int, elements int64) {
		if hosts[rank] == hosts[from] {
			c.Fetch(rank, from, elements)
		} else {
			c.Send(from, rank, elements)
		}
	})
}

func fetched(s gemm.Shape, hosts []int, g Grid, width int,
	fetch func(c Calls, rank, from int, elements int64)) Schedule {
	out := Schedule{Hosts: hosts}
	panels := Panels(Span{Hi: s.K}, g.P, g.Q, width)
	for turn := range panels {
		c := out.step(1/float64(len(panels)), turn > 0)
		for r := range g.Ranks() {
			i, j, _ := g.At(r)
			p := panels[(First(g, i, j, len(panels))+turn)%len(panels)]
			fetch(c, r, g.Rank(i, p.Col, 0), part(s.M, g.P, i)*int64(p.K.Len()))
			fetch(c, r, g.Rank(p.Row, j, 0), int64(p.K.Len())*part(s.N, g.Q, j))
		}
	}
	return out
}

// First returns the step with which the rank at a place of the grid begins in srumma.
func First(g Grid, i, j, steps int) int { return (i*g.Q + j*g.P) % g.Ranks() * steps / g.Ranks() }

// Cannon predicts cannon, for operands that are distributed over the grid already. K is cut into lcm(P, Q) blocks, and
// there are as many steps; see Shifts. Before each step, except the first, A moves one column to the left and B one row
// up. The blocks of the first step are counted separately as the skew: row i of the grid needs A's blocks from i
// columns farther, and column j needs B's from j rows farther.
//
// A rank does not receive a block that it owns.
func Cannon(s gemm.Shape, hosts []int, g Grid) (steps, skew Schedule) {
	steps, skew = Schedule{Hosts: hosts}, Schedule{Hosts: hosts}
	shifts := Shifts{g, s.K}
	c := skew.step(0, false)
	for step := range shifts.Steps() {
		now := steps.step(share(shifts.Depth(step), s.K), step > 0)
		if step > 0 {
			c = now
		}
		for r := range g.Ranks() {
			i, j, _ := g.At(r)
			depth := int64(shifts.Depth(shifts.Block(i, j, step)).Len())
			c.Send(g.Rank(i, shifts.FromA(i, j, step), 0), r, part(s.M, g.P, i)*depth)
			c.Send(g.Rank(shifts.FromB(i, j, step), j, 0), r, depth*part(s.N, g.Q, j))
		}
	}
	return steps, skew
}

// Layers predicts 25d: summa in each layer, on its part of K; then a ReduceScatter of C over the
// layers, after which each layer has a part of the rows.
//
//	1×1×2, M = 3      rank      0                           1
//	summa                       C⁰ = A[:,0:k/2]·B[0:k/2]    C¹ = A[:,k/2:k]·B[k/2:k]
//	ReduceScatter     before    C⁰ (3 rows)                 C¹ (3 rows)
//	                  after     rows 0, 1 of C⁰+C¹          row 2 of C⁰+C¹
func Layers(s gemm.Shape, hosts []int, g Grid, width int) Schedule {
	return layers(s, hosts, g, width, Calls.Bcast)
}

// LayersNear predicts 25d if ranks that are all on one host fetch a panel from its owner, in place of a broadcast.
func LayersNear(s gemm.Shape, hosts []int, g Grid, width int) Schedule {
	return layers(s, hosts, g, width, func(c Calls, ranks []int, owner int, elements int64) {
		if slices.ContainsFunc(ranks, func(r int) bool { return hosts[r] != hosts[owner] }) {
			c.Bcast(ranks, owner, elements)
			return
		}
		for _, r := range ranks {
			c.Fetch(r, owner, elements)
		}
	})
}

func layers(s gemm.Shape, hosts []int, g Grid, width int,
	share func(c Calls, ranks []int, owner int, elements int64)) Schedule {
	out := Schedule{Hosts: hosts}
	var panels [][]Panel // by layer
	steps := 0
	for l := range g.C {
		panels = append(panels, Alternating(Panels(Split(s.K, g.C, l), g.P, g.Q, width)))
		steps = max(steps, len(panels[l]))
	}
	for t := range steps {
		c, widest := out.step(0, t > 0), 0
		for l := range g.C {
			if t < len(panels[l]) {
				c.panel(s, g, l, panels[l][t], share)
				widest = max(widest, panels[l][t].K.Len())
			}
		}
		out.Steps[t].Share = float64(widest*g.C) / float64(s.K)
	}
	if g.C == 1 {
		return out
	}
	sum := out.step(0, false)
	for i := range g.P {
		for j := range g.Q {
			rows, cols := part(s.M, g.P, i), part(s.N, g.Q, j)
			sum.ReduceScatter(g.Fiber(i, j), func(l int) int64 { return part(int(rows), g.C, l) * cols })
		}
	}
	return out
}

// panel counts how the ranks of a layer share a panel.
func (c Calls) panel(s gemm.Shape, g Grid, layer int, p Panel,
	share func(c Calls, ranks []int, owner int, elements int64)) {
	for i := range g.P {
		share(c, g.Row(i, layer), g.Rank(i, p.Col, layer), part(s.M, g.P, i)*int64(p.K.Len()))
	}
	for j := range g.Q {
		share(c, g.Column(j, layer), g.Rank(p.Row, j, layer), int64(p.K.Len())*part(s.N, g.Q, j))
	}
}

// share returns the part of k that is in a span.
func share(s Span, k int) float64 { return float64(s.Len()) / float64(k) }

// part returns the length of the i-th part of Split.
func part(n, parts, i int) int64 { return int64(Split(n, parts, i).Len()) }

func area(a, b int) int64 { return int64(a) * int64(b) }

// pieces returns ⌈n/width⌉.
func pieces(n, width int) int64 { return int64(ceil(n, width)) }

// widths returns how many different lengths, except 0, the parts of Split have.
func widths(n, parts int) int64 {
	if n > parts && n%parts != 0 {
		return 2
	}
	return min(int64(n), 1)
}
