package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/schedule"
	"gemm/internal/ipc"
)

// process is an executor in other operating-system processes: ranks, the worker of a GPU, or a build
// of this program with other compiler options.
type process interface {
	// run starts the processes, which read the task and write messages, and waits for their end. The error is the
	// cause of an early end. It ends them if the context ends.
	run(ctx context.Context, task []byte, out io.Writer) error
	// merge merges what the processes found before the first case into this run. It returns the run that their rows
	// belong to, and a warning for each row, or "".
	merge(f Found, to Sink) (run, warning string, err error)
}

// pollEvery is the interval between checks of heartbeats. exitTime is the time that a process has to end after it wrote
// something that is not a message.
const (
	pollEvery = 200 * time.Millisecond
	exitTime  = time.Second
)

// session is one run of a process for a list of cases: its state, and what its messages have reported.
type session struct {
	lifecycle
	process  process
	executor schedule.Executor
	cases    []plan.Case
	index    map[record.ID]int
	to       Sink
	host     string
	run      string // the run that the rows belong to
	warning  string // for all rows; empty: none

	rows   map[int]bool         // cases that have a row
	traces map[int]record.Trace // of rows that are not here yet
	at     int                  // the case in progress, or at the end of the process; -1: none yet
	begun  int                  // the end of the turn that the sink was informed of last; 0: none
	over   bool                 // the last message is here
	end    schedule.End
}

// follow starts the process for the cases of the step and stores their rows as they arrive. It returns how the process
// ended early; nil: it was done. The error is of the context or of the sink.
func (p *Executors) follow(ctx context.Context, step schedule.Step, of process, to Sink) (*schedule.End, error) {
	v := &session{
		lifecycle: lifecycle{last: time.Now(), limit: p.Bench.Budget.Timeout}, process: of,
		executor: step.Executor, cases: step.Cases, index: map[record.ID]int{}, to: to, host: p.Bench.Host.ID,
		run:  p.Bench.Run,
		rows: map[int]bool{}, traces: map[int]record.Trace{}, at: -1,
	}
	for i, c := range step.Cases {
		v.index[c.ID()] = i
	}
	task, err := p.newTask(step.Cases)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := ipc.NewWriter(&text).Encode(taskWord, task); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	err, failed := v.receive(running, stop, text.Bytes())
	switch {
	case failed != nil || ctx.Err() != nil:
		return nil, cmp.Or(failed, ctx.Err())
	case v.over:
		return nil, nil
	}
	return v.earlyEnd(err), nil
}

// receive runs the process until it has ended and all its messages are handled. It returns the errors of the process
// and of the sink.
func (v *session) receive(ctx context.Context, stop func(), task []byte) (err, failed error) {
	done := make(chan struct{})
	defer close(done)
	out, frames := ipc.Pipe(done)
	ended := make(chan error, 1)
	go func() {
		err := v.process.run(ctx, task, out)
		_ = out.Close() // ends the frames
		ended <- err
	}()
	look := time.NewTicker(pollEvery)
	defer look.Stop()
	for frames != nil || ended != nil {
		select {
		case err = <-ended:
			ended = nil
		case r := <-frames:
			if r.Err != nil {
				frames = nil
			}
			if v.state == hung || v.state == dead || failed != nil {
				continue
			}
			if failed = v.handle(r); failed != nil {
				stop()
			} else if v.state == dead { // the process may be about to end
				defer time.AfterFunc(exitTime, stop).Stop()
			}
		case now := <-look.C:
			if v.on(tick, now); v.state == hung {
				stop()
			}
		}
	}
	return err, failed
}

