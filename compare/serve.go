package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gemm"
)

// protocol is the version of the task and the messages of a worker.
const protocol = 1

// message is a line that a worker writes: one of the following.
type message struct {
	// Now is a sign of life and the index of the case that is being measured, -1 before the
	// first.
	Now *int `json:"now,omitempty"`
	// Device is what the worker found and measured before the first case.
	Device *found `json:"device,omitempty"`
	// Row is the row of a case.
	Row *Record `json:"row,omitempty"`
	// Done is the last message: there are no more rows.
	Done bool `json:"done,omitempty"`
}

// found is what a worker found and measured.
type found struct {
	GPUs       []string          `json:"gpus"`
	Driver     string            `json:"driver"`
	CUDA       string            `json:"cuda"`
	Libraries  map[string]string `json:"libraries"` // versions
	Git        string            `json:"git"`       // revision that the worker was built from
	Ceilings   []Ceiling         `json:"ceilings"`
	Bandwidths []Bandwidth       `json:"bandwidths"`
	// Missing says why there are no ceilings; empty where there are.
	Missing string `json:"missing,omitempty"`
}

// Served is what a process serves that computes on a device.
type Served struct {
	Variants []gemm.Variant // with constructors that work
	// Describe puts the GPUs, their driver and the versions of libraries in.
	Describe func(h *Host, r *RunInfo)
	// Ceilings measures the peak of each pipe of the GPU with that number and its bandwidth,
	// for that long each.
	Ceilings func(ctx context.Context, device int, each time.Duration) ([]Ceiling, []Bandwidth, error)
	// Lost reports whether the device can compute nothing more for this process: after a
	// fault, or with a kernel on it that does not end. It is called after each call of a
	// multiplier, and on the same goroutine.
	Lost func() bool
}

// Serve measures the task that comes in and writes what comes of it out. It is the other end
// of Driver.Worker. Where it returns an error, be it for one that the driver has been told
// of in a row, the process must end at once, without freeing what is on the device: the
// multipliers may still be at work, on a goroutine that Serve has left behind. Once the
// context has ended that is so too if they do not come back.
func Serve(ctx context.Context, in io.Reader, out io.Writer, s Served) error {
	task, err := readTask(in, s.Variants)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &line{out: json.NewEncoder(out), failed: cancel, index: map[string]int{}, now: -1}
	for i, c := range task.Cases {
		l.index[c.key("")] = i
	}
	defer l.live()()
	gave := make(chan string, 1)
	d := Driver{
		Store: &Store{}, Budget: task.Budget, Seed: task.Seed, Ceilings: task.Ceilings, Progress: l, Command: workerName,
		device: &device{Served: s, known: task.known, tell: l.device},
		Lead: &Lead{Lost: s.Lost, Now: l.at, GiveUp: func(reason string) {
			gave <- reason
			select {}
		}},
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, task.Cases) }()
	select {
	case reason := <-gave:
		return errors.New(reason)
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(leaveTime):
			return fmt.Errorf("%w: the device does not answer", context.Cause(ctx))
		}
	}
	if err == nil {
		l.send(message{Done: true})
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// leaveTime is how long what is measured has to come back when the context has ended.
const leaveTime = 2 * time.Second

// readTask reads the task of a worker.
func readTask(in io.Reader, variants []gemm.Variant) (t Task, err error) {
	var f taskFile
	if err := json.NewDecoder(in).Decode(&f); err != nil {
		return t, fmt.Errorf("the task on standard input: %w", err)
	}
	if f.Protocol != protocol {
		return t, fmt.Errorf("the task is of protocol %d, this program speaks %d: build gemm and %s from one source", f.Protocol, protocol, workerName)
	}
	if err := t.fill(f, variants); err != nil {
		return t, fmt.Errorf("the task: %w: build gemm and %s from one source", err, workerName)
	}
	return t, nil
}

// line is where a worker writes its messages. It is the Progress of its driver.
type line struct {
	mu     sync.Mutex
	out    *json.Encoder
	failed context.CancelCauseFunc // is called where nobody reads any more
	index  map[string]int          // of the task's cases, by what identifies them
	now    int
}

// send writes the message.
func (l *line) send(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(m)
}

func (l *line) write(m message) {
	if err := l.out.Encode(m); err != nil {
		l.failed(fmt.Errorf("standard output: %w", err))
	}
}

// live shows signs of life until stop is called.
func (l *line) live() (stop func()) {
	sign := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		now := l.now
		l.write(message{Now: &now})
	}
	sign()
	done := make(chan struct{})
	go func() {
		every := time.NewTicker(signEvery)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				sign()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// at says which case is being measured; it is a Lead's.
func (l *line) at(c Case) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i, ok := l.index[c.key("")]; ok && i != l.now {
		l.now = i
		l.write(message{Now: &i})
	}
}

// device tells what was found.
func (l *line) device(f found) { l.send(message{Device: &f}) }

// Begin implements Progress.
func (l *line) Begin([]Case) {}

// Done implements Progress.
func (l *line) Done(r Record, _ bool) { l.send(message{Row: &r}) }

// device is what the driver of a process that serves one has besides.
type device struct {
	Served
	known []Ceiling // that were measured in the same run
	tell  func(found)
}

// beginDevice describes the GPUs and measures the ceilings of those that the cases are for, if
// this process serves them.
func (d *Driver) beginDevice(ctx context.Context, cases []Case) error {
	if d.device == nil {
		return nil
	}
	defer d.watch(d.Budget.Timeout, func() { d.Lead.GiveUp(errEndless.Error()) })()
	f := found{Libraries: map[string]string{}, Git: d.run.Git, Ceilings: d.device.known}
	before := maps.Clone(d.run.Libraries)
	d.device.Describe(&d.host, &d.run)
	f.GPUs, f.Driver, f.CUDA = d.host.GPUs, d.host.Driver, d.host.CUDA
	for name, version := range d.run.Libraries {
		if before[name] != version {
			f.Libraries[name] = version
		}
	}
	var missing error
	for _, n := range devices(cases) {
		if d.Ceilings <= 0 || slices.ContainsFunc(d.device.known, func(c Ceiling) bool { return c.Device == n }) {
			continue
		}
		ceilings, bandwidths, err := d.device.Ceilings(ctx, n, d.Ceilings)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if d.Lead.Lost != nil && d.Lead.Lost() {
				d.Lead.GiveUp(err.Error())
			}
			missing = errors.Join(missing, err)
		}
		for _, c := range ceilings {
			c.Device = n
			f.Ceilings = append(f.Ceilings, c)
		}
		for _, b := range bandwidths {
			b.Device = n
			f.Bandwidths = append(f.Bandwidths, b)
		}
	}
	if missing != nil {
		f.Missing = strings.ReplaceAll(missing.Error(), "\n", "; ")
	}
	for i := range f.Ceilings {
		f.Ceilings[i].Unit, f.Ceilings[i].Run = "gpu", d.run.ID
	}
	for i := range f.Bandwidths {
		f.Bandwidths[i].Unit, f.Bandwidths[i].Run = "gpu", d.run.ID
	}
	d.host.Ceilings = append(d.host.Ceilings, f.Ceilings...)
	d.host.Bandwidths = append(d.host.Bandwidths, f.Bandwidths...)
	d.device.tell(f)
	return nil
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
