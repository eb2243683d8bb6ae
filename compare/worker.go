package compare

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gemm"
	"gemm/compare/note"
	"gemm/internal/child"
)

// workerName is the program that serves a device.
const workerName = "gemm-cuda"

// stopTime is how long a process has to free its device and end.
const stopTime = 5 * time.Second

// worker is the process of a device: a program that is started for the task of all turns.
type worker struct {
	command func(ctx context.Context) (*exec.Cmd, error)
	absent  func(end error, stdout string) error // see Driver
	stop    time.Duration                        // in which it has to end
}

var errMute = errors.New(workerName + " hangs: it shows no sign of life")

func (worker) names() names {
	return names{workerName, workerName + " was started again", errMute, errMute}
}

// run implements process.
func (w worker) run(ctx context.Context, task []byte, out io.Writer) error {
	cmd, err := w.command(ctx)
	if err != nil {
		return err
	}
	var first beginning
	err = talk(cmd, workerName, task, io.MultiWriter(&first, out), w.stop)
	if errors.As(err, &child.End{}) && w.absent != nil && !bytes.HasPrefix(first, []byte("{")) { // it wrote no message
		line, _, _ := strings.Cut(string(first), "\n")
		return cmp.Or(w.absent(err, line), err)
	}
	return err
}

// beginning keeps the first bytes that are written to it.
type beginning []byte

// Write implements io.Writer.
func (b *beginning) Write(data []byte) (int, error) {
	*b = append(*b, data[:min(len(data), mostShown-len(*b))]...)
	return len(data), nil
}

// talk has the command, which was made with a context, read the task and write messages, and
// returns its exit.
func talk(cmd *exec.Cmd, name string, task []byte, out io.Writer, stop time.Duration) error {
	var told child.Tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(task), out, &told
	err := child.Run(cmd, stop)
	if cmd.ProcessState == nil {
		return gemm.Unavailablef("%s cannot be started: %w", filepath.Base(cmd.Path), err)
	}
	return child.NewEnd(name, cmd.ProcessState, &told)
}

// meet puts what a worker found into the descriptions of the host and the run.
func (worker) meet(d *Driver, f found) (string, error) {
	d.host.copyGPUs(f.Host)
	d.run.Libraries = maps.Clone(d.run.Libraries)
	if d.run.Libraries == nil {
		d.run.Libraries = map[string]string{}
	}
	maps.Copy(d.run.Libraries, f.Libraries)
	d.run.Libraries[workerName] = f.Run.Git
	if d.other == "" && f.Run.Git != d.run.Git && f.Run.Git != unknownGit && d.run.Git != unknownGit {
		d.other = fmt.Sprintf("%s is of revision %s and this program of %s: build both from one source", workerName,
			f.Run.Git, d.run.Git)
		if d.Warn != nil {
			d.Warn(d.other)
		}
	}
	d.adopt(f, "gpu")
	return d.run.ID, errors.Join(d.Store.PutHost(d.host), d.Store.PutRun(d.run),
		d.Store.PutMeasurements(f.Measurements...))
}

// complete implements process.
func (worker) complete(d *Driver, r *Record) {
	if d.other != "" {
		r.Warnings = append(r.Warnings, note.Note{Text: d.other})
	}
}
