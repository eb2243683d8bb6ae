package cpu

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// TestProcessors reads machines whose processors are numbered in other orders than they are placed.
func TestProcessors(t *testing.T) {
	// tree has the processors' package and threads of a core, and the nodes' lists.
	tree := func(online string, packages map[int]int, threads map[int]string, nodes map[int]string) map[string]string {
		files := map[string]string{"sys/devices/system/cpu/online": online + "\n"}
		for id, n := range packages {
			files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", id)] = fmt.Sprintln(n)
		}
		for id, list := range threads {
			files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", id)] = list + "\n"
		}
		if nodes != nil {
			files["sys/devices/system/node/online"] = fmt.Sprintf("0-%d\n", len(nodes)-1)
		}
		for n, list := range nodes {
			files[fmt.Sprintf("sys/devices/system/node/node%d/cpulist", n)] = list + "\n"
		}
		return files
	}
	tests := map[string]struct {
		files   map[string]string
		want    []Processor
		allowed []int
		places  []int
	}{
		"nothing is known": {nil, nil, []int{0, 1}, []int{0, 1}},
		"no mask":          {nil, nil, nil, nil},
		"no topology": {tree("0-1", nil, nil, nil),
			[]Processor{{ID: 0, Core: 0}, {ID: 1, Core: 1}}, []int{1}, []int{1}},
		"two sockets alternating, two threads a core": {
			tree("0-7", map[int]int{0: 0, 1: 1, 2: 0, 3: 1, 4: 0, 5: 1, 6: 0, 7: 1},
				map[int]string{0: "0,4", 4: "0,4", 1: "1,5", 5: "1,5", 2: "2,6", 6: "2,6", 3: "3,7", 7: "3,7"},
				map[int]string{0: "0,2,4,6", 1: "1,3,5,7"}),
			[]Processor{{0, 0, 0, 0}, {4, 0, 0, 0}, {2, 0, 0, 2}, {6, 0, 0, 2}, {1, 1, 1, 1}, {5, 1, 1, 1}, {3, 1, 1, 3},
				{7, 1, 1, 3}},
			[]int{1, 2, 5, 6}, []int{2, 6, 1, 5}},
		"nodes against the order of sockets": {
			tree("0-3", map[int]int{0: 0, 1: 0, 2: 1, 3: 1}, nil, map[int]string{0: "2-3", 1: "0-1"}),
			[]Processor{{2, 0, 1, 2}, {3, 0, 1, 3}, {0, 1, 0, 0}, {1, 1, 0, 1}},
			[]int{0, 1, 2, 3}, []int{2, 3, 0, 1}},
		"two nodes in a socket, a processor offline": {
			tree("0-2,4-7", map[int]int{0: 0, 1: 0, 2: 0, 4: 0, 5: 0, 6: 0, 7: 0},
				map[int]string{0: "0-1", 1: "0-1", 2: "2", 4: "4-5", 5: "4-5", 6: "6-7", 7: "6-7"},
				map[int]string{0: "0-1,4-5", 1: "2-3,6-7"}),
			[]Processor{{0, 0, 0, 0}, {1, 0, 0, 0}, {4, 0, 0, 4}, {5, 0, 0, 4}, {2, 1, 0, 2}, {6, 1, 0, 6}, {7, 1, 0, 6}},
			[]int{7, 6, 5, 4, 9}, []int{4, 5, 6, 7, 9}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := processors(files(test.files))
			if !slices.Equal(got, test.want) {
				t.Errorf("the processors are %v, want %v", got, test.want)
			}
			if places := places(got, test.allowed); !slices.Equal(places, test.places) {
				t.Errorf("of %v the places are %v, want %v", test.allowed, places, test.places)
			}
		})
	}
}

// TestTopology describes a container that may use a part of a server, whose sockets are numbered alternately.
func TestTopology(t *testing.T) {
	tree := map[string]string{"sys/devices/system/cpu/online": "0-4,6", "sys/devices/system/node/online": "0-1",
		"sys/devices/system/node/node0/cpulist": "0,2,4,6", "sys/devices/system/node/node1/cpulist": "1,3"}
	for id, of := range map[int]string{0: "0,4", 1: "1", 2: "2,6", 3: "3", 4: "0,4", 6: "2,6"} {
		dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/", id)
		tree[dir+"thread_siblings_list"], tree[dir+"physical_package_id"] = of, fmt.Sprint(id%2)
	}
	want := &Topology{
		Processors: "0,4,2,6,1,3", Usable: "2,1",
		Packages: []Package{{0, "0,2,4,6"}, {1, "1,3"}}, Nodes: []Node{{0, "0,2,4,6", 0}, {1, "1,3", 0}},
		Cores: []string{"0,4", "2,6", "1", "3"},
	}
	if got := topology(files(tree), []int{1, 2}); !reflect.DeepEqual(got, want) {
		t.Errorf("the topology is %+v, want %+v", got, want)
	}
	if got := topology(files(nil), []int{0}); got != nil {
		t.Errorf("without processors the topology is %+v", got)
	}
}

