package cpu

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Topology is the processors of a host, as records have it. Lists of processors are written as Linux does, such as
// 0-3,8.
type Topology struct {
	// Processors are online, sorted by NUMA node, package and core; processors of one core are adjacent.
	Processors string `json:"processors"`
	// Usable are the processors of the process that described the host (affinity, control group), in the order in
	// which threads are placed. Empty: not known.
	Usable   string        `json:"usable"`
	Packages []Package     `json:"packages"`
	Nodes    []Node        `json:"nodes"`
	Cores    []string      `json:"cores"` // the processors of each
	Kinds    []Kind        `json:"kinds,omitempty"`
	Caches   []CacheSets   `json:"caches"` // smallest level first; no instruction caches
	GPUs     []AttachedGPU `json:"gpus,omitempty"`
}

// Package is a processor as it is bought: what a socket holds.
type Package struct {
	ID         int    `json:"id"`
	Processors string `json:"processors"`
}

// Node is a NUMA node: a part of the memory, and the processors that are nearest to it.
type Node struct {
	ID         int    `json:"id"`
	Processors string `json:"processors"` // online or not; none: it is memory alone
	Bytes      int64  `json:"bytes"`      // of its memory; 0: not known
}

// Kind is a kind of cores of a hybrid processor.
type Kind struct {
	Name       string `json:"name"` // performance, efficiency, low power
	Processors string `json:"processors"`
}

// CacheSets are the caches of one level, kind and size.
type CacheSets struct {
	Level int      `json:"level"`
	Kind  string   `json:"kind"`  // data, unified
	Bytes int64    `json:"bytes"` // of each; 0: not known
	Sets  []string `json:"sets"`  // the processors that share each
}

// AttachedGPU is a graphics processor and the NUMA node that it is nearest to.
type AttachedGPU struct {
	Name string `json:"name"`
	PCI  string `json:"pci"`  // address, such as 0000:3b:00.0
	Node int    `json:"node"` // -1: not known
}

// HostTopology returns the topology of this host; nil if it is not known, as outside of Linux and macOS.
func HostTopology() *Topology { return topology(root, began) }

func topology(files reader, allowed []int) *Topology {
	all := processors(files)
	if len(all) == 0 {
		return nil
	}
	t := &Topology{Usable: List(places(all, allowed)), Nodes: nodes(files), Kinds: kinds(files),
		Caches: sharedCaches(files, all)}
	var ids []int
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	t.Processors = List(ids)
	for id, list := range together(all, func(p Processor) int { return p.Package }) {
		t.Packages = append(t.Packages, Package{id, list})
	}
	for _, list := range together(all, func(p Processor) int { return p.Core }) {
		t.Cores = append(t.Cores, list)
	}
	return t
}

// together returns the lists of processors with the same key, in the order in which the keys come first.
func together(all []Processor, key func(Processor) int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		var keys []int
		ids := map[int][]int{}
		for _, p := range all {
			if k := key(p); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
			ids[key(p)] = append(ids[key(p)], p.ID)
		}
		for _, k := range keys {
			if !yield(k, SortedList(ids[k])) {
				return
			}
		}
	}
}

// Processor is one processor of the machine, with its position, by the kernel's numbers.
type Processor struct {
	ID      int
	Node    int // the NUMA node
	Package int // the socket
	Core    int // the least number of the hardware threads of its core
}

// Processors returns the online processors, sorted by NUMA node, package, core and number, so that
// the hardware threads of a core are adjacent. It returns none if they are not known.
func Processors() []Processor { return processors(root) }

// Places returns the processors that this process may run on, in the order of Processors. It returns none if they are
// not known, as outside of Linux. They are the mask at the start of the process; pinning threads does not change them.
func Places() []int { return places(Processors(), began) }

// began is the affinity mask at the start of the process.
var began = Allowed()

// Narrow pins this process to some of its processors, which then are all that it may run on.
func Narrow(cpus []int) error {
	all := Places()
	if len(cpus) == 0 || slices.ContainsFunc(cpus, func(i int) bool { return !slices.Contains(all, i) }) {
		return fmt.Errorf("must be some of the processors %s", SortedList(all))
	}
	began = slices.Sorted(slices.Values(cpus))
	return Pin(began)
}

// places returns the allowed processors in the order of processors, and then the others.
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

