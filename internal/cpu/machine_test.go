package cpu_test

import (
	"strings"

	"gemm/internal/cpu"
)

// machine returns a host with packages of nodes of L3 caches of cores of threads, given as their numbers in each.
// Processors are numbered as Linux does: the first threads of all cores, then the second ones. All are usable.
func machine(packages, nodes, caches, cores, threads int) *cpu.Topology {
	all := packages * nodes * caches * cores
	parts := func(n int) (lists []string) { // of equal size
		for i := range n {
			var ids []int
			for core := i * all / n; core < (i+1)*all/n; core++ {
				for t := range threads {
					ids = append(ids, t*all+core)
				}
			}
			lists = append(lists, cpu.SortedList(ids))
		}
		return lists
	}
	each := parts(all)
	t := &cpu.Topology{Processors: strings.Join(each, ","), Usable: strings.Join(each, ","), Cores: each,
		Caches: []cpu.CacheSets{{Level: 1, Kind: "data", Bytes: 48 << 10, Sets: each},
			{Level: 2, Kind: "unified", Bytes: 2 << 20, Sets: each},
			{Level: 3, Kind: "unified", Bytes: 32 << 20, Sets: parts(packages * nodes * caches)}}}
	for i, p := range parts(packages) {
		t.Packages = append(t.Packages, cpu.Package{ID: i, Processors: p})
	}
	for i, p := range parts(packages * nodes) {
		t.Nodes = append(t.Nodes, cpu.Node{ID: i, Processors: p, Bytes: 64 << 30})
	}
	return t
}

// hybrid returns a laptop: two performance cores of two processors with an L2 cache each, and four efficiency cores
// that share one.
func hybrid() *cpu.Topology {
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
