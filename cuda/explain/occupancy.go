package explain

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"gemm/compare/record"
	"gemm/internal/occupancy"
)

// Occupied is how a kernel fills a multiprocessor.
type Occupied struct {
	occupancy occupancy.Occupancy
	sweeps    []Sweep
}

// Occupy returns how the kernel fills a multiprocessor of the capability and, if swept, how it
// would with more or less of each resource.
func Occupy(capability occupancy.Capability, kernel occupancy.Kernel, swept bool) (Occupied, error) {
	o, err := occupancy.Of(capability, kernel)
	if err != nil || !swept {
		return Occupied{occupancy: o}, err
	}
	sweeps, err := sweepOccupancy(o)
	return Occupied{o, sweeps}, err
}

// Print writes the figures as tables, to a writer that takes all.
func (filled Occupied) Print(out io.Writer) {
	printOccupancy(out, filled.occupancy)
	for _, s := range filled.sweeps {
		printSweep(out, filled.occupancy, s)
	}
}

// sweepOccupancy returns the sweeps over what a kernel can choose.
func sweepOccupancy(o occupancy.Occupancy) ([]Sweep, error) {
	var sweeps []Sweep
	for _, over := range []occupancy.Resource{occupancy.Threads, occupancy.Registers, occupancy.Shared} {
		steps, err := occupancy.Sweep(o.Limits.Capability, o.Kernel, over)
		if err != nil {
			return nil, err
		}
		s, before := Sweep{Over: string(over)}, -1
		for _, step := range steps {
			most, has := taken(step.Kernel, over), taken(o.Kernel, over)
			s.Steps = append(s.Steps, SweepStep{step.Kernel, step.Blocks, resources(step), step.Warps, step.Share,
				before < has && has <= most})
			before = most
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

// OccupancyDocument is how a kernel fills a multiprocessor as JSON has it.
type OccupancyDocument struct {
	Schema     int    `json:"schema"`
	Capability string `json:"cc"`
	occupancy.Kernel
	Limits    []Limit  `json:"limits"`
	Blocks    int      `json:"blocks"`
	LimitedBy []string `json:"limited_by"`
	Warps     int      `json:"warps"`
	MostWarps int      `json:"warps_max"`
	Occupancy float64  `json:"occupancy"` // 0 to 1
	Carveout  int      `json:"carveout"`  // bytes of shared memory that hold these blocks
	Sweeps    []Sweep  `json:"sweeps,omitempty"`
}

// Limit is how many blocks there can be by one resource.
type Limit struct {
	By     string `json:"by"`
	Unit   string `json:"unit"`
	Takes  int    `json:"takes"`  // a block
	Has    int    `json:"has"`    // a multiprocessor
	Blocks *int   `json:"blocks"` // null: as many as one likes
}

// Sweep is the occupancy over one resource.
type Sweep struct {
	Over  string      `json:"over"`
	Steps []SweepStep `json:"steps"`
}

// SweepStep is a kernel with the most of the resource that a step allows.
type SweepStep struct {
	occupancy.Kernel
	Blocks    int      `json:"blocks"`
	LimitedBy []string `json:"limited_by"`
	Warps     int      `json:"warps"`
	Occupancy float64  `json:"occupancy"`
	Current   bool     `json:"current"` // the kernel asked for is in this step
}

// Document returns the figures as JSON has them.
func (filled Occupied) Document() OccupancyDocument {
	o := filled.occupancy
	limit := func(by occupancy.Resource, unit string, takes, has int) Limit {
		d := Limit{By: string(by), Unit: unit, Takes: takes, Has: has}
		if blocks := o.By(by); blocks != occupancy.Unlimited {
			d.Blocks = &blocks
		}
		return d
	}
	l := o.Limits
	return OccupancyDocument{
		Schema: record.OutputSchema, Capability: l.Capability.String(), Kernel: o.Kernel, Sweeps: filled.sweeps,
		Limits: []Limit{
			limit(occupancy.Threads, "warps", o.BlockWarps, l.Warps),
			limit(occupancy.Registers, "registers", o.BlockRegisters, l.Registers),
			limit(occupancy.Shared, "bytes", o.BlockShared, l.Shared),
			limit(occupancy.Blocks, "blocks", 1, l.Blocks),
		},
		Blocks: o.Blocks, LimitedBy: resources(o), Warps: o.Warps, MostWarps: l.Warps, Occupancy: o.Share,
		Carveout: o.Carveout,
	}
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

// printSweep prints the steps of a sweep, each with a bar that has a mark for every 5 % of
// occupancy. The kernel of o is shown at its step.
func printSweep(out io.Writer, o occupancy.Occupancy, s Sweep) {
	over := occupancy.Resource(s.Over)
	with := map[occupancy.Resource]string{
		occupancy.Threads: fmt.Sprintf("%d registers a thread and %d bytes of shared memory", o.Kernel.Registers,
			o.Kernel.Shared),
		occupancy.Registers: fmt.Sprintf("%d threads and %d bytes of shared memory", o.Kernel.Threads, o.Kernel.Shared),
		occupancy.Shared:    fmt.Sprintf("%d threads and %d registers a thread", o.Kernel.Threads, o.Kernel.Registers),
	}
	fmt.Fprintf(out, "\nover %s, with %s\n\n", s.Over, with[over])
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "UP TO\tBLOCKS\tWARPS\tOCCUPANCY\tLIMITED BY")
	for _, step := range s.Steps {
		bar := strings.Repeat("#", int(math.Round(20*step.Occupancy)))
		limits := strings.Join(step.LimitedBy, ", ")
		if step.Current {
			limits += fmt.Sprintf("  <- %d", taken(o.Kernel, over))
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%5.1f%% %-20s\t%s\n", taken(step.Kernel, over), step.Blocks, step.Warps,
			100*step.Occupancy, bar, limits)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
}
