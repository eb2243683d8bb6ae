package plan_test

import (
	"slices"
	"testing"

	"gemm"
	"gemm/mpi/plan"
)

// TestPaths has sums that were done on paper, for 4 ranks of which the first two are on one host.
func TestPaths(t *testing.T) {
	s, square, hosts := gemm.Shape{M: 5, N: 3, K: 4}, plan.Grid{P: 2, Q: 2, C: 1}, []int{0, 0, 1, 1}
	counts := func(sent, recv, messages int64) plan.Counts {
		return plan.Counts{Sent: sent, Recv: recv, Messages: messages}
	}
	steps, skew := plan.Cannon(s, hosts, square)
	for _, c := range []struct {
		name     string
		schedule plan.Schedule
		want     []plan.Traffic
	}{
		// Rows 2, 1, 1, 1: A is 8, 4, 4, 4 elements, C 6, 3, 3, 3. B, of 12, goes to rank 1, and to rank 2,
		// which passes it on. Two calls: 1 latency inside, 1 between. Then a message from each rank.
		{"bcast-rows", plan.BcastRows(s, hosts, plan.UpTo(4), 9), []plan.Traffic{
			{counts(4+12, 3, 3), counts(4+4+12, 3+3, 4)}, {counts(3, 4+12, 3), counts(0, 0, 2)},
			{counts(12, 0, 2), counts(3, 4+12, 3)}, {counts(0, 12, 2), counts(3, 4, 3)}}},
		// One copy of B on each host: two panels go to rank 2 alone, and nothing of them moves inside.
		{"bcast-rows, two copies", plan.BcastRows(s, hosts, hosts, 2), []plan.Traffic{
			{counts(4, 3, 1+2), counts(4+4+12, 3+3, 1+2+4)}, {counts(3, 4, 1+2), counts(0, 0, 1)},
			{counts(0, 0, 1), counts(3, 4+12, 1+2+2)}, {counts(0, 0, 1), counts(3, 4, 1+2)}}},
		// 3 padded rows and 2 padded columns: 12 + 8 there, 6 back.
		{"scatter-blocks", plan.ScatterBlocks(s, plan.InOrder(square), hosts), []plan.Traffic{
			{counts(20, 6, 2), counts(40, 12, 2)}, {counts(6, 20, 2), counts(0, 0, 2)},
			{counts(0, 0, 2), counts(6, 20, 2)}, {counts(0, 0, 2), counts(6, 20, 2)}}},
		// The ranks of a host share: rank 2 gets A₁ 8, B₀ 8 and B₁ 4, for rank 3 as well.
		{"scatter-blocks by hosts", plan.HostBlocks(s, plan.InOrder(square), hosts, hosts, 1), []plan.Traffic{
			{counts(0, 3, 1), counts(20, 6, 5)}, {counts(3, 0, 1), counts(0, 0, 0)},
			{counts(0, 0, 0), counts(4, 20, 4)}, {counts(0, 0, 0), counts(2, 0, 1)}}},
		// A moves along rows, inside hosts; B down columns, between them.
		{"summa", plan.Summa(s, hosts, square, 2), []plan.Traffic{
			{counts(6, 6, 2), counts(4, 4, 2)}, {counts(6, 6, 2), counts(2, 2, 2)},
			{counts(4, 4, 2), counts(4, 4, 2)}, {counts(4, 4, 2), counts(2, 2, 2)}}},
		// Rank 0 gets A₀₁ and B₁₀, rank 1 gets A₀₀, and rank 2 gets B₀₀; see TestTrafficByHand.
		{"cannon", steps, []plan.Traffic{
			{counts(6, 6, 2), counts(4, 4, 2)}, {counts(6, 6, 2), counts(0, 0, 0)},
			{counts(0, 0, 0), counts(4, 4, 2)}, {}}},
		{"cannon's skew", skew, []plan.Traffic{
			{}, {counts(0, 0, 0), counts(2, 2, 2)}, {counts(4, 4, 2), counts(0, 0, 0)},
			{counts(4, 4, 2), counts(2, 2, 2)}}},
		// Layers on hosts: the sum crosses the network. Rows kept 3 and 2.
		{"25d 1x2x2", plan.Layers(s, hosts, plan.Grid{P: 1, Q: 2, C: 2}, 9), []plan.Traffic{
			{counts(5, 5, 2), counts(4, 6, 1)}, {counts(5, 5, 2), counts(2, 3, 1)},
			{counts(5, 5, 2), counts(6, 4, 1)}, {counts(5, 5, 2), counts(3, 2, 1)}}},
		{"srumma", plan.Srumma(s, hosts, square, 9), []plan.Traffic{
			{counts(0, 6, 1), counts(0, 4, 1)}, {counts(0, 6, 1), counts(0, 2, 1)},
			{counts(0, 4, 1), counts(0, 4, 1)}, {counts(0, 4, 1), counts(0, 2, 1)}}},
	} {
		if got := c.schedule.Traffic(); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.name, got, c.want)
		}
	}
}

