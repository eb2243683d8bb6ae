package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/schedule"
	"gemm/internal/ipc"
)

// protocol is the version of the task and the messages. The process that has the records writes a task. The process
// that measures answers with messages, the first at once, and at least one every heartbeatEvery. All are frames with
// JSON.
const protocol = 6

// The words of the frames.
const (
	taskWord        = "task"
	nowWord         = "now"   // a heartbeat: the index of the case in progress, -1 before the first
	foundWord       = "found" // what was found and measured before the first case
	traceWord       = "trace" // the timeline of the next row
	rowWord         = "row"
	unreachableWord = "gone" // which hosts are unreachable: no new process can measure the other rows
	doneWord        = "done" // the last message: there are no more rows
)

// Task is what a process has to measure.
type Task struct {
	Protocol int               `json:"protocol"`
	Cases    []plan.Case       `json:"cases"`
	Budget   plan.Budget       `json:"budget"`
	Seed     uint64            `json:"seed"`
	Ceilings time.Duration     `json:"ceilings"`          // spent on each ceiling
	Known    []record.Ceiling  `json:"known,omitempty"`   // ceilings of GPUs that the run has
	Sources  []json.RawMessage `json:"brought,omitempty"` // sources of variants that the program lacks
}

// newTask returns the task to measure the cases as b would.
func (p *Executors) newTask(cases []plan.Case) (Task, error) {
	b := p.Bench
	t := Task{Protocol: protocol, Cases: cases, Budget: b.Budget, Seed: b.Seed, Ceilings: b.Ceilings}
	for _, c := range cases {
		if !c.OnDevice() || c.Variant.Source == nil {
			continue
		}
		source, err := json.Marshal(c.Variant.Source)
		if err != nil {
			return t, err
		}
		if !slices.ContainsFunc(t.Sources, func(other json.RawMessage) bool { return bytes.Equal(other, source) }) {
			t.Sources = append(t.Sources, source)
		}
	}
	for _, c := range b.Host.Ceilings {
		if c.Unit == "gpu" && c.Run == b.Run {
			t.Known = append(t.Known, c)
		}
	}
	return t, nil
}

// ReadTask reads a task. Its cases are of the given variants, or of variants that user makes of the sources in the
// task; user may be nil.
func ReadTask(in io.Reader, variants []gemm.Variant, user func(sources []json.RawMessage) ([]gemm.Variant, error),
	processors int) (Task, error) {
	var t Task
	word, err := ipc.NewReader(in).Decode(&t)
	switch {
	case err != nil:
		return t, fmt.Errorf("the task on standard input: %w", err)
	case word != taskWord || t.Protocol != protocol:
		return t, fmt.Errorf("the task is of protocol %d, this program speaks %d: build gemm and %s from one source",
			t.Protocol, protocol, schedule.Worker)
	}
	if user != nil {
		more, err := user(t.Sources)
		if err != nil {
			return t, fmt.Errorf("the task: %w", err)
		}
		variants = append(slices.Clone(variants), more...)
	}
	for i, c := range t.Cases {
		v, err := gemm.Lookup(variants, c.Key.Variant)
		if err != nil {
			return t, fmt.Errorf("the task: there is no variant %q: build gemm and %s from one source", c.Key.Variant,
				schedule.Worker)
		}
		if err := c.Params.Whole(); err != nil {
			return t, fmt.Errorf("the task: %w", err)
		}
		t.Cases[i] = c.Of(v, processors)
	}
	return t, nil
}

// Found is what a process found and measured before the first case.
type Found struct {
	Host         record.Host          `json:"host"`
	Run          record.RunInfo       `json:"run"`
	Libraries    map[string]string    `json:"libraries"` // versions of libraries found at run time
	Measurements []record.Measurement `json:"measurements"`
}

// message is the content of a frame of a process, by its word.
type message struct {
	now         int
	found       Found
	trace       record.Trace
	row         record.Record
	unreachable string
	done        bool
}

// decode returns the content of a frame. It is an error if the frame has anything else.
func decode(f ipc.Frame) (m message, err error) {
	content, ok := map[string]any{nowWord: &m.now, foundWord: &m.found, traceWord: &m.trace, rowWord: &m.row,
		unreachableWord: &m.unreachable, doneWord: &m.done}[f.Word]
	if !ok {
		return m, errors.New("there is no such word")
	}
	decoder := json.NewDecoder(strings.NewReader(f.Text))
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(content); err == nil && decoder.More() {
		err = errors.New("there is more than one message")
	}
	params := []gemm.Params{m.trace.Params, m.trace.Resolved, m.row.Params, m.row.Resolved}
	for _, x := range m.found.Measurements {
		params = append(params, x.Params)
	}
	for _, p := range params {
		err = errors.Join(err, p.Whole())
	}
	return m, err
}

const heartbeatEvery = time.Second

// Reporter writes the messages of a process that measures for another one. It is a compare.Progress.
type Reporter struct {
	mu     sync.Mutex
	out    ipc.Writer
	failed context.CancelCauseFunc // is called if a message cannot be written
	index  map[record.ID]int       // of the task's cases
	now    int
}

// NewReporter returns a reporter on the cases of a task.
func NewReporter(out io.Writer, cases []plan.Case, failed context.CancelCauseFunc) *Reporter {
	r := &Reporter{out: ipc.NewWriter(out), failed: failed, index: map[record.ID]int{}, now: -1}
	for i, c := range cases {
		r.index[c.ID()] = i
	}
	return r
}

func (r *Reporter) send(word string, v any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(word, v)
}

func (r *Reporter) write(word string, v any) {
	if err := r.out.Encode(word, v); err != nil {
		r.failed(fmt.Errorf("standard output: %w", err))
	}
}

// Heartbeat sends heartbeats until stop is called.
func (r *Reporter) Heartbeat() (stop func()) {
	send := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.write(nowWord, r.now)
	}
	send()
	done := make(chan struct{})
	go func() {
		every := time.NewTicker(heartbeatEvery)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				send()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// SetCase reports the case in progress.
func (r *Reporter) SetCase(c plan.Case) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, ok := r.index[c.ID()]; ok && i != r.now {
		r.now = i
		r.write(nowWord, i)
	}
}

// Found reports what there is before the first case.
func (r *Reporter) Found(f Found) { r.send(foundWord, f) }

// Trace reports the timeline of the next row.
func (r *Reporter) Trace(t record.Trace) { r.send(traceWord, t) }

// Begin reports the turn in progress.
func (r *Reporter) Begin(cases []plan.Case) { r.SetCase(cases[0]) }

// Done reports the row of a case.
func (r *Reporter) Done(row record.Record, _ bool) { r.send(rowWord, row) }

// Unreachable reports which hosts do not answer any more.
func (r *Reporter) Unreachable(hosts error) { r.send(unreachableWord, hosts.Error()) }

// End reports that there are no more rows.
func (r *Reporter) End() { r.send(doneWord, true) }
