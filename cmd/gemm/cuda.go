package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"gemm/compare"
	"gemm/cuda"
	"gemm/cuda/occupancy"
)

// cudaCommand returns the command that measures the family, explains it or computes
// occupancies.
func cudaCommand(f ladder) *cli.Command {
	c := f.command()
	c.UsageText = "[options]\n   gemm cuda --explain --cc CAPABILITY [options]"
	for _, flag := range c.Flags { // of measuring and of explaining
		f, ok := flag.(*cli.StringFlag)
		if !ok {
			continue
		}
		if text, ok := explainDefaults[f.Name]; ok {
			f.DefaultText = f.Value + "; with --explain " + text
		}
		if f.Name == "json" {
			f.Usage = "write the records, or the figures of --explain, to `FILE`, - for standard output"
		}
	}
	c.Flags = append(explainFlags(), append(c.Flags, countersFlag())...)
	c.Subcommands = []*cli.Command{occupancyCommand()}
	c.Action = func(c *cli.Context) error {
		if err := checkExplain(c); err != nil {
			return err
		}
		if !c.Bool("explain") {
			return f.run(c)
		}
		for name, text := range explainDefaults {
			if c.IsSet(name) {
				continue
			}
			if err := c.Set(name, text); err != nil {
				return err
			}
		}
		return runExplain(c)
	}
	return c
}

// explainDefaults are the values with --explain of flags that measuring has too.
var explainDefaults = map[string]string{"sizes": "4096", "type": "f32,f64"}

// explainShares are the flags that both measuring and explaining have.
var explainShares = []string{"sizes", "type", "maxregs", "json", "force"}

// checkExplain returns an error where a flag is there that only measuring has, or only
// explaining.
func checkExplain(c *cli.Context) error {
	var explains []string
	for _, flag := range explainFlags() {
		explains = append(explains, flag.Names()[0])
	}
	for _, flag := range c.Command.Flags {
		name := flag.Names()[0]
		if !c.IsSet(name) || slices.Contains(explainShares, name) {
			continue
		}
		switch of := slices.Contains(explains, name); {
		case of && !c.Bool("explain"):
			return usagef("--%s is for --explain", name)
		case !of && c.Bool("explain"):
			return usagef("--%s is for measuring, which --explain does not", name)
		}
	}
	for _, name := range []string{"sizes", "maxregs", "pad", "multiprocessors", "gflops", "gbps"} {
		if c.Bool("tiles") && c.IsSet(name) {
			return usagef("--tiles has no use for --%s: leave one out", name)
		}
	}
	return nil
}

// withSettings returns those of the cases whose settings their kernel can have, as a sweep
// crosses what a variant has, and says how many are left out. A value that no kernel can have is
// an error.
func withSettings(c *cli.Context, l compare.Ladder, cases []compare.Case) ([]compare.Case, error) {
	if _, err := counts(c, "maxregs", leastRegisters, mostRegisters); err != nil {
		return nil, err
	}
	var kept, left []compare.Case
	var reasons []error // of those that are left out
	for _, k := range cases {
		if err := cuda.CheckSettings(k.Variant.Name, k.Type, k.Params); err != nil {
			left, reasons = append(left, k), append(reasons, fmt.Errorf("%s %s: %w", k.Variant.Name, k.Type, err))
			continue
		}
		kept = append(kept, k)
	}
	for i, k := range left {
		for _, name := range slices.Sorted(maps.Keys(k.Params)) {
			same := func(k compare.Case) bool { return k.Params[name] == left[i].Params[name] }
			if len(l.Sweep[name]) > 0 && !slices.ContainsFunc(kept, same) {
				return nil, usagef("--%s %v: %s", name, k.Params[name], oneLine(reasons[i]))
			}
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "gemm %s: %d of %d rows are left out, whose kernel cannot be so: %s\n", c.Command.Name, len(left), len(cases), oneLine(reasons[0]))
	}
	return kept, nil
}

func occupancyCommand() *cli.Command {
	return &cli.Command{
		Name:      "occupancy",
		Usage:     "how many blocks of a kernel a multiprocessor holds, and what limits them",
		UsageText: "--cc CAPABILITY --threads COUNT --regs COUNT [--smem BYTES] [options]",
		Description: "It needs no GPU. The compiler says how many registers and how much shared memory a\n" +
			"kernel takes (nvcc -Xptxas -v); nvidia-smi --query-gpu=compute_cap has the capability\n" +
			"of a GPU. Known are " + capabilities() + ".",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "cc", Usage: "compute `CAPABILITY`, as 8.6 or sm_86"},
			&cli.IntFlag{Name: "threads", DefaultText: "none", Usage: "`COUNT` of threads of a block"},
			&cli.IntFlag{Name: "regs", DefaultText: "none", Usage: "`COUNT` of registers of a thread"},
			&cli.StringFlag{Name: "smem", Value: "0", DefaultText: "0", Usage: "`BYTES` of shared memory of a block, static and dynamic, as 16384 or 16KiB"},
			&cli.BoolFlag{Name: "sweep", DisableDefaultText: true, Usage: "add the occupancy over threads, over registers and over shared memory, the other two as they are"},
			jsonFlag("the figures"), forceFlag("replace the file that is there"),
		},
		Action: runOccupancy,
	}
}

