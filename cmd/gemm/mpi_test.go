package main

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/mpi"
)

func TestCheckRanks(t *testing.T) {
	for _, test := range []struct {
		environment map[string]string
		built       bool
		want        string
	}{
		{nil, true, ""},
		{map[string]string{"OMPI_COMM_WORLD_SIZE": "1", "PMIX_RANK": "0"}, false, ""},
		{map[string]string{"OMPI_COMM_WORLD_SIZE": "4"}, false,
			"started as one of 4 ranks (OMPI_COMM_WORLD_SIZE), but this build has no MPI: make build"},
		{map[string]string{"PMI_SIZE": "2"}, true, "started as one of 2 ranks (PMI_SIZE), but only gemm mpi runs on ranks"},
		{map[string]string{"PMIX_RANK": "3"}, false, "started as rank 3 (PMIX_RANK), but this build has no MPI"},
	} {
		err := checkRanks(func(name string) (string, bool) {
			text, ok := test.environment[name]
			return text, ok
		}, test.built)
		if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v, MPI %v: %v, want %q", test.environment, test.built, err, test.want)
		}
	}
}

// sweptOnRanks returns the rows that gemm mpi with the arguments would measure.
func sweptOnRanks(t *testing.T, args ...string) (cases []plan.Case) {
	t.Helper()
	app := newApp(io.Discard, io.Discard)
	app.Command("mpi").Action = func(c *cli.Context) error {
		i := slices.IndexFunc(ladders, func(f ladder) bool { return f.family == mpiFamily })
		l, err := ladders[i].rows(c)
		cases = l.Cases()
		return err
	}
	if err := app.Run(append([]string{"gemm", "mpi", "--sizes", "24"}, args...)); err != nil {
		t.Fatal(err)
	}
	return cases
}

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
		{"--np 2 --variants mpi/summa,reference/scalapack --block 32,64", "ladder", 3},
	} {
		cases := sweptOnRanks(t, strings.Fields(test.args)...)
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

func TestUsageOfRanks(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		`ranks is 0, must be at least 1`:       {"--np", "0"},
		`--np "two": must be integers`:         {"--np", "two"},
		`threads is -1, must be at least 0`:    {"--threads", "-1"},
		`panel is 0, must be at least 1`:       {"--panel", "0"},
		`--block: none of the variants has it`: {"--block", "64", "--variants", "mpi/summa"},
		`block is 0, must be at least 1`:       {"--block", "0", "--variants", "reference/scalapack"},
		`--panel: none of the variants has it`: {"--panel", "8", "--variants",
			"mpi/cannon"},
		`--grid "2y3": must be PxQ, such as 2x4, or auto`: {"--grid", "2y3"},
		`--grid 3x3: mpi/scatter-blocks f64: bad parameter: grid is 3x3, there are 2 ranks`: {"--np", "2", "--grid",
			"3x3"},
		`--np 1: mpi/summa f64: bad parameter: grid is 1x2, there are 1 ranks`: {"--np", "1,2", "--grid", "1x2",
			"--variants", "mpi/summa"},
		`--threads 2: mpi/summa f64: bad parameter: local serial/winograd has one thread, not 2`: {"--threads", "1,2",
			"--np", "1", "--local", "serial/winograd", "--variants", "mpi/summa"},
		`--master "wrks" is unknown; the nearest are works,`:        {"--master", "wrks"},
		`--affinity "spread" is unknown`:                            {"--affinity", "spread"},
		`--weak needs several numbers of ranks, such as --np 1,2,4`: {"--weak", "--np", "2"},
	} {
		fail(t, dir, 2, want, append([]string{"mpi", "--json", "r.json"}, args...)...)
	}
	fail(t, dir, 2, "--np 0: must be positive integers", "compare", "--np", "0")
	fail(t, dir, 1, "choose a smaller size or fewer ranks", "mpi", "--np", "2", "--sizes", "1000000")
}

// TestGridsAreLeftOut sweeps grids over numbers of ranks: rows whose grid has more ranks are not started.
func TestGridsAreLeftOut(t *testing.T) {
	r := start(t, "", nil, "mpi", "--np", "1,2", "--grid", "1x1,1x2", "--variants", "mpi/summa", "--sizes", "8", "--time", "1ms",
		"--json", "-")
	doc, err := record.Parse([]byte(r.stdout))
	if err != nil || len(doc.Records) != 3 {
		t.Fatalf("%d rows, %v, %s", len(doc.Records), err, r.stderr)
	}
	for _, row := range doc.Records {
		if row.Params["ranks"] == 1 && row.Params["grid"] == "1x2" {
			t.Errorf("%v is a row", row.Params)
		}
	}
	if want := "1 of 4 rows are left out, which cannot be so: mpi/summa f64: "; !strings.Contains(r.stderr, want) {
		t.Errorf("standard error has no %q: %s", want, r.stderr)
	}
}

// TestRanksWithoutMPI asks a build without MPI for ranks, and has it be one.
func TestRanksWithoutMPI(t *testing.T) {
	dir := t.TempDir()
	program, err := pure()
	if err != nil {
		t.Fatal(err)
	}
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

func TestComparisonOnRanks(t *testing.T) {
	count := func(args ...string) (ranks map[any]int, experiments map[string]bool) {
		ranks, experiments = map[any]int{}, map[string]bool{}
		cases, _ := planned(t, append([]string{"--families", "mpi"}, args...)...)
		for _, c := range cases {
			ranks[c.Params["ranks"]]++
			experiments[string(c.Experiment)] = true
		}
		return ranks, experiments
	}
	if ranks, experiments := count("--np", "2,3"); ranks[2] != 4*len(mpi.Variants()) ||
		ranks[3] != 3*len(mpi.Variants()) ||
		len(ranks) != 2 || !experiments["ladder"] {
		t.Errorf("profile quick: %v rows by ranks, experiments %v", ranks, experiments)
	}
	if ranks, experiments := count("--profile", "mpi", "--sizes", "1024,2048"); ranks[1] == 0 || experiments["ladder"] ||
		!experiments["strong"] || !experiments["weak"] || !experiments["panel"] || !experiments["affinity"] {
		t.Errorf("profile mpi: %v rows by ranks, experiments %v", ranks, experiments)
	}
	if ranks, _ := count("--profile", "mpi", "--np", "1"); len(ranks) != 1 || ranks[1] == 0 {
		t.Errorf("profile mpi with --np 1: %v rows by ranks", ranks)
	}
	if ranks, experiments := count("--profile", "full", "--type", "f32"); len(ranks) == 0 || len(experiments) != 1 ||
		!experiments["strong"] {
		t.Errorf("profile full in f32: %v rows by ranks, experiments %v", ranks, experiments)
	}
}

// TestTooManyRanks asks for ranks that would bring this host down.
func TestTooManyRanks(t *testing.T) {
	dir := t.TempDir()
	for _, command := range [][]string{{"mpi"}, {"compare", "--profile", "mpi"}} {
		for _, np := range []string{"99999999999", "2,1000000"} {
			fail(t, dir, 2, "more than 8 ranks for each of ", append(command, "--np", np)...)
		}
	}
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
