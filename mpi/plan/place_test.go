package plan_test

import (
	"slices"
	"testing"

	"gemm"
	"gemm/mpi/plan"
)

// placed are the schedules by which ranks are placed.
var placed = map[string]func(s gemm.Shape, g plan.Grid, hosts []int) plan.Schedule{
	"25d":         func(s gemm.Shape, g plan.Grid, hosts []int) plan.Schedule { return plan.Layers(s, hosts, g, s.K) },
	"srumma":      func(s gemm.Shape, g plan.Grid, hosts []int) plan.Schedule { return plan.SrummaSent(s, hosts, g, s.K) },
	"grid-blocks": func(s gemm.Shape, g plan.Grid, hosts []int) plan.Schedule { return plan.GridBlocks(s, hosts, g) },
	"blocks": func(s gemm.Shape, g plan.Grid, hosts []int) plan.Schedule {
		return plan.HostBlocks(s, plan.InOrder(g), hosts, hosts, 1)
	},
	"cannon": func(s gemm.Shape, g plan.Grid, hosts []int) plan.Schedule {
		steps, skew := plan.Cannon(s, hosts, g)
		return skew.Then(steps)
	},
}

// costs returns the elements of the busiest direction of a host, and of all hosts.
func costs(s plan.Schedule) (busiest, all int64) {
	hosts := make([]plan.Counts, plan.Count(s.Hosts))
	for r, t := range s.Traffic() {
		h := &hosts[s.Hosts[r]]
		h.Sent, h.Recv = h.Sent+t.Between.Sent, h.Recv+t.Between.Recv
	}
	for _, h := range hosts {
		busiest = max(busiest, h.Sent, h.Recv)
		all += h.Sent
	}
	return busiest, all
}

func TestHosts(t *testing.T) {
	got := plan.Hosts([]string{"a", "b", "a", "c", "b"})
	if !slices.Equal(got, []int{0, 1, 0, 2, 1}) || plan.Count(got) != 3 {
		t.Errorf("hosts %v, %d of them", got, plan.Count(got))
	}
}

// TestMapRanksByHand has two hosts of two ranks, next to each other and spread.
func TestMapRanksByHand(t *testing.T) {
	s, g := gemm.Shape{M: 40, N: 60, K: 80}, plan.Grid{P: 2, Q: 2, C: 1}
	for _, hosts := range [][]int{{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}} {
		got := plan.MapRanks(g, hosts, func(at []int) plan.Schedule { return placed["25d"](s, g, at) })
		// Each host needs the half of A or of B that the other has: of A, with fewer elements.
		busiest, all := costs(placed["25d"](s, g, got.Hosts(hosts)))
		if at := got.Hosts(hosts); !slices.Equal(at, []int{0, 1, 0, 1}) || busiest != 40*80/2 || all != 40*80 {
			t.Errorf("hosts %v: ranks %v are on %v, the busiest moves %d, all %d", hosts, got.Order, at, busiest, all)
		}
	}
	deep := plan.Grid{P: 1, Q: 2, C: 2}
	// The layers are hosts where C is small, and the parts of C are where it is large.
	for k, want := range map[int][]int{1000: {0, 0, 1, 1}, 4: {0, 1, 0, 1}} {
		s := gemm.Shape{M: 40, N: 40, K: k}
		got := plan.MapRanks(deep, []int{0, 0, 1, 1}, func(at []int) plan.Schedule { return placed["25d"](s, deep, at) })
		if at := got.Hosts([]int{0, 0, 1, 1}); !slices.Equal(at, want) {
			t.Errorf("k = %d: the places are on %v, want %v", k, at, want)
		}
	}
}

// TestMapRanksIsBest compares with all placements of up to 8 ranks on two or three hosts.
func TestMapRanksIsBest(t *testing.T) {
	s := gemm.Shape{M: 96, N: 120, K: 72}
	for _, hosts := range [][]int{
		{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 2}, {0, 0, 1, 1, 2, 2}, {0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 2},
		{0, 1, 1, 1, 1, 1},
		{0, 0, 0, 0, 1, 1, 1, 1}, {0, 1, 0, 1, 0, 1, 0, 1}, {0, 0, 0, 0, 0, 1, 1, 2},
	} {
		for layers := 1; layers <= len(hosts); layers++ {
			for _, g := range grids(len(hosts), layers) {
				for name, schedule := range placed {
					if layers > 1 && name != "25d" {
						continue
					}
					got := plan.MapRanks(g, hosts, func(at []int) plan.Schedule { return schedule(s, g, at) })
					wantLayout(t, got)
					busiest, all := costs(schedule(s, g, got.Hosts(hosts)))
					leastBusy, least := busiest, all
					arrange(hosts, func(at []int) {
						b, a := costs(schedule(s, g, at))
						if b < leastBusy || b == leastBusy && a < least {
							leastBusy, least = b, a
						}
					})
					// Swaps of two ranks of cannon can end before the best placement, with more in all.
					if name == "cannon" && busiest == leastBusy && 5*all <= 6*least {
						continue
					}
					if busiest != leastBusy || all != least {
						t.Errorf("%s %v on %v: %d in the busiest direction, %d in all, best are %d and %d",
							name, g, hosts, busiest, all, leastBusy, least)
					}
				}
			}
		}
	}
}

// wantLayout checks that every rank has one place, rank 0 the first, and that coordinates are found both ways.
func wantLayout(t *testing.T, l plan.Layout) {
	t.Helper()
	if sorted := slices.Sorted(slices.Values(l.Order)); !slices.Equal(sorted, plan.UpTo(l.Ranks())) || l.Order[0] != 0 {
		t.Fatalf("%v: ranks %v", l.Grid, l.Order)
	}
	traffic := make([]plan.Traffic, l.Ranks()+1)
	for place := range traffic {
		traffic[place].Inside.Sent = int64(place)
	}
	byRank := flows(l.ByRank(plan.Schedule{Hosts: oneHost(len(traffic)), Steps: []plan.Step{{Traffic: traffic}}}))
	for place, r := range l.Order {
		i, j, layer := l.At(r)
		if l.Rank(i, j, layer) != r || l.Grid.Rank(i, j, layer) != place {
			t.Fatalf("%v with the ranks %v: rank %d is at (%d, %d, %d)", l.Grid, l.Order, r, i, j, layer)
		}
		if byRank[r].Sent != int64(place) || byRank[l.Ranks()].Sent != int64(l.Ranks()) {
			t.Fatalf("%v with the ranks %v: traffic %v", l.Grid, l.Order, byRank)
		}
	}
}

// arrange calls f for all orders of the hosts that begin with the first.
func arrange(hosts []int, f func([]int)) {
	left := make([]int, plan.Count(hosts))
	for _, h := range hosts[1:] {
		left[h]++
	}
	at := []int{hosts[0]}
	var next func()
	next = func() {
		if len(at) == len(hosts) {
			f(at)
			return
		}
		for h := range left {
			if left[h] > 0 {
				left[h]--
				at = append(at, h)
				next()
				at = at[:len(at)-1]
				left[h]++
			}
		}
	}
	next()
}