func TestSharedCaches(t *testing.T) {
	tree := map[string]string{}
	cache := func(processor, index int, level, kind, shared string) {
		dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/cache/index%d/", processor, index)
		tree[dir+"level"], tree[dir+"type"], tree[dir+"shared_cpu_list"] = level, kind, shared
		if level == "1" {
			tree[dir+"size"] = "48K"
		}
	}
	var all []Processor
	for i, core := range []string{"0,2", "1,3", "0,2", "1,3"} {
		all = append(all, Processor{ID: i})
		cache(i, 0, "1", "Data", core)
		cache(i, 1, "1", "Instruction", core)
		cache(i, 2, "3", "Unified", "0-3")
		cache(i, 3, "2", "Unified", core)
		cache(i, 4, "x", "Unified", core)
		cache(i, 5, "4", "Unified", "")
	}
	tree["sys/devices/system/cpu/cpu1/cache/index3/size"] = "2M"
	tree["sys/devices/system/cpu/cpu3/cache/index3/size"] = "2M"
	cores := []string{"0,2", "1,3"}
	want := []CacheSets{{1, "data", 48 << 10, cores}, {2, "unified", 0, cores[:1]},
		{2, "unified", 2 << 20, cores[1:]}, {3, "unified", 0, []string{"0-3"}}}
	if got := sharedCaches(files(tree), all); !reflect.DeepEqual(got, want) {
		t.Errorf("shared caches are %v, want %v", got, want)
	}
	if got := sharedCaches(files(nil), all); got != nil {
		t.Errorf("without files shared caches are %v", got)
	}
}

func TestNodes(t *testing.T) {
	tree := map[string]string{
		"sys/devices/system/node/online":        "0-2\n",
		"sys/devices/system/node/node0/cpulist": "0-1,4\n",
		"sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       16384 kB\nNode 0 MemFree:  1 kB\n",
		"sys/devices/system/node/node1/cpulist": "2-3\n",
		"sys/devices/system/node/node2/cpulist": "\n",
		"sys/devices/system/node/node2/meminfo": "Node 2 MemTotal:       32 kB\n",
	}
	want := []Node{{0, "0-1,4", 16 << 20}, {1, "2-3", 0}, {2, "", 32 << 10}}
	if got := nodes(files(tree)); !reflect.DeepEqual(got, want) {
		t.Errorf("nodes are %v, want %v", got, want)
	}
	tree["proc/meminfo"] = "MemTotal: 32768 kB\n" // what nodes have is free memory, and no total
	for _, n := range nodes(files(tree)) {
		if n.Bytes != 0 {
			t.Errorf("node %d has %d bytes of a machine with more than all nodes", n.ID, n.Bytes)
		}
	}
	if got := nodes(files(nil)); got != nil {
		t.Errorf("without files nodes are %v", got)
	}
}

func TestKinds(t *testing.T) {
	hybrid := map[string]string{"sys/devices/cpu_core/cpus": "0-3\n", "sys/devices/cpu_atom/cpus": "4-5\n"}
	want := []Kind{{"performance", "0-3"}, {"efficiency", "4-5"}}
	if got := kinds(files(hybrid)); !reflect.DeepEqual(got, want) {
		t.Errorf("kinds are %v, want %v", got, want)
	}
	if got := kinds(files(nil)); got != nil {
		t.Errorf("without files kinds are %v", got)
	}
}

func TestNodeOf(t *testing.T) {
	tree := map[string]string{"sys/bus/pci/devices/0000:3b:00.0/numa_node": "1\n",
		"sys/bus/pci/devices/0000:af:00.0/numa_node": "-1\n"}
	for address, want := range map[string]int{"0000:3B:00.0": 1, "0000:af:00.0": -1, "0000:00:00.0": -1} {
		if got := nodeOf(files(tree), address); got != want {
			t.Errorf("the node of %s is %d, want %d", address, got, want)
		}
	}
}
