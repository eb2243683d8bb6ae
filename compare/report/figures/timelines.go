package figures

import (
	"cmp"
	"fmt"
	"slices"

	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
)

// Timelines is how many of a host's concerts are drawn.
const Timelines = 3

// TimelineID names the i-th concert of a host.
func TimelineID(i int) string { return fmt.Sprintf("timeline-%d", i+1) }

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
