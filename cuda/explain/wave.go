package explain

import (
	"fmt"
	"io"
	"text/tabwriter"

	"gemm"
	"gemm/cuda"
)

// modelClock is the clock in MHz that predictions are for: an H200's at most.
const modelClock = 1980

// lastWave returns what the cost model says, or nil if the rung cannot cut tiles or the GPU's multiprocessors are not
// known.
func lastWave(e cuda.Explanation, task Task, s gemm.Shape) *cuda.Choice {
	if !e.Rung.Splits || task.Multiprocessors == 0 || s.M == 0 || s.N == 0 {
		return nil
	}
	g := cuda.GPU{Multiprocessors: task.Multiprocessors, Clock: modelClock}
	c, err := e.Rung.Choice(e.Tile, g, s)
	if err != nil {
		return nil
	}
	return &c
}

// printWaves writes what the cost model says of the product of the shape with that number.
func printWaves(out io.Writer, rows []Row, shape int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	found := false
	for i, r := range rows {
		if r.Reason != "" || repeated(rows[:i], r) || r.Products[shape].Wave == nil {
			continue
		}
		if !found {
			fmt.Fprintln(out, "\nThe last wave, by the cost model:")
			fmt.Fprintln(out)
			fmt.Fprintln(w, "VARIANT\tTYPE\tTILE\tWHOLE\tCUT\tWHICH\tCHOSEN")
			found = true
		}
		wave := r.Products[shape].Wave
		cut, which, chosen := "-", "-", "no"
		if wave.How != "" {
			cut, which = fmt.Sprintf("%.4g µs", 1e6*wave.Cut), wave.How
		}
		if wave.Taken {
			chosen = "yes"
		}
		fmt.Fprintf(w, "%s\t%.4g µs\t%s\t%s\t%s\n", r.name(), 1e6*wave.Whole, cut, which, chosen)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
	if found {
		fmt.Fprintf(out, "\nWHOLE is the predicted time at %d MHz with whole tiles, CUT with the best way to cut "+
			"tiles along k.\n", modelClock)
		fmt.Fprintln(out, "The chosen tile is computed in the way that takes less time.")
	}
}
