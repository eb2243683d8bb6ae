// Package compare plans, runs, verifies and records measurements of matrix multiplications.
//
// Measure, record and render are three steps. This package does the first two, and does not know
// what a report looks like. Package gemm/compare/report renders records, and measures nothing.
package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"gemm"
	"gemm/compare/note"
	"gemm/internal/cpu"
	"gemm/internal/sample"
)

// Progress is informed of the course of Driver.Run. Its methods are called on the goroutine of Run,
// with one exception: if Lead gives a case up, Run is stuck, and Done is called on another goroutine.
type Progress interface {
	// Begin is called before cases are measured. It gets all cases of a turn at once.
	Begin(cases []Case)
	// Done is called with every row after it is on disk, and again if the row was measured again.
	// kept: it was on disk before the run.
	Done(r Record, kept bool)
}

// Quiet is a Progress that ignores everything.
type Quiet struct{}

// Begin implements Progress.
func (Quiet) Begin([]Case) {}

// Done implements Progress.
func (Quiet) Done(Record, bool) {}

// Driver measures cases and stores their rows.
type Driver struct {
	Store    *Store
	Budget   Budget
	Seed     uint64
	Progress Progress
	Command  string        // the command line, for the record of the run
	Ceilings time.Duration // time to measure each peak and each bandwidth; 0: none is measured
	// Bandwidth requests the memory bandwidth too, at the numbers of threads that a report needs, if rows take leastTriad.
	Bandwidth bool
	// Build returns the command that serves a task by program, a build with other compiler options.
	// It is nil in a process that measures such cases itself.
	Build func(ctx context.Context, program string) *exec.Cmd

	// Again limits the time at the end of a run in which rows with a wide spread are measured once
	// more. 0: none are.
	Again time.Duration

	Probes []Probe // measured before the cases

	// Launch starts the ranks for cases on several ranks. A process that is rank 0 has Lead
	// instead. If both are nil, the variants return errors that say what to do.
	Launch Launch
	Lead   *Lead
	MPI    string // name and version of the library of those ranks

	// Worker returns the command that serves the cases on a device. Its error says why there is
	// none, and wraps gemm.ErrUnavailable. Worker is nil in a process that runs the cases on a
	// device itself.
	Worker func(ctx context.Context) (*exec.Cmd, error)
	// NoWorker returns why a worker that ended without a message has no device; nil: it may have one.
	NoWorker func(end error, stdout string) error
	// Warn is called once with a warning that concerns all rows of a worker. It may be nil.
	Warn func(text string)

	host     Host
	run      RunInfo
	settings settings
	lessons  map[string]lesson // by lessonKey, from the last row of each
	alone    []measured        // cases of this run that were not in a turn
	hung     error             // in which case a process hung; nil: in none
	left     float64           // bytes of workspaces that the last cases have freed
	device   *Device           // set in a process that serves a device
	tell     func(found)       // receives what was found before the first case; nil in the driver of the user
	gone     func(error)       // is told which hosts are lost; nil in the driver of the user
	traced   func(Trace)       // receives the timelines of rows before these; nil in the driver of the user
	other    string            // warning for all rows if the worker is of another revision; otherwise empty

	// replace the constants grace, deadTime, stopTime and restartPause unless 0
	grace, dead, stop, pause time.Duration
}

// Probe is a measurement that is not a product, for example of the packing alone.
type Probe struct {
	Name   string
	Params gemm.Params
	// Call is repeated like a product. One call counts as Flops; the record has the rates in GFLOP/s.
	Call  func()
	Flops float64
	// Samples, if not nil, replaces Call. It returns samples in Unit. If it returns an error, the
	// record has the reason instead of samples.
	Samples func(ctx context.Context) ([]float64, error)
	Unit    string
}

// Run measures the cases that are not in the store yet, in their order, and those of a worker at the
// end. Rows that ended as failed, timeout or unavailable are measured again.
//
// A row is on disk before the next one begins. The rows of a turn are finished together, and are on
// disk before the next turn begins. If a row fails, its record has the reason, and Run goes on. Run
// returns the error of the context or of the store, or at the end says in which case ranks or a device hung.
func (d *Driver) Run(ctx context.Context, cases []Case) error {
	start := time.Now()
	d.lessons, d.alone, d.hung = map[string]lesson{}, nil, nil
	var variants []gemm.Variant
	for _, c := range cases {
		variants = append(variants, c.Variant)
	}
	d.Store.Declare(variants)
	if err := d.begin(ctx, cases); err != nil {
		return err
	}
	defer func() { d.settings = settings{} }()
	for _, a := range d.assign(cases) {
		d.reclaim()
		todo, err := d.admit(a.cases)
		if err != nil {
			return err
		}
		if len(todo) == 0 {
			continue
		}
		if err := a.to.measure(ctx, d, todo); err != nil {
			return err
		}
	}
	return cmp.Or(ctx.Err(), d.again(ctx, time.Since(start)), d.hung)
}

