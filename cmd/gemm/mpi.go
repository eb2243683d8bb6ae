package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/compare/run/turn"
	"gemm/internal/cpu"
	"gemm/internal/ipc"
	"gemm/mpi"
	"gemm/mpi/launch"
	mpiplan "gemm/mpi/plan"
)

// mpiFamily is the family whose variants run on ranks, and the command that measures it.
const mpiFamily = "mpi"

// asRank reports whether this process is a rank: the build has MPI, the process was started with
// others, and the command is for ranks.
func asRank(args []string) bool {
	_, launched := launch.Started(os.LookupEnv)
	return mpi.Built && launched && len(args) > 1 && args[1] == mpiFamily
}

// checkRanks returns an error if the environment says that this process, which is not to be a rank,
// is one of several that were started together. Each would run the whole command.
func checkRanks() error {
	remedy := "this build has no MPI: make build (go build -tags mpi ./cmd/gemm), or start it without mpirun"
	if mpi.Built {
		remedy = "only gemm mpi runs on ranks: start the others without mpirun"
	}
	switch o, ok := launch.Started(os.LookupEnv); {
	case !ok || o.Tasks() || o.Ranks == 1:
		return nil
	case o.Ranks == 0:
		return fmt.Errorf("started as rank %d (%s), but %s", o.Rank, o.Variable, remedy)
	default:
		return fmt.Errorf("started as one of %d ranks (%s), but %s", o.Ranks, o.Variable, remedy)
	}
}

// startLimit is the time limit for all ranks to begin. errorDelay is how long a rank waits before it ends after an
// error of all ranks, so that each can print it. closeLimit is how long rank 0 waits for the others to end.
const (
	startLimit = 2 * time.Minute
	errorDelay = 300 * time.Millisecond
	closeLimit = 10 * time.Second
)

// runRank runs the command line on one of the ranks that were started together. Rank 0 runs the
// command, the others serve its requests.
func runRank(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	runtime.LockOSThread() // all calls of MPI come from here
	if err := ipc.DieWithParent(); err != nil {
		return fmt.Errorf("gemm mpi: this process would outlive mpirun: %w", err)
	}
	defer launch.CreateSharedFolder()()
	begun := time.AfterFunc(startLimit, func() {
		exitAll(stderr, nil, fmt.Sprintf("the ranks have not all begun within %v", startLimit))
	})
	job, err := mpi.Start(args[1:])
	begun.Stop()
	if alone := (launch.Alone{}); errors.As(err, &alone) && alone.Rank > 0 {
		time.Sleep(10 * errorDelay) // the first rank says it, and what started the ranks ends this one
		os.Exit(statusFailed)
	}
	if err != nil {
		time.Sleep(errorDelay)
		return fmt.Errorf("gemm mpi: %w", err)
	}
	withJob := context.WithValue(ctx, jobKey{}, job)
	if job.Rank() != 0 {
		// All ranks need the settings that the options choose. Rank 0 alone prints what is wrong with the command line.
		_ = newApp(io.Discard, io.Discard).RunContext(withJob, args)
		return serve(ctx, job, stderr)
	}
	err = runApp(withJob, args, stdout, stderr)
	if ctx.Err() != nil {
		return err // mpirun is ending the ranks, or will when this one has ended
	}
	defer time.AfterFunc(closeLimit, func() {
		exitAll(stderr, job, fmt.Sprintf("the other ranks do not end within %v", closeLimit))
	}).Stop()
	if closed := job.Close(); closed != nil {
		err = errors.Join(err, fmt.Errorf("gemm mpi: %w", closed))
	}
	return err
}

// serve runs a rank that is not rank 0. Whatever its error, the process must end: the
// others wait for it, and mpirun ends them.
func serve(ctx context.Context, job *mpi.Job, stderr io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("gemm mpi: rank %d: panicked: %v", job.Rank(), p)
		}
	}()
	if err := job.Serve(ctx, func(reason string) { exitAll(stderr, job, reason) }); err != nil {
		return fmt.Errorf("gemm mpi: %w", err)
	}
	return nil
}

// exitAll ends this process, and with it all ranks. If a host does not answer, the programs that started this rank
// would wait for it: they are ended too. job is nil before the ranks have begun.
func exitAll(stderr io.Writer, job *mpi.Job, reason string) {
	silent := job != nil && len(job.Unreachable()) > 0
	fmt.Fprintln(stderr, "gemm mpi: "+reason)
	if silent {
		launch.InterruptLaunchers()
	}
	os.Exit(statusFailed)
}

type jobKey struct{}

// jobOf returns the job that this process is a rank of; nil if it is none.
func jobOf(ctx context.Context) *mpi.Job {
	job, _ := ctx.Value(jobKey{}).(*mpi.Job)
	return job
}

