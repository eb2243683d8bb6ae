package figures_test

import (
	"fmt"
	"strings"
	"testing"

	"gemm/compare/record"
	"gemm/compare/report/figures"
	"gemm/gemmtest/reporttest"
	"gemm/internal/cpu"
)

// boxesOf returns the boxes of the given ID among the drawings of rows on a host in words, empty if there are none.
func boxesOf(host *cpu.Topology, id string, rows ...record.Record) string {
	doc := reporttest.Planted(rows...)
	doc.Hosts[0].Topology = host
	d, _ := figures.Of(doc).Find(id)
	return words(d.Chart)
}

// machine is a package of four processors that share a cache, named.
const machine = "package 0; NUMA node 0, 64 GiB; L3 32 MiB"

func pinned(affinity string, threads int, placement string) record.Record {
	r := row("parallel/rows", 64, 1e-3, reporttest.ThreadsOf(record.Affinities, threads, "affinity", affinity))
	r.Resolved["affinity"] = affinity
	if placement != "" {
		r.Resolved["placement"] = placement
	}
	return r
}

// ranked returns a row of ranks on the given processors; those after a / are on another host.
func ranked(affinity string, processors ...string) record.Record {
	r := row("mpi/summa", 64, 1e-3, reporttest.OnRanks(record.Affinities, len(processors), "affinity", affinity))
	for i, list := range processors {
		host := "node1"
		if other, ok := strings.CutPrefix(list, "/"); ok {
			host, list = "node2", other
		}
		r.Ranks[i] = record.Rank{Rank: i, Host: host, CPUs: list}
	}
	return r
}

// TestPlacements draws machines, and workers and ranks on them.
func TestPlacements(t *testing.T) {
	container, host := reporttest.Machine(2, 1, 1, 2, 2), reporttest.Machine(1, 1, 1, 4, 1)
	container.Usable = "1,4"
	container.Nodes = append(container.Nodes, cpu.Node{ID: 2, Bytes: 8 << 30})
	container.GPUs = []cpu.AttachedGPU{{Name: "H100", Node: 1}, {Name: "A2", Node: -1}}
	var caches []string
	for i := 1; i < 16; i++ {
		caches = append(caches, fmt.Sprintf("L3 32 MiB: processors %d-%d,%d-%d", 2*i, 2*i+1, 128+2*i, 129+2*i))
	}
	failed := ranked("close", "0", "1")
	reporttest.WithStatus(record.Wrong, "x")(&failed)
	workers := []record.Record{pinned("none", 2, ""), pinned("spread", 2, "0,2"), pinned("close", 2, "0,1"),
		pinned("none", 4, ""), pinned("spread", 4, "0,1,2,3"), pinned("close", 4, "0,1,2,3")}
	const chosen = "the system chooses the processors"
	for _, test := range []struct {
		of       *cpu.Topology
		id, want string
		rows     []record.Record
	}{
		{container, "topology", "[package 0[NUMA node 0, 64 GiB[L3 32 MiB[L2 2 MiB | L1d 48 KiB[-0 / 4] / L2 2 MiB | " +
			"L1d 48 KiB[1 / -5]]]] / package 1[NUMA node 1, 64 GiB[L3 32 MiB[L2 2 MiB | L1d 48 KiB[-2 / -6] / L2 2 " +
			"MiB | L1d 48 KiB[-3 / -7]] / GPU 0, H100]] / NUMA node 2, 8 GiB of memory alone / GPU 1, A2]\n", nil},
		{reporttest.Hybrid(), "topology", "[package 0[NUMA node 0, 16 GiB[L3 12 MiB[performance | L2 1.25 MiB | L1d " +
			"48 KiB[0 / 1] / performance | L2 1.25 MiB | L1d 48 KiB[2 / 3] / L2 2 MiB[efficiency | L1d 32 KiB[4] / " +
			"efficiency | L1d 32 KiB[5] / efficiency | L1d 32 KiB[6] / efficiency | L1d 32 KiB[7]]]]]]\n", nil},
		{reporttest.Machine(2, 2, 16, 2, 2), "topology", "[package 0[NUMA node 0, 64 GiB[L3 32 MiB: 2 cores of 2 " +
			"processors, L2 2 MiB, L1d 48 KiB[[0 / 128] / [1 / 129]] / " + strings.Join(caches, " / ") +
			"] / NUMA node 1, 64 GiB: processors 32-63,160-191] / package 1: processors 64-127,192-255]\n", nil},
		{nil, "topology", "", nil},
		{host, "placement-workers", "affinity close[" + machine + "[*0: w0 / *1: w1 / 2 / 3]]\naffinity spread[" + machine +
			"[*0: w0 / 1 / *2: w1 / 3]]\naffinity none: " + chosen + "\n", workers},
		// Where all processors have a worker, close and spread are the same places.
		{host, "placement-workers", "affinity close, spread[" + machine + "[*0: w0,4 / *1: w1,5 / *2: w2 / *3: w3]]\n" +
			"affinity none: " + chosen + "\n", []record.Record{pinned("spread", 6, "0,1,2,3,0,1"),
			pinned("close", 6, "0,1,2,3,0,1"), pinned("none", 6, "")}},
		{host, "placement-workers", "", []record.Record{pinned("none", 2, "")}},
		{nil, "placement-workers", "", workers},
		{host, "placement-ranks", "affinity close[" + machine + "[*0: r0 / *1: r0 / *2: r1 / *3: r1]]\naffinity none: " +
			chosen + " of ranks 0-1 among 0-3\n", []record.Record{ranked("none", "0-3", "0-3"),
			ranked("close", "0-1", "2-3")}},
		{host, "placement-ranks", "affinity none: " + chosen + " of ranks 0-1 among 0-3[" + machine +
			"[0 / 1 / 2 / 3]]\n", []record.Record{ranked("none", "0-3", "0-3")}},
		{host, "placement-ranks", "affinity close[" + machine + "[*0: r0-1 / *1: r2 / 2 / 3]]\n",
			[]record.Record{ranked("close", "0", "0", "1")}},
		{host, "placement-ranks", "affinity close; ranks 2-3 are on other hosts[" + machine +
			"[*0: r0 / *1: r1 / 2 / 3]]\n", []record.Record{ranked("close", "0", "1", "/0", "/1")}},
		{host, "placement-ranks", "affinity close: " + chosen + " of ranks 0-1[" + machine + "[0 / 1 / 2 / 3]]\n",
			[]record.Record{ranked("close", "", "")}},
		{host, "placement-ranks", "", []record.Record{ranked("close", "0")}}, // a single rank
		{host, "placement-ranks", "", []record.Record{failed}},
	} {
		if got := boxesOf(test.of, test.id, test.rows...); got != test.want {
			t.Errorf("%s is drawn as\n%swant\n%s", test.id, got, test.want)
		}
	}
	got := boxesOf(reporttest.Machine(2, 1, 4, 16, 1), "placement-workers", pinned("close", 48, "0-47"))
	for _, want := range []string{"*15: w15]", "L3 32 MiB: processors 16-31; w16-31 / ",
		" / L3 32 MiB: processors 48-63]", "package 1: processors 64-127]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}
