// Package run measures cases by one of the executors: this process (package turn), MPI ranks, the worker of a GPU, or a
// build of this program with other compiler options. The other executors are processes. They read a task and write
// messages (messages.go); state.go has their states.
//
// A library and a kernel of the user run in processes too, of package peer, which their multipliers start: for this
// package, this process measures them.
package run

import (
	"context"
	"os/exec"
	"runtime"
	"runtime/debug"
	"time"

	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run/turn"
	"gemm/compare/schedule"
	"gemm/internal/cpu"
)

// Launch starts the given number of ranks of this program, which measure the task in the folder, and
// returns when they have ended. The error says in one line why they ended early. It wraps
// gemm.ErrUnavailable if ranks cannot be started here. If the context ends, Launch ends the ranks.
type Launch func(ctx context.Context, ranks int, folder string) error

// Processes starts the other executors.
type Processes struct {
	// Launch starts ranks. It is nil in a process that is rank 0, and if there are no ranks: the variants then return
	// errors that say what to do.
	Launch Launch
	// Worker returns the command that serves the cases on a GPU. Its error says why there is none, and wraps
	// gemm.ErrUnavailable. It is nil in a process that measures the cases on a GPU itself.
	Worker func(ctx context.Context) (*exec.Cmd, error)
	// NoWorker returns why a worker that wrote no message has no GPU, from its end and its output; nil: it ended for
	// another reason. It may be nil.
	NoWorker func(end error, stdout string) error
	// Build returns the command that serves a task by program, a build with other compiler options. It is nil in a
	// process that measures such cases itself.
	Build func(ctx context.Context, program string) *exec.Cmd
	// Warn is called once with a warning that concerns all rows of a worker. It may be nil.
	Warn func(text string)
	// Stop replaces stopTime unless it is 0.
	Stop time.Duration
}

// Executors measure cases.
type Executors struct {
	Processes
	Bench *turn.Bench    // this process
	Info  record.RunInfo // of this run, whose id the bench has

	freed float64 // bytes of workspaces that the last cases have freed
	other string  // warning for all rows if the worker is of another revision
}

// Sink stores what an executor finds and measures.
type Sink interface {
	// Begin is called with all cases of a turn before they are measured.
	Begin(cases []plan.Case)
	// Keep stores rows and their traces.
	Keep(rows []record.Record, traces []record.Trace) error
	// Put stores what else there is, as the Put of a record.Store does.
	Put(doc record.Document) error
}

// muchFreed is the number of freed bytes from which garbage is collected before the next cases.
const muchFreed = 64 << 20

// Memory returns the bytes that are available. It first returns the workspaces of the last cases to the system if they
// are large, which would count as used. Memory in a sync.Pool is freed by the second collection.
func (p *Executors) Memory() float64 {
	if p.freed > muchFreed {
		runtime.GC()
		debug.FreeOSMemory()
	}
	p.freed = 0
	return float64(cpu.Available())
}

// Measure measures the cases of a step by its executor, after the step's pause. The error is of the context or of the
// sink.
func (p *Executors) Measure(ctx context.Context, step schedule.Step, to Sink) (schedule.Outcome, error) {
	if step.Wait > 0 {
		select {
		case <-time.After(step.Wait):
		case <-ctx.Done():
			return schedule.Outcome{}, ctx.Err()
		}
	}
	start := time.Now()
	end, err := p.measure(ctx, step, to)
	return schedule.Outcome{Took: time.Since(start), End: end}, err
}

func (p *Executors) measure(ctx context.Context, step schedule.Step, to Sink) (*schedule.End, error) {
	switch step.Executor.Kind {
	case schedule.Ranks:
		return p.follow(ctx, step, ranks{p, step.Executor.Count}, to)
	case schedule.GPU:
		return p.follow(ctx, step, worker{p}, to)
	case schedule.Built:
		return p.follow(ctx, step, build{plan.BuildNamed(step.Executor.Build), p}, to)
	}
	to.Begin(step.Cases)
	rows, traces, err := p.Bench.Measure(ctx, step.Cases)
	if err != nil {
		return nil, err
	}
	for _, c := range step.Cases {
		p.freed += c.Workspace()
	}
	return nil, to.Keep(rows, traces)
}
