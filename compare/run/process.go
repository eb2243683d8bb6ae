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
	"gemm/internal/child"
	"gemm/internal/frame"
)

// process is a party in other operating-system processes: ranks, the worker of a GPU, or a build
// of this program with other compiler options.
type process interface {
	// run starts the processes, which read the task and write messages, and returns after they have
	// ended: nil if nothing was wrong, otherwise the cause. It ends them if the context ends.
	run(ctx context.Context, task []byte, out io.Writer) error
	// meet merges what the processes found before the first case into this run. It returns the run that their rows
	// belong to, and a warning for each row, or "".
	meet(f Found, to Sink) (run, warning string, err error)
}

// lookEvery is the interval at which signs of life are looked for. settleTime is the time that a process has to end
// after it wrote something that is not a message.
const (
	lookEvery  = 200 * time.Millisecond
	settleTime = time.Second
)

// conversation is what a process that was started for a list of cases has said.
type conversation struct {
	life
	process process
	party   schedule.Party
	cases   []plan.Case
	index   map[record.ID]int
	to      Sink
	host    string
	run     string // the run that the rows belong to
	warning string // for all rows; empty: none

	rows   map[int]bool         // cases that have a row
	traces map[int]record.Trace // of rows that are still to come
	at     int                  // the case in progress, or at the end of the process; -1: none yet
	begun  int                  // the end of the turn that the sink was informed of last; 0: none
	over   bool                 // the last message has come
	end    schedule.End
}

// follow starts the process for the cases of the step and keeps their rows as they come. It returns how the process
// ended early, and nil if it was done. The error is that of the context or of the sink.
func (p *Parties) follow(ctx context.Context, step schedule.Step, of process, to Sink) (*schedule.End, error) {
	v := &conversation{
		life: life{last: time.Now(), limit: p.Bench.Budget.Timeout, dead: cmp.Or(p.Dead, deadTime)}, process: of,
		party: step.Party, cases: step.Cases, index: map[record.ID]int{}, to: to, host: p.Bench.Host.ID, run: p.Bench.Run,
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
	if err := frame.NewWriter(&text).Encode(taskWord, task); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	err, failed := v.listen(running, stop, text.Bytes())
	switch {
	case failed != nil || ctx.Err() != nil:
		return nil, cmp.Or(failed, ctx.Err())
	case v.over:
		return nil, nil
	}
	return v.conclude(err), nil
}

// listen runs the process until it has ended and all its messages have been taken. It returns the error of the process,
// and of the sink.
func (v *conversation) listen(ctx context.Context, stop func(), task []byte) (err, failed error) {
	done := make(chan struct{})
	defer close(done)
	out, frames := frame.Pipe(done)
	ended := make(chan error, 1)
	go func() {
		err := v.process.run(ctx, task, out)
		_ = out.Close() // the frames end when all have been taken
		ended <- err
	}()
	look := time.NewTicker(lookEvery)
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
			if failed = v.take(r); failed != nil {
				stop()
			} else if v.state == dead { // the process may be about to end
				defer time.AfterFunc(settleTime, stop).Stop()
			}
		case now := <-look.C:
			if v.on(waits, now); v.state == hung {
				stop()
			}
		}
	}
	return err, failed
}

// conclude returns how a process has ended early; nil: it said nothing of that, nor of the cases without a row. err is
// the error of its run.
func (v *conversation) conclude(err error) *schedule.End {
	v.end.Case, v.end.Status, v.end.Hung = v.at, record.Failed, v.state == hung
	var ended child.End
	cut := errors.Is(v.end.Reason, io.ErrUnexpectedEOF)
	switch {
	case errors.Is(err, gemm.ErrUnavailable):
		v.end.Reason, v.end.Status = err, record.Unavailable
	case v.state == hung && v.party.Kind != schedule.Ranks:
		v.end.Reason = fmt.Errorf("%s hangs: it shows no sign of life", v.party)
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

// wrong notes that the process wrote something that is not a message; what it writes later is ignored.
func (v *conversation) wrong(what string, line string) {
	v.end.Reason = fmt.Errorf("%s wrote %s: %s", v.party, what, frame.Quote(line))
	v.on(departs, time.Now())
}

// take processes a frame of the process, or the end of its output. It returns errors of the sink.
func (v *conversation) take(r frame.Received) error {
	const nothing = "something that is not a message"
	switch wrong := (frame.Wrong{}); {
	case errors.As(r.Err, &wrong):
		v.wrong(nothing, wrong.Line)
		return nil
	case errors.Is(r.Err, io.ErrUnexpectedEOF):
		v.end.Reason = fmt.Errorf("%s: %w", v.party, r.Err)
		return nil
	case r.Err != nil:
		return nil
	}
	m, err := decode(r.Frame)
	line := r.Word + " " + r.Text
	if err != nil || r.Word == nowWord && (m.now < -1 || m.now >= len(v.cases)) {
		v.wrong(nothing, line)
		return nil
	}
	now := time.Now()
	v.on(signs, now)
	switch r.Word {
	case nowWord:
		v.begin(m.now, now)
	case foundWord:
		v.run, v.warning, err = v.process.meet(m.found, v.to)
		return err
	case traceWord:
		if i, ok := v.index[m.trace.Key.On("").ID(m.trace.Params)]; ok {
			v.traces[i] = m.trace
		}
	case rowWord:
		i, ok := v.index[m.row.Key.On("").ID(m.row.Params)]
		if !ok || v.rows[i] {
			v.wrong("a row that was not requested", line)
			return nil
		}
		v.rows[i] = true
		if len(v.rows) == len(v.cases) {
			v.on(ends, now)
		}
		return v.keep(i, m.row)
	case goneWord:
		v.end.Gone = errors.New(m.gone)
	case doneWord:
		v.over = true
	}
	return nil
}

// begin notes the case in progress; -1: none yet.
func (v *conversation) begin(i int, now time.Time) {
	if i < 0 {
		return
	}
	v.at = i
	v.on(begins, now)
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
func (v *conversation) keep(i int, r record.Record) error {
	r.Host, r.Run = v.host, v.run
	if v.warning != "" {
		r.Warnings = append(r.Warnings, gemm.Note{Text: v.warning})
	}
	var traces []record.Trace
	if t, ok := v.traces[i]; ok && v.cases[i].Timeline {
		t.Host, t.Run = r.Host, r.Run
		traces = append(traces, t)
	}
	return v.to.Keep([]record.Record{r}, traces)
}

// adopt adds those ceilings and bandwidths of the unit that this run does not have yet to the host, and assigns the
// measurements to this run.
func (p *Parties) adopt(f *Found, unit string) {
	h, run := &p.Bench.Host, p.Bench.Run
	for _, c := range f.Host.Ceilings {
		if c.Run = run; c.Unit == unit {
			h.AddCeiling(c)
		}
	}
	for _, b := range f.Host.Bandwidths {
		if b.Run = run; b.Unit == unit {
			h.AddBandwidth(b)
		}
	}
	for i := range f.Measurements {
		f.Measurements[i].Host, f.Measurements[i].Run = h.ID, run
	}
}
