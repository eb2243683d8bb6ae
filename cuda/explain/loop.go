package explain

import (
	"cmp"
	"context"
	"strings"

	"gemm/cuda"
)

// Loop is what a warp that multiplies executes for a slice of k, or for one index if there are no slices.
type Loop struct {
	Slice        int                `json:"slice"`        // indices of k
	Slices       float64            `json:"slices"`       // in a turn of the loop
	Instructions map[string]float64 `json:"instructions"` // for one of them, by name: LDS.128 reads 16 bytes a lane
}

// loop returns what the machine code does for a slice; nil without a disassembler, or if no loop multiplies numbers.
func loop(ctx context.Context, disassembler string, e cuda.Explanation) (*Loop, error) {
	if disassembler == "" {
		return nil, nil
	}
	listing, err := disassemble(ctx, disassembler, e.Code)
	if err != nil {
		return nil, err
	}
	code, err := parse(listing, cuda.MainKernel)
	if err != nil {
		return nil, err
	}
	found := code.kLoop(e.Rung.MultiplyAdds(e.Tile))
	if found != nil {
		found.Slice = max(1, e.Tile.BK)
	}
	return found, nil
}

// columns are the columns of the table of loops, by names of instructions. 0 is the column of the rest.
var columns = map[string]int{
	"HGMMA": 1, "HMMA": 1, "DMMA": 1, "IMMA": 1, "IGMMA": 1, "QGMMA": 1,
	"FFMA": 2, "DFMA": 2, "FFMA2": 2,
	"LDS": 3, "LDS.64": 4, "LDS.128": 5, "LDSM": 6, "STS": 7, "STSM": 7,
	"LDG": 8, "STG": 8, "LDGSTS": 8, "UTMALDG": 8, "UTMASTG": 8,
	"BAR": 9, "SYNCS": 9, "DEPBAR": 9, "LDGDEPBAR": 9, "WARPGROUP": 9, "WARPSYNC": 9,
}

// counts returns the instructions of a loop by columns, then the rest, then all.
func counts(l *Loop) []float64 {
	var by [10]float64
	all := 0.0
	for name, times := range l.Instructions {
		base, _, _ := strings.Cut(name, ".")
		by[cmp.Or(columns[name], columns[base])] += times
		all += times
	}
	return append(by[1:], by[0], all)
}
