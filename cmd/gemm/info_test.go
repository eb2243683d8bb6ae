package main

import (
	"fmt"
	"slices"
	"testing"

	"gemm/internal/cpu"
)

// TestInfoOfTopology describes a host with a GPU, and one of which nothing is known.
func TestInfoOfTopology(t *testing.T) {
	var lines []string
	row := func(name, format string, args ...any) { lines = append(lines, name+"|"+fmt.Sprintf(format, args...)) }
	host := &cpu.Topology{Processors: "0,2,1", Usable: "2,1", Cores: []string{"0,2", "1"},
		Packages: []cpu.Package{{Processors: "0-2"}}, GPUs: []cpu.AttachedGPU{{Name: "A2", PCI: "0000:af:00.0",
			Node: 1}}}
	printTopology(row, host)
	printTopology(row, nil)
	want := []string{"topology|package 0: processors 0-2", "|  core of 2 processors: processors 0,2",
		"|  core: processors 1",
		"|GPU A2 at 0000:af:00.0, NUMA node 1", "topology|unknown"}
	if !slices.Equal(lines, want) {
		t.Errorf("the topology is %q, want %q", lines, want)
	}
}
