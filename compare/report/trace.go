package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// ErrNoTimeline says that records have no timeline.
var ErrNoTimeline = errors.New("no row has a timeline")

// traceEvent is an event of the format: a complete one (X), an instant (i) or metadata (M).
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Kind     string         `json:"ph"`
	Scope    string         `json:"s,omitempty"` // of an instant: p, the process
	Time     json.Number    `json:"ts,omitempty"`
	Duration json.Number    `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// micros returns nanoseconds as the format has them, in microseconds.
func micros(ns float64) json.Number { return json.Number(strconv.FormatFloat(ns/1000, 'f', 3, 64)) }

// Trace returns the timelines of the document in the Trace Event Format of Chrome, which Perfetto (ui.perfetto.dev) and
// chrome://tracing open, an event on each line. The error is ErrNoTimeline if there is none.
//
// A row is a process, and a worker, a rank, a stream of a GPU or a group of warps inside of a kernel is a thread
// of it. Another thread has the product as a whole. All rows begin at time 0: they were measured one after the
// other, and are compared side by side.
func Trace(doc record.Document) ([]byte, error) {
	if len(doc.Traces) == 0 {
		return nil, ErrNoTimeline
	}
	var out bytes.Buffer
	out.WriteString(`{"displayTimeUnit":"ms","traceEvents":[`)
	separator := "\n"
	for i, t := range doc.Traces {
		h, _ := analysis.Find(doc.Hosts, func(h record.Host) bool { return h.ID == t.Host })
		r := &traceRow{Trace: t, process: processDistance * (i + 1), host: cmp.Or(h.CPU, t.Host)}
		for _, e := range r.events() {
			line, err := json.Marshal(e)
			if err != nil {
				return nil, fmt.Errorf("timeline of %s: %w", t.Variant, err)
			}
			out.WriteString(separator)
			out.Write(line)
			separator = ",\n"
		}
	}
	out.WriteString("\n]}\n")
	return out.Bytes(), nil
}

// traceRow is a timeline as a process.
type traceRow struct {
	record.Trace
	process int
	host    string
	all     []traceEvent
}

func (r *traceRow) events() []traceEvent {
	r.names()
	r.product()
	for _, s := range r.Spans {
		r.span("chunk", "chunk", s.Worker, s.Begin, s.End, map[string]any{"from": s.From, "to": s.To})
	}
	for _, p := range r.Phases {
		args := map[string]any{"phase": p.Name, "bytes": p.Bytes}
		if p.Peer != nil && r.GPUs > 1 {
			args["gpu"] = *p.Peer
		} else if p.Peer != nil {
			args["rank"] = *p.Peer
		}
		name, category := p.Name, "phase"
		if p.Call != "" {
			name, category = p.Call, "call"
		}
		r.span(name, category, p.Lane, p.Begin, p.End, args)
	}
	for i, g := range r.Inside {
		for _, p := range g.Phases {
			r.span(p.Name, "inside", len(r.lanes())+i, p.Begin, p.End, map[string]any{})
		}
	}
	if r.Cut > 0 {
		r.all = append(r.all, traceEvent{Name: "later phases are left out", Category: "limit", Kind: "i", Scope: "p",
			Time: micros(r.Cut * 1e9), Process: r.process, Thread: r.process})
	}
	return r.all
}

// processDistance is the distance between the numbers of two processes. The threads of a process have the numbers after
// it: viewers take a thread with the number of a process for its main thread, and show it first. That is the thread of
// the product.
const processDistance = 1000

func (r *traceRow) names() {
	name := fmt.Sprintf("%s %s %s", r.Variant, r.Type, r.Shape.Label())
	if len(r.Params) > 0 {
		name += " " + r.Params.String()
	}
	r.meta("process_name", r.process, "name", name)
	r.meta("process_labels", r.process, "labels", r.host)
	r.meta("process_sort_index", r.process, "sort_index", r.process)
	threads := append([]string{"product"}, r.lanes()...)
	for _, g := range r.Inside {
		threads = append(threads, fmt.Sprintf("multiprocessor %d, block %d, %s, warpgroup %d", g.Multiprocessor, g.Block,
			g.Role, g.Warpgroup))
	}
	for i, name := range threads {
		r.meta("thread_name", r.process+i, "name", name)
		r.meta("thread_sort_index", r.process+i, "sort_index", r.process+i)
	}
}

func (r *traceRow) meta(name string, thread int, key string, value any) {
	r.all = append(r.all, traceEvent{Name: name, Kind: "M", Process: r.process, Thread: thread,
		Args: map[string]any{key: value}})
}

// lanes returns the names of the lanes.
func (r *traceRow) lanes() []string {
	if len(r.Lanes) > 0 {
		return r.Lanes
	}
	var names []string
	if len(r.Phases) > 0 {
		for _, rank := range r.Ranks {
			name := fmt.Sprintf("rank %d, %s", rank.Rank, rank.Host)
			if rank.CPUs != "" {
				name += ", processors " + rank.CPUs
			}
			names = append(names, name)
		}
		return names
	}
	for worker := range r.Workers {
		names = append(names, fmt.Sprintf("worker %d", worker))
	}
	return names
}

func (r *traceRow) product() {
	end := r.Seconds
	for _, p := range r.Phases {
		end = max(end, p.End)
	}
	for _, s := range r.Spans {
		end = max(end, s.End)
	}
	args := map[string]any{
		"variant": r.Variant, "type": r.Type, "op": r.Op, "host": r.Host, "run": r.Run, "experiment": r.Experiment,
		"params": r.Params.String(), "resolved": r.Resolved.String(), "seconds": r.Seconds,
	}
	if len(r.Ranks) > 0 {
		args["clock_error_us"] = r.ClockError * 1e6
	}
	r.span("product", "product", -1, 0, end, args)
}

// span adds what a lane did. Both ends are rounded to nanoseconds, so that a span ends with the last of its parts and
// not one nanosecond before.
func (r *traceRow) span(name, category string, lane int, begin, end float64, args map[string]any) {
	from, to := math.Round(begin*1e9), math.Round(end*1e9)
	args["size"] = r.Shape.Label()
	r.all = append(r.all, traceEvent{Name: name, Category: category, Kind: "X", Time: micros(from),
		Duration: micros(max(0, to-from)), Process: r.process, Thread: r.process + 1 + lane, Args: args})
}
