package explain

import (
	"io"

	"gemm/compare/record"
	"gemm/internal/occupancy"
)

// Occupied is how a kernel fills a multiprocessor.
type Occupied struct {
	occupancy.Occupancy
	Sweeps []Sweep
}

// Occupy returns how the kernel fills a multiprocessor of the capability and, if swept, how it
// would with more or less of each resource.
func Occupy(capability occupancy.Capability, kernel occupancy.Kernel, swept bool) (Occupied, error) {
	o, err := occupancy.Of(capability, kernel)
	if err != nil || !swept {
		return Occupied{Occupancy: o}, err
	}
	return Occupied{o, sweepOccupancy(o)}, nil
}

// Print writes the figures as tables, to a writer that takes all.
func (filled Occupied) Print(out io.Writer) { render(out, "occupancy", filled) }

// sweepOccupancy returns the sweeps over what a kernel can choose.
func sweepOccupancy(o occupancy.Occupancy) (sweeps []Sweep) {
	for _, over := range []occupancy.Resource{occupancy.Threads, occupancy.Registers, occupancy.Shared} {
		steps, _ := occupancy.Sweep(o.Limits.Capability, o.Kernel, over) // as o was computed
		s, before := Sweep{Over: over}, -1
		for _, step := range steps {
			most, has := taken(step.Kernel, over), taken(o.Kernel, over)
			s.Steps = append(s.Steps, SweepStep{step.Kernel, step.Blocks, resources(step), step.Warps, step.Share,
				before < has && has <= most})
			before = most
		}
		sweeps = append(sweeps, s)
	}
	return sweeps
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
	Over  occupancy.Resource `json:"over"`
	Steps []SweepStep        `json:"steps"`
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
	o := filled.Occupancy
	limit := func(by occupancy.Resource, unit string, takes, has int) Limit {
		d := Limit{By: string(by), Unit: unit, Takes: takes, Has: has}
		if blocks := o.By(by); blocks != occupancy.Unlimited {
			d.Blocks = &blocks
		}
		return d
	}
	l := o.Limits
	return OccupancyDocument{
		Schema: record.OutputSchema, Capability: l.Capability.String(), Kernel: o.Kernel, Sweeps: filled.Sweeps,
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

// mostRegisters returns the most registers of a thread with which a block can be launched.
func mostRegisters(o occupancy.Occupancy) (most int) {
	steps, _ := occupancy.Sweep(o.Limits.Capability, o.Kernel, occupancy.Registers) // as o was computed
	for _, s := range steps {
		if s.Blocks > 0 {
			most = s.Kernel.Registers
		}
	}
	return most
}
