package plan

import (
	"math"
	"slices"
)

// Network is the cost of a message: the latency in seconds, and the bandwidth in bytes per second.
// With the zero Network, no message can be sent.
type Network struct{ Latency, Bandwidth float64 }

// Path is what messages cost inside a host, or between hosts. The ranks of a host share the memory,
// and one link to the other hosts.
type Path struct {
	Network          // of one pair of ranks, while no other sends
	Together float64 // bytes per second into a host, or into all ranks inside it, while all send at the same time
	Both     float64 // bytes per second into a host and out of it, added, while all send in both directions
}

// Cluster is what messages cost.
type Cluster struct{ Inside, Between Path }

// Estimate is a predicted time, in seconds, and the times of its parts without the others: of the
// latencies, of the bytes and of the computation.
type Estimate struct{ Seconds, Latency, Transfer, Compute float64 }

// Time predicts the time of a schedule whose elements have size bytes. compute is how long the rank
// with most terms computes.
//
// The messages of a step take the largest of these times:
//
//	a rank    latencies · messages + bytes inside / pair + max(sent, received between hosts) / pair
//	a host    bytes received inside / together
//	          max(in, out) / together
//	          (in + out) / both
//
// Messages of one rank, one memory and each direction of one link follow each other. The messages of a step that is
// sent ahead inside a host begin when the terms of the step before the last have been computed. All other messages
// begin when all terms so far have: between hosts, MPI sends the most of a long message only while a rank is in one of
// its calls. Terms are computed when the messages of their step have arrived:
//
//	computed(i) = max(arrived(i), computed(i−1)) + share(i)·compute
func Time(s Schedule, size int, c Cluster, compute float64) Estimate {
	inf, swift := math.Inf(1), c
	swift.Inside.Latency, swift.Between.Latency = 0, 0
	wide := Cluster{Path{Network{c.Inside.Latency, inf}, inf, inf}, Path{Network{c.Between.Latency, inf}, inf, inf}}
	return Estimate{s.time(size, c, compute), s.time(size, wide, 0), s.time(size, swift, 0), compute}
}

func (s Schedule) time(size int, c Cluster, compute float64) float64 {
	var free []float64          // when the resources of loads are free again
	begun, computed := 0.0, 0.0 // when the last step began, and when its terms were computed
	for _, step := range s.Steps {
		posted := computed
		if step.Ahead && !slices.ContainsFunc(step.Traffic, func(t Traffic) bool { return t.Between.Messages > 0 }) {
			posted = begun
		}
		arrived := posted
		for i, took := range step.loads(s.Hosts, float64(size), c) {
			if i == len(free) {
				free = append(free, 0)
			}
			if took > 0 {
				free[i] = max(free[i], posted) + took
				arrived = max(arrived, free[i])
			}
		}
		begun = computed
		computed = max(arrived, computed) + step.Share*compute
	}
	return computed
}

// loads returns the seconds for which the messages of a step use each rank, and the memory, the two
// directions and the sum of both directions of each host's link.
func (s Step) loads(hosts []int, size float64, c Cluster) []float64 {
	type link struct{ inside, in, out float64 } // bytes
	var out []float64
	links := make([]link, slices.Max(hosts)+1)
	for r, t := range s.Traffic {
		inside, between := t.Inside, t.Between
		out = append(out, c.Inside.Latency*float64(inside.Messages)+c.Between.Latency*float64(between.Messages)+
			over(size*float64(inside.Sent+inside.Recv), c.Inside.Bandwidth)+
			over(size*float64(max(between.Sent, between.Recv)), c.Between.Bandwidth))
		l := &links[hosts[r]]
		l.inside += size * float64(inside.Recv)
		l.in += size * float64(between.Recv)
		l.out += size * float64(between.Sent)
	}
	for _, l := range links {
		out = append(out, over(l.inside, c.Inside.Together), over(l.in, c.Between.Together),
			over(l.out, c.Between.Together), over(l.in+l.out, c.Between.Both))
	}
	return out
}

// over returns the time of bytes at a bandwidth; no bytes take none.
func over(bytes, bandwidth float64) float64 {
	if bytes == 0 {
		return 0
	}
	return bytes / bandwidth
}

// Pattern is which ranks exchange messages to measure what these cost: one pair of ranks or all, inside hosts or
// between them. One pair sends a message back and forth. All pairs send in one direction, or in both, at the same time.
type Pattern struct{ Between, All, Both bool }

// Path returns "inside" or "between".
func (p Pattern) Path() string {
	if p.Between {
		return "between"
	}
	return "inside"
}

// Direction returns "one", "all" or "all both ways".
func (p Pattern) Direction() string {
	switch {
	case p.Both:
		return "all both ways"
	case p.All:
		return "all"
	}
	return "one"
}

