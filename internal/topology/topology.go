// Package topology is how the processors of a host are nested in packages, NUMA nodes, caches and cores: as records
// have it, and as a tree.
package topology

import "gemm/internal/cpu"

// Topology is the processors of a host. Lists of processors are written as Linux does, such as 0-3,8.
type Topology struct {
	// Processors are online, sorted by NUMA node, package and core; those of a core are adjacent.
	Processors string `json:"processors"`
	// Usable are those that the process could use that described the host (affinity, control group), in the order
	// in which threads are placed. Empty: not known.
	Usable   string    `json:"usable"`
	Packages []Package `json:"packages"`
	Nodes    []Node    `json:"nodes"`
	Cores    []string  `json:"cores"` // the processors of each
	Kinds    []Kind    `json:"kinds,omitempty"`
	Caches   []Caches  `json:"caches"` // smallest level first; no instruction caches
	GPUs     []GPU     `json:"gpus,omitempty"`
}

// Package is a processor as it is bought: what a socket holds.
type Package struct {
	ID         int    `json:"id"`
	Processors string `json:"processors"`
}

// Node is a NUMA node.
type Node struct {
	ID         int    `json:"id"`
	Processors string `json:"processors"` // none: it is memory alone
	Bytes      int64  `json:"bytes"`      // of its memory; 0: not known
}

// Kind is a kind of cores of a hybrid processor.
type Kind struct {
	Name       string `json:"name"` // performance, efficiency, low power
	Processors string `json:"processors"`
}

// Caches are the caches of one level, kind and size.
type Caches struct {
	Level int      `json:"level"`
	Kind  string   `json:"kind"`  // data, unified
	Bytes int64    `json:"bytes"` // of each; 0: not known
	Sets  []string `json:"sets"`  // the processors that share each
}

// GPU is a graphics processor and the NUMA node that it is nearest to.
type GPU struct {
	Name string `json:"name"`
	PCI  string `json:"pci"`  // address, such as 0000:3b:00.0
	Node int    `json:"node"` // -1: not known
}

// Here returns the topology of this host; nil if it is not known, as outside of Linux.
func Here() *Topology {
	return from(cpu.Topology(), cpu.Places(), cpu.MemoryNodes(), cpu.Kinds(), cpu.SharedCaches())
}

// NewGPU returns the GPU of that name and PCI address on this host.
func NewGPU(name, address string) GPU {
	return GPU{Name: name, PCI: address, Node: cpu.NodeOf(address)}
}

// from returns the topology of the given processors, none of which may be missing in places.
func from(processors []cpu.Processor, places []int, nodes []cpu.MemoryNode, kinds []cpu.Kind,
	caches []cpu.CacheSets) *Topology {
	if len(processors) == 0 {
		return nil
	}
	var all []int
	var packages, cores groups
	for _, p := range processors {
		all = append(all, p.ID)
		packages.add(p.Package, p.ID)
		cores.add(p.Core, p.ID)
	}
	t := &Topology{Processors: cpu.List(all), Usable: cpu.List(places)}
	for _, g := range packages {
		t.Packages = append(t.Packages, Package{g.key, List(g.ids)})
	}
	for _, n := range nodes {
		t.Nodes = append(t.Nodes, Node{n.ID, List(n.Processors), n.Bytes})
	}
	for _, g := range cores {
		t.Cores = append(t.Cores, List(g.ids))
	}
	for _, k := range kinds {
		t.Kinds = append(t.Kinds, Kind{k.Name, List(k.Processors)})
	}
	for _, c := range caches {
		of := Caches{Level: c.Level, Kind: c.Kind, Bytes: c.Bytes}
		for _, set := range c.Sets {
			of.Sets = append(of.Sets, List(set))
		}
		t.Caches = append(t.Caches, of)
	}
	return t
}

// groups are processors by a key, in the order in which the keys were added first.
type groups []struct {
	key int
	ids []int
}

func (g *groups) add(key, id int) {
	for i := range *g {
		if (*g)[i].key == key {
			(*g)[i].ids = append((*g)[i].ids, id)
			return
		}
	}
	*g = append(*g, struct {
		key int
		ids []int
	}{key, []int{id}})
}
