package cpu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"

	"gemm/internal/cpu"
)

func size(n float64) string { return humanize.IBytes(uint64(n)) }

func TestWrite(t *testing.T) {
	server := machine(2, 2, 1, 4, 2)
	server.GPUs = []cpu.AttachedGPU{{Name: "H100", PCI: "0000:3b:00.0", Node: 1},
		{Name: "A2", PCI: "0000:af:00.0", Node: -1}}
	server.Nodes = append(server.Nodes, cpu.Node{ID: 4, Bytes: 8 << 30})
	server.Nodes[0].Bytes -= 1 << 30 // which the firmware keeps
	virtual := machine(2, 1, 1, 2, 1)
	virtual.Nodes = []cpu.Node{{ID: 0, Processors: "0-3", Bytes: 8 << 30}}
	virtual.Caches[2].Sets = []string{"0-3"}
	torn := machine(2, 1, 1, 2, 1)
	torn.Caches[2].Sets = []string{"1-2"}
	bare := &cpu.Topology{Processors: "0-1", Packages: []cpu.Package{{Processors: "0-1"}},
		Cores: []string{"0", "1"}}
	for name, c := range map[string]struct {
		of   *cpu.Topology
		want string
	}{
		"2 packages of 2 NUMA nodes, and memory alone": {server, `
package 0: processors 0-7,16-23
  NUMA node 0, 63 GiB: processors 0-3,16-19
    L3 32 MiB: processors 0-3,16-19
      4 cores of 2 processors, L2 2.0 MiB, L1d 48 KiB: processors 0-3,16-19
  NUMA node 1, 64 GiB: processors 4-7,20-23
    L3 32 MiB: processors 4-7,20-23
      4 cores of 2 processors, L2 2.0 MiB, L1d 48 KiB: processors 4-7,20-23
package 1: processors 8-15,24-31
  NUMA node 2, 64 GiB: processors 8-11,24-27
    L3 32 MiB: processors 8-11,24-27
      4 cores of 2 processors, L2 2.0 MiB, L1d 48 KiB: processors 8-11,24-27
  NUMA node 3, 64 GiB: processors 12-15,28-31
    L3 32 MiB: processors 12-15,28-31
      4 cores of 2 processors, L2 2.0 MiB, L1d 48 KiB: processors 12-15,28-31
NUMA node 4, 8.0 GiB of memory alone
GPU H100 at 0000:3b:00.0, NUMA node 1
GPU A2 at 0000:af:00.0
`},
		"many that are alike": {machine(1, 1, 8, 8, 2), `
package 0: processors 0-127
  NUMA node 0, 64 GiB: processors 0-127
    8 × L3 32 MiB: processors 0-127
      8 cores of 2 processors, L2 2.0 MiB, L1d 48 KiB: processors 0-7,64-71
`},
		"hybrid": {hybrid(), `
package 0: processors 0-7
  NUMA node 0, 16 GiB: processors 0-7
    L3 12 MiB: processors 0-7
      2 performance cores of 2 processors, L2 1.3 MiB, L1d 48 KiB: processors 0-3
      L2 2.0 MiB: processors 4-7
        4 efficiency cores, L1d 32 KiB: processors 4-7
`},
		"a node and a cache of two packages": {virtual, `
NUMA node 0, 8.0 GiB: processors 0-3
  L3 32 MiB: processors 0-3
    package 0: processors 0-1
      2 cores, L2 2.0 MiB, L1d 48 KiB: processors 0-1
    package 1: processors 2-3
      2 cores, L2 2.0 MiB, L1d 48 KiB: processors 2-3
`},
		"a cache across packages": {torn, `
package 0: processors 0-1
  NUMA node 0, 64 GiB: processors 0-1
    2 cores, L2 2.0 MiB, L1d 48 KiB: processors 0-1
package 1: processors 2-3
  NUMA node 1, 64 GiB: processors 2-3
    2 cores, L2 2.0 MiB, L1d 48 KiB: processors 2-3
`},
		"nothing but processors": {bare, `
package 0: processors 0-1
  2 cores: processors 0-1
`},
		"6 nodes": {machine(1, 6, 1, 1, 1), `
package 0: processors 0-5
  6 NUMA nodes, 64 GiB each: processors 0-5
    core, L3 32 MiB, L2 2.0 MiB, L1d 48 KiB: processors 0
`},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			c.of.Write(&got, size)
			if want := strings.TrimPrefix(c.want, "\n"); got.String() != want {
				t.Errorf("the text is\n%swant\n%s", &got, want)
			}
		})
	}
}

// TestTreeHere compares the tree of this host with its list of processors.
func TestTreeHere(t *testing.T) {
	here := cpu.HostTopology()
	if here == nil {
		t.Skip("the topology of this system is not known")
	}
	var leaves func(b *cpu.Box) []int
	leaves = func(b *cpu.Box) (out []int) {
		if b.Level == cpu.LevelProcessor {
			return []int{b.ID}
		}
		for _, inner := range b.Inner {
			out = append(out, leaves(inner)...)
		}
		return out
	}
	if got := leaves(here.Tree()); !slices.Equal(got, cpu.ParseList(here.Processors)) {
		t.Errorf("the tree has the processors %v, want %s", got, here.Processors)
	}
}
