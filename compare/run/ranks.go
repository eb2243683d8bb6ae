package run

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"gemm/compare/record"
	"gemm/internal/output"
)

// ranks is the process that a Launch starts: count ranks. They read the task from a file and write messages to another.
type ranks struct {
	*Executors
	count int
}

// The files in the folder of a Launch: the task, and the messages of rank 0.
const (
	TaskFile    = "task"
	MessageFile = "messages"
)

// run implements process.
func (r ranks) run(ctx context.Context, task []byte, out io.Writer) error {
	scratch, err := output.NewScratch("ranks")
	if err != nil {
		return err
	}
	defer scratch.Remove()
	if err := os.WriteFile(filepath.Join(scratch.Path, TaskFile), task, 0o600); err != nil {
		return err
	}
	messages, err := os.OpenFile(filepath.Join(scratch.Path, MessageFile), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = messages.Close() }()
	ended := make(chan error, 1)
	go func() { ended <- r.Launch(ctx, r.count, scratch.Path) }()
	look := time.NewTicker(pollEvery)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			_, lost := io.Copy(out, messages)
			return cmp.Or(err, lost)
		case <-look.C: // copies what is new
			if _, err := io.Copy(out, messages); err != nil {
				return errors.Join(err, <-ended)
			}
		}
	}
}

// merge implements process.
func (r ranks) merge(f Found, to Sink) (run, warning string, err error) {
	r.assign(&f, "cpu")
	return r.Bench.Run, "", to.Put(record.Document{Hosts: []record.Host{r.Bench.Host}, Measurements: f.Measurements})
}
