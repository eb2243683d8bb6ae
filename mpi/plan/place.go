package plan

import (
	"slices"

	"gemm"
)

// Flow is the number of elements that a host sends to other hosts and receives from them.
type Flow struct{ Sent, Recv int64 }

// Hosts numbers hosts in the order in which they appear: the number of each rank's host, from the name
// or another sign of it.
//
//	Hosts("a", "b", "a", "c"): 0 1 0 2
func Hosts[H comparable](of []H) []int {
	numbers := map[H]int{}
	out := make([]int, len(of))
	for r, h := range of {
		if _, ok := numbers[h]; !ok {
			numbers[h] = len(numbers)
		}
		out[r] = numbers[h]
	}
	return out
}

// Count returns the number of hosts.
func Count(hosts []int) int { return slices.Max(hosts) + 1 }

// Layout is a grid with a rank at each of its places. Place n has the coordinates that Grid.At(n) returns.
type Layout struct {
	Grid
	Order  []int // rank by place
	places []int // place by rank
}

// InOrder returns the layout in which rank n is at place n.
func InOrder(g Grid) Layout {
	out := make([]int, g.Ranks())
	for r := range out {
		out[r] = r
	}
	return Layout{g, out, out}
}

// At returns the coordinates of a rank.
func (l Layout) At(rank int) (i, j, layer int) { return l.Grid.At(l.places[rank]) }

// Rank returns the rank with the coordinates.
func (l Layout) Rank(i, j, layer int) int { return l.Order[l.Grid.Rank(i, j, layer)] }

// Place returns the place of a rank.
func (l Layout) Place(rank int) int { return l.places[rank] }

// Ordered reports whether every rank is at the place with its number.
func (l Layout) Ordered() bool { return slices.IsSorted(l.Order) }

// Hosts returns the hosts of the places, from those of the ranks. Ranks outside of the grid follow.
func (l Layout) Hosts(hosts []int) []int {
	out := slices.Clone(hosts)
	for place, r := range l.Order {
		out[place] = hosts[r]
	}
	return out
}

// ByRank returns the schedule of the ranks from the schedule of the places. Ranks outside of the grid follow.
func (l Layout) ByRank(places Schedule) Schedule {
	out := Schedule{Hosts: slices.Clone(places.Hosts), Steps: slices.Clone(places.Steps)}
	for place, r := range l.Order {
		out.Hosts[r] = places.Hosts[place]
	}
	for n, step := range places.Steps {
		out.Steps[n].Traffic = slices.Clone(step.Traffic)
		for place, r := range l.Order {
			out.Steps[n].Traffic[r] = step.Traffic[place]
		}
	}
	return out
}

// laid returns the layout with the rank of each place.
func laid(g Grid, order []int) Layout {
	l := Layout{g, order, make([]int, len(order))}
	for place, r := range order {
		l.places[r] = place
	}
	return l
}

// Place returns the layout of a grid in which the busiest host sends and receives least, and among equal ones all hosts
// together. Rank 0 stays at place 0. hosts are the hosts of the ranks; flow predicts what they exchange, from the hosts
// of the places. Ranks keep their order if nothing is better.
//
//	2×2, hosts 0 1 0 1     ranks 0 2 1 3 by place: the rows of the grid are hosts
func Place(g Grid, hosts []int, flow func(hosts []int) []Flow) Layout {
	hosts = hosts[:g.Ranks()]
	best := InOrder(g)
	if Count(hosts) == 1 {
		return best
	}
	least := cost(flow(hosts))
	try := func(order []int) bool {
		l := laid(g, slices.Clone(order))
		c := cost(flow(l.Hosts(hosts)))
		better := slices.Compare(c[:], least[:]) < 0
		if better {
			best, least = l, c
		}
		return better
	}
	together := slices.Clone(best.Order)
	slices.SortStableFunc(together, func(r, q int) int { return hosts[r] - hosts[q] })
	for _, visited := range tiles(g) {
		order := make([]int, len(visited))
		for n, place := range visited {
			order[place] = together[n]
		}
		try(order)
	}
	if g.Ranks() <= mostSwapped {
		for swapOne(slices.Clone(best.Order), hosts, try) {
		}
	}
	return best
}

// mostSwapped is the size of a grid up to which ranks are swapped as well: each round of swaps costs
// the square of the ranks.
const mostSwapped = 32

