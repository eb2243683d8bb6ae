package figures

import (
	"cmp"
	"fmt"
	"slices"

	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
	"gemm/parallel/timeline"
)

// timeUnit returns the unit of a time axis up to the given number of seconds, and the number of
// units in a second.
func timeUnit(longest float64) (unit string, scale float64) {
	switch {
	case longest < 1e-3:
		return "µs", 1e6
	case longest < 1:
		return "ms", 1e3
	}
	return "s", 1
}

// Timeline is the chart of a concert.
func Timeline(c analysis.Concert) chart.Lanes {
	longest := 0.0
	for _, t := range c.Traces {
		longest = max(longest, t.Seconds)
	}
	unit, scale := timeUnit(longest)
	title := fmt.Sprintf("%s, %s, %s, %d workers", c.Variant, c.Type, c.Label(), c.Threads)
	if set := analysis.Setting(c.Rest); set != "" {
		title += ", " + set
	}
	lanes := chart.Lanes{Title: title, XLabel: "time, " + unit + " (faint: idle)"}
	for _, t := range c.Traces {
		shares := analysis.BusyTimes(t)
		total := 0.0
		for _, x := range shares {
			total += x
		}
		panel := chart.Panel{
			Label: fmt.Sprintf("%s: %s, busy %s", analysis.ScheduleOf(t), number.Seconds(t.Seconds),
				number.Percent(total/t.Seconds/float64(t.Workers))),
			End:   scale * t.Seconds,
			Lanes: make([][]chart.Busy, t.Workers),
		}
		for _, s := range t.Spans {
			if s.Worker >= 0 && s.Worker < t.Workers {
				panel.Lanes[s.Worker] = append(panel.Lanes[s.Worker], chart.Busy{From: scale * s.Begin, To: scale * s.End})
			}
		}
		for _, lane := range panel.Lanes {
			slices.SortFunc(lane, func(x, y chart.Busy) int { return cmp.Compare(x.From, y.From) })
		}
		lanes.Panels = append(lanes.Panels, panel)
	}
	return lanes
}

// EnsembleID names the timeline of the ranks, or of the GPU.
func EnsembleID(family string) string {
	if family == analysis.OnGPU {
		return "gpu-timeline"
	}
	return "mpi-timeline"
}

// gpuPhases are the phases of a product on a GPU.
var gpuPhases = []string{"h2d", "kernels", "d2h"}

// ensembleRoom is the largest height of the lanes of a variant, in points.
const ensembleRoom = 88

// ensembleChart is the chart of an ensemble.
func ensembleChart(e analysis.Ensemble, family string) chart.Lanes {
	phases, what := slices.Concat(analysis.PhaseNames, []string{timeline.Waiting}), "rank"
	if family == analysis.OnGPU {
		phases, what = gpuPhases, "stream"
	}
	longest := 0.0
	used := map[string]bool{}
	for _, t := range e.Traces {
		longest = max(longest, t.Seconds)
		for _, p := range t.Phases {
			used[p.Name] = used[p.Name] || p.Call == ""
		}
	}
	unit, scale := timeUnit(longest)
	lanes := chart.Lanes{
		Title:  fmt.Sprintf("%s, %s, %d %ss", e.Type, e.Label(), e.Lanes, what),
		XLabel: "time, " + unit, YLabel: what, Room: ensembleRoom,
	}
	kinds := map[string]int{}
	for i, name := range phases {
		if !used[name] {
			continue
		}
		kinds[name] = len(lanes.Kinds)
		color := chart.Palette[i%len(chart.Palette)]
		if name == timeline.Waiting {
			color = chart.Mid
		}
		lanes.Kinds, lanes.Colors = append(lanes.Kinds, name), append(lanes.Colors, color)
	}
	for _, t := range e.Traces {
		panel := chart.Panel{
			Label: fmt.Sprintf("%s: %s", t.Variant, number.Seconds(t.Seconds)),
			End:   scale * t.Seconds, Lanes: make([][]chart.Busy, e.Lanes),
		}
		for _, p := range t.Phases {
			if kind, ok := kinds[p.Name]; ok && p.Call == "" && p.Lane >= 0 && p.Lane < e.Lanes {
				panel.End = max(panel.End, scale*p.End)
				panel.Lanes[p.Lane] = append(panel.Lanes[p.Lane],
					chart.Busy{From: scale * p.Begin, To: scale * p.End, Kind: kind})
			}
		}
		lanes.Panels = append(lanes.Panels, panel)
	}
	return lanes
}

// ensembleDrawings adds the timeline of the ranks, or of the GPU.
func ensembleDrawings(d drawn, family string, add adder) {
	if e, ok := d.Ensemble(family); ok {
		add(EnsembleID(family), "drawing."+EnsembleID(family), ensembleChart(e, family), true)
	}
}
