package topology

import (
	"encoding/json"
	"reflect"
	"testing"

	"gemm/internal/cpu"
)

// TestFrom describes a container that may use a part of a server, whose sockets are numbered in turn.
func TestFrom(t *testing.T) {
	processors := []cpu.Processor{{ID: 0, Core: 0}, {ID: 4, Core: 0}, {ID: 2, Core: 2}, {ID: 6, Core: 2},
		{ID: 1, Core: 1, Package: 1, Node: 1}, {ID: 3, Core: 3, Package: 1, Node: 1}}
	nodes := []cpu.MemoryNode{{ID: 0, Processors: []int{0, 2, 4, 6}, Bytes: 1 << 30}, {ID: 1, Processors: []int{1, 3}},
		{ID: 2, Bytes: 4 << 30}}
	caches := []cpu.CacheSets{{Level: 3, Kind: "unified", Bytes: 8 << 20, Sets: [][]int{{0, 2, 4, 6}, {1, 3}}}}
	want := &Topology{
		Processors: "0,4,2,6,1,3", Usable: "2,1",
		Packages: []Package{{0, "0,2,4,6"}, {1, "1,3"}},
		Nodes:    []Node{{0, "0,2,4,6", 1 << 30}, {1, "1,3", 0}, {2, "", 4 << 30}},
		Cores:    []string{"0,4", "2,6", "1", "3"},
		Caches:   []Caches{{3, "unified", 8 << 20, []string{"0,2,4,6", "1,3"}}},
	}
	got := from(processors, []int{2, 1}, nodes, nil, caches)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the topology is %+v, want %+v", got, want)
	}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var again Topology
	if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(&again, want) {
		t.Errorf("%s is read as %+v, %v", data, again, err)
	}
	if got := from(nil, []int{0}, nil, nil, nil); got != nil {
		t.Errorf("without processors the topology is %+v", got)
	}
}

// TestHere compares the tree of this host with its list of processors.
func TestHere(t *testing.T) {
	here := Here()
	if here == nil {
		t.Skip("the topology of this system is not known")
	}
	if got := leaves(here.Tree()); !reflect.DeepEqual(got, IDs(here.Processors)) {
		t.Errorf("the tree has the processors %v, want %s", got, here.Processors)
	}
}

// leaves returns the processors at the ends of a tree.
func leaves(b *Box) []int {
	if b.Level == Processor {
		return []int{b.ID}
	}
	var out []int
	for _, inner := range b.Inner {
		out = append(out, leaves(inner)...)
	}
	return out
}