// swapOne swaps the first two ranks of different hosts, except rank 0, for which try says that it helps.
func swapOne(ranks, hosts []int, try func([]int) bool) bool {
	for x := 1; x < len(ranks); x++ {
		for y := x + 1; y < len(ranks); y++ {
			if hosts[ranks[x]] == hosts[ranks[y]] {
				continue
			}
			ranks[x], ranks[y] = ranks[y], ranks[x]
			if try(ranks) {
				return true
			}
			ranks[x], ranks[y] = ranks[y], ranks[x]
		}
	}
	return false
}

// cost is what two placements are compared by: the elements of the busiest direction of a host, and of all.
func cost(flows []Flow) (out [2]int64) {
	for _, f := range flows {
		out[0] = max(out[0], f.Sent, f.Recv)
		out[1] += f.Sent
	}
	return out
}

// tiles returns orders of the places of a grid. Each order visits one tile after the other, for all
// sizes of tiles that divide the grid; the hosts are laid along it. All begin with place 0.
func tiles(g Grid) (orders [][]int) {
	for p := 1; p <= g.P; p++ {
		for q := 1; q <= g.Q; q++ {
			for c := 1; c <= g.C; c++ {
				if g.P%p == 0 && g.Q%q == 0 && g.C%c == 0 {
					orders = append(orders, tiled(g, Grid{p, q, c}, false), tiled(g, Grid{p, q, c}, true))
				}
			}
		}
	}
	return orders
}

// tiled visits tile after tile: layer by layer and row by row, or, turned, row by row and layer by layer.
func tiled(g, tile Grid, turned bool) (places []int) {
	outer := Grid{g.P / tile.P, g.Q / tile.Q, g.C / tile.C}
	walk := func(g Grid, f func(i, j, l int)) {
		for n := range g.Ranks() {
			i, j, l := g.At(n)
			if turned {
				l, i, j = n%g.C, n/g.C%g.P, n/(g.C*g.P)
			}
			f(i, j, l)
		}
	}
	walk(outer, func(i, j, l int) {
		walk(tile, func(x, y, z int) {
			places = append(places, g.Rank(i*tile.P+x, j*tile.Q+y, l*tile.C+z))
		})
	})
	return places
}

// flows are the flows of hosts while they are counted.
type flows []Flow

// send counts a message between two hosts.
func (f flows) send(from, to int, elements int64) {
	if from != to {
		f[from].Sent += elements
		f[to].Recv += elements
	}
}

// bcast counts a broadcast from the root to the other hosts of places, to each once.
func (f flows) bcast(root int, hosts []int, elements int64) {
	seen := map[int]bool{}
	for _, h := range hosts {
		if !seen[h] {
			seen[h] = true
			f.send(root, h, elements)
		}
	}
}

// SummaFlow predicts what hosts exchange in summa, if a panel crosses the network once for each host
// that needs it. hosts are the hosts of the places of the grid.
func SummaFlow(s gemm.Shape, g Grid, hosts []int) []Flow {
	f := make(flows, Count(hosts))
	f.summa(s, g, hosts)
	return f
}

func (f flows) summa(s gemm.Shape, g Grid, hosts []int) {
	for i := range g.P {
		row := hosts[i*g.Q : (i+1)*g.Q]
		for j, h := range row {
			f.bcast(h, row, part(s.M, g.P, i)*part(s.K, g.Q, j))
		}
	}
	for j := range g.Q {
		var col []int
		for i := range g.P {
			col = append(col, hosts[i*g.Q+j])
		}
		for i, h := range col {
			f.bcast(h, col, part(s.N, g.Q, j)*part(s.K, g.P, i))
		}
	}
}

// LayersFlow predicts what hosts exchange in 25d: summa in each layer, then from every copy of C what
// the other layers add up.
func LayersFlow(s gemm.Shape, g Grid, hosts []int) []Flow {
	f := make(flows, Count(hosts))
	flat := Grid{g.P, g.Q, 1}
	for l := range g.C {
		within := gemm.Shape{M: s.M, N: s.N, K: Split(s.K, g.C, l).Len()}
		f.summa(within, flat, hosts[l*flat.Ranks():(l+1)*flat.Ranks()])
	}
	for place := range flat.Ranks() {
		i, j, _ := flat.At(place)
		for to := range g.C {
			own := part(int(part(s.M, g.P, i)), g.C, to) * part(s.N, g.Q, j)
			for from := range g.C {
				f.send(hosts[from*flat.Ranks()+place], hosts[to*flat.Ranks()+place], own)
			}
		}
	}
	return f
}

