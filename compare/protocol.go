package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"gemm"
	"gemm/cuda/guest"
)

// protocol is the version of the task and the messages by which a driver and another process
// that measures for it understand each other. The driver writes a task, one line of JSON. The
// process answers with messages, each a line of JSON, the first at once and one every signEvery.
const protocol = 5

// task is what a process has to measure.
type task struct {
	Protocol int           `json:"protocol"`
	Cases    []taskCase    `json:"cases"`
	Budget   Budget        `json:"budget"`
	Seed     uint64        `json:"seed"`
	Ceilings time.Duration `json:"ceilings"` // spent on each ceiling
	Known    []Ceiling     `json:"known,omitempty"`
	// Guests are kernels of the user's that the cases name.
	Guests []guest.Kernel `json:"guests,omitempty"`
}

// taskCase is a Case as it is written. A variant has its name.
type taskCase struct {
	Experiment Experiment  `json:"experiment"`
	Variant    string      `json:"variant"`
	Build      string      `json:"build,omitempty"`
	Type       string      `json:"type"`
	Shape      gemm.Shape  `json:"shape"`
	Op         string      `json:"op"`
	Alpha      float64     `json:"alpha"`
	Beta       float64     `json:"beta"`
	LD         int         `json:"ld"`
	Batch      int         `json:"batch,omitempty"`
	Params     gemm.Params `json:"params"`
	Turn       string      `json:"turn"`
	Timeline   bool        `json:"timeline,omitempty"`
}

// task returns the task of measuring the cases as this driver would.
func (d *Driver) task(cases []Case) task {
	t := task{Protocol: protocol, Budget: d.Budget, Seed: d.Seed, Ceilings: d.Ceilings}
	for _, c := range cases {
		if k, ok := c.Variant.Source.(guest.Kernel); ok && !slices.Contains(t.Guests, k) {
			t.Guests = append(t.Guests, k)
		}
		t.Cases = append(t.Cases, taskCase{
			c.Experiment, c.Variant.Name, c.Build, c.Type, c.Shape, c.Op, c.Alpha, c.Beta, c.LD, c.Batch,
			c.Params, c.Turn, c.Timeline,
		})
	}
	for _, c := range d.host.Ceilings {
		if c.Unit == "gpu" && c.Run == d.run.ID {
			t.Known = append(t.Known, c)
		}
	}
	return t
}

// readTask reads a task and returns it with its cases, whose variants are among those that are
// served.
func readTask(in io.Reader, s Served) (task, []Case, error) {
	var t task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return t, nil, fmt.Errorf("the task on standard input: %w", err)
	}
	if t.Protocol != protocol {
		return t, nil, fmt.Errorf("the task is of protocol %d, this program speaks %d: build gemm and %s from one source",
			t.Protocol, protocol, workerName)
	}
	variants := s.Variants
	if s.Guests != nil {
		variants = append(slices.Clone(variants), s.Guests(t.Guests)...)
	}
	var cases []Case
	for _, c := range t.Cases {
		v, err := gemm.Lookup(variants, c.Variant)
		if err != nil {
			return t, nil, fmt.Errorf("the task: there is no variant %q: build gemm and %s from one source",
				c.Variant, workerName)
		}
		if err := c.Params.Whole(); err != nil {
			return t, nil, fmt.Errorf("the task: %w", err)
		}
		cases = append(cases, Request{
			Experiment: c.Experiment, Variant: v, Build: c.Build, Type: c.Type, Shape: c.Shape, Op: c.Op,
			Alpha: c.Alpha, Beta: c.Beta, LD: c.LD, Batch: c.Batch, Params: c.Params, Turn: c.Turn,
			Timeline: c.Timeline,
		}.Case())
	}
	return t, cases, nil
}

