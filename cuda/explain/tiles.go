package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"gemm/compare/record"
	"gemm/cuda"
	"gemm/internal/occupancy"
)

// Tiles is which blocks of threads are feasible and what a search may try, as JSON has it.
type Tiles struct {
	Schema      int               `json:"schema"`
	Capability  string            `json:"cc"`
	Constraints []cuda.Constraint `json:"constraints"`
	Tiles       []cuda.Feasible   `json:"tiles"`
	Candidates  []Search          `json:"candidates"`
}

// Search is the settings that a search has of a rung.
type Search struct {
	Variant string   `json:"variant"`
	Type    string   `json:"type"`
	Tiles   []string `json:"tiles"`
}

// NewTiles returns the blocks of threads on GPUs of the capability, and the settings of the rungs.
func NewTiles(capability occupancy.Capability, rungs []cuda.Rung) (Tiles, error) {
	tiles, err := cuda.FeasibleTiles(capability)
	if err != nil {
		return Tiles{}, err
	}
	doc := Tiles{record.OutputSchema, capability.String(), cuda.Constraints(), tiles, nil}
	for _, r := range rungs {
		search := Search{cuda.Family + "/" + r.Name, r.Type, []string{}}
		for _, t := range r.Candidates(capability) {
			search.Tiles = append(search.Tiles, t.String())
		}
		doc.Candidates = append(doc.Candidates, search)
	}
	return doc, nil
}

// Print writes which blocks of threads are feasible, and why the others are not, to a writer that takes all.
func (doc Tiles) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BLOCK\tBK\tTILE\tTHREADS\tSHARED\tSUMS\tCOPIES\tROWS\tREGISTERS\tBLOCKS\tOCCUPANCY\tFEASIBLE")
	var left []string
	for _, t := range doc.Tiles {
		verdict := "yes"
		if block := fmt.Sprintf("%dx%d", t.Edge, t.Edge); len(t.Fails) == 0 && !slices.Contains(left, block) {
			left = append(left, block)
		}
		if len(t.Fails) > 0 {
			verdict = "no: " + strings.Join(t.Fails, ", ")
		}
		fmt.Fprintf(w, "%dx%d\t%d\t%s\t%d\t%d\t%d\t%.4g\t%.4g\t%d\t%d\t%.1f%%\t%s\n", t.Edge, t.Edge, t.Slice, t.Tile,
			t.Threads, t.Shared, t.Sums, t.Copies, t.Rows, t.Registers, t.Blocks, 100*t.Occupancy, verdict)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nEach thread computes 8x8 elements of C, of 4 bytes. SHARED is bytes of two slices, SUMS and REGISTERS are those of a block, at 128 a")
	fmt.Fprintln(out, "thread; a thread COPIES so many elements of A's slice, which span so many of its ROWS. The constraints of the report of 2024:")
	fmt.Fprintln(out)
	for _, constraint := range doc.Constraints {
		fmt.Fprintf(out, "  %-9s  %s\n", constraint.Name, constraint.Says)
	}
	fmt.Fprintf(out, "\nWhat is left are blocks of %s threads.\n", strings.Join(left, " and "))
	fmt.Fprintf(out, "\nSettings that a search may try on %s:\n\n", doc.Capability)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VARIANT\tTYPE\tSETTINGS\tFROM\tTO")
	for _, search := range doc.Candidates {
		from, to := "-", "-"
		if n := len(search.Tiles); n > 0 {
			from, to = search.Tiles[0], search.Tiles[n-1]
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", search.Variant, search.Type, len(search.Tiles), from, to)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
}
