package compare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gemm"
	"gemm/internal/child"
)

// workerName is the program that serves a device.
const workerName = "gemm-cuda"

// errMute: the worker that was started shows no sign of life.
var errMute = errors.New(workerName + " hangs: it shows no sign of life")

// stopTime is how long a worker has to free its device and end.
const stopTime = 5 * time.Second

// runWorker measures cases on a device: all their turns are the task of one worker.
func (d *Driver) runWorker(ctx context.Context, cases []Case) error {
	todo, err := d.admit(cases)
	if err != nil || len(todo) == 0 {
		return err
	}
	d.nameTurns(todo)
	return d.launch(ctx, todo, party{workerName, workerName + " was started again", errMute, d.attemptWorker})
}

// attemptWorker starts a worker for the cases; it is the attempt of a party.
func (d *Driver) attemptWorker(ctx context.Context, cases []Case, notes map[string]string) (attempt, error) {
	f := d.follow(cases, notes)
	task := Task{Cases: cases, Budget: d.Budget, Seed: d.Seed, Ceilings: d.Ceilings}
	for _, c := range d.host.Ceilings {
		if c.Unit == "gpu" && c.Run == d.run.ID {
			task.known = append(task.known, c)
		}
	}
	data, err := task.encode()
	if err != nil {
		return f.attempt, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd, err := d.Worker(running)
	if err != nil {
		f.lost = err
		return f.attempt, ctx.Err()
	}
	gone := make(chan struct{})
	defer close(gone)
	said := &lines{to: make(chan []byte, 64), gone: gone}
	var told child.Tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(data), said, &told
	ended := make(chan error, 1)
	go func() { ended <- child.Run(cmd, cmp.Or(d.stop, stopTime)) }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	w := working{following: f}
	take := func(line []byte) error {
		if w.broken != nil {
			return nil
		}
		var err error
		if w.broken, err = w.take(line); err != nil {
			stop()
		} else if w.broken != nil { // it may be its last words
			time.AfterFunc(settleTime, stop)
		}
		return err
	}
	var failed error // of the store
	for over := false; !over; {
		select {
		case err = <-ended:
			over = true
		case line := <-said.to:
			failed = cmp.Or(failed, take(line))
		case <-look.C:
			if f.overdue() {
				stop()
			}
		}
	}
	for len(said.to) > 0 {
		failed = cmp.Or(failed, take(<-said.to))
	}
	if failed != nil {
		return f.attempt, failed
	}
	switch {
	case ctx.Err() != nil, w.over:
	case !w.spoke && cmd.ProcessState != nil && NoWorker(cmd.ProcessState, w.first, told.Reason()) != nil:
		f.lost = NoWorker(cmd.ProcessState, w.first, told.Reason())
	case w.broken != nil:
		f.lost = w.broken
	case f.silent:
		f.lost = errMute
	default:
		f.lost = ending(cmd, err, told.Reason(), said.rest)
	}
	return f.attempt, ctx.Err()
}

// settleTime is how long a worker that writes what is no message has to end by itself.
const settleTime = time.Second

// ending returns what became of a worker that has ended before it was done.
func ending(cmd *exec.Cmd, err error, reason string, rest []byte) error {
	state := cmd.ProcessState
	switch {
	case state == nil:
		return gemm.Unavailablef("%s cannot be started: %w", filepath.Base(cmd.Path), err)
	case state.Success() && len(rest) > 0:
		return fmt.Errorf("%s ended in the middle of a line: %s", workerName, short(rest))
	case state.Success():
		return fmt.Errorf("%s ended before it was done", workerName)
	}
	text := fmt.Sprintf("%s ended with %s", workerName, strings.Replace(state.String(), "signal: ", "signal ", 1))
	if reason != "" {
		text += ": " + strings.TrimPrefix(reason, workerName+": ")
	}
	return errors.New(text)
}

// NoWorker returns why a worker that has ended without a message has no device, from what
// it wrote to standard output and the last line of its standard error; the error wraps
// gemm.ErrUnavailable. It is nil where the worker was ended by something else.
func NoWorker(state *os.ProcessState, stdout, stderr string) error {
	const loading, finding = "error while loading shared libraries: ", "Error in initialization, "
	_, library, loads := strings.Cut(stderr, loading)
	_, why, _ := strings.Cut(stdout, "details on: ")
	reason := strings.TrimPrefix(strings.TrimPrefix(stderr, workerName+": "), gemm.ErrUnavailable.Error()+": ")
	switch {
	case state.ExitCode() == 127 && loads: // of the system's loader
		library, _, _ = strings.Cut(library, ":")
		reason = fmt.Sprintf("there is no NVIDIA driver: %s is not found", library)
	case state.ExitCode() == 1 && strings.HasPrefix(stdout, finding): // of gorgonia.org/cu
		reason = "there is no NVIDIA GPU, or its driver does not work: " + strings.TrimSpace(why)
	case state.ExitCode() != 1 || reason == "":
		return nil
	}
	return gemm.Unavailablef("%s", reason)
}

// working is an attempt with a worker that is under way.
type working struct {
	*following
	spoke  bool   // a message has come
	first  string // line, where it is none
	over   bool   // the last one has come
	broken error  // what is wrong with a message; the others are not heeded
}

// take heeds a line of the worker. An error is that of the store; broken says that the line
// is no message that can come now.
func (w *working) take(line []byte) (broken, err error) {
	var m message
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&m)
	if m.Row != nil {
		err = errors.Join(err, m.Row.Params.Whole(), m.Row.Resolved.Whole())
	}
	if err != nil || decoder.More() {
		if !w.spoke {
			w.first = string(line)
		}
		return fmt.Errorf("%s wrote what is no message: %s", workerName, short(line)), nil
	}
	w.spoke = true
	switch {
	case m.Now != nil && *m.Now >= -1 && *m.Now < len(w.cases):
		w.sign(*m.Now)
	case m.Device != nil:
		w.sign(-1)
		return nil, w.d.meet(*m.Device)
	case m.Row != nil && w.wants(*m.Row):
		w.sign(-1)
		if w.d.other != "" {
			m.Row.Warnings = append(m.Row.Warnings, w.d.other)
		}
		return nil, w.keep([]Record{*m.Row})
	case m.Row != nil:
		return fmt.Errorf("%s wrote a row that was not asked for: %s", workerName, short(line)), nil
	case m.Done:
		w.over = true
	default:
		return fmt.Errorf("%s wrote what is no message: %s", workerName, short(line)), nil
	}
	return nil, nil
}

