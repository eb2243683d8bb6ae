//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/cuda"
	"gemm/cuda/explain"
	"gemm/gemmtest"
	"gemm/gemmtest/cudatest"
	"gemm/internal/ipc"
)

// The variables that say how the fake profiler is to behave, and the file in which it notes
// what it has run.
const (
	profilerVariable = "GEMM_TEST_NCU"
	profilerNotes    = "GEMM_TEST_NCU_NOTES"
)

// init has this process be the profiler, or the worker of the kind counted.
func init() {
	var err error
	switch {
	case filepath.Base(os.Args[0]) == explain.Profiler:
		err = fakeProfiler(os.Args[1:])
	case os.Getenv(fakeWorkerVariable) == "counted" && len(os.Args) == 2 &&
		slices.Contains([]string{"serve", "profile"}, os.Args[1]):
		err = serveCounted()
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveCounted is a worker whose rows say what they took of a GPU. Under the profiler its
// kernels have another tile where they are to.
func serveCounted() error {
	return compare.Serve(context.Background(), os.Stdin, os.Stdout, compare.Served{
		Variants: cuda.Variants(countedBackend{tile: os.Getenv(profilerVariable + "_TILE")}),
		Device: &compare.Device{
			Describe: func(h *record.Host, _ *record.RunInfo) { h.GPUs = []string{"Fake H1"} },
			Ceilings: func(context.Context, int, time.Duration) (found run.Found, _ error) {
				return found, errors.New("not faked")
			},
			Lost: func() bool { return false },
		},
	})
}

// countedBackend computes products of f64 as fakeBackend does, staged on a GPU, of which
// they have come back once they are collected.
type countedBackend struct {
	fakeBackend
	tile string
}

func (b countedBackend) F64(string, gemm.Params) (gemm.Multiplier[float64], error) {
	return &countedProduct{tile: b.tile}, nil
}

type countedProduct struct {
	fakeMultiplier[float64]
	tile    string
	c, a, b gemm.Matrix[float64]
}

func (p *countedProduct) Resolved() gemm.Params { return gemm.Params{"tile": p.tile} }

func (p *countedProduct) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	p.c, p.a, p.b = c, a, b
	return p, nil
}

func (p *countedProduct) Do(context.Context) (gemm.Cost, error) {
	return gemm.Cost{Time: time.Millisecond}, nil
}

func (p *countedProduct) Collect(ctx context.Context) error { return p.Multiply(ctx, p.c, p.a, p.b) }
func (p *countedProduct) Close() error                      { return nil }

func (p *countedProduct) Device() record.Device { return record.Device{Pipe: "f64", Registers: 77} }

func (p *countedProduct) Watts() float64 { return 0 }

// fakeProfiler runs the program that the arguments end with, and writes a log as the
// profiler does.
func fakeProfiler(args []string) error {
	how := os.Getenv(profilerVariable)
	option := func(name string) string {
		if i := slices.Index(args, name); i >= 0 {
			return args[i+1]
		}
		return ""
	}
	log := func(format string, values ...any) error {
		return os.WriteFile(option("--log-file"), fmt.Appendf(nil, format, values...), 0o600)
	}
	if how == "fails" {
		return errors.Join(log("==ERROR== the driver is too old\n==ERROR== giving up\n"), errors.New("one too many"))
	}
	bytes, unit := "12.35", "Mbyte"
	if option("--print-units") == "base" {
		bytes, unit = "12,345,678", "byte"
	}
	task, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var asked struct {
		Cases []struct {
			Variant, Type, Turn string
			gemm.Shape
		}
		Budget   plan.Budget
		Ceilings int
	}
	if _, err := ipc.NewReader(strings.NewReader(string(task))).Decode(&asked); err != nil {
		return err
	}
	if len(asked.Cases) == 0 || asked.Cases[0].Turn != "" || asked.Budget.Reps != 1 || asked.Budget.Time != 1 ||
		asked.Ceilings != 0 {
		return fmt.Errorf("the task is %s", task)
	}
	notes, err := os.OpenFile(os.Getenv(profilerNotes), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	launches := []cudatest.Launch{{"gemm", "1"}} // of a product without a mark
	for _, k := range asked.Cases {
		launches = append(launches, cudatest.Launch{cuda.Mark(k.Variant, k.Type, k.Shape), "0"},
			cudatest.Launch{"align", "3"}, cudatest.Launch{"gemm", bytes}, cudatest.Launch{"align", "3"})
		if _, err := fmt.Fprintln(notes, k.Variant); err != nil {
			return err
		}
	}
	if how == "hangs" {
		time.Sleep(time.Minute)
	}
	cmd := exec.Command(args[len(args)-2], args[len(args)-1])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(task)), os.Stdout, os.Stderr
	if how == "another" {
		cmd.Env = append(os.Environ(), profilerVariable+"_TILE=another")
	}
	if err := cmd.Run(); err != nil {
		return err
	}
	if os.Getenv("LC_ALL") != "C" || !slices.Contains(args, "--csv") || option("--page") != "raw" ||
		option("--profile-from-start") != "off" || args[len(args)-1] != "profile" ||
		!strings.Contains(option("--metrics"), "dram__bytes_read.sum") {
		return log("==ERROR== arguments %q\n", args)
	}
	if how == "denied" {
		return log("==PROF== Connected to process 7\n==ERROR== ERR_NVGPUCTRPERM - no permission\n==WARNING== No kernels were profiled.\n")
	}
	table := cudatest.ProfilerTable(unit, launches...)
	switch how {
	case "broken":
		table = table[:len(table)-30]
	case "blind":
		table = ""
	}
	return log("==PROF== Connected to process 7 (/gemm-cuda)\n==PROF== Profiling \"gemm\" - 0: 0%%....50%%....100%% - 6 passes\n==PROF== Disconnected from process 7\n%s", table)
}

// withProfiler returns the environment in which gemm finds a worker with rows of a GPU, and a
// profiler that behaves as how says. The profiler writes its command lines to the file notes.
func withProfiler(t *testing.T, how string) (variables []string, notes string) {
	t.Helper()
	program, err := os.Executable()
	gemmtest.Must(t, err)
	dir := t.TempDir()
	gemmtest.Must(t, os.Symlink(program, filepath.Join(dir, explain.Profiler)))
	variables = withWorker(t, "counted")
	path, _ := strings.CutPrefix(variables[len(variables)-1], "PATH=")
	notes = filepath.Join(dir, "notes")
	return append(variables, "PATH="+dir+":"+path, profilerVariable+"="+how, profilerNotes+"="+notes), notes
}

func TestCounters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"cuda", "--variants", "cuda/naive,cuda/smem", "--sizes", "16", "--time", "1ms", "--json", "r.json"}
	variables, notes := withProfiler(t, "works")
	load := func() record.Document { return records(t, filepath.Join(dir, "r.json")) }
	ran := func() string {
		data, err := os.ReadFile(notes)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(data)
	}
	if r := start(t, dir, variables, args...); r.status != 0 || r.stderr != "" || ran() != "" {
		t.Fatalf("without --counters: %+v, %q", r, ran())
	}
	before := load()

	r := start(t, dir, variables, append(args, "--counters", "--resume")...)
	if r.status != 0 || r.stderr != "" || ran() != "cuda/naive\ncuda/smem\n" {
		t.Fatalf("%+v, run were %q", r, ran())
	}
	after := load()
	if len(after.Records) != len(before.Records) {
		t.Fatalf("%d rows became %d", len(before.Records), len(after.Records))
	}
	for i, row := range after.Records {
		if row.GPU == nil || !maps.Equal(row.GPU.Counters, cudatest.TableCounters(12345678)) {
			t.Fatalf("%s has %+v", row.Variant, row.GPU)
		}
		row.GPU.Counters = nil
		got, err := json.Marshal(row)
		want, failed := json.Marshal(before.Records[i])
		if err != nil || failed != nil || string(got) != string(want) {
			t.Errorf("the row\n%s became\n%s; %v, %v", want, got, err, failed)
		}
	}
	if len(after.Runs) != len(before.Runs) {
		t.Errorf("%d runs became %d", len(before.Runs), len(after.Runs))
	}

	if r := start(t, dir, variables, append(args, "--counters", "--resume")...); r.status != 0 ||
		ran() != "cuda/naive\ncuda/smem\n" {
		t.Errorf("rows with counters: %+v, run were %q", r, ran())
	}
	args[2] += ",cuda/tuned"
	if r := start(t, dir, variables, append(args, "--counters", "--resume")...); r.status != 0 ||
		ran() != "cuda/naive\ncuda/smem\ncuda/tuned\n" {
		t.Errorf("a row more: %+v, run were %q", r, ran())
	}

	args[len(args)-1] = "-"
	r = start(t, dir, variables, append(args, "--counters")...)
	if doc, err := record.Parse([]byte(r.stdout)); err != nil || len(doc.Records) != 3 ||
		!maps.Equal(doc.Records[2].GPU.Counters, cudatest.TableCounters(12345678)) {
		t.Errorf("on standard output: %v, %+v", err, r)
	}
}