// CannonFlow predicts what hosts exchange in cannon, the skew included.
func CannonFlow(s gemm.Shape, g Grid, hosts []int) []Flow {
	f, shifts := make(flows, Count(hosts)), Shifts{g, s.K}
	for place, h := range hosts {
		i, j, _ := g.At(place)
		for step := range shifts.Steps() {
			depth := int64(shifts.Depth(shifts.Block(i, j, step)).Len())
			f.send(hosts[g.Rank(i, shifts.FromA(i, j, step), 0)], h, part(s.M, g.P, i)*depth)
			f.send(hosts[g.Rank(shifts.FromB(i, j, step), j, 0)], h, part(s.N, g.Q, j)*depth)
		}
	}
	return f
}

// SrummaFlow predicts what hosts exchange in srumma: each rank fetches its panels itself.
func SrummaFlow(s gemm.Shape, g Grid, hosts []int) []Flow {
	f := make(flows, Count(hosts))
	for place, h := range hosts {
		i, j, _ := g.At(place)
		for col := range g.Q {
			f.send(hosts[g.Rank(i, col, 0)], h, part(s.M, g.P, i)*part(s.K, g.Q, col))
		}
		for row := range g.P {
			f.send(hosts[g.Rank(row, j, 0)], h, part(s.N, g.Q, j)*part(s.K, g.P, row))
		}
	}
	return f
}

// GridBlocksFlow predicts what hosts exchange in grid-blocks, if a broadcast crosses the network once
// for each host that needs it.
func GridBlocksFlow(s gemm.Shape, g Grid, hosts []int) []Flow {
	f := make(flows, Count(hosts))
	for i := range g.P {
		rows, first := part(s.M, g.P, i), hosts[i*g.Q]
		f.send(hosts[0], first, rows*int64(s.K))
		f.bcast(first, hosts[i*g.Q:(i+1)*g.Q], rows*int64(s.K))
		for j := range g.Q {
			f.send(hosts[i*g.Q+j], first, rows*part(s.N, g.Q, j))
		}
		f.send(first, hosts[0], rows*int64(s.N))
	}
	for j := range g.Q {
		var col []int
		for i := range g.P {
			col = append(col, hosts[i*g.Q+j])
		}
		f.send(hosts[0], col[0], int64(s.K)*part(s.N, g.Q, j))
		f.bcast(col[0], col, int64(s.K)*part(s.N, g.Q, j))
	}
	return f
}

// Needed returns, for each host, the rows and the columns of the grid in which it has ranks, in ascending
// order. hosts are the hosts of the ranks.
func (l Layout) Needed(hosts []int) (rows, cols [][]int) {
	rows, cols = make([][]int, Count(hosts)), make([][]int, Count(hosts))
	for r, h := range hosts {
		i, j, _ := l.At(r)
		rows[h], cols[h] = append(rows[h], i), append(cols[h], j)
	}
	for h := range rows {
		slices.Sort(rows[h])
		slices.Sort(cols[h])
		rows[h], cols[h] = slices.Compact(rows[h]), slices.Compact(cols[h])
	}
	return rows, cols
}

// BlocksFlow predicts what hosts exchange if rank 0, at place 0, sends each other host the rows of A and
// the columns of B of its blocks once, and receives its blocks of C.
func BlocksFlow(s gemm.Shape, g Grid, hosts []int) []Flow {
	f := make(flows, Count(hosts))
	for h := range f {
		rows, cols := map[int]bool{}, map[int]bool{}
		for place, at := range hosts {
			if i, j, _ := g.At(place); at == h {
				rows[i], cols[j] = true, true
				f.send(h, hosts[0], part(s.M, g.P, i)*part(s.N, g.Q, j))
			}
		}
		for i := range rows {
			f.send(hosts[0], h, part(s.M, g.P, i)*int64(s.K))
		}
		for j := range cols {
			f.send(hosts[0], h, int64(s.K)*part(s.N, g.Q, j))
		}
	}
	return f
}
