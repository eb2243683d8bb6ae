package figures

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
	"gemm/internal/timeline"
)

// timeUnit returns the unit of a time axis up to the given number of seconds, and the number of units in a second.
func timeUnit(longest float64) (unit string, scale float64) {
	switch {
	case longest < 1e-3:
		return "µs", 1e6
	case longest < 1:
		return "ms", 1e3
	}
	return "s", 1
}

func seconds(t record.Trace) float64 { return t.Seconds }

// legend returns the names that are used, with their colours by place, and grey for waiting.
func legend(names []string, used map[string]bool) (out []string, colors []color.RGBA) {
	for i, name := range names {
		if !used[name] {
			continue
		}
		of := chart.Palette[i%len(chart.Palette)]
		if name == timeline.Waiting {
			of = chart.Mid
		}
		out, colors = append(out, name), append(colors, of)
	}
	return out, colors
}

// timeline is when workers were busy, a panel for each schedule.
func (d drawn) timeline(string) chart.Chart {
	groups := d.ScheduleTraces()
	if len(groups) == 0 {
		return nil
	}
	c := groups[0]
	unit, scale := timeUnit(analysis.MaxOf(c.Traces, seconds))
	lanes := chart.Lanes{Title: fmt.Sprintf("%s, %s, %s, %d workers", c.Variant, c.Type, c.Label(), c.Threads),
		XLabel: "time, " + unit + " (faint: idle)", YLabel: "worker", Room: 150, Colors: chart.Palette}
	if set := analysis.Setting(c.Rest); set != "" {
		lanes.Title += ", " + set
	}
	for i, t := range c.Traces {
		panel := chart.Panel{End: scale * t.Seconds, Lanes: make([][]chart.Busy, t.Workers)}
		busy := 0.0
		for _, s := range t.Spans {
			if s.Worker >= 0 && s.Worker < t.Workers {
				busy += s.End - s.Begin
				panel.Lanes[s.Worker] = append(panel.Lanes[s.Worker],
					chart.Busy{From: scale * s.Begin, To: scale * s.End, Kind: i % len(chart.Palette)})
			}
		}
		panel.Label = fmt.Sprintf("%s: %s, busy %s", analysis.ScheduleOf(t), number.Seconds(t.Seconds),
			number.Percent(busy/t.Seconds/float64(t.Workers)))
		for _, lane := range panel.Lanes {
			slices.SortFunc(lane, func(x, y chart.Busy) int { return cmp.Compare(x.From, y.From) })
		}
		lanes.Panels = append(lanes.Panels, panel)
	}
	return lanes
}

// laneRoom is the largest height of the lanes of a variant, in points.
const laneRoom = 88

// phaseTraces is when the ranks, or the streams of GPUs, did what, a panel for each variant.
func (d drawn) phaseTraces(family string) chart.Chart {
	e, ok := d.PhaseTraces(family)
	if !ok {
		return nil
	}
	phases, what := slices.Concat(analysis.PhaseNames, []string{timeline.Waiting}), "rank"
	if family != analysis.OnRanks {
		phases, what = []string{"h2d", "kernels", "d2h", "peer"}, "stream"
	}
	used := map[string]bool{}
	for _, t := range e.Traces {
		for _, p := range t.Phases {
			used[p.Name] = used[p.Name] || p.Call == ""
		}
	}
	unit, scale := timeUnit(analysis.MaxOf(e.Traces, seconds))
	lanes := chart.Lanes{Title: fmt.Sprintf("%s, %s, %d %ss", e.Type, e.Label(), e.Lanes, what),
		XLabel: "time, " + unit, YLabel: what, Room: laneRoom}
	lanes.Kinds, lanes.Colors = legend(phases, used)
	for _, t := range e.Traces {
		panel := chart.Panel{Label: fmt.Sprintf("%s: %s", t.Variant, number.Seconds(t.Seconds)),
			End: scale * t.Seconds, Lanes: make([][]chart.Busy, e.Lanes)}
		if t.GPUs > 1 {
			panel.Names = t.Lanes
		}
		for _, p := range t.Phases {
			kind := slices.Index(lanes.Kinds, p.Name)
			if kind >= 0 && p.Call == "" && p.Lane >= 0 && p.Lane < e.Lanes {
				panel.End = max(panel.End, scale*p.End)
				panel.Lanes[p.Lane] = append(panel.Lanes[p.Lane],
					chart.Busy{From: scale * p.Begin, To: scale * p.End, Kind: kind})
			}
		}
		lanes.Panels = append(lanes.Panels, panel)
	}
	return lanes
}

// inside is what the groups of warps on a multiprocessor did around the end of a tile.
func (d drawn) inside(typ string) chart.Chart {
	const micro = 1e6
	lanes := chart.Lanes{XLabel: "time, µs (faint: nothing noted)", YLabel: "warps", Room: laneRoom,
		Kinds:  []string{timeline.Waiting, "copy", "multiply", "store"},
		Colors: []color.RGBA{chart.Mid, chart.Palette[1], chart.Palette[0], chart.Palette[2]}}
	for _, c := range d.WarpTraces(typ) {
		from, to := c.Window()
		if !(to > from) {
			continue
		}
		panel := chart.Panel{End: micro * (to - from), Lanes: make([][]chart.Busy, len(c.Lanes)),
			Label: fmt.Sprintf("%s: a slice of k in %s", analysis.Algorithm(c.Variant), number.Seconds(c.Step()))}
		for i, lane := range c.Lanes {
			panel.Names = append(panel.Names, lane.Name)
			for _, s := range lane.Steps {
				if kind := slices.Index(lanes.Kinds, s.Name); kind >= 0 && s.End > from && s.Begin < to {
					begin, end := max(s.Begin, from)-from, min(s.End, to)-from
					panel.Lanes[i] = append(panel.Lanes[i], chart.Busy{From: micro * begin, To: micro * end, Kind: kind})
				}
			}
		}
		if lanes.Title == "" {
			lanes.Title = fmt.Sprintf("one multiprocessor at the end of a tile, %s, %s", c.Type, c.Shape.Label())
		}
		lanes.Panels = append(lanes.Panels, panel)
	}
	if len(lanes.Panels) == 0 {
		return nil
	}
	return lanes
}
