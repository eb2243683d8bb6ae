package comm

import (
	"slices"
	"testing"

	"gemm"
	"gemm/mpi/plan"
)

// TestCount: every rank counts its calls on each path as the schedules predict them, wherever the ranks are.
func TestCount(t *testing.T) {
	s := gemm.Shape{M: 11, N: 5, K: 7}
	for _, hosts := range [][]int{{0}, {0, 0, 0}, {0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1, 2, 2, 1}} {
		own := plan.InOrder(plan.Grid{P: len(hosts), Q: 1, C: 1}).Order
		for rank := range hosts {
			count := func(f func(c *Comm)) Traffic {
				c := &Comm{rank: rank, size: len(hosts), hosts: hosts, traffic: &Traffic{}}
				for r := range hosts {
					c.numbers = append(c.numbers, r)
				}
				f(c)
				return *c.traffic
			}
			for _, x := range []struct {
				name      string
				got       Traffic
				predicted plan.Schedule
			}{
				{"bcast-rows", count(func(c *Comm) { bcastRows(c, c, s) }), plan.BcastRows(s, hosts, own, 2)},
				{"bcast-rows, one copy a host", count(func(c *Comm) { bcastRows(c, leadersOf(c), s) }),
					plan.BcastRows(s, hosts, hosts, 2)},
			} {
				if want := x.predicted.Traffic()[rank]; x.got != want {
					t.Errorf("%s on %v: rank %d counts %+v, want %+v", x.name, hosts, rank, x.got, want)
				}
			}
		}
	}
}

func area(m, n int) int64 { return int64(m) * int64(n) }

// leadersOf returns the communicator of the first rank of each host; nil on the others.
func leadersOf(c *Comm) *Comm {
	out := &Comm{rank: -1, hosts: c.hosts, traffic: c.traffic}
	for r, h := range c.hosts {
		if slices.Index(c.hosts, h) == r {
			if r == c.rank {
				out.rank = out.size
			}
			out.numbers, out.size = append(out.numbers, r), out.size+1
		}
	}
	if out.rank < 0 {
		return nil
	}
	return out
}

// bcastRows counts what a rank sends and receives in bcast-rows, if leaders receive B.
func bcastRows(c, leaders *Comm, s gemm.Shape) {
	rows := plan.Spans(s.M, c.size)
	c.countParts(0, func(r int) int64 { return area(rows[r].Len(), s.K) }, 1, sending)
	for _, panel := range plan.Chunks(s.N, 2) {
		if leaders != nil {
			leaders.countBcast(area(s.K, panel.Len()), 0)
		}
		for r := 1; r < c.size; r++ {
			if bytes := area(rows[r].Len(), panel.Len()); c.rank == 0 {
				c.countReceived(bytes, r)
			} else if c.rank == r {
				c.countSent(bytes, 0)
			}
		}
	}
}
