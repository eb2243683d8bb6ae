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
	ID      int `json:"id"`
	Node    int `json:"node"`    // the NUMA node
	Package int `json:"package"` // the socket
	Core    int `json:"core"`    // the least number of the hardware threads of its core
}

// Topology returns the online processors, sorted by NUMA node, package, core and number, so that
// the hardware threads of a core are adjacent. It returns none if they are not known.
func Topology() []Processor { return topology(root) }

// Places returns the processors that this process may run on, in the order of Topology. It returns
// none if they are not known, as outside of Linux. They are the mask at the start of the process;
// pinning threads does not change them.
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
	for _, node := range ParseList(text(files, system+"/node/online")) {
		for _, id := range ParseList(text(files, fmt.Sprintf("%s/node/node%d/cpulist", system, node))) {
			nodes[id] = node
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

// CacheSets are the caches of one level and kind, each with the processors that share it.
type CacheSets struct {
	Level int     `json:"level"`
	Kind  string  `json:"kind"` // data, unified
	Sets  [][]int `json:"sets"`
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
			set := ParseList(text(files, path.Join(dir, "shared_cpu_list")))
			if kind == "instruction" || !known || len(set) == 0 {
				continue
			}
			i := slices.IndexFunc(out, func(c CacheSets) bool { return c.Level == int(level) && c.Kind == kind })
			if i < 0 {
				i = len(out)
				out = append(out, CacheSets{Level: int(level), Kind: kind})
			}
			if !slices.ContainsFunc(out[i].Sets, func(s []int) bool { return slices.Equal(s, set) }) {
				out[i].Sets = append(out[i].Sets, set)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b CacheSets) int { return cmp.Compare(a.Level, b.Level) })
	return out
}