// schedules returns the schedules of all variants.
func schedules(s gemm.Shape, hosts []int) map[string]plan.Schedule {
	ranks := len(hosts)
	near := plan.Squarest(ranks, s)
	steps, skew := plan.Cannon(s, hosts, near)
	return map[string]plan.Schedule{
		"p2p-rows": plan.P2PRows(s, hosts, false), "p2p-rows, master works": plan.P2PRows(s, hosts, true),
		"p2p-rows-overlap": plan.P2PRowsOverlap(s, hosts, true, 5), "scatter-rows": plan.ScatterRows(s, hosts),
		"scatter-blocks":          plan.ScatterBlocks(s, plan.InOrder(near), hosts),
		"scatter-blocks by hosts": plan.HostBlocks(s, plan.InOrder(near), hosts, plan.UpTo(ranks), 3),
		"grid-blocks":             plan.GridBlocks(s, hosts, near),
		"bcast-rows":              plan.BcastRows(s, hosts, plan.UpTo(ranks), 5),
		"summa":                   plan.Summa(s, hosts, near, 5),
		"srumma":                  plan.Srumma(s, hosts, near, 5), "srumma, sent": plan.SrummaSent(s, hosts, near, 5),
		"cannon":        steps,
		"cannon's skew": skew,
		"25d":           plan.Layers(s, hosts, plan.Layered(ranks, s, 0, 0), 5),
	}
}

// TestBetween: all bytes that leave a host arrive at another. Each rank on a host of its own has the
// traffic that it has on one host, but between hosts, except for the root of a Bcast, which sends a buffer to
// each.
func TestBetween(t *testing.T) {
	for _, s := range shapes {
		for _, hosts := range [][]int{{0}, {0, 1}, {0, 1, 0}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1, 1, 2},
			plan.UpTo(7), {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}} {
			alone := schedules(s, plan.UpTo(len(hosts)))
			together := schedules(s, oneHost(len(hosts)))
			for name, schedule := range schedules(s, hosts) {
				var sum plan.Counts
				for r, x := range schedule.Traffic() {
					sum.Sent, sum.Recv = sum.Sent+x.Between.Sent, sum.Recv+x.Between.Recv
					if got, want := x.Total().Recv, together[name].Traffic()[r].Inside.Recv; got != want {
						t.Errorf("%s of %v on %v: rank %d receives %d, on one host %d", name, s, hosts, r, got, want)
					}
				}
				if sum.Sent != sum.Recv && name != "srumma" { // which reads without the owner
					t.Errorf("%s of %v on %v: %d leave hosts, %d arrive", name, s, hosts, sum.Sent, sum.Recv)
				}
				for r, x := range alone[name].Traffic() {
					if x.Inside != (plan.Counts{}) {
						t.Errorf("%s of %v: rank %d, alone on its host, has %+v inside", name, s, r, x.Inside)
					}
				}
			}
		}
	}
}

