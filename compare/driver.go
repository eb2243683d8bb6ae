// Package compare plans, runs, verifies and records measurements of matrix
// multiplications. Measure, record and render are three steps: this package does
// the first two and knows nothing of how a report looks; gemm/compare/report
// renders what is recorded here and measures nothing.
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
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"gemm"
	"gemm/internal/cpu"
	"gemm/internal/sample"
)

// Progress is told what is happening. Its methods are called on the goroutine of
// Driver.Run, but for the row of a case that Lead gives up: its Done is called on another,
// while Run is stuck.
type Progress interface {
	// Begin is called before the cases are measured, together where they are
	// measured in turn.
	Begin(cases []Case)
	// Done is called with every row once it is on disk; kept rows were there before.
	Done(r Record, kept bool)
}

// Quiet is a Progress that says nothing.
type Quiet struct{}

// Begin implements Progress.
func (Quiet) Begin([]Case) {}

// Done implements Progress.
func (Quiet) Done(Record, bool) {}

// Driver measures cases and keeps their rows.
type Driver struct {
	Store    *Store
	Budget   Budget
	Seed     uint64
	Progress Progress
	Command  string        // the command line, for the record of the run
	Ceilings time.Duration // spent on measuring each peak and bandwidth; 0: none is measured
	// Bandwidth says that the memory bandwidth is measured as well, at the numbers of threads
	// of rows that a report compares with it.
	Bandwidth bool
	// Build returns the command by which the program, a build of this one with other options of
	// the compiler, serves a task. It is nil in a process that measures such cases itself.
	Build func(ctx context.Context, program string) *exec.Cmd

	Probes []Probe // measured before the cases

	// Cases on several ranks are measured by ranks that Launch starts, or on those that
	// this process leads; where it does neither, their variants say what to do.
	Launch Launch
	Lead   *Lead
	MPI    string // name and version of the library of those ranks

	// Worker returns the command that is run to Serve the cases on a device. The error says
	// why there is none, and wraps gemm.ErrUnavailable. It is nil in a process that computes
	// them itself; where they cannot be, their variants say what to do.
	Worker func(ctx context.Context) (*exec.Cmd, error)
	// Warn is told, once, what may be wrong with all rows of a worker; nil: nobody is.
	Warn func(text string)

	host     Host
	run      RunInfo
	settings settings
	rates    map[string]float64 // flops a second of a variant and type, from its last row
	left     float64            // bytes of workspaces that the last cases let go of
	device   *Device            // of a process that serves one
	tell     func(found)        // is told what was found before the first case; nil: nobody is
	other    string             // a warning of all rows: the worker is of another revision; empty: it is not

	// in place of the constants grace, deadTime, stopTime and restartPause; 0: those
	grace, dead, stop, pause time.Duration
}

// Probe is a piece of work that is no product and is recorded beside the rows.
type Probe struct {
	Name   string
	Params gemm.Params
	// Call is repeated as products are, and its rate in GFLOP/s recorded, of the
	// Flops of one call.
	Call  func()
	Flops float64
	// Samples, where it is not nil, measures in place of Call and returns samples in
	// Unit. An error is recorded as the reason why there are none.
	Samples func(ctx context.Context) ([]float64, error)
	Unit    string
}

// Run measures the cases that the store does not hold yet, in their order, those of a worker
// after all others. Rows that ended in an error, a timeout or unavailable are measured again. Every row
// is on disk before the next one begins, and rows that are measured in turn, none of
// which is finished before the others are, before what comes after them. The error is that of the context or of
// the store; what went wrong with a row is in the row.
func (d *Driver) Run(ctx context.Context, cases []Case) error {
	d.rates = map[string]float64{}
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
	return ctx.Err()
}

