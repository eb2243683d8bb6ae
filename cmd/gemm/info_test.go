package main

import (
	"testing"

	"gemm/compare"
	"gemm/internal/cpu"
)

// TestInfoOfTopology describes a server whose sockets differ, and a host of which
// nothing is known.
func TestInfoOfTopology(t *testing.T) {
	server := []cpu.Processor{
		{ID: 0, Node: 0, Package: 0, Core: 0}, {ID: 6, Node: 0, Package: 0, Core: 0},
		{ID: 2, Node: 0, Package: 0, Core: 2}, {ID: 8, Node: 0, Package: 0, Core: 2},
		{ID: 1, Node: 1, Package: 1, Core: 1},
	}
	cache := compare.Cache{Level: 2, Kind: "unified", Shared: 2}
	sharing := []cpu.CacheSets{{Level: 1, Kind: "unified", Sets: [][]int{{9}}},
		{Level: 2, Kind: "unified", Sets: [][]int{{0, 6}, {2, 3, 8}}}}
	many := []cpu.CacheSets{{Level: 2, Kind: "unified", Sets: make([][]int, mostSets+1)}}
	for _, c := range []struct{ got, want string }{
		{cores(server), "; cores a socket: 1 to 2, threads a core: 1 to 2"},
		{cores(server[:4]), "; cores a socket: 2, threads a core: 2"},
		{cores(nil), ""},
		{nodes(server), "; node 0 has processors 0,2,6,8, node 1 has processors 1"},
		{nodes(nil), ""},
		{allowed([]int{0, 6, 2}), ": 0,6,2"},
		{allowed(nil), ""},
		{shared(cache, sharing), ", shared by 2: 0,6 and 2-3,8"},
		{shared(cache, many), ", shared by 2"},
		{shared(cache, nil), ", shared by 2"},
		{shared(compare.Cache{Level: 2, Kind: "unified", Shared: 1}, sharing), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
