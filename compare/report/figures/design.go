package figures

import (
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/text"
	"gemm/cuda/occupancy"
)

// The IDs of the figures of the design.
const (
	OccupancyThreads   = "occupancy-threads"
	OccupancyRegisters = "occupancy-registers"
	OccupancyMemory    = "occupancy-memory"
)

// occupancyCurve is the occupancy over a resource: steps, with a line for each compute capability.
// The axis begins at least and has the given ticks, in units of the resource.
func occupancyCurve(over occupancy.Resource, title, label string, unit, least float64, ticks ...float64) chart.Curve {
	curve := chart.Curve{
		Title: title, XLabel: label, YLabel: "occupancy, %", Sizes: ticks, Top: true,
		Limit: chart.Limit{Level: 100, Label: "as many warps as a multiprocessor can hold"},
	}
	dashes := [][]vg.Length{nil, {6, 2}, {2, 2}, {6, 2, 2, 2}}
	for i, line := range analysis.OccupancyOver(over) {
		var names []string
		for _, c := range line.Capabilities {
			names = append(names, c.String())
		}
		s := chart.Series{Label: strings.Join(names, ", "),
			Look: chart.Look{Color: chart.Palette[i], Marker: chart.Bare, Dashes: dashes[i]}}
		from := least
		for _, step := range line.Steps {
			y, to := 100*step.Share, float64(step.To)/unit
			if to < least {
				continue
			}
			s.Points = append(s.Points, chart.Point{X: from, Y: y, Lo: y, Hi: y}, chart.Point{X: to, Y: y, Lo: y, Hi: y})
			from = to
		}
		curve.Series = append(curve.Series, s)
	}
	return curve
}

// designDrawings returns the figures of the design. They need no records of a GPU.
func designDrawings(views []*analysis.View, s *text.Speaker) []chart.Drawing {
	if !analysis.OnlyPlanned(views) {
		return nil
	}
	return []chart.Drawing{
		{ID: OccupancyThreads, Title: s.Plain("design.drawing.threads"), Chart: occupancyCurve(occupancy.Threads,
			"Occupancy over the threads of a block, by compute capability", "threads of a block", 1, 16,
			32, 64, 128, 256, 512, 1024)},
		{ID: OccupancyRegisters, Title: s.Plain("design.drawing.registers"), Chart: occupancyCurve(occupancy.Registers,
			"Occupancy over the registers of a thread, by compute capability", "registers of a thread", 1, 16,
			16, 32, 64, 128, 255)},
		{ID: OccupancyMemory, Title: s.Plain("design.drawing.memory"), Chart: occupancyCurve(occupancy.Shared,
			"Occupancy over the shared memory of a block, by compute capability", "shared memory of a block, KiB", 1024, 1,
			1, 2, 4, 8, 16, 32, 64, 99, 227)},
	}
}