// capabilities lists the compute capabilities whose limits are known.
func capabilities() string {
	var names []string
	for _, c := range occupancy.Capabilities() {
		names = append(names, c.String())
	}
	return strings.Join(names, ", ")
}

// parseCapability returns the compute capability that --cc says.
func parseCapability(c *cli.Context) (occupancy.Capability, error) {
	if !c.IsSet("cc") {
		return occupancy.Capability{}, usagef("--cc is missing: wants the compute capability, one of %s", capabilities())
	}
	capability, err := occupancy.ParseCapability(c.String("cc"))
	if err != nil {
		return capability, usagef("--cc: %s", strings.TrimPrefix(err.Error(), "occupancy: "))
	}
	return capability, nil
}

// checkFile returns an error where --json FILE and --force do not go together with what is
// there.
func checkFile(c *cli.Context) error {
	name := c.String("json")
	switch {
	case name != "" && name != stdoutName:
		return checkReplace(c, name)
	case c.Bool("force"):
		return usagef("--force is for the file in --json FILE")
	}
	return nil
}

func runOccupancy(c *cli.Context) error {
	capability, kernel, err := parseKernel(c)
	if err != nil {
		return err
	}
	filled, err := occupancy.Of(capability, kernel)
	if err != nil {
		return usagef("%s", strings.TrimPrefix(err.Error(), "occupancy: "))
	}
	var sweeps []sweptOccupancy
	if c.Bool("sweep") {
		if sweeps, err = sweepOccupancy(filled); err != nil {
			return err
		}
	}
	if err := checkFile(c); err != nil {
		return err
	}
	if name := c.String("json"); name != "" {
		return writeJSON(c, name, describeOccupancy(filled, sweeps))
	}
	var b strings.Builder
	printOccupancy(&b, filled)
	for _, s := range sweeps {
		printSweep(&b, filled, s)
	}
	return writeAll(c.App.Writer, []byte(b.String()))
}

// parseKernel returns what the flags say of the GPU and of the kernel.
func parseKernel(c *cli.Context) (capability occupancy.Capability, k occupancy.Kernel, err error) {
	if capability, err = parseCapability(c); err != nil {
		return capability, k, err
	}
	for _, name := range []string{"threads", "regs"} {
		if !c.IsSet(name) {
			return capability, k, usagef("--%s is missing; see gemm cuda occupancy --help", name)
		}
	}
	k = occupancy.Kernel{Threads: c.Int("threads"), Registers: c.Int("regs")}
	k.Shared, err = parseBytes("smem", c.String("smem"))
	return capability, k, err
}