// onRanks completes and checks the numbers of ranks and the grids of l. The ranks are this job's, or by default one
// per processor. Too many ranks for this host are an error unless oversubscribe is set.
func onRanks(ctx context.Context, oversubscribe bool, l *plan.Ladder) error {
	for _, text := range l.Sweep["grid"] {
		if _, err := mpiplan.ParseGrid(text.(string)); err != nil && text != "auto" {
			return usagef("--grid %q: must be PxQ, such as 2x4, or auto", text)
		}
	}
	job := jobOf(ctx)
	if job != nil {
		l.Hosts = job.Hosts()
	}
	switch {
	case job != nil && l.Sweep["ranks"] == nil:
		l.Sweep["ranks"] = []any{job.Size()}
	case job != nil && !slices.Equal(l.Sweep["ranks"], []any{job.Size()}):
		return usagef("--np %v: mpirun has started %d ranks: leave --np out, or start gemm mpi without mpirun",
			l.Sweep["ranks"][0], job.Size())
	case l.Sweep["ranks"] == nil:
		l.Sweep["ranks"] = []any{runtime.NumCPU()}
	case job == nil && !oversubscribe:
		return checkCounts(l.Sweep["ranks"], launch.Detect().Processors)
	}
	return nil
}

// maxRanksPerProcessor is the number of ranks for each processor that gemm starts without --oversubscribe:
// each takes memory, and they share the processors.
const maxRanksPerProcessor = 8

// checkCounts returns an error for a number of ranks that would overload a host with the given processors.
func checkCounts(ranks []any, processors int) error {
	for _, n := range ranks {
		if most := maxRanksPerProcessor * processors; n.(int) > most {
			return usagef("--np %d: more than %d ranks for each of %d processors: use at most %d, or add --%s", n,
				maxRanksPerProcessor,
				processors, most, oversubscribeName)
		}
	}
	return nil
}

const oversubscribeName = "oversubscribe"

func oversubscribeFlag() cli.Flag {
	return switchFlag(oversubscribeName,
		fmt.Sprintf("allow --np more than %d ranks for each processor of this host", maxRanksPerProcessor))
}

// lead returns what the driver of rank 0 needs to lead the others; nil if this process is no rank. A row may take as
// long as the limit says. show shows the rows that there are when the ranks are given up.
func lead(c *cli.Context, limit time.Duration, show func() error) (*turn.Lead, error) {
	job := jobOf(c.Context)
	if job == nil {
		return nil, nil
	}
	giveUp := func(reason string) {
		if err := show(); err != nil {
			reason += "; " + oneLine(err)
		}
		exitAll(c.App.ErrWriter, job, reason)
	}
	return &turn.Lead{Peak: job.Peak, Abort: giveUp, Unreachable: job.Unreachable}, job.Limit(limit, giveUp)
}

// launcher returns how the driver of a process that is no rank starts ranks. What mpirun is
// given because of this host is said once.
func launcher(c *cli.Context) run.Launch {
	said := map[string]bool{}
	return func(ctx context.Context, ranks int, folder string) error {
		if !mpi.Built {
			_, err := mpi.Start(nil)
			return err
		}
		mpirun, err := launch.Find(ctx, mpi.Version())
		if err != nil {
			return err
		}
		program, err := os.Executable()
		if err != nil {
			return err
		}
		command := []string{program, mpiFamily, "--" + taskName, folder}
		if c.Bool("no-tuned") {
			command = append(command, "--no-tuned")
		}
		arguments, warnings := mpirun.Arguments(launch.Detect(), ranks, command...)
		for _, w := range warnings {
			if !said[w] {
				logf(c, "%s", w)
			}
			said[w] = true
		}
		return mpirun.Run(ctx, arguments...)
	}
}

// taskName is the flag with which a driver starts ranks: the folder of their task.
const taskName = "task"

// runTask measures the task of the driver that started these ranks. If a row fails, its record has the reason.
func runTask(c *cli.Context, folder string) error {
	if jobOf(c.Context) == nil {
		return gemm.Unavailablef("--%s is for ranks that gemm has started", taskName)
	}
	served := compare.Served{Variants: catalog.Variants(),
		Measure: func() []record.Measurement { return pingPongs(c.Context) }}
	served.Lead = func(b plan.Budget) (*turn.Lead, error) {
		return lead(c, b.Timeout, func() error { return nil })
	}
	return compare.ServeFolder(c.Context, folder, served)
}

// pingPongs measures messages between the ranks that this process leads, until the context ends.
func pingPongs(ctx context.Context) (out []record.Measurement) {
	job := jobOf(ctx)
	if job == nil || job.Size() < 2 {
		return nil
	}
	for _, p := range job.Patterns() {
		for _, bytes := range p.Sizes() {
			m := record.Measurement{Name: "ping-pong", Unit: "s", Params: gemm.Params{"bytes": bytes, "ranks": job.Size(),
				"path": p.Path(), "pairs": p.Direction()}}
			var err error
			if m.Samples, err = job.PingPong(p, bytes); ctx.Err() != nil {
				return out
			} else if err != nil {
				m.Reason = err.Error()
			}
			out = append(out, m)
		}
	}
	return out
}

// announceRanks says where the ranks that this process leads run, and warns where they cannot all run at the same time.
func announceRanks(c *cli.Context, cases []plan.Case) {
	job := jobOf(c.Context)
	if job == nil {
		return
	}
	logAll(c, job.Placement())
	local, processors := job.Local(), len(cpu.Processors())
	if processors == 0 {
		return // the rows say so
	}
	threads := 0
	for _, k := range cases {
		if k.Ranks() > 0 {
			threads = max(threads, local*(k.Threads()/k.Ranks()))
		}
	}
	if threads > processors {
		logf(c, "oversubscribed: %d threads of %d ranks share the %d processors of this host, so times depend on the "+
			"scheduler", threads, local, processors)
	}
}