// admit returns the cases that have to be measured. Cases with a row on disk are left out, and so are
// cases that are refused, for which it stores a row with the reason.
func (d *Driver) admit(group []Case) ([]Case, error) {
	var todo []Case
	var records []Record
	for _, c := range group {
		if r, ok := d.Store.find(c.Key.of(d.host.ID).with(c.Params)); ok && d.keeps(c, r) {
			d.learn(c, r)
			d.Progress.Done(r, true)
			continue
		}
		if reason := d.refuse(c); reason.Text != "" {
			r := c.record()
			r.Host, r.Run, r.Status, r.Reason = d.host.ID, d.run.ID, Skipped, reason
			records = append(records, r)
			continue
		}
		todo = append(todo, c)
	}
	return todo, d.put(records)
}

// muchLeft is the number of freed bytes that pays for a garbage collection before the next cases.
const muchLeft = 64 << 20

// reclaim returns the workspaces of the last cases to the system if they are large. cpu.Available
// would count them as used. Memory in a sync.Pool is freed by the second collection.
func (d *Driver) reclaim() {
	if d.left > muchLeft {
		runtime.GC()
		debug.FreeOSMemory()
	}
	d.left = 0
}

// put stores rows, then their traces, and then informs Progress.
func (d *Driver) put(records []Record, traces ...Trace) error {
	if len(records) == 0 {
		return nil
	}
	if err := d.Store.Put(records...); err != nil {
		return err
	}
	if len(traces) > 0 {
		if err := d.Store.PutTraces(traces...); err != nil {
			return err
		}
	}
	for _, t := range traces {
		if d.traced != nil {
			d.traced(t)
		}
	}
	for _, r := range records {
		d.Progress.Done(r, false)
	}
	return nil
}

// keeps reports whether the row r on disk is good enough for the case. If the case requests a
// timeline, the row must have one, or a warning that says why not.
func (d *Driver) keeps(c Case, r Record) bool {
	if v := c.Variant; v.Revision != "" && r.Resolved["digest"] != v.Revision {
		return false
	}
	switch r.Status {
	case Failed, Timeout, Unavailable, Suspect:
		return false
	case Skipped: // as long as the reason holds
		return d.refuse(c).Text != ""
	case OK:
		return !c.Timeline || d.Store.Traced(r) || r.Warns(note.NoTimeline)
	}
	return true
}

// refuse returns why a case is not measured: by prediction it needs more memory than is available, or
// more time than a row may take. It returns the zero note if the case may run.
func (d *Driver) refuse(c Case) note.Note {
	if need, have := c.Bytes(), float64(cpu.Available()); have > 0 && need > have {
		return note.New("memory", humanize.IBytes(uint64(need)), humanize.IBytes(uint64(have)), c.Smaller())
	}
	last, ok := d.lessons[lessonKey(c)]
	if !ok {
		return note.Note{}
	}
	took := last.predict(c)
	switch most := d.Budget.of(c.Experiment); {
	case most.Timeout > 0 && took > most.Timeout:
		return note.New("long-row", took.Round(time.Second).String(), most.Timeout.String())
	case most.Call > 0 && took > most.Call && c.Terms() > callTerms:
		return note.New("long-call", took.Round(10*time.Millisecond).String(), most.Call.String())
	}
	return note.Note{}
}

// learn notes what a row took, to predict the time of larger cases.
func (d *Driver) learn(c Case, r Record) {
	switch {
	case c.Terms() == 0:
	case r.Speed():
		d.lessons[lessonKey(c)] = lesson{c, float64(r.Median), r.ModelSeconds, r.ModelLatency, r.ModelTransfer}
	case r.Status == Timeout:
		d.lessons[lessonKey(c)] = lesson{c: c, took: d.Budget.Timeout.Seconds()}
	}
}

// lesson is what a case took, in seconds. If the case has a model of its messages, it is what the model
// predicted too, with its parts for latencies and for bytes; otherwise these are 0.
type lesson struct {
	c                                 Case
	took, modelled, latency, transfer float64
}