// message is a line that a process writes: one of the following.
type message struct {
	// Now is a sign of life and the index of the case that is being measured, -1 before the
	// first.
	Now *int `json:"now,omitempty"`
	// Found is what the process found and measured before the first case.
	Found *found `json:"found,omitempty"`
	// Trace is the timeline of the next row.
	Trace *Trace `json:"trace,omitempty"`
	// Row is the row of a case.
	Row *Record `json:"row,omitempty"`
	// Gone says which hosts are lost: no process that is started again can measure the other rows.
	Gone string `json:"gone,omitempty"`
	// Done is the last message: there are no more rows.
	Done bool `json:"done,omitempty"`
}

// found is what a process found and measured before the first case.
type found struct {
	Host         Host              `json:"host"`
	Run          RunInfo           `json:"run"`
	Libraries    map[string]string `json:"libraries"` // versions of those found at run time
	Measurements []Measurement     `json:"measurements"`
}

// decode returns the message in a line. It is an error if the line has anything else.
func decode(line []byte) (m message, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&m)
	if m.Row != nil {
		err = errors.Join(err, m.Row.Params.Whole(), m.Row.Resolved.Whole())
	}
	if m.Trace != nil {
		err = errors.Join(err, m.Trace.Params.Whole(), m.Trace.Resolved.Whole())
	}
	if m.Found != nil {
		for _, x := range m.Found.Measurements {
			err = errors.Join(err, x.Params.Whole())
		}
	}
	if err == nil && decoder.More() {
		err = errors.New("there is more than one message")
	}
	return m, err
}

// line is where a process writes its messages. It is the Progress of its driver.
type line struct {
	mu     sync.Mutex
	out    *json.Encoder
	failed context.CancelCauseFunc // is called where nobody reads any more
	index  map[identity]int        // of the task's cases, by what identifies them
	now    int
}

func newLine(out io.Writer, cases []Case, failed context.CancelCauseFunc) *line {
	l := &line{out: json.NewEncoder(out), failed: failed, index: map[identity]int{}, now: -1}
	for i, c := range cases {
		l.index[c.identity()] = i
	}
	return l
}

// send writes the message.
func (l *line) send(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(m)
}

func (l *line) write(m message) {
	if err := l.out.Encode(m); err != nil {
		l.failed(fmt.Errorf("standard output: %w", err))
	}
}

// signEvery is the time between two signs of life.
const signEvery = time.Second

// live shows signs of life until stop is called.
func (l *line) live() (stop func()) {
	sign := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		now := l.now
		l.write(message{Now: &now})
	}
	sign()
	done := make(chan struct{})
	go func() {
		every := time.NewTicker(signEvery)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				sign()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// at says which case is being measured; it is a Lead's.
func (l *line) at(c Case) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i, ok := l.index[c.identity()]; ok && i != l.now {
		l.now = i
		l.write(message{Now: &i})
	}
}

// Begin implements Progress.
func (l *line) Begin(cases []Case) { l.at(cases[0]) }

// Done implements Progress.
func (l *line) Done(r Record, _ bool) { l.send(message{Row: &r}) }

// mostLine is the length of a line that is not a message in any case.
const mostLine = 16 << 20

// lines divides its input into lines. rest is the beginning of a line without an end.
type lines struct {
	to   chan []byte
	gone <-chan struct{} // closed when nobody reads any more
	rest []byte
}

// Write implements io.Writer.
func (l *lines) Write(data []byte) (int, error) {
	for part := range bytes.SplitAfterSeq(data, []byte("\n")) {
		l.rest = append(l.rest, part...)
		if bytes.HasSuffix(part, []byte("\n")) || len(l.rest) > mostLine {
			select {
			case l.to <- bytes.TrimSpace(l.rest):
			case <-l.gone:
				return 0, io.ErrClosedPipe
			}
			l.rest = nil
		}
	}
	return len(data), nil
}

// mostShown is how many bytes of a line are quoted.
const mostShown = 120

// short quotes a line, or its beginning.
func short(line []byte) string {
	if len(line) > mostShown {
		return fmt.Sprintf("%q…", line[:mostShown])
	}
	return fmt.Sprintf("%q", line)
}
