package figures_test

import (
	"fmt"
	"strings"
	"testing"

	"gemm/compare"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
	"gemm/compare/topology"
	"gemm/mpi/account"
)

// drawingOf returns the boxes of the given ID among the drawings of rows on a host; ok is false if there are none.
func drawingOf(host *topology.Topology, id string, rows ...compare.Record) (b chart.Boxes, ok bool) {
	doc := reporttest.Planted(rows...)
	doc.Hosts[0].Topology = host
	for _, d := range figures.Drawings(doc, "en") {
		if d.ID == id {
			return d.Chart.(chart.Boxes), true
		}
	}
	return chart.Boxes{}, false
}

// text returns the letters of boxes, a line each, indented by how deep it is. Coloured ones have a *, faint ones
// a -.
func text(boxes ...chart.Box) string {
	var out strings.Builder
	var write func(indent string, b chart.Box)
	write = func(indent string, b chart.Box) {
		sign := map[chart.Frame]string{chart.Coloured: "*", chart.Muted: "-"}[b.Frame]
		fmt.Fprintf(&out, "%s%s%s\n", indent, sign, strings.Join(b.Lines, " | "))
		for _, row := range b.Inner {
			for _, inner := range row {
				write(indent+" ", inner)
			}
		}
	}
	for _, b := range boxes {
		write("", b)
	}
	return out.String()
}

func TestTopologyIsDrawn(t *testing.T) {
	container := reporttest.Machine(2, 1, 1, 2, 2)
	container.Usable = "1,4"
	container.Nodes = append(container.Nodes, topology.Node{ID: 2, Bytes: 8 << 30})
	container.GPUs = []topology.GPU{{Name: "H100", Node: 1}, {Name: "A2", Node: -1}}
	for name, c := range map[string]struct {
		of   *topology.Topology
		want string
	}{
		"container": {container, `
 package 0
  NUMA node 0, 64 GiB
   L3 32 MiB
    L2 2 MiB | L1d 48 KiB
     -0
     4
    L2 2 MiB | L1d 48 KiB
     1
     -5
 package 1
  NUMA node 1, 64 GiB
   L3 32 MiB
    L2 2 MiB | L1d 48 KiB
     -2
     -6
    L2 2 MiB | L1d 48 KiB
     -3
     -7
   GPU 0, H100
 NUMA node 2, 8 GiB of memory alone
 GPU 1, A2
`},
		"hybrid": {reporttest.Hybrid(), `
 package 0
  NUMA node 0, 16 GiB
   L3 12 MiB
    performance | L2 1.25 MiB | L1d 48 KiB
     0
     1
    performance | L2 1.25 MiB | L1d 48 KiB
     2
     3
    L2 2 MiB
     efficiency | L1d 32 KiB
      4
     efficiency | L1d 32 KiB
      5
     efficiency | L1d 32 KiB
      6
     efficiency | L1d 32 KiB
      7
`},
		"256 processors": {reporttest.Machine(2, 2, 16, 2, 2), `
 package 0
  NUMA node 0, 64 GiB
   L3 32 MiB: 2 cores of 2 processors, L2 2 MiB, L1d 48 KiB
    ` + `
     0
     128
    ` + `
     1
     129
` + func() (lines string) {
			for i := 1; i < 16; i++ {
				lines += fmt.Sprintf("   L3 32 MiB: processors %d-%d,%d-%d\n", 2*i, 2*i+1, 128+2*i, 129+2*i)
			}
			return lines
		}() + `  NUMA node 1, 64 GiB: processors 32-63,160-191
 package 1: processors 64-127,192-255
`},
	} {
		t.Run(name, func(t *testing.T) {
			b, ok := drawingOf(c.of, "topology")
			if got := text(b.Boxes...); !ok || got != c.want {
				t.Errorf("the host is drawn as\n%swant\n%s", got, c.want)
			}
		})
	}
	if b, ok := drawingOf(nil, "topology"); ok {
		t.Errorf("a host of which nothing is known is drawn as %v", b)
	}
}

// pinned returns a row of workers on the given processors.
func pinned(affinity string, threads int, placement string) compare.Record {
	r := reporttest.Row("parallel/rows", 64, 1e-3,
		reporttest.ThreadsOf(compare.Affinities, threads, "affinity", affinity))
	r.Resolved["affinity"] = affinity
	if placement != "" {
		r.Resolved["placement"] = placement
	}
	return r
}

