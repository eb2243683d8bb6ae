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
	"gemm/internal/ipc"
)

// stopTime is how long a process has to free its device and end.
const stopTime = 5 * time.Second

// worker is the process of a GPU: a program that is started for the task of all turns.
type worker struct{ *Executors }

// run implements process.
func (w worker) run(ctx context.Context, task []byte, out io.Writer) error {
	cmd, err := w.Worker(ctx)
	if err != nil {
		return err
	}
	var first prefix
	err = execute(cmd, schedule.Worker, task, io.MultiWriter(&first, out), cmp.Or(w.Stop, stopTime))
	if w.NoWorker == nil || !errors.As(err, &ipc.ExitError{}) || bytes.HasPrefix(first, []byte(nowWord+" ")) {
		return err
	}
	line, _, _ := strings.Cut(string(first), "\n") // it wrote no message
	return cmp.Or(w.NoWorker(err, line), err)
}

// prefix is a writer that keeps the first bytes.
type prefix []byte

func (b *prefix) Write(data []byte) (int, error) {
	const most = 256
	*b = append(*b, data[:min(len(data), most-len(*b))]...)
	return len(data), nil
}

// execute runs the command, which was made with a context, on the task, and returns how it ended.
func execute(cmd *exec.Cmd, name string, task []byte, out io.Writer, stop time.Duration) error {
	var stderr ipc.Tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(task), out, &stderr
	err := ipc.Run(cmd, stop)
	if cmd.ProcessState == nil {
		return gemm.Unavailablef("%s cannot be started: %w", filepath.Base(cmd.Path), err)
	}
	return ipc.NewExitError(name, cmd.ProcessState, &stderr)
}

// merge adds what a worker found to the descriptions of the host and the run.
func (w worker) merge(f Found, to Sink) (run, warning string, err error) {
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
	w.assign(&f, "gpu")
	return info.ID, w.other, to.Put(record.Document{Hosts: []record.Host{*h}, Runs: []record.RunInfo{*info},
		Measurements: f.Measurements})
}
