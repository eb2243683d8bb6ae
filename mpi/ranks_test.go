//go:build mpi

package mpi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"gemm"
	"gemm/internal/gemmtest"
)

// asRank says that the test binary was started by mpirun, from one of its own tests.
const asRank = "GEMM_TEST_RANK"

// TestMain runs the tests; a process that mpirun started serves rank 0, which runs those
// that begin with TestRanks.
func TestMain(m *testing.M) {
	if os.Getenv(asRank) == "" {
		os.Exit(m.Run())
	}
	j, err := Start(nil)
	if err == nil && j.Rank() > 0 {
		err = j.Serve(context.Background())
	} else if err == nil {
		status := m.Run()
		if err = j.Close(); err == nil {
			os.Exit(status)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// underMPI runs tests of this binary on so many ranks.
func underMPI(t *testing.T, ranks int, run string) {
	t.Helper()
	mpirun, err := exec.LookPath("mpirun")
	gemmtest.Require(t, "mpi", err)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, mpirun, "-n", fmt.Sprint(ranks), "--oversubscribe", "--allow-run-as-root", "--bind-to", "none",
		self, "-test.run", run, "-test.v="+fmt.Sprint(testing.Verbose()))
	cmd.Env = append(os.Environ(), asRank+"=1", "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%d ranks: %v\n%s", ranks, err, out)
	}
}

// TestConformance runs the conformance suite on every number of ranks up to 9.
func TestConformance(t *testing.T) {
	for ranks := 1; ranks <= 9; ranks++ {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { underMPI(t, ranks, "^TestRanksConform") })
	}
}

// TestRanksConform is what rank 0 runs.
func TestRanksConform(t *testing.T) {
	if os.Getenv(asRank) == "" {
		t.Skip("for rank 0 under mpirun")
	}
	for _, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) {
			for _, p := range settings(v) {
				gemmtest.Run(t, v, p)
			}
		})
	}
}

// settings returns the parameters that a variant is tested with: the defaults, and small
// panels and the other ways to share out the work.
func settings(v gemm.Variant) []gemm.Params {
	other := gemm.Params{"affinity": none}
	for _, q := range v.Params {
		switch q.Name {
		case "panel":
			other["panel"] = 3
		case "master":
			other["master"] = works
		case "replication":
			other["replication"] = 2
		case "local":
			other["local"] = "serial/naive"
		}
	}
	return []gemm.Params{nil, other}
}
