package plan

import "slices"

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

// Leaders returns the first rank of each host.
func Leaders(hosts []int) []int {
	out := make([]int, Count(hosts))
	for h := range out {
		out[h] = slices.Index(hosts, h)
	}
	return out
}

// Layout is a grid with a rank at each of its places. Place n has the coordinates that Grid.At(n) returns.
type Layout struct {
	Grid
	Order  []int // rank by place
	places []int // place by rank
}

// InOrder returns the layout in which rank n is at place n.
func InOrder(g Grid) Layout { return laid(g, UpTo(g.Ranks())) }

// At returns the coordinates of a rank.
func (l Layout) At(rank int) (i, j, layer int) { return l.Grid.At(l.places[rank]) }

// Rank returns the rank with the coordinates.
func (l Layout) Rank(i, j, layer int) int { return l.Order[l.Grid.Rank(i, j, layer)] }

// Hosts returns the hosts of the places, from the hosts of the ranks. Ranks outside of the grid follow.
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

// MapRanks returns the layout of a grid in which the busiest host sends and receives least, and among equal ones all
// hosts together. Rank 0 stays at place 0. hosts are the hosts of the ranks; schedule predicts what the places
// exchange, from their hosts. Ranks keep their order if nothing is better.
//
//	2×2, hosts 0 1 0 1     ranks 0 2 1 3 by place: the rows of the grid are hosts
func MapRanks(g Grid, hosts []int, schedule func(hosts []int) Schedule) Layout {
	hosts = hosts[:g.Ranks()]
	best := InOrder(g)
	if Count(hosts) == 1 {
		return best
	}
	least := cost(schedule(hosts))
	try := func(order []int) bool {
		l := laid(g, slices.Clone(order))
		c := cost(schedule(l.Hosts(hosts)))
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

// swapOne swaps the first two ranks of different hosts, except rank 0, whose swap is an improvement.
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

// cost returns what two placements are compared by: the elements of the busiest direction of a host, and of all.
func cost(s Schedule) (out [2]int64) {
	hosts := make([]Counts, Count(s.Hosts))
	for r, t := range s.Traffic() {
		hosts[s.Hosts[r]].add(t.Between)
	}
	for _, h := range hosts {
		out[0] = max(out[0], h.Sent, h.Recv)
		out[1] += h.Recv
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