// earlyEnd returns how a process has ended early; nil: there is no reason, neither from it nor in err, the error of its
// run.
func (v *session) earlyEnd(err error) *schedule.End {
	v.end.Case, v.end.Status, v.end.Hung = v.at, record.Failed, v.state == hung
	var ended ipc.ExitError
	cut := errors.Is(v.end.Reason, io.ErrUnexpectedEOF)
	switch {
	case errors.Is(err, gemm.ErrUnavailable):
		v.end.Reason, v.end.Status = err, record.Unavailable
	case v.state == hung && v.executor.Kind != schedule.Ranks:
		v.end.Reason = fmt.Errorf("%s hangs: it shows no sign of life", v.executor)
	case v.state == hung && v.was == starting:
		v.end.Reason = fmt.Errorf("the ranks have not begun within %v: use fewer ranks", startTime)
	case v.state == hung:
		v.end.Reason = errors.New("rank 0 hangs: it shows no sign of life")
	case v.end.Reason == nil, cut && !(errors.As(err, &ended) && ended.Status == ""):
		v.end.Reason = err
	}
	if v.end.Reason == nil {
		return nil
	}
	return &v.end
}

// reject records that the process wrote something that is not a message. Later messages are ignored.
func (v *session) reject(what string, line string) {
	v.end.Reason = fmt.Errorf("%s wrote %s: %s", v.executor, what, ipc.Quote(line))
	v.on(exits, time.Now())
}

// handle processes a frame, or the end of the output. It returns errors of the sink.
func (v *session) handle(r ipc.Received) error {
	const nothing = "something that is not a message"
	switch wrong := (ipc.FormatError{}); {
	case errors.As(r.Err, &wrong):
		v.reject(nothing, wrong.Line)
		return nil
	case errors.Is(r.Err, io.ErrUnexpectedEOF):
		v.end.Reason = fmt.Errorf("%s: %w", v.executor, r.Err)
		return nil
	case r.Err != nil:
		return nil
	}
	m, err := decode(r.Frame)
	line := r.Word + " " + r.Text
	if err != nil || r.Word == nowWord && (m.now < -1 || m.now >= len(v.cases)) {
		v.reject(nothing, line)
		return nil
	}
	now := time.Now()
	v.on(heartbeat, now)
	switch r.Word {
	case nowWord:
		v.begin(m.now, now)
	case foundWord:
		v.run, v.warning, err = v.process.merge(m.found, v.to)
		return err
	case traceWord:
		if i, ok := v.index[m.trace.Key.On("").ID(m.trace.Params)]; ok {
			v.traces[i] = m.trace
		}
	case rowWord:
		i, ok := v.index[m.row.Key.On("").ID(m.row.Params)]
		if !ok || v.rows[i] {
			v.reject("a row that was not requested", line)
			return nil
		}
		v.rows[i] = true
		if len(v.rows) == len(v.cases) {
			v.on(rowsComplete, now)
		}
		return v.keep(i, m.row)
	case unreachableWord:
		v.end.Unreachable = errors.New(m.unreachable)
	case doneWord:
		v.over = true
	}
	return nil
}

// begin records the case in progress; -1: none yet.
func (v *session) begin(i int, now time.Time) {
	if i < 0 {
		return
	}
	v.at = i
	v.on(caseBegins, now)
	end := 0
	for _, turn := range schedule.Turns(v.cases) {
		if end += len(turn); i < end {
			if v.begun != end {
				v.begun = end
				v.to.Begin(turn)
			}
			return
		}
	}
}

// keep stores r as the row of the case in this run.
func (v *session) keep(i int, r record.Record) error {
	r.Host, r.Run = v.host, v.run
	if v.warning != "" {
		r.Warnings = append(r.Warnings, record.Note{Text: v.warning})
	}
	var traces []record.Trace
	if t, ok := v.traces[i]; ok && v.cases[i].Timeline {
		t.Host, t.Run = r.Host, r.Run
		traces = append(traces, t)
	}
	return v.to.Keep([]record.Record{r}, traces)
}

// assign adds the ceilings and bandwidths of the unit to the host unless this run has them, and assigns the
// measurements to this run.
func (p *Executors) assign(f *Found, unit string) {
	h, run := &p.Bench.Host, p.Bench.Run
	for _, c := range f.Host.Ceilings {
		if c.Run = run; c.Unit == unit {
			h.AddPeaks([]record.Ceiling{c}, nil)
		}
	}
	for _, b := range f.Host.Bandwidths {
		if b.Run = run; b.Unit == unit {
			h.AddPeaks(nil, []record.Bandwidth{b})
		}
	}
	for i := range f.Measurements {
		f.Measurements[i].Host, f.Measurements[i].Run = h.ID, run
	}
}
