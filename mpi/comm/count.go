package comm

import (
	"math/bits"

	"gemm/mpi/plan"
)

// flow returns the counters of the path to a rank of c.
func (c *Comm) flow(rank int) *plan.Counts {
	if c.HostOf(rank) == c.HostOf(c.rank) {
		return &c.traffic.Inside
	}
	return &c.traffic.Between
}

// countSent counts a message to a rank; none to itself.
func (c *Comm) countSent(bytes int64, to int) {
	if bytes > 0 && to != c.rank {
		f := c.flow(to)
		f.Sent, f.Messages = f.Sent+bytes, f.Messages+1
	}
}

// countReceived counts a message from a rank, or what is read from its memory.
func (c *Comm) countReceived(bytes int64, from int) {
	if bytes > 0 && from != c.rank {
		f := c.flow(from)
		f.Recv, f.Messages = f.Recv+bytes, f.Messages+1
	}
}

// countCalls counts the latencies of collective calls.
func (c *Comm) countCalls(calls int64) {
	hosts, here := map[int]bool{}, 0
	for r := range c.size {
		hosts[c.HostOf(r)] = true
		if c.HostOf(r) == c.HostOf(c.rank) {
			here++
		}
	}
	c.traffic.Inside.Messages += calls * int64(bits.Len(uint(here-1)))
	c.traffic.Between.Messages += calls * int64(bits.Len(uint(len(hosts)-1)))
}

// countBcast counts a Bcast: the root sends its buffer to the first rank of each other host, and from there and from
// the root it goes once to the other ranks of the host together.
func (c *Comm) countBcast(bytes int64, root int) {
	if bytes == 0 || c.size == 1 {
		return
	}
	c.countCalls(1)
	own, first := c.HostOf(c.rank), map[int]int{c.HostOf(root): root}
	for r := range c.size {
		host := c.HostOf(r)
		if _, ok := first[host]; !ok {
			first[host] = r
			if c.rank == root {
				c.traffic.Between.Sent += bytes
			}
		}
	}
	switch {
	case first[own] != c.rank:
		c.traffic.Inside.Recv += bytes
		return
	case c.rank != root:
		c.traffic.Between.Recv += bytes
	}
	for r := range c.size {
		if r != c.rank && c.HostOf(r) == own {
			c.traffic.Inside.Sent += bytes
			return
		}
	}
}

// direction is the way of the parts of a collective call, as the root sees it.
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

// countParts counts calls in which the root sends parts to all other ranks, or receives them.
func (c *Comm) countParts(root int, part func(rank int) int64, calls int64, way direction) {
	all := int64(0)
	for r := range c.size {
		n, peer := part(r), r
		all += n
		switch {
		case r == root, c.rank != root && c.rank != r:
			continue
		case c.rank == r:
			peer = root
		}
		if f := c.flow(peer); (c.rank == root) == bool(way) {
			f.Sent += n
		} else {
			f.Recv += n
		}
	}
	if all > 0 {
		c.countCalls(calls)
	}
}

// countReduceScatter counts messages of parts between all pairs of ranks.
func (c *Comm) countReduceScatter(part func(rank int) int64) {
	all := int64(0)
	for r := range c.size {
		all += part(r)
		if r != c.rank {
			f := c.flow(r)
			f.Sent, f.Recv = f.Sent+part(r), f.Recv+part(c.rank)
		}
	}
	if all > 0 {
		c.countCalls(1)
	}
}
