package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/chart"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// concert is the traces of one variant on one case that differ in the schedule and
// its chunk: what is drawn over one axis of time.
type concert struct {
	problem
	variant string
	rest    gemm.Params // the other parameters, but for the threads
	traces  []compare.Trace
}

// concerts groups the traces of a host, those of the most work and the most workers
// first.
func (v *view) concerts() []concert {
	var out []concert
	at := map[string]int{}
	for _, t := range v.traces {
		if t.Workers < 1 || !(t.Seconds > 0) || len(t.Spans) == 0 {
			continue
		}
		p := problem{typ: t.Type, op: "nn", alpha: 1, m: t.M, n: t.N, k: t.K, lda: t.K, ldb: t.N, ldc: t.N, threads: t.Workers}
		rest := omit(t.Params, "threads", "schedule", "chunk")
		key := fmt.Sprint(t.Experiment, t.Variant, p, rest)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, concert{problem: p, variant: t.Variant, rest: rest})
		}
		out[i].traces = append(out[i].traces, t)
	}
	slices.SortStableFunc(out, func(x, y concert) int { return y.problem.compare(x.problem) })
	return out
}

// drawnConcerts is how many of a host's concerts are drawn.
const drawnConcerts = 3

// concertID names the i-th concert of a host.
func concertID(i int) string { return fmt.Sprintf("timeline-%d", i+1) }

// busyTimes returns the seconds that each worker of a trace was busy.
func busyTimes(t compare.Trace) []float64 {
	out := make([]float64, t.Workers)
	for _, s := range t.Spans {
		if s.Worker >= 0 && s.Worker < t.Workers {
			out[s.Worker] += s.End - s.Begin
		}
	}
	return out
}

// imbalance returns the most over the mean: how many times as long the last worker is
// busy as all would be if they shared evenly.
func imbalance(shares []float64) float64 {
	total := 0.0
	for _, s := range shares {
		total += s
	}
	return slices.Max(shares) / (total / float64(len(shares)))
}

// predictedImbalance returns the imbalance that a static schedule has by the load
// alone, NaN under another schedule: who has which index is known beforehand then,
// and index i of n costs 1 + round(load·i/(n−1)).
func predictedImbalance(t compare.Trace) float64 {
	if t.Resolved["schedule"] != "static" {
		return math.NaN()
	}
	n := 0
	for _, s := range t.Spans {
		n = max(n, s.To)
	}
	load, _ := t.Resolved["load"].(int)
	chunk, _ := t.Resolved["chunk"].(int)
	cost := make([]float64, t.Workers)
	for i := range n {
		weight := 1.0
		if n > 1 {
			weight += math.Round(float64(load) * float64(i) / float64(n-1))
		}
		cost[staticOwner(i, n, t.Workers, chunk)] += weight
	}
	return imbalance(cost)
}

// staticOwner returns the worker of p that a static schedule gives index i of n: chunks
// go round, and without a chunk each worker has one block, of which the first n mod p
// have one index more.
func staticOwner(i, n, p, chunk int) int {
	if chunk > 0 {
		return i / chunk % p
	}
	q, longer := n/p, n%p
	if edge := longer * (q + 1); i >= edge {
		return longer + (i-edge)/q
	}
	return i / (q + 1)
}

