package plan

import (
	"math/bits"
	"slices"
)

// Counts is what one rank sends and receives on one path.
type Counts struct{ Sent, Recv, Messages int64 }

// Traffic is what one rank sends and receives: to and from ranks of its own host, and of others. The predictions count
// elements; multiply by their size for bytes. Package comm counts bytes, by the same rules:
//
//   - A message counts at the sender and at the receiver, on the path between the two. What a rank
//     reads from another one's memory counts at the reader only. Data that a rank keeps is not counted.
//   - Scatter and Gather are counted as messages between the root and each other rank, and
//     ReduceScatter as messages between all pairs of ranks.
//   - Bcast has to send its buffer to every host once, and to every rank once. It is counted as if
//     the root sent it to the first rank of each other host, and each of these, like the root, once to
//     the other ranks of its host together.
//
// The library chooses how a collective call is carried out. It may send more between hosts: a Bcast that
// ignores hosts, for example, sends the buffer to a host once for each rank.
//
// Messages counts latencies: 1 for a message at each of its ends. A collective counts on each of its
// ranks: ⌈log₂ h⌉ between its h hosts, and ⌈log₂ r⌉ inside a host with r of its ranks. A message
// without elements counts 0, and so does a collective of one rank.
type Traffic struct{ Inside, Between Counts }

// Total returns the sum over both paths.
func (t Traffic) Total() Counts {
	return Counts{t.Inside.Sent + t.Between.Sent, t.Inside.Recv + t.Between.Recv,
		t.Inside.Messages + t.Between.Messages}
}

// Add adds the traffic of o.
func (t *Traffic) Add(o Traffic) {
	t.Inside.add(o.Inside)
	t.Between.add(o.Between)
}

func (f *Counts) add(o Counts) {
	f.Sent += o.Sent
	f.Recv += o.Recv
	f.Messages += o.Messages
}

// Times returns t with size times the elements: their bytes.
func (t Traffic) Times(size int64) Traffic {
	for _, f := range []*Counts{&t.Inside, &t.Between} {
		f.Sent, f.Recv = f.Sent*size, f.Recv*size
	}
	return t
}

// Step is what ranks send before they compute a part of their terms.
type Step struct {
	Traffic []Traffic // by rank
	Share   float64   // of the terms of a rank, which are computed when all of it has arrived
	Ahead   bool      // the calls that send it precede the terms of the step before
}

// Schedule is what ranks send in a product, step by step. Hosts has the number of each rank's host.
type Schedule struct {
	Hosts []int
	Steps []Step
}

// Traffic returns what each rank sends and receives in all steps together.
func (s Schedule) Traffic() []Traffic {
	out := make([]Traffic, len(s.Hosts))
	for _, step := range s.Steps {
		for r, t := range step.Traffic {
			out[r].Add(t)
		}
	}
	return out
}

// Then returns the schedule with the steps of another behind its own.
func (s Schedule) Then(o Schedule) Schedule {
	return Schedule{o.Hosts, slices.Concat(s.Steps, o.Steps)}
}

// step adds a step, whose calls the result counts.
func (s *Schedule) step(share float64, ahead bool) Calls {
	c := NewCalls(s.Hosts)
	s.Steps = append(s.Steps, Step{c.Traffic, share, ahead})
	return c
}

// Calls counts what ranks send in calls of MPI; the rules are at Traffic.
type Calls struct {
	Traffic []Traffic // by rank
	hosts   []int
	count   int // of hosts
}

// NewCalls counts calls of ranks on the given hosts.
func NewCalls(hosts []int) Calls { return Calls{make([]Traffic, len(hosts)), hosts, Count(hosts)} }

// path returns the counts of a rank on its path to a peer.
func (c Calls) path(rank, peer int) *Counts {
	if c.hosts[rank] == c.hosts[peer] {
		return &c.Traffic[rank].Inside
	}
	return &c.Traffic[rank].Between
}

// Send counts a message with the given number of elements.
func (c Calls) Send(from, to int, elements int64) { c.sends(from, to, elements, 1) }

