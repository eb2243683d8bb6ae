package gemmtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
)

// TraceEvent is an event of the Trace Event Format of Chrome (Google, Trace Event Format, 2016), with
// times in nanoseconds.
type TraceEvent struct {
	Name, Category, Kind string
	Process, Thread      int
	Begin, End           int64
	Args                 map[string]any
}

// TraceEvents returns the events of a trace. The test fails unless the trace is an object of the format
// with complete events, instants and metadata, all processes and threads with events have names, and
// the events of a thread lie in each other or follow each other.
func TraceEvents(t testing.TB, data []byte) []TraceEvent {
	t.Helper()
	var file struct {
		Unit   string           `json:"displayTimeUnit"`
		Events []map[string]any `json:"traceEvents"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		t.Fatalf("the trace: %v", err)
	}
	if file.Unit != "ms" && file.Unit != "ns" {
		t.Errorf("the unit of the trace is %q", file.Unit)
	}
	var events []TraceEvent
	named := map[string]bool{}
	for i, e := range file.Events {
		event, err := traceEvent(e, named)
		if err != nil {
			t.Errorf("event %d, %v: %v", i, e, err)
		}
		events = append(events, event)
	}
	if err := nested(events, named); err != nil {
		t.Error(err)
	}
	return events
}

// traceEvent returns an event, and notes the names of processes and threads.
func traceEvent(e map[string]any, named map[string]bool) (TraceEvent, error) {
	out := TraceEvent{}
	out.Name, _ = e["name"].(string)
	out.Category, _ = e["cat"].(string)
	out.Kind, _ = e["ph"].(string)
	out.Args, _ = e["args"].(map[string]any)
	process, okP := e["pid"].(float64)
	thread, okT := e["tid"].(float64)
	out.Process, out.Thread = int(process), int(thread)
	if out.Name == "" || !okP || !okT {
		return out, fmt.Errorf("it has no name, process or thread")
	}
	time, timed := e["ts"].(float64)
	took, long := e["dur"].(float64)
	out.Begin, out.End = nanoseconds(time), nanoseconds(time)+nanoseconds(took)
	switch out.Kind {
	case "X":
		if !timed || !long || !(took >= 0) {
			return out, fmt.Errorf("a complete event has a beginning and a duration")
		}
	case "i":
		if scope, _ := e["s"].(string); !timed || !slices.Contains([]string{"g", "p", "t"}, scope) {
			return out, fmt.Errorf("an instant has a time and a scope")
		}
	case "M":
		key, known := map[string]string{"process_name": "name", "process_labels": "labels", "thread_name": "name",
			"process_sort_index": "sort_index", "thread_sort_index": "sort_index"}[out.Name]
		if !known || out.Args[key] == nil {
			return out, fmt.Errorf("unknown metadata, or it has no %q", key)
		}
		named[fmt.Sprint(out.Name, " ", out.Process)] = true
		named[fmt.Sprint(out.Name, " ", out.Process, " ", out.Thread)] = true
	default:
		return out, fmt.Errorf("unknown kind")
	}
	return out, nil
}

func nanoseconds(micros float64) int64 { return int64(math.Round(1000 * micros)) }

// nested returns an error if events of a thread overlap, or a process or a thread has no name.
func nested(events []TraceEvent, named map[string]bool) error {
	events = slices.DeleteFunc(slices.Clone(events), func(e TraceEvent) bool { return e.Kind != "X" })
	slices.SortStableFunc(events, func(a, b TraceEvent) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Begin, b.Begin),
			cmp.Compare(b.End, a.End))
	})
	var open []TraceEvent // those that the next may lie in
	for _, e := range events {
		if !named[fmt.Sprint("process_name ", e.Process)] ||
			!named[fmt.Sprint("thread_name ", e.Process, " ", e.Thread)] {
			return fmt.Errorf("the process or the thread of %+v has no name", e)
		}
		for len(open) > 0 {
			last := open[len(open)-1]
			if same := last.Process == e.Process && last.Thread == e.Thread; same && e.Begin < last.End {
				if e.End > last.End {
					return fmt.Errorf("%+v overlaps %+v", e, last)
				}
				break
			}
			open = open[:len(open)-1]
		}
		open = append(open, e)
	}
	return nil
}