// fixedCost is the time of a call, in seconds, that may have nothing to do with the size of the product:
// threads are woken, and a kernel is started.
const fixedCost = 100e-6

// predict returns about how long a call of a larger case takes. Latencies remain, bytes grow with the
// operands, and all but a fixed cost of the rest with the operations. A large part of the time of
// a small product is such a cost: without this, 1×1×1 over a network would predict hours for n = 1000.
func (l lesson) predict(c Case) time.Duration {
	fixed, bytes := min(l.took, fixedCost), 0.0
	if l.modelled > 0 {
		slower := l.took / l.modelled
		fixed, bytes = max(fixed, slower*l.latency), slower*l.transfer
	}
	rest := max(0, l.took-fixed-bytes)
	seconds := fixed + bytes*c.Shape.Elements()/l.c.Shape.Elements() + rest*c.flops()/l.c.flops()
	return time.Duration(min(seconds*float64(time.Second), 1<<62))
}

func lessonKey(c Case) string { return fmt.Sprint(c.Variant.Name, c.Type, c.Op, c.Params, c.Build) }

// begin describes the host and the run, measures the ceilings at the numbers of threads of the cases,
// and stores all of it.
func (d *Driver) begin(ctx context.Context, cases []Case) error {
	host, err := DescribeHost()
	if err != nil {
		return err
	}
	d.host = host
	d.host.MPI = d.MPI
	d.run = newRun(d.Command, host.ID, time.Now())
	for _, old := range d.Store.Document().Runs {
		if old.Host == d.run.Host && old.sameProgram(d.run) {
			d.run = old.continuedBy(d.Command)
		}
	}
	if d.Ceilings > 0 {
		var threads, streaming []int
		for _, c := range cases {
			if c.Ranks() > 0 || c.OnDevice() {
				continue
			}
			n := busy(c, runtime.GOMAXPROCS(0))
			threads = append(threads, n)
			if d.Bandwidth && d.Budget.Time >= leastTriad && c.hasTraffic() {
				streaming = append(streaming, n)
			}
		}
		measureCeilings(ctx, &d.host, d.run.ID, pipes(cases),
			slices.Compact(slices.Sorted(slices.Values(threads))), d.Ceilings)
		measureBandwidths(ctx, &d.host, d.run.ID, slices.Compact(slices.Sorted(slices.Values(streaming))), d.Ceilings)
		if err := d.ceilingsOfRanks(ctx, cases); err != nil {
			return err
		}
	}
	libraries := maps.Clone(d.run.Libraries)
	missing, err := d.beginDevice(ctx, cases)
	if err != nil {
		return err
	}
	measurements, err := d.probe(ctx)
	measurements = append(measurements, missing...)
	if d.tell != nil && err == nil {
		f := found{Host: d.host, Run: d.run, Measurements: measurements, Libraries: maps.Clone(d.run.Libraries)}
		maps.DeleteFunc(f.Libraries, func(name, version string) bool { return libraries[name] == version })
		d.tell(f)
	}
	return errors.Join(err, d.Store.PutHost(d.host), d.Store.PutRun(d.run), d.Store.PutMeasurements(measurements...))
}

// probe measures the probes. Those without Samples are repeated as long as a ceiling is.
func (d *Driver) probe(ctx context.Context) ([]Measurement, error) {
	var out []Measurement
	for _, p := range d.Probes {
		m := Measurement{Host: d.host.ID, Run: d.run.ID, Name: p.Name, Params: p.Params, Unit: cmp.Or(p.Unit, "GFLOP/s")}
		samples := p.Samples
		if samples == nil {
			samples = func(ctx context.Context) ([]float64, error) { return p.rates(ctx, d.Ceilings) }
		}
		var err error
		if m.Samples, err = samples(ctx); err != nil {
			if ctx.Err() != nil {
				break
			}
			m.Reason = gemm.Why(err)
		}
		out = append(out, m)
	}
	return out, ctx.Err()
}

// rates repeats Call for the given time and returns its rates.
func (p Probe) rates(ctx context.Context, each time.Duration) ([]float64, error) {
	s := sample.Sampler{Call: func(_ context.Context, times int) (time.Duration, error) {
		start := time.Now()
		for range times {
			p.Call()
		}
		return time.Since(start), nil
	}}
	if _, err := s.Warm(ctx); err != nil {
		return nil, err
	}
	err := s.Burst(ctx, sample.Budget{Reps: sample.MinForInterval, Time: each})
	var rates []float64
	for _, seconds := range s.Seconds {
		rates = append(rates, p.Flops/seconds/1e9)
	}
	return rates, err
}