// sends counts some messages with the given number of elements together.
func (c Calls) sends(from, to int, elements, messages int64) {
	if from != to && elements > 0 {
		c.path(from, to).add(Counts{Sent: elements, Messages: messages})
		c.path(to, from).add(Counts{Recv: elements, Messages: messages})
	}
}

// Fetch counts what a rank reads from the memory of another.
func (c Calls) Fetch(rank, from int, elements int64) {
	if rank != from && elements > 0 {
		c.path(rank, from).add(Counts{Recv: elements, Messages: 1})
	}
}

// rounds counts the latencies of some collective calls of the ranks.
func (c Calls) rounds(ranks []int, calls int64) {
	local, hosts := make([]int, c.count), 0
	for _, r := range ranks {
		if local[c.hosts[r]]++; local[c.hosts[r]] == 1 {
			hosts++
		}
	}
	for _, r := range ranks {
		c.Traffic[r].Inside.Messages += calls * levels(local[c.hosts[r]])
		c.Traffic[r].Between.Messages += calls * levels(hosts)
	}
}

// Bcast counts a Bcast.
func (c Calls) Bcast(ranks []int, root int, elements int64) {
	if elements == 0 || len(ranks) == 1 {
		return
	}
	c.rounds(ranks, 1)
	leaders := make([]int, c.count) // 1 more than the rank of each host that gets the buffer first
	alone := make([]bool, c.count)  // that rank sends nothing
	leaders[c.hosts[root]], alone[c.hosts[root]] = root+1, true
	for _, r := range ranks {
		h := c.hosts[r]
		switch {
		case r == root:
		case leaders[h] == 0:
			leaders[h], alone[h] = r+1, true
			c.Traffic[root].Between.Sent += elements
			c.Traffic[r].Between.Recv += elements
		default:
			if alone[h] {
				c.Traffic[leaders[h]-1].Inside.Sent += elements
				alone[h] = false
			}
			c.Traffic[r].Inside.Recv += elements
		}
	}
}

// Scatter counts some calls of Scatter, with parts by the index of the rank.
func (c Calls) Scatter(ranks []int, root int, part func(i int) int64, calls int64) {
	c.parts(ranks, root, part, calls, func(r int, n int64) {
		c.path(root, r).Sent += n
		c.path(r, root).Recv += n
	})
}

// Gather is Scatter in the opposite direction.
func (c Calls) Gather(ranks []int, root int, part func(i int) int64, calls int64) {
	c.parts(ranks, root, part, calls, func(r int, n int64) {
		c.path(r, root).Sent += n
		c.path(root, r).Recv += n
	})
}

func (c Calls) parts(ranks []int, root int, part func(i int) int64, calls int64, count func(r int, n int64)) {
	all := int64(0)
	for i, r := range ranks {
		n := part(i)
		if all += n; r != root {
			count(r, n)
		}
	}
	if all > 0 {
		c.rounds(ranks, calls)
	}
}

// ReduceScatter counts a ReduceScatter: every rank sends every other its part.
func (c Calls) ReduceScatter(ranks []int, part func(i int) int64) {
	all := int64(0)
	for i, to := range ranks {
		n := part(i)
		all += n
		for _, from := range ranks {
			if from != to {
				c.path(from, to).Sent += n
				c.path(to, from).Recv += n
			}
		}
	}
	if all > 0 {
		c.rounds(ranks, 1)
	}
}

// levels returns ⌈log₂ ranks⌉.
func levels(ranks int) int64 { return int64(bits.Len(uint(ranks - 1))) }

// UpTo returns the numbers below n.
func UpTo(n int) []int {
	return list(n, func(i int) int { return i })
}

// list returns at(0) to at(n-1).
func list(n int, at func(i int) int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = at(i)
	}
	return out
}

// Row returns the ranks of a row of a layer.
func (g Grid) Row(i, layer int) []int {
	return list(g.Q, func(j int) int { return g.Rank(i, j, layer) })
}

// Column returns the ranks of a column of a layer.
func (g Grid) Column(j, layer int) []int {
	return list(g.P, func(i int) int { return g.Rank(i, j, layer) })
}

// Fiber returns the ranks at one place of all layers.
func (g Grid) Fiber(i, j int) []int {
	return list(g.C, func(layer int) int { return g.Rank(i, j, layer) })
}
