package run

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
	"gemm/compare/record"
	"gemm/compare/schedule"
	"gemm/internal/child"
)

// stopTime is how long a process has to free its device and end.
const stopTime = 5 * time.Second

// worker is the process of a GPU: a program that is started for the task of all turns.
type worker struct{ *Parties }

// run implements process.
func (w worker) run(ctx context.Context, task []byte, out io.Writer) error {
	cmd, err := w.Worker(ctx)
	if err != nil {
		return err
	}
	var first beginning
	err = talk(cmd, schedule.Worker, task, io.MultiWriter(&first, out), cmp.Or(w.Stop, stopTime))
	if w.NoWorker == nil || !errors.As(err, &child.End{}) || bytes.HasPrefix(first, []byte(nowWord+" ")) {
		return err
	}
	line, _, _ := strings.Cut(string(first), "\n") // it wrote no message
	return cmp.Or(w.NoWorker(err, line), err)
}

// beginning keeps the first bytes that are written to it.
type beginning []byte

// Write implements io.Writer.
func (b *beginning) Write(data []byte) (int, error) {
	const most = 256
	*b = append(*b, data[:min(len(data), most-len(*b))]...)
	return len(data), nil
}

// talk has the command, which was made with a context, read the task and write messages, and returns its end.
func talk(cmd *exec.Cmd, name string, task []byte, out io.Writer, stop time.Duration) error {
	var said child.Tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(task), out, &said
	err := child.Run(cmd, stop)
	if cmd.ProcessState == nil {
		return gemm.Unavailablef("%s cannot be started: %w", filepath.Base(cmd.Path), err)
	}
	return child.NewEnd(name, cmd.ProcessState, &said)
}

// meet puts what a worker found into the descriptions of the host and the run.
func (w worker) meet(f Found, to Sink) (run, warning string, err error) {
	h, info := &w.Bench.Host, &w.Info
	h.CopyGPUs(f.Host)
	libraries := map[string]string{}
	maps.Copy(libraries, info.Libraries)
	maps.Copy(libraries, f.Libraries)
	libraries[schedule.Worker] = f.Run.Git
	info.Libraries = libraries
	if w.other == "" && f.Run.Git != info.Git && f.Run.Git != record.UnknownGit && info.Git != record.UnknownGit {
		w.other = fmt.Sprintf("%s is of revision %s and this program of %s: build both from one source", schedule.Worker,
			f.Run.Git, info.Git)
		if w.Warn != nil {
			w.Warn(w.other)
		}
	}
	w.adopt(&f, "gpu")
	return info.ID, w.other, errors.Join(to.PutHost(*h), to.PutRun(*info), to.PutMeasurements(f.Measurements...))
}