// meet puts what a worker found into the descriptions of the host and the run.
func (d *Driver) meet(f found) error {
	d.host.GPUs, d.host.Driver, d.host.CUDA = f.GPUs, f.Driver, f.CUDA
	d.run.Libraries = maps.Clone(d.run.Libraries)
	if d.run.Libraries == nil {
		d.run.Libraries = map[string]string{}
	}
	maps.Copy(d.run.Libraries, f.Libraries)
	d.run.Libraries[workerName] = f.Git
	if d.other == "" && f.Git != d.run.Git && f.Git != unknownGit && d.run.Git != unknownGit {
		d.other = fmt.Sprintf("%s is of revision %s and this program of %s: build both from one source", workerName, f.Git, d.run.Git)
		if d.Warn != nil {
			d.Warn(d.other)
		}
	}
	for _, c := range f.Ceilings {
		c.Unit, c.Run = "gpu", d.run.ID
		same := func(old Ceiling) bool {
			return old.Unit == c.Unit && old.Run == c.Run && old.Device == c.Device && old.Pipe == c.Pipe
		}
		if !slices.ContainsFunc(d.host.Ceilings, same) {
			d.host.Ceilings = append(d.host.Ceilings, c)
		}
	}
	for _, b := range f.Bandwidths {
		b.Unit, b.Run = "gpu", d.run.ID
		same := func(old Bandwidth) bool {
			return old.Unit == b.Unit && old.Run == b.Run && old.Device == b.Device && old.Name == b.Name
		}
		if !slices.ContainsFunc(d.host.Bandwidths, same) {
			d.host.Bandwidths = append(d.host.Bandwidths, b)
		}
	}
	err := errors.Join(d.Store.PutHost(d.host), d.Store.PutRun(d.run))
	if f.Missing != "" {
		missing := Measurement{Host: d.host.ID, Run: d.run.ID, Name: "gpu-ceilings", Params: gemm.Params{}, Unit: "GFLOP/s", Reason: f.Missing}
		err = errors.Join(err, d.Store.PutMeasurements(missing))
	}
	return err
}

// mostLine is the length of a line that is no message in any case.
const mostLine = 16 << 20

// lines cuts what is written to it into lines. A line that is not ended is the rest.
type lines struct {
	to   chan []byte
	gone <-chan struct{} // closed when nobody reads any more
	rest []byte
}

// Write implements io.Writer.
func (l *lines) Write(data []byte) (int, error) {
	for part := range bytes.SplitAfterSeq(data, []byte("\n")) {
		l.rest = append(l.rest, part...)
		if bytes.HasSuffix(part, []byte("\n")) || len(l.rest) > mostLine {
			select {
			case l.to <- bytes.TrimSpace(l.rest):
			case <-l.gone:
				return 0, io.ErrClosedPipe
			}
			l.rest = nil
		}
	}
	return len(data), nil
}

// mostShown is how many bytes of a line are quoted.
const mostShown = 120

// short quotes a line, or its beginning.
func short(line []byte) string {
	if len(line) > mostShown {
		return fmt.Sprintf("%q…", line[:mostShown])
	}
	return fmt.Sprintf("%q", line)
}