// parseBytes returns the number of bytes that the text of a flag says. KB is not taken: it
// is 1000 bytes to some and 1024 to others, NVIDIA's tables among them.
func parseBytes(flag, text string) (int, error) {
	number, unit := strings.TrimSpace(strings.ToLower(text)), 1
	if n, ok := strings.CutSuffix(number, "kib"); ok {
		number, unit = strings.TrimSpace(n), 1024
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > math.MaxInt/unit {
		return 0, usagef("--%s %q: wants bytes, such as 16384, or KiB, such as 16KiB", flag, text)
	}
	return n * unit, nil
}

// checkReplace returns an error where the file is there and --force is not.
func checkReplace(c *cli.Context, name string) error {
	if err := checkRegular(name); err != nil {
		return err
	}
	if _, err := os.Stat(name); err == nil && !c.Bool("force") {
		return fmt.Errorf("%s is there already: replace it with --force, or name another", name)
	}
	return nil
}

// sweptOccupancy is the occupancy over one resource.
type sweptOccupancy struct {
	over  occupancy.Resource
	steps []occupancy.Occupancy
	here  int // the step that the kernel is in
}

// sweepOccupancy returns the sweeps over what a kernel can choose.
func sweepOccupancy(o occupancy.Occupancy) ([]sweptOccupancy, error) {
	var sweeps []sweptOccupancy
	for _, over := range []occupancy.Resource{occupancy.Threads, occupancy.Registers, occupancy.Shared} {
		steps, err := occupancy.Sweep(o.Limits.Capability, o.Kernel, over)
		if err != nil {
			return nil, err
		}
		s := sweptOccupancy{over: over, steps: steps}
		for taken(steps[s.here].Kernel, over) < taken(o.Kernel, over) {
			s.here++
		}
		sweeps = append(sweeps, s)
	}
	return sweeps, nil
}

// taken returns how much a kernel takes of the resource that is swept.
func taken(k occupancy.Kernel, of occupancy.Resource) int {
	switch of {
	case occupancy.Threads:
		return k.Threads
	case occupancy.Registers:
		return k.Registers
	default:
		return k.Shared
	}
}

// described is what cuda occupancy --json writes.
type described struct {
	Schema     int              `json:"schema"`
	Capability string           `json:"cc"`
	Threads    int              `json:"threads"`
	Registers  int              `json:"regs"`
	Shared     int              `json:"smem"`
	Limits     []describedLimit `json:"limits"`
	Blocks     int              `json:"blocks"`
	LimitedBy  []string         `json:"limited_by"`
	Warps      int              `json:"warps"`
	MostWarps  int              `json:"warps_max"`
	Occupancy  float64          `json:"occupancy"` // 0 to 1
	Carveout   int              `json:"carveout"`  // bytes of shared memory that hold these blocks
	Sweeps     []describedSweep `json:"sweeps,omitempty"`
}

// describedLimit is how many blocks there can be by one resource.
type describedLimit struct {
	By     string `json:"by"`
	Unit   string `json:"unit"`
	Takes  int    `json:"takes"`  // a block
	Has    int    `json:"has"`    // a multiprocessor
	Blocks *int   `json:"blocks"` // null: as many as one likes
}

// describedSweep is the occupancy over one resource.
type describedSweep struct {
	Over  string          `json:"over"`
	Steps []describedStep `json:"steps"`
}

// describedStep is a kernel with the most of the resource that a step allows.
type describedStep struct {
	Threads   int      `json:"threads"`
	Registers int      `json:"regs"`
	Shared    int      `json:"smem"`
	Blocks    int      `json:"blocks"`
	LimitedBy []string `json:"limited_by"`
	Warps     int      `json:"warps"`
	Occupancy float64  `json:"occupancy"`
	Current   bool     `json:"current"` // the kernel asked for is in this step
}

// describeOccupancy returns what --json writes.
func describeOccupancy(o occupancy.Occupancy, sweeps []sweptOccupancy) described {
	limit := func(by occupancy.Resource, unit string, takes, has int) describedLimit {
		d := describedLimit{By: string(by), Unit: unit, Takes: takes, Has: has}
		if blocks := o.By(by); blocks != occupancy.Unlimited {
			d.Blocks = &blocks
		}
		return d
	}
	l := o.Limits
	d := described{
		Schema: compare.Schema, Capability: l.Capability.String(),
		Threads: o.Kernel.Threads, Registers: o.Kernel.Registers, Shared: o.Kernel.Shared,
		Limits: []describedLimit{
			limit(occupancy.Threads, "warps", o.BlockWarps, l.Warps),
			limit(occupancy.Registers, "registers", o.BlockRegisters, l.Registers),
			limit(occupancy.Shared, "bytes", o.BlockShared, l.Shared),
			limit(occupancy.Blocks, "blocks", 1, l.Blocks),
		},
		Blocks: o.Blocks, LimitedBy: resources(o), Warps: o.Warps, MostWarps: l.Warps, Occupancy: o.Share, Carveout: o.Carveout,
	}
	for _, s := range sweeps {
		swept := describedSweep{Over: string(s.over)}
		for i, o := range s.steps {
			swept.Steps = append(swept.Steps, describedStep{
				Threads: o.Kernel.Threads, Registers: o.Kernel.Registers, Shared: o.Kernel.Shared,
				Blocks: o.Blocks, LimitedBy: resources(o), Warps: o.Warps, Occupancy: o.Share, Current: i == s.here,
			})
		}
		d.Sweeps = append(d.Sweeps, swept)
	}
	return d
}

// resources names what limits the blocks.
func resources(o occupancy.Occupancy) []string {
	var names []string
	for _, r := range o.LimitedBy {
		names = append(names, string(r))
	}
	return names
}

// printOccupancy writes the blocks by each limit and what follows from them.
func printOccupancy(out io.Writer, o occupancy.Occupancy) {
	l, k := o.Limits, o.Kernel
	fmt.Fprintf(out, "compute capability %v (%s), %d threads, %d registers a thread, %d bytes of shared memory\n\n",
		l.Capability, l.Capability.Target(), k.Threads, k.Registers, k.Shared)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LIMIT\tBLOCKS\tA BLOCK TAKES\tA MULTIPROCESSOR HAS")
	row := func(by occupancy.Resource, takes, has string) {
		blocks := "no limit"
		if n := o.By(by); n != occupancy.Unlimited {
			blocks = strconv.Itoa(n)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", by, blocks, takes, has)
	}
	row(occupancy.Threads, warps(o.BlockWarps), warps(l.Warps))
	row(occupancy.Registers, fmt.Sprintf("%d, %d a warp", o.BlockRegisters, o.WarpRegisters),
		fmt.Sprintf("%d, %d in each of %d parts", l.Registers, l.Registers/l.Partitions, l.Partitions))
	shared := fmt.Sprintf("%d bytes", o.BlockShared)
	if l.SharedReserved > 0 {
		shared += fmt.Sprintf(", %d of them reserved", l.SharedReserved)
	}
	row(occupancy.Shared, shared, fmt.Sprintf("%d bytes", l.Shared))
	row(occupancy.Blocks, "1", strconv.Itoa(l.Blocks))
	_ = w.Flush() // to a strings.Builder, which takes all

	fmt.Fprintln(out)
	fact := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	fact("blocks", "%d, limited by %s", o.Blocks, strings.Join(resources(o), " and "))
	fact("warps", "%d of %d", o.Warps, l.Warps)
	fact("occupancy", "%.1f%%", 100*o.Share)
	if o.Blocks > 0 {
		fact("carve-out", "%d KiB of shared memory are enough, of %s", o.Carveout>>10, carveouts(l))
	} else {
		fact("note", "%s", tooManyRegisters(o))
	}
	if k.Shared > l.BlockShared {
		fact("note", "more than %d KiB a block have to be dynamic, and allowed by cuFuncSetAttribute", l.BlockShared>>10)
	}
	if idle := o.BlockWarps*l.Warp - k.Threads; idle > 0 {
		fact("note", "the last warp of a block has %d threads of %d", l.Warp-idle, l.Warp)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
}

// carveouts lists the sizes that shared memory can have.
func carveouts(l occupancy.Limits) string {
	var sizes []string
	for _, size := range l.Carveouts {
		sizes = append(sizes, strconv.Itoa(size>>10))
	}
	last := len(sizes) - 1
	return strings.Join(sizes[:last], ", ") + " and " + sizes[last]
}

// warps returns the number with its noun.
func warps(n int) string {
	if n == 1 {
		return "1 warp"
	}
	return fmt.Sprintf("%d warps", n)
}

// tooManyRegisters says why not even one block can be launched, and what would do.
func tooManyRegisters(o occupancy.Occupancy) string {
	most := 0
	steps, _ := occupancy.Sweep(o.Limits.Capability, o.Kernel, occupancy.Registers) // as o was computed
	for _, s := range steps {
		if s.Blocks > 0 {
			most = s.Kernel.Registers
		}
	}
	return fmt.Sprintf("it cannot be launched: a block has %d registers at most, counted for warps in multiples of %d; with %d threads, a thread may have %d",
		o.Limits.BlockRegisters, o.Limits.Partitions, o.Kernel.Threads, most)
}

// printSweep writes the steps of a sweep, with a bar that has a mark for every 5 % of
// occupancy, and the kernel of o beside the step that it is in.
func printSweep(out io.Writer, o occupancy.Occupancy, s sweptOccupancy) {
	with := map[occupancy.Resource]string{
		occupancy.Threads:   fmt.Sprintf("%d registers a thread and %d bytes of shared memory", o.Kernel.Registers, o.Kernel.Shared),
		occupancy.Registers: fmt.Sprintf("%d threads and %d bytes of shared memory", o.Kernel.Threads, o.Kernel.Shared),
		occupancy.Shared:    fmt.Sprintf("%d threads and %d registers a thread", o.Kernel.Threads, o.Kernel.Registers),
	}
	fmt.Fprintf(out, "\nover %s, with %s\n\n", s.over, with[s.over])
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "UP TO\tBLOCKS\tWARPS\tOCCUPANCY\tLIMITED BY")
	for i, step := range s.steps {
		bar := strings.Repeat("#", int(math.Round(20*step.Share)))
		limits := strings.Join(resources(step), ", ")
		if i == s.here {
			limits += fmt.Sprintf("  <- %d", taken(o.Kernel, s.over))
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%5.1f%% %-20s\t%s\n", taken(step.Kernel, s.over), step.Blocks, step.Warps, 100*step.Share, bar, limits)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
}
