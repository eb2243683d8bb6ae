package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"gemm/compare/note"
	"io"
	"slices"
	"time"

	"gemm"
	"gemm/internal/child"
)

// process is a party in other operating-system processes: ranks, the worker of a device, or a build
// of this program with other compiler options.
type process interface {
	names() names
	// run starts the processes, which read the task and write messages, and returns after they have
	// ended: nil if nothing was wrong, otherwise the cause. It ends them if the context ends.
	run(ctx context.Context, task []byte, out io.Writer) error
	// meet merges what the processes found before the first case into this run, and returns the run
	// that their rows belong to.
	meet(d *Driver, f found) (run string, err error)
	// complete adds to a row what only this process knows.
	complete(d *Driver, r *Record)
}

// names are the phrases by which reasons name a process.
type names struct {
	name           string // name of the process
	again          string // says that it was started again
	unborn, silent error  // reason if it never shows a sign of life, or stops to
}

// If a process ends before it has begun a case, it is started again: once, or restarts times in
// succession if an earlier one has begun a case. A driver that crashed takes a moment to recover, so
// each pause before a start is twice the last.
const (
	restarts     = 3
	restartPause = 500 * time.Millisecond
)

// away makes a party of a process.
type away struct{ process }

// measure implements party.
func (a away) measure(ctx context.Context, d *Driver, cases []Case) error {
	return d.launch(ctx, cases, a.process)
}

// launch measures the cases by the process. If the process ends early, the case in progress has
// failed, and the process is started again for the rest. The other cases of that turn are measured
// without a turn, since they have lost the samples that they could be compared with.
func (d *Driver) launch(ctx context.Context, cases []Case, p process) error {
	cases = d.nameTurns(cases)
	notes := map[identity]string{} // warnings of rows, by identity
	worked, idle := false, 0       // worked: a process has begun a case; idle: processes in succession that have not
	for len(cases) > 0 {
		d.reclaim()
		a, err := d.attempt(ctx, cases, p, notes)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return a.done[c.identity()] != "" })
		if len(left) == 0 {
			return nil
		}
		if a.lost == nil {
			return d.fail(left, Failed, fmt.Errorf("%s ended and left no row", p.names().name))
		}
		if a.gone != nil {
			return d.fail(left, Failed, a.gone)
		}
		if a.now < 0 {
			most, status := 1, Failed
			if errors.Is(a.lost, gemm.ErrUnavailable) {
				most, status = 0, Unavailable
			}
			if worked {
				most = restarts
			}
			if idle >= most {
				return d.fail(left, status, a.lost)
			}
			notes[left[0].identity()] = fmt.Sprintf("%s: %v", p.names().again, a.lost)
			select {
			case <-time.After(cmp.Or(d.pause, restartPause) << idle):
			case <-ctx.Done():
				return ctx.Err()
			}
			idle++
			cases = left
			continue
		}
		worked, idle = true, 0
		if cases, err = d.blame(cases[a.now], left, a, notes); err != nil {
			return err
		}
	}
	return nil
}

// blame stores a row with the failure of the case in progress, unless its row exists, and returns the
// cases that are left.
func (d *Driver) blame(culprit Case, left []Case, a *attempt, notes map[identity]string) ([]Case, error) {
	status := a.done[culprit.identity()]
	if status == "" {
		status = Failed
		if errors.Is(a.lost, a.process.names().silent) {
			status = Timeout
		}
		if err := d.fail([]Case{culprit}, status, a.lost); err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(c Case) bool { return c.identity() == culprit.identity() })
	}
	if status == Timeout && d.hung == nil {
		d.hung = fmt.Errorf("%s hung in %s and had to be ended", a.process.names().name, culprit)
	}
	for i, c := range left {
		if c.Turn != "" && c.Turn == culprit.Turn {
			notes[c.identity()] = fmt.Sprintf("measured apart: its turn was lost when %s ended %s: %v", culprit,
				a.process.names().name, a.lost)
			left[i].Turn = ""
		}
	}
	return left, nil
}

