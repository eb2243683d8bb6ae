package explain

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"gemm/cuda"
)

// Loop is what a warp that multiplies executes for a slice of k, or for one index if there are no slices.
type Loop struct {
	Slice        int                `json:"slice"`        // indices of k
	Slices       float64            `json:"slices"`       // in a turn of the loop
	Instructions map[string]float64 `json:"instructions"` // for one of them, by name: LDS.128 reads 16 bytes a lane
}

// of returns how many instructions have one of the names, with a width or without.
func (l *Loop) of(names ...string) (n float64) {
	for name, times := range l.Instructions {
		if base, _, _ := strings.Cut(name, "."); slices.Contains(names, base) || slices.Contains(names, name) {
			n += times
		}
	}
	return n
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

// kinds are the columns of the table of loops: names of instructions. Instructions of no kind are the rest.
var kinds = []struct {
	name         string
	instructions []string
}{
	{"TENSOR", []string{"HGMMA", "HMMA", "DMMA", "IMMA", "IGMMA", "QGMMA"}},
	{"FMA", []string{"FFMA", "DFMA", "FFMA2"}},
	{"LDS", []string{"LDS"}},
	{"LDS.64", []string{"LDS.64"}},
	{"LDS.128", []string{"LDS.128"}},
	{"LDSM", []string{"LDSM"}},
	{"STS", []string{"STS", "STSM"}},
	{"GLOBAL", []string{"LDG", "STG", "LDGSTS", "UTMALDG", "UTMASTG"}},
	{"BARRIER", []string{"BAR", "SYNCS", "DEPBAR", "LDGDEPBAR", "WARPGROUP", "WARPSYNC"}},
}

// printLoops writes what warps execute for each slice of k.
func printLoops(out io.Writer, rows []Row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head, any := "VARIANT\tTYPE\tTILE\tK", false
	for _, kind := range kinds {
		head += "\t" + kind.name
	}
	fmt.Fprintln(w, head+"\tREST\tALL")
	for i, r := range rows {
		if r.Loop == nil || repeated(rows[:i], r) {
			continue
		}
		any = true
		all := 0.0
		for _, n := range r.Loop.Instructions {
			all += n
		}
		fmt.Fprintf(w, "%s\t%d", r.name(), r.Loop.Slice)
		rest := all
		for _, kind := range kinds {
			n := r.Loop.of(kind.instructions...)
			if kind.name == "LDS" { // the rest of them
				n -= r.Loop.of("LDS.64", "LDS.128")
			}
			rest -= n
			fmt.Fprintf(w, "\t%.4g", n)
		}
		fmt.Fprintf(w, "\t%.4g\t%.4g\n", rest, all)
	}
	if !any {
		return
	}
	fmt.Fprint(out, "\nInstructions of a warp for a slice of k, in the loop of the machine code that multiplies:\n\n")
	_ = w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nK is the indices of a slice. TENSOR are products of tensor cores, FMA other multiply-adds, "+
		"LDS (of 4 bytes a")
	fmt.Fprintln(out, "lane or fewer, .64 of 8, .128 of 16), LDSM and STS reads and writes of shared memory, GLOBAL accesses to global memory and copies from it, "+
		"REST mostly addresses and")
	fmt.Fprintln(out, "the loop itself. If warps have roles, they are those of a consumer.")
}
