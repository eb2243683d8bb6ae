// Package compare measures cases and keeps their rows. It is a pipeline of four packages:
//
//	plan      which cases there are: of a profile, a host and the variants
//	schedule  what is measured next, as a function of the cases and of the rows so far
//	run       measures it, in this process or in others
//	record    keeps the rows on disk
//
// Package report renders records, and measures nothing.
package compare

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/compare/run/turn"
	"gemm/compare/schedule"
)

// Progress is informed of the course of Driver.Run. Its methods are called on the goroutine of Run, with one exception:
// if Lead gives a case up, Run is stuck, and Done is called on another goroutine.
type Progress interface {
	// Begin is called before cases are measured. It gets all cases of a turn at once.
	Begin(cases []plan.Case)
	// Done is called with every row after it is on disk, and again if the row was measured again.
	// kept: it was on disk before the run.
	Done(r record.Record, kept bool)
}

// Quiet is a Progress that ignores everything.
type Quiet struct{}

// Begin implements Progress.
func (Quiet) Begin([]plan.Case) {}

// Done implements Progress.
func (Quiet) Done(record.Record, bool) {}

// Driver says how cases are measured, and where their rows are kept.
type Driver struct {
	Store    *record.Store
	Progress Progress
	Budget   plan.Budget
	Seed     uint64
	Command  string        // the command line, for the record of the run
	Ceilings time.Duration // time to measure each peak and each bandwidth; 0: none is measured
	// Bandwidth requests the memory bandwidth too, at the numbers of threads that a report needs.
	Bandwidth bool
	// Again limits the time at the end of a run in which rows with a wide spread are measured once more. 0: none are.
	Again     time.Duration
	Measure   func() []record.Measurement // of the ranks that this process leads, before the cases; nil: nothing
	Processes run.Processes
	Lead      *turn.Lead // in a process that is rank 0, in place of Processes.Launch
	MPI       string     // name and version of the library of the ranks

	device *Device       // in a process that serves a GPU
	to     *run.Reporter // in a process that measures for another one
}

// Run measures the cases that are not in the store yet, in their order, on a GPU at the end. Rows that ended
// as failed, timeout or unavailable are measured again.
//
// A row is on disk before the next one begins. The rows of a turn are finished together, and are on
// disk before the next turn begins. If a row fails, its record has the reason, and Run goes on. Run
// returns the error of the context or of the store, or at the end says in which case ranks or a device hung.
func (d *Driver) Run(ctx context.Context, cases []plan.Case) error {
	start := time.Now()
	executors, err := d.begin(ctx, cases)
	if err != nil {
		return err
	}
	defer executors.Bench.Free()
	s := schedule.New(cases, schedule.Rules{
		Budget: d.Budget, Again: d.Again, Host: executors.Bench.Host.ID, Run: executors.Bench.Run,
		Ranks: d.Processes.Launch != nil, GPU: d.Processes.Worker != nil, Builds: d.Processes.Build != nil,
	}, d.Store)
	for {
		step, more := s.Next(schedule.Now{Elapsed: time.Since(start), Memory: executors.Memory()})
		if !more {
			return cmp.Or(ctx.Err(), s.Err())
		}
		for _, r := range step.Kept {
			d.Progress.Done(r, true)
		}
		if err := d.put(step.Rows, nil); err != nil {
			return err
		}
		if len(step.Cases) == 0 {
			continue
		}
		outcome, err := executors.Measure(ctx, step, sink{d.Progress, d.Store, d, s, step})
		if err != nil {
			return err
		}
		s.Done(step, outcome)
	}
}

// sink stores what a step measures. It is a run.Sink.
type sink struct {
	Progress
	*record.Store
	d    *Driver
	s    *schedule.Schedule
	step schedule.Step
}

// Keep implements run.Sink.
func (k sink) Keep(rows []record.Record, traces []record.Trace) error {
	return k.d.put(k.s.Measured(k.step, rows, traces))
}

// put stores rows, then their traces, and then informs Progress.
func (d *Driver) put(rows []record.Record, traces []record.Trace) error {
	if len(rows) == 0 {
		return nil
	}
	if err := d.Store.Put(record.Document{Records: rows, Traces: traces}); err != nil {
		return err
	}
	for _, t := range traces {
		if d.to != nil {
			d.to.Trace(t)
		}
	}
	for _, r := range rows {
		d.Progress.Done(r, false)
	}
	return nil
}

// begin describes the host and the run, measures the ceilings at the numbers of threads of the cases and what Measure
// does, and stores all of it. It returns what measures the cases.
func (d *Driver) begin(ctx context.Context, cases []plan.Case) (*run.Executors, error) {
	var variants []gemm.Variant
	for _, c := range cases {
		variants = append(variants, c.Variant)
	}
	d.Store.Declare(variants)
	host, err := record.DescribeHost()
	if err != nil {
		return nil, err
	}
	host.MPI = d.MPI
	p := &run.Executors{Processes: d.Processes, Info: record.NewRun(d.Command, host.ID, time.Now())}
	for _, old := range d.Store.Document().Runs {
		if old.Host == p.Info.Host && old.SameProgram(p.Info) {
			p.Info = old.ContinuedBy(d.Command)
		}
	}
	b := &turn.Bench{Budget: d.Budget, Seed: d.Seed, Ceilings: d.Ceilings, Lead: d.Lead,
		Host: host, Run: p.Info.ID, Abandon: d.abandon}
	p.Bench = b
	if d.Ceilings > 0 {
		if err := b.MeasureCeilings(ctx, cases, d.Bandwidth); err != nil {
			return nil, err
		}
	}
	found := run.Found{}
	if d.device != nil {
		if found, err = d.device.begin(ctx, d, p, cases); err != nil {
			return nil, err
		}
	}
	if d.Measure != nil {
		found.Measurements = append(found.Measurements, d.Measure()...)
	}
	for i := range found.Measurements {
		m := &found.Measurements[i]
		m.Host, m.Run = host.ID, b.Run
	}
	found.Host, found.Run = b.Host, p.Info
	if d.to != nil && ctx.Err() == nil {
		d.to.Found(found)
	}
	return p, errors.Join(ctx.Err(), d.Store.Put(record.Document{Hosts: []record.Host{b.Host},
		Runs: []record.RunInfo{p.Info}, Measurements: found.Measurements}))
}

// abandon stores the row of a case that is given up.
func (d *Driver) abandon(row record.Record, hosts error) error {
	err := d.put([]record.Record{row}, nil)
	if hosts != nil && d.to != nil {
		d.to.Unreachable(hosts)
	}
	return err
}
