// Package explain describes what kernels need and do, without a GPU or from a profiler's counters.
// Its documents are the output of gemm cuda --explain and gemm cuda occupancy.
package explain

import (
	"context"
	"errors"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/internal/occupancy"
)

// Task is what a call explains.
type Task struct {
	Capability      occupancy.Capability
	Rungs           []cuda.Rung
	Shapes          []gemm.Shape // of products
	MaxRegs, Pads   []int        // of rungs that have them; pads as Tile.Pad has them
	Multiprocessors int          // 0: not known
}

// Document is an explanation as JSON has it.
type Document struct {
	Schema          int          `json:"schema"`
	Capability      string       `json:"cc"`
	Compiler        string       `json:"nvrtc"`
	Multiprocessors int          `json:"multiprocessors,omitempty"`
	Rungs           []Row        `json:"rungs"`
	Shapes          []gemm.Shape `json:"-"` // of each row's Products
}

// Row is one rung with one of its settings.
type Row struct {
	Variant   string        `json:"variant"`
	Type      string        `json:"type"`
	Tile      string        `json:"tile"`
	MaxRegs   int           `json:"maxregs,omitempty"` // registers of a thread at most
	Reason    string        `json:"reason,omitempty"`  // why there is nothing more
	Threads   int           `json:"threads"`           // of a block
	Registers int           `json:"regs"`              // of a thread
	Spills    int           `json:"spills"`            // bytes
	Shared    int           `json:"smem"`              // bytes of a block
	Blocks    int           `json:"blocks"`            // on a multiprocessor
	LimitedBy []string      `json:"limited_by"`
	Warps     int           `json:"warps"`
	Occupancy float64       `json:"occupancy"`         // 0 to 1
	Global    float64       `json:"global_reads"`      // elements a multiply-add
	Block     float64       `json:"shared_reads"`      // elements a multiply-add
	Intensity float64       `json:"flops_per_byte"`    // of what is read from global memory
	Passes    float64       `json:"passes,omitempty"`  // of shared reads a multiply-add of a warp
	Sectors   float64       `json:"sectors,omitempty"` // that a warp reads for a k index, without slices
	Accesses  []cuda.Access `json:"shared_accesses,omitempty"`
	Step      *Step         `json:"step,omitempty"` // of a rung's first row
	Products  []Product     `json:"products"`
}

// Step describes a rung, and the figures that differ from its parent, or from the row before if the parent has none.
type Step struct {
	Says    string        `json:"says"`
	After   string        `json:"after,omitempty"`
	Changes []cuda.Change `json:"changes,omitempty"`
}

// Product is what one product takes.
type Product struct {
	cuda.Product
	Wave *cuda.Choice `json:"last_wave,omitempty"` // of a rung that can cut tiles along k
}

// Rungs compiles the rungs with all of their settings, limits of registers and padding.
func Rungs(ctx context.Context, compiler nvrtc.Compiler, task Task) (Document, error) {
	d := Document{record.OutputSchema, task.Capability.String(), compiler.Version(), task.Multiprocessors, nil,
		task.Shapes}
	of := map[[2]string]*cuda.Explanation{} // the first settings of rungs, by type and name
	var last *cuda.Explanation              // of the type
	for _, r := range task.Rungs {
		if last != nil && last.Rung.Type != r.Type {
			last = nil
		}
		parent, _ := r.ParentRung()
		before := of[[2]string{parent.Type, parent.Name}]
		if before == nil {
			before = last
		}
		first := true
		for _, s := range combinations(r, task) {
			if err := ctx.Err(); err != nil {
				return d, err
			}
			var tile cuda.TileError
			e, err := cuda.Explain(compiler, r, s.tile, s.maxRegs, task.Capability)
			row := Row{Variant: cuda.Family + "/" + r.Name, Type: r.Type, Tile: tileText(s.tile), MaxRegs: s.maxRegs}
			switch {
			case errors.As(err, &tile):
				row.Reason = tile.Reason
			case errors.Is(err, gemm.ErrUnavailable), errors.Is(err, occupancy.ErrKernel):
				row.Reason = err.Error()
			case err != nil:
				return d, err
			default:
				row.fill(e, task)
				if first {
					row.Step, last, first = step(before, e), &e, false
					of[[2]string{r.Type, r.Name}] = last
				}
			}
			d.Rungs = append(d.Rungs, row)
		}
	}
	return d, nil
}

// setting is a tile and a limit of registers.
type setting struct {
	tile    cuda.Tile
	maxRegs int
}

// combinations returns the tiles of the rung with each padding and limit that it can have.
func combinations(r cuda.Rung, task Task) []setting {
	pads, limits := []int{0}, []int{0}
	if r.Padded() {
		pads = task.Pads
	}
	if r.Capped {
		limits = task.MaxRegs
	}
	var out []setting
	for _, tile := range r.Tiles {
		for _, tile.Pad = range pads {
			for _, limit := range limits {
				out = append(out, setting{tile, limit})
			}
		}
	}
	return out
}

// tileText writes a setting, with padding of 0 as such.
func tileText(t cuda.Tile) string {
	if t.Pad != cuda.NoPad {
		return t.String()
	}
	t.Pad = 0
	return t.String() + " pad 0"
}

// fill puts the figures into the row.
func (row *Row) fill(e cuda.Explanation, task Task) {
	row.Threads, row.Registers, row.Spills, row.Shared = e.Rung.Threads(e.Tile), e.Kernel.Registers, e.Kernel.Spills,
		e.Kernel.Shared
	row.Blocks, row.LimitedBy, row.Warps, row.Occupancy = e.Blocks, resources(e.Occupancy), e.Warps, e.Share
	row.Global, row.Block, row.Intensity, row.Passes, row.Sectors = e.Global, e.Block, e.Intensity, e.Passes, e.Sectors
	row.Accesses = e.Accesses
	for _, s := range task.Shapes {
		q := Product{Product: e.Rung.Product(e.Tile, s), Wave: lastWave(e, task, s)}
		if task.Multiprocessors > 0 && e.Blocks > 0 {
			q.Fills(task.Multiprocessors, e.Blocks)
		}
		row.Products = append(row.Products, q)
	}
}

// step returns what the rung is and how it differs from another, if there is one.
func step(before *cuda.Explanation, e cuda.Explanation) *Step {
	s := &Step{Says: e.Rung.Step()}
	if before != nil {
		s.After = cuda.Family + "/" + before.Rung.Name
		s.Changes = cuda.Changes(*before, e)
	}
	return s
}

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
