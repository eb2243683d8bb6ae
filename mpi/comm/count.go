package comm

import "gemm/mpi/plan"

// count adds to the traffic what this rank sends and receives in calls with the ranks of c. An invalid rank, which MPI
// rejects, is not counted.
func (c *Comm) count(f func(calls plan.Calls)) {
	hosts := make([]int, c.size)
	for r, n := range c.numbers {
		hosts[r] = c.hosts[n]
	}
	calls := plan.NewCalls(hosts)
	f(calls)
	c.traffic.Add(calls.Traffic[c.rank])
}

func (c *Comm) valid(rank int) bool { return 0 <= rank && rank < c.size }

func (c *Comm) countSent(bytes int64, to int) {
	if c.valid(to) {
		c.count(func(calls plan.Calls) { calls.Send(c.rank, to, bytes) })
	}
}

func (c *Comm) countReceived(bytes int64, from int) {
	if c.valid(from) {
		c.count(func(calls plan.Calls) { calls.Send(from, c.rank, bytes) })
	}
}

// countFetched counts what is read from the memory of a rank.
func (c *Comm) countFetched(bytes int64, from int) {
	c.count(func(calls plan.Calls) { calls.Fetch(c.rank, from, bytes) })
}

func (c *Comm) countBcast(bytes int64, root int) {
	if c.valid(root) {
		c.count(func(calls plan.Calls) { calls.Bcast(plan.UpTo(c.size), root, bytes) })
	}
}

// countParts counts calls in which the root sends parts to all other ranks, or receives them.
func (c *Comm) countParts(root int, part func(rank int) int64, calls int64, way direction) {
	c.count(func(counts plan.Calls) {
		if way == sending {
			counts.Scatter(plan.UpTo(c.size), root, part, calls)
		} else {
			counts.Gather(plan.UpTo(c.size), root, part, calls)
		}
	})
}

// direction is the direction of the parts of a collective call, for the root.
type direction bool

const (
	sending   direction = true
	receiving direction = false
)

// String returns the name of a call in the log.
func (d direction) String() string {
	if d == sending {
		return "scatter"
	}
	return "gather"
}
