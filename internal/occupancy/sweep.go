package occupancy

import "slices"

// Sweep returns the occupancy over one resource, in ascending steps. The other resources are as
// in the kernel. The kernel of a step has the most of the resource with which the occupancy stays
// the same; fewer, down to the step before, fill a multiprocessor alike.
//
//	Threads    a warp a step
//	Registers  a unit of registers a step
//	Shared     as long as blocks and what limits them stay the same
//
// There is no sweep over Blocks: it is nil.
func Sweep(c Capability, k Kernel, over Resource) ([]Occupancy, error) {
	l, err := LimitsOf(c)
	if err != nil {
		return nil, err
	}
	var at []Kernel
	switch over {
	case Threads:
		for k.Threads = l.Warp; k.Threads <= l.BlockThreads; k.Threads += l.Warp {
			at = append(at, k)
		}
	case Registers:
		step := l.RegisterUnit / l.Warp
		for n := step; n < l.ThreadRegisters+step; n += step {
			k.Registers = min(n, l.ThreadRegisters)
			at = append(at, k)
		}
	case Shared:
		for k.Shared = 0; k.Shared <= l.BlockSharedOptIn; k.Shared += l.SharedUnit {
			at = append(at, k)
		}
	}
	var steps []Occupancy
	for _, k := range at {
		o, err := Of(c, k)
		if err != nil {
			return nil, err
		}
		if n := len(steps); over == Shared && n > 0 && steps[n-1].Blocks == o.Blocks &&
			slices.Equal(steps[n-1].LimitedBy, o.LimitedBy) {
			steps[n-1] = o
		} else {
			steps = append(steps, o)
		}
	}
	return steps, nil
}