// TestTime times schedules on round numbers: 1 s a latency and 10 bytes/s of a pair inside hosts; 2 s and
// 4 bytes/s between them, and 5 bytes/s of all ranks.
func TestTime(t *testing.T) {
	cluster := plan.Cluster{
		Inside:  plan.Path{Network: plan.Network{Latency: 1, Bandwidth: 10}, Together: 15},
		Between: plan.Path{Network: plan.Network{Latency: 2, Bandwidth: 4}, Together: 5, Both: 8},
	}
	counts := func(sent, recv, messages int64) plan.Counts {
		return plan.Counts{Sent: sent, Recv: recv, Messages: messages}
	}
	message := []plan.Traffic{{Inside: counts(30, 0, 1)}, {Inside: counts(0, 30, 1)}, {}, {}}
	across := []plan.Traffic{{Between: counts(20, 0, 1)}, {Between: counts(20, 0, 1)}, {Between: counts(0, 20, 1)},
		{Between: counts(0, 20, 1)}}
	back := []plan.Traffic{across[2], across[3], across[0], across[1]}
	both := []plan.Traffic{{Between: counts(20, 20, 2)}, {Between: counts(20, 20, 2)}, {Between: counts(20, 20, 2)},
		{Between: counts(20, 20, 2)}}
	for _, c := range []struct {
		name    string
		steps   []plan.Step
		compute float64
		want    float64
	}{
		{"no step", nil, 3, 0},
		{"computation alone", []plan.Step{{Traffic: make([]plan.Traffic, 4), Share: 1}}, 3, 3},
		{"a message", []plan.Step{{Traffic: message, Share: 1}}, 3, 1 + 3 + 3},
		// A rank needs 2 + 20/4 = 7 s, the link 40/5 = 8 s.
		{"a shared link", []plan.Step{{Traffic: across}}, 3, 8},
		{"both ways", []plan.Step{{Traffic: both}}, 3, 10},
		{"one after the other", []plan.Step{{Traffic: across, Share: 0.5}, {Traffic: across, Share: 0.5}}, 4,
			8 + 2 + 8 + 2},
		// Ahead inside a host: the ranks are busy until 8.
		{"ahead", []plan.Step{{Traffic: message, Share: 0.5}, {Traffic: message, Share: 0.5, Ahead: true}}, 4, 8 + 2},
		{"ahead of much", []plan.Step{{Traffic: message, Share: 0.5}, {Traffic: message, Share: 0.5, Ahead: true}}, 40,
			4 + 40},
		// Between hosts it is of no use.
		{"ahead, across", []plan.Step{{Traffic: across, Share: 0.5}, {Traffic: across, Share: 0.5, Ahead: true}}, 4,
			8 + 2 + 8 + 2},
		{"ahead, back", []plan.Step{{Traffic: across, Share: 0.5}, {Traffic: back, Share: 0.5, Ahead: true}}, 4,
			8 + 2 + 8 + 2},
	} {
		got := plan.Time(plan.Schedule{Hosts: []int{0, 0, 1, 1}, Steps: c.steps}, 1, cluster, c.compute)
		if got.Seconds != c.want || got.Compute != c.compute {
			t.Errorf("%s: %+v, want %v s", c.name, got, c.want)
		}
		if !(max(got.Latency, got.Transfer) <= c.want) {
			t.Errorf("%s: parts %+v", c.name, got)
		}
	}
	one := plan.Schedule{Hosts: []int{0, 0, 1, 1}, Steps: []plan.Step{{Traffic: across}}}
	if got := plan.Time(one, 1, plan.Cluster{}, 0); !(got.Seconds > 1e300) {
		t.Errorf("on no network: %+v", got)
	}
}

// TestPeers pairs the ranks of patterns.
func TestPeers(t *testing.T) {
	for _, c := range []struct {
		hosts   []int
		pattern plan.Pattern
		pairs   int
		want    []int
	}{
		{[]int{0, 0, 1, 1}, plan.Pattern{}, 1, []int{1, 0, -1, -1}},
		{[]int{0, 0, 1, 1}, plan.Pattern{All: true}, 1, []int{1, 0, 3, 2}},
		{[]int{0, 0, 1, 1}, plan.Pattern{Between: true}, 1, []int{2, -1, 0, -1}},
		{[]int{0, 0, 1, 1}, plan.Pattern{Between: true, All: true}, 2, []int{2, 3, 0, 1}},
		{[]int{0, 1, 0, 1, 0}, plan.Pattern{Between: true, All: true, Both: true}, 2, []int{1, 0, 3, 2, -1}},
		{[]int{0, 0, 0, 0, 0}, plan.Pattern{All: true}, 2, []int{1, 0, 3, 2, -1}},
		{[]int{0, 1, 2}, plan.Pattern{Between: true, All: true}, 1, []int{1, 0, -1}},
		{[]int{0, 1, 1}, plan.Pattern{}, 1, []int{-1, 2, 1}},
		{[]int{0, 0}, plan.Pattern{Between: true}, 0, []int{-1, -1}},
		{[]int{0}, plan.Pattern{All: true}, 0, []int{-1}},
	} {
		var got []int
		for r := range c.hosts {
			peer, first := c.pattern.Peer(c.hosts, r)
			got = append(got, peer)
			if peer >= 0 {
				if back, other := c.pattern.Peer(c.hosts, peer); back != r || other == first {
					t.Errorf("%+v on %v: rank %d has %d, which has %d; first %v and %v", c.pattern, c.hosts, r, peer,
						back, first, other)
				}
			}
		}
		if !slices.Equal(got, c.want) || c.pattern.Pairs(c.hosts) != c.pairs {
			t.Errorf("%+v on %v: peers %v, want %v; %d pairs, want %d", c.pattern, c.hosts, got, c.want,
				c.pattern.Pairs(c.hosts), c.pairs)
		}
	}
	if got := len(plan.Patterns([]int{0, 0, 1, 1})); got != 5 {
		t.Errorf("%d patterns on two hosts, want 5", got)
	}
	if got := len(plan.Patterns([]int{0, 1})); got != 3 {
		t.Errorf("%d patterns on hosts of one rank, want 3", got)
	}
	if got := plan.Patterns([]int{0}); len(got) != 0 {
		t.Errorf("patterns of one rank: %v", got)
	}
}
