package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gemm"
)

// process is a party of other operating-system processes: ranks, the worker of a device, or a build.
type process interface {
	names() names
	// run starts the processes, which read the task and write messages, and returns what ended
	// them: nil if nothing was wrong. If the context ends, so do they.
	run(ctx context.Context, task []byte, out io.Writer) error
	// meet takes from what was found before the first case what belongs to this run, and returns
	// the run that the rows belong to.
	meet(d *Driver, f found) (run string, err error)
	// complete completes a row.
	complete(d *Driver, r *Record)
}

// names are how reasons speak of a process.
type names struct {
	name           string // as the one that ends, or is ended
	again          string // says that there are others of it now
	unborn, silent error  // what ends one that shows no sign of life, ever or any more
}

// Where a process ends before it has begun a case, another is started: once, or so many times in
// a row where one before it has begun any, since a driver that a fault has brought down takes a
// moment. Each pause before a start is twice the last.
const (
	restarts     = 3
	restartPause = 500 * time.Millisecond
)

// away is the party that a process is.
type away struct{ process }

// measure implements party.
func (a away) measure(ctx context.Context, d *Driver, cases []Case) error {
	return d.launch(ctx, cases, a.process)
}

// launch has the process measure the cases, and starts another for what is left where one of
// them ends it. A case in whose product that happened has failed. The others of its turn are
// measured without a turn: they have lost the samples that they could be compared with.
func (d *Driver) launch(ctx context.Context, cases []Case, p process) error {
	cases = d.nameTurns(cases)
	notes := map[identity]string{} // warnings of rows, by what identifies them
	worked, idle := false, 0       // a process has begun a case; processes in a row that did not
	for len(cases) > 0 {
		d.reclaim()
		a, err := d.attempt(ctx, cases, p, notes)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return a.done[c.identity()] })
		if len(left) == 0 {
			return nil
		}
		if a.lost == nil {
			return d.fail(left, Failed, fmt.Errorf("%s ended and left no row", p.names().name))
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

// blame fails the case in whose product the attempt was ended, unless its row is there, and
// returns what is left of the cases.
func (d *Driver) blame(culprit Case, left []Case, a *attempt, notes map[identity]string) ([]Case, error) {
	if !a.done[culprit.identity()] {
		status := Failed
		if errors.Is(a.lost, a.process.names().silent) {
			status = Timeout
		}
		if err := d.fail([]Case{culprit}, status, a.lost); err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(c Case) bool { return c.identity() == culprit.identity() })
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

// fail puts rows of cases that were not measured on disk.
func (d *Driver) fail(cases []Case, status Status, reason error) error {
	var records []Record
	for _, c := range cases {
		r := c.record()
		r.Host, r.Run, r.Status = d.host.ID, d.run.ID, status
		r.Reason = gemm.Why(reason)
		records = append(records, r)
		d.learn(c, r)
	}
	return d.put(records)
}

// How often the driver looks for news, how long it waits for the first sign of life of a
// process, and how long after the time limit of a row for the next one. On a machine that is busy otherwise signs come late.
const (
	lookEvery = 200 * time.Millisecond
	bornTime  = 2 * time.Minute
	deadTime  = 8 * signEvery
)

// settleTime is how long a process that writes what is not a message has to end by itself.
const settleTime = time.Second

// attempt is one start of a process for a task.
type attempt struct {
	d       *Driver
	process process
	cases   []Case
	of      map[identity]Case   // the same, by what identifies them
	notes   map[identity]string // warnings of their rows
	run     string              // the run that rows are of

	done     map[identity]bool // cases whose rows are there, by what identifies them
	now      int               // the case that is measured, or was when the process ended; -1: none yet
	begun    []Case            // those that progress was told of
	heard    time.Time         // when the last sign of life came
	patience time.Duration
	born     bool  // there was one
	silent   bool  // there was none for too long
	over     bool  // the last message has come
	broken   error // what is wrong with a message; those after it are not heeded
	lost     error // what ended the process; nil: it was done
}

func (d *Driver) follow(cases []Case, p process, notes map[identity]string) *attempt {
	a := &attempt{
		d: d, process: p, cases: cases, of: map[identity]Case{}, notes: notes, run: d.run.ID,
		done: map[identity]bool{}, now: -1, heard: time.Now(), patience: bornTime,
	}
	for _, c := range cases {
		a.of[c.identity()] = c
	}
	return a
}

// attempt starts the process for the cases, and keeps their rows as they come. The error is
// that of the context or of the store.
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
		} else if a.broken != nil { // it may be its last words
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

// cause returns what ended a process that was not done, of which run returned err and whose last
// line is the rest.
func (a *attempt) cause(err error, rest []byte) error {
	names := a.process.names()
	var x *exit
	switch {
	case errors.Is(err, gemm.ErrUnavailable):
		return err
	case a.broken != nil:
		return a.broken
	case a.silent && !a.born:
		return names.unborn
	case a.silent:
		return names.silent
	case len(rest) > 0 && errors.As(err, &x) && x.state.Success():
		return fmt.Errorf("%s ended in the middle of a line: %s", names.name, short(rest))
	}
	return err
}

// take heeds a line of the process. An error is that of the store; what is wrong with the line is
// what breaks the attempt.
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
	case m.Row != nil:
		a.sign(-1)
		key := m.Row.Key.of("").with(m.Row.Params)
		c, asked := a.of[key]
		if !asked || a.done[key] {
			a.broken = fmt.Errorf("%s wrote a row that was not requested: %s", name, short(line))
			return nil
		}
		a.done[key] = true
		return a.keep(c, m.Row)
	case m.Done:
		a.over = true
	default:
		a.broken = fmt.Errorf("%s wrote something that is not a message: %s", name, short(line))
	}
	return nil
}

// keep keeps r as the row of the case in this run.
func (a *attempt) keep(c Case, r *Record) error {
	r.Host, r.Run = a.d.host.ID, a.run
	a.process.complete(a.d, r)
	if note, ok := a.notes[c.identity()]; ok {
		r.Warnings = append(r.Warnings, note)
	}
	a.d.learn(c, *r)
	return a.d.put([]Record{*r})
}

// sign is told of a sign of life, and which case is being measured; it is no case before the
// first.
func (a *attempt) sign(now int) {
	a.born, a.heard, a.patience = true, time.Now(), cmp.Or(a.d.dead, deadTime)
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
	if done || !a.born { // the process has only to end, or to begin
		limit = 0
	}
	if time.Since(a.heard) <= limit+a.patience {
		return false
	}
	a.silent = true
	return true
}

// adopt takes the ceilings and bandwidths of the unit that the run has not yet, and has what was
// measured belong to the run.
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