// loads says what becomes of uneven work under each schedule: what the tests find, and
// when the workers were busy.
func (b *builder) loads(v *view) (document.Section, bool) {
	s := b.of(v, "load", "load.title")
	s.Text(b.Say("load.intro"))
	found := false
	for _, typ := range v.sharedTypes() {
		rows := v.shared(typ, "load")
		for _, param := range []string{"schedule", "chunk"} {
			if all := bouts(rows, param); len(all) > 0 {
				found = true
				b.decide(&s, v, "load."+param, param, typ, all)
			}
		}
	}
	concerts := v.concerts()
	if len(concerts) == 0 {
		if found {
			s.Text(b.Say("timeline.absent", text.Args{"Option": document.Literal("--timeline")}))
		}
		return s, found
	}
	s.Text(b.Say("timeline.intro"))
	t := document.Table{
		ID: "table-timeline" + v.suffix, Caption: b.Say("timeline.caption"),
		Columns: b.columns("variant", "setting", "size", "#workers", "#traced", "#busyshare", "#idlest", "#imbalance", "#predictedimbalance", "shares"),
	}
	var items []document.Text
	var commands []string
	for i, c := range concerts {
		command := b.retrace(v, c)
		commands = append(commands, command)
		if i < drawnConcerts {
			b.figure(&s, v, concertID(i), "fig.timeline", command, text.Args{
				"Variant": c.variant, "Size": c.label(), "Workers": b.Count("workers", c.threads),
			})
			items = append(items, b.hears(c))
		}
		for _, trace := range c.traces {
			shares := busyTimes(trace)
			total, least := 0.0, shares[0]
			var cells []document.Text
			for _, x := range shares {
				total += x
				least = min(least, x)
				cells = append(cells, document.Text(fmt.Sprintf("%.0f", 100*x/trace.Seconds)))
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Literal(trace.Variant), settled(settingOf(traced(trace))), document.Escape(c.label()), document.Text(fmt.Sprint(trace.Workers)), document.Text(seconds(trace.Seconds)),
				document.Text(percent(total / trace.Seconds / float64(trace.Workers))), document.Text(percent(least / trace.Seconds)),
				document.Text(significant(imbalance(shares))), document.Text(significant(predictedImbalance(trace))), document.Join(cells, ", ") + " %",
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
func (b *builder) hears(c concert) document.Text {
	idle := func(t compare.Trace) float64 {
		total := 0.0
		for _, x := range busyTimes(t) {
			total += x
		}
		return 1 - total/t.Seconds/float64(t.Workers)
	}
	compareIdle := func(x, y compare.Trace) int { return cmp.Compare(idle(x), idle(y)) }
	sentence := b.Say("timeline.name", text.Args{
		"Variant": document.Literal(c.variant), "Size": document.Escape(c.label()),
		"Workers": b.Count("workers", c.threads),
	})
	for i, t := range []compare.Trace{slices.MaxFunc(c.traces, compareIdle), slices.MinFunc(c.traces, compareIdle)} {
		if i == 1 && len(c.traces) == 1 {
			break
		}
		sentence += b.Say([]string{"timeline.most", "timeline.least"}[i], text.Args{
			"Setting": document.Escape(settingOf(traced(t))), "Idle": percent(idle(t)),
			"Imbalance": significant(imbalance(busyTimes(t))),
		})
		if predicted := predictedImbalance(t); !math.IsNaN(predicted) {
			sentence += b.Say("timeline.predicted", text.Args{"Imbalance": significant(predicted)})
		}
		sentence += b.Say("stop")
	}
	return sentence
}

// traced returns the row that a trace belongs to, as far as its setting goes.
func traced(t compare.Trace) compare.Record {
	return compare.Record{
		Host: t.Host, Run: t.Run, Experiment: t.Experiment, Variant: t.Variant, Type: t.Type, Op: "nn", Alpha: 1,
		M: t.M, N: t.N, K: t.K, LDA: t.K, LDB: t.N, LDC: t.N, Threads: t.Workers, Params: t.Params, Resolved: t.Resolved,
	}
}

// retrace returns the command that makes the traces of a concert again.
func (b *builder) retrace(v *view, c concert) string {
	var rows []compare.Record
	for _, t := range c.traces {
		rows = append(rows, traced(t))
	}
	return b.rerunShared(v, rows, "--timeline")
}

// scheduleOf names the schedule of a trace in the letters that figures have, with the
// chunk asked for.
func scheduleOf(t compare.Trace) string {
	row := traced(t)
	row.Params = gemm.Params{"schedule": cmp.Or(t.Params["schedule"], t.Resolved["schedule"], any("static")), "chunk": chunkOf(t.Params)}
	return strings.ReplaceAll(settingOf(row), "→", "=")
}

// timeUnit returns the unit of an axis of time that goes to so many seconds, and how many
// of it are a second.
func timeUnit(longest float64) (unit string, scale float64) {
	switch {
	case longest < 1e-3:
		return "µs", 1e6
	case longest < 1:
		return "ms", 1e3
	}
	return "s", 1
}

// timeline is the chart of a concert.
func timeline(c concert) chart.Lanes {
	longest := 0.0
	for _, t := range c.traces {
		longest = max(longest, t.Seconds)
	}
	unit, scale := timeUnit(longest)
	title := fmt.Sprintf("%s, %s, %s, %d workers", c.variant, c.typ, c.label(), c.threads)
	if set := setting(c.rest); set != "" {
		title += ", " + set
	}
	lanes := chart.Lanes{Title: title, XLabel: "time, " + unit + " (faint: idle)"}
	for _, t := range c.traces {
		shares := busyTimes(t)
		total := 0.0
		for _, x := range shares {
			total += x
		}
		panel := chart.Panel{
			Label: fmt.Sprintf("%s: %s, busy %s", scheduleOf(t), seconds(t.Seconds), percent(total/t.Seconds/float64(t.Workers))),
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
