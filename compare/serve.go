package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gemm"
	"gemm/cuda/guest"
)

// Served is what a process needs to measure for the driver of another process: on ranks, on a
// device, or as a build with other compiler options.
type Served struct {
	Variants []gemm.Variant // variants with working constructors
	// Guests returns the variants of the kernels that the task brings; nil: there are none.
	Guests func(kernels []guest.Kernel) []gemm.Variant
	Probes func(cases []Case) []Probe    // measured before the cases; nil: none
	Lead   func(b Budget) (*Lead, error) // on rank 0 of a job; otherwise nil
	Device *Device                       // in the worker of a device; otherwise nil
}

// Device is the device of a worker.
type Device struct {
	// Describe adds the GPUs, their driver and the versions of libraries to the host and the run.
	Describe func(h *Host, r *RunInfo)
	// Ceilings measures the peak of each pipe of GPU number device, and its bandwidth, for the
	// given time each.
	Ceilings func(ctx context.Context, device int, each time.Duration) ([]Ceiling, []Bandwidth, error)
	// Lost reports whether the device can compute nothing more for this process: after a fault, or
	// if a kernel does not end. It is called after each call of a multiplier, on the same
	// goroutine.
	Lost func() bool

	known []Ceiling // ceilings that this run has already
}

// The files in the folder of a Launch: the task, and the messages of rank 0.
const (
	taskFile    = "task"
	messageFile = "messages"
)

// ServeFolder is Serve with the files in the folder of a Launch.
func ServeFolder(ctx context.Context, folder string, s Served) error {
	in, err := os.Open(filepath.Join(folder, taskFile))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(filepath.Join(folder, messageFile), os.O_WRONLY|os.O_APPEND, 0)
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
	task, cases, err := readTask(in, s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := newLine(out, cases, cancel)
	defer l.live()()
	d := Driver{
		Store: &Store{}, Budget: task.Budget, Seed: task.Seed, Ceilings: task.Ceilings, Progress: l,
		Lead: &Lead{}, tell: func(f found) { l.send(message{Found: &f}) },
		traced: func(t Trace) { l.send(message{Trace: &t}) },
		gone:   func(err error) { l.send(message{Gone: err.Error()}) },
	}
	if s.Probes != nil {
		d.Probes = s.Probes(cases)
	}
	if s.Lead != nil {
		if d.Lead, err = s.Lead(task.Budget); err != nil {
			return err
		}
	}
	told := d.Lead.Now
	d.Lead.Now = func(c Case) {
		l.at(c)
		if told != nil {
			told(c)
		}
	}
	if s.Device != nil {
		d.device = s.Device
		d.device.known = task.Known
		err = d.runOnDevice(ctx, cases)
	} else {
		err = d.Run(ctx, cases)
	}
	if err == nil {
		l.send(message{Done: true})
	}
	return cmp.Or(context.Cause(ctx), err)
}

// runOnDevice runs the driver on another goroutine, and leaves it behind if the device does not
// answer.
func (d *Driver) runOnDevice(ctx context.Context, cases []Case) error {
	gave := make(chan string, 1)
	d.Lead.Lost = d.device.Lost
	d.Lead.GiveUp = func(reason string) {
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

// beginDevice describes the GPUs and measures the ceilings of those that the cases need. If
// something is missing, a measurement has the reason. It does nothing in a process that serves no
// device.
func (d *Driver) beginDevice(ctx context.Context, cases []Case) ([]Measurement, error) {
	if d.device == nil {
		return nil, nil
	}
	defer d.watch(d.Budget.Timeout, func() { d.Lead.GiveUp(errEndless.Error()) })()
	d.device.Describe(&d.host, &d.run)
	ceilings, bandwidths := slices.Clone(d.device.known), []Bandwidth(nil)
	var missing error
	for _, n := range devices(cases) {
		if d.Ceilings <= 0 || slices.ContainsFunc(d.device.known, func(c Ceiling) bool { return c.Device == n }) {
			continue
		}
		peaks, rates, err := d.device.Ceilings(ctx, n, d.Ceilings)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if d.Lead.Lost() {
				d.Lead.GiveUp(err.Error())
			}
			missing = errors.Join(missing, err)
		}
		for _, c := range peaks {
			c.Device = n
			ceilings = append(ceilings, c)
		}
		for _, b := range rates {
			b.Device = n
			bandwidths = append(bandwidths, b)
		}
	}
	for _, c := range ceilings {
		c.Unit, c.Run = "gpu", d.run.ID
		d.host.Ceilings = append(d.host.Ceilings, c)
	}
	for _, b := range bandwidths {
		b.Unit, b.Run = "gpu", d.run.ID
		d.host.Bandwidths = append(d.host.Bandwidths, b)
	}
	if missing == nil {
		return nil, nil
	}
	reason := strings.ReplaceAll(missing.Error(), "\n", "; ")
	return []Measurement{{Host: d.host.ID, Run: d.run.ID, Name: "gpu-ceilings", Params: gemm.Params{}, Unit: "GFLOP/s",
		Reason: reason}}, nil
}

// devices returns the numbers of the GPUs of the cases, ascending.
func devices(cases []Case) []int {
	var out []int
	for _, c := range cases {
		out = append(out, c.device())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
