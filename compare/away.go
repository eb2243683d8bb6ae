package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gemm"
	"gemm/internal/cpu"
)

// party is who measures cases in place of this process: ranks, or the worker of a device.
type party struct {
	name   string // as the one who ends, or is ended
	again  string // says that there are others of it now
	silent error  // what ends one that shows no sign of life
	// attempt starts one for the cases, and keeps their rows as they come. The error is
	// that of the context or of the store.
	attempt func(ctx context.Context, cases []Case, notes map[string]string) (attempt, error)
}

// attempt is one start of a party for a task.
type attempt struct {
	done map[string]bool // cases whose rows are there, by what identifies them
	now  int             // the case that was being measured when the party ended; -1: none yet
	lost error           // what ended the party; nil: it was done
}

// Where a party ends before it has begun a case, another is started: once, or so many times in
// a row where one before it has begun any, since a driver that a fault has brought down takes a
// moment. Each pause before a start is twice the last.
const (
	restarts     = 3
	restartPause = 500 * time.Millisecond
)

// launch has the party measure the cases, and starts another for what is left where one of
// them ends it. A case in whose product that happened has failed. The others of its turn are
// measured without a turn: they have lost the samples that they could be compared with.
func (d *Driver) launch(ctx context.Context, cases []Case, p party) error {
	notes := map[string]string{} // warnings of rows, by what identifies them
	worked, idle := false, 0     // a party has begun a case; parties in a row that did not
	for len(cases) > 0 {
		d.reclaim()
		a, err := p.attempt(ctx, cases, notes)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return a.done[c.key("")] })
		if len(left) == 0 {
			return nil
		}
		if a.lost == nil {
			return d.fail(left, Failed, fmt.Errorf("%s ended and left no row", p.name))
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
			notes[left[0].key("")] = fmt.Sprintf("%s: %v", p.again, a.lost)
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
		culprit := cases[a.now]
		if !a.done[culprit.key("")] {
			status := Failed
			if errors.Is(a.lost, p.silent) {
				status = Timeout
			}
			if err := d.fail([]Case{culprit}, status, a.lost); err != nil {
				return err
			}
			left = slices.DeleteFunc(left, func(c Case) bool { return c.key("") == culprit.key("") })
		}
		for i, c := range left {
			if c.Turn != "" && c.Turn == culprit.Turn {
				notes[c.key("")] = fmt.Sprintf("measured apart: its turn was lost when %s ended %s: %v", culprit, p.name, a.lost)
				left[i].Turn = ""
			}
		}
		cases = left
	}
	return nil
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

// turns cuts cases where a turn ends. The parts share the memory of cases.
func turns(cases []Case) [][]Case {
	var out [][]Case
	for from, i := 0, 1; from < len(cases); i++ {
		if i == len(cases) || cases[i].Turn == "" || cases[i].Turn != cases[from].Turn {
			out = append(out, cases[from:i])
			from = i
		}
	}
	return out
}

// turnOf returns the cases that are in one turn with the one at i.
func turnOf(cases []Case, i int) []Case {
	for _, turn := range turns(cases) {
		if i < len(turn) {
			return turn
		}
		i -= len(turn)
	}
	return nil
}

// nameTurns names the turns of cases that another process measures, those that do not fit
// into memory in parts.
func (d *Driver) nameTurns(cases []Case) {
	taken := d.takenTurns()
	for _, turn := range turns(cases) {
		for _, part := range parts(turn, float64(cpu.Available())) {
			freeTurn(part, taken)
			copy(turn, part)
			turn = turn[len(part):]
		}
	}
}

// How often the driver looks for news, how long it waits for the first sign of life of a
// party, and how long after the time limit of a row for the next one. On a machine that is busy otherwise signs come late.
const (
	lookEvery = 200 * time.Millisecond
	bornTime  = 2 * time.Minute
	deadTime  = 8 * signEvery
)

// following is an attempt that is under way.
type following struct {
	attempt
	d        *Driver
	cases    []Case
	of       map[string]Case   // the same, by what identifies them
	notes    map[string]string // warnings of their rows
	begun    []Case            // those that progress was told of
	heard    time.Time         // when the last sign of life came
	patience time.Duration
	born     bool // there was one
	silent   bool // there was none for too long
}

func (d *Driver) follow(cases []Case, notes map[string]string) *following {
	f := &following{
		attempt: attempt{done: map[string]bool{}, now: -1},
		d:       d, cases: cases, of: map[string]Case{}, notes: notes, heard: time.Now(), patience: bornTime,
	}
	for _, c := range cases {
		f.of[c.key("")] = c
	}
	return f
}

// sign is told of a sign of life, and which case is being measured; it is no case before the
// first.
func (f *following) sign(now int) {
	f.born, f.heard, f.patience = true, time.Now(), cmp.Or(f.d.dead, deadTime)
	if now < 0 || now >= len(f.cases) {
		return
	}
	f.now = now
	if turn := turnOf(f.cases, now); len(f.begun) == 0 || &f.begun[0] != &turn[0] {
		f.begun = turn
		f.d.Progress.Begin(turn)
	}
}

// overdue reports, once, that there was no sign of life for too long.
func (f *following) overdue() bool {
	limit, done := f.d.Budget.Timeout, len(f.done) == len(f.cases)
	if f.silent || f.born && !done && limit <= 0 {
		return false
	}
	if done || !f.born { // the party has only to end, or to begin
		limit = 0
	}
	if time.Since(f.heard) <= limit+f.patience {
		return false
	}
	f.silent = true
	return true
}

// wants reports whether r is the row of a case that has none yet.
func (f *following) wants(r Record) bool {
	key := rowKey("", r)
	_, asked := f.of[key]
	return asked && !f.done[key]
}

// keep keeps those of the rows that are wanted as rows of this run.
func (f *following) keep(records []Record) error {
	var kept []Record
	for _, r := range records {
		if !f.wants(r) {
			continue
		}
		key := rowKey("", r)
		f.done[key] = true
		r.Host, r.Run = f.d.host.ID, f.d.run.ID
		if note, ok := f.notes[key]; ok {
			r.Warnings = append(r.Warnings, note)
		}
		f.d.learn(f.of[key], r)
		kept = append(kept, r)
	}
	return f.d.put(kept)
}
