package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/compare/run/turn"
)

// Served is what a process needs to measure for the driver of another process: on ranks, on a
// GPU, or as a build with other compiler options.
type Served struct {
	Variants []gemm.Variant // variants with working constructors
	// UserVariants returns the variants of the sources in a task; nil: there are none.
	UserVariants func(sources []json.RawMessage) ([]gemm.Variant, error)
	Measure      func() []record.Measurement             // is called before the cases; nil: nothing is
	Lead         func(b plan.Budget) (*turn.Lead, error) // on rank 0 of a job; otherwise nil
	Device       *Device                                 // in the worker of a GPU; otherwise nil
}

// Device is the GPUs of a worker.
type Device struct {
	// Describe adds the GPUs, their driver and the versions of libraries to the host and the run.
	Describe func(h *record.Host, r *record.RunInfo)
	// Ceilings measures the peak of each pipe of GPU number device, and its bandwidth, for the given time each, and
	// its latencies.
	Ceilings func(ctx context.Context, device int, each time.Duration) (run.Found, error)
	// Lost reports whether the device can compute nothing more for this process: after a fault, or if a kernel does
	// not end. It is called after each call of a multiplier, on the same goroutine.
	Lost func() bool

	known []record.Ceiling // ceilings that this run has already
}

// ServeFolder is Serve with the files in the folder of a run.Launch.
func ServeFolder(ctx context.Context, folder string, s Served) error {
	in, err := os.Open(filepath.Join(folder, run.TaskFile))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(filepath.Join(folder, run.MessageFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	return errors.Join(Serve(ctx, in, out, s), out.Close())
}

// Serve reads a task, measures it and writes messages. It runs on the goroutine of the caller, except
// for products on a device. If Serve for a device returns an error, the process must end at once,
// without freeing what is on the device: multipliers may still run on a goroutine that Serve left
// behind. The same holds after the context has ended, if they do not return.
func Serve(ctx context.Context, in io.Reader, out io.Writer, s Served) error {
	task, err := run.ReadTask(in, s.Variants, s.UserVariants, runtime.NumCPU())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	to := run.NewReporter(out, task.Cases, cancel)
	defer to.Heartbeat()()
	d := Driver{Store: &record.Store{}, Budget: task.Budget, Seed: task.Seed, Ceilings: task.Ceilings,
		Progress: to, Lead: &turn.Lead{}, Measure: s.Measure, to: to}
	if s.Lead != nil {
		if d.Lead, err = s.Lead(task.Budget); err != nil {
			return err
		}
	}
	next := d.Lead.Now
	d.Lead.Now = func(c plan.Case) {
		to.SetCase(c)
		if next != nil {
			next(c)
		}
	}
	if s.Device != nil {
		d.device = s.Device
		d.device.known = task.Known
		err = d.runOnDevice(ctx, task.Cases)
	} else {
		err = d.Run(ctx, task.Cases)
	}
	if err == nil {
		to.End()
	}
	return cmp.Or(context.Cause(ctx), err)
}

// runOnDevice runs the driver on another goroutine, and leaves it behind if the device does not answer.
func (d *Driver) runOnDevice(ctx context.Context, cases []plan.Case) error {
	gave := make(chan string, 1)
	d.Lead.Lost = d.device.Lost
	d.Lead.Abort = func(reason string) {
		gave <- reason
		select {}
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, cases) }()
	select {
	case reason := <-gave:
		return errors.New(reason)
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(leaveTime):
		return fmt.Errorf("%w: the device does not answer", context.Cause(ctx))
	}
}

// leaveTime is the time that the product in progress has to return after the context has ended.
const leaveTime = 2 * time.Second

// begin describes the GPUs and measures the ceilings of the GPUs of the cases. If
// something is missing, a measurement has the reason.
func (x *Device) begin(ctx context.Context, d *Driver, p *run.Executors, cases []plan.Case) (run.Found, error) {
	b := p.Bench
	defer b.Watch(d.Budget.Timeout, func() { d.Lead.Abort(turn.ErrDeviceHung.Error()) })()
	libraries := maps.Clone(p.Info.Libraries)
	x.Describe(&b.Host, &p.Info)
	found := run.Found{Libraries: maps.Clone(p.Info.Libraries)}
	maps.DeleteFunc(found.Libraries, func(name, version string) bool { return libraries[name] == version })
	for _, c := range x.known {
		c.Run = b.Run
		b.Host.Ceilings = append(b.Host.Ceilings, c)
	}
	var missing error
	devices := map[int]bool{}
	for _, c := range cases {
		devices[c.Device()] = true
	}
	for _, n := range slices.Sorted(maps.Keys(devices)) {
		if d.Ceilings <= 0 || slices.ContainsFunc(x.known, func(c record.Ceiling) bool { return c.Device == n }) {
			continue
		}
		measured, err := x.Ceilings(ctx, n, d.Ceilings)
		if err != nil {
			if ctx.Err() != nil {
				return found, ctx.Err()
			}
			if d.Lead.Lost() {
				d.Lead.Abort(err.Error())
			}
			missing = errors.Join(missing, err)
		}
		for _, c := range measured.Host.Ceilings {
			c.Device, c.Unit, c.Run = n, "gpu", b.Run
			b.Host.Ceilings = append(b.Host.Ceilings, c)
		}
		for _, r := range measured.Host.Bandwidths {
			r.Device, r.Unit, r.Run = n, "gpu", b.Run
			b.Host.Bandwidths = append(b.Host.Bandwidths, r)
		}
		found.Measurements = append(found.Measurements, measured.Measurements...)
	}
	if missing != nil {
		found.Measurements = append(found.Measurements, record.Measurement{Name: "gpu-ceilings", Params: gemm.Params{},
			Unit: "GFLOP/s", Reason: strings.ReplaceAll(missing.Error(), "\n", "; ")})
	}
	return found, nil
}