// admit returns those of the cases that are to be measured: not those whose rows are kept,
// and not those that are refused, whose rows say why.
func (d *Driver) admit(group []Case) ([]Case, error) {
	var todo []Case
	var records []Record
	for _, c := range group {
		if r, ok := d.Store.find(c.Key.of(d.host.ID).with(c.Params)); ok && d.keeps(c, r) {
			d.learn(c, r)
			d.Progress.Done(r, true)
			continue
		}
		if reason := d.refuse(c); reason != "" {
			r := c.record()
			r.Host, r.Run, r.Status, r.Reason = d.host.ID, d.run.ID, Skipped, reason
			records = append(records, r)
			continue
		}
		todo = append(todo, c)
	}
	return todo, d.put(records)
}

// muchLeft is how many bytes are worth the time of a collection before the next cases.
const muchLeft = 64 << 20

// reclaim gives the workspaces of the last cases back to the system where they were
// large: cpu.Available counts them as used. What a sync.Pool holds takes two collections.
func (d *Driver) reclaim() {
	if d.left > muchLeft {
		runtime.GC()
		debug.FreeOSMemory()
	}
	d.left = 0
}

// put puts rows and then their traces on disk and tells of them.
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
	for _, r := range records {
		d.Progress.Done(r, false)
	}
	return nil
}

// keeps reports whether r, which is on disk, stands for the case: it was measured, and
// has its timeline, or says why it has none, if one is asked for.
func (d *Driver) keeps(c Case, r Record) bool {
	switch r.Status {
	case Failed, Timeout, Unavailable:
		return false
	case Skipped: // while the reason stands
		return d.refuse(c) != ""
	case OK:
		return !c.Timeline || d.Store.Traced(r) || slices.ContainsFunc(r.Warnings,
			func(w string) bool { return strings.HasPrefix(w, noTimeline) })
	}
	return true
}

// refuse returns why a case is not measured: it is predicted to need more memory
// than there is or more time than a row may take.
func (d *Driver) refuse(c Case) string {
	if need, have := c.Bytes(), float64(cpu.Available()); have > 0 && need > have {
		return fmt.Sprintf("needs %s of memory, %s are available: %s",
			humanize.IBytes(uint64(need)), humanize.IBytes(uint64(have)), c.Smaller())
	}
	if rate, ok := d.rates[rateKey(c)]; ok && d.Budget.Timeout > 0 {
		if took := time.Duration(c.flops() / rate * float64(time.Second)); took > d.Budget.Timeout {
			return fmt.Sprintf("predicted to take %v a call at the rate of the size before, the row may take %v: raise it with --timeout",
				took.Round(time.Second), d.Budget.Timeout)
		}
	}
	return ""
}

// learn notes the rate of a row, by which larger ones are predicted.
func (d *Driver) learn(c Case, r Record) {
	switch {
	case r.Speed():
		d.rates[rateKey(c)] = c.flops() / float64(r.Median)
	case r.Status == Timeout:
		d.rates[rateKey(c)] = c.flops() / d.Budget.Timeout.Seconds()
	}
}

func rateKey(c Case) string { return fmt.Sprint(c.Variant.Name, c.Type, c.Op, c.Params, c.Build) }

// begin describes the host and the run, measures the ceilings at the numbers of
// threads that the cases use, and puts all that in the store.
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
			d.run = old
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
			if d.Bandwidth && c.hasTraffic() {
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

// probe measures the probes, those without samples of their own as rows are, for as
// long as a ceiling.
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

// rates repeats the call of p for that long and returns its rates.
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

// ceiling returns the measured peak for the type at that number of busy threads.
func (d *Driver) ceiling(pipe string, threads int) (float64, bool) {
	return d.ceilingOf(func(c Ceiling) bool { return c.Unit == "cpu" && c.Pipe == pipe && c.Threads == threads })
}

// ceilingOf returns the first measured peak that is as asked for.
func (d *Driver) ceilingOf(wanted func(Ceiling) bool) (float64, bool) {
	for _, c := range d.host.Ceilings {
		if c.Run == d.run.ID && wanted(c) && c.Gflops.Known() {
			return float64(c.Gflops), true
		}
	}
	return 0, false
}
