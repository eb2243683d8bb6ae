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
)

// Served is what a process needs to measure for a driver: on ranks, on a device or as a build
// with other compiler options.
type Served struct {
	Variants []gemm.Variant                // with constructors that work
	Probes   func(cases []Case) []Probe    // measured before the cases; nil: none
	Lead     func(b Budget) (*Lead, error) // of a process that leads ranks; nil: it does not
	Device   *Device                       // of a process that computes on one; nil: it does not
}

// Device is what a process knows of the device that it computes on.
type Device struct {
	// Describe puts the GPUs, their driver and the versions of libraries in.
	Describe func(h *Host, r *RunInfo)
	// Ceilings measures the peak of each pipe of the GPU with that number and its bandwidth,
	// for that long each.
	Ceilings func(ctx context.Context, device int, each time.Duration) ([]Ceiling, []Bandwidth, error)
	// Lost reports whether the device can compute nothing more for this process: after a
	// fault, or with a kernel on it that does not end. It is called after each call of a
	// multiplier, and on the same goroutine.
	Lost func() bool

	known []Ceiling // that were measured in the same run
}

// The files of a folder by which ranks and their driver exchange a task and messages.
const (
	taskFile    = "task"
	messageFile = "messages"
)

// ServeFolder is Serve on the files of the folder that a Launch was given.
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

// Serve measures the task that comes in and writes what comes of it out, on the goroutine that
// calls it unless it computes on a device. There, if it returns an error, be it one that the
// driver has been told of in a row, the process must end at once, without freeing what is on
// the device: the multipliers may still be at work, on a goroutine that Serve has left behind.
// Once the context has ended that is so too if they do not come back.
func Serve(ctx context.Context, in io.Reader, out io.Writer, s Served) error {
	task, cases, err := readTask(in, s.Variants)
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

// runOnDevice runs the driver and leaves it behind if the device does not answer.
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

// leaveTime is how long what is measured has to come back when the context has ended.
const leaveTime = 2 * time.Second

// beginDevice describes the GPUs and measures the ceilings of those that the cases are for, if
// this process serves them. What it did not find is the reason of a measurement.
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

// devices returns the numbers of the GPUs that the cases are for, in order.
func devices(cases []Case) []int {
	var out []int
	for _, c := range cases {
		out = append(out, c.device())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