func TestWorkersAreDrawn(t *testing.T) {
	host := reporttest.Machine(1, 1, 1, 4, 1)
	rows := []compare.Record{
		pinned("none", 2, ""), pinned("spread", 2, "0,2"), pinned("close", 2, "0,1"),
		pinned("none", 4, ""), pinned("spread", 4, "0,1,2,3"), pinned("close", 4, "0,1,2,3"),
	}
	want := `affinity close
 package 0; NUMA node 0, 64 GiB; L3 32 MiB
  *0: w0
  *1: w1
  2
  3
affinity spread
 package 0; NUMA node 0, 64 GiB; L3 32 MiB
  *0: w0
  1
  *2: w1
  3
affinity none: the system chooses the processors
`
	b, ok := drawingOf(host, "placement-workers", rows...)
	if got := text(b.Boxes...); !ok || got != want || b.Title != "parallel/rows, f64, n = 64, 2 workers" {
		t.Errorf("%s: the workers are drawn as\n%swant\n%s", b.Title, got, want)
	}
	// Where all processors have a worker, close and spread are the same places.
	want = `affinity close, spread
 package 0; NUMA node 0, 64 GiB; L3 32 MiB
  *0: w0,4
  *1: w1,5
  *2: w2
  *3: w3
affinity none: the system chooses the processors
`
	crowded := []compare.Record{pinned("spread", 6, "0,1,2,3,0,1"), pinned("close", 6, "0,1,2,3,0,1"),
		pinned("none", 6, "")}
	b, _ = drawingOf(host, "placement-workers", crowded...)
	if got := text(b.Boxes...); got != want {
		t.Errorf("the workers are drawn as\n%swant\n%s", got, want)
	}
	if _, ok := drawingOf(host, "placement-workers", pinned("none", 2, "")); ok {
		t.Error("workers that are not pinned are drawn")
	}
	if _, ok := drawingOf(nil, "placement-workers", rows...); ok {
		t.Error("workers are drawn on a host of which nothing is known")
	}
}

func TestWorkersOfManyProcessors(t *testing.T) {
	host := reporttest.Machine(2, 1, 4, 16, 1)
	b, _ := drawingOf(host, "placement-workers", pinned("close", 48, "0-47"))
	got := text(b.Boxes...)
	for _, want := range []string{"   *15: w15\n", "  L3 32 MiB: processors 16-31; w16-31\n",
		"  L3 32 MiB: processors 48-63\n",
		" package 1: processors 64-127\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// ranked returns a row of ranks on the given processors; those after a / are on another host.
func ranked(affinity string, processors ...string) compare.Record {
	r := reporttest.Row("mpi/summa", 64, 1e-3,
		reporttest.OnRanks(compare.Affinities, len(processors), "affinity", affinity))
	for i, list := range processors {
		host := "node1"
		if other, ok := strings.CutPrefix(list, "/"); ok {
			host, list = "node2", other
		}
		r.Ranks[i] = account.Rank{Rank: i, Host: host, CPUs: list}
	}
	return r
}

func TestRanksAreDrawn(t *testing.T) {
	host := reporttest.Machine(1, 1, 1, 4, 1)
	const machine = " package 0; NUMA node 0, 64 GiB; L3 32 MiB\n"
	for name, c := range map[string]struct {
		rows []compare.Record
		want string
	}{
		"bound and not": {[]compare.Record{ranked("none", "0-3", "0-3"), ranked("close", "0-1", "2-3")},
			"affinity close\n" + machine + "  *0: r0\n  *1: r0\n  *2: r1\n  *3: r1\n" +
				"affinity none: the system chooses the processors of ranks 0-1 among 0-3\n"},
		"not bound": {[]compare.Record{ranked("none", "0-3", "0-3")},
			"affinity none: the system chooses the processors of ranks 0-1 among 0-3\n" + machine + "  0\n  1\n  " +
				"2\n  3\n"},
		"two on one processor": {[]compare.Record{ranked("close", "0", "0", "1")},
			"affinity close\n" + machine + "  *0: r0-1\n  *1: r2\n  2\n  3\n"},
		"on two hosts": {[]compare.Record{ranked("close", "0", "1", "/0", "/1")},
			"affinity close; ranks 2-3 are on other hosts\n" + machine + "  *0: r0\n  *1: r1\n  2\n  3\n"},
		"not known": {[]compare.Record{ranked("close", "", "")},
			"affinity close: the system chooses the processors of ranks 0-1\n" + machine + "  0\n  1\n  2\n  3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b, ok := drawingOf(host, "placement-ranks", c.rows...)
			if got := text(b.Boxes...); !ok || got != c.want {
				t.Errorf("the ranks are drawn as\n%swant\n%s", got, c.want)
			}
		})
	}
	if _, ok := drawingOf(host, "placement-ranks", ranked("close", "0")); ok {
		t.Error("a single rank is drawn")
	}
	failed := ranked("close", "0", "1")
	reporttest.Came(compare.Wrong, "x")(&failed)
	if _, ok := drawingOf(host, "placement-ranks", failed); ok {
		t.Error("the ranks of a wrong product are drawn")
	}
}