func TestCountersThatFail(t *testing.T) {
	t.Parallel()
	args := []string{"cuda", "--variants", "cuda/smem", "--sizes", "16", "--time", "1ms", "--json", "r.json", "--counters"}
	for how, want := range map[string]string{
		"fails":   "ncu: the driver is too old: see whether ncu runs here by itself, or leave --counters out",
		"denied":  "ncu: ERR_NVGPUCTRPERM - no permission: run as root, or load the kernel module with NVreg_RestrictProfilingToAdminUsers=0",
		"broken":  "the table that ncu wrote is broken",
		"blind":   "ncu wrote no table",
		"another": "it runs with bk=0 block=0 device=0 l2=cold tile=another now and ran with bk=0 block=0 device=0 l2=cold tile=: measure it again with --force",
	} {
		dir := t.TempDir()
		variables, _ := withProfiler(t, how)
		r := start(t, dir, variables, args...)
		lines := strings.Split(r.stderr, "\n")
		if r.status != 1 || len(lines) != 3 ||
			!strings.HasPrefix(lines[0], "gemm cuda: no counters of cuda/smem f64 16: "+want) ||
			!strings.HasPrefix(lines[1], "gemm cuda: --counters: none of 1 rows has any: "+want) {
			t.Errorf("%s: status %d, %q; want %q", how, r.status, r.stderr, want)
		}
		doc, err := record.Load(filepath.Join(dir, "r.json"))
		if err != nil || len(doc.Records) != 1 || doc.Records[0].Status != record.OK || doc.Records[0].GPU == nil ||
			doc.Records[0].GPU.Counters != nil {
			t.Errorf("%s: %v, the rows are %+v", how, err, doc.Records)
		}
	}

	dir := t.TempDir()
	works := withWorker(t, "counted")
	works[len(works)-1], _, _ = strings.Cut(works[len(works)-1], ":") // nothing but the worker
	failWith(t, dir, works, 1, "ncu is not on PATH: install Nsight Compute", args...)
	if _, err := os.Stat(filepath.Join(dir, "r.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it measured without the profiler: %v", err)
	}
}

// TestCountersInterrupted ends the program while a row is under the profiler.
func TestCountersInterrupted(t *testing.T) {
	variables, notes := withProfiler(t, "hangs")
	r, _ := interrupt(t, t.TempDir(), variables, exists(notes), "cuda", "--variants", "cuda/naive,cuda/smem", "--sizes",
		"16", "--time", "1ms", "--json", "r.json", "--counters")
	const want = "2 of 2 rows in r.json have no counters: go on with gemm cuda --variants cuda/naive,cuda/smem --sizes 16 --time 1ms --json r.json --counters --resume"
	if r.status != statusInterrupted || !strings.Contains(r.stderr, want) {
		t.Errorf("status %d, %q; want %q", r.status, r.stderr, want)
	}
}
