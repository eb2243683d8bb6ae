package reporttest

import (
	"fmt"
	"strings"

	"gemm/internal/cpu"
)

// Machine returns a host with packages of nodes of L3 caches of cores of threads, given as their numbers in each.
// Processors are numbered as Linux does: the first threads of all cores, then the second ones. All are usable.
func Machine(packages, nodes, caches, cores, threads int) *cpu.Topology {
	all := packages * nodes * caches * cores
	// span returns the processors of n cores from the first one on.
	span := func(first, n int) string {
		var ids []int
		for c := first; c < first+n; c++ {
			for t := range threads {
				ids = append(ids, t*all+c)
			}
		}
		return cpu.SortedList(ids)
	}
	t := &cpu.Topology{}
	l1, l2 := cpu.CacheSets{Level: 1, Kind: "data", Bytes: 48 << 10}, cpu.CacheSets{Level: 2, Kind: "unified",
		Bytes: 2 << 20}
	l3 := cpu.CacheSets{Level: 3, Kind: "unified", Bytes: 32 << 20}
	for i := range packages {
		t.Packages = append(t.Packages, cpu.Package{ID: i, Processors: span(i*all/packages, all/packages)})
	}
	for i := range packages * nodes {
		each := caches * cores
		t.Nodes = append(t.Nodes, cpu.Node{ID: i, Processors: span(i*each, each), Bytes: 64 << 30})
	}
	for i := range packages * nodes * caches {
		l3.Sets = append(l3.Sets, span(i*cores, cores))
	}
	var order []string
	for i := range all {
		t.Cores = append(t.Cores, span(i, 1))
		for k := range threads {
			order = append(order, fmt.Sprint(k*all+i))
		}
	}
	l1.Sets, l2.Sets = t.Cores, t.Cores
	t.Caches = []cpu.CacheSets{l1, l2, l3}
	t.Processors = strings.Join(order, ",")
	t.Usable = t.Processors
	return t
}

// Hybrid returns a laptop: two performance cores of two processors with an L2 cache each, and four efficiency cores
// that share one.
func Hybrid() *cpu.Topology {
	return &cpu.Topology{
		Processors: "0-7", Usable: "0-7",
		Packages: []cpu.Package{{ID: 0, Processors: "0-7"}},
		Nodes:    []cpu.Node{{ID: 0, Processors: "0-7", Bytes: 16 << 30}},
		Cores:    []string{"0-1", "2-3", "4", "5", "6", "7"},
		Kinds:    []cpu.Kind{{Name: "performance", Processors: "0-3"}, {Name: "efficiency", Processors: "4-7"}},
		Caches: []cpu.CacheSets{
			{Level: 1, Kind: "data", Bytes: 48 << 10, Sets: []string{"0-1", "2-3"}},
			{Level: 1, Kind: "data", Bytes: 32 << 10, Sets: []string{"4", "5", "6", "7"}},
			{Level: 2, Kind: "unified", Bytes: 5 << 18, Sets: []string{"0-1", "2-3"}},
			{Level: 2, Kind: "unified", Bytes: 2 << 20, Sets: []string{"4-7"}},
			{Level: 3, Kind: "unified", Bytes: 12 << 20, Sets: []string{"0-7"}},
		},
	}
}