// Sizes returns the bytes of the messages of the pattern. If all pairs send at the same time, only long messages
// are measured: they show the bandwidth, and the latency is taken from one pair.
func (p Pattern) Sizes() []int {
	sizes := []int{1, 64, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20}
	if p.All {
		return sizes[len(sizes)-2:]
	}
	return sizes
}

// Patterns returns the patterns for ranks on the given hosts.
func Patterns(hosts []int) []Pattern {
	var out []Pattern
	for _, p := range []Pattern{{}, {All: true}, {Between: true}, {Between: true, All: true},
		{Between: true, All: true, Both: true}} {
		if p.Pairs(hosts) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// Peer returns the peer of a rank, -1 if it has none, and whether the rank is the first of the pair, which sends first.
//
//	hosts 0 0 0 1 1 1     inside     0→1      2 has none     3→4      5 has none
//	                      between    0→3      1→4      2→5
//
// If the hosts are more than two, the first is paired with the second, the third with the fourth, and so on.
func (p Pattern) Peer(hosts []int, rank int) (peer int, first bool) {
	if !p.All {
		a, b := p.pair(hosts)
		switch rank {
		case a:
			return b, true
		case b:
			return a, false
		}
		return -1, false
	}
	own, other := on(hosts, hosts[rank]), on(hosts, hosts[rank]^1)
	at := slices.Index(own, rank)
	if p.Between {
		if at < len(other) {
			return other[at], hosts[rank]%2 == 0
		}
		return -1, false
	}
	if at^1 < len(own) {
		return own[at^1], at%2 == 0
	}
	return -1, false
}

// pair returns the pair of a pattern with one; −1 and −1 if there is none.
func (p Pattern) pair(hosts []int) (a, b int) {
	for r := range hosts {
		if peer, first := (Pattern{p.Between, true, false}).Peer(hosts, r); peer >= 0 && first {
			return r, peer
		}
	}
	return -1, -1
}

// Pairs returns the number of pairs of the host that has most.
func (p Pattern) Pairs(hosts []int) int {
	of := map[int]int{}
	most := 0
	for r, host := range hosts {
		if peer, first := p.Peer(hosts, r); peer >= 0 && first {
			of[host]++
			most = max(most, of[host])
		}
	}
	return most
}

func on(hosts []int, host int) []int {
	var out []int
	for r, h := range hosts {
		if h == host {
			out = append(out, r)
		}
	}
	return out
}

// Measured returns what messages cost, from the times of messages in the patterns. Where there is no
// pattern, nothing is sent.
func Measured(hosts []int, times map[Pattern][]PingPong) Cluster {
	path := func(between bool) Path {
		one := Fit(times[Pattern{Between: between}])
		all := Pattern{Between: between, All: true}
		together := float64(all.Pairs(hosts)) * Fit(times[all]).Bandwidth
		all.Both = true
		return Path{one, together, 2 * float64(all.Pairs(hosts)) * Fit(times[all]).Bandwidth}
	}
	return Cluster{path(false), path(true)}
}

// PingPong is the time of a message in one direction: half of a round trip.
type PingPong struct {
	Bytes   int
	Seconds float64
}

// Fit returns the network with the smallest sum of squared relative errors,
//
//	Σ ((latency + bytes/bandwidth)/seconds − 1)²
//
// in which short messages count as much as long ones. Latency and bandwidth are not negative. A sample without a time
// is ignored; without samples the result is the zero Network. The bandwidth is +Inf if longer messages take no longer.
// If all messages have one size, all of the time is attributed to the bandwidth.
func Fit(samples []PingPong) Network {
	// The normal equations for the latency and the seconds per byte contain the sums of u·u, u·v, v·v, u
	// and v, with u = 1/t and v = bytes/t.
	var uu, uv, vv, su, sv float64
	for _, p := range samples {
		if !(p.Seconds > 0) {
			continue
		}
		u, v := 1/p.Seconds, float64(p.Bytes)/p.Seconds
		uu, uv, vv, su, sv = uu+u*u, uv+u*v, vv+v*v, su+u, sv+v
	}
	if uu == 0 {
		return Network{}
	}
	latency, each := 0.0, 0.0
	if det := uu*vv - uv*uv; det > 1e-12*uu*vv {
		latency, each = (su*vv-sv*uv)/det, (sv*uu-su*uv)/det
	} else if vv > 0 {
		each = sv / vv
	} else {
		latency = su / uu
	}
	// If the minimum has a negative coordinate, the minimum under the constraints has 0 there.
	switch {
	case latency < 0:
		latency, each = 0, sv/vv
	case each < 0:
		latency, each = su/uu, 0
	}
	if each == 0 {
		return Network{latency, math.Inf(1)}
	}
	return Network{latency, 1 / each}
}