// fail stores rows for cases that were not measured.
func (d *Driver) fail(cases []Case, status Status, reason error) error {
	var records []Record
	for _, c := range cases {
		r := c.record()
		r.Host, r.Run, r.Status = d.host.ID, d.run.ID, status
		r.Reason = note.Read(gemm.Why(reason))
		records = append(records, r)
		d.learn(c, r)
	}
	return d.put(records)
}

// lookEvery is the interval at which the driver looks for signs of life. bornTime is the time limit
// for the first sign, and deadTime for the next sign after the time limit of a row. On a busy
// machine signs come late.
const (
	lookEvery = 200 * time.Millisecond
	bornTime  = 2 * time.Minute
	deadTime  = 8 * signEvery
)

// settleTime is the time that a process has to end after it wrote something that is not a message.
const settleTime = time.Second

// attempt is one start of a process for a list of cases.
type attempt struct {
	d       *Driver
	process process
	cases   []Case
	of      map[identity]Case   // cases by identity
	notes   map[identity]string // warnings for their rows, by identity
	run     string              // the run that the rows belong to

	done     map[identity]Status // cases with a row, by identity
	traces   map[identity]Trace  // of rows that are still to come, by identity
	now      int                 // the case in progress, or at the end of the process; -1: none yet
	begun    []Case              // the turn that Progress was informed of last
	lastSign time.Time           // time of the last sign of life
	patience time.Duration
	born     bool  // there was a sign of life
	silent   bool  // there was none for too long
	over     bool  // the last message has come
	broken   error // a message that is wrong; later ones are ignored
	gone     error // which hosts are lost; nil: none
	lost     error // why the process ended early; nil: it was done
}

func (d *Driver) follow(cases []Case, p process, notes map[identity]string) *attempt {
	a := &attempt{
		d: d, process: p, cases: cases, of: map[identity]Case{}, notes: notes, run: d.run.ID,
		done: map[identity]Status{}, traces: map[identity]Trace{}, now: -1, lastSign: time.Now(), patience: bornTime,
	}
	for _, c := range cases {
		a.of[c.identity()] = c
	}
	return a
}

