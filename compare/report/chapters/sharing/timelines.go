package sharing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// loads says what becomes of uneven work under each schedule: what the tests find, and
// when the workers were busy.
func (b *builder) loads(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "load", "load.title")
	s.Text(b.Say("load.intro"))
	found := false
	for _, typ := range v.SharedTypes() {
		rows := v.Shared(typ, compare.ArtificialLoad)
		for _, param := range []string{"schedule", "chunk"} {
			if all := analysis.Bouts(rows, param); len(all) > 0 {
				found = true
				b.decide(&s, v, "load."+param, param, typ, all)
			}
		}
	}
	concerts := v.Concerts()
	if len(concerts) == 0 {
		if found {
			s.Text(b.Say("timeline.absent", text.Args{"Option": document.Literal("--timeline")}))
		}
		return s, found
	}
	s.Text(b.Say("timeline.intro"))
	t := document.Table{
		ID: "table-timeline" + v.Suffix, Caption: b.Say("timeline.caption"),
		Columns: b.Columns("variant", "setting", "size", "#workers", "#traced", "#busyshare", "#idlest", "#imbalance",
			"#predictedimbalance", "shares"),
	}
	var items []document.Text
	var commands []string
	for i, c := range concerts {
		command := b.retrace(v, c)
		commands = append(commands, command)
		if i < figures.Timelines {
			b.Figure(&s, v, figures.TimelineID(i), "fig.timeline", command, TimelineArgs(b.Builder, c))
			items = append(items, b.hears(c))
		}
		for _, trace := range c.Traces {
			shares := analysis.BusyTimes(trace)
			total, least := 0.0, shares[0]
			var cells []document.Text
			for _, x := range shares {
				total += x
				least = min(least, x)
				cells = append(cells, document.Text(fmt.Sprintf("%.0f", 100*x/trace.Seconds)))
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Literal(trace.Variant), number.Settled(analysis.SettingOf(analysis.Traced(trace))),
				document.Escape(c.Label()), document.Text(fmt.Sprint(trace.Workers)), document.Text(number.Seconds(trace.Seconds)),
				document.Text(number.Percent(total / trace.Seconds / float64(trace.Workers))),
				document.Text(number.Percent(least / trace.Seconds)),
				document.Text(number.Significant(analysis.Imbalance(shares))),
				document.Text(number.Significant(analysis.PredictedImbalance(trace))), document.Join(cells, ", ") + " %",
			}})
		}
	}
	t.Command = commands[0]
	s.List(items)
	s.Add(t)
	return s, true
}

// hears says of a concert which of its runs left workers idle the longest and which
// the shortest, and what the load predicts.
func (b *builder) hears(c analysis.Concert) document.Text {
	idle := func(t compare.Trace) float64 {
		total := 0.0
		for _, x := range analysis.BusyTimes(t) {
			total += x
		}
		return max(0, 1-total/t.Seconds/float64(t.Workers)) // below 0 by the resolution of the clock
	}
	compareIdle := func(x, y compare.Trace) int { return cmp.Compare(idle(x), idle(y)) }
	sentence := b.Say("timeline.name", text.Args{
		"Variant": document.Literal(c.Variant), "Size": document.Escape(c.Label()),
		"Workers": b.Count("workers", c.Threads),
	})
	for i, t := range []compare.Trace{slices.MaxFunc(c.Traces, compareIdle), slices.MinFunc(c.Traces, compareIdle)} {
		if i == 1 && len(c.Traces) == 1 {
			break
		}
		sentence += b.Say([]string{"timeline.most", "timeline.least"}[i], text.Args{
			"Setting": document.Escape(analysis.SettingOf(analysis.Traced(t))), "Idle": number.Percent(idle(t)),
			"Imbalance": number.Significant(analysis.Imbalance(analysis.BusyTimes(t))),
		})
		if predicted := analysis.PredictedImbalance(t); !math.IsNaN(predicted) {
			sentence += b.Say("timeline.predicted", text.Args{"Imbalance": number.Significant(predicted)})
		}
		sentence += b.Say("stop")
	}
	return sentence
}

// retrace returns the command that makes the traces of a concert again.
func (b *builder) retrace(v *analysis.View, c analysis.Concert) string {
	var rows []compare.Record
	for _, t := range c.Traces {
		rows = append(rows, analysis.Traced(t))
	}
	return b.RerunShared(v, rows, "--timeline")
}

// Ensemble adds the timeline of the ranks of a host, or of its GPU.
func Ensemble(b *chapters.Builder, s *document.Section, v *analysis.View, family, command string) {
	e, ok := v.Ensemble(family)
	if !ok {
		return
	}
	args := text.Args{"Type": e.Type, "Size": b.Sizes([]analysis.Problem{e.Problem})}
	if family == analysis.OnRanks {
		args["Ranks"] = b.Count("ranks", e.Lanes)
	}
	id := figures.EnsembleID(family)
	b.Figure(s, v, id, "fig."+id, command, args)
	within := 0.0
	for _, t := range e.Traces {
		within = max(within, t.ClockError)
	}
	if within > 0 {
		s.Text(b.Say("mpi-timeline.clocks", text.Args{"Time": number.Seconds(within)}))
	}
}
