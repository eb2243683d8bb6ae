package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"gemm"
	"gemm/compare/record"
)

// ErrNoTimeline says that records have no timeline.
var ErrNoTimeline = errors.New("no row has a timeline")

// traceEvent is an event of the format: a complete one (X), an instant (i) or metadata (M).
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Kind     string         `json:"ph"`
	Scope    string         `json:"s,omitempty"` // of an instant: p, the process
	Time     *micros        `json:"ts,omitempty"`
	Duration *micros        `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// micros is a time in whole nanoseconds, which the format has in microseconds. Both ends of a span are
// rounded, so that a span ends with the last of its parts and not one nanosecond before.
type micros int64

func microsOf(seconds float64) micros { return micros(math.Round(seconds * 1e9)) }

// MarshalJSON implements json.Marshaler.
func (t micros) MarshalJSON() ([]byte, error) {
	sign, n := "", int64(t)
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Appendf(nil, "%s%d.%03d", sign, n/1000, n%1000), nil
}

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
		r := &traceRow{Trace: t, process: processDistance * (i + 1), host: t.Host}
		for _, h := range doc.Hosts {
			if h.ID == t.Host {
				r.host = cmp.Or(h.CPU, h.ID)
			}
		}
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
		if p.Peer != nil {
			args["rank"] = *p.Peer
		}
		if p.Call == "" {
			r.span(p.Name, "phase", p.Lane, p.Begin, p.End, args)
		} else {
			r.span(p.Call, "call", p.Lane, p.Begin, p.End, args)
		}
	}
	for i, g := range r.Inside {
		for _, p := range g.Phases {
			r.span(p.Name, "inside", len(r.lanes())+i, p.Begin, p.End, map[string]any{})
		}
	}
	if r.Cut > 0 {
		at := microsOf(r.Cut)
		r.all = append(r.all, traceEvent{Name: "later phases are left out", Category: "limit", Kind: "i", Scope: "p",
			Time: &at, Process: r.process, Thread: r.process})
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
	switch {
	case len(r.Lanes) > 0:
		return r.Lanes
	case len(r.Phases) > 0:
		var names []string
		for _, rank := range r.Ranks {
			name := fmt.Sprintf("rank %d, %s", rank.Rank, rank.Host)
			if rank.CPUs != "" {
				name += ", processors " + rank.CPUs
			}
			names = append(names, name)
		}
		return names
	}
	var names []string
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
		"params": params(r.Params), "resolved": params(r.Resolved), "seconds": r.Seconds,
	}
	if len(r.Ranks) > 0 {
		args["clock_error_us"] = r.ClockError * 1e6
	}
	r.span("product", "product", wholeProduct, 0, end, args)
}

// params returns the parameters, none as an empty object.
func params(p gemm.Params) gemm.Params {
	if p == nil {
		return gemm.Params{}
	}
	return p
}

// wholeProduct is the lane of the product as a whole.
const wholeProduct = -1

// span adds what a lane did.
func (r *traceRow) span(name, category string, lane int, begin, end float64, args map[string]any) {
	from, to := microsOf(begin), microsOf(end)
	took := max(0, to-from)
	args["size"] = r.Shape.Label()
	r.all = append(r.all, traceEvent{Name: name, Category: category, Kind: "X", Time: &from, Duration: &took,
		Process: r.process, Thread: r.process + 1 + lane, Args: args})
}