// attempt starts the process for the cases and stores their rows as they come. It returns the error
// of the context or of the store.
func (d *Driver) attempt(ctx context.Context, cases []Case, p process, notes map[identity]string) (*attempt, error) {
	a := d.follow(cases, p, notes)
	task, err := json.Marshal(d.task(cases))
	if err != nil {
		return a, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	gone := make(chan struct{})
	defer close(gone)
	said := &lines{to: make(chan []byte, 64), gone: gone}
	ended := make(chan error, 1)
	go func() { ended <- p.run(running, task, said) }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var failed error // of the store
	take := func(line []byte) {
		if a.broken != nil || a.silent || failed != nil {
			return
		}
		if failed = a.take(line); failed != nil {
			stop()
		} else if a.broken != nil { // the process may be about to end
			time.AfterFunc(settleTime, stop)
		}
	}
	for ending := false; !ending; {
		select {
		case err = <-ended:
			ending = true
		case line := <-said.to:
			take(line)
		case <-look.C:
			if a.overdue() {
				stop()
			}
		}
	}
	for len(said.to) > 0 {
		take(<-said.to)
	}
	if ctx.Err() == nil && !a.over {
		a.lost = a.cause(err, said.rest)
	}
	return a, cmp.Or(failed, ctx.Err())
}

// cause returns why a process ended early. err is the error of its run, and rest the end of its
// output after the last line.
func (a *attempt) cause(err error, rest []byte) error {
	names := a.process.names()
	var end child.End
	switch {
	case errors.Is(err, gemm.ErrUnavailable):
		return err
	case a.broken != nil:
		return a.broken
	case a.silent && !a.born:
		return names.unborn
	case a.silent:
		return names.silent
	case len(rest) > 0 && errors.As(err, &end) && end.Status == "":
		return fmt.Errorf("%s ended in the middle of a line: %s", names.name, short(rest))
	}
	return err
}

// take processes one line of output. It returns errors of the store. A line that is not a valid
// message sets broken.
func (a *attempt) take(line []byte) error {
	m, err := decode(line)
	name := a.process.names().name
	if err != nil {
		a.broken = fmt.Errorf("%s wrote something that is not a message: %s", name, short(line))
		return nil
	}
	switch {
	case m.Now != nil && *m.Now >= -1 && *m.Now < len(a.cases):
		a.sign(*m.Now)
	case m.Found != nil:
		a.sign(-1)
		a.run, err = a.process.meet(a.d, *m.Found)
		return err
	case m.Trace != nil:
		a.sign(-1)
		a.traces[m.Trace.Key.of("").with(m.Trace.Params)] = *m.Trace
	case m.Row != nil:
		a.sign(-1)
		key := m.Row.Key.of("").with(m.Row.Params)
		c, asked := a.of[key]
		if !asked || a.done[key] != "" {
			a.broken = fmt.Errorf("%s wrote a row that was not requested: %s", name, short(line))
			return nil
		}
		a.done[key] = cmp.Or(m.Row.Status, Failed)
		return a.keep(c, m.Row)
	case m.Gone != "":
		a.gone = errors.New(m.Gone)
	case m.Done:
		a.over = true
	default:
		a.broken = fmt.Errorf("%s wrote something that is not a message: %s", name, short(line))
	}
	return nil
}

// keep stores r as the row of the case in this run.
func (a *attempt) keep(c Case, r *Record) error {
	r.Host, r.Run = a.d.host.ID, a.run
	a.process.complete(a.d, r)
	if apart, ok := a.notes[c.identity()]; ok {
		r.Warnings = append(r.Warnings, note.Note{Text: apart})
	}
	a.d.learn(c, *r)
	var traces []Trace
	if t, ok := a.traces[c.identity()]; ok && c.Timeline {
		t.Host, t.Run = r.Host, r.Run
		traces = append(traces, t)
	}
	return a.d.put([]Record{*r}, traces...)
}

// sign notes a sign of life, and the index of the case in progress, -1 before the first.
func (a *attempt) sign(now int) {
	a.born, a.lastSign, a.patience = true, time.Now(), cmp.Or(a.d.dead, deadTime)
	if now < 0 || now >= len(a.cases) {
		return
	}
	a.now = now
	if turn := turnOf(a.cases, now); len(a.begun) == 0 || &a.begun[0] != &turn[0] {
		a.begun = turn
		a.d.Progress.Begin(turn)
	}
}

// overdue reports, once, that there was no sign of life for too long.
func (a *attempt) overdue() bool {
	limit, done := a.d.Budget.Timeout, len(a.done) == len(a.cases)
	if a.silent || a.born && !done && limit <= 0 {
		return false
	}
	if done || !a.born { // the process only has to end, or to begin
		limit = 0
	}
	if time.Since(a.lastSign) <= limit+a.patience {
		return false
	}
	a.silent = true
	return true
}

// adopt adds those ceilings and bandwidths of the unit that this run does not have yet, and assigns
// the measurements to this run.
func (d *Driver) adopt(f found, unit string) {
	for _, c := range f.Host.Ceilings {
		c.Run = d.run.ID
		same := func(old Ceiling) bool {
			return old.Unit == c.Unit && old.Run == c.Run && old.Device == c.Device && old.Pipe == c.Pipe &&
				old.Threads == c.Threads
		}
		if c.Unit == unit && !slices.ContainsFunc(d.host.Ceilings, same) {
			d.host.Ceilings = append(d.host.Ceilings, c)
		}
	}
	for _, b := range f.Host.Bandwidths {
		b.Run = d.run.ID
		same := func(old Bandwidth) bool {
			return old.Unit == b.Unit && old.Run == b.Run && old.Device == b.Device && old.Name == b.Name
		}
		if b.Unit == unit && !slices.ContainsFunc(d.host.Bandwidths, same) {
			d.host.Bandwidths = append(d.host.Bandwidths, b)
		}
	}
	for i := range f.Measurements {
		f.Measurements[i].Host, f.Measurements[i].Run = d.host.ID, d.run.ID
	}
}
