package explain

import (
	"fmt"
	"io"
	"slices"

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
func (doc Tiles) Print(out io.Writer) { render(out, "tiles", doc) }

// left returns the blocks of threads that some slice permits.
func left(tiles []cuda.Feasible) []string {
	var blocks []string
	for _, t := range tiles {
		if len(t.Fails) == 0 {
			blocks = append(blocks, fmt.Sprintf("%dx%d", t.Edge, t.Edge))
		}
	}
	return slices.Compact(blocks)
}
