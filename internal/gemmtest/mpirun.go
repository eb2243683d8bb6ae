package gemmtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// mpirunLimit is the time limit of the ranks of one call.
const mpirunLimit = 3 * time.Minute

// Mpirun runs the tests of this binary that match run on the given number of ranks, each on one
// thread, and returns their output; options are options of mpirun. The ranks have the environment
// variable asRank, so TestMain begins and ends MPI. The test fails if a rank's tests fail, and is
// skipped without mpirun.
func Mpirun(t *testing.T, asRank string, ranks int, run string, options ...string) string {
	t.Helper()
	out, err := MpirunStatus(t, asRank, ranks, run, options...)
	if err != nil {
		t.Fatalf("%d ranks: %v\n%s", ranks, err, out)
	}
	return out
}

// MpirunStatus is Mpirun for ranks that may fail: it returns the error of mpirun too.
func MpirunStatus(t *testing.T, asRank string, ranks int, run string, options ...string) (string, error) {
	t.Helper()
	mpirun, err := exec.LookPath("mpirun")
	Require(t, "mpi", err)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), mpirunLimit)
	defer cancel()
	args := append([]string{"-n", fmt.Sprint(ranks), "--oversubscribe", "--allow-run-as-root", "--bind-to", "none",
		"--mca", "mpi_yield_when_idle", "1"}, options...)
	args = append(args, self, "-test.run", run, "-test.v="+fmt.Sprint(testing.Verbose()),
		"-test.short="+fmt.Sprint(testing.Short()))
	cmd := exec.CommandContext(ctx, mpirun, args...)
	cmd.Env = append(os.Environ(), asRank+"=1", "GOMAXPROCS=1")
	// mpirun ends its ranks after SIGTERM; after SIGKILL they would go on.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
