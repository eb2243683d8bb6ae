package gemmtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"gemm/mpi/launch"
)

// mpirunLimit is the time limit of the ranks of one call.
const mpirunLimit = 3 * time.Minute

// Job is how the ranks of a test binary are started.
type Job struct {
	AsRank  string // if this environment variable is set, TestMain begins and ends MPI
	Library string // the MPI of the binary, with its version
}

// Mpirun runs the tests of this binary that match run on the given number of ranks, each on one
// thread, and returns their output; the ranks have the variables in their environment. The test fails if a
// rank's tests fail, and is skipped without what starts ranks.
func Mpirun(t *testing.T, job Job, ranks int, run string, variables ...string) string {
	t.Helper()
	out, err := MpirunStatus(t, job, ranks, run, variables...)
	if err != nil {
		t.Fatalf("%d ranks: %v\n%s", ranks, err, out)
	}
	return out
}

// MpirunStatus is Mpirun for ranks that may fail: it returns the error of mpirun too.
func MpirunStatus(t *testing.T, job Job, ranks int, run string, variables ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mpirunLimit)
	defer cancel()
	mpirun, err := launch.Find(ctx, job.Library)
	Require(t, "mpi", err)
	self, err := os.Executable()
	Must(t, err)
	// Of no processors all ranks are too many.
	args, _ := mpirun.Arguments(launch.Resources{Root: os.Geteuid() == 0}, ranks, self, "-test.run", run,
		"-test.v="+fmt.Sprint(testing.Verbose()), "-test.short="+fmt.Sprint(testing.Short()))
	cmd := exec.CommandContext(ctx, mpirun.Path, args...)
	cmd.Env = append(append(os.Environ(), job.AsRank+"=1", "GOMAXPROCS=1", "OMPI_MCA_mpi_yield_when_idle=1"),
		variables...)
	// mpirun ends its ranks after SIGTERM; after SIGKILL they would go on.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
