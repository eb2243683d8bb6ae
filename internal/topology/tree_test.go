package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"

	"gemm/gemmtest/reporttest"
	"gemm/internal/topology"
)

func size(n float64) string { return humanize.IBytes(uint64(n)) }

func TestWrite(t *testing.T) {
	server := reporttest.Machine(2, 2, 1, 4, 2)
	server.GPUs = []topology.GPU{{Name: "H100", PCI: "0000:3b:00.0", Node: 1},
		{Name: "A2", PCI: "0000:af:00.0", Node: -1}}
	server.Nodes = append(server.Nodes, topology.Node{ID: 4, Bytes: 8 << 30})
	server.Nodes[0].Bytes -= 1 << 30 // which the firmware keeps
	virtual := reporttest.Machine(2, 1, 1, 2, 1)
	virtual.Nodes = []topology.Node{{ID: 0, Processors: "0-3", Bytes: 8 << 30}}
	virtual.Caches[2].Sets = []string{"0-3"}
	torn := reporttest.Machine(2, 1, 1, 2, 1)
	torn.Caches[2].Sets = []string{"1-2"}
	bare := &topology.Topology{Processors: "0-1", Packages: []topology.Package{{Processors: "0-1"}},
		Cores: []string{"0", "1"}}
	for name, c := range map[string]struct {
		of   *topology.Topology
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
		"many that are alike": {reporttest.Machine(1, 1, 8, 8, 2), `
package 0: processors 0-127
  NUMA node 0, 64 GiB: processors 0-127
    8 × L3 32 MiB: processors 0-127
      8 cores of 2 processors, L2 2.0 MiB, L1d 48 KiB: processors 0-7,64-71
`},
		"hybrid": {reporttest.Hybrid(), `
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
		"6 nodes": {reporttest.Machine(1, 6, 1, 1, 1), `
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

// TestTree counts the processors of machines whose levels are numbered in different ways.
func TestTree(t *testing.T) {
	for _, n := range [][5]int{{1, 1, 1, 2, 1}, {2, 2, 1, 4, 1}, {2, 1, 4, 8, 2}, {2, 4, 2, 8, 2}} {
		m := reporttest.Machine(n[0], n[1], n[2], n[3], n[4])
		counts := map[topology.Level]int{}
		var walk func(*topology.Box)
		walk = func(b *topology.Box) {
			counts[b.Level]++
			for _, inner := range b.Inner {
				walk(inner)
			}
		}
		walk(m.Tree())
		want := map[topology.Level]int{topology.Machine: 1}
		total := 1
		for i, level := range []topology.Level{topology.InPackage, topology.InNode, topology.InCache, topology.InCore,
			topology.Processor} {
			total *= n[i]
			want[level] = total
		}
		if fmt.Sprint(counts) != fmt.Sprint(want) {
			t.Errorf("%v: the tree has %v, want %v", n, counts, want)
		}
	}
}
