package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare"
	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/cuda/occupancy"
)

// explainFlags are the flags of gemm cuda that only --explain has.
func explainFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "explain", DisableDefaultText: true, Usage: "registers, spills, shared memory, occupancy and traffic of every rung"},
		&cli.StringFlag{Name: "cc", Usage: "with --explain: compute `CAPABILITY`, as 8.6 or sm_86"},
	}
}

// runExplain is gemm cuda --explain.
func runExplain(c *cli.Context) error {
	capability, err := parseCapability(c)
	if err != nil {
		return err
	}
	var rungs []cuda.Rung
	for typ := range strings.SplitSeq(c.String("type"), ",") {
		of := cuda.Ladder(typ)
		if len(of) == 0 {
			return usagef("--type %q: the ladders are f32 and f64", typ)
		}
		rungs = append(rungs, of...)
	}
	if err := checkFile(c); err != nil {
		return err
	}
	library, err := nvrtc.Find()
	if err != nil {
		return err
	}
	folder, err := nvrtc.Folder()
	if err != nil {
		return err
	}
	cache := &nvrtc.Cache{Compiler: library, Folder: folder}
	fmt.Fprintf(c.App.ErrWriter, "gemm cuda: NVRTC %s (%s) compiles for %s\n", library.Version(), library.File, capability.Target())
	rows, err := explained(c, cache, rungs, capability)
	if err != nil {
		return err
	}
	if cache.Lost != nil {
		fmt.Fprintf(c.App.ErrWriter, "gemm cuda: compiled kernels are not kept: %v\n", cache.Lost)
	}
	if !slices.ContainsFunc(rows, func(r explainedRow) bool { return r.Reason == "" }) {
		return fmt.Errorf("no rung can be compiled: %s", rows[0].Reason)
	}
	if name := c.String("json"); name != "" {
		return writeJSON(c, name, explanation{compare.Schema, capability.String(), library.Version(), rows})
	}
	var b strings.Builder
	printExplained(&b, rows)
	return writeAll(c.App.Writer, []byte(b.String()))
}

// explanation is what cuda --explain --json writes.
type explanation struct {
	Schema     int            `json:"schema"`
	Capability string         `json:"cc"`
	Compiler   string         `json:"nvrtc"`
	Rungs      []explainedRow `json:"rungs"`
}

// explainedRow is one rung with one of its settings.
type explainedRow struct {
	Variant   string   `json:"variant"`
	Type      string   `json:"type"`
	Tile      string   `json:"tile"`
	Reason    string   `json:"reason,omitempty"` // why there is nothing more
	Threads   int      `json:"threads"`          // of a block
	Registers int      `json:"regs"`             // of a thread
	Spills    int      `json:"spills"`           // bytes
	Shared    int      `json:"smem"`             // bytes of a block
	Blocks    int      `json:"blocks"`           // on a multiprocessor
	LimitedBy []string `json:"limited_by"`
	Warps     int      `json:"warps"`
	Occupancy float64  `json:"occupancy"`      // 0 to 1
	Global    float64  `json:"global_reads"`   // elements a multiply-add
	Block     float64  `json:"shared_reads"`   // elements a multiply-add
	Intensity float64  `json:"flops_per_byte"` // of what is read from global memory
}

// explained compiles the rungs with all of their settings.
func explained(c *cli.Context, compiler nvrtc.Compiler, rungs []cuda.Rung, capability occupancy.Capability) ([]explainedRow, error) {
	var rows []explainedRow
	for _, r := range rungs {
		for _, t := range r.Tiles {
			if err := c.Context.Err(); err != nil {
				return nil, err
			}
			row := explainedRow{Variant: "cuda/" + r.Name, Type: r.Type, Tile: t.String()}
			e, err := cuda.Explain(compiler, r, t, capability)
			switch {
			case errors.Is(err, gemm.ErrUnavailable), errors.Is(err, occupancy.ErrKernel):
				row.Reason = strings.TrimPrefix(reason(err), "occupancy: the kernel ")
			case err != nil:
				return nil, err
			default:
				row.Threads, row.Registers, row.Spills, row.Shared = r.Threads(t), e.Kernel.Registers, e.Kernel.Spills, e.Kernel.Shared
				row.Blocks, row.LimitedBy, row.Warps, row.Occupancy = e.Blocks, resources(e.Occupancy), e.Warps, e.Share
				row.Global, row.Block, row.Intensity = e.Global, e.Block, e.Intensity
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// printExplained writes the rows as a table.
func printExplained(out io.Writer, rows []explainedRow) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VARIANT\tTYPE\tTILE\tTHREADS\tREGISTERS\tSPILLS\tSHARED\tBLOCKS\tOCCUPANCY\tLIMITED BY\tGLOBAL READS\tSHARED READS\tFLOP/BYTE")
	for _, r := range rows {
		if r.Reason != "" {
			fmt.Fprintf(w, "%s\t%s\t%s\t-\t-\t-\t-\t-\t-\t%s\n", r.Variant, r.Type, r.Tile, r.Reason)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%.1f%%\t%s\t%.4f\t%.4f\t%.2f\n", r.Variant, r.Type, r.Tile,
			r.Threads, r.Registers, r.Spills, r.Shared, r.Blocks, 100*r.Occupancy, strings.Join(r.LimitedBy, ", "), r.Global, r.Block, r.Intensity)
	}
	w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nA block takes registers of each thread and bytes of shared memory; BLOCKS are on a multiprocessor.")
	fmt.Fprintln(out, "Reads are elements of A and B a multiply-add, FLOP/BYTE is over those from global memory.")
}
