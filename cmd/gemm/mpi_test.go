package main

import (
	"path/filepath"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/mpi"
)

func TestExperimentsOnRanks(t *testing.T) {
	all := len(mpi.Variants())
	for _, test := range []struct {
		args       string
		experiment record.Experiment
		rows       int
	}{
		{"", "ladder", all},
		{"--np 3", "ladder", all},
		{"--np 1,2,4", "strong", 3 * all},
		{"--np 1,2,4 --weak", "weak", 3 * all},
		{"--np 4 --variants mpi/summa,mpi/cannon --panel 8,16", "panel", 3},
		{"--np 1,4 --variants mpi/summa --panel 8,16", "panel", 4},
		{"--np 2 --variants mpi/summa --affinity none,close", "affinity", 2},
		{"--np 2 --variants mpi/p2p-rows,mpi/scatter-rows --master idle,works", "ladder", 3},
		{"--np 4 --variants mpi/scatter-blocks --grid auto,1x4,2x2", "ladder", 3},
		{"--np 2,4 --threads 1,2 --variants mpi/summa", "strong", 4},
		{"--np 1,2 --grid 1x1,1x2 --variants mpi/summa", "strong", 3}, // a grid of two is not for one rank
		{"--np 2 --variants mpi/summa,reference/scalapack --block 32,64", "ladder", 3},
	} {
		cases := swept(t, mpiFamily, strings.Fields(test.args)...)
		for _, c := range cases {
			if c.Experiment != test.experiment || c.Params["ranks"] == nil || c.Variant.Location != gemm.OnRanks ||
				!strings.HasSuffix(c.Turn, " ranks") {
				t.Errorf("gemm mpi %s: %v of the experiment %s, want %s; turn %q", test.args, c, c.Experiment,
					test.experiment, c.Turn)
			}
		}
		if len(cases) != test.rows {
			t.Errorf("gemm mpi %s: %d rows, want %d", test.args, len(cases), test.rows)
		}
	}
}

// TestRanksWithoutMPI asks a build without MPI for ranks, and has it be one.
func TestRanksWithoutMPI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, err := pure()
	gemmtest.Must(t, err)
	r := startProgram(t, program, dir, nil, "mpi", "--np", "1,2", "--variants", "mpi/summa", "--sizes", "8", "--json", "r.json")
	if r.status != 1 || !strings.Contains(r.stderr, "go build -tags mpi ./cmd/gemm") ||
		!strings.HasPrefix(r.stdout, "mpi/summa: 2 rows unavailable: ") {
		t.Errorf("status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	r = startProgram(t, program, dir, []string{"OMPI_COMM_WORLD_SIZE=2"}, "mpi", "--sizes", "8")
	if r.status != 1 || r.stdout != "" || !strings.Contains(r.stderr, "this build has no MPI: make build") {
		t.Errorf("as a rank: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	for _, row := range records(t, filepath.Join(dir, "r.json")).Records {
		if row.Status != record.Unavailable || !strings.Contains(row.Reason.Text, "libopenmpi-dev") {
			t.Errorf("%v: %s %q", row.Params, row.Status, row.Reason)
		}
	}
}

// TestTooManyRanks requests ranks that would overload this host.
func TestTooManyRanks(t *testing.T) {
	for n, want := range map[int]string{16: "",
		17: "--np 17: more than 8 ranks for each of 2 processors: use at most 16, or add --oversubscribe"} {
		if err := checkCounts([]any{1, n}, 2); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d ranks on 2 processors: %v, want %q", n, err, want)
		}
	}
	l := plan.Ladder{Sweep: map[string][]any{"ranks": {1000000}}}
	if err := onRanks(t.Context(), true, &l); err != nil {
		t.Errorf("with --oversubscribe: %v", err)
	}
}