// processors reads the positions of the processors from the files of a Linux file system. If a file is missing, it
// assumes the simplest machine: one node, one package, and a core for each processor.
func processors(files reader) []Processor {
	const system = "sys/devices/system"
	near := map[int]int{}
	for _, node := range nodes(files) {
		for _, id := range ParseList(node.Processors) {
			near[id] = node.ID
		}
	}
	var out []Processor
	for _, id := range ParseList(text(files, system+"/cpu/online")) {
		p := Processor{ID: id, Node: near[id], Core: id}
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

// nodes returns the NUMA nodes that are online, in the order of their numbers; none if they are not known.
func nodes(files reader) []Node {
	const folder = "sys/devices/system/node"
	var out []Node
	var total int64
	for _, id := range ParseList(text(files, folder+"/online")) {
		dir := fmt.Sprintf("%s/node%d/", folder, id)
		out = append(out, Node{ID: id, Processors: SortedList(ParseList(text(files, dir+"cpulist"))),
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

// kinds returns the kinds of cores, the fastest first; none if all cores are of one kind, or if that is not known. It
// reads which processors each of the counters of an Intel hybrid processor is for, or the capacities that Linux has of
// processors with Arm's big.LITTLE: 3/4 of the largest, or more, is a performance core.
func kinds(files reader) []Kind {
	var out []Kind
	for _, k := range [][2]string{{"core", "performance"}, {"atom", "efficiency"}, {"lowpower", "low power"}} {
		if ids := ParseList(text(files, "sys/devices/cpu_"+k[0]+"/cpus")); len(ids) > 0 {
			out = append(out, Kind{k[1], SortedList(ids)})
		}
	}
	if out != nil {
		return out
	}
	var most int64
	of := map[int]int64{}
	for _, id := range ParseList(text(files, "sys/devices/system/cpu/online")) {
		of[id], _ = number(files, fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpu_capacity", id))
		most = max(most, of[id])
	}
	var fast, slow []int
	for id, capacity := range of {
		if 4*capacity >= 3*most {
			fast = append(fast, id)
		} else {
			slow = append(slow, id)
		}
	}
	if slow == nil {
		return nil
	}
	return []Kind{{"performance", SortedList(fast)}, {"efficiency", SortedList(slow)}}
}

// Workers returns how many workers a product has unless it is said: GOMAXPROCS. On arm64 it is the number of
// performance cores if there are others too and nothing sets GOMAXPROCS.
func Workers() int {
	n := runtime.GOMAXPROCS(0)
	if runtime.GOARCH == "arm64" && n == runtime.NumCPU() {
		return min(n, performance())
	}
	return n
}

var performance = sync.OnceValue(func() int {
	if os.Getenv("GOMAXPROCS") != "" {
		return math.MaxInt
	}
	return fastProcessors(kinds(root), began)
})

// fastProcessors returns how many of the allowed processors are of the fastest kind among them; none is not known.
func fastProcessors(kinds []Kind, allowed []int) int {
	for _, k := range kinds {
		ids := ParseList(k.Processors)
		if allowed != nil {
			ids = slices.DeleteFunc(ids, func(id int) bool { return !slices.Contains(allowed, id) })
		}
		if len(ids) > 0 {
			return len(ids)
		}
	}
	return math.MaxInt
}

// NewAttachedGPU returns the GPU of that name and PCI address on this host.
func NewAttachedGPU(name, address string) AttachedGPU {
	return AttachedGPU{Name: name, PCI: address, Node: nodeOf(root, address)}
}

// nodeOf returns the NUMA node that a PCI device is nearest to, by its address; -1 if it is not known.
func nodeOf(files reader, address string) int {
	n, ok := number(files, "sys/bus/pci/devices/"+strings.ToLower(address)+"/numa_node")
	if !ok {
		return -1
	}
	return int(n)
}

// sharedCaches returns which processors share which cache, smallest level first, in the order of the given processors;
// none if it is not known. Instruction caches are left out.
func sharedCaches(files reader, of []Processor) []CacheSets {
	var out []CacheSets
	for _, p := range of {
		for _, c := range caches(files, p.ID) {
			set := SortedList(c.set)
			if set == "" {
				continue
			}
			i := slices.IndexFunc(out, func(of CacheSets) bool {
				return of.Level == c.Level && of.Kind == c.Kind && of.Bytes == c.Bytes
			})
			if i < 0 {
				i = len(out)
				out = append(out, CacheSets{Level: c.Level, Kind: c.Kind, Bytes: c.Bytes})
			}
			if !slices.Contains(out[i].Sets, set) {
				out[i].Sets = append(out[i].Sets, set)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b CacheSets) int { return cmp.Compare(a.Level, b.Level) })
	return out
}
