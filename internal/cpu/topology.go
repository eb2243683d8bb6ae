package cpu

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Processor is one processor of the machine, with its position. Numbers are those of the kernel.
type Processor struct {
	ID      int
	Node    int // the NUMA node
	Package int // the socket
	Core    int // the least number of the hardware threads of its core
}

// Topology returns the online processors, sorted by NUMA node, package, core and number, so that
// the hardware threads of a core are adjacent. It returns none if they are not known.
func Topology() []Processor { return topology(root) }

// Places returns the processors that this process may run on, in the order of Topology. It returns none if they are not
// known, as outside of Linux. They are the mask at the start of the process; pinning threads does not change them.
func Places() []int { return places(Topology(), began) }

// began is the affinity mask at the start of the process.
var began = Allowed()

// places returns the allowed processors in the order of processors, and then those that are not in it.
func places(processors []Processor, allowed []int) []int {
	var out []int
	for _, p := range processors {
		if slices.Contains(allowed, p.ID) {
			out = append(out, p.ID)
		}
	}
	for _, id := range allowed {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// topology reads the positions of the processors from the files of a Linux file system. If a file is missing, it assumes
// the simplest machine: one node, one package, and a core for each processor.
func topology(files reader) []Processor {
	const system = "sys/devices/system"
	nodes := map[int]int{}
	for _, node := range memoryNodes(files) {
		for _, id := range node.Processors {
			nodes[id] = node.ID
		}
	}
	var out []Processor
	for _, id := range ParseList(text(files, system+"/cpu/online")) {
		p := Processor{ID: id, Node: nodes[id], Core: id}
		dir := fmt.Sprintf("%s/cpu/cpu%d/topology/", system, id)
		if n, ok := number(files, dir+"physical_package_id"); ok {
			p.Package = int(n)
		}
		if threads := ParseList(text(files, dir+"thread_siblings_list")); len(threads) > 0 {
			p.Core = slices.Min(threads)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Processor) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Package, b.Package),
			cmp.Compare(a.Core, b.Core), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// MemoryNode is a NUMA node: a part of the memory, and the processors that are nearest to it.
type MemoryNode struct {
	ID         int
	Processors []int // online or not; none: it is memory alone
	Bytes      int64 // 0: not known
}

// MemoryNodes returns the NUMA nodes that are online, in the order of their numbers; none if they are not known.
func MemoryNodes() []MemoryNode { return memoryNodes(root) }

func memoryNodes(files reader) []MemoryNode {
	const folder = "sys/devices/system/node"
	var out []MemoryNode
	var total int64
	for _, id := range ParseList(text(files, folder+"/online")) {
		dir := fmt.Sprintf("%s/node%d/", folder, id)
		out = append(out, MemoryNode{ID: id, Processors: ParseList(text(files, dir+"cpulist")),
			Bytes: kibibytes(field(files, dir+"meminfo", fmt.Sprintf("Node %d MemTotal", id)))})
		total += out[len(out)-1].Bytes
	}
	if float64(total) < 0.9*float64(kibibytes(field(files, "proc/meminfo", "MemTotal"))) {
		for i := range out { // a sandbox, such as gVisor, gives what is free as the total
			out[i].Bytes = 0
		}
	}
	return out
}

// Kind is a kind of cores of a hybrid processor: performance, efficiency, low power.
type Kind struct {
	Name       string
	Processors []int
}

// Kinds returns the kinds of cores, the fastest first; none if all cores are of one kind, or if that is not known.
func Kinds() []Kind { return kinds(root) }

// kinds reads which processors each of the counters of an Intel hybrid processor is for.
func kinds(files reader) []Kind {
	var out []Kind
	for _, k := range [][2]string{{"core", "performance"}, {"atom", "efficiency"}, {"lowpower", "low power"}} {
		if ids := ParseList(text(files, "sys/devices/cpu_"+k[0]+"/cpus")); len(ids) > 0 {
			out = append(out, Kind{k[1], ids})
		}
	}
	return out
}

// NodeOf returns the NUMA node that a PCI device is nearest to, by its address, such as 0000:3b:00.0; -1 if it is not
// known.
func NodeOf(address string) int { return nodeOf(root, address) }

func nodeOf(files reader, address string) int {
	n, ok := number(files, "sys/bus/pci/devices/"+strings.ToLower(address)+"/numa_node")
	if !ok {
		return -1
	}
	return int(n)
}

// CacheSets are the caches of one level, kind and size, each with the processors that share it.
type CacheSets struct {
	Level int
	Kind  string // data, unified
	Bytes int64  // of each; 0: not known
	Sets  [][]int
}

// SharedCaches returns which processors share which cache, smallest level first, in the order of Topology; none if it is
// not known. Instruction caches are left out.
func SharedCaches() []CacheSets { return sharedCaches(root, Topology()) }

func sharedCaches(files reader, of []Processor) []CacheSets {
	var out []CacheSets
	for _, p := range of {
		for dir := range cacheDirs(files, p.ID) {
			kind := strings.ToLower(text(files, path.Join(dir, "type")))
			level, known := number(files, path.Join(dir, "level"))
			size := cacheBytes(text(files, path.Join(dir, "size")))
			set := ParseList(text(files, path.Join(dir, "shared_cpu_list")))
			if kind == "instruction" || !known || len(set) == 0 {
				continue
			}
			i := slices.IndexFunc(out, func(c CacheSets) bool {
				return c.Level == int(level) && c.Kind == kind && c.Bytes == size
			})
			if i < 0 {
				i = len(out)
				out = append(out, CacheSets{Level: int(level), Kind: kind, Bytes: size})
			}
			if !slices.ContainsFunc(out[i].Sets, func(s []int) bool { return slices.Equal(s, set) }) {
				out[i].Sets = append(out[i].Sets, set)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b CacheSets) int { return cmp.Compare(a.Level, b.Level) })
	return out
}
