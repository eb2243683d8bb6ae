package explain

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Print writes the document of the task as tables, to a writer that takes all.
func (d Document) Print(out io.Writer, task Task) {
	printRows(out, d.Rungs)
	printSteps(out, d.Rungs)
	for i := range task.Shapes {
		printProducts(out, d.Rungs, i, task)
		printWaves(out, d.Rungs, i)
	}
	printBanks(out, d.Rungs)
	printLoops(out, d.Rungs)
}

// name returns the row's setting as tables have it.
func (row Row) name() string {
	tile := row.Tile
	if row.MaxRegs > 0 {
		tile += fmt.Sprintf(" maxregs %d", row.MaxRegs)
	}
	return row.Variant + "\t" + row.Type + "\t" + tile
}

// printRows writes the rows as a table.
func printRows(out io.Writer, rows []Row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VARIANT\tTYPE\tTILE\tTHREADS\tREGISTERS\tSPILLS\tSHARED\tBLOCKS\tOCCUPANCY\tLIMITED BY\tGLOBAL READS\tSHARED READS\tFLOP/BYTE")
	for _, r := range rows {
		if r.Reason != "" {
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\t-\t%s\n", r.name(), r.Reason)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f%%\t%s\t%.4f\t%.4f\t%.2f\n", r.name(),
			r.Threads, r.Registers, r.Spills, r.Shared, r.Blocks, 100*r.Occupancy, strings.Join(r.LimitedBy, ", "), r.Global,
			r.Block, r.Intensity)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nA block takes registers of each thread and bytes of shared memory; BLOCKS are on a multiprocessor.")
	fmt.Fprintln(out, "Reads are elements of A and B a multiply-add, FLOP/BYTE is over those from global memory.")
}

// printSteps writes what each rung is, and what changes with it.
func printSteps(out io.Writer, rows []Row) {
	fmt.Fprintln(out, "\nThe steps, each with its first setting. PASSES are those of shared reads over the banks a multiply-add of a warp, SECTORS of")
	fmt.Fprintln(out, "32 bytes what a warp reads of global memory for a k index.")
	for _, r := range rows {
		if r.Step == nil {
			continue
		}
		fmt.Fprintf(out, "\n%s %s: %s\n", r.Variant, r.Type, r.Step.Says)
		var changes []string
		for _, change := range r.Step.Changes {
			changes = append(changes, fmt.Sprintf("%s %s to %s", change.Figure, figure(change.From), figure(change.To)))
		}
		switch {
		case len(changes) > 0:
			fmt.Fprintf(out, "  after %s: %s\n", r.Step.After, strings.Join(changes, ", "))
		case r.Step.After != "":
			fmt.Fprintf(out, "  after %s: no figure changes\n", r.Step.After)
		}
	}
}

// figure writes whole numbers whole, and others with four digits.
func figure(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprintf("%.4g", x)
}

// printProducts writes what the product of the shape with that number takes.
func printProducts(out io.Writer, rows []Row, shape int, task Task) {
	s := task.Shapes[shape]
	fmt.Fprintf(out, "\nC of %d by %d, k = %d:\n\n", s.M, s.N, s.K)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "VARIANT\tTYPE\tTILE\tBLOCKS\tGLOBAL READS\tGLOBAL WRITES\tSHARED READS\tSHARED WRITES\tBARRIERS\tSAVED\tFLOP/BYTE"
	if task.Multiprocessors > 0 {
		head += "\tWAVES\tFILLED"
	}
	if task.Peaks != nil {
		head += "\tROOFLINE\tBY"
	}
	fmt.Fprintln(w, head)
	for i, r := range rows {
		if r.Reason != "" || task.Multiprocessors == 0 && repeated(rows[:i], r) {
			continue
		}
		p := r.Products[shape]
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%d\t%d\t%.2f", r.name(), p.Blocks, accesses(p.GlobalReads),
			accesses(p.GlobalWrites),
			accesses(p.SharedReads), accesses(p.SharedWrites), p.Barriers, p.Saved, p.Intensity)
		if task.Multiprocessors > 0 {
			fmt.Fprintf(w, "\t%d\t%.1f%%", p.Waves, 100*p.Fill)
		}
		if task.Peaks != nil {
			rate := "-\t-"
			if p.By != "" {
				rate = fmt.Sprintf("%.0f GFLOP/s\t%s", p.Roofline, p.By)
			}
			fmt.Fprintf(w, "\t%s", rate)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nAccesses are elements, as if no cache kept any; barriers are those of a block, SAVED those that a second slice in shared memory spares it.")
	if task.Multiprocessors > 0 {
		fmt.Fprintf(out, "WAVES fill %d multiprocessors one after the other; FILLED is the share of their places that blocks take.\n", task.Multiprocessors)
	}
	if task.Peaks != nil {
		fmt.Fprintf(out, "ROOFLINE is the lower of the pipe's peak and FLOP/BYTE times %g GB/s: caches, which are not in it, let a rung pass what memory bounds.\n", task.Bandwidth)
	}
}

// repeated reports whether a row before r has its tile, with other limits of registers.
func repeated(before []Row, r Row) bool {
	return slices.ContainsFunc(before, func(o Row) bool {
		return o.Reason == "" && o.Variant == r.Variant && o.Type == r.Type && o.Tile == r.Tile
	})
}

// accesses writes a number of accesses with a prefix of its size.
func accesses(x float64) string {
	const prefixes = " kMGTPE"
	i := 0
	for ; x >= 1000 && i < len(prefixes)-1; i++ {
		x /= 1000
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %c", x, prefixes[i]))
}

// printBanks writes how the rungs use the banks of shared memory.
func printBanks(out io.Writer, rows []Row) {
	fmt.Fprint(out, "\nShared memory:\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VARIANT\tTYPE\tTILE\tREADS A\tREADS B\tWRITES A\tWRITES B\tPASSES")
	for i, r := range rows {
		if len(r.Accesses) == 0 || repeated(rows[:i], r) {
			continue
		}
		cells := []string{"-", "-", "-", "-"}
		for _, a := range r.Accesses {
			i := strings.Index("AB", a.Operand)
			if a.Write {
				i += 2
			}
			cells[i] = fmt.Sprintf("%d B %.3g+%.3g", a.Bytes, a.Passes-a.Conflict, a.Conflict)
			if a.Lanes > 1 {
				cells[i] += fmt.Sprintf(" to %.3g", a.Lanes)
			}
		}
		passes := "-"
		if r.Passes > 0 {
			passes = fmt.Sprintf("%.4g", r.Passes)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.name(), strings.Join(cells, "\t"), passes)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nA lane reads or writes so many bytes at once; the banks serve a warp in so many passes, + those that bank conflicts add; each")
	fmt.Fprintln(out, "element goes to so many lanes. PASSES are those of the reads a multiply-add of a warp. The figures are of the source: the")
	fmt.Fprintln(out, "compiler may join accesses. What the lanes of wmma read is not documented.")
}
